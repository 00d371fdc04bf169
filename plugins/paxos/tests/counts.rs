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
/// messages. The other messages stay in flight.
#[test]
fn one_proposal_by_quorums() {
    let found = explore(&[("quorum", "on")]);
    assert_eq!((found.global_states, found.transitions, found.system_states), (804, 2_131, 78));
    // One proposal, 3 each of Prepare and Accept, one event for the promises, one for the votes of each node.
    assert_eq!((found.depth, found.broken), (1 + 3 + 1 + 3 + 3, None));
}

/// Two nodes: both must accept, and each can be reset, which loses the responses and votes that it has counted. A state here includes
/// the resets that are left; the scenario `resets.toml` compares the counts with those of the host.
#[test]
fn one_proposal_among_two_nodes_that_can_be_reset() {
    let cluster = Cluster::<Paxos>::new(2, &[]).expect("the parameters are known").with_resets(1);
    let found = cluster.explore(100_000);
    assert_eq!(found.broken, None);
    assert_eq!((found.global_states, found.transitions, found.system_states), (118, 239, 81));
}

#[test]
fn one_proposal_among_three_nodes_that_start_by_an_event() {
    let found = explore(&[("init", "event")]);
    assert_eq!((found.global_states, found.transitions, found.system_states), (15_648, 73_933, 1_069));
    assert_eq!(found.local_states, [25, 17, 17]);
    // 22 events, the paper's depth, are the longest way: as above, and one `init` a node. The furthest state is
    // nearer by one, since a node that loses Prepare ends in the same state without its response.
    assert_eq!(found.depth, 21);
    assert_eq!(found.broken, None);
}

/// The model of MP-Basset with proposers, acceptors and learners on different nodes.
fn separate(nodes: u32, parameters: &[(&str, &str)]) -> Explored {
    let parameters: Vec<_> = [("model", "mp-basset")].iter().chain(parameters).copied().collect();
    let found = Cluster::<Paxos>::new(nodes, &parameters).expect("the parameters are known").explore(100_000);
    assert_eq!(found.broken, None);
    found
}

/// One proposer, three acceptors; message by message, and by quorums. The counts are those of an enumeration of the same model
/// in another language, written from the tables in the README.
#[test]
fn one_proposal_among_nodes_of_one_role() {
    let found = separate(5, &[]);
    assert_eq!((found.global_states, found.transitions), (210, 589));
    // The proposer: ready, no or one promise, done. Acceptors: fresh, promised, accepted. The learner: up to three votes.
    assert_eq!(found.local_states, [4, 3, 3, 3, 4]);
    // One proposal, 3 each of Prepare, Accept and Learn, and two promises: the furthest state is nearer by one if an acceptor
    // hears Prepare last, and does not answer.
    assert_eq!(found.depth, 1 + 3 * 3 + 2);
    let found = separate(5, &[("quorum", "on")]);
    assert_eq!((found.global_states, found.transitions), (106, 205));
    // One event each for the promises and the votes.
    assert_eq!(found.depth, 1 + 3 + 1 + 3 + 1);

    let three_learners = [("learners", "3")];
    let found = separate(7, &three_learners);
    assert_eq!((found.global_states, found.transitions), (5_124, 26_536));
    let found = separate(7, &[three_learners[0], ("quorum", "on")]);
    assert_eq!((found.global_states, found.transitions), (652, 1_783));
}

/// Two proposers, by quorums: by the same enumeration.
#[test]
fn two_proposals_among_nodes_of_one_role() {
    let found = separate(6, &[("proposers", "2"), ("quorum", "on")]);
    assert_eq!((found.global_states, found.transitions), (27_410, 94_055));
}

#[test]
fn nodes_of_one_role_include_an_acceptor() {
    let refused = Cluster::<Paxos>::new(3, &[("model", "mp-basset"), ("learners", "2")]).err().expect("none is left");
    let why = "a cluster of 3 does not fit: besides proposers and learners (1 and 2) there must be an acceptor";
    assert_eq!(refused.to_string(), why);
}
