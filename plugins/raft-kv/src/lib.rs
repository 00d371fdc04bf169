//! A key-value store that is replicated by Raft and answers clients over HTTP: checked by `host run`, run by `host live`.
//!
//! Source: Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", USENIX ATC 2014, the extended version:
//! figure 2 is the algorithm, section 7 has the snapshots, section 8 the clients.
//!
//! | module | what it holds |
//! |---|---|
//! | `store` | keys with values, and operations on them |
//! | `log` | the replicated log behind a snapshot |
//! | `election` | votes, and leaders that step down |
//! | `members` | the nodes that count, and their changes |
//! | `pieces` | logs and stores in messages of bounded length |
//! | `replication` | the leader's log becomes that of the others |
//! | `sessions` | writes that clients repeat |
//! | `reads` | reads that need no entry in the log |
//! | `clients` | requests, and histories of them |
//! | `bug` | mistakes made on purpose |
//! | `answers` | answers to clients once an operation is done |
//! | `http` | requests and answers in the terms of HTTP |
//! | `changes` | changes of the members, by requests of clients |
//! | `operations` | requests of operators: status, readiness, the end of a leadership |
//! | `transfer` | a leader hands over |
//! | `tables` | the durable state in the durable map |
//! | `data` | the durable state in data files of earlier versions |
//! | `spec` | what must hold |

mod answers;
mod bug;
mod changes;
mod clients;
mod data;
mod election;
mod http;
mod log;
mod members;
mod operations;
mod pieces;
mod reads;
mod replication;
mod sessions;
mod spec;
mod store;
mod tables;
mod transfer;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use guest_sdk::linearizability;
use guest_sdk::{
    About, Context, LocalEvent, LocalEvents, NodeId, ParameterError, Parameters, Place, Properties, Protocol, Request,
    Response,
};
use serde::{Deserialize, Serialize};

use bug::Bug;
use pieces::Piece;
use tables::Before;

pub use data::Kept;
pub use log::{Command, Entry, Index, Log, Mark, Term};
pub use members::{Change, Joining, Members};
pub use pieces::{Incoming, Snapshot};
pub use reads::{Read, Reads};
pub use replication::Progress;
pub use sessions::{Once, Session, SessionId};
pub use store::{Condition, Item, Operation, Outcome, Page, Range, Revision, Sequential, Store, Write};
pub use tables::{Client, Disk};
pub use transfer::HandOver;

/// The configuration of a run.
#[derive(Clone, Debug)]
pub struct RaftKv {
    /// No node stands for election in a later term.
    terms: Term,
    /// Requests that each node gets in a search.
    requests: u64,
    /// Committed entries that stay in the log, for nodes that lag behind.
    kept: Index,
    /// Whether a leader repeats messages that others may not have received.
    heartbeats: bool,
    /// Whether nodes remember their clients' operations, for `linearizable`.
    records: bool,
    /// The number of keys in the requests of a search.
    keys: u64,
    /// Whether a leader steps down that hears no majority.
    steps_down: bool,
    /// Whether a node asks whether it would be elected before it stands for election.
    pre_vote: bool,
    /// Bytes of keys and values in one message, unless one of them has more.
    piece: usize,
    /// The maximum number of bytes of keys and values in a store, with operations that are not done yet.
    room: usize,
    /// The factor by which timers wait longer than on a fast network.
    patience: u32,
    /// Whether a leader sends an entry to a node once, with all others that wait, until an answer is late.
    batches: bool,
    /// The number of messages with entries that a node may owe answers to, with batches.
    pipeline: usize,
    /// Whether reads need no entry in the log.
    reads_by_index: bool,
    /// Whether writes count as revisions, on which conditions are.
    revisions: bool,
    /// The maximum number of sessions; 0: there are none.
    sessions: u32,
    /// How often each client repeats a write in a search.
    repeats: u64,
    /// The number of nodes that are members at first; 0: all nodes are, for good.
    members: u32,
    /// The number of nodes that stand for election; 0: all do.
    candidates: NodeId,
    /// The number of changes of the members in a search.
    changes: u32,
    /// Whether leaders hand over in a search.
    transfers: bool,
    bug: Bug,
}

