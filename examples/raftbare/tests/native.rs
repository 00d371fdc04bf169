//! The finding without WebAssembly and without the checker: the steps of the trace, against the crate alone.

use raftbare::{Action, ClusterConfig, Log, LogEntries, LogEntry, LogIndex, LogPosition, Message, Node, NodeId, Term};

/// Three nodes that restart from their disks: the first one has led in term 1. Messages in flight: from, to, message.
struct Cluster {
    nodes: Vec<Node>,
    in_flight: Vec<(usize, usize, Message)>,
}

impl Cluster {
    fn new() -> Self {
        let mut config = ClusterConfig::new();
        config.voters.extend((0..3).map(NodeId::new));
        let entries = [LogEntry::ClusterConfig(config), LogEntry::Term(Term::new(1))];
        let log = Log::new(ClusterConfig::new(), LogEntries::from_iter(LogPosition::ZERO, entries));
        let node = |id| Node::restart(NodeId::new(id), Term::new(1), Some(NodeId::new(0)), log.clone());
        let mut cluster = Self { nodes: (0..3).map(node).collect(), in_flight: Vec::new() };
        (0..3).for_each(|at| cluster.act(at));
        cluster
    }

    /// Executes the actions of a node. No node restarts, so nothing is kept on disks.
    fn act(&mut self, at: usize) {
        while let Some(action) = self.nodes[at].actions_mut().next() {
            match action {
                Action::BroadcastMessage(message) => {
                    let peers = self.nodes[at].peers().map(|peer| peer.get() as usize);
                    self.in_flight.extend(peers.map(|to| (at, to, message.clone())));
                }
                Action::SendMessage(to, message) => self.in_flight.push((at, to.get() as usize, message)),
                _ => {}
            }
        }
    }

    fn timeout(&mut self, at: usize) {
        self.nodes[at].handle_election_timeout();
        self.act(at);
    }

    /// Delivers the first message in flight from one node to another of this kind and term.
    fn deliver(&mut self, from: usize, to: usize, kind: &str, term: u64) {
        let is_it = |(sender, receiver, message): &(usize, usize, Message)| {
            let its_kind = match message {
                Message::RequestVoteCall { .. } => "RequestVoteCall",
                Message::RequestVoteReply { .. } => "RequestVoteReply",
                Message::AppendEntriesCall { .. } => "AppendEntriesCall",
                Message::AppendEntriesReply { .. } => "AppendEntriesReply",
            };
            (*sender, *receiver, its_kind, message.term().get()) == (from, to, kind, term)
        };
        let at = self.in_flight.iter().position(is_it);
        let (_, _, message) = self.in_flight.remove(at.unwrap_or_else(|| panic!("no {kind} from {from} to {to}")));
        self.nodes[to].handle_message(message);
        self.act(to);
    }

    /// The term and the entry that a node has committed at an index.
    fn committed(&self, at: usize, index: u64) -> Option<(u64, LogEntry)> {
        let (node, index) = (&self.nodes[at], LogIndex::new(index));
        let entries = node.log().entries();
        let term = entries.get_term(index).filter(|_| index <= node.commit_index())?;
        Some((term.get(), entries.get_entry(index)?))
    }
}

/// Node 0 has an entry of term 2 at an index at which the others have committed one of term 3. They vote for it nevertheless, since its log
/// is not shorter.
#[test]
fn a_leader_without_what_is_committed_replaces_it() {
    let mut cluster = Cluster::new();
    cluster.timeout(0);
    cluster.deliver(0, 1, "RequestVoteCall", 2);
    cluster.deliver(1, 0, "RequestVoteReply", 2);
    // Node 0 leads in term 2, and its messages arrive late.
    cluster.timeout(1);
    cluster.timeout(2);
    cluster.deliver(1, 2, "RequestVoteCall", 3);
    cluster.deliver(2, 1, "RequestVoteReply", 3);
    cluster.deliver(1, 2, "AppendEntriesCall", 3);
    cluster.deliver(2, 1, "AppendEntriesReply", 3);
    assert_eq!(cluster.committed(1, 3), Some((3, LogEntry::Term(Term::new(3)))));
    // The vote request of node 0 in term 2 arrives late, and ends its term.
    cluster.timeout(2);
    cluster.deliver(0, 2, "RequestVoteCall", 2);
    cluster.deliver(2, 0, "RequestVoteReply", 4);
    cluster.timeout(0);
    cluster.deliver(0, 2, "RequestVoteCall", 5);
    cluster.deliver(2, 0, "RequestVoteReply", 5);
    cluster.deliver(0, 2, "AppendEntriesCall", 5);
    cluster.deliver(2, 0, "AppendEntriesReply", 5);
    cluster.deliver(0, 2, "AppendEntriesCall", 5);
    cluster.deliver(2, 0, "AppendEntriesReply", 5);
    assert_eq!(cluster.committed(0, 3), Some((2, LogEntry::Term(Term::new(2)))), "node 1 has committed another one");
}
