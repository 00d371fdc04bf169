//! The total adequate order of the unfolding: it decides which of several events with the same global state survives.
//!
//! Size comes first, since the unfolding makes events size by size; then the local words of the past, node by
//! node. Source: Esparza, Römer, Vogler, "An improvement of McMillan's unfolding algorithm", TACAS 1996, whose Foata
//! normal forms the local words replace.

use std::cmp::Ordering;

use host_model::lts::{LocalStateId, Trigger};

use crate::unfolding::Event;
use crate::unfolding::chains::{Chains, EventId};

/// The local words of the past of an event that competes: for each node the labels of its chain.
pub(crate) struct Words<'p> {
    /// The event before on the node.
    pub(crate) prev: EventId,
    pub(crate) trigger: Trigger,
    pub(crate) outcome: u32,
    /// The past; on the own node the event before.
    pub(crate) past: &'p [EventId],
}

/// The local state before, the trigger, and the number of the outcome.
type Label = (LocalStateId, Trigger, u32);

impl Words<'_> {
    /// Compares node by node: by length, then label by label from the first.
    ///
    /// This is a total order on the competing events; the completeness of the cut-offs depends on it.
    pub(crate) fn compare(&self, other: &Self, chains: &Chains, events: &[Event]) -> Ordering {
        let own = events[self.prev.0 as usize].node as usize;
        let own_of_other = events[other.prev.0 as usize].node as usize;
        for node in 0..self.past.len() {
            let (mut one, mut two) = (self.past[node], other.past[node]);
            let (is_own, is_own_of_other) = (node == own, node == own_of_other);
            let len = |last, is_own| chains.len(last) + u32::from(is_own);
            let by_length = len(one, is_own).cmp(&len(two, is_own_of_other));
            if by_length.is_ne() {
                return by_length;
            }
            // From the last labels to the first: the difference found last stands first. Chains that meet are equal
            // from there on.
            let mut ordering = Ordering::Equal;
            if is_own || is_own_of_other {
                let last = |words: &Self, at: &mut EventId, is_own| {
                    if is_own { words.own_label(events) } else { label(chains, events, at) }
                };
                let (of_one, of_two) = (last(self, &mut one, is_own), last(other, &mut two, is_own_of_other));
                ordering = of_one.cmp(&of_two);
            }
            while one != two {
                let labels = label(chains, events, &mut one).cmp(&label(chains, events, &mut two));
                ordering = labels.then(ordering);
            }
            if ordering.is_ne() {
                return ordering;
            }
        }
        Ordering::Equal
    }

    /// The label of the event itself.
    fn own_label(&self, events: &[Event]) -> Label {
        (events[self.prev.0 as usize].state, self.trigger, self.outcome)
    }
}

/// The label of an event; moves on to the event before.
fn label(chains: &Chains, events: &[Event], at: &mut EventId) -> Label {
    let step = events[at.0 as usize].step;
    *at = chains.prev(*at);
    (events[at.0 as usize].state, step.trigger, step.outcome)
}
