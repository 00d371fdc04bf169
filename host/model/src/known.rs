//! What is known of the local transition system, copied so that many workers can look it up without a lock.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lts::{LocalState, LocalStateId, Message, MessageId, Outcome, Tables, Trigger};
use crate::property::{ClassId, Judgement};
use crate::stepper::OutcomesRef;

/// The part of the local transition system that a [`Stepper`](crate::stepper::Stepper) has asked for.
#[derive(Default)]
pub struct Known {
    rows: FxHashMap<(LocalStateId, Trigger), OutcomesRef>,
    outcomes: Vec<Arc<[Outcome]>>,
    states: Vec<Arc<LocalState>>,
    messages: Vec<Arc<Message>>,
    verdicts: FxHashMap<Box<[ClassId]>, Arc<[Judgement]>>,
}

impl Known {
    /// A local state by id.
    #[inline]
    pub fn state(&self, id: LocalStateId) -> &Arc<LocalState> {
        &self.states[id.0 as usize]
    }

    /// A message by id.
    #[inline]
    pub fn message(&self, id: MessageId) -> &Arc<Message> {
        &self.messages[id.0 as usize]
    }

    /// The outcomes of a trigger in a local state, if it was executed.
    #[inline]
    pub fn row(&self, state: LocalStateId, trigger: Trigger) -> Option<OutcomesRef> {
        self.rows.get(&(state, trigger)).copied()
    }

    /// The outcomes behind a reference; at least one.
    #[inline]
    pub fn outcomes(&self, row: OutcomesRef) -> &[Outcome] {
        &self.outcomes[row.0 as usize]
    }

    /// What the properties of system scope say about a tuple of classes, if that was asked before.
    #[inline]
    pub fn verdict(&self, classes: &[ClassId]) -> Option<&Arc<[Judgement]>> {
        self.verdicts.get(classes)
    }

    /// Number of pairs of local state and trigger.
    pub fn rows(&self) -> usize {
        self.outcomes.len()
    }

    /// Copies what others have interned since.
    pub(crate) fn catch_up(&mut self, tables: &Tables) {
        self.states.extend_from_slice(&tables.states[self.states.len()..]);
        self.messages.extend_from_slice(&tables.messages[self.messages.len()..]);
    }

    pub(crate) fn add_row(&mut self, pair: (LocalStateId, Trigger), outcomes: Arc<[Outcome]>) {
        let row = OutcomesRef(u32::try_from(self.outcomes.len()).expect("fewer than four billion steps"));
        self.outcomes.push(outcomes);
        self.rows.insert(pair, row);
    }

    pub(crate) fn add_verdict(&mut self, classes: &[ClassId], judgements: Arc<[Judgement]>) {
        self.verdicts.insert(classes.into(), judgements);
    }
}
