//! Single executions, with and without the mistakes.

use guest_sdk::NodeId;
use guest_sdk::test::{Cluster, InFlight};
use one_acceptor::{Change, Message, OneAcceptor};

/// A cluster in which any node may suspect the leader.
fn cluster(parameters: &[(&str, &str)]) -> Cluster<OneAcceptor> {
    let parameters: Vec<_> = [("rival", "any")].iter().chain(parameters).copied().collect();
    Cluster::new(3, &parameters).expect("the parameters are known")
}

fn is_learn(message: &Message) -> bool {
    matches!(message, Message::Learn { .. })
}

fn chosen(cluster: &Cluster<OneAcceptor>, index: u32) -> [Option<u32>; 3] {
    [0, 1, 2].map(|node| cluster.state(node).learner.chosen.get(&index).copied())
}

/// Counts the messages between nodes until none is in flight: all, and those from or to a node.
fn settle_and_count(cluster: &mut Cluster<OneAcceptor>, leader: NodeId) -> (u32, u32) {
    let (mut between_nodes, mut of_the_leader) = (0, 0);
    while let Some(InFlight { from, to, .. }) = cluster.in_flight().first() {
        between_nodes += u32::from(from != to);
        of_the_leader += u32::from(from != to && [*from, *to].contains(&leader));
        cluster.deliver(0);
    }
    (between_nodes, of_the_leader)
}

/// The leader asks the acceptor, the acceptor tells the two others (and itself, which is no message between nodes).
#[test]
fn a_leader_needs_three_messages_for_a_command() {
    let mut cluster = cluster(&[]);
    cluster.happen(0, "command");
    assert_eq!(settle_and_count(&mut cluster, 0), (1 + 2, 1 + 1));
    assert_eq!(chosen(&cluster, 0), [Some(100); 3]);
}

#[test]
fn another_leader_proposes_what_the_acceptor_has_accepted() {
    let mut cluster = cluster(&[]);
    cluster.happen(0, "command");
    cluster.deliver_to(1, |message| matches!(message, Message::AcceptRequest { .. }));
    cluster.lose_all();
    cluster.happen(2, "leader-failure");
    cluster.settle();
    assert_eq!(chosen(&cluster, 0), [Some(100); 3]);
    assert_eq!(cluster.holds("leader-replaced"), Ok(()));
    assert_eq!(cluster.check(), Ok(()));
}

#[test]
fn the_acceptor_cannot_lead() {
    let mut cluster = cluster(&[]);
    assert!(cluster.local_events(1).is_empty());
    cluster.happen(0, "acceptor-failure");
    cluster.settle();
    assert!(cluster.local_events(2).is_empty());
    assert_eq!(cluster.local_events(1)[0].name, "leader-failure");
}

#[test]
fn another_acceptor_gets_what_was_proposed() {
    let mut cluster = cluster(&[]);
    cluster.happen(0, "command");
    cluster.lose_all();
    cluster.happen(0, "acceptor-failure");
    cluster.settle();
    let entry = cluster.state(1).utility.entries().last().cloned().expect("there are two from the start");
    let announced = Change::Acceptor { acceptor: 2, proposals: [(0, 100)].into() };
    assert_eq!((entry.by, entry.change), (0, announced));
    assert_eq!(chosen(&cluster, 0), [Some(100); 3]);
    assert_eq!(cluster.holds("acceptor-replaced"), Ok(()));
}

/// Lemma 1: a former leader of the log does not replace the acceptor.
#[test]
fn a_deposed_leader_gives_up_when_it_suspects_the_acceptor() {
    let mut cluster = cluster(&[]);
    cluster.happen(2, "leader-failure");
    cluster.settle();
    assert!(cluster.state(0).proposer.leads, "it does not know yet");
    cluster.happen(0, "acceptor-failure");
    assert!(cluster.in_flight().is_empty());
    assert!(!cluster.state(0).proposer.leads);
}

/// Of a leader and a rival that want the same place of the log one succeeds, and both know which.
#[test]
fn one_entry_wins_a_place_of_the_log() {
    let mut cluster = cluster(&[]);
    cluster.happen(0, "acceptor-failure");
    cluster.happen(2, "leader-failure");
    cluster.settle();
    let logs = [0, 1, 2].map(|node| cluster.state(node).utility.entries().cloned().collect::<Vec<_>>());
    assert!(logs.iter().all(|log| log.len() <= 3));
    assert_eq!(cluster.check(), Ok(()));
}

