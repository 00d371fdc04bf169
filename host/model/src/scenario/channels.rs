//! Messages in flight where some pairs of nodes have a channel in which no message overtakes another.
//!
//! The items in flight stand channel by channel, those of one channel in the order of sending. Besides messages there are
//! *notices*, which tell a node that its peer has broken the connection. A notice overtakes the messages before it, and
//! these are lost. What was sent before its receiver lost the connection is lost as well, and is taken out of flight as
//! soon as that is so. See `docs/semantics.md`.
//!
//! Where other pairs of nodes have no order, each content has a channel, or *lane*, of its own: equal messages are
//! interchangeable, and different ones overtake each other.

use crate::contract::NodeId;
use crate::scenario::fault_state::Standing;
use crate::scenario::route::Route;

/// Puts an item at the end of its channel.
pub fn insert<T>(in_flight: &mut Vec<T>, item: T, route: impl Fn(&T) -> Route) {
    let channel = route(&item).channel();
    let position = in_flight.partition_point(|other| route(other).channel() <= channel);
    in_flight.insert(position, item);
}

/// Calls `found` with each item that can be taken next: the first one of each channel, and the first notice in it.
pub fn for_each_next<T>(in_flight: &[T], route: impl Fn(&T) -> Route, mut found: impl FnMut(&T)) {
    for channel in in_flight.chunk_by(|one, other| route(one).channel() == route(other).channel()) {
        let first = &channel[0];
        found(first);
        if !route(first).is_notice
            && let Some(notice) = channel.iter().find(|item| route(item).is_notice)
        {
            found(notice);
        }
    }
}

/// Takes an item, and what it overtakes.
///
/// # Panics
///
/// It is not in flight.
pub fn take<T: PartialEq>(in_flight: &mut Vec<T>, item: &T, route: impl Fn(&T) -> Route) {
    let channel = route(item).channel();
    let first = in_flight.partition_point(|other| route(other).channel() < channel);
    let position = in_flight[first..].iter().position(|other| other == item).expect("what is taken is in flight");
    in_flight.drain(first..=first + position);
}

/// Takes out of flight what a node can never take.
pub fn drop_lost<T>(in_flight: &mut Vec<T>, node: NodeId, standing: &Standing, route: impl Fn(&T) -> Route) {
    in_flight.retain(|item| {
        let route = route(item);
        route.to != node || !route.is_lost(standing)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(from: NodeId, to: NodeId, incarnation: u32, is_notice: bool) -> Route {
        Route { from, to, incarnation, is_notice, lane: 0 }
    }

    /// Node 0 sends, breaks the connection, and sends again: node 1 can take the first message, or the notice, which
    /// overtakes it; the second message has to wait for the notice.
    #[test]
    fn a_notice_overtakes_messages_and_is_overtaken_by_none() {
        let route = |item: &Route| *item;
        let (old, notice, new) = (item(0, 1, 0, false), item(0, 1, 1, true), item(0, 1, 1, false));
        let other = item(1, 0, 0, false);
        let mut in_flight = Vec::new();
        for item in [other, old, notice, new] {
            insert(&mut in_flight, item, route);
        }
        assert_eq!(in_flight, [old, notice, new, other]);
        let next = |in_flight: &[Route]| {
            let mut found = Vec::new();
            for_each_next(in_flight, route, |item| found.push(*item));
            found
        };
        assert_eq!(next(&in_flight), [old, notice, other]);
        take(&mut in_flight, &notice, route);
        assert_eq!(next(&in_flight), [new, other]);
        // What node 1 sent before it knew is lost at node 0, which knows.
        let mut knows = Standing::new(2);
        knows.learn(1, 1);
        drop_lost(&mut in_flight, 0, &knows, route);
        assert_eq!(in_flight, [new]);
    }
}
