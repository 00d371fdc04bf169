use guest_sdk::NodeId;
use guest_sdk::test::Cluster;
use openraft::async_runtime::watch::WatchReceiver;

use super::*;

/// Nodes take turns: all messages arrive, a node that leads is given a command, and its next timer fires.
#[test]
fn a_leader_is_elected_and_a_command_commits() {
    let mut cluster = Cluster::<Tasks<Checked>>::new(3, &[("writes", "100")]).expect("the parameters fit");
    for node in (0..3).cycle().take(300) {
        cluster.settle();
        if cluster.state(node).leads().is_some() {
            cluster.happen(node, "write");
            cluster.settle();
        }
        if let Some(timer) = cluster.local_events(node).first().map(|event| event.name) {
            cluster.happen(node, timer);
        }
    }
    let counts = [0, 1, 2].map(|node| cluster.state(node).applied().len());
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    assert_eq!(cluster.check(), Ok(()));
}

fn by_calls(more: &[(&str, &str)]) -> Cluster<Tasks<Checked>> {
    let parameters: Vec<(&str, &str)> =
        [("elections", "9"), ("heartbeats", "9"), ("writes", "9")].into_iter().chain(more.iter().copied()).collect();
    Cluster::new(3, &parameters).expect("the parameters fit")
}

fn elect(cluster: &mut Cluster<Tasks<Checked>>, node: NodeId) {
    cluster.happen(node, "elect");
    cluster.settle();
    assert!(cluster.state(node).leads().is_some(), "{node} does not lead");
}

fn happen(cluster: &mut Cluster<Tasks<Checked>>, node: NodeId, name: &str) {
    cluster.happen(node, name);
    cluster.settle();
}

fn applied(cluster: &Cluster<Tasks<Checked>>) -> Vec<usize> {
    (0..3).map(|node| cluster.state(node).applied().len()).collect()
}

/// Fires timers of a node up to its pause, which is longer than the lease.
fn pause(cluster: &mut Cluster<Tasks<Checked>>, node: NodeId) {
    loop {
        let timer = cluster
            .local_events(node)
            .iter()
            .map(|event| event.name)
            .find(|name| *name == "pause" || name.contains(':'))
            .expect("a timer is armed");
        happen(cluster, node, timer);
        if timer == "pause" {
            return;
        }
    }
}

#[test]
fn what_is_on_disk_survives_resets() {
    let mut cluster = by_calls(&[]);
    elect(&mut cluster, 0);
    happen(&mut cluster, 0, "write");
    happen(&mut cluster, 0, "heartbeat");
    assert_eq!(applied(&cluster), [1, 1, 1]);
    (0..3).for_each(|node| cluster.reset(node));
    cluster.settle();
    // The committed log id is on disk, so what it covers is applied again.
    assert_eq!(applied(&cluster), [1, 1, 1]);
    // Node 0 leads again, and has renewed its lease at the others.
    assert_eq!(cluster.state(0).leads(), Some(1));
    pause(&mut cluster, 2);
    elect(&mut cluster, 1);
    happen(&mut cluster, 1, "write");
    happen(&mut cluster, 1, "heartbeat");
    assert_eq!(applied(&cluster), [2, 2, 2]);
    assert_eq!(cluster.state(1).leads(), Some(2));
    assert_eq!(cluster.check(), Ok(()));
}

#[test]
fn a_snapshot_brings_a_node_up_to_date() {
    let mut cluster = by_calls(&[("snapshots", "9")]);
    elect(&mut cluster, 0);
    // Nothing reaches node 2.
    cluster.happen(0, "write");
    while let Some(place) = cluster.in_flight().iter().position(|flight| flight.to != 2) {
        cluster.deliver(place);
    }
    cluster.lose_all();
    assert_eq!(applied(&cluster), [1, 1, 0]);
    happen(&mut cluster, 1, "snapshot");
    pause(&mut cluster, 2);
    elect(&mut cluster, 1);
    happen(&mut cluster, 1, "heartbeat");
    assert_eq!(applied(&cluster), [1, 1, 1]);
    let raft = cluster.state(2).raft.borrow();
    let (raft, _) = raft.as_ref().expect("it is started");
    assert!(raft.metrics().borrow_watched().snapshot.is_some(), "the log was sent");
    assert_eq!(cluster.check(), Ok(()));
}

#[test]
fn both_ways_to_read_return_what_was_written() {
    for policy in ["read-index", "lease"] {
        let mut cluster = by_calls(&[("reads", "2"), ("read-policy", policy)]);
        elect(&mut cluster, 0);
        happen(&mut cluster, 0, "write");
        happen(&mut cluster, 0, "read");
        assert_eq!(cluster.state(0).record.borrow().reads, 1, "{policy}");
        assert_eq!(cluster.check(), Ok(()));
    }
}

/// Delivers all messages but those of node 0.
fn settle_without_node_0(cluster: &mut Cluster<Tasks<Checked>>) {
    while let Some(place) = cluster.in_flight().iter().position(|flight| flight.from != 0 && flight.to != 0) {
        cluster.deliver(place);
    }
}

/// The lease of a leader relies on its clock: where that stands still while those of the others pass, a leader that was replaced reads what is
/// out of date. The other way asks the others.
#[test]
fn a_lease_relies_on_clocks_and_a_quorum_does_not() {
    for (policy, reads) in [("read-index", 0), ("lease", 1)] {
        let mut cluster = by_calls(&[("reads", "2"), ("read-policy", policy)]);
        elect(&mut cluster, 0);
        pause(&mut cluster, 1);
        pause(&mut cluster, 2);
        cluster.happen(2, "elect");
        settle_without_node_0(&mut cluster);
        assert_eq!(cluster.state(2).leads(), Some(2), "{policy}");
        cluster.happen(2, "write");
        settle_without_node_0(&mut cluster);
        // A client at node 0 hears of the answer.
        cluster.deliver_to(0, |message| matches!(message.0, Message::Seen(_)));
        cluster.happen(0, "read");
        cluster.settle();
        assert_eq!(cluster.state(0).record.borrow().reads, reads, "{policy}");
        assert_eq!(cluster.holds("operations-in-their-order").is_ok(), reads == 0, "{policy}");
    }
}

#[test]
fn leadership_is_transferred_and_members_change() {
    let mut cluster = by_calls(&[("transfers", "1"), ("changes", "2")]);
    elect(&mut cluster, 0);
    happen(&mut cluster, 0, "transfer");
    assert_eq!(cluster.state(1).leads(), Some(2));
    happen(&mut cluster, 1, "remove");
    happen(&mut cluster, 1, "heartbeat");
    assert_eq!(cluster.state(2).voters(), BTreeSet::from([1, 2]));
    happen(&mut cluster, 1, "restore");
    happen(&mut cluster, 1, "write");
    happen(&mut cluster, 1, "heartbeat");
    assert_eq!(cluster.state(2).voters(), BTreeSet::from([0, 1, 2]));
    assert_eq!(applied(&cluster), [1, 1, 1]);
    assert_eq!(cluster.check(), Ok(()));
}