/// A message between nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A Raft message; each has the sender's term.
    Raft {
        /// The sender's term.
        term: Term,
        /// The content.
        what: Raft,
    },
    /// The number of operations that the sender's clients have completed; only where histories are recorded.
    Returned(u32),
    /// The sender's client repeats a write, at the leader that the sender follows; in a search only.
    Repeated {
        /// The number of the request.
        number: u64,
        /// The write.
        operation: Operation,
    },
}

/// The content of a Raft message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Raft {
    /// Candidate to all others: vote for me; my log ends here.
    RequestVote(Mark),
    /// The answer: whether the candidate has the vote.
    Vote(bool),
    /// Leader to another node: make your log like mine.
    Append {
        /// The place before the first entry. The follower must have the same entry there.
        prev: Mark,
        /// The entries that follow in the leader's log.
        entries: Vec<Entry>,
        /// The last index that the leader has committed.
        commit: Index,
    },
    /// Leader to a node that lacks entries which the leader's log no longer has: the committed store.
    Install {
        /// The last entry in the store.
        last: Mark,
        /// The number of this piece, counted from 0.
        number: u32,
        /// The store after all entries up to there; of a store in pieces, some keys in their order.
        store: Store,
        /// Whether this is the last piece.
        is_last: bool,
    },
    /// The answer to both: the logs are equal up to here.
    Matched(Index),
    /// The answer to Append: the entry before is missing; the logs may be equal up to here.
    Missing(Index),
    /// The answer to Install: the first `count` pieces of this store have arrived.
    Took {
        /// The last entry in the store.
        last: Mark,
        /// The number of pieces.
        count: u32,
    },
    /// To all others: would you vote for me in the next term? My log ends here.
    AskVote(Mark),
    /// The answer.
    WouldVote(bool),
    /// Leader to another node: do you follow me, in this round of reads?
    Confirm(u32),
    /// The answer: yes.
    Confirmed(u32),
    /// Leader to a node whose log is like its own: stand for election at once.
    Stand,
}

/// An event at a node without a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The node has not heard from a leader for too long.
    Timeout,
    /// The leader announces itself, and sends the entries that others lack.
    Heartbeat,
    /// The leader counts the nodes that it has heard since the last check.
    Check,
    /// A client asks.
    Request {
        /// The number of the request.
        number: u64,
        /// The operation.
        operation: Operation,
    },
    /// A client asks for a change of the members.
    Change {
        /// The number of the request.
        number: u64,
        /// The change.
        change: Change,
    },
    /// The leader is asked to hand over.
    HandOver {
        /// The number of the request.
        number: u64,
    },
}

/// The role of a node in its term.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Votes, and stores the entries of a leader.
    Follower {
        /// The leader of the term, once it is known.
        leader: Option<NodeId>,
    },
    /// Wants to lead.
    Candidate {
        /// The nodes that have voted for it, itself included.
        votes: BTreeSet<NodeId>,
    },
    /// Takes requests and replicates them.
    Leader {
        /// The nodes that get the log: all others, or the other members, and those that become or have been one.
        followers: BTreeMap<NodeId, Progress>,
        /// The nodes heard from since the last check, if there are checks.
        heard: BTreeSet<NodeId>,
        /// The store as it is sent in pieces, while some node takes them.
        snapshot: Option<Box<Snapshot>>,
        /// The reads that need no entry in the log.
        reads: Reads,
        /// The node that is about to become a member.
        joining: Option<Joining>,
        /// The node to which the leader hands over, if it does.
        hand_over: Option<Box<HandOver>>,
    },
    /// Wants to stand for election, and asks whether it would win.
    Asking {
        /// The nodes that would vote for it, itself included.
        votes: BTreeSet<NodeId>,
    },
}

/// The operations of a node's clients, in order.
pub type History = linearizability::Client<Operation, Outcome>;

/// The state of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct State {
    /// The durable state, as the durable map has it.
    pub disk: Disk,
    /// The role of the node.
    pub role: Role,
    /// The pieces of a store received so far, if the leader sends it in several.
    pub incoming: Option<Incoming>,
    /// The room that the store takes.
    #[serde(skip)]
    pub used: usize,
}

