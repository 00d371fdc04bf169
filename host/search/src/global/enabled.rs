//! The enabled events of a global state, as far as look-ups tell.

use host_model::contract::{MachineError, NodeId, Role};
use host_model::lts::quorum::{Member, for_each_set};
use host_model::lts::{LocalStateId, LtsCache, MessageId, OutcomesRef, Stepper, Trigger};

use crate::global::state::{Budgets, GlobalState};

/// The questions to answer before it is known which events are enabled in some states.
#[derive(Debug, Default)]
pub struct Unknown {
    /// Handlers that were not executed.
    pub missing: Vec<(LocalStateId, Trigger)>,
    /// Quorums without an id, each with its messages sorted.
    pub unnamed: Vec<Vec<MessageId>>,
}

/// The number of questions in an [`Unknown`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    pub handlers: usize,
    pub quorums: usize,
}

/// Takes a quorum: its members, and its trigger, or its sorted messages if it has no id.
type Take<'t, T> = dyn FnMut(&[Member<T>], Result<Trigger, Vec<MessageId>>) + 't;

/// Calls `found` with each quorum of these members.
pub fn for_each_quorum<T: Copy>(
    known: &LtsCache,
    members: &[Member<T>],
    message: fn(&T) -> MessageId,
    found: &mut Take<'_, T>,
) {
    for_each_set(members, &|_, _| true, &mut |set| {
        let mut messages: Vec<MessageId> = set.iter().map(|member| message(&member.item)).collect();
        messages.sort_unstable();
        found(set, known.find_quorum(&messages).map(Trigger::deliver_quorum).ok_or(messages));
    });
}

/// Whether a possible event certainly has an outcome. Not certain: a fault may change nothing, a node may decline a quorum, and a node
/// that takes quorums may not take a message by itself.
pub fn is_sure(known: &LtsCache, node: NodeId, trigger: Trigger) -> bool {
    match trigger.message() {
        Some(_) => !known.takes_quorums(node),
        None => trigger.fault().is_none() && trigger.quorum().is_none(),
    }
}

impl Unknown {
    /// Whether there are no questions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of questions.
    pub fn len(&self) -> usize {
        self.missing.len() + self.unnamed.len()
    }

    /// The outcomes of a trigger; noted as missing if they cannot be looked up.
    #[inline]
    pub fn row(&mut self, known: &LtsCache, local: LocalStateId, trigger: Trigger) -> Option<OutcomesRef> {
        let row = known.row(local, trigger);
        if row.is_none() {
            self.missing.push((local, trigger));
        }
        row
    }

    /// Bytes kept.
    pub fn bytes(&self) -> usize {
        let unnamed: usize = self.unnamed.iter().map(|messages| size_of_val(messages) + size_of_val(&**messages)).sum();
        self.missing.capacity() * size_of::<(LocalStateId, Trigger)>() + unnamed
    }

    /// Removes all questions.
    pub fn clear(&mut self) {
        self.truncate(Asked::default());
    }

    /// The current number of questions.
    pub fn asked(&self) -> Asked {
        Asked { handlers: self.missing.len(), quorums: self.unnamed.len() }
    }

    /// Removes the questions that were added since then.
    pub fn truncate(&mut self, asked: Asked) {
        self.missing.truncate(asked.handlers);
        self.unnamed.truncate(asked.quorums);
    }

    /// Answers all questions, in their order.
    fn ask(&mut self, stepper: &mut Stepper<'_>) -> Result<(), MachineError> {
        for messages in &self.unnamed {
            stepper.quorum(messages);
        }
        stepper.prepare(&self.missing)?;
        self.clear();
        Ok(())
    }
}

impl GlobalState {
    /// Puts the enabled events into `enabled`: the deliveries of the distinct messages in flight in the order of their ids, or of the next
    /// one on each channel, then the quorums, then the local events and faults node by node, then the losses of messages.
    /// Returns whether the bound on local events left something out. No event is enabled at a node that is stuck in a fault.
    pub fn enabled(
        &self,
        stepper: &mut Stepper<'_>,
        budgets: &Budgets,
        enabled: &mut Vec<(NodeId, Trigger)>,
    ) -> Result<bool, MachineError> {
        let mut unknown = Unknown::default();
        loop {
            let is_cut = self.enabled_in(stepper.known(), budgets, enabled, &mut unknown);
            if unknown.is_empty() {
                return Ok(is_cut);
            }
            unknown.ask(stepper)?;
        }
    }

