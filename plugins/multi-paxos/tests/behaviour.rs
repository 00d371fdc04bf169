//! Single executions, with and without the bugs.

use std::collections::BTreeMap;

use guest_sdk::NodeId;
use guest_sdk::test::{Cluster, InFlight};
use multi_paxos::{Message, MultiPaxos, NOTHING};

fn cluster(parameters: &[(&str, &str)]) -> Cluster<MultiPaxos> {
    Cluster::new(3, parameters).expect("the parameters are known")
}

fn is_prepare(message: &Message) -> bool {
    matches!(message, Message::Prepare { .. })
}

fn is_response(message: &Message) -> bool {
    matches!(message, Message::PrepareResponse { .. })
}

fn is_accept(message: &Message) -> bool {
    matches!(message, Message::Accept { .. })
}

fn is_learn(message: &Message) -> bool {
    matches!(message, Message::Learn { .. })
}

/// One round among two nodes; the first proposes and is the only one that learns.
fn round(cluster: &mut Cluster<MultiPaxos>, nodes: [NodeId; 2]) {
    let [proposer, _] = nodes;
    cluster.happen(proposer, "command");
    for node in nodes {
        cluster.deliver_to(node, is_prepare);
    }
    for _ in nodes {
        cluster.deliver_to(proposer, is_response);
    }
    for node in nodes {
        cluster.deliver_to(node, is_accept);
    }
    for _ in nodes {
        cluster.deliver_to(proposer, is_learn);
    }
    cluster.lose_all();
}

fn log(cluster: &Cluster<MultiPaxos>, node: NodeId) -> BTreeMap<u32, u32> {
    cluster.state(node).learner.chosen.clone()
}

#[test]
fn every_node_learns_the_only_command() {
    let mut cluster = cluster(&[]);
    cluster.happen(0, "command");
    // 3 each of Prepare, PrepareResponse and Accept, 9 Learn.
    assert_eq!(cluster.settle(), 18);
    assert_eq!([0, 1, 2].map(|node| log(&cluster, node)), [(); 3].map(|()| BTreeMap::from([(0, 100)])));
}

/// Thesis, section 5.1: (A - 1)(A + 1) = 8 messages between three nodes, 3(A - 1) = 6 of them from or to the leader.
#[test]
fn a_leader_needs_eight_messages_for_a_command() {
    let mut cluster = cluster(&[("commands", "2")]);
    cluster.happen(0, "command");
    cluster.settle();
    cluster.happen(0, "command");
    let (mut between_nodes, mut of_the_leader) = (0, 0);
    while let Some(InFlight { from, to, .. }) = cluster.in_flight().first() {
        between_nodes += u32::from(from != to);
        of_the_leader += u32::from(from != to && [*from, *to].contains(&0));
        cluster.deliver(0);
    }
    assert_eq!((between_nodes, of_the_leader), (8, 6));
    assert_eq!(log(&cluster, 2), BTreeMap::from([(0, 100), (1, 101)]));
}

#[test]
fn a_later_leader_takes_over_what_may_be_chosen_and_appends_its_own() {
    let mut cluster = cluster(&[]);
    round(&mut cluster, [0, 1]);
    cluster.happen(1, "command");
    cluster.settle();
    assert_eq!([0, 1, 2].map(|node| log(&cluster, node)), [(); 3].map(|()| BTreeMap::from([(0, 100), (1, 200)])));
    assert_eq!(cluster.check(), Ok(()));
}

#[test]
fn a_retry_has_a_higher_ballot_and_the_same_command() {
    let mut cluster = cluster(&[("ballots", "2")]);
    cluster.happen(0, "command");
    cluster.lose_all();
    cluster.happen(0, "retry");
    assert_eq!(cluster.in_flight()[0].message, Message::Prepare { ballot: 4, first: 0 });
    cluster.settle();
    assert_eq!(log(&cluster, 2), BTreeMap::from([(0, 100)]));
    assert!(cluster.local_events(0).is_empty(), "nothing is left to do");
}

#[test]
fn a_leader_that_knows_of_a_higher_ballot_asks_again() {
    let mut cluster = cluster(&[("commands", "2"), ("ballots", "2")]);
    cluster.happen(0, "command");
    cluster.settle();
    cluster.happen(1, "command");
    cluster.deliver_to(0, is_prepare);
    cluster.happen(0, "command");
    // Node 1 has ballot 2; the next one of node 0 is 4.
    assert!(cluster.in_flight().iter().any(|flight| flight.message == Message::Prepare { ballot: 4, first: 1 }));
}

#[test]
fn a_gap_is_filled_with_nothing() {
    let mut cluster = cluster(&[("commands", "3")]);
    cluster.happen(0, "command");
    for node in [0, 1] {
        cluster.deliver_to(node, is_prepare);
    }
    for _ in [0, 1] {
        cluster.deliver_to(0, is_response);
    }
    cluster.happen(0, "command");
    cluster.happen(0, "command");
    // Node 1 hears only of the last of three commands, and has one of its own.
    cluster.deliver_to(1, |message| matches!(message, Message::Accept { index: 2, .. }));
    cluster.lose_all();
    cluster.happen(1, "command");
    for node in [1, 2] {
        cluster.deliver_to(node, is_prepare);
    }
    for _ in [1, 2] {
        cluster.deliver_to(1, is_response);
    }
    cluster.settle();
    assert_eq!(log(&cluster, 2), BTreeMap::from([(0, 200), (1, NOTHING), (2, 102)]));
}

