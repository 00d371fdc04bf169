//! Raft with log compaction: a snapshot replaces the beginning of a log, and followers that are far behind get the snapshot.
//!
//! Source: Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", USENIX ATC 2014, the extended version: figure 2 is
//! the algorithm, section 7 has the snapshots.
//!
//! | module | what it holds |
//! |---|---|
//! | `log` | the log behind a snapshot |
//! | `election` | votes and leaders |
//! | `replication` | the leader's log and snapshot become those of the others |
//! | `spec` | the properties |

mod election;
mod log;
mod replication;
mod spec;

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::{About, Context, LocalEvents, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

pub use log::{Entry, Index, Log, Mark, Term};
pub use replication::{Append, Appended, Progress, Snapshot};

/// The configuration of a run.
#[derive(Clone, Debug)]
pub struct RaftCompaction {
    /// No node stands for election in a later term.
    terms: Term,
    /// Commands that a leader takes in its term.
    commands: u32,
    /// Heartbeats of a leader in its term.
    heartbeats: u32,
    /// The minimum number of entries that a snapshot takes from the log; 0: no node compacts its log.
    compact_after: Index,
    bug: Bug,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// A follower appends entries from the beginning of the log, although it has compacted that part.
    PreviousZero,
    /// A leader sends entries to a follower that needs the last entry of the snapshot.
    NextEqualsSnapshot,
    /// A follower that loads a snapshot is in the term of its last entry.
    SnapshotTerm,
    /// A follower that loads a snapshot loses the entries behind it.
    SnapshotDropsLog,
    /// A leader commits every entry that a majority has, also entries of older terms.
    CommitOlderTerm,
}

/// The messages between nodes. Each one has the sender's term; a later term ends the receiver's role in its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Candidate to all others: vote for me.
    RequestVote {
        /// The term in which it stands for election.
        term: Term,
        /// The end of its log.
        last: Mark,
    },
    /// The answer.
    Vote {
        /// The voter's term.
        term: Term,
        /// Whether the candidate has the vote.
        granted: bool,
    },
    /// Leader to another node: make your log like mine.
    Append {
        /// The leader's term.
        term: Term,
        /// The rest of its log.
        append: Append,
    },
    /// Leader to a node that lacks entries that the leader's log no longer has.
    Install {
        /// The leader's term.
        term: Term,
        /// The leader's snapshot.
        snapshot: Snapshot,
    },
    /// The answer to both.
    Appended {
        /// The follower's term.
        term: Term,
        /// The state of the follower's log.
        result: Appended,
    },
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// No message of a leader has arrived for too long.
    Timeout,
    /// The leader sends missing entries to the others again.
    Heartbeat,
    /// The application gives the leader a command.
    Command,
    /// The snapshot replaces the committed entries.
    Compact,
}

/// The role of a node in its term.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Votes, and stores the entries of a leader.
    Follower,
    /// Wants to lead.
    Candidate {
        /// The nodes that have voted for it, itself included.
        votes: BTreeSet<NodeId>,
    },
    /// Takes commands and replicates them.
    Leader {
        /// All other nodes.
        followers: BTreeMap<NodeId, Progress>,
        /// Commands that it has taken in this term.
        commands: u32,
        /// Heartbeats that it has sent in this term.
        heartbeats: u32,
    },
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// Its term.
    pub term: Term,
    /// The latest term that it has been in. Only `terms-never-fall` reads it.
    pub latest_term: Term,
    /// The node that has its vote in this term.
    pub voted_for: Option<NodeId>,
    /// The entries behind the snapshot.
    pub log: Log,
    /// Up to here the log is final.
    pub commit: Index,
    /// The committed entries: the state of the application.
    pub done: Vec<Entry>,
    /// Its role.
    pub role: Role,
}

impl State {
    /// The entries applied up to the base of the log.
    fn snapshot(&self) -> &[Entry] {
        &self.done[..self.log.base().index as usize]
    }
}

/// The durable state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {
    /// The node's term.
    pub term: Term,
    /// The latest term that it has been in.
    pub latest_term: Term,
    /// The vote in it.
    pub voted_for: Option<NodeId>,
    /// The entries behind the snapshot.
    pub log: Log,
    /// The entries applied up to the base of the log.
    pub snapshot: Vec<Entry>,
}

