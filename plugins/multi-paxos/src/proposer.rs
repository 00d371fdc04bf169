//! The proposer: brings the commands of its client into the log, as the leader.

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::{Context, NodeId};
use serde::{Deserialize, Serialize};

use crate::{Acceptor, Ballot, Index, Learner, Message, NOTHING, Proposal, Value};

/// The state of a proposer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Proposer {
    /// The numbers that must not be used twice.
    pub used: Used,
    /// The phase of its ballot.
    pub phase: Phase,
}

/// The numbers that a proposer has used up; they survive a reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Used {
    /// The last ballot of this node; 0 before the first.
    pub ballot: Ballot,
    /// The number of ballots that it has begun.
    pub ballots: u32,
    /// The number of commands that its client has given.
    pub commands: u32,
}

/// The phase of a proposer's ballot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Neither leads nor wants to.
    #[default]
    Following,
    /// Waits for a majority of promises.
    Collecting {
        /// The first index that it asked about.
        first: Index,
        /// The nodes that promised so far.
        responders: BTreeSet<NodeId>,
        /// The proposal of the highest ballot for each index among those that they accepted.
        highest: BTreeMap<Index, Proposal>,
    },
    /// May propose without asking again, until another node has a higher ballot.
    Leading {
        /// The first index without a proposal of this ballot.
        next: Index,
    },
}

impl Proposer {
    /// Whether the client may give a command: not while an earlier answer is open.
    pub(crate) fn is_collecting(&self) -> bool {
        matches!(self.phase, Phase::Collecting { .. })
    }

    /// A new command of the client.
    pub(crate) fn command(&mut self, ctx: &mut Context<Message>, acceptor: &Acceptor, learner: &Learner) {
        self.used.commands += 1;
        match &mut self.phase {
            Phase::Leading { next } if acceptor.promised <= self.used.ballot => {
                let value = command_of(ctx.me(), self.used.commands);
                let proposal = Proposal { ballot: self.used.ballot, value };
                ctx.broadcast(Message::Accept { index: *next, proposal });
                *next += 1;
            }
            _ => self.campaign(ctx, acceptor, learner),
        }
    }

    /// Tries to lead, with a ballot above all known ones.
    pub(crate) fn campaign(&mut self, ctx: &mut Context<Message>, acceptor: &Acceptor, learner: &Learner) {
        let known = acceptor.promised.max(self.used.ballot);
        let (me, nodes) = (ctx.me(), ctx.nodes());
        let ballot =
            (0..).map(|round| round * nodes + me + 1).find(|ballot| *ballot > known).expect("there is a higher one");
        self.used.ballot = ballot;
        self.used.ballots += 1;
        let first = learner.first_open();
        self.phase = Phase::Collecting { first, responders: BTreeSet::new(), highest: BTreeMap::new() };
        ctx.broadcast(Message::Prepare { ballot, first });
    }

    pub(crate) fn prepare_response(
        &mut self,
        ctx: &mut Context<Message>,
        from: NodeId,
        (ballot, accepted): (Ballot, BTreeMap<Index, Proposal>),
        learner: &Learner,
        trust_last: bool,
    ) {
        let Phase::Collecting { first, responders, highest } = &mut self.phase else { return };
        if ballot != self.used.ballot {
            return;
        }
        responders.insert(from);
        if trust_last {
            highest.clear();
        }
        for (index, proposal) in accepted {
            let known = highest.entry(index).or_insert(proposal);
            *known = proposal.max(*known);
        }
        if responders.len() >= ctx.majority() {
            let bound = highest.iter().map(|(index, proposal)| (*index, proposal.value)).collect();
            let log = fill(*first, bound, self.open_commands(ctx.me(), learner));
            self.phase = Phase::Leading { next: log.keys().last().map_or(0, |last| last + 1) };
            for (index, value) in log {
                ctx.broadcast(Message::Accept { index, proposal: Proposal { ballot, value } });
            }
        }
    }

    /// The commands of this node's client that it does not know to be chosen.
    pub(crate) fn open_commands(&self, me: NodeId, learner: &Learner) -> Vec<Value> {
        let commands = (1..=self.used.commands).map(|number| command_of(me, number));
        commands.filter(|command| !learner.chosen.values().any(|value| value == command)).collect()
    }
}

/// The proposals of a new leader from the first open index on: the values that may be chosen, its own commands in
/// the free places, and nothing in the gaps that are left.
fn fill(first: Index, mut bound: BTreeMap<Index, Value>, mut commands: Vec<Value>) -> BTreeMap<Index, Value> {
    commands.retain(|command| !bound.values().any(|value| value == command));
    let mut free = first;
    for command in commands {
        free = (free..).find(|index| !bound.contains_key(index)).expect("a log has an end");
        bound.insert(free, command);
    }
    let end = bound.keys().last().map_or(first, |last| last + 1);
    for index in first..end {
        bound.entry(index).or_insert(NOTHING);
    }
    bound
}

/// The command with this number, from 1, of the client of a node.
pub fn command_of(node: NodeId, number: u32) -> Value {
    100 * (node + 1) + number - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_go_where_nothing_may_be_chosen() {
        assert_eq!(fill(0, BTreeMap::from([(1, 9)]), vec![5, 6]), BTreeMap::from([(0, 5), (1, 9), (2, 6)]));
    }

    #[test]
    fn a_gap_without_a_command_gets_nothing() {
        assert_eq!(fill(0, BTreeMap::from([(2, 9)]), vec![5]), BTreeMap::from([(0, 5), (1, NOTHING), (2, 9)]));
    }

    #[test]
    fn a_command_that_may_be_chosen_is_not_proposed_twice() {
        assert_eq!(fill(1, BTreeMap::from([(1, 5)]), vec![5]), BTreeMap::from([(1, 5)]));
    }
}
