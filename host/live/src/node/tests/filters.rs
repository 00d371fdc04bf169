//! Gates.

use host_model::contract::{LocalKind, NodeId};
use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};

use super::pair::Pair;
use crate::gate::{Cause, Evaluate, Event, Gate, Handled, Substitute, Verdict};
use crate::node::NotNow;
use crate::time::Time;

/// Filters the events of node 1 before they are handled.
struct Before(NodeId);

impl Gate for Before {
    fn before(&mut self, _: Time, event: &Event<'_>) -> Verdict {
        let substitute = Substitute::of(event.cause).filter(|_| self.0 == 1);
        substitute.map_or(Verdict::Pass, Verdict::Instead)
    }

    fn after(&mut self, _: Time, _: &Handled<'_>, _: &mut Evaluate<'_>) -> Verdict {
        Verdict::Pass
    }
}

/// Evaluates the property on the state that a handler of node 1 led to.
struct After(NodeId);

impl Gate for After {
    fn before(&mut self, _: Time, _: &Event<'_>) -> Verdict {
        Verdict::Pass
    }

    fn after(&mut self, _: Time, handled: &Handled<'_>, evaluate: &mut Evaluate<'_>) -> Verdict {
        if self.0 == 1 && evaluate(0, &[None, handled.views[0].as_deref()]).is_err() {
            let cause: Cause<'_> = handled.event.cause;
            return Verdict::Instead(Substitute::of(cause).expect("nothing internal happens"));
        }
        Verdict::Pass
    }
}

/// Two messages, the second of which is fatal: node 1 must not get to state 2, and says where it is.
fn second_is_fatal() -> Toy {
    Toy::new(2)
        .start(0, 0, &[(1, 1), (1, 2)])
        .rule(1, 0, ToyTrigger::Message(0, 1), 1, &[(0, 1)])
        .rule(1, 1, ToyTrigger::Message(0, 2), 2, &[(0, 2)])
        .keep(1, 1, 1)
        .keep(1, 2, 2)
        .forbid(&[None, Some(2)])
}

#[test]
fn effects_of_a_handler_that_is_discarded_reach_neither_disk_nor_network() {
    for (network, breaks) in [(Network::Ordered, 1), (Network::Unordered, 0)] {
        let mut pair = Pair::new(second_is_fatal(), network, After);
        let mut told = Vec::new();
        while pair.links.values().any(|link| !link.is_empty()) || pair.writing.iter().any(Option::is_some) {
            (0..2).for_each(|node| pair.write(node));
            pair.deliver(0, 1);
            told.extend(pair.deliver(1, 0));
        }
        assert_eq!(told, [[1]], "{network:?}");
        assert_eq!(pair.disks[1].as_ref().and_then(|record| record.protocol.clone()), Some(vec![1]));
        assert_eq!((pair.nodes[1].counts().discarded, pair.disconnects.len()), (1, breaks), "{network:?}");
        // Without the gate it happens.
        let mut pair = Pair::open(second_is_fatal(), network);
        pair.settle();
        assert_eq!(pair.disks[1].as_ref().and_then(|record| record.protocol.clone()), Some(vec![2]));
    }
}

#[test]
fn what_is_filtered_before_is_not_handled() {
    for (network, breaks) in [(Network::Ordered, 2), (Network::Unordered, 0)] {
        let mut pair = Pair::new(second_is_fatal(), network, Before);
        pair.settle();
        let counts = pair.nodes[1].counts();
        assert_eq!((counts.messages, counts.filtered, pair.disconnects.len()), (2, 2, breaks), "{network:?}");
        assert_eq!(pair.disks[1].as_ref().and_then(|record| record.protocol.clone()), None);
    }
}

/// A timer and a call at node 1, after the first of which nothing is offered any more.
fn once(kind: LocalKind) -> Toy {
    Toy::new(2).of_kind(0, kind).rule(1, 0, ToyTrigger::Local(0), 1, &[(0, 5)])
}

#[test]
fn timers_are_armed_again_and_calls_wait() {
    let mut pair = Pair::new(once(LocalKind::Timer), Network::Ordered, Before);
    pair.settle();
    (0..3).for_each(|_| pair.wait(1_000));
    assert_eq!((pair.nodes[1].counts().local, pair.nodes[1].counts().filtered), (3, 3));

    let mut pair = Pair::new(once(LocalKind::Application), Network::Ordered, Before);
    pair.settle();
    pair.wait(60_000);
    assert_eq!(pair.nodes[1].counts().local, 0, "clients make calls");
    let call = pair.nodes[1].offers().next().expect("it is offered").clone();
    assert_eq!(pair.nodes[1].call(pair.now, &call), Ok(()));
    assert_eq!(pair.nodes[1].counts().filtered, 1);
    pair.wait(1_000);
    assert_eq!(pair.nodes[1].counts().filtered, 2, "it is not lost");
}

#[test]
fn a_call_happens_once_where_it_is_offered() {
    let mut pair = Pair::open(once(LocalKind::Application), Network::Ordered);
    pair.settle();
    let call = pair.nodes[1].offers().next().expect("it is offered").clone();
    assert_eq!(pair.nodes[0].call(pair.now, &call), Err(NotNow::NotOffered));
    assert_eq!(pair.nodes[1].call(pair.now, &call), Ok(()));
    pair.carry_out(1);
    assert_eq!(pair.deliver(1, 0), Some(vec![5]));
    assert_eq!(pair.nodes[1].call(pair.now, &call), Err(NotNow::NotOffered));
}
