//! The steps of local states, derived from the handler executions on their protocol states without a machine.

use std::sync::Arc;

use crate::contract::fingerprint::Fingerprint;
use crate::contract::{DurableMap, Envelope, Fault, NodeId, Snapshot};
use crate::lts::handler::{Ended, Execution};
use crate::lts::ids::{LocalStateId, MessageId, ProtocolStateId, Trigger};
use crate::lts::protocol_step::ProtocolOutcome;
use crate::lts::state::{LocalState, Outcome};
use crate::lts::tables::Tables;
use crate::scenario::fault_state::Rules;
use crate::scenario::{FaultState, Route, Writes};

/// The common parts of all outcomes of a step.
struct Draft {
    node: NodeId,
    /// The fingerprint of the parts that the step removes: the local state, and messages in flight.
    before: Fingerprint,
    fault_state: FaultState,
    /// Peers to notify of a break, with the new incarnation.
    notices: Vec<(NodeId, u32)>,
    /// The durable map with which the handler begins.
    map: DurableMap,
}

impl Tables {
    /// The outcomes of a step; none if its handler must be executed first. A fault may have no outcomes: one that
    /// changes nothing does not happen.
    pub(crate) fn derive(&mut self, rules: &Rules, id: LocalStateId, trigger: Trigger) -> Option<Vec<Outcome>> {
        if trigger.lost().is_some() {
            return Some(vec![self.derive_loss(rules, id, trigger)]);
        }
        let step = self.protocol_step(rules, id, trigger);
        let executed = match &step {
            Some(step) => Some(Arc::clone(self.protocol_steps.get(step)?)),
            None => None,
        };
        if let (Some(message), Some(step)) = (trigger.message(), step)
            && let Some(role) = self.protocol_roles.get(&step)
        {
            self.roles.push(((id, message), *role));
        }
        let state = Arc::clone(&self.states[id.0 as usize]);
        let node = state.protocol.node;
        let mut fault_state = state.fault_state.clone();
        let (mut notices, mut is_error) = (Vec::new(), false);
        let map = self.map_at_the_beginning(rules, &state, trigger);
        match (trigger.message(), trigger.fault()) {
            (Some(message), _) => {
                let message = &self.messages[message.0 as usize];
                let route = message.route();
                debug_assert!(fault_state.can_take(&route), "no search asks for a delivery that is not possible");
                if route.is_notice {
                    fault_state.learn(route.from, route.incarnation);
                    is_error = true;
                } else if self.breaks_instead(rules, &state, message) {
                    notices.push((route.from, fault_state.close(route.from)));
                    is_error = true;
                } else if !route.is_unordered() {
                    fault_state.open(route.from);
                }
            }
            (None, Some(fault)) => {
                notices = fault_state.meet(fault, node);
                is_error = fault.peer().is_some();
            }
            (None, None) => {}
        }
        let before = state.fingerprint.wrapping_add(self.consumed(trigger));
        let draft = Draft { node, before, fault_state, notices, map };
        let executed = executed.as_ref().map_or(&[][..], |outcomes| outcomes);
        let is_fault = trigger.fault().is_some();
        let mut outcomes = Vec::with_capacity(executed.len());
        for outcome in executed {
            // A fault state without connections never differs in them; breaking an open connection is a change.
            let is_idle = outcome.next == state.protocol_id
                && outcome.sent.is_empty()
                && draft.fault_state.has_same_connections(&state.fault_state);
            if is_fault && is_idle {
                continue;
            }
            outcomes.extend(self.finish(rules, &draft, outcome));
        }
        if is_error {
            let unheard = ProtocolOutcome::without_a_handler(state.protocol_id);
            let lost = self.finish(rules, &draft, &unheard).expect("no message is refused where none is sent");
            // A handler that ignores the error has the same outcome as a lost error.
            if !outcomes.iter().any(|heard: &Outcome| heard.delta == lost.delta) {
                outcomes.push(Outcome { is_lost: true, ..lost });
            }
        }
        Some(outcomes)
    }

    /// The outcome of a loss: its destination does not notice, but its fault state counts it.
    fn derive_loss(&mut self, rules: &Rules, id: LocalStateId, trigger: Trigger) -> Outcome {
        let before = Arc::clone(&self.states[id.0 as usize]);
        let mut fault_state = before.fault_state.clone();
        fault_state.lose(rules);
        let next = match fault_state == before.fault_state {
            true => id,
            false => self.intern_local_state(rules, before.protocol_id, fault_state),
        };
        let gone = before.fingerprint.wrapping_add(self.consumed(trigger));
        Outcome::unconditional(next, self.states[next.0 as usize].fingerprint.wrapping_sub(gone))
    }

