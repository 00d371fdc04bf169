//! The number of global states, by an enumeration that shares no code with the host.

use guest_sdk::test::{Cluster, Explored};
use multi_paxos::MultiPaxos;

fn explore(nodes: u32, parameters: &[(&str, &str)], resets: u32) -> Explored {
    let cluster = Cluster::<MultiPaxos>::new(nodes, parameters).expect("the parameters are known");
    cluster.with_resets(resets).explore(100_000)
}

/// One command by one ballot is single-decree Paxos: the counts are those of `plugins/paxos`, which were derived elsewhere.
/// System states are fewer, since a learner drops its votes when it knows the choice.
#[test]
fn one_command_is_single_decree_paxos() {
    let found = explore(3, &[("proposers", "1")], 0);
    assert_eq!(found.broken, None);
    assert_eq!((found.global_states, found.transitions), (7_068, 37_012));
    // Nodes 1 and 2: fresh or promised with no vote, one of the two other votes, or both, which is a choice: 4 + 4;
    // accepted with no vote, one of three, or a choice: 5. Node 0, by stage as proposer, where there are votes only after
    // the last: ready 1, no response 2, one response 1 + 2 + 2 (its own needs its promise), leading 4 + 4 + 5.
    assert_eq!(found.local_states, [1 + 2 + 5 + 13, 13, 13]);
    assert_eq!(found.depth, 1 + 3 * 3 + 9);
}

/// Two nodes: both must accept, and each can be reset. The scenario `resets.toml` compares the counts with
/// those of the host.
#[test]
fn one_command_of_two_nodes_that_can_be_reset() {
    let found = explore(2, &[("proposers", "1")], 1);
    assert_eq!(found.broken, None);
    assert_eq!((found.global_states, found.transitions, found.system_states), (167, 355, 94));
}

/// Two nodes, and a second ballot for the same command; `retry.toml` compares.
#[test]
fn a_retry_of_two_nodes() {
    let found = explore(2, &[("proposers", "1"), ("ballots", "2")], 0);
    assert_eq!(found.broken, None);
    assert_eq!((found.global_states, found.transitions, found.system_states), (1_445, 5_106, 496));
}
