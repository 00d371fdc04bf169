//! Single executions, with and without the bugs.

use guest_sdk::NodeId;
use guest_sdk::test::Cluster;
use paxos::{Message, Paxos, Proposal, Proposer, State};

fn cluster(parameters: &[(&str, &str)]) -> Cluster<Paxos> {
    Cluster::new(3, parameters).expect("the parameters are known")
}

fn is_prepare(message: &Message) -> bool {
    matches!(message, Message::Prepare { .. })
}

fn is_response(message: &Message) -> bool {
    matches!(message, Message::PrepareResponse { .. })
}

fn is_accept(message: &Message) -> bool {
    matches!(message, Message::Accept(_))
}

fn is_learn(message: &Message) -> bool {
    matches!(message, Message::Learn(_))
}

fn chosen(cluster: &Cluster<Paxos>, node: NodeId) -> Vec<u32> {
    match cluster.state(node) {
        State::Running(roles) => roles.learner.chosen.iter().copied().collect(),
        State::Uninitialised(_) => Vec::new(),
    }
}

/// The live state of the NSDI 2011 paper, section 5.5: the first node proposed, it and the second accepted, and only the first
/// learned so.
fn live_state(parameters: &[(&str, &str)]) -> Cluster<Paxos> {
    let mut cluster = cluster(parameters);
    cluster.happen(0, "propose");
    for node in [0, 1] {
        cluster.deliver_to(node, is_prepare);
        cluster.deliver_to(0, is_response);
    }
    for node in [0, 1] {
        cluster.deliver_to(node, is_accept);
        cluster.deliver_to(0, is_learn);
    }
    cluster.lose_all();
    assert_eq!([0, 1, 2].map(|node| chosen(&cluster, node)), [vec![100], vec![], vec![]]);
    cluster
}

#[test]
fn every_node_learns_the_only_proposal() {
    let mut cluster = cluster(&[]);
    assert_eq!(cluster.holds("chosen"), Err("of no node".to_owned()));
    cluster.happen(0, "propose");
    assert_eq!(cluster.settle(), 18);
    assert_eq!(cluster.holds("chosen"), Ok(()));
    assert_eq!([0, 1, 2].map(|node| chosen(&cluster, node)), [[100], [100], [100]]);
}

#[test]
fn a_later_proposer_takes_over_what_may_be_chosen() {
    let mut cluster = live_state(&[("proposers", "2")]);
    cluster.happen(1, "propose");
    cluster.settle();
    assert_eq!([0, 1, 2].map(|node| chosen(&cluster, node)), [[100], [100], [100]]);
    assert_eq!(cluster.check(), Ok(()));
}

#[test]
fn the_last_response_is_nine_events_from_a_violation() {
    let found = live_state(&[("proposers", "2"), ("bug", "last-response")]).explore(100_000);
    // The proposal; Prepare and its response at two nodes; Accept at both; their two Learn at a node.
    assert_eq!(found.depth, 1 + 2 * 2 + 2 + 2);
    assert_eq!(found.broken.as_deref(), Some("agreement: node 0 has chosen 100, node 0 has chosen 101"));
    let right = live_state(&[("proposers", "2")]).explore(100_000);
    assert_eq!(right.broken, None);
}

/// The second node accepted for the first, is reset, and promises the third a ballot without knowing of its vote.
fn reset_between(parameters: &[(&str, &str)]) -> Cluster<Paxos> {
    let mut cluster = live_state(parameters);
    cluster.reset(1);
    cluster.happen(2, "propose");
    for node in [1, 2] {
        cluster.deliver_to(node, is_prepare);
        cluster.deliver_to(2, is_response);
    }
    for node in [1, 2] {
        cluster.deliver_to(node, is_accept);
        cluster.deliver_to(2, is_learn);
    }
    cluster
}

#[test]
fn what_was_accepted_survives_a_reset() {
    let cluster = reset_between(&[("proposers", "3")]);
    assert_eq!([chosen(&cluster, 0), chosen(&cluster, 2)], [[100], [100]]);
}

#[test]
fn an_acceptor_that_forgets_breaks_agreement() {
    let cluster = reset_between(&[("proposers", "3"), ("bug", "forget-accepted")]);
    assert_eq!([chosen(&cluster, 0), chosen(&cluster, 2)], [[100], [102]]);
    assert_eq!(cluster.check(), Err("agreement: node 0 has chosen 100, node 2 has chosen 102".to_owned()));
}

#[test]
fn a_ballot_is_used_once_even_over_a_reset() {
    let mut cluster = cluster(&[]);
    cluster.happen(0, "propose");
    cluster.reset(0);
    assert!(cluster.local_events(0).is_empty());
}

#[test]
fn a_node_that_is_not_alive_loses_messages() {
    let mut cluster = cluster(&[("init", "event")]);
    cluster.happen(0, "init");
    cluster.happen(0, "propose");
    assert_eq!(cluster.settle(), 4);
    let State::Running(roles) = cluster.state(0) else { panic!("node 0 is alive") };
    assert!(matches!(&roles.proposer, Proposer::Collecting { responders, .. } if responders.len() == 1));
    assert!(matches!(cluster.state(1), State::Uninitialised(_)));
}

#[test]
fn old_ballots_are_ignored() {
    let mut cluster = cluster(&[("proposers", "2")]);
    cluster.happen(1, "propose");
    cluster.deliver_to(2, is_prepare);
    cluster.happen(0, "propose");
    let before = cluster.state(2).clone();
    cluster.deliver_to(2, |message| *message == Message::Prepare { ballot: 1 });
    assert_eq!(cluster.state(2), &before);
    assert!(cluster.in_flight().iter().all(|flight| flight.to != 0 || !is_response(&flight.message)));
}

#[test]
fn the_highest_ballot_counts() {
    let [low, high] = [Proposal { ballot: 1, value: 9 }, Proposal { ballot: 2, value: 3 }];
    assert!(high > low, "proposals are ordered by ballot first");
}

#[test]
fn more_proposers_than_nodes_are_refused() {
    let refused = Cluster::<Paxos>::new(3, &[("proposers", "4")]).err().expect("there are three nodes");
    assert_eq!(refused.to_string(), r#"parameter proposers cannot be "4": there are only 3 nodes"#);
}

#[test]
fn who_knows_of_a_ballot_is_owed_a_decision() {
    let owed = Err("node 0: the node knows of a ballot, and has not learned that a value is chosen".to_owned());
    for (bug, decided) in [("none", Ok(())), ("strict-accept", owed.clone())] {
        let mut cluster = cluster(&[("bug", bug)]);
        assert_eq!(cluster.holds("decided"), Ok(()));
        cluster.happen(0, "propose");
        assert_eq!(cluster.holds("decided"), owed);
        cluster.settle();
        assert_eq!(cluster.holds("decided"), decided, "{bug}");
    }
}
