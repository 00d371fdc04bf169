//! The number of global states, by an enumeration that shares no code with the host.

use guest_sdk::test::Cluster;
use raft_compaction::RaftCompaction;

fn counts(nodes: u32, parameters: &[(&str, &str)], resets: u32) -> (usize, usize, usize) {
    let cluster =
        Cluster::<RaftCompaction>::new(nodes, parameters).expect("the parameters are known").with_resets(resets);
    let found = cluster.explore(100_000);
    assert_eq!(found.broken, None);
    (found.global_states, found.transitions, found.system_states)
}

/// The scenario `one-term.toml` compares the counts with those of the host.
#[test]
fn three_nodes_in_one_term() {
    assert_eq!(counts(3, &[("terms", "1"), ("heartbeats", "0")], 0), (13_285, 46_869, 923));
}

/// The scenario `two-terms-of-two.toml` compares the counts with those of the host.
#[test]
fn two_nodes_in_two_terms() {
    assert_eq!(counts(2, &[], 0), (32_035, 104_026, 1_107));
}

/// The scenario `resets-of-two.toml` compares the counts with those of the host.
#[test]
fn two_nodes_that_can_be_reset() {
    assert_eq!(counts(2, &[("terms", "1")], 1), (631, 1_386, 151));
}
