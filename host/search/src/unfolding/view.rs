//! The unfolding as workers read it: the results of an extension, and the extensions of a new event.

use host_model::contract::fingerprint::{self, Fingerprint};
use host_model::lts::quorum::{Member, for_each_set};
use host_model::lts::{LocalStateId, LtsCache, MessageId, Trigger};

use crate::global::state::Budgets;
use crate::unfolding::Event;
use crate::unfolding::adequate_order::Words;
use crate::unfolding::chains::{Chains, EventId};

/// The number of a message that an event sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct InstanceId(pub(crate) u32);

pub(crate) const NONE: u32 = u32::MAX;

/// A message that an event sent.
pub(crate) struct Instance {
    pub(crate) message: MessageId,
    pub(crate) sender: EventId,
    /// The identical message of the same sender that must be consumed first; on an ordered network the item before it on
    /// its channel, or for a notice the notice before it. `NONE` if there is none.
    pub(crate) older: u32,
    /// On an ordered network, the item before it on its channel, and the number of those.
    pub(crate) before: u32,
    pub(crate) position: u32,
}

/// The knowledge of an event about a channel between its node and another one.
#[derive(Clone, Copy)]
pub(crate) struct ChannelFrontier {
    /// The instance that the chain has sent last to the other node; `NONE` if there is none.
    pub(crate) last_sent: u32,
    /// The chain takes no items from the other node before this position any more.
    pub(crate) taken: u32,
}

/// A possible event: `prev` is followed by a local event, a fault or the consumption of instances.
#[derive(Clone, Copy)]
pub(crate) struct Extension {
    pub(crate) prev: EventId,
    pub(crate) trigger: Trigger,
    pub(crate) consumed: Consumed,
}

/// The messages that an event consumes: an instance, or the quorum with this number among those of the unfolding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consumed {
    Nothing,
    One(InstanceId),
    Quorum(u32),
}

impl Consumed {
    /// The instances.
    pub(crate) fn instances<'c>(&'c self, quorums: &'c [Box<[InstanceId]>]) -> &'c [InstanceId] {
        match self {
            Self::Nothing => &[],
            Self::One(instance) => std::slice::from_ref(instance),
            Self::Quorum(quorum) => &quorums[*quorum as usize],
        }
    }
}

/// An event that competes with others of its size.
#[derive(Clone, Copy)]
pub(crate) struct Staged {
    pub(crate) extension: Extension,
    pub(crate) outcome: u32,
    pub(crate) next: LocalStateId,
    pub(crate) fingerprint: Fingerprint,
}

impl Staged {
    pub(crate) fn words<'p>(&self, past: &'p [EventId]) -> Words<'p> {
        Words { prev: self.extension.prev, trigger: self.extension.trigger, outcome: self.outcome, past }
    }
}

/// An instance that can be consumed after an event; `size` is that of the event that would consume it.
pub(crate) struct Offer {
    pub(crate) instance: InstanceId,
    pub(crate) to: EventId,
    pub(crate) size: u32,
}

/// The unfolding as workers read it.
#[derive(Clone, Copy)]
pub(crate) struct UnfoldingView<'t> {
    pub(crate) nodes: usize,
    pub(crate) known: &'t LtsCache,
    pub(crate) chains: &'t Chains,
    pub(crate) events: &'t [Event],
    pub(crate) pasts: &'t [EventId],
    pub(crate) instances: &'t [Instance],
    pub(crate) quorums: &'t [Box<[InstanceId]>],
    pub(crate) candidates: &'t [Vec<InstanceId>],
    pub(crate) frontiers: &'t [ChannelFrontier],
    /// The fingerprint of the messages in flight at the start on links without order, where others have one.
    pub(crate) unordered_base: Fingerprint,
    /// Whether deliveries that change nothing are events: where it matters which messages are in flight.
    pub(crate) keeps_idle: bool,
}

