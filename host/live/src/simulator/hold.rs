//! Hold and look ahead in a run: from each event that can be filtered, as far as its node knows the others.

use std::collections::BTreeMap;

use host_model::contract::{Envelope, MachineError, NodeId, Stop, TransferError};
use host_model::lts::{LocalStateId, MessageId, Stepper};
use host_model::trace::{Beginning, Hex, NodeState};

use crate::carried::{Carried, Fork};
use crate::checker::{CheckError, Checker};
use crate::filter::Pattern;

/// The maximum number of answers that are kept.
const KNOWN_MAX: usize = 100_000;

/// Looks ahead for all nodes of all runs: the result depends on the fork and the event alone, so it is kept.
pub(crate) struct Hold<'f> {
    checker: Checker<'f>,
    stop: Option<&'f dyn Stop>,
    known: BTreeMap<[u8; 32], bool>,
}

impl<'f> Hold<'f> {
    pub(crate) fn new(checker: Checker<'f>) -> Self {
        Self { checker, stop: None, known: BTreeMap::new() }
    }

    /// The same, with a stop from outside.
    pub(crate) fn stopped_by(self, stop: &'f dyn Stop) -> Self {
        Self { checker: self.checker.stopped_by(stop), stop: Some(stop), ..self }
    }

    /// Whether an event leads to what is about to go wrong, and its substitute does not.
    pub(crate) fn is_to_blame(&mut self, event: &Pattern, fork: &Fork) -> Result<bool, MachineError> {
        let question = (event, &*fork.after, &*fork.instead, fork.node);
        let key = *blake3::hash(
            &postcard::to_allocvec(&question).expect("serde derives its encoding, and memory takes every byte"),
        )
        .as_bytes();
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let foreseen = self.checker.foresee(event, fork, &|| ());
        check_stopped(self.stop)?;
        let is_to_blame = match foreseen {
            Ok(foreseen) => foreseen.prediction.is_some(),
            Err(CheckError::Refused(_)) => false,
            Err(CheckError::Machine(error)) => return Err(error),
        };
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(key, is_to_blame);
        Ok(is_to_blame)
    }
}

/// An error after a request to stop the checkers: what they have reached depends on the moment.
pub(crate) fn check_stopped(stop: Option<&dyn Stop>) -> Result<(), MachineError> {
    stop.and_then(Stop::reason).map_or(Ok(()), |stopped| Err(stopped.into()))
}

/// The knowledge of a node in a run about the others.
pub(super) struct Horizon {
    carried: Carried,
    /// The number of its latest checkpoint.
    number: u64,
}

impl Horizon {
    pub(super) fn new(node: NodeId) -> Self {
        Self { carried: Carried::new(node), number: 0 }
    }

    /// A snapshot begins; the number of the node's checkpoint in it.
    pub(super) fn begin(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// The node sends messages.
    pub(super) fn send(&mut self, stepper: &Stepper<'_>, sent: &[MessageId]) {
        self.carried.send(self.number, &envelopes(stepper, sent));
    }

    /// The node takes a message.
    pub(super) fn take(&mut self, from: NodeId, payload: &[u8]) {
        self.carried.take(self.number, from, payload);
    }

    /// A snapshot is complete.
    pub(super) fn renew(&mut self, number: u64, beginning: Beginning) {
        self.carried.renew(number, beginning);
    }

    /// A step of the node. None where nothing is known of the others, or a state cannot leave its machine.
    pub(super) fn fork(
        &self,
        stepper: &mut Stepper<'_>,
        before: LocalStateId,
        after: LocalStateId,
        sent: &[MessageId],
    ) -> Result<Option<Fork>, MachineError> {
        let sent = envelopes(stepper, sent);
        let mut state = |local| match stepper.export(local) {
            Ok(exported) => {
                let node = stepper.state(local).protocol.node;
                Ok(Some(NodeState { node, exported: Hex(exported), fault_state: Default::default() }))
            }
            Err(TransferError::Refused(_)) => Ok(None),
            Err(TransferError::Machine(error)) => Err(error),
        };
        let (Some(before), Some(after)) = (state(before)?, state(after)?) else { return Ok(None) };
        Ok(self.carried.fork(before, after, &sent))
    }
}

fn envelopes(stepper: &Stepper<'_>, sent: &[MessageId]) -> Vec<Envelope> {
    let envelope = |id: &MessageId| {
        let message = stepper.message(*id);
        Envelope { to: message.to, payload: message.payload.clone() }
    };
    sent.iter().map(envelope).collect()
}
