//! Renamed states, found and compared by execution.

use std::rc::Rc;
use std::sync::Arc;

use host_model::contract::{Choice, NodeId};
use host_model::lts::{LocalStateId, Stepper, Trigger};
use host_model::scenario::FaultEvent;

use crate::reduction::symmetry::{PropertyVerdict, Symmetry, SymmetryError, asymmetry, property_verdict};

impl Symmetry {
    /// Compares the outcomes of a trigger with those of the renamed trigger in the renamed state, for all renamings.
    /// Afterwards its next local states can be renamed.
    ///
    /// # Errors
    ///
    /// The outcomes differ.
    pub fn check(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: LocalStateId,
        trigger: Trigger,
    ) -> Result<(), SymmetryError> {
        if self.checked.contains(&(state, trigger)) {
            return Ok(());
        }
        let states = self.states(state);
        let taken = stepper.known().taken_together(trigger).to_vec();
        let triggers: Vec<Trigger> = match (trigger.message(), trigger.local_event(), trigger.fault()) {
            _ if !taken.is_empty() => {
                // So the renamed ones are members as well.
                for message in &taken {
                    self.check(stepper, state, Trigger::deliver(*message))?;
                }
                let mut renamed = Vec::with_capacity(self.size());
                for renaming in 0..self.size() {
                    let taken = self.rename_messages(stepper, renaming, &taken)?;
                    renamed.push(Trigger::deliver_quorum(stepper.quorum(&taken)));
                }
                renamed
            }
            (Some(message), ..) => self.messages(stepper, message)?.iter().map(|id| Trigger::deliver(*id)).collect(),
            (_, Some(event), _) => self.local_events(stepper, event)?.iter().map(|id| Trigger::local(*id)).collect(),
            (.., Some(fault)) => (0..self.size()).map(|renaming| self.rename_fault(renaming, fault)).collect(),
            _ => unreachable!("a trigger is a message, a local event or a fault"),
        };
        let row = stepper.step(state, trigger)?;
        let outcomes = stepper.outcomes(row).to_vec();
        let mut next: Vec<Vec<LocalStateId>> = vec![Vec::with_capacity(self.size()); outcomes.len()];
        for renaming in 0..self.size() {
            let row = stepper.step(states[renaming], triggers[renaming])?;
            let renamed = stepper.outcomes(row).to_vec();
            let mut is_same = renamed.len() == outcomes.len();
            for (index, (one, other)) in outcomes.iter().zip(&renamed).enumerate() {
                let expected = self.rename_messages(stepper, renaming, &one.sent)?;
                let mut sent = other.sent.to_vec();
                sent.sort_unstable();
                is_same &= sent == expected && self.are_same_choices(renaming, &one.choices, &other.choices);
                next[index].push(other.next);
            }
            let role = |state, trigger: Trigger| trigger.message().map(|message| stepper.known().role(state, message));
            is_same &= role(state, trigger) == role(states[renaming], triggers[renaming]);
            if !is_same {
                let (one, other) = (stepper.state(state).protocol.node, stepper.state(states[renaming]).protocol.node);
                return Err(SymmetryError::Asymmetric(format!(
                    "an event at node {one} has other choices, or sends other messages, than the renamed one at node {other}"
                )));
            }
        }
        for (outcome, images) in outcomes.iter().zip(&next) {
            self.define(stepper, outcome.next, images)?;
        }
        self.checked.extend(states.iter().copied().zip(triggers));
        Ok(())
    }

    fn rename_fault(&self, renaming: usize, fault: FaultEvent) -> Trigger {
        fault.renamed(|peer| self.node(renaming, peer as usize) as NodeId).into()
    }

    /// Whether these are the same answers, apart from the names of destinations.
    fn are_same_choices(&self, renaming: usize, one: &[Choice], other: &[Choice]) -> bool {
        let renamed = one
            .iter()
            .map(|choice| Choice { to: choice.to.map(|to| self.node(renaming, to as usize) as NodeId), ..*choice });
        renamed.eq(other.iter().copied())
    }

    /// Defines a local state under each renaming, and thereby each of these states under all renamings.
    pub(super) fn define(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: LocalStateId,
        images: &[LocalStateId],
    ) -> Result<(), SymmetryError> {
        if self.states.get(&state).is_some_and(|known| **known == *images) {
            return Ok(());
        }
        if self.states.contains_key(&state) || images[0] != state {
            let node = stepper.state(state).protocol.node;
            return Err(SymmetryError::Asymmetric(format!(
                "two ways lead to one state of node {node}, but the renamed ways to two states"
            )));
        }
        self.compare(stepper, state, images)?;
        let kind = *images.iter().min().expect("the group has the identity at least");
        for (p, image) in images.iter().enumerate() {
            self.kinds.insert(*image, kind);
            let table: Rc<[LocalStateId]> = (0..self.size()).map(|q| images[self.after[q][p]]).collect();
            if *self.states.entry(*image).or_insert_with(|| Rc::clone(&table)) != table {
                let node = stepper.state(*image).protocol.node;
                return Err(SymmetryError::Asymmetric(format!(
                    "a state of node {node} is the renamed one of two states that differ"
                )));
            }
        }
        Ok(())
    }

    /// Compares the enabled events and the judgements of a local state with those of its renamed states.
    fn compare(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: LocalStateId,
        images: &[LocalStateId],
    ) -> Result<(), SymmetryError> {
        let one = Arc::clone(stepper.state(state));
        let said: Vec<PropertyVerdict> = one.protocol.judgements.iter().map(property_verdict).collect();
        for (renaming, image) in images.iter().enumerate() {
            let other = Arc::clone(stepper.state(*image));
            let mut expected = Vec::with_capacity(one.protocol.local_events.len());
            for event in &one.protocol.local_events {
                expected.push(self.local_events(stepper, *event)?[renaming]);
            }
            let mut possible = other.protocol.local_events.to_vec();
            expected.sort_unstable();
            possible.sort_unstable();
            let renamed = one.faults.iter().filter_map(|fault| Some(self.rename_fault(renaming, fault.fault()?)));
            let mut faults: Vec<Trigger> = renamed.collect();
            faults.sort_unstable();
            if expected != possible || !faults.iter().copied().eq(other.faults.iter()) {
                return Err(SymmetryError::Asymmetric(format!(
                    "node {} has other events of its own than node {} in the renamed state",
                    one.protocol.node, other.protocol.node
                )));
            }
            let says: Vec<PropertyVerdict> = other.protocol.judgements.iter().map(property_verdict).collect();
            if says != said {
                let differs = said.iter().find(|what| !says.contains(what));
                let differs = differs.or_else(|| says.iter().find(|what| !said.contains(what)));
                return Err(asymmetry(stepper.lts().properties(), differs));
            }
        }
        Ok(())
    }
}
