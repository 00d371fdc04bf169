//! The messages and the log of the library as values with serde, which its own types do not have.

use guest_sdk::NodeId;
use serde::{Deserialize, Serialize};

use crate::library::{ClusterConfig, LogEntries, LogEntry, LogIndex, LogPosition, Message, Term};

/// A term and an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Position(pub u64, pub u64);

impl From<LogPosition> for Position {
    fn from(position: LogPosition) -> Self {
        Self(position.term.get(), position.index.get())
    }
}

impl From<Position> for LogPosition {
    fn from(Position(term, index): Position) -> Self {
        Self { term: Term::new(term), index: LogIndex::new(index) }
    }
}

/// An entry of the log. The library does not know the content of a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Entry {
    Term(u64),
    Config { voters: Vec<u64>, new_voters: Vec<u64> },
    Command,
}

impl From<LogEntry> for Entry {
    fn from(entry: LogEntry) -> Self {
        let numbers = |nodes: std::collections::BTreeSet<crate::library::NodeId>| {
            nodes.into_iter().map(crate::library::NodeId::get).collect()
        };
        match entry {
            LogEntry::Term(term) => Self::Term(term.get()),
            LogEntry::ClusterConfig(config) => {
                Self::Config { voters: numbers(config.voters), new_voters: numbers(config.new_voters) }
            }
            LogEntry::Command => Self::Command,
        }
    }
}

impl From<Entry> for LogEntry {
    fn from(entry: Entry) -> Self {
        match entry {
            Entry::Term(term) => Self::Term(Term::new(term)),
            Entry::Config { voters, new_voters } => {
                let mut config = ClusterConfig::new();
                config.voters.extend(voters.into_iter().map(crate::library::NodeId::new));
                config.new_voters.extend(new_voters.into_iter().map(crate::library::NodeId::new));
                Self::ClusterConfig(config)
            }
            Entry::Command => Self::Command,
        }
    }
}

/// A message. Its sender is that of the envelope.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Packet {
    pub term: u64,
    /// The number that the library gives it, or 0.
    pub number: u64,
    pub kind: Kind,
}

/// The kind of a message, with its content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    RequestVote { last: Position },
    Vote { is_granted: bool },
    AppendEntries { commit: u64, after: Position, entries: Vec<Entry> },
    Appended { last: Position },
}

#[cfg(feature = "raftbare")]
macro_rules! message {
    ($packet:expr, $from:expr, $kind:ident { $($field:ident: $value:expr),+ }) => {{
        let seqno = raftbare::MessageSeqNo::new($packet.number);
        let header = raftbare::MessageHeader { from: $from, term: Term::new($packet.term), seqno };
        Message::$kind { header, $($field: $value),+ }
    }};
}

#[cfg(not(feature = "raftbare"))]
macro_rules! message {
    ($packet:expr, $from:expr, $kind:ident { $($field:ident: $value:expr),+ }) => {
        Message::$kind { from: $from, term: Term::new($packet.term), $($field: $value),+ }
    };
}

impl Packet {
    /// The message to send, as a value with serde.
    pub fn new(message: &Message) -> Self {
        let kind = match message {
            Message::RequestVoteCall { last_position, .. } => Kind::RequestVote { last: (*last_position).into() },
            Message::RequestVoteReply { vote_granted, .. } => Kind::Vote { is_granted: *vote_granted },
            Message::AppendEntriesCall { commit_index, entries, .. } => Kind::AppendEntries {
                commit: commit_index.get(),
                after: entries.prev_position().into(),
                entries: entries.iter().map(Entry::from).collect(),
            },
            Message::AppendEntriesReply { last_position, .. } => Kind::Appended { last: (*last_position).into() },
        };
        #[cfg(feature = "raftbare")]
        let number = message.seqno().get();
        #[cfg(not(feature = "raftbare"))]
        let number = 0;
        Self { term: message.term().get(), number, kind }
    }

    /// The message as a value of the library.
    pub fn into_message(self, from: NodeId) -> Message {
        let from = crate::library::NodeId::new(u64::from(from));
        match self.kind {
            Kind::RequestVote { last } => message!(self, from, RequestVoteCall { last_position: last.into() }),
            Kind::Vote { is_granted } => message!(self, from, RequestVoteReply { vote_granted: is_granted }),
            Kind::AppendEntries { commit, after, entries } => {
                let entries = LogEntries::from_iter(after.into(), entries.into_iter().map(LogEntry::from));
                message!(self, from, AppendEntriesCall { commit_index: LogIndex::new(commit), entries: entries })
            }
            Kind::Appended { last } => message!(self, from, AppendEntriesReply { last_position: last.into() }),
        }
    }
}
