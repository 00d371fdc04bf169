//! Single executions, with and without the bugs.

use guest_sdk::NodeId;
use guest_sdk::test::{Cluster, InFlight};
use raft_compaction::{Entry, Mark, Message, RaftCompaction, Role};

type Nodes = Cluster<RaftCompaction>;

fn cluster(parameters: &[(&str, &str)]) -> Nodes {
    Cluster::new(3, parameters).expect("the parameters are known")
}

/// Delivers the newest message of one node to another: the one of several retransmissions that a lossy network has left.
fn deliver(cluster: &mut Nodes, from: NodeId, to: NodeId) {
    let is_between = |flight: &InFlight<Message>| flight.from == from && flight.to == to;
    let newest = cluster.in_flight().iter().rposition(is_between).expect("a message is in flight");
    cluster.deliver(newest);
}

/// A message and its answer.
fn ask(cluster: &mut Nodes, from: NodeId, to: NodeId) {
    deliver(cluster, from, to);
    deliver(cluster, to, from);
}

/// Node `candidate` leads in the next term by the votes of others.
fn elect(cluster: &mut Nodes, candidate: NodeId, voters: &[NodeId]) {
    cluster.happen(candidate, "timeout");
    voters.iter().for_each(|voter| ask(cluster, candidate, *voter));
    assert!(leads(cluster, candidate), "{:?}", cluster.state(candidate));
}

/// Delivers a request for a vote, which ends the term of its receiver.
fn deliver_request(cluster: &mut Nodes, from: NodeId, to: NodeId, in_term: u32) {
    cluster.deliver_where(|flight| {
        let is_wanted = matches!(flight.message, Message::RequestVote { term, .. } if term == in_term);
        (flight.from, flight.to) == (from, to) && is_wanted
    });
}

/// Delivers the oldest Append with one entry from the beginning of the log.
fn deliver_first_append(cluster: &mut Nodes, from: NodeId, to: NodeId) {
    cluster.deliver_where(|flight| {
        let is_first =
            matches!(&flight.message, Message::Append { append, .. } if append.prev.index == 0 && append.entries.len() == 1);
        (flight.from, flight.to) == (from, to) && is_first
    });
}

fn leads(cluster: &Nodes, node: NodeId) -> bool {
    matches!(cluster.state(node).role, Role::Leader { .. })
}

fn done(cluster: &Nodes, node: NodeId) -> Vec<(u32, u32)> {
    cluster.state(node).done.iter().map(|Entry { term, command }| (*term, *command)).collect()
}

fn base(cluster: &Nodes, node: NodeId) -> u32 {
    cluster.state(node).log.base().index
}

/// Node 0 takes two commands in term 1, sends them to node 1, commits them and compacts its log.
fn two_commands(cluster: &mut Nodes) {
    elect(cluster, 0, &[1]);
    cluster.happen(0, "command");
    ask(cluster, 0, 1);
    cluster.happen(0, "command");
    ask(cluster, 0, 1);
}

#[test]
fn a_node_that_is_far_behind_gets_the_snapshot() {
    let mut cluster = cluster(&[("commands", "3"), ("heartbeats", "2")]);
    two_commands(&mut cluster);
    cluster.happen(0, "compact");
    assert_eq!((base(&cluster, 0), done(&cluster, 0)), (2, vec![(1, 1), (1, 2)]));
    cluster.happen(0, "heartbeat");
    ask(&mut cluster, 0, 2);
    assert_eq!((base(&cluster, 2), done(&cluster, 2)), (2, vec![(1, 1), (1, 2)]));
    cluster.happen(0, "command");
    cluster.settle();
    assert_eq!([0, 1, 2].map(|node| cluster.state(node).log.last()), [Mark { term: 1, index: 3 }; 3]);
    cluster.happen(0, "heartbeat");
    cluster.settle();
    assert_eq!([0, 1, 2].map(|node| done(&cluster, node)), [(); 3].map(|()| vec![(1, 1), (1, 2), (1, 3)]));
    assert_eq!(cluster.check(), Ok(()));
}

