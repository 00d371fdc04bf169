//! A gate that records into memory, for nodes in virtual time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::disk::Owner;
use crate::gate::{Event, Failed, Gate, Happened, Judge, Open, Verdict};
use crate::recording::entry::{Entry, Head};
use crate::recording::format::{Next, Segment, Wrong};
use crate::recording::gate::{Recorded, Tape};
use crate::time::Time;

/// The recordings of the nodes of a world: per node, a segment for each of its starts, as far as its process has got.
#[derive(Clone, Debug, Default)]
pub struct Tapes(Rc<RefCell<BTreeMap<u32, Vec<Vec<u8>>>>>);

impl Tapes {
    /// The gate of a node that starts.
    pub fn begin(&self, owner: Owner) -> Taped {
        let node = owner.node;
        let tape = Tape::new(Head::of_start(owner, BTreeMap::new(), 0));
        self.0.borrow_mut().entry(node).or_default().push(Vec::new());
        Taped { recorded: Recorded { gate: Open, tape: Some(tape) }, node, tapes: self.clone() }
    }

    /// The segments of a node.
    pub fn of(&self, node: u32) -> Vec<Vec<u8>> {
        self.0.borrow().get(&node).cloned().unwrap_or_default()
    }
}

/// A gate that lets everything pass, and records it at once: a node that is killed has recorded all that it has handled.
#[derive(Debug)]
pub struct Taped {
    recorded: Recorded<Open>,
    node: u32,
    tapes: Tapes,
}

impl Taped {
    fn flush(&mut self) {
        let bytes = self.recorded.tape.as_mut().map(Tape::take).unwrap_or_default();
        if let Some(segment) = self.tapes.0.borrow_mut().get_mut(&self.node).and_then(|segments| segments.last_mut()) {
            segment.extend(bytes);
        }
    }
}

impl Gate for Taped {
    fn judges(&self) -> bool {
        false
    }

    fn before(&mut self, now: Time, event: &Event<'_>) -> Verdict {
        self.recorded.before(now, event)
    }

    fn after(&mut self, now: Time, event: &Event<'_>, judge: &mut Judge<'_>) -> Verdict {
        self.recorded.after(now, event, judge)
    }

    fn happened(&mut self, happened: &Happened<'_>) {
        self.recorded.happened(happened);
        self.flush();
    }

    fn failed(&mut self, failed: &Failed<'_>) {
        self.recorded.failed(failed);
        self.flush();
    }

    fn persisted(&mut self, ticket: u64) {
        self.recorded.persisted(ticket);
        self.flush();
    }
}

/// The entries of a segment that were written whole.
///
/// # Errors
///
/// The segment is damaged.
pub fn entries(segment: &[u8]) -> Result<Vec<Entry>, Wrong> {
    let Some((mut segment, _)) = Segment::open(segment)? else { return Ok(Vec::new()) };
    let mut entries = Vec::new();
    while let Next::Entry(entry) = segment.read()? {
        entries.push(entry);
    }
    Ok(entries)
}
