//! Messages in flight, on any network.
//!
//! If some pair of nodes has a channel in which no message overtakes another, the items in flight stand channel by
//! channel, those of one channel in the order of sending. Besides messages there are *notices*, which tell a node that
//! its peer has broken the connection. A notice overtakes the messages before it, and these are lost. Messages sent
//! before their receiver lost the connection are lost as well, and are taken out of flight as soon as this holds. See
//! `docs/semantics.md`.
//!
//! For other pairs of nodes without an order, each content has a channel of its own: equal messages are
//! interchangeable, and different ones overtake each other. If no pair has an order, there are no channels, and the
//! items stand by [rank](Links::rank).

use crate::contract::NodeId;
use crate::contract::fingerprint::{self, Fingerprint};
use crate::scenario::route::Route;

/// The rules of the network for items in flight, and the nodes' knowledge of their connections.
pub trait Links<T> {
    /// Whether messages have an order on some link.
    fn is_ordered(&self) -> bool;

    /// The route of an item.
    fn route(&self, item: &T) -> Route;

    /// The number of breaks of the connection of a node to a peer, as far as the node knows.
    fn incarnation(&self, node: NodeId, peer: NodeId) -> u32;

    /// The rank of an item on a network without any order: items of equal rank stand in the order of sending.
    fn rank(&self, item: &T) -> u32;
}

/// A multiset of messages and notices in flight, in the order that the network gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFlight<T>(Vec<T>);

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: PartialEq> InFlight<T> {
    /// Adds an item that is sent, unless it is lost already: its destination may know of a later break.
    #[inline]
    pub fn insert(&mut self, links: &impl Links<T>, item: T) {
        let position = if links.is_ordered() {
            if is_lost(links, &item) {
                return;
            }
            let channel = links.route(&item).channel();
            self.0.partition_point(|other| links.route(other).channel() <= channel)
        } else {
            let rank = links.rank(&item);
            self.0.partition_point(|other| links.rank(other) <= rank)
        };
        self.0.insert(position, item);
    }

    /// The result of inserting these items one after the other, without losses.
    pub fn of(links: &impl Links<T>, mut items: Vec<T>) -> Self {
        match links.is_ordered() {
            true => items.sort_by_key(|item| links.route(item).channel()),
            false => items.sort_by_key(|item| links.rank(item)),
        }
        Self(items)
    }

    /// Calls `found` with each distinct item that can be taken next: the first one of each channel, and the first notice
    /// in it; all items if there are no channels.
    #[inline]
    pub fn for_each_next<'i>(&'i self, links: &impl Links<T>, mut found: impl FnMut(&'i T)) {
        if !links.is_ordered() {
            return self.0.chunk_by(|one, other| one == other).for_each(|same| found(&same[0]));
        }
        let channel = |item: &T| links.route(item).channel();
        for items in self.0.chunk_by(|one, other| channel(one) == channel(other)) {
            let (first, notice) = heads(items, |item| links.route(item).is_notice);
            first.into_iter().chain(notice).for_each(&mut found);
        }
    }

    /// Takes an item, and removes the items that it overtakes in its channel.
    ///
    /// # Panics
    ///
    /// The item is not in flight.
    #[inline]
    pub fn take(&mut self, links: &impl Links<T>, item: &T) {
        let position = |first: usize| {
            let position = self.0[first..].iter().position(|other| other == item);
            first + position.expect("what is taken is in flight")
        };
        if links.is_ordered() {
            let channel = links.route(item).channel();
            let first = self.0.partition_point(|other| links.route(other).channel() < channel);
            let position = position(first);
            self.0.drain(first..=position);
        } else {
            let rank = links.rank(item);
            let position = position(self.0.partition_point(|other| links.rank(other) < rank));
            self.0.remove(position);
        }
    }

    /// Takes a step of a node: removes the items that it takes, then those that it loses given its connections after the step;
    /// adds the items that it sends last.
    #[inline]
    pub fn step(
        &mut self,
        links_after: &impl Links<T>,
        node: NodeId,
        taken: impl IntoIterator<Item = T>,
        sent: impl IntoIterator<Item = T>,
    ) {
        taken.into_iter().for_each(|item| self.take(links_after, &item));
        self.lose(links_after, node);
        sent.into_iter().for_each(|item| self.insert(links_after, item));
    }

    /// Removes the items that a node can never take.
    #[inline]
    pub fn lose(&mut self, links: &impl Links<T>, node: NodeId) {
        if links.is_ordered() {
            self.0.retain(|item| links.route(item).to != node || !is_lost(links, item));
        }
    }

    /// The fingerprint, from those of the items: the order counts on ordered links.
    pub fn fingerprint(&self, links: &impl Links<T>, of_item: impl Fn(&T) -> Fingerprint) -> Fingerprint {
        let sum = |items: &[T]| items.iter().map(&of_item).fold(0, Fingerprint::wrapping_add);
        if !links.is_ordered() {
            return sum(&self.0);
        }
        let channel = |item: &T| links.route(item).channel();
        let channels = self.0.chunk_by(|one, other| channel(one) == channel(other));
        let each = channels.map(|items| match links.route(&items[0]).is_unordered() {
            true => sum(items),
            false => fingerprint::of_channel(items.iter().rev().map(&of_item)),
        });
        each.fold(0, Fingerprint::wrapping_add)
    }
}