impl<'t> UnfoldingView<'t> {
    pub(crate) fn event(&self, id: EventId) -> &'t Event {
        &self.events[id.0 as usize]
    }

    pub(crate) fn past(&self, id: EventId) -> &'t [EventId] {
        &self.pasts[id.0 as usize * self.nodes..][..self.nodes]
    }

    /// The past of the event that an extension makes; on its own node the event before.
    pub(crate) fn past_of(&self, extension: Extension) -> Box<[EventId]> {
        let mut past: Box<[EventId]> = self.past(extension.prev).into();
        for instance in extension.consumed.instances(self.quorums) {
            for (entry, other) in past.iter_mut().zip(self.past(self.sender(*instance))) {
                *entry = self.chains.later(*entry, *other);
            }
        }
        past
    }

    pub(crate) fn sender(&self, instance: InstanceId) -> EventId {
        self.instances[instance.0 as usize].sender
    }

    /// Number of events in the join of two compatible pasts.
    pub(crate) fn size_of_join(&self, one: EventId, other: EventId) -> u32 {
        let entries = self.past(one).iter().zip(self.past(other));
        entries.map(|(one, other)| self.chains.len(*one).max(self.chains.len(*other))).sum()
    }

    /// The quorums among the candidates of an event; each is a member with its instance; `last` is one of all of them
    /// if it is given. The pasts of their senders fit together.
    pub(crate) fn quorums_of(
        &self,
        members: &[Member<InstanceId>],
        last: Option<InstanceId>,
    ) -> Vec<Box<[InstanceId]>> {
        let fits = |chosen: &[Member<InstanceId>], next: &Member<InstanceId>| {
            let past = self.past(self.sender(next.item));
            chosen.iter().all(|other| self.chains.are_compatible(past, self.past(self.sender(other.item))))
        };
        let mut found = Vec::new();
        for_each_set(members, &fits, &mut |set| {
            if last.is_none_or(|last| set.iter().any(|member| member.item == last)) {
                found.push(set.iter().map(|member| member.item).collect());
            }
        });
        found
    }

    /// The same, or empty on a network without order.
    pub(crate) fn frontiers_of(&self, id: EventId) -> &'t [ChannelFrontier] {
        if self.known.is_ordered() { self.frontiers(id) } else { &[] }
    }

    /// The knowledge of an event about the channels of its node, on an ordered network.
    pub(crate) fn frontiers(&self, id: EventId) -> &'t [ChannelFrontier] {
        &self.frontiers[id.0 as usize * self.nodes..][..self.nodes]
    }

    /// Whether a node in this state can never take an instance, because its connection was broken since.
    pub(crate) fn is_lost(&self, instance: u32, state: LocalStateId) -> bool {
        let message = self.known.message(self.instances[instance as usize].message);
        message.route().is_lost(&self.known.state(state).fault_state)
    }

    /// Whether a message goes over a link without order where others have one.
    pub(crate) fn is_unordered(&self, message: MessageId) -> bool {
        self.known.message(message).route().is_unordered()
    }

    /// The change of the fingerprint of the messages in flight by a step on links without order, where others have one.
    pub(crate) fn unordered_delta(&self, sent: &[MessageId], consumed: impl Iterator<Item = MessageId>) -> Fingerprint {
        let of =
            |message: MessageId| if self.is_unordered(message) { self.known.message(message).fingerprint } else { 0 };
        let sent = sent.iter().copied().map(of).fold(0, Fingerprint::wrapping_add);
        consumed.map(of).fold(sent, Fingerprint::wrapping_sub)
    }

    /// The fingerprint of the global state that an extension leads to by an outcome, on an ordered network: the same as
    /// that of the [`GlobalState`](crate::global::state::GlobalState).
    pub(crate) fn fingerprint_in_order(&self, one: Extension, outcome: usize, budgets: &Budgets) -> Fingerprint {
        let prev = self.event(one.prev);
        let own = prev.node as usize;
        let past = self.past_of(one);
        let row = self.known.row(prev.state, one.trigger).expect("the step was prepared");
        let executed = &self.known.outcomes(row)[outcome];
        let state = |node: usize| if node == own { executed.next } else { self.event(past[node]).state };
        let mut local_events: Vec<u32> = past.iter().map(|last| self.event(*last).local_events).collect();
        local_events[own] += u32::from(one.trigger.local_event().is_some());
        let locals = (0..self.nodes).map(|node| self.known.brief(state(node)).fingerprint);
        let mut sum = locals.fold(budgets.of_used(&local_events), Fingerprint::wrapping_add);
        sum = past
            .iter()
            .fold(sum.wrapping_add(self.unordered_base), |sum, last| sum.wrapping_add(self.event(*last).chain));
        let consumed = one.consumed.instances(self.quorums);
        let consumed = consumed.iter().map(|instance| &self.instances[instance.0 as usize]);
        sum = sum.wrapping_add(self.unordered_delta(&executed.sent, consumed.clone().map(|instance| instance.message)));
        let mut items = Vec::new();
        for (from, to) in (0..self.nodes).flat_map(|from| (0..self.nodes).map(move |to| (from, to))) {
            let mut taken = self.frontiers(past[to])[from].taken;
            for instance in consumed.clone().filter(|_| to == own) {
                let route = self.known.message(instance.message).route();
                if route.from as usize == from && !route.is_unordered() {
                    taken = instance.position + 1;
                }
            }
            let fault_state = &self.known.state(state(to)).fault_state;
            let is_lost = |message: MessageId| self.known.message(message).route().is_lost(fault_state);
            let fingerprint = |message: MessageId| self.known.message(message).fingerprint;
            items.clear();
            if from == own {
                let sent = executed.sent.iter().rev().copied();
                let is_here = |message: &MessageId| {
                    self.known.destination(*message) as usize == to && !self.is_unordered(*message)
                };
                let sent = sent.filter(|message| is_here(message) && !is_lost(*message));
                items.extend(sent.map(fingerprint));
            }
            let mut at = self.frontiers(past[from])[to].last_sent;
            while let Some(instance) = self.instances.get(at as usize)
                && instance.position >= taken
            {
                if !is_lost(instance.message) {
                    items.push(fingerprint(instance.message));
                }
                at = instance.before;
            }
            sum = sum.wrapping_add(fingerprint::of_channel(items.iter().copied()));
        }
        sum
    }

    /// The events that an extension can make, one for each outcome that changes the global state; returns the number of
    /// outcomes.
    pub(crate) fn execute(
        &self,
        one: Extension,
        base: Fingerprint,
        budgets: &Budgets,
        staged: &mut Vec<Staged>,
    ) -> usize {
        let prev = self.event(one.prev);
        let row = self.known.row(prev.state, one.trigger).expect("the step was prepared");
        let past = self.past(one.prev);
        let chain = |last: EventId| self.event(last).chain;
        let sum = match one.consumed {
            Consumed::One(instance) => past
                .iter()
                .zip(self.past(self.sender(instance)))
                .fold(base, |sum, (one, other)| sum.wrapping_add(chain(self.chains.later(*one, *other)))),
            Consumed::Nothing => past.iter().fold(base, |sum, last| sum.wrapping_add(chain(*last))),
            Consumed::Quorum(_) => self.past_of(one).iter().fold(base, |sum, last| sum.wrapping_add(chain(*last))),
        };
        let sum = sum.wrapping_add(budgets.of_step(prev.node, one.trigger));
        let outcomes = self.known.outcomes(row);
        for (outcome, executed) in (0_u32..).zip(outcomes) {
            // Leaving out an event that changes nothing leaves one message or budget more for later events. But on an
            // ordered network the message taken was in the way of others, and at an end no message may be left.
            let is_in_the_way = self.keeps_idle && one.consumed != Consumed::Nothing;
            if executed.next != prev.state || !executed.sent.is_empty() || is_in_the_way {
                let fingerprint = match self.known.is_ordered() {
                    true => self.fingerprint_in_order(one, outcome as usize, budgets),
                    false => sum.wrapping_add(executed.delta),
                };
                staged.push(Staged { extension: one, outcome, next: executed.next, fingerprint });
            }
        }
        outcomes.len()
    }

    /// The candidates of the event before a new one that do not exclude it.
    pub(crate) fn inherited(&self, id: EventId) -> Vec<InstanceId> {
        let (prev, past) = (self.chains.prev(id), self.past(id));
        let consumed = self.event(id).consumed.instances(self.quorums);
        let state = self.event(id).state;
        let is_left = |instance: &&InstanceId| {
            let Instance { sender, message, position, .. } = self.instances[instance.0 as usize];
            if self.known.is_ordered() && !self.is_unordered(message) {
                let from = self.known.message(message).from as usize;
                // An overtaken message, or one sent over a connection that is now broken, is lost.
                if position < self.frontiers(id)[from].taken || self.is_lost(instance.0, state) {
                    return false;
                }
            }
            !consumed.contains(instance) && self.chains.are_compatible(self.past(sender), past)
        };
        self.candidates[prev.0 as usize].iter().filter(is_left).copied().collect()
    }

    /// The messages of a new event, offered to all events that they can follow: those at or below the last event of the
    /// destination in the sender's past that do not exclude the sender. Returns also the number of events examined.
    pub(crate) fn offers(&self, sender: EventId) -> (Vec<Offer>, u64) {
        let (mut offers, mut looked_at) = (Vec::new(), 0);
        let mut stack = Vec::new();
        let (first, last) = self.event(sender).sent;
        for instance in first..last {
            let to = self.known.message(self.instances[instance as usize].message).to;
            stack.push(self.past(sender)[to as usize]);
            while let Some(at) = stack.pop() {
                looked_at += 1;
                if !self.chains.are_compatible(self.past(sender), self.past(at)) {
                    continue;
                }
                // A message lost here is lost below as well.
                if self.known.is_ordered() && self.is_lost(instance, self.event(at).state) {
                    continue;
                }
                let size = self.size_of_join(at, sender) + 1;
                offers.push(Offer { instance: InstanceId(instance), to: at, size });
                let some = |id: u32| (id != NONE).then_some(EventId(id));
                let first = some(self.event(at).first_child);
                stack.extend(std::iter::successors(first, |id| some(self.event(*id).next_sibling)));
            }
        }
        (offers, looked_at)
    }
}
