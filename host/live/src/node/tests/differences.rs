//! Checkpoints between nodes as differences.

use std::collections::BTreeSet;

use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};

use super::pair::Pair;
use crate::checkpoint::Outcome;
use crate::gate::Open;
use crate::node::Refusal;

/// Node 0 asks node 1 for a snapshot; how long the frame with the answer is.
fn snapshot(pair: &mut Pair<Open>) -> u64 {
    let before = pair.nodes[1].counts().checkpoint_bytes;
    pair.nodes[0].gather(pair.now, BTreeSet::from([1]));
    pair.carry_out(0);
    pair.settle();
    assert!(matches!(pair.gathered.pop(), Some(Outcome::Complete(_))));
    pair.nodes[1].counts().checkpoint_bytes - before
}

/// Node 1 sends a hundred messages with as many contents, and keeps them: only the first one comes through.
fn pair() -> Pair<Open> {
    let sent: Vec<(u32, u8)> = (0..100).map(|content| (0, content)).collect();
    let toy = Toy::new(2).start(1, 0, &sent).rule(0, 0, ToyTrigger::Message(1, 0), 0, &[]);
    let mut pair = Pair::open(toy, Network::Unordered);
    (0..2).for_each(|node| pair.write(node));
    first_only(&mut pair);
    pair
}

fn first_only(pair: &mut Pair<Open>) {
    pair.links.values_mut().for_each(|link| link.truncate(1));
    pair.settle();
}

/// A start of either end makes the next checkpoint a whole one.
#[test]
fn the_next_checkpoint_is_a_difference_until_one_end_starts_again() {
    let mut pair = pair();
    let [whole, difference] = [(); 2].map(|()| snapshot(&mut pair));
    assert!(whole > 400 && difference < 200, "{whole} {difference}");
    for node in [1, 0] {
        pair.kill(node);
        pair.write(node);
        first_only(&mut pair);
        let [whole, difference] = [(); 2].map(|()| snapshot(&mut pair));
        assert!(whole > 400 && difference < 200, "{node}: {whole} {difference}");
    }
}

/// A frame that is late by a start of its receiver is refused, and counted.
#[test]
fn a_difference_from_what_is_not_there_is_refused() {
    let mut pair = pair();
    snapshot(&mut pair);
    pair.nodes[0].gather(pair.now, BTreeSet::from([1]));
    pair.carry_out(0);
    pair.deliver(0, 1);
    let frame = pair.links.get_mut(&(1, 0)).and_then(|link| link.pop_front()).expect("it has answered");
    pair.kill(0);
    assert_eq!(pair.nodes[0].receive(pair.now, &frame), Err(Refusal::NoBase));
    assert_eq!(pair.nodes[0].counts().refused["no-base"], 1);
}
