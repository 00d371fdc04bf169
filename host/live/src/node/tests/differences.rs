//! Checkpoints between nodes as differences.

use std::collections::{BTreeMap, BTreeSet};

use host_model::scenario::Network;
use host_model::toys::{Dice, Toy, ToyTrigger};

use super::pair::{Pair, decode, identity};
use crate::checkpoint::{Body, Checkpoint, Header, Outcome, Packet};
use crate::gate::Open;
use crate::node::{FRAME_MAX, Output, Refusal};

/// Collects a snapshot of node 1 at node 0. Returns the length of the frame with the answer.
fn snapshot(pair: &mut Pair<Open>) -> u64 {
    let before = pair.nodes[1].counts().checkpoint_bytes;
    pair.nodes[0].gather(pair.now, &BTreeSet::new());
    pair.execute_outputs(0);
    pair.settle();
    assert!(matches!(pair.gathered.pop(), Some(Outcome::Complete(_))));
    pair.nodes[1].counts().checkpoint_bytes - before
}

/// Node 1 sends a hundred different messages and keeps them: only the first one arrives.
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

/// After a start of either end, the next checkpoint is a whole one.
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

/// A frame that arrives after a restart of its receiver is refused, and counted.
#[test]
fn a_difference_from_an_unknown_checkpoint_is_refused() {
    let mut pair = pair();
    snapshot(&mut pair);
    pair.nodes[0].gather(pair.now, &BTreeSet::new());
    pair.execute_outputs(0);
    pair.deliver(0, 1);
    let frame = pair.links.get_mut(&(1, 0)).and_then(|link| link.pop_front()).expect("it has answered");
    pair.kill(0);
    assert_eq!(pair.nodes[0].receive(pair.now, &frame), Err(Refusal::Unasked));
    pair.nodes[0].gather(pair.now, &BTreeSet::new());
    assert_eq!(pair.nodes[0].receive(pair.now, &frame), Err(Refusal::NoBase));
    assert_eq!(pair.nodes[0].counts().refused, BTreeMap::from([("no-base", 1), ("unasked", 1)]));
}

/// Runs a schedule with this bandwidth for checkpoints, in bytes per second. Returns the messages in the order of arrival, and the numbers
/// of complete and capped snapshots.
fn scheduled(seed: u64, bandwidth: Option<u64>) -> (Vec<(u32, Vec<u8>)>, [usize; 2]) {
    let mut pair = Pair::open(Toy::random(seed, 2), Network::Ordered);
    pair.limit(bandwidth);
    let (mut dice, mut messages) = (Dice(seed), Vec::new());
    (0..2).for_each(|node| pair.write(node));
    for _ in 0..150 {
        let (from, to) = (dice.below(2), dice.below(2));
        match dice.below(8) {
            0 => pair.wait(u64::from(dice.below(1_000))),
            1 | 2 => pair.write(to),
            3 => {
                pair.nodes[to as usize].gather(pair.now, &BTreeSet::new());
                pair.execute_outputs(to);
            }
            _ => messages.extend(pair.deliver(from, to).map(|payload| (to, payload))),
        }
    }
    let is = |what: fn(&Outcome) -> bool| pair.gathered.iter().filter(|outcome| what(outcome)).count();
    let ended =
        [is(|outcome| matches!(outcome, Outcome::Complete(_))), is(|outcome| matches!(outcome, Outcome::Capped(_)))];
    (messages, ended)
}

/// With the limit, answers are replaced by other packets, and nothing else changes: the messages of the protocol are the same.
#[test]
fn the_bandwidth_limit_affects_no_message_of_the_protocol() {
    let (mut sent, mut without, mut with) = (0, [0; 2], [0; 2]);
    for seed in 0..100 {
        let (messages, ended) = scheduled(seed, None);
        let (capped_messages, capped) = scheduled(seed, Some(20));
        assert_eq!(messages, capped_messages, "seed {seed}");
        sent += messages.len();
        (without, with) = ([without[0] + ended[0], without[1] + ended[1]], [with[0] + capped[0], with[1] + capped[1]]);
    }
    assert!(sent > 500 && without[0] > 100 && without[1] == 0, "{sent} {without:?}");
    assert!(with[0] > 20 && with[1] > 20 && with[0] + with[1] == without[0], "{with:?} {without:?}");
}

/// At 100 bytes per second, each of these answers is longer than the tokens of a tenth of a second.
#[test]
fn checkpoints_keep_the_bandwidth_limit() {
    let mut pair = Pair::open(Toy::new(2), Network::Ordered);
    pair.settle();
    pair.limit(Some(100));
    for _ in 0..600 {
        pair.nodes[0].gather(pair.now, &BTreeSet::new());
        pair.execute_outputs(0);
        pair.settle();
        pair.wait(100);
    }
    let counts = pair.nodes[1].counts();
    assert!((5_900..6_300).contains(&counts.checkpoint_bytes), "{counts:?}");
    assert_eq!(counts.checkpoints + counts.checkpoints_capped, 600);
    let capped = pair.gathered.iter().filter(|outcome| **outcome == Outcome::Capped(1)).count() as u64;
    assert_eq!(capped, counts.checkpoints_capped);
}

/// A checkpoint that was not sent is no dictionary: the next one is a difference from the one before.
#[test]
fn a_capped_checkpoint_is_no_dictionary() {
    let mut pair = pair();
    snapshot(&mut pair);
    pair.limit(Some(1));
    // The first answer takes more than the tokens left; it arrives after the second one was refused.
    for _ in 0..2 {
        pair.nodes[0].gather(pair.now, &BTreeSet::new());
        pair.execute_outputs(0);
        pair.deliver(0, 1);
    }
    pair.settle();
    assert_eq!(pair.gathered.pop(), Some(Outcome::Capped(1)));
    pair.limit(None);
    let difference = snapshot(&mut pair);
    assert!(difference < 200, "{difference}");
}

/// A frame that others refuse for its length would break the connection, and lose the messages of the protocol on it.
#[test]
fn a_checkpoint_longer_than_a_frame_is_refused_by_its_sender() {
    let mut pair = pair();
    let header = Header { number: 1, incarnation: 1, addressee: 1, acknowledged: None };
    let checkpoint = Checkpoint { number: 1, incarnation: 1, content: vec![0; FRAME_MAX], channels: BTreeMap::new() };
    pair.nodes[1].post(0, &Packet { header, body: Body::Answer { request: 1, checkpoint: Box::new(checkpoint) } });
    let Some(Output::Send { frame, .. }) = pair.nodes[1].next_output() else { panic!("it sends something") };
    let sent = decode(&identity(0, 0), &frame).map(|packet| packet.body);
    assert_eq!(sent, Ok(Body::Capped { request: 1 }));
    assert_eq!(pair.nodes[1].counts().checkpoints_capped, 1);
}
