//! Refused frames and calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use host_model::contract::LocalKind;
use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};

use super::pair::{Pair, decode, encode, encode_from, identity, settings};
use crate::checkpoint::{Body, Checkpoint, Dropped, Packet};
use crate::gate::Open;
use crate::node::{DiskId, Failure, Identity, Node, Output, Refusal, Settings};
use crate::time::Time;

/// Node 0 sends 1, 2 and 3 when it starts.
fn speaker() -> Toy {
    Toy::new(2).start(0, 0, &[(1, 1), (1, 2), (1, 3)])
}

/// The frames with these three, and the node that receives them.
fn spoken(network: Network) -> (Pair<Open>, Vec<Vec<u8>>) {
    let mut pair = Pair::open(speaker(), network);
    (0..2).for_each(|node| pair.write(node));
    let frames = pair.links.remove(&(0, 1)).expect("they are sent").into();
    (pair, frames)
}

/// A frame with one byte changed and a correct hash.
fn changed(frame: &[u8], at: usize, to: u8) -> Vec<u8> {
    let mut content = frame[..frame.len() - 8].to_vec();
    content[at] = to;
    let hash = blake3::hash(&content);
    content.extend(&hash.as_bytes()[..8]);
    content
}

#[test]
fn frames_that_are_not_for_this_node_are_refused_and_counted() {
    let (mut pair, frames) = spoken(Network::Ordered);
    let (frame, node) = (&frames[0], &mut pair.nodes[1]);
    let mut damaged = frame.clone();
    *damaged.last_mut().expect("it has bytes") ^= 1;
    let length = [&frame[..], &[0]].concat();
    let cases: [(&[u8], Refusal); 9] = [
        (b"GET / HTTP/1.1\r\n\r\n", Refusal::Magic),
        (&changed(frame, 4, 9), Refusal::Version(9)),
        (&changed(frame, 6, 1), Refusal::Cluster),
        (&changed(frame, 22, 5), Refusal::Sender(5)),
        (&changed(frame, 26, 0), Refusal::Addressee(0)),
        (&changed(frame, 41, 2), Refusal::TooLong),
        (&damaged, Refusal::Damaged),
        (&length, Refusal::Length),
        (b"", Refusal::Length),
    ];
    for (bytes, refusal) in &cases {
        assert_eq!(node.receive(Time(0), bytes), Err(*refusal));
    }
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    cases.iter().for_each(|(_, refusal)| *expected.entry(refusal.name()).or_default() += 1);
    assert_eq!((node.counts().messages, &node.counts().refused), (0, &expected));
    assert_eq!(node.receive(Time(0), frame), Ok(()));
}

/// A frame cut at every length, and with every bit changed.
#[test]
fn no_damage_gets_through() {
    let (_, frames) = spoken(Network::Ordered);
    let (identity, frame) = (identity(1, 0), &frames[0]);
    assert!(decode(&identity, frame).is_ok());
    for end in 0..frame.len() {
        assert!(decode(&identity, &frame[..end]).is_err(), "{end}");
    }
    for place in 0..frame.len() * 8 {
        let mut damaged = frame.clone();
        damaged[place / 8] ^= 1 << (place % 8);
        assert!(decode(&identity, &damaged).is_err(), "{place}");
    }
}

#[test]
fn a_second_process_with_the_identity_of_a_node_is_refused() {
    let (mut pair, frames) = spoken(Network::Ordered);
    let (_, other) = spoken(Network::Ordered);
    assert_eq!(pair.nodes[1].receive(Time(0), &frames[0]), Ok(()));
    // The same start of the same node by another process has another session.
    let packet = decode(&identity(1, 0), &other[1]).expect("it is a frame");
    let twin = encode_from(pair.nodes[0].disk(), &identity(0, 99), 1, &packet);
    assert_eq!(pair.nodes[1].receive(Time(0), &twin), Err(Refusal::TwoOfOne(0)));
    // With a data file of its own, it is the same node with another disk.
    let other = encode(&identity(0, 99), 1, &packet);
    assert_eq!(pair.nodes[1].receive(Time(0), &other), Err(Refusal::OtherDisk(0)));
    let own = encode(&Identity { node: 1, ..identity(1, 99) }, 1, &packet);
    assert_eq!(pair.nodes[1].receive(Time(0), &own), Err(Refusal::TwoOfOne(1)));
    assert_eq!(pair.nodes[1].receive(Time(0), &frames[1]), Ok(()));
}

