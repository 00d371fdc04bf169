//! Members: the nodes whose majorities elect leaders and commit entries. An entry of the log changes them, one node at a time.
//!
//! A node goes by the newest members in its log, committed or not: entries before them may be committed by other majorities, but any two
//! of these have a node in common, since their members differ by one node. That takes two rules for leaders. A change begins once the
//! one before is committed, and once an entry of the leader's own term is: else two leaders of different terms could each change what was
//! committed last, and the majorities of the two results need no common node. Joint consensus changes any number of nodes at once, but
//! counts each decision twice meanwhile; to replace a node takes two changes here.
//!
//! A new member gets the log before it counts, so that others need not wait for it. A leader that has removed itself leads until that is
//! committed, and does not count. Source: Ongaro, "Consensus: Bridging Theory and Practice", 2014, chapter 4, with the correction of 2015
//! (the mailing list raft-dev, "bug in single-server membership changes"), which is the rule on the leader's term.

use std::collections::BTreeSet;

use guest_sdk::{Context, NodeId, Response};
use serde::{Deserialize, Serialize};

use crate::{Bug, Disk, Index, Message, RaftKv, Role, State, others};

/// The members of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Members {
    /// The nodes.
    pub nodes: BTreeSet<NodeId>,
    /// The number of changes that led there.
    pub changes: u32,
}

/// A change of the members by one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Change {
    /// The node.
    pub node: NodeId,
    /// Whether it becomes a member, or ends to be one.
    pub joins: bool,
}

/// A node that gets the log before it becomes a member.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Joining {
    /// The node.
    pub node: NodeId,
    /// The number of the request.
    pub number: u64,
    /// The place up to which the node gets the log in this round.
    pub target: Index,
    /// Rounds that are over.
    pub rounds: u32,
    /// Heartbeats since an answer of the node.
    pub silent: u32,
}

impl Members {
    /// The members of a cluster without entries: the first `count` nodes.
    pub(crate) fn first(count: u32, nodes: u32) -> Self {
        Self { nodes: (0..count.min(nodes)).collect(), changes: 0 }
    }

    pub(crate) fn with(&self, change: Change) -> Self {
        let mut nodes = self.nodes.clone();
        match change.joins {
            true => nodes.insert(change.node),
            false => nodes.remove(&change.node),
        };
        Self { nodes, changes: self.changes + 1 }
    }

    pub(crate) fn has(&self, change: Change) -> bool {
        self.nodes.contains(&change.node) == change.joins
    }
}

impl Disk {
    /// The newest members in the log; none if all nodes are members for good.
    pub(crate) fn members(&self) -> Option<&Members> {
        let committed = self.store.members.as_ref()?;
        Some(self.log.members_after(self.commit).unwrap_or(committed))
    }
}

/// The nodes that count.
pub(crate) fn all(ctx: &Context<Message>, disk: &Disk) -> Vec<NodeId> {
    match disk.members() {
        None => (0..ctx.nodes()).collect(),
        Some(members) => members.nodes.iter().copied().collect(),
    }
}

/// The members in a set of nodes.
pub(crate) fn count(ctx: &Context<Message>, disk: &Disk, nodes: &BTreeSet<NodeId>) -> usize {
    all(ctx, disk).into_iter().filter(|node| nodes.contains(node)).count()
}

/// Whether a set of nodes has a majority of the members.
pub(crate) fn have_majority(ctx: &Context<Message>, disk: &Disk, nodes: &BTreeSet<NodeId>) -> bool {
    2 * count(ctx, disk, nodes) > all(ctx, disk).len()
}

/// The other nodes whose votes a node asks for.
pub(crate) fn electors(protocol: &RaftKv, ctx: &Context<Message>, disk: &Disk) -> Vec<NodeId> {
    match protocol.bug {
        Bug::CountStrangers => others(ctx).collect(),
        _ => other_members(ctx, disk),
    }
}

/// Whether these votes elect a leader.
pub(crate) fn elect(protocol: &RaftKv, ctx: &Context<Message>, disk: &Disk, votes: &BTreeSet<NodeId>) -> bool {
    match protocol.bug {
        Bug::CountStrangers => 2 * votes.len() > all(ctx, disk).len(),
        _ => have_majority(ctx, disk, votes),
    }
}

/// The members but this node.
pub(crate) fn other_members(ctx: &Context<Message>, disk: &Disk) -> Vec<NodeId> {
    all(ctx, disk).into_iter().filter(|node| *node != ctx.me()).collect()
}

/// The other nodes that a leader sends its log to: a former member, too, until its removal is committed, so that it learns of that.
pub(crate) fn followers(ctx: &Context<Message>, disk: &Disk) -> BTreeSet<NodeId> {
    let committed = disk.store.members.iter().flat_map(|members| &members.nodes).copied();
    committed.filter(|node| *node != ctx.me()).chain(other_members(ctx, disk)).collect()
}

/// Whether a node may stand for election: as a member, or if that it is none may be lost, since then others may need it as a leader.
pub(crate) fn may_stand(me: NodeId, disk: &Disk) -> bool {
    let is_member = |members: &Members| members.nodes.contains(&me);
    disk.store.members.as_ref().is_none_or(is_member) || disk.members().is_some_and(is_member)
}

/// Whether a node leads only until its removal is committed: requests that it took from then on would stay without an answer.
pub(crate) fn leaves(me: NodeId, state: &State) -> bool {
    let is_former = |members: &Members| !members.nodes.contains(&me);
    matches!(state.role, Role::Leader { .. }) && state.disk.members().is_some_and(is_former)
}

/// A node has answered the leader of its term.
pub(crate) fn heard(state: &mut State, from: NodeId) {
    if let Role::Leader { joining: Some(new), .. } = &mut state.role
        && new.node == from
    {
        new.silent = 0;
    }
}

/// A former leader tells the client of a change that nothing has happened, where nothing has.
pub(crate) fn give_up(ctx: &mut Context<Message>, state: &mut State) {
    if let Role::Leader { joining, .. } = &mut state.role
        && let Some(new) = joining.take()
    {
        ctx.answer(
            new.number,
            Response::new(503).body("there is another leader now: nothing has happened; try again\n"),
        );
    }
}
