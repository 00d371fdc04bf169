//! The events that a filter matches.

use std::collections::BTreeSet;
use std::sync::Arc;

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{Ignores, LocalEvent, LocalKind, NodeId};
use serde::{Deserialize, Serialize};

use crate::gate::{Cause, Event};
use crate::kinds::{Kind, Kinds};

/// The events that a filter matches, regardless of the state in which they happen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum What {
    /// A message of this sender with this content.
    Message {
        /// The sender.
        from: NodeId,
        /// The content.
        payload: Vec<u8>,
    },
    /// All messages of this sender of a kind.
    Kind {
        /// The sender.
        from: NodeId,
        /// The kind.
        kind: Kind,
    },
    /// A local event with this name and argument.
    Local {
        /// The name.
        name: String,
        /// The argument.
        payload: Vec<u8>,
    },
    /// All local events with this name.
    Name(String),
}

/// The events that a filter matches, in one state or in all. It never matches an internal event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pattern {
    /// The protocol state in which it applies; none for all states.
    pub state: Option<Fingerprint>,
    /// The events.
    pub what: What,
}

impl Pattern {
    /// The exact pattern, which matches only this event in this state. None if the event has no sound substitute, or only a broken
    /// connection that is not allowed.
    pub fn of(event: &Event<'_>) -> Option<Self> {
        event.substitute()?;
        let what = match event.cause {
            Cause::Message { from, payload, .. } => What::Message { from, payload: payload.to_vec() },
            Cause::Local(local) => What::Local { name: local.name.clone(), payload: local.payload.clone() },
        };
        Some(Self { state: Some(event.state), what })
    }

    /// The next coarser pattern: first in any state, then for all contents of the kind.
    pub fn coarser(&self, kinds: &Kinds) -> Option<Self> {
        let what = match (&self.state, &self.what) {
            (Some(_), what) => what.clone(),
            (None, What::Message { from, payload }) => What::Kind { from: *from, kind: kinds.of(payload) },
            (None, What::Local { name, .. }) => What::Name(name.clone()),
            (None, What::Kind { .. } | What::Name(_)) => return None,
        };
        Some(Self { state: None, what })
    }

    /// Whether it matches every event that another one matches.
    pub fn covers(&self, other: &Self, kinds: &Kinds) -> bool {
        let mut finer = Some(other.clone());
        while let Some(pattern) = finer {
            if pattern == *self {
                return true;
            }
            finer = pattern.coarser(kinds);
        }
        false
    }

    /// Whether it matches an event.
    pub fn matches(&self, event: &Event<'_>, kinds: &Kinds) -> bool {
        match event.cause {
            Cause::Message { from, payload, .. } => self.matches_message(event.state, from, payload, kinds),
            Cause::Local(local) => self.matches_local(event.state, local),
        }
    }

    fn matches_message(&self, state: Fingerprint, sender: NodeId, content: &[u8], kinds: &Kinds) -> bool {
        let is_meant = match &self.what {
            What::Message { from, payload } => *from == sender && payload == content,
            What::Kind { from, kind } => *from == sender && *kind == kinds.of(content),
            What::Local { .. } | What::Name(_) => false,
        };
        is_meant && self.state.is_none_or(|only| only == state)
    }

    fn matches_local(&self, state: Fingerprint, event: &LocalEvent) -> bool {
        let is_meant = match &self.what {
            What::Local { name, payload } => *name == event.name && *payload == event.payload,
            What::Name(name) => *name == event.name,
            What::Message { .. } | What::Kind { .. } => false,
        };
        is_meant && event.kind != LocalKind::Internal && self.state.is_none_or(|only| only == state)
    }
}

/// The filters in force at a node, as the events that it does not take in a search.
#[derive(Clone, Debug)]
pub struct Patterns {
    /// The node.
    pub node: NodeId,
    /// The filters.
    pub patterns: BTreeSet<Pattern>,
    /// The kinds of the messages.
    pub kinds: Arc<Kinds>,
}

impl Ignores for Patterns {
    fn node(&self) -> NodeId {
        self.node
    }

    fn drops(&self, state: Fingerprint, from: NodeId, payload: &[u8]) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches_message(state, from, payload, &self.kinds))
    }

    fn delays(&self, state: Fingerprint, event: &LocalEvent) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches_local(state, event))
    }
}

#[cfg(test)]
mod tests {
    use host_model::scenario::Network;

    use super::*;

    fn message(state: Fingerprint, from: NodeId, payload: &[u8]) -> Event<'_> {
        let cause = Cause::Message { from, network: Network::Unordered, payload };
        Event { state, cause, may_break: false }
    }

    /// Two states, two senders, two kinds with two contents each: each coarser pattern drops exactly one condition.
    #[test]
    fn each_coarser_pattern_matches_more() {
        let kinds = Kinds::default();
        let exact = Pattern::of(&message(1, 0, &[3, 1])).expect("messages can be dropped");
        let content = exact.coarser(&kinds).expect("it has a state");
        let kind = content.coarser(&kinds).expect("it has a content");
        assert_eq!(kind.coarser(&kinds), None);
        let mut matched = [0; 3];
        for state in [1, 2] {
            for from in [0, 1] {
                for payload in [[3, 1], [3, 2], [4, 1], [4, 2]] {
                    let event = message(state, from, &payload);
                    for (count, pattern) in matched.iter_mut().zip([&exact, &content, &kind]) {
                        *count += u32::from(pattern.matches(&event, &kinds));
                    }
                }
            }
        }
        // Of 16 events: one; both states; both states and both contents.
        assert_eq!(matched, [1, 2, 4]);
    }

    #[test]
    fn what_has_no_substitute_is_never_matched() {
        let of_kind = |kind| LocalEvent { name: "tick".to_owned(), kind, payload: vec![1] };
        let (timer, internal) = (of_kind(LocalKind::Timer), of_kind(LocalKind::Internal));
        let event = |local| Event { state: 1, cause: Cause::Local(local), may_break: true };
        assert_eq!(Pattern::of(&event(&internal)), None);
        let mut pattern = Pattern::of(&event(&timer));
        let (kinds, mut steps) = (Kinds::default(), 0);
        while let Some(known) = pattern {
            assert!(known.matches(&event(&timer), &kinds) && !known.matches(&event(&internal), &kinds));
            pattern = known.coarser(&kinds);
            steps += 1;
        }
        assert_eq!(steps, 3);
        let cause = Cause::Message { from: 0, network: Network::Ordered, payload: &[1] };
        let in_order = |may_break| Pattern::of(&Event { state: 1, cause, may_break });
        assert!(in_order(false).is_none() && in_order(true).is_some());
    }
}
