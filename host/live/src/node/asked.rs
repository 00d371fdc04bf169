//! The snapshots that a node has requested.

use std::collections::BTreeSet;
use std::time::Duration;

use host_model::contract::NodeId;

use crate::checkpoint::Outcome;
use crate::time::Time;

/// The snapshots that a node has requested.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// The number and the time of the last request.
    last: Option<(u64, Time)>,
    /// The same for the last snapshot that timed out, and the nodes that had not answered.
    given_up: Option<((u64, Time), BTreeSet<NodeId>)>,
}

impl Asked {
    /// Notes a request for a snapshot.
    pub fn begin(&mut self, number: u64, now: Time) {
        self.last = Some((number, now));
    }

    /// Notes the outcome of the last one.
    pub fn end(&mut self, outcome: &Outcome) {
        self.given_up = match outcome {
            Outcome::TimedOut(silent) => self.last.map(|last| (last, silent.clone())),
            _ => self.given_up.take(),
        };
    }

    /// The delay of a node's first answer to a snapshot that has timed out; none for any other answer.
    pub fn late(&mut self, from: NodeId, request: u64, now: Time) -> Option<Duration> {
        let ((number, asked), silent) = self.given_up.as_mut()?;
        (*number == request && silent.remove(&from)).then(|| Duration::from_nanos(now.0.saturating_sub(asked.0)))
    }
}
