//! The number of global states, by an enumeration that shares no code with the host.
//!
//! The expected counts were derived independently of this implementation: an enumeration of the same model written from
//! the description in the README, which also gives the depths 22 and 25 of the NSDI 2011 paper.

use guest_sdk::test::{Cluster, Explored};
use paxos::Paxos;

fn explore(parameters: &[(&str, &str)]) -> Explored {
    Cluster::<Paxos>::new(3, parameters).expect("the parameters are known").explore(100_000)
}

#[test]
fn one_proposal_among_three_running_nodes() {
    let found = explore(&[]);
    assert_eq!((found.global_states, found.transitions, found.system_states), (7_068, 37_012, 993));
    // Nodes 1 and 2: fresh or promised with any of the two other votes, accepted with any of three: 4 + 4 + 8. Node 0, by
    // stage as proposer: ready 1, no response 2, one response 1 + 2 + 2 (its own needs its promise), done 16.
    assert_eq!(found.local_states, [24, 16, 16]);
    // One proposal, 3 each of Prepare, PrepareResponse and Accept, 9 Learn.
    assert_eq!(found.depth, 1 + 3 * 3 + 9);
    assert_eq!(found.broken, None);
}

/// A proposer takes two responses at once, and a learner two votes: the same enumeration with sets in place of single
/// messages. What is left over stays in flight.
#[test]
fn one_proposal_by_quorums() {
    let found = explore(&[("quorum", "on")]);
    assert_eq!((found.global_states, found.transitions, found.system_states), (804, 2_131, 78));
    // One proposal, 3 each of Prepare and Accept, one event for the promises, one for the votes of each node.
    assert_eq!((found.depth, found.broken), (1 + 3 + 1 + 3 + 3, None));
}

/// With two nodes, both of which must accept, and a reset of each: what is lost is who has responded and voted. A state here
/// has the resets that are left; the scenario `resets.toml` compares the counts with those of the host.
#[test]
fn one_proposal_among_two_nodes_that_can_be_reset() {
    let cluster = Cluster::<Paxos>::new(2, &[]).expect("the parameters are known").with_resets(1);
    let found = cluster.explore(100_000);
    assert_eq!(found.broken, None);
    assert_eq!((found.global_states, found.transitions, found.system_states), (118, 239, 81));
}

#[test]
fn one_proposal_among_three_nodes_that_come_to_life_by_an_event() {
    let found = explore(&[("init", "event")]);
    assert_eq!((found.global_states, found.transitions, found.system_states), (15_648, 73_933, 1_069));
    assert_eq!(found.local_states, [25, 17, 17]);
    // 22 events, the paper's depth, are the longest way: as above, and one `init` a node. The furthest state is
    // nearer by one, since a node that loses Prepare ends in the same state without its response.
    assert_eq!(found.depth, 21);
    assert_eq!(found.broken, None);
}
