//! Single-decree Paxos. Every node is proposer, acceptor and learner, and sends to itself through the network; or nodes have one
//! role each.
//!
//! Source: Lamport, "Paxos Made Simple", 2001; the variants of Guerraoui and Yabandeh, "Model Checking a Networked
//! System Without the Network", NSDI 2011, and of Bokor, Kinder, Serafini and Suri, "Efficient Model Checking of Fault-Tolerant
//! Distributed Protocols", DSN 2011. The README compares the counts with theirs.

mod acceptor;
mod learner;
mod proposer;
mod role_assignment;
mod spec;

use guest_sdk::{About, Context, LocalEvents, NodeId, ParameterError, Parameters, Place, Properties, Protocol, Role};
use serde::{Deserialize, Serialize};

pub use acceptor::Acceptor;
pub use learner::{Learner, Vote};
pub use proposer::Proposer;
use role_assignment::RoleAssignment;

/// The number of a proposal. The first attempt of proposer `p` has ballot `p + 1`, each further one a ballot that is higher
/// by the number of nodes; 0 is below all of them.
pub type Ballot = u32;

/// The value to agree on. Proposer `p` wants `100 + p`.
pub type Value = u32;

/// A value under a ballot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Proposal {
    /// The attempt that it belongs to; the higher one counts.
    pub ballot: Ballot,
    /// The proposed value.
    pub value: Value,
}

/// The answer of an acceptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    /// The ballot that it promised.
    pub(crate) ballot: Ballot,
    /// The last proposal that it accepted, if any.
    pub(crate) accepted: Option<Proposal>,
}

/// The configuration of a run.
#[derive(Clone, Debug)]
pub struct Paxos {
    assignment: RoleAssignment,
    attempts: u32,
    nodes: u32,
    boot: Boot,
    quorum: bool,
    bug: Bug,
}

/// The way in which a node starts to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Boot {
    /// Before the first event.
    AtStart,
    /// By an event of its own, so that nodes start at different times; messages that come too early are lost.
    ByEvent,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// The proposer takes the value of the response that completed the majority, not the one of the highest ballot.
    LastResponse,
    /// The acceptor's promise and accepted proposal do not survive a reset.
    ForgetAccepted,
    /// An acceptor accepts only ballots above the one that it has promised, and so not this one.
    StrictAccept,
}

/// The messages between nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Proposer to acceptors: promise to ignore lower ballots.
    Prepare {
        /// The ballot to promise.
        ballot: Ballot,
    },
    /// Acceptor to proposer: promised.
    PrepareResponse {
        /// The ballot that was promised.
        ballot: Ballot,
        /// The last proposal that the acceptor accepted, if any.
        accepted: Option<Proposal>,
    },
    /// Proposer to acceptors: accept unless you promised not to.
    Accept(Proposal),
    /// Acceptor to learners: accepted.
    Learn(Proposal),
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The node starts to live.
    Init,
    /// The application wants the node's value.
    Propose,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// Not yet alive; the contents of the disk.
    Uninitialised(Disk),
    /// Alive.
    Running(Roles),
}

/// The three roles of a node that is alive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Roles {
    /// The number of its ballots that the proposer has used up.
    pub attempts: u32,
    /// Finds a value that can be chosen.
    pub proposer: Proposer,
    /// Votes.
    pub acceptor: Acceptor,
    /// Counts votes.
    pub learner: Learner,
}

/// The durable state. A proposer must not use a ballot for a second value, so the number of used ballots survives too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {
    /// Promise and accepted proposal.
    pub acceptor: Acceptor,
    /// The number of the node's ballots that are used up.
    pub attempts: u32,
}

