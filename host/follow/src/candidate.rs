//! A candidate: a global state, and how far each node is in its lines.

use host_model::contract::NodeId;
use host_model::lts::{LocalStateId, LtsCache, MessageId, Step};
use host_model::scenario::InFlight;
use host_model::trace::start::Start;

/// The rank of an event without a line: behind all lines.
pub(crate) const HIDDEN: u32 = u32::MAX;

/// A global state, and how far each node is in its lines.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) locals: Vec<LocalStateId>,
    pub(crate) in_flight: InFlight<MessageId>,
    /// Lines of each node that are explained.
    pub(crate) positions: Vec<u32>,
    /// Events of each node since its last line that have none.
    pub(crate) gaps: Vec<u32>,
    /// The last event, if the next one may have to come before it.
    pub(crate) last: Option<Last>,
}

/// The last event on the way to a candidate.
#[derive(Clone, Debug)]
pub(crate) struct Last {
    pub(crate) node: NodeId,
    /// Its first line, or [`HIDDEN`].
    pub(crate) rank: u32,
    pub(crate) sent: Box<[MessageId]>,
}

/// A way from a candidate to another one: an event, or the observation of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub(crate) node: NodeId,
    /// None if lines about the present state are explained.
    pub(crate) step: Option<Step>,
    /// The lines that it explains.
    pub(crate) lines: u32,
    /// Its first line, or [`HIDDEN`].
    pub(crate) rank: u32,
    /// Whether the node notices it, and it has no line.
    pub(crate) is_hidden: bool,
    /// Whether it is the only way that needs to be tried.
    pub(crate) is_ample: bool,
}

impl Candidate {
    pub(crate) fn new(start: &Start) -> Self {
        let nodes = start.locals.len();
        Self {
            locals: start.locals.clone(),
            in_flight: start.in_flight.clone(),
            positions: vec![0; nodes],
            gaps: vec![0; nodes],
            last: None,
        }
    }

    /// Lines that are explained.
    pub(crate) fn explained(&self) -> u32 {
        self.positions.iter().sum()
    }

    /// The candidate behind a move, whose outcomes are known.
    pub(crate) fn after(&self, known: &LtsCache, taken: &Move) -> Self {
        let mut next = self.clone();
        let node = taken.node as usize;
        next.positions[node] += taken.lines;
        if taken.lines > 0 {
            next.gaps[node] = 0;
        } else if taken.is_hidden {
            next.gaps[node] += 1;
        }
        let mut sent: Box<[MessageId]> = Box::default();
        if let Some(step) = taken.step
            && let Some(row) = known.row(self.locals[node], step.trigger)
        {
            let outcome = &known.outcomes(row)[step.outcome as usize];
            next.locals[node] = outcome.next;
            let links = known.links(&next.locals);
            next.in_flight.step(&links, taken.node, known.taken(step.trigger), outcome.sent.iter().copied());
            sent = outcome.sent.clone();
        }
        next.last = (!taken.is_ample).then_some(Last { node: taken.node, rank: taken.rank, sent });
        next
    }

    /// A hash of it without the gaps. Ids stand for contents: all candidates are of one local transition system.
    pub(crate) fn key(&self) -> u128 {
        let mut hasher = blake3::Hasher::new();
        for local in &self.locals {
            hasher.update(&local.0.to_le_bytes());
        }
        for message in &self.in_flight {
            hasher.update(&message.0.to_le_bytes());
        }
        hasher.update(&u32::MAX.to_le_bytes());
        for position in &self.positions {
            hasher.update(&position.to_le_bytes());
        }
        if let Some(last) = &self.last {
            hasher.update(&last.node.to_le_bytes());
            hasher.update(&last.rank.to_le_bytes());
            for message in &last.sent {
                hasher.update(&message.0.to_le_bytes());
            }
        }
        let bytes: [u8; 32] = hasher.finalize().into();
        u128::from_le_bytes(std::array::from_fn(|index| bytes[index]))
    }
}
