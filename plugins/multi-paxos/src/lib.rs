//! Multi-Paxos. Every node is proposer, acceptor and learner, and sends to itself through the network.
//!
//! Source: Lamport, "Paxos Made Simple", 2001; Yabandeh, "Model Checking of Distributed Algorithm Implementations", EPFL
//! thesis, 2011, section 5.2; the test driver is that of Guerraoui and Yabandeh, "Model Checking a Networked System
//! Without the Network", NSDI 2011, section 4.2.

mod acceptor;
mod learner;
mod proposer;
mod spec;

use std::collections::BTreeMap;

use guest_sdk::{About, Context, LocalEvents, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

pub use acceptor::Acceptor;
pub use learner::{Learner, Vote};
pub use proposer::{Phase, Proposer, Used, command_of};

/// The number of an attempt to lead: node `p` of `N` has `p + 1`, `N + p + 1` and so on; 0 is below all of them.
pub type Ballot = u32;

/// A place in the log, from 0.
pub type Index = u32;

/// A command, or [`NOTHING`].
pub type Value = u32;

/// The proposal of a leader for a gap in the log.
pub const NOTHING: Value = 0;

/// A value under a ballot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Proposal {
    /// The attempt to lead that it belongs to; the higher one counts.
    pub ballot: Ballot,
    /// The proposed value.
    pub value: Value,
}

/// The configuration of a run.
#[derive(Clone, Debug)]
pub struct MultiPaxos {
    /// The number of nodes with a client: the first ones.
    proposers: u32,
    /// The number of commands of each client.
    commands: u32,
    /// The number of ballots that each node may begin.
    ballots: u32,
    nodes: u32,
    bug: Bug,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// The leader proposes the values of the response that completed the majority, not those of the highest ballot.
    LastResponse,
    /// The acceptor's promise and accepted proposals do not survive a reset.
    ForgetAccepted,
    /// A learner counts votes only for the first proposal that it hears of for an index.
    FirstVote,
}

/// The messages between nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Proposer to acceptors: promise to ignore lower ballots.
    Prepare {
        /// The ballot to promise.
        ballot: Ballot,
        /// The proposals accepted for lower indices are known.
        first: Index,
    },
    /// Acceptor to proposer: promised.
    PrepareResponse {
        /// The ballot that was promised.
        ballot: Ballot,
        /// The last proposal that the acceptor accepted for each requested index.
        accepted: BTreeMap<Index, Proposal>,
    },
    /// Leader to acceptors: accept unless you promised not to.
    Accept {
        /// The place in the log.
        index: Index,
        /// The proposal to accept.
        proposal: Proposal,
    },
    /// Acceptor to learners: accepted.
    Learn {
        /// The place in the log.
        index: Index,
        /// The accepted proposal.
        proposal: Proposal,
    },
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The client gives a command.
    Command,
    /// Some command takes too long.
    Retry,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// Brings commands into the log.
    pub proposer: Proposer,
    /// Votes.
    pub acceptor: Acceptor,
    /// Counts votes.
    pub learner: Learner,
}

/// The durable state: the votes, and the numbers that must not be used twice. Choices can be learned again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {
    /// Promise and accepted proposals.
    pub acceptor: Acceptor,
    /// Ballots and commands.
    pub used: Used,
}

impl Protocol for MultiPaxos {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Disk;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let proposers = parameters.get("proposers", 2, "how many nodes, the first ones, have a client")?;
        let commands = parameters.get("commands", 1, "how many commands each client gives")?;
        let ballots = parameters.get("ballots", 1, "how often each node may try to lead")?;
        let bug = parameters.choice(
            "bug",
            &[
                ("none", Bug::None),
                ("last-response", Bug::LastResponse),
                ("forget-accepted", Bug::ForgetAccepted),
                ("first-vote", Bug::FirstVote),
            ],
            "what is wrong on purpose",
        )?;
        let nodes = parameters.nodes();
        if proposers > nodes {
            let reason = format_args!("there are only {nodes} nodes");
            return Err(parameters.reject("proposers", reason));
        }
        if commands > 100 {
            return Err(parameters.reject("commands", "it is at most 100"));
        }
        Ok(Self { proposers, commands, ballots, nodes, bug })
    }

    fn init(&self, _: &mut Context<Message>, durable: Option<Disk>) -> State {
        let disk = durable.unwrap_or_default();
        let proposer = Proposer { used: disk.used, phase: Phase::Following };
        State { proposer, acceptor: disk.acceptor, learner: Learner::default() }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        let State { proposer, acceptor, learner } = state;
        match message {
            Message::Prepare { ballot, first } => acceptor.prepare(ctx, from, ballot, first),
            Message::Accept { index, proposal } => acceptor.accept(ctx, index, proposal),
            Message::Learn { index, proposal } => {
                let vote = Vote { index, proposal, acceptor: from };
                if self.bug != Bug::FirstVote || learner.fits(&vote) {
                    learner.learn(vote, ctx.majority());
                }
            }
            Message::PrepareResponse { ballot, accepted } => {
                let trust_last = self.bug == Bug::LastResponse;
                proposer.prepare_response(ctx, from, (ballot, accepted), learner, trust_last);
            }
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        let State { proposer, acceptor, learner } = state;
        if events.me() >= self.proposers {
            return;
        }
        let has_ballot = proposer.used.ballots < self.ballots;
        let leads = matches!(proposer.phase, Phase::Leading { .. }) && acceptor.promised <= proposer.used.ballot;
        if proposer.used.commands < self.commands && (leads || (has_ballot && !proposer.is_collecting())) {
            events.application("command", Local::Command);
        }
        if has_ballot && !proposer.open_commands(events.me(), learner).is_empty() {
            events.timer("retry", Local::Retry);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        let State { proposer, acceptor, learner } = state;
        match event {
            Local::Command => proposer.command(ctx, acceptor, learner),
            Local::Retry => proposer.campaign(ctx, acceptor, learner),
        }
    }

    fn persist(&self, state: &State) -> Option<Disk> {
        let acceptor = match self.bug {
            Bug::ForgetAccepted => Acceptor::default(),
            _ => state.acceptor.clone(),
        };
        Some(Disk { acceptor, used: state.proposer.used })
    }

    /// The nodes without a client. Messages name nodes only in ballots and values, which are those of the others.
    fn interchangeable(&self, nodes: u32) -> Vec<Vec<NodeId>> {
        vec![(self.proposers..nodes).collect()]
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

guest_sdk::export!(MultiPaxos);
