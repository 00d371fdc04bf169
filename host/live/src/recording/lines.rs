//! Recordings as lines of a log, for `host-follow`.
//!
//! A process that is killed may have handled events whose effects never left it: their record was not on the disk. No other node knows of
//! them, and the next start does not either, so they are left out. The recording says which records were on the disk; only one more can
//! have been written when the process was killed, and then the durable state that the next start found shows it. So an event is a line as
//! soon as its record is on the disk, and only the few events behind that wait for the next start.

use host_model::contract::{DurableState, Envelope, LocalKind};
use serde_json::{Value, json};

use crate::recording::entry::{Entry, Handled, Head, Occurrence};
use crate::recording::player::{Player, Trouble};

/// The reason why a recording has no lines.
#[derive(Debug, thiserror::Error)]
pub enum NoLines {
    /// The first segments are gone.
    #[error("the start of node {0} is not in the recording any more")]
    NoStart(u32),
    /// A start found a durable state that the process before did not have.
    #[error(
        "a start of node {0} found a durable state that the node did not have before: its disk was lost, or replaced"
    )]
    OtherDisk(u32),
    /// The recording does not replay.
    #[error("the recording of node {0} does not replay on this component")]
    Differs(u32),
    /// A state cannot be read.
    #[error(transparent)]
    Trouble(#[from] Trouble),
}

/// A line of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The time by the clock of the machine of the node, in nanoseconds since 1970, as far as it is known; never before that of the line
    /// before.
    pub at: u64,
    /// The line.
    pub value: Value,
}

/// An event that may be undone by the next start.
struct Pending {
    line: Line,
    ticket: u64,
    durable: Option<DurableState>,
}

/// Makes the lines of a node from the entries of its recording.
pub struct Lines<'m> {
    player: Player<'m>,
    /// The events of the present process whose record may not be on the disk.
    pending: Vec<Pending>,
    /// The durable state before these.
    before: Option<DurableState>,
    /// The latest record that is known to be on the disk.
    persisted: u64,
    /// The kind of the start of the present process; none before the first one.
    kind: Option<&'static str>,
    /// Whether a process of the node has left anything.
    is_known: bool,
    /// Whether the present process has left anything.
    is_kept: bool,
    /// The lines that were not taken.
    done: Vec<Line>,
    /// The start of the present process.
    begun: u64,
    /// The time of the latest event.
    latest: u64,
}

impl<'m> Lines<'m> {
    /// The lines of a node, whose recording begins with its first start, replayed by a player before its start.
    pub fn new(player: Player<'m>) -> Self {
        Self {
            player,
            pending: Vec::new(),
            before: None,
            persisted: 0,
            kind: None,
            is_known: false,
            is_kept: false,
            done: Vec::new(),
            begun: 0,
            latest: 0,
        }
    }

    /// Takes the head of the next segment.
    pub fn begin(&mut self, head: &Head) {
        self.begun = head.begun;
    }

    /// Replays the next start, and what follows, with another player: the component runs under other limits.
    pub fn replay_with(&mut self, player: Player<'m>) {
        self.player = player;
    }

    /// Takes the next entry.
    ///
    /// # Errors
    ///
    /// The recording does not replay, or a start does not fit the process before.
    pub fn add(&mut self, entry: &Entry) -> Result<(), NoLines> {
        let node = self.player.node();
        match entry {
            Entry::Persisted(ticket) => {
                self.persisted = *ticket;
                self.keep();
            }
            Entry::Failed(_) => {}
            Entry::Event(event) => {
                let kind = match &event.input {
                    Handled::Start { durable } => {
                        let found = durable.as_ref().and_then(|kept| kept.durable());
                        self.settle(found)?
                    }
                    _ if self.kind.is_none() => return Err(NoLines::NoStart(node)),
                    _ => "",
                };
                let played = self.player.play(&event.input, &event.answers).map_err(Trouble::Machine)?;
                if played.is_none_or(|played| played.deviation(event, node).is_some()) {
                    return Err(NoLines::Differs(node));
                }
                let durable = self.player.durable()?;
                self.latest = self.latest.max(self.begun.saturating_add(event.at));
                let line = Line { at: self.latest, value: line(node, kind, event) };
                self.pending.push(Pending { line, ticket: event.ticket, durable });
                self.keep();
            }
        }
        Ok(())
    }

    /// Takes the lines that no later entry can undo.
    pub fn take(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.done)
    }

    /// The lines that were not taken, after the last entry.
    pub fn end(mut self) -> Vec<Line> {
        let count = self.pending.len();
        self.release(count);
        self.done
    }

    /// Keeps the events whose record is on the disk, and those before them.
    fn keep(&mut self) {
        let kept = self.pending.iter().rposition(|event| event.ticket <= self.persisted);
        self.release(kept.map_or(0, |last| last + 1));
    }

    /// Makes lines of the first events that wait, which have not been undone.
    fn release(&mut self, count: usize) {
        for Pending { line, durable, .. } in self.pending.drain(..count) {
            self.done.push(line);
            self.before = durable;
            (self.is_known, self.is_kept) = (true, true);
        }
    }

    /// Ends the present process, since the next one has found this durable state. Returns the kind of the next start.
    fn settle(&mut self, found: Option<DurableState>) -> Result<&'static str, NoLines> {
        let after = |count: usize| match count.checked_sub(1) {
            Some(last) => &self.pending[last].durable,
            None => &self.before,
        };
        let same = (0..=self.pending.len()).rev().find(|count| *after(*count) == found);
        let is_outage = same.is_none();
        if is_outage {
            let persisted = |durable: &Option<DurableState>| durable.as_ref().and_then(|it| it.persisted.clone());
            if !self.is_kept || persisted(&self.before) != persisted(&found) {
                return Err(NoLines::OtherDisk(self.player.node()));
            }
        }
        self.release(same.unwrap_or(0));
        self.pending.clear();
        let is_undone = !std::mem::take(&mut self.is_kept);
        (self.before, self.persisted) = (found, 0);
        // After a start that was undone, the next one follows the events before it, and may have lost the same writes.
        let kind = match (self.is_known, is_outage) {
            (false, _) => "start",
            (true, _) if is_undone => self.kind.unwrap_or("start"),
            (true, false) => "reset",
            (true, true) => "outage",
        };
        self.kind = Some(kind);
        Ok(kind)
    }
}

/// The line of an event; `kind` is that of a start.
fn line(node: u32, kind: &'static str, event: &Occurrence) -> Value {
    let mut line = match &event.input {
        Handled::Start { .. } => json!({ "event": kind }),
        Handled::Message { from, payload } => json!({ "event": "deliver", "from": from, "payload": hex(payload) }),
        Handled::Local { name, kind, payload } => {
            let cause = match kind {
                LocalKind::Timer => "timer",
                LocalKind::Application => "application",
                LocalKind::Internal => "internal",
            };
            json!({ "event": "local", "name": name, "cause": cause, "payload": hex(payload) })
        }
        Handled::Error { peer } => json!({ "event": "broken", "peer": peer }),
    };
    line["node"] = node.into();
    if kind != "start" {
        let sent = event.sent.iter().map(|Envelope { to, payload }| json!({ "to": to, "payload": hex(payload) }));
        line["sent"] = sent.collect();
    }
    line
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