    /// The same by look-ups alone. Adds its questions to `unknown`; the caller answers them before it calls this again.
    pub fn enabled_in(
        &self,
        known: &LtsCache,
        budgets: &Budgets,
        enabled: &mut Vec<(NodeId, Trigger)>,
        unknown: &mut Unknown,
    ) -> bool {
        enabled.clear();
        if known.is_over(&self.locals) {
            return false;
        }
        let mut has_roles = false;
        self.in_flight.for_each_next(&known.links(&self.locals), |message| {
            let node = known.destination(*message);
            if known.takes_quorums(node) {
                has_roles = true;
            } else {
                enabled.push((node, Trigger::deliver(*message)));
            }
        });
        if has_roles {
            self.enabled_by_role(known, enabled, unknown);
        }
        let mut is_cut = false;
        for (node, local) in (0..).zip(&self.locals) {
            let (own, is_cut_here) = budgets.own_events(known, *local, self.local_events[node as usize]);
            enabled.extend(own.map(|trigger| (node, trigger)));
            is_cut |= is_cut_here;
        }
        self.add_losses(known, enabled);
        is_cut
    }

    /// Adds the losses of all messages that can be delivered next, whether or not their destinations would take them.
    fn add_losses(&self, known: &LtsCache, enabled: &mut Vec<(NodeId, Trigger)>) {
        if !known.has_losses() {
            return;
        }
        self.in_flight.for_each_next(&known.links(&self.locals), |message| {
            let node = known.destination(*message);
            enabled.extend(known.loss(self.locals[node as usize], *message).map(|loss| (node, loss)));
        });
    }

    /// Puts the local events into `suppressed` that are possible here apart from the bound on them.
    pub fn suppressed(&self, known: &LtsCache, budgets: &Budgets, suppressed: &mut Vec<(NodeId, Trigger)>) {
        suppressed.clear();
        if known.is_over(&self.locals) {
            return;
        }
        for (node, local) in (0..).zip(&self.locals) {
            if budgets.local_events_max.is_some_and(|max| self.local_events[node as usize] >= max) {
                let events = known.state(*local).protocol.local_events.iter();
                suppressed.extend(events.map(|event| (node, Trigger::local(*event))));
            }
        }
    }

    /// Adds the deliveries at nodes that take quorums: of the messages that they take by themselves, then of all quorums of the
    /// other messages. Nodes may decline some.
    fn enabled_by_role(&self, known: &LtsCache, enabled: &mut Vec<(NodeId, Trigger)>, unknown: &mut Unknown) {
        let mut members: Vec<(NodeId, Member<MessageId>)> = Vec::new();
        for messages in self.in_flight.chunk_by(|one, other| one == other) {
            let (message, node) = (messages[0], known.destination(messages[0]));
            if !known.takes_quorums(node) {
                continue;
            }
            let (local, trigger) = (self.locals[node as usize], Trigger::deliver(message));
            // Only a delivery shows how a node takes a message.
            if unknown.row(known, local, trigger).is_none() {
                continue;
            }
            match known.role(local, message) {
                Role::Alone => enabled.push((node, trigger)),
                Role::Held => {}
                Role::Member(kind) => members.push((node, known.member(kind, message, message))),
            }
        }
        if !unknown.missing.is_empty() {
            return;
        }
        members.sort_by_key(|(node, _)| *node);
        for members in members.chunk_by(|one, other| one.0 == other.0) {
            let node = members[0].0;
            let members: Vec<Member<MessageId>> = members.iter().map(|(_, member)| *member).collect();
            for_each_quorum(known, &members, |message| *message, &mut |_, quorum| match quorum {
                Ok(trigger) => enabled.push((node, trigger)),
                Err(messages) => unknown.unnamed.push(messages),
            });
        }
    }
}
