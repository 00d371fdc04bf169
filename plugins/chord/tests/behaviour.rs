//! Single executions, and a violation of each property.

use chord::{Chord, Phase};
use guest_sdk::test::Cluster;

const PROMISES: [&str; 5] = ["joined", "predecessors", "reflexive", "ring", "reachable"];

fn with(nodes: u32, parameters: &[(&str, &str)]) -> Cluster<Chord> {
    Cluster::new(nodes, parameters).expect("the parameters fit")
}

/// All nodes join one after the other, and nothing else happens.
fn joined(nodes: u32, parameters: &[(&str, &str)]) -> Cluster<Chord> {
    let mut cluster = with(nodes, parameters);
    for node in 0..nodes {
        cluster.happen(node, "join");
        cluster.settle();
    }
    cluster
}

fn stabilize(cluster: &mut Cluster<Chord>) {
    for node in 0..cluster.nodes() {
        cluster.happen(node, "stabilize");
        cluster.settle();
    }
}

/// A node that receives a question before it has joined answers afterwards.
#[test]
fn two_nodes_know_each_other_at_once() {
    let mut cluster = with(2, &[]);
    cluster.happen(1, "join");
    cluster.settle();
    assert_eq!(cluster.state(0).waiting, [1]);
    cluster.happen(0, "join");
    cluster.settle();
    assert_eq!((cluster.state(0).predecessor, cluster.state(0).successor()), (Some(1), 1));
    assert!(PROMISES.iter().all(|promise| cluster.holds(promise).is_ok()));
}

#[test]
fn stabilization_closes_the_ring() {
    let mut cluster = joined(4, &[]);
    assert_eq!(cluster.holds("joined"), Ok(()));
    assert!(cluster.holds("reflexive").is_err(), "nodes 0 to 2 do not know those that came later");
    (0..4).for_each(|_| stabilize(&mut cluster));
    for promise in PROMISES {
        assert_eq!(cluster.holds(promise), Ok(()), "{promise}");
    }
    let successors: Vec<_> = (0..4).map(|node| cluster.state(node).successors.clone()).collect();
    assert_eq!(successors, [[1, 2], [2, 3], [3, 0], [0, 1]]);
}

#[test]
fn the_neighbours_of_a_node_are_before_and_behind_it() {
    let mut cluster = with(5, &[]);
    assert_eq!([0, 3].map(|node| cluster.neighbours(node)), [Some(vec![0]), Some(vec![0])], "the contact");
    cluster.happen(3, "join");
    cluster.settle();
    assert_eq!(cluster.neighbours(0), Some(vec![0, 3]), "node 3 waits for it");
    let mut cluster = joined(5, &[]);
    (0..5).for_each(|_| stabilize(&mut cluster));
    assert_eq!([0, 3].map(|node| cluster.neighbours(node)), [Some(vec![1, 2, 4]), Some(vec![0, 2, 4])]);
}

#[test]
fn each_promise_can_be_open() {
    let cluster = with(3, &[]);
    assert!(PROMISES.iter().all(|promise| cluster.holds(promise).is_err()));
    let mut cluster = joined(3, &[]);
    (0..3).for_each(|_| stabilize(&mut cluster));
    cluster.transport_error(1, 2);
    for (promise, holds) in PROMISES.into_iter().zip([true, true, false, false, false]) {
        assert_eq!(cluster.holds(promise).is_ok(), holds, "{promise}");
    }
    cluster.transport_error(1, 0);
    assert_eq!(cluster.state(1).phase, Phase::Joining { is_open: true }, "it knows no other node any more");
    assert!(cluster.holds("joined").is_err());
}

#[test]
fn requests_wait_until_the_contact_has_joined() {
    for (bug, waiting, holds) in [("none", 1, true), ("unbounded-queue", 3, false)] {
        let mut cluster = with(2, &[("bug", bug), ("early", "2")]);
        cluster.happen(1, "join");
        cluster.happen(1, "retry");
        cluster.happen(1, "retry");
        cluster.settle();
        assert_eq!(cluster.state(0).waiting.len(), waiting, "{bug}");
        assert_eq!(cluster.check().is_ok(), holds, "{bug}");
        cluster.happen(0, "join");
        cluster.settle();
        assert_eq!(cluster.state(1).phase, Phase::Joined);
    }
}

#[test]
fn a_request_goes_round_to_the_node_before() {
    let mut cluster = with(4, &[("successors", "1")]);
    for node in [0, 1, 2] {
        cluster.happen(node, "join");
        cluster.settle();
    }
    (0..3).for_each(|_| {
        for node in 0..3 {
            cluster.happen(node, "stabilize");
            cluster.settle();
        }
    });
    cluster.happen(3, "join");
    // From the contact to nodes 1 and 2, the answer, and the word to the contact.
    assert_eq!(cluster.settle(), 5);
    assert_eq!((cluster.state(3).predecessor, cluster.state(3).successor()), (Some(2), 0));
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    assert!(Cluster::<Chord>::new(4, &[("identifiers", "3")]).is_err());
    assert!(Cluster::<Chord>::new(4, &[("successors", "0")]).is_err());
}
