//! Single executions, with and without the bugs.

use guest_sdk::NodeId;
use guest_sdk::test::{Cluster, InFlight};
use raft::{Entry, Message, Raft, Role};

fn cluster(parameters: &[(&str, &str)]) -> Cluster<Raft> {
    Cluster::new(3, parameters).expect("the parameters are known")
}

/// Delivers the newest message of one node to another: the one of several retransmissions that a lossy network has left.
fn deliver(cluster: &mut Cluster<Raft>, from: NodeId, to: NodeId) {
    let is_between = |flight: &InFlight<Message>| flight.from == from && flight.to == to;
    let newest = cluster.in_flight().iter().rposition(is_between).expect("a message is in flight");
    cluster.deliver(newest);
}

/// A question and its answer.
fn ask(cluster: &mut Cluster<Raft>, from: NodeId, to: NodeId) {
    deliver(cluster, from, to);
    deliver(cluster, to, from);
}

/// Node `candidate` leads in the next term by the vote of node `voter`.
fn elect(cluster: &mut Cluster<Raft>, candidate: NodeId, voter: NodeId) {
    cluster.happen(candidate, "timeout");
    ask(cluster, candidate, voter);
    assert!(leads(cluster, candidate), "{:?}", cluster.state(candidate));
}

fn leads(cluster: &Cluster<Raft>, node: NodeId) -> bool {
    matches!(cluster.state(node).role, Role::Leader { .. })
}

fn log(cluster: &Cluster<Raft>, node: NodeId) -> Vec<(u32, NodeId)> {
    cluster.state(node).log.after(0).iter().map(|Entry { term, command }| (*term, *command)).collect()
}

#[test]
fn a_command_is_committed_everywhere() {
    let mut cluster = cluster(&[]);
    assert_eq!(cluster.holds("elected"), Err("of no node".to_owned()));
    cluster.happen(0, "timeout");
    cluster.settle();
    cluster.happen(0, "command");
    cluster.settle();
    assert_eq!(
        [0, 1, 2].map(|node| (log(&cluster, node), cluster.state(node).commit)),
        [(); 3].map(|()| (vec![(1, 0)], 1))
    );
    assert_eq!(cluster.check(), Ok(()));
    assert_eq!((cluster.holds("elected"), cluster.holds("committed")), (Ok(()), Ok(())));
}

#[test]
fn terms_and_commands_are_bounded() {
    let mut cluster = cluster(&[("terms", "1"), ("commands", "2")]);
    elect(&mut cluster, 0, 1);
    cluster.happen(0, "command");
    cluster.happen(0, "command");
    assert!(cluster.local_events(0).is_empty());
    assert!(cluster.local_events(1).is_empty());
    assert_eq!(cluster.local_events(2).len(), 1);
}

#[test]
fn a_late_log_gets_what_it_lacks_entry_by_entry() {
    let mut cluster = cluster(&[]);
    elect(&mut cluster, 0, 1);
    cluster.happen(0, "command");
    // The command is with nodes 0 and 1; node 2 hears nothing.
    ask(&mut cluster, 0, 1);
    assert_eq!(cluster.state(0).commit, 1);
    // Node 1 leads in term 2, and begins behind its last entry, which node 2 lacks.
    elect(&mut cluster, 1, 2);
    ask(&mut cluster, 1, 2);
    assert_eq!(log(&cluster, 2), []);
    ask(&mut cluster, 1, 2);
    assert_eq!(log(&cluster, 2), [(1, 0)]);
    // A majority has the entry, but it is of an older term; with the next one both are committed.
    assert_eq!(cluster.state(1).commit, 0);
    cluster.happen(1, "command");
    ask(&mut cluster, 1, 2);
    assert_eq!((log(&cluster, 1), cluster.state(1).commit), (vec![(1, 0), (2, 1)], 2));
    assert_eq!(cluster.check(), Ok(()));
}

/// Delivers the request for a vote that a candidate has sent in a term.
fn deliver_request(cluster: &mut Cluster<Raft>, from: NodeId, to: NodeId, in_term: u32) {
    cluster.deliver_where(|flight| {
        let is_wanted = matches!(flight.message, Message::RequestVote { term, .. } if term == in_term);
        (flight.from, flight.to) == (from, to) && is_wanted
    });
}

/// Figure 8 of the paper, (a) to (d), with the three nodes that matter. Node 0 leads in term 1 and keeps its command for
/// itself; node 2 leads in term 2 and does the same; node 0 leads in term 3 with the old entry, and gives it to node 1. Then
/// node 2 wants to lead in term 4, with the newer entry.
fn figure_8(parameters: &[(&str, &str)]) -> Cluster<Raft> {
    let mut cluster = cluster(&[parameters, &[("terms", "4")]].concat());
    elect(&mut cluster, 0, 1);
    cluster.happen(0, "command");
    deliver_request(&mut cluster, 0, 2, 1);
    elect(&mut cluster, 2, 1);
    cluster.happen(2, "command");
    deliver_request(&mut cluster, 2, 0, 2);
    elect(&mut cluster, 0, 1);
    ask(&mut cluster, 0, 1);
    ask(&mut cluster, 0, 1);
    assert_eq!([0, 1, 2].map(|node| log(&cluster, node)), [[(1, 0)], [(1, 0)], [(2, 2)]]);
    deliver_request(&mut cluster, 0, 2, 3);
    elect(&mut cluster, 2, 1);
    cluster
}

#[test]
fn an_entry_of_an_older_term_is_not_committed_by_counting() {
    let cluster = figure_8(&[]);
    assert_eq!(cluster.state(0).commit, 0);
    assert_eq!(cluster.check(), Ok(()));
}