impl<T> InFlight<T> {
    /// Replaces all items by these, which must be in their order.
    pub fn refill(&mut self, items: impl Iterator<Item = T>) {
        self.0.clear();
        self.0.extend(items);
    }

    /// Number of items for which there is room.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl<T> From<Vec<T>> for InFlight<T> {
    /// From items in their order.
    fn from(items: Vec<T>) -> Self {
        Self(items)
    }
}

impl<T> std::ops::Deref for InFlight<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'i, T> IntoIterator for &'i InFlight<T> {
    type Item = &'i T;
    type IntoIter = std::slice::Iter<'i, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Among the items of a channel that are not lost, those that can be taken next: the first one, and the first notice if that
/// is another one.
pub fn heads<I>(items: impl IntoIterator<Item = I>, is_notice: impl Fn(&I) -> bool) -> (Option<I>, Option<I>) {
    let mut items = items.into_iter();
    let first = items.next();
    let notice = match &first {
        Some(first) if !is_notice(first) => items.find(|item| is_notice(item)),
        _ => None,
    };
    (first, notice)
}

fn is_lost<T>(links: &impl Links<T>, item: &T) -> bool {
    let route = links.route(item);
    route.is_lost_after(links.incarnation(route.to, route.from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(from: NodeId, to: NodeId, incarnation: u32, is_notice: bool) -> Route {
        Route { from, to, incarnation, is_notice, channel_class: 0 }
    }

    /// Node 0 knows of this many breaks of its connection to node 1; node 1 knows of no break.
    struct OneIncarnation(u32);

    impl Links<Route> for OneIncarnation {
        fn is_ordered(&self) -> bool {
            true
        }

        fn route(&self, item: &Route) -> Route {
            *item
        }

        fn incarnation(&self, node: NodeId, _peer: NodeId) -> u32 {
            if node == 0 { self.0 } else { 0 }
        }

        fn rank(&self, _item: &Route) -> u32 {
            unreachable!("channels have an order of their own")
        }
    }

    /// Node 0 sends, breaks the connection, and sends again: node 1 can take the first message, or the notice, which
    /// overtakes it; the second message has to wait for the notice.
    #[test]
    fn a_notice_overtakes_messages_and_is_overtaken_by_none() {
        let (old, notice, new) = (item(0, 1, 0, false), item(0, 1, 1, true), item(0, 1, 1, false));
        let other = item(1, 0, 0, false);
        let mut in_flight = InFlight::default();
        for item in [other, old, notice, new] {
            in_flight.insert(&OneIncarnation(0), item);
        }
        assert_eq!(*in_flight, [old, notice, new, other]);
        let next = |in_flight: &InFlight<Route>| {
            let mut found = Vec::new();
            in_flight.for_each_next(&OneIncarnation(0), |item| found.push(*item));
            found
        };
        assert_eq!(next(&in_flight), [old, notice, other]);
        in_flight.take(&OneIncarnation(0), &notice);
        assert_eq!(next(&in_flight), [new, other]);
        // Messages that node 1 sent before it knew of the break are lost at node 0, which knows.
        in_flight.lose(&OneIncarnation(1), 0);
        assert_eq!(*in_flight, [new]);
        in_flight.insert(&OneIncarnation(1), other);
        assert_eq!(*in_flight, [new]);
    }
}
