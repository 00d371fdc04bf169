//! The durable map: after each event, a node that starts again has the durable state that it had.

use guest_sdk::test::Cluster;
use guest_sdk::{NodeId, Request};
use raft_kv::RaftKv;

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// A random step: a message arrives, is lost or repeated; a local event happens; a client asks; a node starts again.
fn step(cluster: &mut Cluster<RaftKv>, dice: &mut Dice) {
    let (flights, node) = (cluster.in_flight().len(), dice.below(3) as NodeId);
    match dice.below(20) {
        0 if flights > 0 => cluster.lose(dice.below(flights)),
        1 if (1..12).contains(&flights) => cluster.duplicate(dice.below(flights)),
        2 => {
            let key = format!("/k{}", dice.below(4));
            let request = match dice.below(4) {
                0 => Request::new("DELETE", &key),
                _ => Request::new("PUT", &key).body(format!("{}", dice.below(100))),
            };
            cluster.request(node, request);
        }
        3 => cluster.reset(node),
        4..8 => {
            let events = cluster.local_events(node);
            if !events.is_empty() {
                let name = events[dice.below(events.len())].name;
                cluster.happen(node, name);
            }
        }
        _ if flights > 0 => cluster.deliver(dice.below(flights)),
        _ => {}
    }
}

/// Random executions with logs that are cut off, replaced and forgotten, stores in pieces, conditions, sessions and members.
#[test]
fn what_a_node_has_is_what_it_finds_after_a_reset() {
    let common = [("terms", "0"), ("heartbeats", "true"), ("requests", "9"), ("keys", "3"), ("records", "true")];
    let rows: [&[(&str, &str)]; 5] = [
        &[("kept", "0")],
        &[("kept", "5"), ("batches", "true"), ("pipeline", "3")],
        &[("kept", "1"), ("piece", "1"), ("steps-down", "true")],
        &[("sessions", "2"), ("repeats", "3"), ("revisions", "true"), ("piece", "1")],
        &[("members", "2"), ("changes", "9"), ("pre-vote", "true"), ("piece", "1")],
    ];
    // Seen in all: entries, entries in place of others, stores of others, and keys.
    let (mut logged, mut replaced, mut installed, mut stored) = (0, 0, 0, 0);
    for (row, seed) in rows.iter().flat_map(|row| (0..12).map(move |seed| (row, seed))) {
        let mut cluster = Cluster::<RaftKv>::new(3, &[&common[..], row].concat()).expect("the parameters are known");
        let mut dice = Dice(seed);
        for number in 0..400 {
            let before: Vec<_> = (0..3).map(|node| cluster.state(node).disk.clone()).collect();
            step(&mut cluster, &mut dice);
            for (node, before) in (0..).zip(&before) {
                let mut again = cluster.clone();
                again.reset(node);
                let [state, found] = [&cluster, &again].map(|cluster| cluster.state(node));
                assert_eq!(found.disk, state.disk, "{row:?} {seed} {number}: node {node}");
                assert_eq!(found.used, state.used, "{row:?} {seed} {number}: node {node}");
                let disk = &state.disk;
                let (last, base) = (before.log.last().index, disk.log.base().index);
                logged += usize::from(disk.log.last().index > last);
                replaced += usize::from(last > base && before.log.mark(last) != disk.log.mark(last));
                installed += usize::from(base > last);
                stored += disk.store.items.len();
            }
        }
    }
    let seen = [logged, replaced, installed, stored];
    assert!(seen.iter().all(|count| *count >= 10), "{seen:?}");
}
