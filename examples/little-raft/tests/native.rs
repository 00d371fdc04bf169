//! The findings without WebAssembly and without the checker: the steps of the traces, against the crate as it was published.

use little_raft::message::Message;
use little_raft_checked::{Command, Node};

/// Three replicas, and the messages in flight: from, to, message.
struct Cluster {
    nodes: Vec<Node>,
    in_flight: Vec<(usize, usize, Message<Command, ()>)>,
}

impl Cluster {
    fn new() -> Self {
        Self { nodes: (0..3).map(|me| Node::new(me, 3)).collect(), in_flight: Vec::new() }
    }

    fn collect(&mut self, from: usize) {
        let outbox = std::mem::take(&mut self.nodes[from].network().outbox);
        self.in_flight.extend(outbox.into_iter().map(|(to, message)| (from, to, message)));
    }

    fn timeout(&mut self, at: usize) {
        self.nodes[at].timeout();
        self.collect(at);
    }

    fn propose(&mut self, at: usize, command: Command) {
        self.nodes[at].propose(command);
        self.collect(at);
    }

    /// Delivers the first message in flight from one replica to another whose text contains these words.
    fn deliver(&mut self, from: usize, to: usize, words: &[&str]) {
        let is_it = |(sender, receiver, message): &(usize, usize, Message<Command, ()>)| {
            let text = format!("{message:?}");
            (*sender, *receiver) == (from, to) && words.iter().all(|word| text.contains(word))
        };
        let at = self.in_flight.iter().position(is_it);
        let (_, _, message) = self.in_flight.remove(at.unwrap_or_else(|| panic!("no {words:?} from {from} to {to}")));
        self.nodes[to].receive(message);
        self.collect(to);
    }

    fn leads(&self, at: usize) -> Option<usize> {
        self.nodes[at].network().leads
    }

    fn applied(&self, at: usize) -> Vec<Command> {
        self.nodes[at].applied().commands.clone()
    }
}

impl Cluster {
    /// Replica 0 asks for votes in term 1. It receives that vote while it asks for votes in term 2, in which replica 1 already leads.
    fn with_two_leaders() -> Self {
        let mut cluster = Self::new();
        cluster.timeout(0);
        cluster.deliver(0, 1, &["VoteRequest", "term: 1,"]);
        cluster.timeout(0);
        cluster.timeout(1);
        cluster.deliver(1, 2, &["VoteRequest", "term: 2,"]);
        cluster.deliver(2, 1, &["VoteResponse", "term: 2,"]);
        cluster.deliver(1, 0, &["VoteResponse", "term: 1,"]);
        cluster
    }
}

/// A vote counts regardless of its term.
#[test]
fn a_vote_of_a_term_that_is_over_makes_a_second_leader() {
    let cluster = Cluster::with_two_leaders();
    assert_eq!((cluster.leads(0), cluster.leads(1)), (Some(2), Some(2)));
}

/// Entries of two leaders of one term count as equal.
#[test]
fn two_leaders_of_a_term_apply_different_transitions() {
    let mut cluster = Cluster::with_two_leaders();
    cluster.propose(0, Command(0, 1));
    cluster.propose(1, Command(1, 1));
    cluster.deliver(1, 2, &["AppendEntryRequest"]);
    cluster.deliver(2, 1, &["AppendEntryResponse"]);
    cluster.deliver(0, 2, &["AppendEntryRequest"]);
    cluster.deliver(2, 0, &["AppendEntryResponse"]);
    assert_eq!((cluster.applied(0), cluster.applied(1)), (vec![Command(0, 1)], vec![Command(1, 1)]));
}
