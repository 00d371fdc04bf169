//! 1Paxos, also called PaxosInside: one acceptor at a time, which the leader replaces when it fails. A Paxos below agrees
//! on the leader and the acceptor, so each node is a stack of two protocols.
//!
//! Source: Yabandeh, "Model Checking of Distributed Algorithm Implementations", EPFL thesis, 2011, chapter 5 and
//! appendices B and C; line numbers are those of its figure B.1. The README says where this differs, and why.

mod acceptor;
mod learner;
mod proposer;
mod spec;
mod utility;

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::num::ParseIntError;
use std::str::FromStr;

use guest_sdk::{About, Context, LocalEvents, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

pub use acceptor::Acceptor;
pub use learner::Learner;
pub use proposer::{Proposer, Used};
pub use utility::{Message as UtilityMessage, Utility};

/// The number of a proposal: the length of the utility's log when its leader became it.
pub type Number = u32;

/// A place in the log of the upper protocol, from 0.
pub type Index = u32;

/// A command: the first of node `p` is `100 (p + 1)`.
pub type Value = u32;

/// An entry of the utility's log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// The node that inserted it.
    pub by: NodeId,
    /// The change that it makes.
    pub change: Change,
}

/// A change of the leader or the acceptor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Change {
    /// The node that inserted the entry becomes the leader.
    Leader {
        /// The acceptor that it will work with.
        acceptor: NodeId,
    },
    /// There is another acceptor.
    Acceptor {
        /// The new acceptor.
        acceptor: NodeId,
        /// The values that earlier acceptors may have accepted.
        proposals: BTreeMap<Index, Value>,
    },
}

/// The configuration of a run.
#[derive(Clone, Debug)]
pub struct OneAcceptor {
    commands: u32,
    takeovers: u32,
    switches: u32,
    rival: Rival,
    bug: Bug,
    judges_all: bool,
}

/// The nodes that suspect the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rival {
    Any,
    Only(NodeId),
}

impl FromStr for Rival {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        if text == "any" { Ok(Self::Any) } else { text.parse().map(Self::Only) }
    }
}

impl Display for Rival {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Only(node) => write!(f, "{node}"),
        }
    }
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// The init function takes the leader for the acceptor.
    PostIncrement,
    /// As printed: a new leader tells the acceptor that it must be fresh (line 35).
    AsPrinted,
    /// A new acceptor is announced with the proposals that the leader has not learned (line 8, `uncommittedProposals`).
    Uncommitted,
}

/// The messages between nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Between the lower protocols.
    Utility(UtilityMessage<Entry>),
    /// Leader to acceptor: adopt me.
    PrepareRequest {
        /// The number of its proposals.
        number: Number,
        /// Whether the acceptor must have adopted no node before (`YouMustBeFresh`), or must have.
        must_be_fresh: bool,
    },
    /// Acceptor to leader: adopted.
    PrepareResponse {
        /// The number that it asked with.
        number: Number,
        /// The values that the acceptor accepted.
        accepted: BTreeMap<Index, Value>,
    },
    /// Leader to acceptor: accept.
    AcceptRequest {
        /// The number that it was adopted with.
        number: Number,
        /// The place in the log.
        index: Index,
        /// The value to accept.
        value: Value,
    },
    /// Acceptor to all: accepted, and so chosen.
    Learn {
        /// The place in the log.
        index: Index,
        /// The accepted value.
        value: Value,
    },
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The client of a leader gives a command.
    Command,
    /// The fault detector suspects the leader.
    LeaderFailure,
    /// The fault detector of the leader suspects the acceptor.
    AcceptorFailure,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// The number of the node, for the specification.
    pub me: NodeId,
    /// The lower protocol.
    pub utility: Utility<Entry>,
    /// Leads.
    pub proposer: Proposer,
    /// Accepts.
    pub acceptor: Acceptor,
    /// Learns.
    pub learner: Learner,
}

/// The durable state: nothing of the upper protocol, which claims to need none, except the resources that the run has used up.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {
    /// The lower protocol.
    pub utility: Utility<Entry>,
    /// The used resources.
    pub used: Used,
}

/// The node that inserted the last entry that names a leader.
pub(crate) fn global_leader<'e>(log: impl DoubleEndedIterator<Item = &'e Entry>) -> Option<NodeId> {
    log.rev().find_map(|entry| matches!(entry.change, Change::Leader { .. }).then_some(entry.by))
}

/// The acceptor that the last entry about acceptors names.
pub(crate) fn global_acceptor<'e>(log: impl DoubleEndedIterator<Item = &'e Entry>) -> Option<NodeId> {
    log.rev().find_map(|entry| match entry.change {
        Change::Acceptor { acceptor, .. } => Some(acceptor),
        Change::Leader { .. } => None,
    })
}

/// The two entries that are there from the start: node 0 leads, node 1 accepts.
fn first_entries() -> [Entry; 2] {
    let acceptor = Change::Acceptor { acceptor: 1, proposals: BTreeMap::new() };
    [Entry { by: 0, change: Change::Leader { acceptor: 1 } }, Entry { by: 0, change: acceptor }]
}

