//! Raft: elections and log replication. Term, vote and log are on disk; there are no snapshots and no changes of membership.
//!
//! Source: Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", USENIX ATC 2014, the extended version;
//! figure 2 is the algorithm, figure 3 has the properties (`spec.rs`).

mod election;
mod log;
mod replication;
mod spec;

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::{About, Context, LocalEvents, NodeId, ParameterError, Parameters, Properties, Protocol, Renaming};
use serde::{Deserialize, Serialize};

pub use log::{Entry, Index, Log, Mark, Term};
pub use replication::{Append, Appended, Progress};

/// The configuration of a run.
#[derive(Clone, Debug)]
pub struct Raft {
    /// No node stands for election in a later term.
    terms: Term,
    /// Entries of a leader in its term.
    commands: usize,
    bug: Bug,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// The disk has the term, but not the vote in it.
    VoteNotPersisted,
    /// The disk has neither term nor vote: after a reset the node is in the term of its last entry.
    TermNotPersisted,
    /// A vote is sent first and written later.
    AnswerBeforeWrite,
    /// A leader commits every entry that a majority has, also entries of older terms.
    CommitOlderTerm,
    /// Votes also go to candidates whose log is behind.
    NoLogCheck,
    /// A leader does not go back in its log for a node that lacks more than the last entries.
    NoBacktrack,
}

/// The messages between nodes. Each one has the sender's term.
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
        /// The voter's term; a later one than the candidate's ends the candidacy.
        term: Term,
        /// Whether the candidate has the vote.
        granted: bool,
    },
    /// Leader to another node: make your log like mine.
    Append {
        /// The leader's term.
        term: Term,
        /// A part of its log.
        append: Append,
    },
    /// The answer.
    Appended {
        /// The follower's term; a later one than the leader's ends its rule.
        term: Term,
        /// The state of the follower's log.
        result: Appended,
    },
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The node has not heard of a leader for too long.
    Timeout,
    /// The application gives the leader a command.
    Command,
    /// The vote reaches the disk, late.
    Write,
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
    },
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// The latest term that it has heard of.
    pub term: Term,
    /// The node that has its vote in this term.
    pub voted_for: Option<NodeId>,
    /// Whether the disk does not yet know of this vote; only with the bug `answer-before-write`.
    pub is_vote_unwritten: bool,
    /// All entries, committed or not.
    pub log: Log,
    /// Up to here the log is final.
    pub commit: Index,
    /// Its role.
    pub role: Role,
}

/// The durable state. The node learns again which entries are committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {
    /// The latest term.
    pub term: Term,
    /// The vote in it.
    pub voted_for: Option<NodeId>,
    /// All entries.
    pub log: Log,
}

impl Protocol for Raft {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Disk;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let terms = parameters.get_unless(
            "terms",
            "auto",
            "the last term in which nodes stand for election; auto: 2, or 4 with bug=commit-older-term, which needs them",
        )?;
        let commands = parameters.get("commands", 1, "how many commands a leader takes in its term")?;
        let bugs = &[
            ("none", Bug::None),
            ("vote-not-persisted", Bug::VoteNotPersisted),
            ("term-not-persisted", Bug::TermNotPersisted),
            ("answer-before-write", Bug::AnswerBeforeWrite),
            ("commit-older-term", Bug::CommitOlderTerm),
            ("no-log-check", Bug::NoLogCheck),
            ("no-backtrack", Bug::NoBacktrack),
        ];
        let bug = parameters.choice("bug", bugs, "what is wrong on purpose")?;
        let terms = match (terms, bug) {
            (Some(term), _) => term,
            (None, Bug::CommitOlderTerm) => 4,
            (None, _) => 2,
        };
        Ok(Self { terms, commands, bug })
    }

    fn init(&self, _: &mut Context<Message>, durable: Option<Disk>) -> State {
        let Disk { term, voted_for, log } = durable.unwrap_or_default();
        State { term, voted_for, is_vote_unwritten: false, log, commit: 0, role: Role::Follower }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        let (Message::RequestVote { term, .. }
        | Message::Vote { term, .. }
        | Message::Append { term, .. }
        | Message::Appended { term, .. }) = message;
        election::observe_term(state, term);
        match message {
            Message::RequestVote { term, last } => election::request_vote(ctx, state, from, (term, last), self.bug),
            Message::Vote { term, granted } => election::vote(ctx, state, from, term, granted),
            Message::Append { term, append } => replication::append(ctx, state, from, term, &append),
            Message::Appended { term, result } => replication::appended(ctx, state, from, (term, result), self.bug),
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        let is_leader = matches!(state.role, Role::Leader { .. });
        if !is_leader && state.term < self.terms {
            events.timer("timeout", Local::Timeout);
        }
        if is_leader && state.log.of_term(state.term) < self.commands {
            events.application("command", Local::Command);
        }
        if state.is_vote_unwritten {
            events.internal("write", Local::Write);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        match event {
            Local::Timeout => election::stand(ctx, state, self.bug),
            Local::Command => replication::command(ctx, state, self.bug),
            Local::Write => state.is_vote_unwritten = false,
        }
    }

    fn persist(&self, state: &State) -> Option<Disk> {
        let State { term, voted_for, log, .. } = state.clone();
        Some(match self.bug {
            Bug::VoteNotPersisted => Disk { term, voted_for: None, log },
            Bug::TermNotPersisted => Disk { term: log.last().term, voted_for: None, log },
            Bug::AnswerBeforeWrite if state.is_vote_unwritten => Disk { term, voted_for: None, log },
            _ => Disk { term, voted_for, log },
        })
    }

    /// All nodes: none is special, and messages name nodes in commands only.
    fn interchangeable(&self, nodes: u32) -> Vec<Vec<NodeId>> {
        vec![(0..nodes).collect()]
    }

    fn rename_message(mut message: Message, renaming: &Renaming) -> Message {
        if let Message::Append { append, .. } = &mut message {
            append.entries.iter_mut().for_each(|entry| entry.command = renaming.of(entry.command));
        }
        message
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

guest_sdk::export!(Raft);
