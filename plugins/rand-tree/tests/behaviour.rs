//! Single executions, and the effects of the mistakes that need a particular past.

use guest_sdk::test::Cluster;
use rand_tree::{Message, Phase, RandTree};

fn with(nodes: u32, parameters: &[(&str, &str)]) -> Cluster<RandTree> {
    Cluster::new(nodes, parameters).expect("the parameters fit")
}

/// Delivers the next message from one node to another.
#[track_caller]
fn deliver(cluster: &mut Cluster<RandTree>, from: u32, to: u32) {
    cluster.deliver_where(|flight| (flight.from, flight.to) == (from, to));
}

/// Node 0, which joins alone, is the root, and the others join one after the other.
fn tree(nodes: u32, parameters: &[(&str, &str)]) -> Cluster<RandTree> {
    let mut cluster = with(nodes, &[&[("contact", "first")], parameters].concat());
    for node in 0..nodes {
        cluster.happen(node, "join");
        cluster.settle();
    }
    assert_eq!(cluster.holds("spanning-tree"), Ok(()));
    cluster
}

/// Node 0 has not joined, has joined, or has its child. In the first two cases node 1 has not joined, or its Join or its answer NotYet is
/// in flight, or it has received the answer: 4 states each. In the third its answer is in flight, or received. The 13 transitions include
/// 4 of node 0 that joins, and 4, 4 and 1 of the others.
#[test]
fn two_nodes_have_ten_states() {
    let found = with(2, &[("contact", "first")]).explore(100);
    assert_eq!((found.global_states, found.transitions, found.broken), (10, 13, None));
    assert_eq!(found.terminal_states, 1);
}

#[test]
fn a_full_node_passes_the_joiner_down() {
    let cluster = tree(4, &[("degree", "1")]);
    let parents: Vec<_> = (0..4).map(|node| cluster.state(node).parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(2)]);
    assert!((0..4).all(|node| cluster.state(node).root == 0));
}

#[test]
fn siblings_are_those_of_the_root_alone() {
    let cluster = tree(5, &[]);
    assert_eq!(Vec::from_iter(cluster.state(1).siblings.clone()), [2]);
    assert_eq!(Vec::from_iter(cluster.state(2).siblings.clone()), [1]);
    assert!([0, 3, 4].iter().all(|node| cluster.state(*node).siblings.is_empty()));
}

#[test]
fn the_smaller_joiner_becomes_the_root() {
    let mut cluster = with(2, &[("contact", "last")]);
    cluster.happen(1, "join");
    assert!(cluster.state(1).is_root());
    cluster.happen(0, "join");
    cluster.settle();
    assert_eq!((cluster.state(1).parent, cluster.holds("spanning-tree")), (Some(0), Ok(())));
}

#[test]
fn the_smallest_child_follows_the_root_that_died() {
    let mut cluster = tree(3, &[]);
    cluster.reset(0);
    for node in [1, 2] {
        cluster.transport_error(node, 0);
    }
    cluster.settle();
    assert_eq!((cluster.state(1).is_root(), cluster.state(2).parent), (true, Some(1)));
    assert_eq!(cluster.check(), Ok(()));
}

/// Node 0 above 1 and 2, and node 3 below node 1.
#[test]
fn the_neighbours_of_a_node_are_around_it_in_its_tree() {
    assert_eq!([0, 2].map(|node| with(3, &[]).neighbours(node)), [Some(vec![0]), Some(vec![0, 2])], "whom it asks");
    let mut cluster = tree(4, &[("degree", "2")]);
    let neighbours =
        |cluster: &Cluster<RandTree>| [0, 1, 2, 3].map(|node| cluster.neighbours(node).unwrap_or_default());
    assert_eq!(neighbours(&cluster), [vec![0, 1, 2], vec![0, 2, 3], vec![0, 1], vec![0, 1]]);
    // Without its parent it asks the root, and takes itself for the root.
    cluster.transport_error(3, 1);
    assert_eq!(cluster.neighbours(3), Some(vec![0, 3]));
}

/// RT5: the sibling that a node asks once the root has died is no peer of it.
#[test]
fn rt5_does_not_note_the_sibling() {
    for (bug, is_noted) in [("none", true), ("RT5", false)] {
        let mut cluster = tree(3, &[("bug", bug)]);
        cluster.transport_error(2, 0);
        assert_eq!(cluster.state(2).attempt.map(|attempt| attempt.target), Some(1));
        assert_eq!(cluster.state(2).peers.contains(&1), is_noted, "{bug}");
    }
}

/// 0 above 2 above 1; 1 knows only node 2.
fn chain(bug: &str) -> Cluster<RandTree> {
    let mut cluster = with(3, &[("contact", "last"), ("degree", "1"), ("probes", "all"), ("early", "1"), ("bug", bug)]);
    for node in [2, 0, 1] {
        cluster.happen(node, "join");
        cluster.settle();
    }
    assert_eq!((cluster.state(1).parent, cluster.state(2).parent), (Some(2), Some(0)));
    cluster
}