impl Protocol for OneAcceptor {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Disk;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let commands =
            parameters.get("commands", 1, "how many commands the client of each node gives while it leads")?;
        let takeovers = parameters.get("takeovers", 1, "how often each node suspects the leader")?;
        let rival = parameters.get(
            "rival",
            Rival::Only(2),
            "which node suspects the leader: its number, or any for all of them",
        )?;
        let switches = parameters.get("switches", 1, "how often node 0 suspects the acceptor while it leads")?;
        let bug = parameters.choice(
            "bug",
            &[
                ("none", Bug::None),
                ("post-increment", Bug::PostIncrement),
                ("as-printed", Bug::AsPrinted),
                ("uncommitted", Bug::Uncommitted),
            ],
            "what is wrong on purpose",
        )?;
        let judges_all = parameters.choice(
            "judge",
            &[("all", true), ("agreement", false)],
            "which properties are judged: all, or agreement and the goals alone",
        )?;
        match parameters.nodes() {
            0..3 => Err(parameters.reject_nodes("leader, acceptor and a backup are three")),
            _ => Ok(Self { commands, takeovers, switches, rival, bug, judges_all }),
        }
    }

    fn init(&self, ctx: &mut Context<Message>, durable: Option<Disk>) -> State {
        let (mut proposer, mut acceptor) = (Proposer::default(), Acceptor::default());
        let utility = match durable {
            Some(disk) => {
                proposer.used = disk.used;
                disk.utility
            }
            None => {
                let utility = Utility::new(first_entries());
                self.boot(ctx.me(), utility.length(), &mut proposer, &mut acceptor);
                utility
            }
        };
        State { me: ctx.me(), utility, proposer, acceptor, learner: Learner::default() }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        let State { proposer, acceptor, learner, .. } = state;
        match message {
            Message::Utility(message) => self.utility_message(ctx, state, from, message),
            Message::PrepareRequest { number, must_be_fresh } => acceptor.prepare(ctx, from, number, must_be_fresh),
            Message::PrepareResponse { number, accepted } => {
                proposer.adopted(ctx, from, (number, accepted), learner);
            }
            Message::AcceptRequest { number, index, value } => acceptor.accept(ctx, number, index, value),
            Message::Learn { index, value } => {
                learner.chosen.entry(index).or_insert(value);
            }
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        let State { proposer, utility, .. } = state;
        let is_rival = [Rival::Any, Rival::Only(events.me())].contains(&self.rival);
        if is_rival && !proposer.leads && proposer.used.takeovers < self.takeovers {
            // A node that is the acceptor cannot become the leader (line 29).
            if global_acceptor(utility.entries()) != Some(events.me()) {
                events.timer("leader-failure", Local::LeaderFailure);
            }
        }
        // A command proposed while the utility agrees on another acceptor would not be among the proposals announced with it.
        if proposer.leads && proposer.waits_for.is_none() && proposer.used.commands < self.commands {
            events.application("command", Local::Command);
        }
        if events.me() == 0 && proposer.leads && proposer.used.switches < self.switches {
            events.timer("acceptor-failure", Local::AcceptorFailure);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        let State { utility, proposer, learner, .. } = state;
        let entry = match event {
            Local::Command => {
                proposer.used.commands += 1;
                proposer.propose(ctx, learner);
                None
            }
            Local::LeaderFailure => proposer.take_over(ctx.me(), utility.entries()),
            Local::AcceptorFailure => proposer.switch(ctx, utility.entries(), learner, self.bug == Bug::Uncommitted),
        };
        if let Some(entry) = entry {
            let mut post = post(ctx);
            utility.propose(&mut post, entry);
            send(ctx, post);
        }
    }

    fn persist(&self, state: &State) -> Option<Disk> {
        Some(Disk { utility: state.utility.restarted(), used: state.proposer.used })
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

impl OneAcceptor {
    /// The first start: the first member leads, the second is the acceptor, and has adopted it.
    fn boot(&self, me: NodeId, number: Number, proposer: &mut Proposer, acceptor: &mut Acceptor) {
        let [leader, second] = [0, 1];
        // `*(members.begin()++)` is the first member in place of the second, for every node that evaluates it.
        let taken_for_acceptor = if self.bug == Bug::PostIncrement { leader } else { second };
        if me == leader {
            proposer.leads = true;
            proposer.active = Some(taken_for_acceptor);
            proposer.number = number;
        }
        // The entries name the right acceptor, whichever one the init function takes.
        if me == taken_for_acceptor || Some(me) == global_acceptor(first_entries().iter()) {
            acceptor.promised = Some(number);
        }
    }

    fn utility_message(
        &self,
        ctx: &mut Context<Message>,
        state: &mut State,
        from: NodeId,
        message: UtilityMessage<Entry>,
    ) {
        let State { utility, proposer, .. } = state;
        let mut post = post(ctx);
        let outcome = utility.receive(&mut post, from, message);
        send(ctx, post);
        if let Some(outcome) = outcome {
            let announced = utility.entries().rev().find_map(|entry| match &entry.change {
                Change::Acceptor { proposals, .. } => Some(proposals.clone()),
                Change::Leader { .. } => None,
            });
            let known = (utility.length(), announced.unwrap_or_default());
            proposer.agreed(ctx, outcome, known, self.bug == Bug::AsPrinted);
        }
    }
}

fn post(ctx: &Context<Message>) -> utility::Post<Entry> {
    utility::Post { me: ctx.me(), nodes: ctx.nodes(), sent: Vec::new() }
}

fn send(ctx: &mut Context<Message>, post: utility::Post<Entry>) {
    for (to, message) in post.sent {
        ctx.send(to, Message::Utility(message));
    }
}

guest_sdk::export!(OneAcceptor);
