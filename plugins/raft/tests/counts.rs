//! The number of global states, by an enumeration that shares no code with the host.

use guest_sdk::test::{Cluster, Explored};
use raft::Raft;

fn explore(nodes: u32, parameters: &[(&str, &str)], resets: u32) -> Explored {
    let cluster = Cluster::<Raft>::new(nodes, parameters).expect("the parameters are known").with_resets(resets);
    let found = cluster.explore(100_000);
    assert_eq!(found.broken, None);
    found
}

fn counts(found: &Explored) -> (usize, usize, usize) {
    (found.global_states, found.transitions, found.system_states)
}

/// By hand, two nodes and one term without commands. At the start either node can stand: 1 state, 2 edges. If only one does,
/// its request, the vote, its Append and the answer are in flight one after the other, then nothing: 5 states with 4 edges,
/// and one more to where the other stands as well, before it has the request. If both stand, each request is in flight, or
/// refused, or the refusal has arrived: 3 * 3 states, 2 * 3 * 2 edges. System states: the start; for either node a candidate,
/// with its vote, a leader; both candidates.
#[test]
fn two_nodes_in_one_term() {
    let found = explore(2, &[("terms", "1"), ("commands", "0")], 0);
    assert_eq!(found.global_states, 1 + 2 * 5 + 3 * 3);
    assert_eq!(found.transitions, 2 + 2 * (4 + 1) + 2 * 3 * 2);
    assert_eq!(found.system_states, 1 + 2 * 3 + 1);
}

/// With a reset of each node; the scenario `resets-of-two.toml` compares the counts with those of the host.
#[test]
fn two_nodes_that_can_be_reset() {
    assert_eq!(counts(&explore(2, &[("terms", "1")], 1)), (147, 308, 33));
}

/// The scenario `one-term.toml` compares the counts with those of the host.
#[test]
fn three_nodes_in_one_term() {
    assert_eq!(counts(&explore(3, &[("terms", "1")], 0)), (83_632, 428_025, 398));
}
