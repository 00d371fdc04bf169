//! The proposer: leads, takes the leadership over, replaces the acceptor.

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::{Context, NodeId};
use serde::{Deserialize, Serialize};

use crate::utility::Outcome;
use crate::{Change, Entry, Index, Learner, Message, Number, Value};

/// The state of a proposer. A reset loses it, except for the used resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Proposer {
    /// Whether the active acceptor has promised to listen to this node (`IamLeader`).
    pub leads: bool,
    /// The active acceptor as far as this node knows (`Aa`).
    pub active: Option<NodeId>,
    /// The number of its proposals (`pn`).
    pub number: Number,
    /// The values that it has proposed, or must propose, for each index (`proposed`).
    pub proposed: BTreeMap<Index, Value>,
    /// The change that it waits for the utility to agree on.
    pub waits_for: Option<Change>,
    /// The used resources.
    pub used: Used,
    /// For the specification: its requests to acceptors since it became the global leader.
    pub asked: BTreeSet<(NodeId, Index, Value)>,
}

/// The resources of a run that a node has used up; they survive a reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Used {
    /// Commands of the client of a leader.
    pub commands: u32,
    /// Suspicions of the leader.
    pub takeovers: u32,
    /// Suspicions of the acceptor.
    pub switches: u32,
    /// Values that this node was the first to propose.
    pub values: u32,
}

impl Proposer {
    /// Proposes for the first index that it has not learned (lines 19 to 22 and 40 to 44).
    pub(crate) fn propose(&mut self, ctx: &mut Context<Message>, learner: &Learner) {
        let index = learner.first_open();
        let used = &mut self.used;
        let value = *self.proposed.entry(index).or_insert_with(|| {
            used.values += 1;
            100 * (ctx.me() + 1) + used.values - 1
        });
        let acceptor = self.active.expect("a leader knows its acceptor");
        self.asked.insert((acceptor, index, value));
        ctx.send(acceptor, Message::AcceptRequest { number: self.number, index, value });
    }

    /// The entry that makes this node the leader, with the acceptor that the log names (lines 26 to 31); none if that is this
    /// node itself.
    pub(crate) fn take_over<'e>(
        &mut self,
        me: NodeId,
        log: impl DoubleEndedIterator<Item = &'e Entry>,
    ) -> Option<Entry> {
        self.used.takeovers += 1;
        let acceptor = crate::global_acceptor(log)?;
        (acceptor != me).then(|| self.wait_for(me, Change::Leader { acceptor }))
    }

    /// The entry that replaces the acceptor (lines 2 to 10); none if this node is no longer the global leader.
    pub(crate) fn switch<'e>(
        &mut self,
        ctx: &Context<Message>,
        log: impl DoubleEndedIterator<Item = &'e Entry>,
        learner: &Learner,
        only_uncommitted: bool,
    ) -> Option<Entry> {
        self.used.switches += 1;
        if crate::global_leader(log) != Some(ctx.me()) {
            self.leads = false;
            self.active = None;
            return None;
        }
        let old = self.active?;
        let candidates = (1..ctx.nodes()).map(|step| (old + step) % ctx.nodes());
        let acceptor = candidates.into_iter().find(|node| *node != ctx.me())?;
        let mut proposals = self.proposed.clone();
        proposals.retain(|index, _| !(only_uncommitted && learner.chosen.contains_key(index)));
        Some(self.wait_for(ctx.me(), Change::Acceptor { acceptor, proposals }))
    }

    fn wait_for(&mut self, me: NodeId, change: Change) -> Entry {
        self.waits_for = Some(change.clone());
        Entry { by: me, change }
    }

    /// The utility has agreed on an entry where this node waited (lines 11 to 13 and 32 to 36). `length` is the length of its
    /// log, which numbers leaderships.
    pub(crate) fn agreed(
        &mut self,
        ctx: &mut Context<Message>,
        outcome: Outcome,
        (length, proposals): (u32, BTreeMap<Index, Value>),
        always_fresh: bool,
    ) {
        let Some(change) = self.waits_for.take() else { return };
        match (outcome, change) {
            (Outcome::Success, Change::Acceptor { acceptor, .. }) => {
                self.leads = false;
                self.contact(ctx, acceptor, length, true);
            }
            (Outcome::Success, Change::Leader { acceptor }) => {
                self.asked.clear();
                self.proposed.extend(proposals);
                self.contact(ctx, acceptor, length, always_fresh);
            }
            // Another node has become the leader; the next suspicion of the acceptor detects that.
            (Outcome::Failure, Change::Acceptor { .. }) => {}
            (Outcome::Failure, Change::Leader { .. }) => self.active = None,
        }
    }

    fn contact(&mut self, ctx: &mut Context<Message>, acceptor: NodeId, number: Number, must_be_fresh: bool) {
        self.active = Some(acceptor);
        self.number = number;
        ctx.send(acceptor, Message::PrepareRequest { number, must_be_fresh });
    }

    /// The acceptor has adopted this node (lines 38 to 44).
    pub(crate) fn adopted(
        &mut self,
        ctx: &mut Context<Message>,
        from: NodeId,
        (number, accepted): (Number, BTreeMap<Index, Value>),
        learner: &Learner,
    ) {
        // The pseudocode waits for the utility inside its handler. Whatever the utility agrees on, an answer that arrives
        // meanwhile is too late afterwards: it is one with an old number, or of another acceptor than the active one.
        let is_waiting = self.waits_for.is_some();
        if self.leads || is_waiting || self.active != Some(from) || self.number != number {
            return;
        }
        self.leads = true;
        self.proposed.extend(accepted);
        self.propose(ctx, learner);
    }
}
