//! The steps of local states where things can go wrong, derived from the handler executions on their protocol states.

use std::sync::Arc;

use crate::contract::fingerprint::{self, Fingerprint};
use crate::contract::{Envelope, Likelihood, NodeId};
use crate::lts::ids::{LocalStateId, MessageId, Trigger};
use crate::lts::protocol_step::{ProtocolEvent, ProtocolOutcome, ProtocolStep};
use crate::lts::state::{LocalState, Outcome};
use crate::lts::tables::Tables;
use crate::scenario::fault_state::Rules;
use crate::scenario::{FaultEvent, FaultState, Route};

/// An outcome to be.
struct Draft<'d> {
    before: &'d LocalState,
    /// The fingerprint of what is taken out of flight.
    consumed: Fingerprint,
    fault_state: FaultState,
    /// Peers to be told of a break.
    notices: Vec<(NodeId, u32)>,
}

impl Tables {
    /// The handler that has to be executed for a step; none for a transport error that is lost.
    pub(crate) fn protocol_step(&self, rules: &Rules, state: LocalStateId, trigger: Trigger) -> Option<ProtocolStep> {
        let state = &self.states[state.0 as usize];
        let error = |peer: NodeId| {
            (rules.hears_errors && state.fault_state.is_open(peer)).then_some(ProtocolEvent::Error(peer))
        };
        let cause = match (trigger.message(), trigger.fault()) {
            (Some(message), _) => {
                let message = &self.messages[message.0 as usize];
                match message.is_notice {
                    true => error(message.from)?,
                    false => ProtocolEvent::Message(message.content),
                }
            }
            (None, Some(FaultEvent::Reset)) => ProtocolEvent::Reset,
            (None, Some(FaultEvent::Break(peer))) => error(peer)?,
            (None, None) => trigger.quorum().map_or(ProtocolEvent::Local(trigger), ProtocolEvent::Quorum),
        };
        Some(ProtocolStep { protocol_state: state.protocol_state, cause })
    }

    /// The outcomes of a step whose handler was executed. A reset may have none: one that changes nothing does not
    /// happen.
    pub(crate) fn derive(&mut self, rules: &Rules, state: LocalStateId, trigger: Trigger) -> Vec<Outcome> {
        let key = self.protocol_step(rules, state, trigger);
        let state = Arc::clone(&self.states[state.0 as usize]);
        let mut fault_state = state.fault_state.clone();
        let mut notices = Vec::new();
        let mut is_error = false;
        match (trigger.message(), trigger.fault()) {
            (Some(message), _) => {
                let route = self.messages[message.0 as usize].route();
                debug_assert!(fault_state.can_take(&route), "nobody asks for a delivery that is not possible");
                if route.is_notice {
                    fault_state.learn(route.from, route.incarnation);
                    is_error = true;
                } else if !route.is_loose() {
                    fault_state.open(route.from);
                }
            }
            (None, Some(FaultEvent::Reset)) => notices = fault_state.reset(state.node),
            (None, Some(FaultEvent::Break(peer))) => {
                fault_state.breaks += 1;
                notices.push((peer, fault_state.close(peer)));
                is_error = true;
            }
            (None, None) => {}
        }
        let consumed = self.consumed(trigger);
        let draft = Draft { before: &state, consumed, fault_state, notices };
        let executed = key.map(|key| Arc::clone(&self.protocol_steps[&key]));
        let mut outcomes = Vec::new();
        for outcome in executed.iter().flat_map(|outcomes| outcomes.iter()) {
            // All connections of a node of no end are the same; one that was open has changed.
            let is_idle = outcome.protocol_state == state.protocol_state
                && outcome.sent.is_empty()
                && draft.fault_state.has_same_connections(&state.fault_state);
            if trigger == Trigger::RESET && is_idle {
                continue;
            }
            outcomes.extend(self.finish(rules, &draft, outcome, false));
        }
        if is_error {
            let unheard = ProtocolOutcome {
                protocol_state: state.protocol_state,
                sent: Vec::new(),
                choices: Vec::new(),
                likelihood: Likelihood::CERTAIN,
            };
            let lost = self.finish(rules, &draft, &unheard, true).expect("no message is refused where none is sent");
            // A handler that ignores the error does what one does that never hears of it.
            if !outcomes.iter().any(|heard: &Outcome| heard.delta == lost.delta) {
                outcomes.push(lost);
            }
        }
        outcomes
    }