impl Protocol for RaftCompaction {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Disk;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let bugs = &[
            ("none", Bug::None),
            ("previous-zero", Bug::PreviousZero),
            ("next-equals-snapshot", Bug::NextEqualsSnapshot),
            ("snapshot-term", Bug::SnapshotTerm),
            ("snapshot-drops-log", Bug::SnapshotDropsLog),
            ("commit-older-term", Bug::CommitOlderTerm),
        ];
        Ok(Self {
            terms: parameters.get("terms", 2, "the last term in which nodes stand for election")?,
            commands: parameters.get("commands", 2, "how many commands a leader takes in its term")?,
            heartbeats: parameters.get("heartbeats", 1, "how many heartbeats a leader sends in its term")?,
            compact_after: parameters.get(
                "compact-after",
                2,
                "committed entries from which on a log is compacted; 0: never",
            )?,
            bug: parameters.choice("bug", bugs, "what is wrong on purpose")?,
        })
    }

    fn init(&self, _: &mut Context<Message>, durable: Option<Disk>) -> State {
        let Disk { term, latest_term, voted_for, log, snapshot } = durable.unwrap_or_default();
        State { term, latest_term, voted_for, commit: log.base().index, log, done: snapshot, role: Role::Follower }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        let (Message::RequestVote { term, .. }
        | Message::Vote { term, .. }
        | Message::Append { term, .. }
        | Message::Install { term, .. }
        | Message::Appended { term, .. }) = message;
        election::observe_term(state, term);
        match message {
            Message::RequestVote { last, .. } => election::request_vote(ctx, state, from, term, last),
            Message::Vote { granted, .. } => election::vote(ctx, state, from, term, granted),
            Message::Append { append, .. } => {
                follow(ctx, state, (from, term), append.prev.index, |state| {
                    replication::append(state, &append, self.bug)
                });
            }
            Message::Install { snapshot, .. } => {
                follow(ctx, state, (from, term), 0, |state| replication::install(state, snapshot, self.bug));
            }
            Message::Appended { result, .. } if term == state.term => {
                replication::appended(ctx, state, from, result, self.bug);
            }
            Message::Appended { .. } => {}
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        match state.role {
            Role::Leader { commands, heartbeats, .. } => {
                if commands < self.commands {
                    events.application("command", Local::Command);
                }
                if heartbeats < self.heartbeats {
                    events.timer("heartbeat", Local::Heartbeat);
                }
            }
            _ if state.term < self.terms => events.timer("timeout", Local::Timeout),
            _ => {}
        }
        if self.compact_after > 0 && state.commit - state.log.base().index >= self.compact_after {
            events.internal("compact", Local::Compact);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        match event {
            Local::Timeout => election::stand(ctx, state),
            Local::Heartbeat => replication::heartbeat(ctx, state, self.bug),
            Local::Command => replication::command(ctx, state, self.bug),
            Local::Compact => replication::compact(state),
        }
    }

    fn persist(&self, state: &State) -> Option<Disk> {
        let State { term, latest_term, voted_for, log, .. } = state.clone();
        Some(Disk { term, latest_term, voted_for, log, snapshot: state.snapshot().to_vec() })
    }

    /// All nodes: none is special, and messages name none.
    fn interchangeable(&self, nodes: u32) -> Vec<Vec<NodeId>> {
        vec![(0..nodes).collect()]
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

/// A follower handles a message of its term's leader, and answers. Another leader of that term does not: the properties report two.
fn follow(
    ctx: &mut Context<Message>,
    state: &mut State,
    (leader, term): (NodeId, Term),
    prev: Index,
    take: impl FnOnce(&mut State) -> Appended,
) {
    let result = match term == state.term {
        // The leader of an older term learns of this one.
        false => Appended::Missing(prev),
        true if matches!(state.role, Role::Leader { .. }) => return,
        true => {
            state.role = Role::Follower;
            take(state)
        }
    };
    ctx.send(leader, Message::Appended { term: state.term, result });
}

fn others(ctx: &Context<Message>) -> impl Iterator<Item = NodeId> + use<> {
    let me = ctx.me();
    (0..ctx.nodes()).filter(move |node| *node != me)
}

guest_sdk::export!(RaftCompaction);
