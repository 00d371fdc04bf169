//! The steps of local states where things can go wrong, derived from the handler executions on their contents.

use std::sync::Arc;

use crate::contract::fingerprint::{self, Fingerprint};
use crate::contract::{Envelope, Likelihood, NodeId};
use crate::lts::ids::{LocalStateId, MessageId, Trigger};
use crate::lts::protocol_step::{Bare, BareCause, BareKey};
use crate::lts::state::{LocalState, Outcome};
use crate::lts::tables::Tables;
use crate::scenario::fault_state::Rules;
use crate::scenario::{FaultEvent, Route, Standing};

/// An outcome to be.
struct Draft<'d> {
    before: &'d LocalState,
    /// The fingerprint of what is taken out of flight.
    consumed: Fingerprint,
    standing: Standing,
    /// Peers to be told of a break.
    notices: Vec<(NodeId, u32)>,
}

impl Tables {
    /// The handler that has to be executed for a step; none for a transport error that is lost.
    pub(crate) fn bare_key(&self, rules: &Rules, state: LocalStateId, trigger: Trigger) -> Option<BareKey> {
        let state = &self.states[state.0 as usize];
        let error =
            |peer: NodeId| (rules.hears_errors && state.standing.is_open(peer)).then_some(BareCause::Error(peer));
        let cause = match (trigger.message(), trigger.fault()) {
            (Some(message), _) => {
                let message = &self.messages[message.0 as usize];
                match message.is_notice {
                    true => error(message.from)?,
                    false => BareCause::Message(message.content),
                }
            }
            (None, Some(FaultEvent::Reset)) => BareCause::Reset,
            (None, Some(FaultEvent::Break(peer))) => error(peer)?,
            (None, None) => trigger.quorum().map_or(BareCause::Local(trigger), BareCause::Quorum),
        };
        Some(BareKey { content: state.content, cause })
    }

    /// The outcomes of a step whose handler was executed. A reset may have none: one that changes nothing does not
    /// happen.
    pub(crate) fn derive(&mut self, rules: &Rules, state: LocalStateId, trigger: Trigger) -> Vec<Outcome> {
        let key = self.bare_key(rules, state, trigger);
        let state = Arc::clone(&self.states[state.0 as usize]);
        let mut standing = state.standing.clone();
        let mut notices = Vec::new();
        let mut is_error = false;
        match (trigger.message(), trigger.fault()) {
            (Some(message), _) => {
                let route = self.messages[message.0 as usize].route();
                debug_assert!(standing.can_take(&route), "nobody asks for a delivery that is not possible");
                if route.is_notice {
                    standing.learn(route.from, route.incarnation);
                    is_error = true;
                } else if !route.is_loose() {
                    standing.open(route.from);
                }
            }
            (None, Some(FaultEvent::Reset)) => notices = standing.reset(state.node),
            (None, Some(FaultEvent::Break(peer))) => {
                standing.breaks += 1;
                notices.push((peer, standing.close(peer)));
                is_error = true;
            }
            (None, None) => {}
        }
        let consumed = self.consumed(trigger);
        let draft = Draft { before: &state, consumed, standing, notices };
        let bares = key.map(|key| Arc::clone(&self.bare[&key]));
        let mut outcomes = Vec::new();
        for bare in bares.iter().flat_map(|bares| bares.iter()) {
            // All connections of a node of no end are the same; one that was open has changed.
            let is_idle = bare.content == state.content
                && bare.sent.is_empty()
                && draft.standing.has_same_connections(&state.standing);
            if trigger == Trigger::RESET && is_idle {
                continue;
            }
            outcomes.extend(self.finish(rules, &draft, bare, false));
        }
        if is_error {
            let unheard =
                Bare { content: state.content, sent: Vec::new(), choices: Vec::new(), likelihood: Likelihood::CERTAIN };
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
    pub(crate) fn derive_init(&mut self, rules: &Rules, node: NodeId, bares: &[Bare]) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(bares.len());
        for bare in bares {
            let mut standing = rules.fresh();
            if !standing.refuse(&bare.choices, rules) {
                continue;
            }
            let sent = self.send(rules, node, &mut standing, &bare.sent);
            let next = self.intern_standing(rules, bare.content, standing);
            outcomes.push(self.outcome(0, next, sent, bare.answers()));
        }
        outcomes
    }

    /// The outcome of an execution; none if the transport would refuse more messages than it may.
    fn finish(&mut self, rules: &Rules, draft: &Draft<'_>, bare: &Bare, is_lost: bool) -> Option<Outcome> {
        let mut standing = draft.standing.clone();
        if !standing.refuse(&bare.choices, rules) {
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
        if self.contents[bare.content as usize].snapshot.is_some() {
            sent.extend(notices.map(|route| self.intern_message(route, &[])));
            sent.extend(self.send(rules, node, &mut standing, &bare.sent));
        }
        let next = self.intern_standing(rules, bare.content, standing);
        let before = draft.before.fingerprint.wrapping_add(draft.consumed);
        Some(Outcome { is_lost, ..self.outcome(before, next, sent.into(), bare.answers()) })
    }

    /// Messages on their way.
    pub(crate) fn send(
        &mut self,
        rules: &Rules,
        from: NodeId,
        standing: &mut Standing,
        sent: &[Envelope],
    ) -> Box<[MessageId]> {
        let mut messages = Vec::with_capacity(sent.len());
        for Envelope { to, payload } in sent {
            let route = rules.route(from, *to, standing);
            let message = self.intern_message(route, payload);
            messages.extend(std::iter::repeat_n(message, rules.copies(from, *to)));
        }
        messages.into()
    }

    /// The local state with this content and standing.
    fn intern_standing(&mut self, rules: &Rules, content: u32, standing: Standing) -> LocalStateId {
        let bare = &self.contents[content as usize];
        let fingerprint = match standing.is_fresh() {
            true => bare.fingerprint,
            false => fingerprint::of_standing(bare.fingerprint, &standing.words()),
        };
        if let Some(id) = self.state_ids.get(&fingerprint) {
            return *id;
        }
        // Nothing happens any more at a node that is stuck in a fault of the guest.
        let is_stuck = bare.snapshot.is_none();
        let faults = if is_stuck { Vec::new() } else { rules.faults(bare.node, &standing) };
        let faults = faults.into_iter().map(Trigger::from).collect();
        let state = LocalState {
            node: bare.node,
            fingerprint,
            encoding_bytes: bare.encoding_bytes,
            local_events: bare.local_events.clone(),
            faults,
            class: bare.class,
            judgements: bare.judgements.clone(),
            snapshot: bare.snapshot.clone(),
            content,
            standing,
        };
        self.intern_state(state)
    }
}
