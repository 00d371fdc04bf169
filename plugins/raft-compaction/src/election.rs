//! Elections: a node asks for votes, gives its own, and leads when a majority has voted for it.

use std::collections::BTreeSet;

use guest_sdk::{Context, NodeId};

use crate::replication::Progress;
use crate::{Mark, Message, Role, State, Term, others};

/// No leader has been heard for too long: the node stands for election in the next term.
pub(crate) fn stand(ctx: &mut Context<Message>, state: &mut State) {
    enter(state, state.term + 1);
    state.voted_for = Some(ctx.me());
    state.role = Role::Candidate { votes: BTreeSet::from([ctx.me()]) };
    let request = Message::RequestVote { term: state.term, last: state.log.last() };
    others(ctx).for_each(|node| ctx.send(node, request.clone()));
    lead_if_elected(ctx, state);
}

/// A later term ends the role of the node in its own.
pub(crate) fn observe_term(state: &mut State, term: Term) {
    if term > state.term {
        enter(state, term);
        state.role = Role::Follower;
    }
}

fn enter(state: &mut State, term: Term) {
    (state.term, state.voted_for) = (term, None);
    state.latest_term = state.latest_term.max(term);
}

pub(crate) fn request_vote(ctx: &mut Context<Message>, state: &mut State, from: NodeId, term: Term, last: Mark) {
    let is_free = state.voted_for.is_none_or(|voted_for| voted_for == from);
    let granted = term == state.term && is_free && last >= state.log.last();
    if granted {
        state.voted_for = Some(from);
    }
    ctx.send(from, Message::Vote { term: state.term, granted });
}

pub(crate) fn vote(ctx: &Context<Message>, state: &mut State, from: NodeId, term: Term, granted: bool) {
    let Role::Candidate { votes } = &mut state.role else { return };
    if term == state.term && granted {
        votes.insert(from);
        lead_if_elected(ctx, state);
    }
}

/// A leader makes itself known with its first command or heartbeat.
fn lead_if_elected(ctx: &Context<Message>, state: &mut State) {
    let Role::Candidate { votes } = &state.role else { return };
    if votes.len() >= ctx.majority() {
        let unknown = Progress { next: state.log.last().index + 1, matched: 0 };
        let followers = others(ctx).map(|node| (node, unknown)).collect();
        state.role = Role::Leader { followers, commands: 0, heartbeats: 0 };
    }
}
