//! The snapshots that a node has asked for.

use std::collections::BTreeSet;
use std::time::Duration;

use host_model::contract::NodeId;

use crate::checkpoint::Outcome;
use crate::time::Time;

/// The snapshots that were asked for.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// The number of the last one, and when it was.
    last: Option<(u64, Time)>,
    /// The same of the last one that was given up, and who had not answered.
    given_up: Option<((u64, Time), BTreeSet<NodeId>)>,
}

impl Asked {
    /// Notes a snapshot that is asked for now.
    pub fn begin(&mut self, number: u64, now: Time) {
        self.last = Some((number, now));
    }

    /// Notes how the last one ended.
    pub fn end(&mut self, outcome: &Outcome) {
        self.given_up = match outcome {
            Outcome::TimedOut(silent) => self.last.map(|last| (last, silent.clone())),
            _ => self.given_up.take(),
        };
    }

    /// How long the first answer of a node took that comes after its snapshot was given up; none for any other answer.
    pub fn late(&mut self, from: NodeId, request: u64, now: Time) -> Option<Duration> {
        let ((number, asked), silent) = self.given_up.as_mut()?;
        (*number == request && silent.remove(&from)).then(|| Duration::from_nanos(now.0.saturating_sub(asked.0)))
    }
}