#[test]
fn what_comes_twice_is_taken_once_and_order_is_kept_where_there_is_one() {
    let (mut pair, frames) = spoken(Network::Ordered);
    let results: Vec<_> = [1, 0, 1, 2].map(|at: usize| pair.nodes[1].receive(Time(0), &frames[at])).into();
    assert_eq!(results, [Ok(()), Err(Refusal::Overtaken), Err(Refusal::Dropped(Dropped::Repeated)), Ok(())]);
    let (mut pair, frames) = spoken(Network::Unordered);
    let results: Vec<_> = [1, 0, 1, 2].map(|at: usize| pair.nodes[1].receive(Time(0), &frames[at])).into();
    assert_eq!(results, [Ok(()), Ok(()), Err(Refusal::Dropped(Dropped::Repeated)), Ok(())]);
}

#[test]
fn what_a_former_start_has_sent_is_refused() {
    let (mut pair, frames) = spoken(Network::Unordered);
    pair.kill(0);
    pair.write(0);
    assert_eq!(pair.deliver(0, 1), Some(vec![1]));
    let refusal = Refusal::Dropped(Dropped::FormerSender);
    assert_eq!(pair.nodes[1].receive(Time(0), &frames[1]), Err(refusal));
}

/// A peer sends 300 unsolicited checkpoints, each of 90 KB that decode to 16 MiB. None is decoded: a node that collects no snapshot
/// accepts no answer, and its memory for peers is unchanged.
#[test]
fn checkpoints_that_were_not_asked_for_are_not_read() {
    let (mut pair, frames) = spoken(Network::Ordered);
    let checkpoint = Checkpoint { number: 1, incarnation: 1, content: vec![0; 16_000_000], channels: BTreeMap::new() };
    let header = decode(&identity(1, 0), &frames[0]).expect("it is a frame").header;
    let packet = Packet { header, body: Body::Answer { request: 1, checkpoint: Box::new(checkpoint) } };
    let frame = encode(&identity(0, 1), 1, &packet);
    assert!(frame.len() < 90_000, "{}", frame.len());
    for _ in 0..300 {
        assert_eq!(pair.nodes[1].receive(Time(0), &frame), Err(Refusal::Unasked));
    }
    assert_eq!(pair.nodes[1].counts().refused, BTreeMap::from([("unasked", 300)]));
    assert_eq!(pair.nodes[1].receive(Time(0), &frames[0]), Ok(()));
}

/// The record keeps the raised checkpoint number, and on ordered links the connection breaks, so that no later message overtakes the lost
/// one.
#[test]
fn what_is_too_far_ahead_breaks_its_connection_and_brings_the_node_nearer() {
    for network in [Network::Ordered, Network::Unordered] {
        let (mut pair, frames) = spoken(network);
        let mut packet = decode(&identity(1, 0), &frames[0]).expect("it is a frame");
        packet.header.number = (1 << 62) + 5;
        let frame = encode(&identity(0, 1), 1, &packet);
        assert_eq!(pair.nodes[1].receive(Time(0), &frame), Err(Refusal::Dropped(Dropped::FarAhead)));
        pair.execute_outputs(1);
        pair.write(1);
        let disk = pair.disks[1].as_ref().expect("it was written");
        assert_eq!(disk.numbers.reserved, (1 << 62) + 999);
        let is_ordered = network == Network::Ordered;
        assert_eq!(pair.disconnects, if is_ordered { vec![(1, 0)] } else { vec![] });
        assert_eq!(pair.nodes[1].counts().refused, BTreeMap::from([("far-ahead", 1)]));
        assert_eq!(pair.nodes[1].receive(Time(0), &frame), Ok(()));
    }
}

#[test]
fn a_disk_that_does_not_answer_stops_what_would_wait_for_it() {
    let toy = Toy::new(2).of_kind(0, LocalKind::Timer).rule(0, 0, ToyTrigger::Local(0), 0, &[(1, 1)]);
    let settings = Settings { held_max: 3, ..settings(Network::Unordered) };
    let mut node = Node::start(&Arc::new(toy), identity(0, 1), settings, Open, None, Time(0)).expect("it starts");
    let Some(Output::Persist { ticket, .. }) = node.next_output() else { panic!("the start is written first") };
    for second in 1..=10 {
        node.elapse(Time(second * 1_000_000_000));
    }
    assert_eq!((node.counts().local, node.next_output()), (3, None));
    let (_, frames) = spoken(Network::Unordered);
    assert_eq!(node.receive(Time(0), &frames[0]), Err(Refusal::Full));
    node.persisted(ticket);
    assert_eq!(std::iter::from_fn(|| node.next_output()).count(), 3);
    node.elapse(Time(11_000_000_000));
    assert_eq!(node.counts().local, 4);
}

