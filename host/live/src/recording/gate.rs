//! The gate that records, around another gate.

use crate::carried::Fork;
use crate::gate::{Event, Failed, Gate, Happened, Judge, Verdict};
use crate::recording::entry::{Answer, Begins, Chain, Entry, Failure, Handled, Head, Occurrence};
use crate::time::Time;

/// The end of a recording, in memory.
#[derive(Clone, Debug)]
pub struct Tape {
    head: Head,
    chain: Chain,
    /// The bytes that no file has yet.
    pending: Vec<u8>,
}

impl Tape {
    /// A recording of a start of a node.
    pub fn new(head: Head) -> Self {
        let mut pending = Vec::new();
        let chain = Chain::begin(&head, &mut pending);
        Self { head, chain, pending }
    }

    /// Takes the bytes since the last call, in whole frames.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }

    /// Begins the next segment, with the exported state of the node. The bytes of the segment before must have been taken.
    pub fn turn(&mut self, state: Vec<u8>) {
        debug_assert!(self.pending.is_empty(), "they belong to the segment before");
        self.head.begins = Begins::Within { behind: self.chain, state };
        self.chain = Chain::begin(&self.head, &mut self.pending);
    }

    fn add(&mut self, entry: &Entry) {
        self.chain.add_entry(entry, &mut self.pending);
    }
}

/// A gate that records events, around another gate; without a tape it records nothing.
#[derive(Debug)]
pub struct Recorded<G> {
    /// The inner gate.
    pub gate: G,
    /// The end of the recording.
    pub tape: Option<Tape>,
}

impl<G: Gate> Gate for Recorded<G> {
    fn judges(&self) -> bool {
        self.gate.judges()
    }

    fn breaks(&self) -> bool {
        self.gate.breaks()
    }

    fn before(&mut self, now: Time, event: &Event<'_>) -> Verdict {
        self.gate.before(now, event)
    }

    fn after(&mut self, now: Time, event: &Event<'_>, judge: &mut Judge<'_>) -> Verdict {
        self.gate.after(now, event, judge)
    }

    fn looks_ahead(&self) -> bool {
        self.gate.looks_ahead()
    }

    fn ahead(&mut self, now: Time, event: &Event<'_>, fork: &mut dyn FnMut() -> Option<Fork>) -> Verdict {
        self.gate.ahead(now, event, fork)
    }

    fn happened(&mut self, happened: &Happened<'_>) {
        self.gate.happened(happened);
        let Happened { at, input, choices, sent, state, ticket } = *happened;
        if let (Some(tape), Some(input)) = (&mut self.tape, Handled::of(&input)) {
            let answers = choices.iter().map(Answer::from).collect();
            tape.add(&Entry::Event(Occurrence { at: at.0, input, answers, sent: sent.to_vec(), state, ticket }));
        }
    }

    fn failed(&mut self, failed: &Failed<'_>) {
        self.gate.failed(failed);
        if let (Some(tape), Some(input)) = (&mut self.tape, Handled::of(&failed.input)) {
            tape.add(&Entry::Failed(Failure::of(input, failed.choices, failed.fault)));
        }
    }

    fn persisted(&mut self, ticket: u64) {
        self.gate.persisted(ticket);
        if let Some(tape) = &mut self.tape {
            tape.add(&Entry::Persisted(ticket));
        }
    }
}
