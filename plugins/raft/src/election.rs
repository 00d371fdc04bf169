//! Elections: a node asks for votes, gives its own, and leads when a majority has voted for it.

use std::collections::BTreeSet;

use guest_sdk::{Context, NodeId};

use crate::replication::{self, Progress};
use crate::{Bug, Mark, Message, Role, State, Term};

/// No leader has been heard for too long: the node stands for election in the next term.
pub(crate) fn stand(ctx: &mut Context<Message>, state: &mut State, bug: Bug) {
    state.term += 1;
    give_vote(state, ctx.me(), bug);
    state.role = Role::Candidate { votes: BTreeSet::from([ctx.me()]) };
    to_others(ctx, &Message::RequestVote { term: state.term, last: state.log.last() });
    lead_if_elected(ctx, state);
}

/// A node of an older term, or of none, learns of this one.
pub(crate) fn observe_term(state: &mut State, term: Term) {
    if term > state.term {
        state.term = term;
        state.voted_for = None;
        state.is_vote_unwritten = false;
        state.role = Role::Follower;
    }
}

pub(crate) fn request_vote(
    ctx: &mut Context<Message>,
    state: &mut State,
    candidate: NodeId,
    (term, last): (Term, Mark),
    bug: Bug,
) {
    let is_free = state.voted_for.is_none_or(|voted_for| voted_for == candidate);
    let is_up_to_date = bug == Bug::NoLogCheck || last >= state.log.last();
    let granted = term == state.term && is_free && is_up_to_date;
    if granted && state.voted_for.is_none() {
        give_vote(state, candidate, bug);
    }
    ctx.send(candidate, Message::Vote { term: state.term, granted });
}

pub(crate) fn vote(ctx: &mut Context<Message>, state: &mut State, from: NodeId, term: Term, granted: bool) {
    let Role::Candidate { votes } = &mut state.role else { return };
    if term == state.term && granted {
        votes.insert(from);
        lead_if_elected(ctx, state);
    }
}

fn give_vote(state: &mut State, candidate: NodeId, bug: Bug) {
    state.voted_for = Some(candidate);
    state.is_vote_unwritten = bug == Bug::AnswerBeforeWrite;
}

fn lead_if_elected(ctx: &mut Context<Message>, state: &mut State) {
    let Role::Candidate { votes } = &state.role else { return };
    if votes.len() >= ctx.majority() {
        let unknown = Progress { next: state.log.last().index + 1, matched: 0 };
        let followers = others(ctx).map(|node| (node, unknown)).collect();
        state.role = Role::Leader { followers };
        replication::send_to_all(ctx, state);
    }
}

fn others(ctx: &Context<Message>) -> impl Iterator<Item = NodeId> + use<> {
    let me = ctx.me();
    (0..ctx.nodes()).filter(move |node| *node != me)
}

fn to_others(ctx: &mut Context<Message>, message: &Message) {
    others(ctx).for_each(|node| ctx.send(node, message.clone()));
}
