//! The role of each node, and the other differences between the two models.

use std::collections::BTreeSet;
use std::ops::Range;

use guest_sdk::{Context, NodeId, ParameterError, Parameters};

use crate::{Ballot, Learner, Message, Proposal};

/// The roles of the nodes.
#[derive(Clone, Debug)]
pub(crate) struct RoleAssignment {
    /// The number of proposers: the first nodes.
    proposers: NodeId,
    acceptors: Range<NodeId>,
    learners: Range<NodeId>,
    model: Model,
}

/// The origin of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// Every node plays all roles and notes the senders of answers; an acceptor answers every Prepare that is not too low.
    Lmc,
    /// A node plays one role and counts answers; an acceptor answers a Prepare above its promise.
    MpBasset,
}

impl RoleAssignment {
    pub(crate) fn configure(parameters: &mut Parameters, proposers: u32) -> Result<Self, ParameterError> {
        let model = parameters.choice(
            "model",
            &[("lmc", Model::Lmc), ("mp-basset", Model::MpBasset)],
            "lmc: every node plays all roles. mp-basset: proposers come first, learners last, the others are acceptors; \
             answers are counted, which is wrong where one is delivered twice",
        )?;
        let learners = parameters.get("learners", 1, "how many nodes only learn, with model=mp-basset")?;
        let nodes = parameters.nodes();
        if proposers > nodes {
            return Err(parameters.reject("proposers", format_args!("there are only {nodes} nodes")));
        }
        if model == Model::Lmc {
            return Ok(Self { proposers, acceptors: 0..nodes, learners: 0..nodes, model });
        }
        match nodes.checked_sub(proposers).and_then(|others| others.checked_sub(learners)) {
            None | Some(0) => {
                let reason = format_args!(
                    "besides proposers and learners ({proposers} and {learners}) there must be an acceptor"
                );
                Err(parameters.reject_nodes(reason))
            }
            Some(acceptors) => {
                let acceptors = proposers..proposers + acceptors;
                Ok(Self { proposers, learners: acceptors.end..nodes, acceptors, model })
            }
        }
    }

    /// Whether a node that proposes or accepts learns as well.
    pub(crate) fn shares_nodes(&self) -> bool {
        self.model == Model::Lmc
    }

    pub(crate) fn proposes(&self, node: NodeId) -> bool {
        node < self.proposers
    }

    /// Enough acceptors that any two sets of them have one in common.
    pub(crate) fn majority(&self) -> usize {
        self.acceptors.len() / 2 + 1
    }

    pub(crate) fn to_acceptors(&self, ctx: &mut Context<Message>, message: &Message) {
        self.acceptors.clone().for_each(|node| ctx.send(node, message.clone()));
    }

    pub(crate) fn to_learners(&self, ctx: &mut Context<Message>, message: &Message) {
        self.learners.clone().for_each(|node| ctx.send(node, message.clone()));
    }

    /// Whether an acceptor that has promised a ballot answers a Prepare.
    pub(crate) fn promises(&self, promised: Ballot, ballot: Ballot) -> bool {
        match self.model {
            Model::Lmc => ballot >= promised,
            Model::MpBasset => ballot > promised,
        }
    }

    /// The note of a further answer: its sender, or its number.
    pub(crate) fn note(&self, noted: &BTreeSet<NodeId>, from: NodeId) -> NodeId {
        match self.model {
            Model::Lmc => from,
            Model::MpBasset => noted.len() as NodeId,
        }
    }

    /// Whether a learner that takes votes together has no use for those of a proposal. In MP-Basset it forms every quorum.
    pub(crate) fn is_done(&self, learner: &Learner, proposal: Proposal) -> bool {
        self.model == Model::Lmc && learner.chosen.contains(&proposal.value)
    }

    /// The nodes that play the same role, but for proposers, which have ballots of their own.
    pub(crate) fn interchangeable(&self) -> Vec<Vec<NodeId>> {
        match self.model {
            Model::Lmc => vec![(self.proposers..self.acceptors.end).collect()],
            Model::MpBasset => vec![self.acceptors.clone().collect(), self.learners.clone().collect()],
        }
    }
}
