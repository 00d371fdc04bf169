//! The enabled events of a global state, as far as they can be looked up.

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

/// How much [`Unknown`] asks for.
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

/// Whether what is possible has an outcome, whatever its handler says: a fault may change nothing, a quorum be declined, and a node
/// that takes quorums not take a message by itself.
pub fn is_sure(known: &LtsCache, node: NodeId, trigger: Trigger) -> bool {
    match trigger.message() {
        Some(_) => !known.takes_quorums(node),
        None => trigger.fault().is_none() && trigger.quorum().is_none(),
    }
}

impl Unknown {
    /// Whether nothing has to be asked for.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much has to be asked for.
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

    /// Forgets it.
    pub fn clear(&mut self) {
        self.truncate(Asked::default());
    }

    /// How much has to be asked for by now.
    pub fn asked(&self) -> Asked {
        Asked { handlers: self.missing.len(), quorums: self.unnamed.len() }
    }

    /// Forgets what was added since then.
    pub fn truncate(&mut self, asked: Asked) {
        self.missing.truncate(asked.handlers);
        self.unnamed.truncate(asked.quorums);
    }

    /// Asks for all of it, in its order.
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
    /// Puts what can happen here into `enabled`: the distinct messages in flight in the order of their ids, or those that can
    /// come next on each channel, then the quorums, then the local events and faults node by node, then the losses of messages.
    /// Returns whether the bound on local events left something out. Nothing can happen where a node is stuck in a fault.
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

    /// The same by look-ups alone. What is `unknown` is added there, and is to be asked for before this is called again.
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

    /// Adds the losses of all that can be delivered next, whether or not its destination would take it.
    fn add_losses(&self, known: &LtsCache, enabled: &mut Vec<(NodeId, Trigger)>) {
        if !known.has_losses() {
            return;
        }
        self.in_flight.for_each_next(&known.links(&self.locals), |message| {
            let node = known.destination(*message);
            enabled.extend(known.loss(self.locals[node as usize], *message).map(|loss| (node, loss)));
        });
    }

    /// Puts the local events that would be possible here but for the bound on them into `suppressed`.
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
    /// others. Nodes may decline some.
    fn enabled_by_role(&self, known: &LtsCache, enabled: &mut Vec<(NodeId, Trigger)>, unknown: &mut Unknown) {
        let mut members: Vec<(NodeId, Member<MessageId>)> = Vec::new();
        for messages in self.in_flight.chunk_by(|one, other| one == other) {
            let (message, node) = (messages[0], known.destination(messages[0]));
            if !known.takes_quorums(node) {
                continue;
            }
            let (local, trigger) = (self.locals[node as usize], Trigger::deliver(message));
            // How a node takes a message shows when it is delivered.
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