/// A reset leaves the snapshot and the log behind it.
#[test]
fn the_snapshot_survives_a_reset() {
    let mut cluster = cluster(&[("commands", "3")]);
    two_commands(&mut cluster);
    cluster.happen(0, "compact");
    cluster.happen(0, "command");
    cluster.reset(0);
    assert_eq!((base(&cluster, 0), cluster.state(0).commit, done(&cluster, 0).len()), (2, 2, 2));
    assert_eq!(cluster.state(0).log.last(), Mark { term: 1, index: 3 });
}

#[test]
fn commands_heartbeats_and_terms_are_bounded() {
    let mut cluster = cluster(&[("terms", "1"), ("commands", "1"), ("compact-after", "0")]);
    elect(&mut cluster, 0, &[1]);
    cluster.happen(0, "command");
    cluster.happen(0, "heartbeat");
    assert!(cluster.local_events(0).is_empty());
    assert!(cluster.local_events(1).is_empty());
    assert_eq!(cluster.local_events(2).len(), 1);
}

/// The first message arrives again after node 1 has compacted its entries. 19 events.
#[test]
fn a_repeated_message_adds_nothing() {
    let third = |bug| {
        let mut cluster = cluster(&[("bug", bug), ("terms", "1"), ("commands", "3"), ("heartbeats", "3")]);
        elect(&mut cluster, 0, &[1]);
        cluster.happen(0, "command");
        cluster.happen(0, "heartbeat");
        ask(&mut cluster, 0, 1);
        cluster.happen(0, "command");
        ask(&mut cluster, 0, 1);
        cluster.happen(0, "heartbeat");
        deliver(&mut cluster, 0, 1);
        cluster.happen(1, "compact");
        deliver_first_append(&mut cluster, 0, 1);
        cluster.happen(0, "command");
        ask(&mut cluster, 0, 1);
        cluster.happen(0, "heartbeat");
        deliver(&mut cluster, 0, 1);
        assert_eq!(done(&cluster, 0)[2], (1, 3));
        (done(&cluster, 1)[2], cluster.check())
    };
    assert_eq!(third("none"), ((1, 3), Ok(())));
    let differ = "state-machine-safety: nodes 0 and 1 have different entries at 3";
    assert_eq!(third("previous-zero"), ((1, 1), Err(differ.to_owned())));
}

/// Node 1 leads in term 2 with the first entry of node 0, and commits another second entry with node 2.
#[test]
fn a_node_that_needs_the_last_entry_of_the_snapshot_gets_the_snapshot() {
    let second = |bug| {
        let mut cluster = cluster(&[("bug", bug)]);
        elect(&mut cluster, 0, &[1]);
        cluster.happen(0, "command");
        deliver(&mut cluster, 0, 1);
        deliver(&mut cluster, 0, 2);
        cluster.happen(0, "command");
        elect(&mut cluster, 1, &[2]);
        cluster.happen(1, "command");
        ask(&mut cluster, 1, 2);
        cluster.happen(1, "compact");
        cluster.happen(1, "heartbeat");
        deliver(&mut cluster, 1, 0);
        assert_eq!(done(&cluster, 1), [(1, 1), (2, 1)]);
        (done(&cluster, 0)[1], cluster.check())
    };
    assert_eq!(second("none"), ((2, 1), Ok(())));
    let differ = "state-machine-safety: nodes 0 and 1 have different entries at 2";
    assert_eq!(second("next-equals-snapshot"), ((1, 2), Err(differ.to_owned())));
}

/// Node 1 leads in term 2 with a snapshot of entries of term 1, which node 2 loads. 19 events.
#[test]
fn a_snapshot_of_an_older_term_leaves_the_term() {
    let term = |bug| {
        let mut cluster = cluster(&[("bug", bug)]);
        two_commands(&mut cluster);
        cluster.happen(0, "heartbeat");
        deliver(&mut cluster, 0, 1);
        cluster.happen(1, "compact");
        elect(&mut cluster, 1, &[2]);
        cluster.happen(1, "heartbeat");
        ask(&mut cluster, 1, 2);
        deliver(&mut cluster, 1, 2);
        assert_eq!(base(&cluster, 2), 2);
        (cluster.state(2).term, cluster.check())
    };
    assert_eq!(term("none"), (2, Ok(())));
    let fallen = "terms-never-fall: node 2: is in term 1 after term 2";
    assert_eq!(term("snapshot-term"), (1, Err(fallen.to_owned())));
}