    /// The outcomes of the first `init` of a node.
    pub(crate) fn derive_init(&mut self, rules: &Rules, node: NodeId, executed: &[ProtocolOutcome]) -> Vec<Outcome> {
        let (notices, map) = (Vec::new(), DurableMap::default());
        let draft = Draft { node, before: 0, fault_state: rules.fresh(), notices, map };
        executed.iter().filter_map(|outcome| self.finish(rules, &draft, outcome)).collect()
    }

    /// The outcome of an execution; none if the transport would exceed its budget of refusals.
    fn finish(&mut self, rules: &Rules, draft: &Draft, outcome: &ProtocolOutcome) -> Option<Outcome> {
        let mut fault_state = draft.fault_state.clone();
        if !fault_state.refuse(&outcome.choices, rules) {
            return None;
        }
        let too_many;
        let outcome = match self.write(rules, draft, outcome, &mut fault_state) {
            Ok(()) => outcome,
            Err(fault) => {
                too_many = self.stuck(draft.node, outcome, fault);
                &too_many
            }
        };
        let from = draft.node;
        let mut sent = Vec::with_capacity(draft.notices.len() + outcome.sent.len());
        // No event follows a fault of the guest, so no peer needs a notice of a break.
        if self.protocol_states[outcome.next.0 as usize].snapshot.is_some() {
            for (to, incarnation) in &draft.notices {
                let route = Route { from, to: *to, incarnation: *incarnation, is_notice: true, channel_class: 0 };
                if !rules.is_absent(*to) {
                    sent.push(self.intern_message(route, &[]));
                }
            }
            for (Envelope { to, payload }, of_content) in &outcome.sent {
                let route = rules.route(from, *to, &mut fault_state);
                // An absent node absorbs the message.
                if rules.is_absent(*to) {
                    continue;
                }
                let message = self.intern_hashed(route, payload, *of_content);
                sent.extend(std::iter::repeat_n(message, rules.copies(from, *to)));
            }
        }
        let next = self.intern_local_state(rules, outcome.next, fault_state);
        let sum = |sum: Fingerprint, id: &MessageId| sum.wrapping_add(self.messages[id.0 as usize].fingerprint);
        let after = sent.iter().fold(self.states[next.0 as usize].fingerprint, sum);
        Some(Outcome {
            next,
            sent: sent.into(),
            choices: outcome.choices.as_slice().into(),
            likelihood: outcome.likelihood,
            draws: outcome.draws,
            delta: after.wrapping_sub(draft.before),
            is_lost: false,
        })
    }

    /// Notes what a handler has written; an error if an outage could leave too many disks.
    fn write(
        &self,
        rules: &Rules,
        draft: &Draft,
        outcome: &ProtocolOutcome,
        fault_state: &mut FaultState,
    ) -> Result<(), Fault> {
        if rules.max.outages == 0 {
            return Ok(());
        }
        let is_stuck = self.protocol_states[outcome.next.0 as usize].snapshot.is_none();
        let empty = DurableMap::default();
        let after = self.map_of(outcome.next).unwrap_or(&empty);
        let writes = Writes { synced: &outcome.synced, keys: &outcome.written, after };
        fault_state.write(&draft.map, (!is_stuck).then_some(&writes), rules)
    }

    /// The outcome of an execution if the node is stuck in a fault instead.
    fn stuck(&mut self, node: NodeId, outcome: &ProtocolOutcome, fault: Fault) -> ProtocolOutcome {
        let stuck = self.intern_executions(node, vec![Execution::silent(Ended::Fault(fault))]);
        ProtocolOutcome { next: stuck[0].next, sent: Vec::new(), ..outcome.clone() }
    }

    /// The durable map with which the handler of a step begins; it matters only where there can be outages.
    fn map_at_the_beginning(&self, rules: &Rules, state: &LocalState, trigger: Trigger) -> DurableMap {
        if rules.max.outages == 0 {
            return DurableMap::default();
        }
        let present = self.map_of(state.protocol_id);
        let left = trigger.fault().and_then(|fault| state.fault_state.map_left(fault, present));
        left.or_else(|| present.cloned()).unwrap_or_default()
    }

    /// The durable map of a protocol state, if it has one.
    pub(crate) fn map_of(&self, state: ProtocolStateId) -> Option<&DurableMap> {
        self.protocol_states[state.0 as usize].snapshot.as_ref().and_then(Snapshot::map)
    }

    /// The fingerprint of the messages that a trigger takes out of flight.
    pub(crate) fn consumed(&self, trigger: Trigger) -> Fingerprint {
        let fingerprint = |message: &MessageId| self.messages[message.0 as usize].fingerprint;
        match (trigger.message().or(trigger.lost()), trigger.quorum()) {
            (Some(message), _) => fingerprint(&message),
            (_, Some(quorum)) => {
                self.quorums[quorum.0 as usize].iter().map(fingerprint).fold(0, Fingerprint::wrapping_add)
            }
            _ => 0,
        }
    }
}