/// The pseudo code waits in its handler for the utility. Here messages arrive meanwhile: node 0 suspects the node that it takes for the
/// leader, itself, while the new acceptor's answer is in flight, and node 1 becomes the leader in the log.
#[test]
fn an_acceptor_that_answers_while_the_utility_decides_answers_too_late() {
    let mut cluster = cluster(&[]);
    cluster.happen(0, "acceptor-failure");
    let is_answer = |message: &Message| matches!(message, Message::PrepareResponse { .. });
    while !cluster.in_flight().iter().any(|flight| is_answer(&flight.message)) {
        cluster.deliver(0);
    }
    while cluster.in_flight().len() > 1 {
        let other = cluster.in_flight().iter().position(|flight| !is_answer(&flight.message));
        cluster.deliver(other.expect("there is one answer"));
    }
    cluster.happen(1, "leader-failure");
    cluster.deliver_to(0, |message| matches!(message, Message::Utility(_)));
    cluster.happen(0, "leader-failure");
    cluster.deliver_to(0, is_answer);
    assert!(!cluster.state(0).proposer.leads, "it waits for the utility");
    cluster.settle();
    assert!(cluster.local_events(0).iter().all(|event| event.name != "command"));
    assert_eq!(cluster.check(), Ok(()));
}

/// Section 4.3.6: node 2 leads, its value is chosen, and node 0, which still leads for itself alone, chooses its own.
#[test]
fn the_post_increment_of_the_thesis_breaks_agreement() {
    let mut cluster = cluster(&[("bug", "post-increment"), ("judge", "agreement")]);
    cluster.happen(2, "leader-failure");
    while !cluster.in_flight().is_empty() {
        match cluster.in_flight().iter().position(|flight| !(flight.to == 0 && is_learn(&flight.message))) {
            Some(index) => cluster.deliver(index),
            None => cluster.lose_all(),
        }
    }
    assert_eq!(chosen(&cluster, 0), [None, Some(300), Some(300)]);
    cluster.happen(0, "command");
    cluster.settle();
    assert_eq!(chosen(&cluster, 0), [Some(100), Some(300), Some(300)]);
    assert_eq!(cluster.check(), Err("agreement: for index 0 node 0 has chosen 100, node 1 has chosen 300".to_owned()));
}

#[test]
fn the_post_increment_is_seen_at_the_start_by_who_looks_at_the_roles() {
    let cluster = cluster(&[("bug", "post-increment")]);
    let why = "leader-apart: node 0: it leads and takes itself for the acceptor";
    assert_eq!(cluster.check(), Err(why.to_owned()));
}

/// Line 35 as printed: an acceptor that has adopted a leader refuses every other one, and one that has lost all adopts it.
#[test]
fn as_printed_only_an_acceptor_that_forgot_everything_adopts_a_new_leader() {
    let mut used = cluster(&[("bug", "as-printed")]);
    used.happen(0, "command");
    used.settle();
    let mut reset = used.clone();
    used.happen(2, "leader-failure");
    used.settle();
    assert!(!used.state(2).proposer.leads);
    reset.reset(1);
    reset.reset(2);
    reset.happen(2, "leader-failure");
    reset.settle();
    assert!(reset.state(2).proposer.leads);
    assert_eq!(chosen(&reset, 0), [Some(100), Some(300), Some(300)]);
}

#[test]
fn an_acceptor_that_forgot_everything_does_not_adopt_a_new_leader() {
    let mut cluster = cluster(&[]);
    cluster.happen(0, "command");
    cluster.settle();
    cluster.reset(1);
    cluster.happen(2, "leader-failure");
    cluster.settle();
    assert!(!cluster.state(2).proposer.leads);
    assert_eq!(cluster.check(), Ok(()));
}

/// Node 0 alone learns its command, and replaces the acceptor; node 1 then leads with the new one.
fn replaced_after_learning(bug: &str) -> Cluster<OneAcceptor> {
    let mut cluster = cluster(&[("bug", bug)]);
    cluster.happen(0, "command");
    cluster.deliver_to(1, |message| matches!(message, Message::AcceptRequest { .. }));
    cluster.deliver_to(0, is_learn);
    cluster.lose_all();
    cluster.happen(0, "acceptor-failure");
    while !cluster.state(0).utility.entries().any(|entry| matches!(entry.change, Change::Acceptor { acceptor: 2, .. }))
    {
        cluster.deliver(0);
    }
    // The new acceptor adopts node 0, whose answer is lost.
    cluster.deliver_to(1, |message| matches!(message, Message::Utility(_)));
    cluster.deliver_to(2, |message| matches!(message, Message::PrepareRequest { .. }));
    cluster.lose_all();
    cluster.happen(1, "leader-failure");
    cluster.settle();
    cluster
}

#[test]
fn what_the_leader_has_learned_must_be_announced_too() {
    let cluster = replaced_after_learning("uncommitted");
    assert_eq!(chosen(&cluster, 0), [Some(100), Some(200), Some(200)]);
    for lemma in ["lemma-1", "lemma-2a", "lemma-2b"] {
        assert_eq!(cluster.holds(lemma), Ok(()), "the lemmas hold, and do not suffice");
    }
    let cluster = replaced_after_learning("none");
    assert_eq!(chosen(&cluster, 0), [Some(100); 3]);
    assert_eq!(cluster.check(), Ok(()));
}

#[test]
fn two_nodes_are_refused() {
    let refused = Cluster::<OneAcceptor>::new(2, &[]).err().expect("a backup is missing");
    assert_eq!(refused.to_string(), "a cluster of 2 does not fit: leader, acceptor and a backup are three");
}