/// Node 2 has three entries, and node 0 knows that; then a snapshot of the first two arrives, and node 1 leads in term 2 without the third.
/// 22 events.
#[test]
fn entries_behind_a_snapshot_stay() {
    let drops = |bug| {
        let mut cluster = cluster(&[("bug", bug), ("commands", "3"), ("heartbeats", "2")]);
        elect(&mut cluster, 0, &[1]);
        cluster.happen(0, "command");
        ask(&mut cluster, 0, 1);
        cluster.happen(0, "command");
        // Of the second and the third entry node 1 receives the second alone, node 2 both.
        let second = cluster.in_flight().iter().rposition(|flight| flight.to == 1).expect("the second entry");
        let second = cluster.in_flight()[second].message.clone();
        cluster.happen(0, "command");
        cluster.happen(0, "heartbeat");
        cluster.deliver_where(|flight| flight.to == 1 && flight.message == second);
        let all = cluster.in_flight().iter().rposition(|flight| flight.to == 2).expect("the heartbeat");
        let all = cluster.in_flight()[all].message.clone();
        deliver(&mut cluster, 1, 0);
        cluster.happen(0, "compact");
        cluster.happen(0, "heartbeat");
        cluster.deliver_where(|flight| flight.to == 2 && flight.message == all);
        deliver(&mut cluster, 2, 0);
        assert_eq!(done(&cluster, 0), [(1, 1), (1, 2), (1, 3)]);
        deliver(&mut cluster, 0, 2);
        assert_eq!(done(&cluster, 2), [(1, 1), (1, 2)]);
        cluster.happen(1, "timeout");
        ask(&mut cluster, 1, 2);
        cluster
    };
    assert!(!leads(&drops("none"), 1));
    let mut cluster = drops("snapshot-drops-log");
    cluster.happen(1, "command");
    ask(&mut cluster, 1, 2);
    assert_eq!(done(&cluster, 1), [(1, 1), (1, 2), (2, 1)]);
    let differ = "state-machine-safety: nodes 0 and 1 have different entries at 3";
    assert_eq!(cluster.check(), Err(differ.to_owned()));
}

/// Figure 8 of the paper, with the three nodes that matter. Node 0 leads in term 1 and keeps its command for itself; node 2 leads in term
/// 2 and does the same; node 0 leads in term 3 and gives the old entry to node 1; node 2 leads in term 4 and does the same. 27 events.
#[test]
fn an_entry_of_an_older_term_is_not_committed_by_counting() {
    let figure_8 = |bug| {
        let mut cluster = cluster(&[("bug", bug), ("terms", "4")]);
        elect(&mut cluster, 0, &[1]);
        cluster.happen(0, "command");
        cluster.happen(2, "timeout");
        elect(&mut cluster, 2, &[1]);
        cluster.happen(2, "command");
        deliver_request(&mut cluster, 2, 0, 2);
        elect(&mut cluster, 0, &[1]);
        cluster.happen(0, "heartbeat");
        ask(&mut cluster, 0, 1);
        ask(&mut cluster, 0, 1);
        deliver_request(&mut cluster, 0, 2, 3);
        elect(&mut cluster, 2, &[1]);
        cluster.happen(2, "heartbeat");
        ask(&mut cluster, 2, 1);
        ask(&mut cluster, 2, 1);
        (done(&cluster, 0), done(&cluster, 2), cluster.check())
    };
    assert_eq!(figure_8("none"), (vec![], vec![], Ok(())));
    let differ = "state-machine-safety: nodes 0 and 2 have different entries at 1";
    assert_eq!(figure_8("commit-older-term"), (vec![(1, 1)], vec![(2, 1)], Err(differ.to_owned())));
}
