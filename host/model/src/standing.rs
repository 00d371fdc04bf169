//! What is known about a node besides the state that its protocol keeps: how much has gone wrong there.
//!
//! A local state is what the protocol knows, its *content*, together with this. Handlers see the content alone, so they
//! are executed once for each content, and what follows for the local states is derived here, without a machine.
//! Faults are thereby events of one node like any other: what they depend on, and what they change, is in the local state
//! of that node and in messages. No strategy needs to know more about them.

use std::sync::Arc;

use crate::lts::{FaultEvent, LocalState, LocalStateId, MessageId, Outcome, Tables, Trigger};
use crate::machine::{Choice, Envelope, NodeId};
use crate::scenario::Scenario;

/// What has gone wrong at a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Standing {
    /// Resets so far.
    pub resets: u32,
}

impl Standing {
    /// Whether nothing has gone wrong: the local state is as good as its content.
    pub fn is_fresh(&self) -> bool {
        *self == Self::default()
    }

    /// What a fingerprint is made of.
    pub(crate) fn words(&self) -> Vec<u32> {
        vec![self.resets]
    }
}

/// What can go wrong, for the derivation of steps.
#[derive(Clone, Debug)]
pub struct Rules {
    resets_max: u32,
}

impl Rules {
    /// The rules of a scenario.
    pub fn new(scenario: &Scenario) -> Self {
        Self { resets_max: scenario.faults.resets }
    }

    /// Whether a local state can be more than its content.
    pub fn has_standings(&self) -> bool {
        self.resets_max > 0
    }

    /// The faults that a node of this standing can still meet.
    pub(crate) fn faults(&self, standing: &Standing) -> Vec<Trigger> {
        if standing.resets < self.resets_max { vec![Trigger::RESET] } else { Vec::new() }
    }
}

/// A handler execution as the protocol knows it: by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BareKey {
    /// Index of the content.
    pub(crate) content: u32,
    /// What makes the handler run.
    pub(crate) cause: BareCause,
}

/// What makes a handler run, as the protocol knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BareCause {
    /// A message or a local event.
    Trigger(Trigger),
    /// `init`, with what the content makes durable.
    Reset,
}

/// How such an execution ended.
#[derive(Clone, Debug)]
pub(crate) struct Bare {
    /// Index of the content afterwards.
    pub(crate) content: u32,
    pub(crate) sent: Vec<Envelope>,
    pub(crate) choices: Vec<Choice>,
}

impl Tables {
    /// The handler that has to be executed for a step.
    pub(crate) fn bare_key(&self, state: LocalStateId, trigger: Trigger) -> BareKey {
        let content = self.states[state.0 as usize].content;
        let cause = match trigger.fault() {
            Some(FaultEvent::Reset) => BareCause::Reset,
            None => BareCause::Trigger(trigger),
        };
        BareKey { content, cause }
    }

    /// The outcomes of a step whose handler was executed. A reset may have none: one that changes nothing does not
    /// happen.
    pub(crate) fn derive(&mut self, rules: &Rules, state: LocalStateId, trigger: Trigger) -> Vec<Outcome> {
        let key = self.bare_key(state, trigger);
        let state = Arc::clone(&self.states[state.0 as usize]);
        let mut standing = state.standing.clone();
        if trigger == Trigger::RESET {
            standing.resets += 1;
        }
        let bares = Arc::clone(&self.bare[&key]);
        let mut outcomes = Vec::with_capacity(bares.len());
        for bare in bares.iter() {
            let is_idle = bare.content == state.content && bare.sent.is_empty();
            if trigger.fault().is_some() && is_idle {
                continue;
            }
            let sent = self.send(state.node, &bare.sent);
            let next = self.intern_standing(rules, bare.content, standing.clone());
            let consumed = trigger.message().map_or(0, |message| self.messages[message.0 as usize].fingerprint);
            let before = state.fingerprint.wrapping_add(consumed);
            outcomes.push(self.outcome(before, next, sent, bare.choices.as_slice().into()));
        }
        outcomes
    }

    /// The outcomes of the first `init` of a node.
    pub(crate) fn derive_init(&mut self, rules: &Rules, node: NodeId, bares: &[Bare]) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(bares.len());
        for bare in bares {
            let sent = self.send(node, &bare.sent);
            let next = self.intern_standing(rules, bare.content, Standing::default());
            outcomes.push(self.outcome(0, next, sent, bare.choices.as_slice().into()));
        }
        outcomes
    }

    /// Messages on their way.
    pub(crate) fn send(&mut self, from: NodeId, sent: &[Envelope]) -> Box<[MessageId]> {
        sent.iter().map(|envelope| self.intern_message(from, envelope.to, &envelope.payload)).collect()
    }

    /// The local state with this content and standing.
    pub(crate) fn intern_standing(&mut self, rules: &Rules, content: u32, standing: Standing) -> LocalStateId {
        let bare = &self.contents[content as usize];
        let fingerprint = match standing.is_fresh() {
            true => bare.fingerprint,
            false => crate::fingerprint::of_standing(bare.fingerprint, &standing.words()),
        };
        if let Some(id) = self.state_ids.get(&fingerprint) {
            return *id;
        }
        // Nothing happens any more at a node that is stuck in a fault of the guest.
        let faults = if bare.snapshot.is_some() { rules.faults(&standing).into() } else { Box::default() };
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
