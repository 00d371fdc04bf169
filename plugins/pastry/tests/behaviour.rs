//! Single executions, and the effect of each mistake. `none` is the protocol without a mistake, on the same path.

use guest_sdk::test::Cluster;
use pastry::{Message, Pastry, Phase};

fn with(nodes: u32, parameters: &[(&str, &str)]) -> Cluster<Pastry> {
    Cluster::new(nodes, parameters).expect("the parameters fit")
}

/// All nodes have joined, one after the other.
fn joined(nodes: u32, parameters: &[(&str, &str)]) -> Cluster<Pastry> {
    let mut cluster = with(nodes, parameters);
    for node in 0..nodes {
        join(&mut cluster, node);
    }
    assert!((0..nodes).all(|node| cluster.state(node).phase == Phase::Joined));
    cluster
}

/// A node joins, with up to five attempts.
fn join(cluster: &mut Cluster<Pastry>, node: u32) {
    for _ in 0..5 {
        if cluster.local_events(node).iter().any(|event| event.name == "join") {
            cluster.happen(node, "join");
            cluster.settle();
        }
    }
}

#[test]
fn two_nodes_find_each_other() {
    let cluster = joined(2, &[]);
    assert_eq!((cluster.state(0).right.len(), cluster.state(0).left.len()), (1, 1));
    for property in ["joined", "ring", "leafsets"] {
        assert_eq!(cluster.holds(property), Ok(()), "{property}");
    }
}

#[test]
fn neighbours_are_the_nearest_on_both_sides() {
    let cluster = joined(6, &[("ids", "0,9,5,14,2,11")]);
    assert_eq!(cluster.holds("ring"), Ok(()));
    assert_eq!(Vec::from_iter(cluster.state(0).right.clone()), [4]);
    assert_eq!(Vec::from_iter(cluster.state(0).left.clone()), [3]);
}

/// Row 0 arrives again and again, while the node waits for row 1.
#[test]
fn pastry1_sends_the_first_row_again() {
    for (bug, phase) in [("none", true), ("PASTRY1", false)] {
        let mut cluster = with(3, &[("bug", bug), ("buffer", "1")]);
        for node in [0, 2, 1] {
            join(&mut cluster, node);
        }
        assert_eq!(cluster.state(2).phase, Phase::Joined, "its Join was not passed on");
        assert_eq!(cluster.state(1).phase == Phase::Joined, phase, "{bug}");
    }
}

#[test]
fn pastry2_forgets_whose_connections_break() {
    for bug in ["none", "PASTRY2"] {
        let mut cluster = joined(3, &[("bug", bug), ("cuts", "2")]);
        for node in [2, 1] {
            cluster.happen(node, "cut");
            cluster.settle();
        }
        assert!(cluster.holds("ring").is_err(), "three rings of one node");
        for _ in 0..6 {
            for node in 0..3 {
                if cluster.local_events(node).iter().any(|event| event.name == "maintain") {
                    cluster.happen(node, "maintain");
                    cluster.settle();
                }
            }
        }
        assert_eq!(cluster.holds("leafsets").is_err(), bug == "PASTRY2");
    }
}

/// Node 0 knows the nodes 1 and 11 steps away when the one 5 steps away comes.
#[test]
fn pastry3_keeps_a_neighbour_that_is_too_far() {
    for (bug, right) in [("none", [1, 3]), ("PASTRY3", [1, 2])] {
        let cluster = joined(4, &[("bug", bug), ("half", "2"), ("ids", "0,1,11,5")]);
        assert_eq!(Vec::from_iter(cluster.state(0).right.clone()), right, "{bug}");
        assert_eq!(cluster.holds("leafsets").is_err(), bug == "PASTRY3");
    }
}

/// The last nodes are started again; node 0 hears of it, then node 1 mentions them to it.
fn mentioned(nodes: u32, restarts: &[u32], parameters: &[(&str, &str)]) -> Cluster<Pastry> {
    let count = restarts.len().to_string();
    let mut cluster = joined(nodes, &[&[("half", "2"), ("restarts", count.as_str())], parameters].concat());
    cluster.happen(0, "maintain");
    cluster.deliver_where(|flight| (flight.from, flight.to) == (0, 1));
    for node in restarts {
        cluster.happen(*node, "restart");
        cluster.deliver_where(|flight| (flight.from, flight.to) == (*node, 0));
    }
    cluster.deliver_where(|flight| matches!(flight.message, Message::Leaves(..)));
    cluster.settle();
    for node in restarts {
        join(&mut cluster, *node);
    }
    cluster
}

#[test]
fn pastry4_passes_a_join_to_the_node_that_joins() {
    for bug in ["none", "PASTRY4"] {
        let cluster = mentioned(3, &[2], &[("bug", bug)]);
        assert_eq!(cluster.holds("own-join").is_err(), bug == "PASTRY4");
        assert_eq!(cluster.state(2).phase == Phase::Joined, bug == "none");
    }
}

/// Two nodes have been started again, and each is the nearest to the other that node 0 knows. With the repair of PASTRY4 alone, their
/// Joins are forwarded from one to the other.
#[test]
fn pastry5_passes_joins_between_nodes_that_have_not_joined() {
    for bug in ["none", "PASTRY5"] {
        let cluster = mentioned(4, &[2, 3], &[("bug", bug), ("ids", "0,4,9,12")]);
        assert_eq!(cluster.check(), Ok(()));
        for node in [2, 3] {
            assert_eq!(cluster.state(node).phase == Phase::Joined, bug == "none", "{bug}, node {node}");
        }
    }
}

#[test]
fn mistakes_are_combined_with_commas() {
    assert!(Cluster::<Pastry>::new(3, &[("bug", "PASTRY1,PASTRY4")]).is_ok());
    let refused = Cluster::<Pastry>::new(3, &[("bug", "PASTRY6")]).err().expect("there is no such mistake");
    assert!(refused.to_string().contains("\"PASTRY6\""), "{refused}");
    for (name, value) in [("half", "0"), ("buffer", "0"), ("ids", "1,1,2"), ("ids", "1,2"), ("ids", "1,2,16")] {
        assert!(Cluster::<Pastry>::new(3, &[(name, value)]).is_err(), "{name}={value}");
    }
}