impl Protocol for RaftKv {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Kept;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Self {
            terms: parameters.get("terms", 1, "the last term in which nodes stand for election; 0: there is none")?,
            requests: parameters.get("requests", 1, "how many requests each node gets in a search")?,
            kept: parameters.get("kept", 0, "committed entries that a log keeps, for nodes that are behind")?,
            heartbeats: parameters.get("heartbeats", false, "whether a leader says again what may have been lost")?,
            records: parameters.get("records", false, "whether nodes remember operations, for `linearizable`")?,
            keys: parameters.get("keys", 1, "how many keys are asked for in a search")?,
            steps_down: parameters.get("steps-down", false, "whether a leader steps down that hears no majority")?,
            pre_vote: parameters.get(
                "pre-vote",
                false,
                "whether a node asks for votes only where it would get them",
            )?,
            piece: parameters.get("piece", 48 << 10, "bytes in one message, unless one key or value has more")?,
            room: parameters.get(
                "room",
                4 << 20,
                "bytes of keys and values, and 64 for each, from which on writes are refused",
            )?,
            patience: parameters.get("patience", 1, "how many times longer timers wait than on a fast network")?,
            batches: parameters.get("batches", false, "whether a leader waits for a node before it sends it more")?,
            pipeline: parameters.get("pipeline", 1, "with `batches`, messages to a node before its first answer")?,
            reads_by_index: parameters.choice(
                "reads",
                &[("log", false), ("index", true)],
                "log: a read is an entry like a write; index: a majority confirms that the leader leads",
            )?,
            revisions: parameters.get("revisions", false, "whether writes count as revisions, for conditions")?,
            sessions: parameters.get("sessions", 0, "how many sessions of clients there are at most; 0: none")?,
            repeats: parameters.get("repeats", 0, "how often each client repeats a write in a search")?,
            members: parameters.get("members", 0, "how many nodes are members at first; 0: all, for good")?,
            candidates: parameters.get("candidates", 0, "how many nodes stand for election in a search; 0: all")?,
            changes: parameters.get("changes", 0, "how many changes of the members there are in a search")?,
            transfers: parameters.get("transfers", false, "whether leaders hand over in a search")?,
            bug: parameters.choice("bug", &bug::NAMES, "what is wrong on purpose")?,
        })
    }

    fn init(&self, ctx: &mut Context<Message>, durable: Option<Kept>) -> State {
        let disk = tables::start(self, ctx, durable);
        let used = disk.store.room();
        State { disk, role: Role::Follower { leader: None }, incoming: None, used }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        let before = Before::of(&state.disk);
        match message {
            Message::Raft { term, what } => self.handle_raft(ctx, state, (from, term), what),
            Message::Repeated { number, operation } => {
                clients::enter(self, ctx, state, Command { node: from, number, operation });
            }
            Message::Returned(count) => {
                if let Some(history) = &mut state.disk.history {
                    history.learn(from as linearizability::ClientId, count);
                }
            }
        }
        changes::settle(self, ctx, state);
        tables::end(self, ctx, &before, &state.disk);
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        let is_leader = matches!(state.role, Role::Leader { .. });
        // A node asks again whether it would be elected only where messages may be lost: else a search has no end.
        let waits = matches!(state.role, Role::Asking { .. }) && !self.heartbeats;
        let may_stand = members::may_stand(events.me(), &state.disk);
        // A node that is no member only forgets its leader, which matters where messages may be lost.
        let forgets = !may_stand && self.heartbeats && matches!(state.role, Role::Follower { leader: Some(_) });
        let has_term = self.terms == 0 || state.disk.term < self.terms;
        let stands = self.candidates == 0 || events.me() < self.candidates;
        if forgets || may_stand && stands && !is_leader && !waits && has_term {
            events.timer("timeout", Local::Timeout);
        }
        if is_leader && self.heartbeats {
            events.timer("heartbeat", Local::Heartbeat);
        }
        if is_leader && self.steps_down {
            events.timer("check", Local::Check);
        }
        clients::list(self, state, events);
        changes::list(self, state, events);
        transfer::list(self, state, events);
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        let before = Before::of(&state.disk);
        match event {
            Local::Timeout if !members::may_stand(ctx.me(), &state.disk) => {
                state.role = Role::Follower { leader: None }
            }
            Local::Timeout if self.pre_vote => election::ask(self, ctx, state),
            Local::Timeout => election::stand(self, ctx, state),
            Local::Heartbeat => {
                changes::wait(ctx, state);
                transfer::wait(ctx, state);
                replication::repeat(self, ctx, state);
            }
            Local::Check => election::check(ctx, state),
            Local::Request { number, operation } => clients::request(self, ctx, state, (number, operation)),
            Local::Change { number, change } => changes::change(self, ctx, state, (number, change)),
            Local::HandOver { number } => transfer::begin(ctx, state, number),
        }
        changes::settle(self, ctx, state);
        tables::end(self, ctx, &before, &state.disk);
    }

    /// A time-out takes at least three heartbeats, and the time-outs of two nodes differ enough for one of them to win its election.
    fn duration(&self, _: Place, _: &State, event: &Local) -> Option<RangeInclusive<Duration>> {
        let milliseconds = |from, to| {
            let waiting = |number| Duration::from_millis(number) * self.patience;
            Some(waiting(from)..=waiting(to))
        };
        match event {
            Local::Timeout => milliseconds(150, 300),
            Local::Heartbeat => milliseconds(50, 50),
            // By then a node that does not hear the leader has stood for election.
            Local::Check => milliseconds(300, 300),
            Local::Request { .. } | Local::Change { .. } | Local::HandOver { .. } => None,
        }
    }

    fn request(
        &self,
        place: Place,
        state: &State,
        number: u64,
        request: Request,
    ) -> Result<LocalEvent<Local>, Response> {
        if let Some(accepted) = operations::accept(place, state, number, &request) {
            return accepted.map(|(name, event)| LocalEvent::application(name, event));
        }
        let (name, event) = match changes::accept(self, place, state, number, &request) {
            Some(accepted) => accepted?,
            None => clients::accept(self, state, number, request)?,
        };
        clients::direct(place, state, name, event)
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

impl RaftKv {
    fn handle_raft(&self, ctx: &mut Context<Message>, state: &mut State, (from, term): (NodeId, Term), what: Raft) {
        election::observe_term(ctx, state, term);
        let is_current = term == state.disk.term;
        if let Role::Leader { heard, .. } = &mut state.role
            && self.steps_down
            && is_current
        {
            heard.insert(from);
        }
        if is_current {
            members::heard(state, from);
        }
        match what {
            Raft::RequestVote(last) => election::request_vote(self, ctx, state, (from, term), last),
            Raft::Vote(true) if is_current => election::vote(self, ctx, state, from),
            Raft::Append { .. } | Raft::Install { .. } | Raft::Confirm(_) if !is_current => {
                // Its sender learns of the later term.
                tell(ctx, state, from, Raft::Missing(0));
            }
            Raft::Append { prev, entries, commit } => {
                replication::append(self, ctx, state, from, (prev, &entries, commit));
            }
            Raft::Install { last, number, store, is_last } => {
                replication::install(ctx, state, from, Piece { last, number, store, is_last });
            }
            Raft::Matched(index) if is_current => {
                replication::matched(self, ctx, state, from, index);
                changes::matched(self, ctx, state, from);
                transfer::advance(ctx, state);
            }
            Raft::Missing(index) if is_current => replication::missing(self, ctx, state, from, index),
            Raft::Took { last, count } if is_current => replication::took(self, ctx, state, from, (last, count)),
            Raft::AskVote(last) => election::asked(self, ctx, state, (from, term), last),
            Raft::Confirm(round) => replication::confirm(ctx, state, from, round),
            Raft::Confirmed(round) if is_current => reads::confirmed(self, ctx, state, from, round),
            Raft::Stand if is_current => election::told(self, ctx, state, from),
            Raft::WouldVote(true) if is_current => election::would_vote(self, ctx, state, from),
            Raft::Vote(_)
            | Raft::Matched(_)
            | Raft::Missing(_)
            | Raft::Took { .. }
            | Raft::WouldVote(_)
            | Raft::Confirmed(_)
            | Raft::Stand => {}
        }
    }
}

/// Sends a node a Raft message in the present term.
fn tell(ctx: &mut Context<Message>, state: &State, to: NodeId, what: Raft) {
    ctx.send(to, Message::Raft { term: state.disk.term, what });
}

fn others(ctx: &Context<Message>) -> impl Iterator<Item = NodeId> + use<> {
    let me = ctx.me();
    (0..ctx.nodes()).filter(move |node| *node != me)
}

guest_sdk::export!(RaftKv);
