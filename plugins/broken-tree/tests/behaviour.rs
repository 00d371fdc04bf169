//! Single executions, and small counts.

use broken_tree::BrokenTree;
use guest_sdk::test::Cluster;

fn tree(nodes: u32, parameters: &[(&str, &str)]) -> Cluster<BrokenTree> {
    let mut cluster = Cluster::new(nodes, parameters).expect("the parameters fit");
    assert!(cluster.holds("spanning-tree").is_err());
    cluster.settle();
    cluster
}

/// On a network without order, in the order of their first visit: Join in flight; JoinReply in flight; joined; JoinReply and the question
/// in flight; joined and the question in flight; the question was first, which is ignored, and JoinReply is in flight; Done in flight;
/// joined and the root waits for ever. 1, 2, 1, 2, 1, 1, 1 and 0 events are possible in these states.
#[test]
fn two_nodes_have_eight_states() {
    let found = Cluster::<BrokenTree>::new(2, &[]).expect("two nodes fit").explore(100);
    assert_eq!((found.global_states, found.transitions, found.broken), (8, 9, None));
    assert_eq!(found.terminal_states, 1);
}

#[test]
fn one_node_moves_and_tells_its_old_parent() {
    let mut cluster = tree(3, &[]);
    assert_eq!((cluster.state(1).parent, cluster.state(2).parent), (Some(0), Some(0)));
    // The root asks its first child, which moves to its first sibling.
    cluster.answer(&[0, 0]);
    cluster.happen(0, "reorganize");
    assert!(cluster.local_events(0).is_empty(), "no other node moves");
    cluster.settle();
    assert_eq!((cluster.state(1).parent, cluster.state(2).children.len()), (Some(2), 1));
    assert_eq!(cluster.holds("spanning-tree"), Ok(()));
    assert_eq!(cluster.local_events(0).len(), 1, "it is over");
}

#[test]
fn a_full_node_passes_the_joiner_on() {
    let cluster = tree(4, &[("degree", "1")]);
    assert_eq!(cluster.holds("spanning-tree"), Ok(()));
    assert!((0..4).all(|node| cluster.state(node).children.len() <= 1));
}

#[test]
fn two_nodes_that_move_together_make_a_loop() {
    let mut cluster = tree(3, &[("bug", "move-together")]);
    cluster.answer(&[0, 0]);
    cluster.happen(0, "reorganize");
    cluster.settle();
    assert!(cluster.check().is_err());
}

#[test]
fn a_node_that_joins_itself_is_a_root() {
    let cluster = tree(3, &[("bug", "self-join")]);
    assert_eq!((cluster.state(1).parent, cluster.state(2).parent), (Some(1), Some(2)));
    assert_eq!(cluster.holds("spanning-tree"), Err("there are 3 roots".to_owned()));
}
