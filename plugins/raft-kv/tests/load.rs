//! The cost of a write under load, in messages: a network whose messages take one tick, and clients that wait for an answer each.

use std::collections::BTreeMap;

use guest_sdk::test::Cluster;
use guest_sdk::{NodeId, Request};
use raft_kv::{Message, Raft, RaftKv, Role};

/// Ticks between two heartbeats.
const HEARTBEAT: u64 = 50;

/// Messages and their contents.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    messages: usize,
    appends: usize,
    /// Entries in messages; the number of those that a node was sent before.
    entries: usize,
    repeated: usize,
    /// Ticks until all writes were answered.
    ticks: u64,
}

/// Counts the messages in flight from a place on.
fn count(cluster: &Cluster<RaftKv>, from: usize, sent: &mut BTreeMap<NodeId, u32>, counts: &mut Counts) {
    for flight in &cluster.in_flight()[from..] {
        counts.messages += 1;
        if let Message::Raft { what: Raft::Append { prev, entries, .. }, .. } = &flight.message {
            counts.appends += 1;
            counts.entries += entries.len();
            let last = sent.entry(flight.to).or_default();
            counts.repeated += (last.saturating_sub(prev.index) as usize).min(entries.len());
            *last = (*last).max(prev.index + entries.len() as u32);
        }
    }
}

/// Clients of the leader write 320 values, each the next one a tick after the answer.
fn load(clients: usize, parameters: &[(&str, &str)]) -> Counts {
    let steady =
        [("terms", "0"), ("heartbeats", "true"), ("steps-down", "true"), ("pre-vote", "true"), ("kept", "100")];
    let mut cluster = Cluster::<RaftKv>::new(3, &[&steady[..], parameters].concat()).expect("the parameters are known");
    cluster.happen(0, "timeout");
    cluster.settle();
    assert!(matches!(cluster.state(0).role, Role::Leader { .. }));
    let last = cluster.state(0).disk.log.last().index;
    let mut sent: BTreeMap<NodeId, u32> = [(1, last), (2, last)].into();
    let (mut counts, mut waiting, mut left) = (Counts::default(), vec![None; clients], 320);
    while left > 0 || waiting.iter().any(Option::is_some) {
        counts.ticks += 1;
        assert!(counts.ticks < 100_000, "{left} writes are left");
        // The messages of the tick before arrive in the order in which they were sent.
        for _ in 0..cluster.in_flight().len() {
            let from = cluster.in_flight().len() - 1;
            cluster.deliver(0);
            count(&cluster, from, &mut sent, &mut counts);
        }
        let from = cluster.in_flight().len();
        if counts.ticks.is_multiple_of(HEARTBEAT) {
            cluster.happen(0, "heartbeat");
        }
        for (client, waits) in waiting.iter_mut().enumerate() {
            if waits.is_some_and(|number| cluster.response(number).is_some()) {
                *waits = None;
            }
            if waits.is_none() && left > 0 {
                left -= 1;
                *waits = Some(cluster.request(0, Request::new("PUT", &format!("/{client}")).body("x")));
            }
        }
        count(&cluster, from, &mut sent, &mut counts);
    }
    cluster.happen(0, "heartbeat");
    cluster.settle();
    cluster.happen(0, "heartbeat");
    cluster.settle();
    let [one, other] = [0, 2].map(|node| &cluster.state(node).disk);
    assert_eq!((one.commit, &one.store), (other.commit, &other.store));
    assert_eq!(cluster.check(), Ok(()));
    counts
}

/// A message of the leader to each of the others, and the answers: so a round of heartbeats has four messages, too.
#[test]
fn a_write_costs_its_share_of_a_batch() {
    let batches = |pipeline| [("batches", "true"), ("pipeline", pipeline)];
    // A client alone: four messages for each write, in two ticks, and a heartbeat each 50 ticks.
    // Several clients: the first write leaves at once, all others together when it is answered, so two batches for a write of each.
    for (clients, batches_of_all, ticks) in [(1, 320, 641), (16, 2 * 320 / 16, 81), (64, 2 * 320 / 64, 21)] {
        let counts = load(clients, &batches("1"));
        let heartbeats = ticks as usize / HEARTBEAT as usize;
        let messages = 4 * (batches_of_all + heartbeats);
        let appends = messages / 2;
        assert_eq!(counts, Counts { messages, appends, entries: 640, repeated: 0, ticks }, "{clients} clients");
    }
    // A pipeline has more messages and waits less.
    for (clients, pipeline, messages, ticks) in [(16, "2", 304, 77), (16, "4", 536, 69), (64, "2", 76, 21)] {
        let counts = load(clients, &batches(pipeline));
        let expected = Counts { messages, appends: messages / 2, entries: 640, repeated: 0, ticks };
        assert_eq!(counts, expected, "{clients} clients, {pipeline} batches at once");
    }
    // Without batches, each write is sent again with each other one that waits.
    let counts = load(16, &[]);
    assert_eq!((counts.messages, counts.entries, counts.ticks), (2528, 10_560, 41));
}
