//! Snapshots of running nodes as the beginning of a round.

use std::collections::BTreeSet;

use host_model::contract::NodeId;
use host_model::scenario::{FaultState, Network};
use host_model::toys::{Dice, Toy};

use super::pair::{Pair, message};
use crate::checkpoint::{Outcome, beginning};

/// The frames in flight, with sender and destination.
type Frames = Vec<(NodeId, NodeId, Vec<u8>)>;

/// Nodes that have run for a while, and the frames lost.
fn ran(dice: &mut Dice, seed: u64) -> (Pair<crate::gate::Open>, Frames) {
    let (mut pair, mut lost) = (Pair::open(Toy::random(seed, 2), Network::Unordered), Vec::new());
    // A process that is killed before its first record has never existed: its frames are lost.
    (0..2).for_each(|node| pair.write(node));
    for _ in 0..dice.below(30) {
        let (from, to) = (dice.below(2), dice.below(2));
        match dice.below(12) {
            0 => pair.wait(1_000),
            1 if seed.is_multiple_of(3) => {
                pair.kill(to);
                pair.write(to);
            }
            2 => lost.extend(
                pair.links.get_mut(&(from, to)).and_then(|link| link.pop_front()).map(|frame| (from, to, frame)),
            ),
            3 | 4 => pair.write(to),
            _ => drop(pair.deliver(from, to)),
        }
    }
    (pair, lost)
}

/// Delivers all frames that are no messages of the protocol.
fn deliver_packets(pair: &mut Pair<crate::gate::Open>) {
    loop {
        while pair.writing.iter().any(Option::is_some) {
            (0..2).for_each(|node| pair.write(node));
        }
        let is_packet = |to: NodeId, frame: &Vec<u8>| message(to, frame).is_none();
        let next = pair.links.iter_mut().find_map(|((_, to), link)| {
            let place = link.iter().position(|frame| is_packet(*to, frame))?;
            Some((*to, link.remove(place).expect("it is there")))
        });
        let Some((to, frame)) = next else { return };
        // Refusals do not matter here.
        let _ = pair.nodes[to as usize].receive(pair.now, &frame);
        pair.execute_outputs(to);
    }
}

/// A snapshot is taken while messages are delayed. It has the states of the nodes, and exactly the messages that they would still take,
/// lost ones included; if it is partial, it has no false ones.
#[test]
fn a_snapshot_is_the_global_state_of_the_cluster() {
    let (mut whole, mut partial, mut messages) = (0, 0, 0);
    for seed in 0..600 {
        let mut dice = Dice(seed);
        let (mut pair, lost) = ran(&mut dice, seed);
        deliver_packets(&mut pair);
        // After the first snapshot no node has a higher number than node 0, so the second one is of the present state.
        for _ in 0..2 {
            pair.nodes[0].gather(pair.now, &BTreeSet::new());
            pair.execute_outputs(0);
            deliver_packets(&mut pair);
        }
        let Some(Outcome::Complete(snapshot)) = pair.gathered.pop() else { continue };
        let (beginning, is_partial) = beginning(&snapshot, &FaultState::default());
        for (node, state) in (0..).zip(&beginning.states) {
            let words = pair.nodes[node as usize].moment.snapshot.words();
            assert_eq!(state.exported.0, [words[0] as u8, words[1] as u8], "seed {seed}");
            assert_eq!((state.node, words[0]), (node, node.into()));
        }
        let mut said: Frames =
            beginning.in_flight.iter().map(|flight| (flight.from, flight.to, flight.payload.0.clone())).collect();
        let links = std::mem::take(&mut pair.links).into_iter();
        let held = links.flat_map(|((from, to), link)| link.into_iter().map(move |frame| (from, to, frame)));
        let mut taken: Frames = Vec::new();
        for (from, to, frame) in lost.into_iter().chain(held.collect::<Frames>()) {
            let Some(payload) = message(to, &frame) else { continue };
            if pair.nodes[to as usize].receive(pair.now, &frame).is_ok() {
                taken.push((from, to, payload));
            }
        }
        said.sort();
        taken.sort();
        messages += said.len();
        if is_partial {
            partial += 1;
            said.iter().for_each(|flight| {
                let place = taken.iter().position(|taken| taken == flight).expect("it is in flight");
                taken.remove(place);
            });
        } else {
            whole += 1;
            assert_eq!(said, taken, "seed {seed}");
        }
    }
    assert!(whole > 200 && partial > 20 && messages > 200, "{whole} {partial} {messages}");
}
