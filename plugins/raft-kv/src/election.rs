//! Elections: a node asks for votes, gives its own, and leads when a majority has voted for it.

use std::collections::BTreeSet;

use guest_sdk::{Context, NodeId};

use crate::replication::{self, Progress};
use crate::{Bug, Entry, Mark, Message, Raft, RaftKv, Role, State, Term, others, tell};

/// Nobody has been heard of for too long: the node stands for election in the next term.
pub(crate) fn stand(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    state.disk.term += 1;
    state.disk.voted_for = Some(ctx.me());
    state.role = Role::Candidate { votes: BTreeSet::from([ctx.me()]) };
    let last = state.disk.log.last();
    others(ctx).for_each(|node| tell(ctx, state, node, Raft::RequestVote(last)));
    lead_if_elected(protocol, ctx, state);
}

/// A node of an older term, or of none, learns of this one.
pub(crate) fn observe_term(state: &mut State, term: Term) {
    if term > state.disk.term {
        state.disk.term = term;
        state.disk.voted_for = None;
        state.role = Role::Follower { leader: None };
    }
}

pub(crate) fn request_vote(
    protocol: &RaftKv,
    ctx: &mut Context<Message>,
    state: &mut State,
    (from, term): (NodeId, Term),
    last: Mark,
) {
    let is_free = state.disk.voted_for.is_none_or(|voted_for| voted_for == from);
    let is_up_to_date = protocol.bug == Bug::NoLogCheck || last >= state.disk.log.last();
    let granted = term == state.disk.term && is_free && is_up_to_date;
    if granted {
        state.disk.voted_for = Some(from);
        ctx.restart("timeout");
    }
    tell(ctx, state, from, Raft::Vote(granted));
}

/// A node has voted for this one in the present term.
pub(crate) fn vote(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, from: NodeId) {
    if let Role::Candidate { votes } = &mut state.role {
        votes.insert(from);
        lead_if_elected(protocol, ctx, state);
    }
}

fn lead_if_elected(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    let Role::Candidate { votes } = &state.role else { return };
    if votes.len() >= ctx.majority() {
        let unknown = Progress { next: state.disk.log.last().index + 1, matched: 0 };
        state.role = Role::Leader { followers: others(ctx).map(|node| (node, unknown)).collect() };
        // Only entries of this term are counted: what earlier leaders have left is committed with this one.
        replication::take(protocol, ctx, state, Entry { term: state.disk.term, command: None });
    }
}
