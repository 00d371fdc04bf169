//! The order of a node's outputs: disks, resets, broken connections.

use std::collections::BTreeSet;

use host_model::contract::LocalKind;
use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};
use host_search::kernel::dice::{below, dice};

use super::pair::Pair;
use crate::checkpoint::Outcome;
use crate::gate::Open;

/// Node 0 counts the ticks of its timer, keeps the count on its disk, and sends it to node 1, which keeps it and acknowledges it.
fn counter() -> Toy {
    (0..100).fold(Toy::new(2).of_kind(0, LocalKind::Timer), |toy, count| {
        let toy = toy.rule(0, count, ToyTrigger::Local(0), count + 1, &[(1, count + 1)]).keep(0, count + 1, count + 1);
        (0..=count).fold(toy.keep(1, count + 1, count + 1), |toy, known| {
            toy.rule(1, known, ToyTrigger::Message(0, count + 1), count + 1, &[(0, count + 1)])
        })
    })
}

fn durable(pair: &Pair<Open>, node: usize) -> u8 {
    pair.disks[node].as_ref().and_then(|record| record.protocol.as_ref()).map_or(0, |protocol| protocol[0])
}

#[test]
fn nothing_leaves_before_the_disk_has_what_it_depends_on() {
    let mut pair = Pair::open(counter(), Network::Ordered);
    (0..2).for_each(|node| pair.write(node));
    pair.wait(999);
    assert!(pair.writing[0].is_none(), "the timer takes a second");
    pair.wait(1);
    assert_eq!(pair.links.values().map(|link| link.len()).sum::<usize>(), 0, "the disk is not ready");
    pair.write(0);
    assert_eq!((durable(&pair, 0), pair.deliver(0, 1)), (1, Some(vec![1])));
    assert_eq!((durable(&pair, 1), pair.deliver(1, 0)), (0, None), "neither is that of node 1");
    pair.write(1);
    assert_eq!((durable(&pair, 1), pair.deliver(1, 0)), (1, Some(vec![1])));
    assert_eq!(pair.nodes[0].counts().messages, 1);
}

/// Runs a random schedule of time, slow disks, losses and kills. Returns whether each message that arrived was on the disk of its sender.
/// Disks that `lie` acknowledge records that they lose at a kill.
fn keeps_its_word(seed: u64, network: Network, lies: bool) -> (bool, u64) {
    let mut dice = dice(seed, 0);
    let mut pair = Pair::open(counter(), network);
    let (mut kept, mut arrived) = (true, 0);
    for _ in 0..400 {
        let node = below(&mut dice, 2) as u32;
        match below(&mut dice, 12) {
            0..4 => pair.wait(below(&mut dice, 700)),
            4..7 if lies => {
                if let Some((ticket, _)) = pair.writing[node as usize].take() {
                    pair.nodes[node as usize].persisted(ticket);
                    pair.execute_outputs(node);
                }
            }
            4..7 => pair.write(node),
            7 => {
                pair.kill(node);
                if network == Network::Ordered {
                    // Its connections break, and lose everything in flight.
                    pair.links.clear();
                    (0..2).for_each(|end| pair.nodes[end as usize].disconnected(pair.now, 1 - end));
                    (0..2).for_each(|end| pair.execute_outputs(end));
                }
            }
            8 if network == Network::Unordered => {
                pair.links.get_mut(&(node, 1 - node)).and_then(|link| link.pop_front());
            }
            _ => {
                if let Some(content) = pair.deliver(node, 1 - node) {
                    arrived += 1;
                    kept &= durable(&pair, node as usize) >= content[0];
                }
            }
        }
        assert!(pair.failures.is_empty(), "{:?}", pair.failures);
    }
    (kept, arrived)
}

#[test]
fn what_was_sent_is_on_the_disk_whenever_a_node_is_killed() {
    let (mut lies, mut arrived) = (0, 0);
    for seed in 0..300 {
        let network = if seed % 2 == 0 { Network::Ordered } else { Network::Unordered };
        let (kept, count) = keeps_its_word(seed, network, false);
        assert!(kept, "seed {seed}");
        arrived += count;
        lies += u32::from(!keeps_its_word(seed, network, true).0);
    }
    assert!(arrived > 1_000 && lies > 250, "{arrived} messages, {lies} schedules tell disks that lie");
}

