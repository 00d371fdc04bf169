//! Hold and look ahead in worlds: the results for all nodes of all runs.

use std::collections::BTreeMap;

use host_model::contract::{MachineError, Stop};

use crate::carried::Fork;
use crate::checker::{CheckError, Checker};
use crate::filter::Pattern;

/// The maximum number of answers that are kept.
const KNOWN_MAX: usize = 100_000;

/// Looks ahead for all nodes of all runs: the result depends on the fork and the event alone, so it is kept.
pub(super) struct Hold<'f> {
    checker: Checker<'f>,
    stop: Option<&'f dyn Stop>,
    known: BTreeMap<[u8; 32], bool>,
}

impl<'f> Hold<'f> {
    pub(super) fn new(checker: Checker<'f>) -> Self {
        Self { checker, stop: None, known: BTreeMap::new() }
    }

    /// The same, with a stop from outside.
    pub(super) fn stopped_by(self, stop: &'f dyn Stop) -> Self {
        Self { checker: self.checker.stopped_by(stop), stop: Some(stop), ..self }
    }

    /// Whether an event leads to what is about to go wrong, and its substitute does not.
    pub(super) fn is_to_blame(&mut self, event: &Pattern, fork: &Fork) -> Result<bool, MachineError> {
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
pub(super) fn check_stopped(stop: Option<&dyn Stop>) -> Result<(), MachineError> {
    stop.and_then(Stop::reason).map_or(Ok(()), |stopped| Err(stopped.into()))
}