impl Protocol for Paxos {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Disk;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let proposers = parameters.get_unless(
            "proposers",
            "auto",
            "how many nodes propose, each with ballots and a value of its own; auto: 1, or 2 with a bug, since two \
             values are needed to see one",
        )?;
        let attempts =
            parameters.get("attempts", 1, "how often each of them may propose, with a higher ballot each time")?;
        let boot = parameters.choice(
            "init",
            &[("boot", Boot::AtStart), ("event", Boot::ByEvent)],
            "whether nodes are alive from the start or by an event of their own",
        )?;
        let quorum = parameters.choice(
            "quorum",
            &[("off", false), ("on", true)],
            "whether the responses and votes of a majority are taken at once",
        )?;
        let bug = parameters.choice(
            "bug",
            &[
                ("none", Bug::None),
                ("last-response", Bug::LastResponse),
                ("forget-accepted", Bug::ForgetAccepted),
                ("strict-accept", Bug::StrictAccept),
            ],
            "what is wrong on purpose",
        )?;
        let proposers = match (proposers, bug) {
            (Some(count), _) => count,
            (None, Bug::None) => 1,
            (None, _) => parameters.nodes().min(2),
        };
        let assignment = RoleAssignment::configure(parameters, proposers)?;
        let nodes = parameters.nodes();
        if attempts == 0 || attempts > (Ballot::MAX - nodes) / nodes {
            return Err(parameters.reject("attempts", "there must be at least one, and a ballot for each"));
        }
        Ok(Self { assignment, attempts, nodes, boot, quorum, bug })
    }

    fn init(&self, ctx: &mut Context<Message>, durable: Option<Disk>) -> State {
        let disk = durable.unwrap_or_default();
        match self.boot {
            Boot::AtStart => State::Running(self.roles(ctx.me(), disk)),
            Boot::ByEvent => State::Uninitialised(disk),
        }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        let State::Running(roles) = state else { return };
        let assignment = &self.assignment;
        match message {
            Message::Prepare { ballot } => roles.acceptor.prepare(ctx, assignment, from, ballot),
            Message::Accept(Proposal { ballot, .. })
                if self.bug == Bug::StrictAccept && ballot == roles.acceptor.promised => {}
            Message::Accept(proposal) => roles.acceptor.accept(ctx, assignment, proposal),
            Message::Learn(proposal) => roles.learner.learn(assignment, from, proposal),
            Message::PrepareResponse { ballot, accepted } => {
                let trust_last = self.bug == Bug::LastResponse;
                let own = self.ballot(ctx.me(), roles.attempts);
                // An answer to another attempt than the current one is late.
                if Some(ballot) == own {
                    roles.proposer.prepare_response(ctx, assignment, from, Promise { ballot, accepted }, trust_last);
                }
            }
        }
    }

    fn takes_quorums(&self) -> bool {
        self.quorum
    }

    /// Responses to the current attempt are taken together, and so are votes for values that are not chosen yet. Others are of no
    /// use, and stay where they are.
    fn role(&self, place: Place, state: &State, _from: NodeId, message: &Message) -> Role {
        let State::Running(roles) = state else { return Role::Alone };
        let size = self.assignment.majority() as u32;
        match message {
            Message::PrepareResponse { ballot, .. } => {
                let is_collecting = matches!(roles.proposer, Proposer::Collecting { .. });
                match is_collecting && Some(*ballot) == self.ballot(place.me, roles.attempts) {
                    true => Role::Member { name: "promises", size },
                    false => Role::Held,
                }
            }
            Message::Learn(proposal) => match self.assignment.is_done(&roles.learner, *proposal) {
                false => Role::Member { name: "votes", size },
                true => Role::Held,
            },
            _ => Role::Alone,
        }
    }

    /// Declines votes for different proposals.
    fn handle_quorum(
        &self,
        ctx: &mut Context<Message>,
        state: &mut State,
        name: &str,
        messages: Vec<(NodeId, Message)>,
    ) -> bool {
        if name == "votes" {
            let State::Running(roles) = state else { return false };
            let proposal =
                |message: &Message| if let Message::Learn(proposal) = message { Some(*proposal) } else { None };
            let Some(first) = messages.first().and_then(|(_, message)| proposal(message)) else { return false };
            let is_same = messages.iter().all(|(_, message)| proposal(message) == Some(first));
            if is_same {
                roles.learner.chosen.insert(first.value);
            }
            return is_same;
        }
        self.handle_one_by_one(ctx, state, messages)
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        match state {
            State::Uninitialised(_) => events.internal("init", Local::Init),
            State::Running(roles) if roles.attempts < self.attempts => {
                events.application("propose", Local::Propose);
            }
            State::Running(_) => {}
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        match (event, &mut *state) {
            (Local::Init, State::Uninitialised(disk)) => {
                *state = State::Running(self.roles(ctx.me(), std::mem::take(disk)));
            }
            (Local::Propose, State::Running(roles)) => {
                roles.attempts += 1;
                let ballot = self.ballot(ctx.me(), roles.attempts).expect("an attempt has just begun");
                roles.proposer.propose(ctx, &self.assignment, ballot);
            }
            (event, state) => unreachable!("{event:?} is not possible in {state:?}"),
        }
    }

    fn persist(&self, state: &State) -> Option<Disk> {
        let mut disk = match state {
            State::Uninitialised(disk) => disk.clone(),
            State::Running(roles) => Disk { acceptor: roles.acceptor.clone(), attempts: roles.attempts },
        };
        if self.bug == Bug::ForgetAccepted {
            disk.acceptor = Acceptor::default();
        }
        Some(disk)
    }

    /// The nodes of the same role. Messages name nodes only in ballots and values, which are those of proposers.
    fn interchangeable(&self, _nodes: u32) -> Vec<Vec<NodeId>> {
        self.assignment.interchangeable()
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

impl Paxos {
    fn roles(&self, me: NodeId, disk: Disk) -> Roles {
        // A node that proposes nothing has no attempts left.
        let attempts = if self.assignment.proposes(me) { disk.attempts } else { self.attempts };
        let proposer = if attempts < self.attempts { Proposer::Ready } else { Proposer::Done };
        Roles { attempts, proposer, acceptor: disk.acceptor, learner: Learner::default() }
    }

    /// The ballot of the last of this many attempts of a node; none before the first.
    fn ballot(&self, me: NodeId, attempts: u32) -> Option<Ballot> {
        Some(attempts.checked_sub(1)? * self.nodes + me + 1)
    }
}

guest_sdk::export!(Paxos);