#[test]
fn a_node_restarts_from_the_record_on_its_disk() {
    let mut pair = Pair::open(counter(), Network::Ordered);
    for _ in 0..5 {
        pair.wait(1_000);
        pair.settle();
    }
    pair.wait(1_000);
    // The sixth was not written.
    pair.kill(0);
    pair.settle();
    assert_eq!((durable(&pair, 0), durable(&pair, 1), pair.nodes[0].incarnation()), (5, 5, 2));
    pair.wait(1_000);
    pair.settle();
    assert_eq!((durable(&pair, 0), durable(&pair, 1)), (6, 6));
}

#[test]
fn a_clock_that_jumps_has_each_timer_fire_once_and_one_that_goes_back_none() {
    let mut pair = Pair::open(counter(), Network::Ordered);
    pair.settle();
    pair.wait(3_600_000);
    pair.settle();
    assert_eq!(durable(&pair, 0), 1, "the next second begins after the jump");
    let now = pair.now;
    pair.now = crate::time::Time(0);
    pair.wait(1_500);
    pair.settle();
    assert_eq!((durable(&pair, 0), pair.nodes[0].counts().backwards > 0), (1, true));
    pair.now = now;
    pair.wait(1_000);
    pair.settle();
    assert_eq!(durable(&pair, 0), 2);
}

#[test]
fn a_snapshot_of_running_nodes_is_consistent_and_has_their_states() {
    let mut pair = Pair::open(counter(), Network::Ordered);
    pair.settle();
    pair.wait(1_000);
    pair.write(0);
    // The message is in flight while the snapshot is taken.
    pair.nodes[1].gather(pair.now, &BTreeSet::new());
    pair.execute_outputs(1);
    pair.deliver(1, 0);
    pair.settle();
    let [Outcome::Complete(snapshot)] = &pair.gathered[..] else { panic!("{:?}", pair.gathered) };
    // The exported state of a toy is its node and its state.
    let contents: Vec<&[u8]> = snapshot.checkpoints.values().map(|checkpoint| &checkpoint.content[..]).collect();
    assert_eq!(contents, [&[0, 1], &[1, 0]]);
    let in_flight = snapshot.contents(0, 1).in_flight;
    assert_eq!(in_flight.iter().map(|kept| &kept.payload[..]).collect::<Vec<_>>(), [&[1]]);
}

#[test]
fn a_protocol_that_fails_ends_its_node_and_nothing_of_the_handler_leaves() {
    let toy = Toy::new(2).in_flight(0, 1, 1).trap(1, 0, ToyTrigger::Message(0, 1));
    let mut pair = Pair::open(toy, Network::Ordered);
    pair.settle();
    assert_eq!(pair.failures.iter().map(ToString::to_string).collect::<Vec<_>>(), ["toy trap in 0"]);
    assert_eq!((pair.nodes[1].deadline(), pair.links[&(0, 1)].len()), (None, 0));
}

#[test]
fn a_broken_connection_is_an_event_of_the_protocol_where_links_have_an_order() {
    let toy = || Toy::new(2).in_flight(0, 1, 7).rule(1, 0, ToyTrigger::Error(0), 3, &[(0, 9)]);
    for (network, sent) in [(Network::Ordered, 1), (Network::Unordered, 0)] {
        let mut pair = Pair::open(toy(), network);
        pair.settle();
        // Before the second break, nothing was sent over the connection, and before the third one, only the packets of a snapshot.
        for (time, sent) in [sent, 0, 0].into_iter().enumerate() {
            let before = pair.links.get(&(1, 0)).map_or(0, |link| link.len());
            pair.nodes[1].disconnected(pair.now, 0);
            pair.execute_outputs(1);
            assert_eq!(pair.links.get(&(1, 0)).map_or(0, |link| link.len()), before + sent, "{network:?} {time}");
            pair.settle();
            if time == 0 {
                // The message to node 0 is lost with the connection.
                pair.nodes[1].disconnected(pair.now, 0);
            }
            pair.nodes[1].gather(pair.now, &BTreeSet::new());
            pair.execute_outputs(1);
            pair.settle();
        }
    }
}
