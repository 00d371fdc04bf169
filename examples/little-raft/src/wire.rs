//! The messages of the library as values with serde, which its own types do not have.

use guest_sdk::NodeId;
use serde::{Deserialize, Serialize};

use crate::Command;
use crate::library::message::{LogEntry, Message};

/// An entry: its index, its term, and its command.
pub type Entry = (usize, usize, Command);

/// A message. Its sender is that of the envelope.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Packet {
    pub term: usize,
    pub kind: Kind,
}

/// The kind of a message, with its content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// `after` and `last` are an index and a term.
    Append {
        after: (usize, usize),
        entries: Vec<Entry>,
        commit: usize,
    },
    Appended {
        is_success: bool,
        last: usize,
        mismatch: Option<usize>,
    },
    RequestVote {
        last: (usize, usize),
    },
    Vote {
        is_granted: bool,
    },
}

impl Packet {
    /// The message to send, as a value with serde.
    ///
    /// # Panics
    ///
    /// The message concerns a snapshot: no replica ever makes one.
    pub fn new(message: Message<Command, ()>) -> Self {
        let (term, kind) = match message {
            Message::AppendEntryRequest { term, prev_log_index, prev_log_term, entries, commit_index, .. } => {
                let entries = entries.into_iter().map(|entry| (entry.index, entry.term, entry.transition)).collect();
                (term, Kind::Append { after: (prev_log_index, prev_log_term), entries, commit: commit_index })
            }
            Message::AppendEntryResponse { term, success, last_index, mismatch_index, .. } => {
                (term, Kind::Appended { is_success: success, last: last_index, mismatch: mismatch_index })
            }
            Message::VoteRequest { term, last_log_index, last_log_term, .. } => {
                (term, Kind::RequestVote { last: (last_log_index, last_log_term) })
            }
            Message::VoteResponse { term, vote_granted, .. } => (term, Kind::Vote { is_granted: vote_granted }),
            Message::InstallSnapshotRequest { .. } | Message::InstallSnapshotResponse { .. } => {
                panic!("the library sends a snapshot, and nothing is compacted")
            }
        };
        Self { term, kind }
    }

    /// The message as a value of the library.
    pub fn into_message(self, from: NodeId) -> Message<Command, ()> {
        let (from_id, term) = (from as usize, self.term);
        match self.kind {
            Kind::Append { after: (prev_log_index, prev_log_term), entries, commit } => {
                let entry = |(index, term, transition)| LogEntry { index, term, transition };
                let entries = entries.into_iter().map(entry).collect();
                let commit_index = commit;
                Message::AppendEntryRequest { from_id, term, prev_log_index, prev_log_term, entries, commit_index }
            }
            Kind::Appended { is_success: success, last: last_index, mismatch: mismatch_index } => {
                Message::AppendEntryResponse { from_id, term, success, last_index, mismatch_index }
            }
            Kind::RequestVote { last: (last_log_index, last_log_term) } => {
                Message::VoteRequest { from_id, term, last_log_index, last_log_term }
            }
            Kind::Vote { is_granted } => Message::VoteResponse { from_id, term, vote_granted: is_granted },
        }
    }
}
