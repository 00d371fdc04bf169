//! Nodes that only answer, and restart.

use host_model::contract::LocalKind;
use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};

use super::pair::Pair;
use crate::checkpoint::Dropped;
use crate::node::Refusal;

/// Node 0 sends a request every second, and node 1 only answers.
fn asking() -> Toy {
    Toy::new(2).of_kind(0, LocalKind::Timer).rule(0, 0, ToyTrigger::Local(0), 0, &[(1, 1)]).rule(
        1,
        0,
        ToyTrigger::Message(0, 1),
        0,
        &[(0, 2)],
    )
}

/// A node that was killed answers the next requests: it need not send a message on its own first.
#[test]
fn a_node_that_only_answers_is_accepted_again_after_a_restart() {
    for network in [Network::Ordered, Network::Unordered] {
        let mut pair = Pair::open(asking(), network);
        let second = |pair: &mut Pair<_>| {
            pair.wait(1_000);
            pair.settle();
            pair.nodes[0].counts().messages
        };
        assert_eq!([second(&mut pair), second(&mut pair)], [1, 2], "{network}");
        pair.kill(1);
        if network == Network::Ordered {
            pair.links.clear();
            (0..2).for_each(|end| pair.nodes[end as usize].disconnected(pair.now, 1 - end));
            (0..2).for_each(|end| pair.execute_outputs(end));
        }
        pair.settle();
        let heard = [second(&mut pair), second(&mut pair), second(&mut pair)];
        // Over a new connection, nothing is lost; a datagram may be.
        assert_eq!(heard, if network == Network::Ordered { [3, 4, 5] } else { [2, 3, 4] }, "{network}");
    }
}

/// A message sent before its sender knows any start of the destination is for any start. A start that is not the first refuses it, since a
/// copy may have reached a former one, and answers the sender: its next message is taken.
#[test]
fn a_duplicated_datagram_is_taken_once_even_if_its_destination_restarts() {
    let mut pair = Pair::open(asking(), Network::Unordered);
    (0..2).for_each(|node| pair.write(node));
    pair.wait(1_000);
    let copy = pair.links[&(0, 1)][0].clone();
    assert_eq!(pair.deliver(0, 1), Some(vec![1]));
    pair.kill(1);
    pair.write(1);
    let refused = pair.nodes[1].receive(pair.now, &copy);
    assert_eq!((refused, pair.nodes[1].counts().messages), (Err(Refusal::Dropped(Dropped::FormerAddressee)), 0));
    pair.execute_outputs(1);
    pair.settle();
    pair.wait(1_000);
    assert_eq!(pair.deliver(0, 1), Some(vec![1]));
}
