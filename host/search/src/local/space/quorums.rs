//! The sets of messages that a local state takes together.

use std::cell::RefCell;

use host_model::contract::MachineError;
use host_model::lts::quorum::for_each_set;
use host_model::lts::{Stepper, Trigger};

use super::{Index, Label, LocalSpace, MayContinue, Reached, Slots};

impl<'l> LocalSpace<'l> {
    /// Executes the quorums of all messages that a local state may receive, unless that was done before. Returns whether
    /// to continue.
    pub(super) fn expand_quorums(
        &mut self,
        stepper: &mut Stepper<'l>,
        index: Index,
        may_continue: &mut MayContinue<'_, 'l>,
    ) -> Result<bool, MachineError> {
        let Reached { state, node, ref consumed, .. } = self.states[index.0 as usize];
        let mut members = Vec::new();
        for (slot, known) in self.inboxes[node as usize].iter().enumerate() {
            let is_spent = consumed.contains(slot) && self.single[node as usize].contains(slot);
            if !is_spent {
                members.extend(stepper.member(state, self.known[*known].message, slot as u32)?);
            }
        }
        // There can be very many sets to try, and few or no quorums among them.
        let sets = RefCell::new(Sets { space: self, stepper, may_continue, index, is_going: Ok(true) });
        for_each_set(&members, &|_, _| sets.borrow_mut().may_try(), &mut |set| {
            sets.borrow_mut().execute(set.iter().map(|member| member.item).collect());
        });
        sets.into_inner().is_going
    }
}

/// The sets of messages that may be quorums of a local state, while they are enumerated.
struct Sets<'e, 'g, 'l> {
    space: &'e mut LocalSpace<'l>,
    stepper: &'e mut Stepper<'l>,
    may_continue: &'e mut MayContinue<'g, 'l>,
    index: Index,
    /// Whether to continue. If not, no further set is tried, and the enumeration ends soon.
    is_going: Result<bool, MachineError>,
}

impl Sets<'_, '_, '_> {
    /// Whether another set may be tried.
    fn may_try(&mut self) -> bool {
        let is_going = matches!(self.is_going, Ok(true));
        if is_going {
            self.space.looks += 1;
            self.is_going = Ok(self.space.may_continue(1, self.may_continue));
        }
        is_going
    }

    /// Executes a quorum, the messages with these indices at the node, unless that was done before.
    fn execute(&mut self, slots: Vec<u32>) {
        if !self.may_try() {
            return;
        }
        let Self { space, stepper, may_continue, index, .. } = self;
        let Reached { node, .. } = space.states[index.0 as usize];
        let message = |slot: &u32| space.known[space.inboxes[node as usize][*slot as usize]].message;
        let quorum = stepper.quorum(&slots.iter().map(message).collect::<Vec<_>>());
        if space.states[index.0 as usize].executed_quorums.insert(quorum) {
            space.quorums.entry(quorum).or_insert_with(|| Slots { node, slots: slots.into() });
            let (trigger, label) = (Trigger::deliver_quorum(quorum), Label::Quorum(quorum));
            self.is_going = space.execute(stepper, *index, trigger, label, *may_continue);
        }
    }
}