    /// The fingerprint of what a trigger takes out of flight.
    pub(crate) fn consumed(&self, trigger: Trigger) -> Fingerprint {
        let fingerprint = |message: &MessageId| self.messages[message.0 as usize].fingerprint;
        match (trigger.message(), trigger.quorum()) {
            (Some(message), _) => fingerprint(&message),
            (_, Some(quorum)) => {
                self.quorums[quorum.0 as usize].iter().map(fingerprint).fold(0, Fingerprint::wrapping_add)
            }
            _ => 0,
        }
    }

    /// The outcomes of the first `init` of a node.
    pub(crate) fn derive_init(&mut self, rules: &Rules, node: NodeId, executed: &[ProtocolOutcome]) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(executed.len());
        for outcome in executed {
            let mut fault_state = rules.fresh();
            if !fault_state.refuse(&outcome.choices, rules) {
                continue;
            }
            let sent = self.send(rules, node, &mut fault_state, &outcome.sent);
            let next = self.intern_local_state(rules, outcome.protocol_state, fault_state);
            outcomes.push(self.outcome(0, next, sent, outcome.answers()));
        }
        outcomes
    }

    /// The outcome of an execution; none if the transport would refuse more messages than it may.
    fn finish(
        &mut self,
        rules: &Rules,
        draft: &Draft<'_>,
        outcome: &ProtocolOutcome,
        is_lost: bool,
    ) -> Option<Outcome> {
        let mut fault_state = draft.fault_state.clone();
        if !fault_state.refuse(&outcome.choices, rules) {
            return None;
        }
        let node = draft.before.node;
        let notices = draft.notices.iter().map(|(to, incarnation)| Route {
            from: node,
            to: *to,
            incarnation: *incarnation,
            is_notice: true,
            lane: 0,
        });
        let mut sent = Vec::new();
        // Nothing follows a fault of the guest, so nobody has to be told of a break.
        if self.protocol_states[outcome.protocol_state as usize].snapshot.is_some() {
            sent.extend(notices.map(|route| self.intern_message(route, &[])));
            sent.extend(self.send(rules, node, &mut fault_state, &outcome.sent));
        }
        let next = self.intern_local_state(rules, outcome.protocol_state, fault_state);
        let before = draft.before.fingerprint.wrapping_add(draft.consumed);
        Some(Outcome { is_lost, ..self.outcome(before, next, sent.into(), outcome.answers()) })
    }

    /// Messages on their way.
    pub(crate) fn send(
        &mut self,
        rules: &Rules,
        from: NodeId,
        fault_state: &mut FaultState,
        sent: &[Envelope],
    ) -> Box<[MessageId]> {
        let mut messages = Vec::with_capacity(sent.len());
        for Envelope { to, payload } in sent {
            let route = rules.route(from, *to, fault_state);
            let message = self.intern_message(route, payload);
            messages.extend(std::iter::repeat_n(message, rules.copies(from, *to)));
        }
        messages.into()
    }

    /// The local state with this protocol state and fault state.
    fn intern_local_state(&mut self, rules: &Rules, id: u32, fault_state: FaultState) -> LocalStateId {
        let protocol_state = &self.protocol_states[id as usize];
        let fingerprint = match fault_state.is_fresh() {
            true => protocol_state.fingerprint,
            false => fingerprint::of_fault_state(protocol_state.fingerprint, &fault_state.words()),
        };
        if let Some(id) = self.state_ids.get(&fingerprint) {
            return *id;
        }
        // Nothing happens any more at a node that is stuck in a fault of the guest.
        let is_stuck = protocol_state.snapshot.is_none();
        let faults = if is_stuck { Vec::new() } else { rules.faults(protocol_state.node, &fault_state) };
        let faults = faults.into_iter().map(Trigger::from).collect();
        let state = LocalState {
            node: protocol_state.node,
            fingerprint,
            encoding_bytes: protocol_state.encoding_bytes,
            local_events: protocol_state.local_events.clone(),
            faults,
            class: protocol_state.class,
            judgements: protocol_state.judgements.clone(),
            snapshot: protocol_state.snapshot.clone(),
            protocol_state: id,
            fault_state,
        };
        self.intern_state(state)
    }
}