/// RT6: the same with the root, once a parent has died that is not the root.
#[test]
fn rt6_does_not_note_the_root() {
    for (bug, is_noted) in [("none", true), ("RT6", false)] {
        let mut cluster = chain(bug);
        cluster.transport_error(1, 2);
        assert_eq!(cluster.state(1).attempt.map(|attempt| attempt.target), Some(0));
        assert_eq!(cluster.state(1).peers.contains(&0), is_noted, "{bug}");
    }
}

/// RT9: the same on Rejoin. All peers of node 1 are its children then, and its join timer can still fire early.
#[test]
fn rt9_leaves_children_to_ask_only() {
    for (bug, is_noted) in [("RT6", true), ("RT6,RT9", false)] {
        let mut cluster = chain(bug);
        cluster.reset(2);
        cluster.transport_error(0, 2);
        cluster.transport_error(1, 2);
        cluster.settle();
        cluster.happen(2, "join");
        cluster.happen(1, "recover");
        while cluster.state(2).parent != Some(1) {
            cluster.settle();
            cluster.happen(1, "recover");
        }
        cluster.settle();
        cluster.transport_error(0, 1);
        while cluster.state(1).parent == Some(0) {
            cluster.happen(1, "recover");
            while cluster.state(1).parent == Some(0) && !cluster.in_flight().is_empty() {
                cluster.deliver(0);
            }
        }
        assert_eq!(cluster.state(1).attempt.map(|attempt| attempt.target), Some(0));
        assert_eq!(cluster.state(1).peers.contains(&0), is_noted);
        assert_eq!(cluster.state(1).peers.is_subset(&cluster.state(1).children), !is_noted);
    }
}

/// RT13: node 1 asks node 2, which asks the root; node 1 is started again, and the root's answer finds it before it joins.
#[test]
fn rt13_keeps_a_child_that_never_joined() {
    for (bug, is_forgotten) in [("none", true), ("RT13", false)] {
        let mut cluster = with(3, &[("contact", "last"), ("bug", bug)]);
        for node in [2, 0] {
            cluster.happen(node, "join");
            cluster.settle();
        }
        cluster.happen(1, "join");
        deliver(&mut cluster, 1, 2);
        deliver(&mut cluster, 2, 0);
        cluster.reset(1);
        cluster.transport_error(2, 1);
        cluster.settle();
        assert_eq!(cluster.state(0).children.contains(&1), !is_forgotten, "{bug}");
        cluster.happen(1, "join");
        cluster.settle();
        let phase = if is_forgotten { Phase::Joined } else { Phase::Joining };
        assert_eq!(cluster.state(1).phase, phase, "{bug}");
    }
}

/// RT16 is the part of RT15 that the join timer does not repair.
#[test]
fn rt15_keeps_the_old_root_when_the_join_timer_fires() {
    for (bug, before, after) in [("none", 1, 1), ("RT16", 0, 1), ("RT15", 0, 0)] {
        let mut cluster = chain(bug);
        cluster.transport_error(1, 2);
        assert_eq!(cluster.state(1).root, before, "{bug}");
        cluster.happen(1, "retry");
        assert_eq!(cluster.state(1).root, after, "{bug}");
    }
}

/// RT12: the Remove that was refused is sent later.
#[test]
fn what_was_refused_is_sent_again() {
    for (bug, is_sent) in [("none", true), ("RT12", false)] {
        let mut cluster = with(2, &[("contact", "first"), ("bug", bug)]);
        cluster.happen(0, "join");
        cluster.happen(1, "join");
        cluster.settle();
        cluster.transport_error(1, 0);
        assert!(cluster.state(1).is_root());
        cluster.happen(1, "recover");
        cluster.settle();
        // Node 1 joins node 0 again, and is reset when the answer is in flight.
        cluster.reset(1);
        cluster.happen(1, "join");
        deliver(&mut cluster, 1, 0);
        cluster.reset(1);
        cluster.refuse(&[true]);
        cluster.settle();
        assert!(!cluster.in_flight().iter().any(|flight| flight.message == Message::Remove));
        assert_eq!(cluster.local_events(1).iter().any(|event| event.name == "remove"), is_sent, "{bug}");
    }
}

#[test]
fn mistakes_are_combined_with_commas() {
    assert!(Cluster::<RandTree>::new(3, &[("bug", "RT4,RT9,S1")]).is_ok());
    let refused = Cluster::<RandTree>::new(3, &[("bug", "RT4,RT18")]).err().expect("there is no such mistake");
    assert!(refused.to_string().contains("\"RT18\""), "{refused}");
    assert!(Cluster::<RandTree>::new(3, &[("degree", "0")]).is_err());
}