#[test]
fn an_older_entry_that_is_committed_is_lost_again() {
    let mut cluster = figure_8(&[("bug", "commit-older-term")]);
    assert_eq!(cluster.state(0).commit, 1);
    let lacking = "leader-completeness: node 2 leads in term 4 without what node 0 has committed up to 1";
    assert_eq!(cluster.check(), Err(lacking.to_owned()));
    // (e): and then another entry is committed in its place.
    ask(&mut cluster, 2, 1);
    ask(&mut cluster, 2, 1);
    assert!(cluster.holds("state-machine-safety").is_err());
}

/// Node 0 leads by the vote of node 1, which is reset and asked by node 2 as well.
fn asked_twice(parameters: &[(&str, &str)], before_the_reset: impl Fn(&mut Cluster<Raft>)) -> Cluster<Raft> {
    let mut cluster = cluster(parameters);
    elect(&mut cluster, 0, 1);
    before_the_reset(&mut cluster);
    cluster.reset(1);
    cluster.happen(2, "timeout");
    ask(&mut cluster, 2, 1);
    cluster
}

#[test]
fn a_vote_survives_a_reset() {
    let cluster = asked_twice(&[], |_| {});
    assert!(!leads(&cluster, 2));
}

#[test]
fn a_vote_that_is_forgotten_is_given_twice() {
    for bug in ["vote-not-persisted", "term-not-persisted", "answer-before-write"] {
        let cluster = asked_twice(&[("bug", bug)], |_| {});
        assert_eq!(cluster.check(), Err("election-safety: nodes 0 and 2 both lead in term 1".to_owned()), "{bug}");
    }
}

/// The difference between the three, first part: only a reset between answer and write loses a vote that is written late.
#[test]
fn a_vote_that_is_written_survives() {
    let cluster = asked_twice(&[("bug", "answer-before-write")], |cluster| cluster.happen(1, "write"));
    assert!(!leads(&cluster, 2));
}

/// Second part: a node that has lost its term as well goes back to an old leader, so an entry is committed that the new
/// leader lacks, and no term has two leaders.
#[test]
fn a_term_that_is_forgotten_does_harm_without_a_second_vote() {
    let go_back = |bug| {
        let mut cluster = cluster(&[("bug", bug)]);
        elect(&mut cluster, 0, 1);
        deliver_request(&mut cluster, 0, 2, 1);
        elect(&mut cluster, 2, 1);
        cluster.reset(1);
        cluster.happen(0, "command");
        ask(&mut cluster, 0, 1);
        assert_eq!(cluster.holds("election-safety"), Ok(()));
        cluster
    };
    let lacking = "leader-completeness: node 2 leads in term 2 without what node 0 has committed up to 1";
    assert_eq!(go_back("term-not-persisted").check(), Err(lacking.to_owned()));
    for bug in ["none", "vote-not-persisted", "answer-before-write"] {
        let cluster = go_back(bug);
        assert_eq!((cluster.check(), cluster.state(0).commit), (Ok(()), 0), "{bug}");
    }
}

#[test]
fn who_lacks_a_committed_entry_gets_no_vote() {
    for (bug, is_elected) in [("none", false), ("no-log-check", true)] {
        let mut cluster = cluster(&[("bug", bug)]);
        cluster.happen(0, "timeout");
        deliver_request(&mut cluster, 0, 2, 1);
        ask(&mut cluster, 0, 1);
        cluster.happen(0, "command");
        ask(&mut cluster, 0, 1);
        cluster.happen(2, "timeout");
        ask(&mut cluster, 2, 1);
        assert_eq!((leads(&cluster, 2), cluster.check().is_err()), (is_elected, is_elected), "{bug}");
    }
}

/// A late message removes nothing from the log.
#[test]
fn an_old_append_does_not_shorten_the_log() {
    let mut cluster = cluster(&[]);
    elect(&mut cluster, 0, 1);
    let empty = cluster.in_flight().iter().position(|flight| flight.to == 1).expect("the first Append");
    let empty = cluster.in_flight()[empty].message.clone();
    cluster.happen(0, "command");
    deliver(&mut cluster, 0, 1);
    cluster.deliver_where(|flight| flight.to == 1 && flight.message == empty);
    assert_eq!(log(&cluster, 1), [(1, 0)]);
}

/// A leader owes its clients the entries of its own term, and as long as it leads.
#[test]
fn a_leader_owes_what_it_has_taken() {
    let mut cluster = cluster(&[]);
    elect(&mut cluster, 0, 1);
    assert_eq!(cluster.holds("answered"), Ok(()));
    cluster.happen(0, "command");
    let owed = "node 0: clients wait for 1 of its entries to be committed";
    assert_eq!(cluster.holds("answered"), Err(owed.to_owned()));
    let mut other = cluster.clone();
    cluster.settle();
    assert_eq!(cluster.holds("answered"), Ok(()));
    other.reset(0);
    assert_eq!(other.holds("answered"), Ok(()));
}

/// Node 0 has an entry of term 1 that no other node has, and leads again in term 3: node 1 lacks the entries before the new one.
#[test]
fn a_leader_that_does_not_go_back_commits_nothing() {
    for (bug, is_committed) in [("none", true), ("no-backtrack", false)] {
        let mut cluster = Cluster::<Raft>::new(2, &[("terms", "3"), ("bug", bug)]).expect("the parameters are known");
        elect(&mut cluster, 0, 1);
        cluster.happen(0, "command");
        cluster.lose_all();
        cluster.happen(1, "timeout");
        ask(&mut cluster, 1, 0);
        assert!(!leads(&cluster, 1));
        elect(&mut cluster, 0, 1);
        cluster.happen(0, "command");
        cluster.settle();
        assert_eq!((cluster.holds("answered").is_ok(), cluster.check()), (is_committed, Ok(())), "{bug}");
    }
}
