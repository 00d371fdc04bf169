//! Single executions, and the states that the mistakes leave behind.

use guest_sdk::test::Cluster;
use overcast::{Overcast, Phase};

/// Nodes that have all joined below the root.
fn tree(nodes: u32, bug: &str) -> Cluster<Overcast> {
    let mut cluster = Cluster::new(nodes, &[("bug", bug)]).expect("the parameters fit");
    for node in 1..nodes {
        assert!(cluster.holds("spanning-tree").is_err());
        cluster.happen(node, "retry");
        cluster.settle();
    }
    assert_eq!(cluster.holds("spanning-tree"), Ok(()));
    cluster
}

/// Below the root alone there is no place to move to; locks are taken and released.
#[test]
fn two_nodes_never_move() {
    let found = Cluster::<Overcast>::new(2, &[]).expect("two nodes fit").explore(100);
    assert_eq!((found.broken, found.terminal_states), (None, 0));
}

#[test]
fn a_move_ends_without_locks() {
    let mut cluster = tree(3, "none");
    cluster.happen(1, "probe");
    cluster.settle();
    assert_eq!((cluster.state(1).parent, cluster.state(1).phase), (Some(2), Phase::In));
    assert_eq!(cluster.holds("spanning-tree"), Ok(()));
    assert_eq!(cluster.holds("unlocked"), Ok(()));
}

#[test]
fn who_joins_waits_for_the_end_of_a_move() {
    let mut cluster = tree(3, "none");
    cluster.happen(1, "probe");
    cluster.deliver_to(0, |_| true);
    assert_eq!(cluster.state(0).locked_by, Some(1));
    cluster.happen(2, "probe");
    cluster.deliver_to(0, |_| true);
    cluster.deliver_to(2, |_| true);
    assert_eq!(cluster.state(2).phase, Phase::In, "the parent is locked");
}

/// The lock of the root stays, and the next node waits for ever. Without the mistake Unlock is sent again.
#[test]
fn a_refused_unlock_is_not_forgotten() {
    for (bug, is_sent) in [("none", true), ("lost-unlock", false)] {
        let mut cluster = Cluster::<Overcast>::new(3, &[("bug", bug)]).expect("the parameters fit");
        cluster.happen(1, "retry");
        cluster.settle();
        cluster.refuse(&[true]);
        cluster.happen(1, "probe");
        cluster.settle();
        assert!(cluster.holds("unlocked").is_err());
        cluster.happen(2, "retry");
        cluster.settle();
        assert!(cluster.holds("spanning-tree").is_err());
        assert_eq!(cluster.local_events(1).iter().any(|event| event.name == "unlock"), is_sent, "{bug}");
        if is_sent {
            cluster.happen(1, "unlock");
            cluster.settle();
            assert_eq!(cluster.holds("spanning-tree"), Ok(()));
        }
    }
}

/// OV1 has a second half: a lock outlives the connection to its holder.
#[test]
fn a_lock_ends_with_the_connection() {
    for (bug, is_locked) in [("none", false), ("lost-unlock", true)] {
        let mut cluster = tree(3, bug);
        cluster.happen(1, "probe");
        cluster.deliver_to(0, |_| true);
        cluster.transport_error(0, 1);
        assert_eq!(cluster.state(0).locked_by.is_some(), is_locked, "{bug}");
    }
}

#[test]
fn without_locks_two_moves_make_a_loop() {
    let mut cluster = tree(3, "no-locks");
    cluster.happen(1, "probe");
    cluster.happen(2, "probe");
    cluster.settle();
    assert!(cluster.check().is_err());
}