/// Frames of some 60 bytes wait for the disk: input is refused once they exceed 300 bytes.
#[test]
fn what_waits_for_the_disk_is_bounded_in_bytes() {
    let toy = Toy::new(2).of_kind(0, LocalKind::Timer).rule(0, 0, ToyTrigger::Local(0), 0, &[(1, 1)]);
    let settings = Settings { held_bytes_max: 300, ..settings(Network::Unordered) };
    let mut node = Node::start(&Arc::new(toy), identity(0, 1), settings, Open, None, Time(0)).expect("it starts");
    let Some(Output::Persist { ticket, .. }) = node.next_output() else { panic!("the start is written first") };
    (1..=20).for_each(|second| node.elapse(Time(second * 1_000_000_000)));
    node.persisted(ticket);
    let waited: Vec<Output> = std::iter::from_fn(|| node.next_output()).collect();
    let bytes: usize =
        waited.iter().map(|output| if let Output::Send { frame, .. } = output { frame.len() } else { 0 }).sum();
    // Only the last one exceeds the limit.
    assert!((300..300 + bytes / waited.len() + 1).contains(&bytes), "{bytes} {}", waited.len());
    node.elapse(Time(21_000_000_000));
    assert_eq!(node.counts().local, waited.len() as u64 + 1);
}

#[test]
fn a_protocol_that_takes_messages_together_is_refused() {
    let toys = (0..200).map(|seed| Toy::random(seed, 2).with_random_quorums(seed));
    let toy = Arc::new(toys.into_iter().find(|toy| toy.takes_quorums(1)).expect("some do"));
    let started = Node::start(&toy, identity(1, 1), settings(Network::Unordered), Open, None, Time(0));
    let refused = started.err().expect("it is refused");
    assert!(matches!(refused, Failure::Machine(_)), "{refused}");
}

/// Two nodes that send to each other at their start.
fn greeters() -> Toy {
    Toy::new(2).start(0, 0, &[(1, 1)]).start(1, 0, &[(0, 1)])
}

/// A node returns with an empty disk after fewer or more starts than the other node knows, which has kept running, or has restarted and
/// knows it from its record alone: the node is refused, and learns the reason with its first message. After a rejoin it is accepted,
/// and the former disk is refused from then on.
#[test]
fn a_lost_disk_is_refused_whatever_the_number_of_starts() {
    let networks = [Network::Ordered, Network::Unordered].into_iter();
    for ((network, starts), (deaf, starts_again)) in networks
        .flat_map(|network| [1, 2, 5].map(|starts| (network, starts)))
        .flat_map(|before| [0, 1, 4, 7].map(|deaf| (before, deaf)))
        .flat_map(|(before, deaf)| [false, true].map(|again| (before, (deaf, again))))
    {
        let what = format!("{starts} starts over {network}, {deaf} of a node without its disk, {starts_again}");
        let mut pair = Pair::open(greeters(), network);
        pair.settle();
        for _ in 1..starts {
            pair.kill(1);
            pair.settle();
        }
        if starts_again {
            pair.kill(0);
            pair.settle();
        }
        let former = pair.disks[1].take();
        for _ in 0..deaf {
            pair.kill(1);
            pair.write(1);
            pair.links.clear();
        }
        pair.kill(1);
        let before = pair.nodes[0].counts().messages;
        pair.settle();
        let refused = |pair: &Pair<Open>, node: usize, name| pair.nodes[node].counts().refused.get(name).copied();
        assert_eq!((pair.nodes[0].counts().messages, pair.nodes[1].incarnation()), (before, deaf + 1), "{what}");
        let told = [refused(&pair, 0, "other-disk"), refused(&pair, 1, "lost-disk")];
        assert_eq!(told, [Some(1), Some(1)], "{what}");

        let record = pair.disks[1].as_mut().expect("it has started");
        record.numbers.incarnation = record.numbers.incarnation.max(starts);
        record.disks.own = DiskId { rejoins: 1, drawn: 0 };
        pair.kill(1);
        pair.settle();
        // Where messages can be duplicated, the first one to a restarted node is refused.
        let is_taken = network == Network::Ordered || !starts_again;
        assert_eq!(pair.nodes[0].counts().messages, before + u64::from(is_taken), "{what}");
        assert_eq!(refused(&pair, 0, "other-disk"), Some(1), "{what}");

        // A node that has accepted no frame of a disk does not know it.
        if !is_taken {
            continue;
        }
        let before = pair.nodes[0].counts().messages;
        pair.disks[1] = former;
        pair.kill(1);
        pair.settle();
        assert_eq!(pair.nodes[0].counts().messages, before, "{what}");
        assert_eq!(refused(&pair, 0, "other-disk"), Some(2), "{what}");
    }
}