/// Figure 3.8 of the thesis; in each of its first two rounds one node is cut off.
#[test]
fn the_last_response_breaks_agreement_after_the_rounds_of_figure_3_8() {
    let rounds = |bug: &str| {
        let mut cluster = cluster(&[("bug", bug)]);
        round(&mut cluster, [0, 1]);
        round(&mut cluster, [1, 2]);
        (log(&cluster, 0), log(&cluster, 1), cluster.check())
    };
    // The response of node 2, which knows of nothing, comes last.
    let (first, second, verdict) = rounds("last-response");
    assert_eq!((first, second), (BTreeMap::from([(0, 100)]), BTreeMap::from([(0, 200)])));
    assert_eq!(verdict, Err("agreement: for index 0 node 0 has chosen 100, node 1 has chosen 200".to_owned()));
    assert_eq!(rounds("none").2, Ok(()));
}

/// Figure 3.9: the same with a reset of the second node in between.
#[test]
fn an_acceptor_that_forgets_breaks_agreement_after_the_rounds_of_figure_3_9() {
    let rounds = |bug: &str| {
        let mut cluster = cluster(&[("bug", bug)]);
        round(&mut cluster, [0, 1]);
        cluster.reset(1);
        round(&mut cluster, [1, 2]);
        (log(&cluster, 0), log(&cluster, 1), cluster.check())
    };
    let (first, second, verdict) = rounds("forget-accepted");
    assert_eq!((first, second), (BTreeMap::from([(0, 100)]), BTreeMap::from([(0, 200)])));
    assert_eq!(verdict, Err("agreement: for index 0 node 0 has chosen 100, node 1 has chosen 200".to_owned()));
    assert_eq!(rounds("none").2, Ok(()));
}

#[test]
fn a_ballot_and_a_command_are_used_once_even_over_a_reset() {
    let mut cluster = cluster(&[]);
    cluster.happen(0, "command");
    cluster.reset(0);
    assert!(cluster.local_events(0).is_empty());
    let used = cluster.state(0).proposer.used;
    assert_eq!((used.ballot, used.ballots, used.commands), (1, 1, 1));
}

#[test]
fn what_no_client_asked_for_is_trivial() {
    assert_eq!(NOTHING, 0, "and so no command, which are numbered from 100 on");
    assert_eq!([multi_paxos::command_of(0, 1), multi_paxos::command_of(2, 2)], [100, 301]);
}

#[test]
fn more_proposers_than_nodes_are_refused() {
    let refused = Cluster::<MultiPaxos>::new(3, &[("proposers", "4")]).err().expect("there are three nodes");
    assert_eq!(refused.to_string(), r#"parameter proposers cannot be "4": there are only 3 nodes"#);
}

/// Node 1 overtakes node 0. With a second ballot node 0 has an attempt left; without, it gives up.
#[test]
fn a_client_is_owed_its_command_while_there_are_ballots() {
    for (ballots, is_owed) in [("1", false), ("2", true)] {
        let mut cluster = cluster(&[("ballots", ballots)]);
        assert_eq!(cluster.holds("served"), Ok(()));
        cluster.happen(0, "command");
        assert_eq!(cluster.holds("served"), Err("node 0: the client waits for command 100 to be chosen".to_owned()));
        cluster.happen(1, "command");
        (0..3)
            .for_each(|node| cluster.deliver_to(node, |message| matches!(message, Message::Prepare { ballot: 2, .. })));
        cluster.settle();
        assert_eq!(cluster.holds("served").is_err(), is_owed, "{ballots}");
        if is_owed {
            cluster.happen(0, "retry");
            cluster.settle();
            assert_eq!(cluster.holds("served"), Ok(()));
        }
    }
}

/// The proposer begins again after node 0 has voted and before node 1 has: the vote for the first ballot is the only one there is.
#[test]
fn a_learner_that_sticks_to_the_first_vote_learns_nothing() {
    for (bug, served) in [("none", true), ("first-vote", false)] {
        let mut cluster = Cluster::<MultiPaxos>::new(2, &[("proposers", "1"), ("ballots", "2"), ("bug", bug)])
            .expect("the parameters are known");
        cluster.happen(0, "command");
        for node in [0, 1] {
            cluster.deliver_to(node, is_prepare);
            cluster.deliver_to(0, is_response);
        }
        cluster.deliver_to(0, is_accept);
        cluster.deliver_to(0, is_learn);
        cluster.happen(0, "retry");
        cluster.deliver_to(1, is_prepare);
        cluster.settle();
        assert_eq!(cluster.holds("served").is_ok(), served, "{bug}");
    }
}

#[test]
fn a_client_that_was_reset_does_not_wait() {
    let mut cluster = cluster(&[]);
    cluster.happen(0, "command");
    cluster.reset(0);
    assert_eq!(cluster.holds("served"), Ok(()));
}
