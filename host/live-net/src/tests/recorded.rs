//! Processes that are recorded, and killed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use host_live::recording::{Begins, Entry, Handled, Head, Lines, Next, Player, Segment, Sequence};
use host_model::contract::MachineFactory;

use super::processes::{Cluster, LAST, counter};
use crate::record::read_segment;
use crate::segments;

/// The segments of a node, by number: the head, the entries, and whether it is torn.
type Recorded = BTreeMap<u64, (Head, Vec<Entry>, bool)>;

/// The recording of a node.
fn read(cluster: &Cluster, node: u32) -> Recorded {
    let folder = cluster.folder.path().join("recording");
    let known = segments(&folder).expect("it is there").remove(&node).expect("the node is recorded");
    let (mut sequence, mut found) = (Sequence::default(), BTreeMap::new());
    for (number, path) in known {
        let bytes = read_segment(&path).expect("it is there");
        let Some((mut segment, head)) = Segment::open(&bytes).expect("it is intact") else {
            sequence.skip(number).expect("none is missing");
            continue;
        };
        sequence.begin(number, &head).expect("it follows the one before");
        let mut entries = Vec::new();
        let is_torn = loop {
            match segment.read().expect("it is intact") {
                Next::Entry(entry) => entries.push(entry),
                Next::End => break false,
                Next::Torn { .. } => break true,
            }
        };
        if !is_torn {
            sequence.end(segment.chain());
        }
        found.insert(number, (head, entries, is_torn));
    }
    found
}

/// Replays the segments of a node; returns the number of events.
fn replay(segments: &Recorded, node: u32) -> usize {
    let toy = Arc::new(counter());
    let mut events = 0;
    for (head, entries, _) in segments.values() {
        let mut player = Player::new(toy.machine().expect("toys have no host"), head.owner.clone());
        if let Begins::Within { state, .. } = &head.begins {
            player.import(state).expect("the toy has exported it");
        }
        for entry in entries {
            let Entry::Event(event) = entry else { continue };
            let played = player.play(&event.input, &event.answers).expect("toys have no host").expect("it has a state");
            assert_eq!(played.deviation(event, node), None, "{event:?}");
            events += 1;
        }
    }
    events
}

/// The contents that a node has received from node 0, and those that node 0 has sent it.
fn received_and_sent(all: &[Recorded], node: u32) -> [BTreeSet<Vec<u8>>; 2] {
    let events = |of: u32| {
        let entries = all[of as usize].values().flat_map(|(_, entries, _)| entries);
        entries.filter_map(|entry| if let Entry::Event(event) = entry { Some(event) } else { None })
    };
    let received = events(node).filter_map(|event| match &event.input {
        Handled::Message { from: 0, payload } => Some(payload.clone()),
        _ => None,
    });
    let sent = events(0).flat_map(|event| &event.sent).filter(|sent| sent.to == node).map(|sent| sent.payload.clone());
    [received.collect(), sent.collect()]
}

/// Nodes are killed in turns. The recording of each replays, and has all that others have received of it.
#[test]
fn a_killed_node_has_recorded_what_others_have_seen() {
    for network in ["tcp", "udp"] {
        let mut cluster = Cluster::recorded(network, false, Some(1 << 30));
        for (round, count) in (10..=60).step_by(10).enumerate() {
            cluster.wait(round % 3, count);
            cluster.kill(round % 3);
        }
        (0..3).for_each(|node| cluster.wait(node, LAST));
        (0..3).for_each(|node| cluster.stop(node));
        let all = [0, 1, 2].map(|node| read(&cluster, node));
        for node in 0..3 {
            let segments = &all[node as usize];
            assert_eq!(segments.keys().copied().collect::<Vec<_>>(), [1, 2, 3], "{network}: one per start");
            let (head, ..) = &segments[&1];
            assert_eq!((head.owner.node, head.limits["fuel"], &head.begins), (node, 5, &Begins::Start));
            let events = replay(segments, node);
            assert!(events > 20, "{events}");
            let machine = Arc::new(counter()).machine().expect("toys have no host");
            let mut lines = Lines::new(Player::new(machine, head.owner.clone()));
            let entries = segments.values().flat_map(|(_, entries, _)| entries);
            entries.for_each(|entry| lines.add(entry).expect("each start finds what the process before has written"));
            let resets = lines.end().iter().filter(|line| line.value["event"] == "reset").count();
            assert_eq!(resets, 2, "{network}");
        }
        for node in [1, 2] {
            let [received, sent] = received_and_sent(&all, node);
            assert!(received.len() > 20 && received.is_subset(&sent), "{network}: {received:?} {sent:?}");
        }
    }
}

/// A long recording continues in further segments that replay by themselves, and the oldest ones go.
#[test]
fn a_long_recording_keeps_its_end() {
    let bytes_max = 12_000;
    let mut cluster = Cluster::recorded("udp", false, Some(bytes_max));
    cluster.wait(0, 200);
    cluster.kill(0);
    cluster.wait(0, LAST);
    cluster.stop(0);
    let segments = read(&cluster, 0);
    let first = segments.keys().next().copied();
    assert!(first > Some(1), "the oldest ones are gone: {:?}", segments.keys());
    let within = segments.values().filter(|(head, ..)| matches!(head.begins, Begins::Within { .. })).count();
    assert!(within > 2, "{within}");
    assert!(replay(&segments, 0) > 20);
    let folder = cluster.folder.path().join("recording");
    let files = crate::segments(&folder).expect("it is there").remove(&0).expect("it is recorded");
    let bytes: u64 = files.values().map(|path| path.metadata().expect("it is there").len()).sum();
    assert!(bytes < 2 * bytes_max, "{bytes}");
    // A segment that is removed in the middle is missed.
    let numbers: Vec<u64> = segments.keys().copied().collect();
    let mut sequence = Sequence::default();
    sequence.begin(numbers[0], &segments[&numbers[0]].0).expect("any can be the first one");
    sequence.begin(numbers[2], &segments[&numbers[2]].0).expect_err("one is missing");
}
