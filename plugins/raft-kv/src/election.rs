//! Elections: a node asks for votes, gives its own, and leads when a majority has voted for it.
//!
//! With `pre-vote` a node first asks whether it would be elected, and a node that hears a leader says no: so a node that is cut off does
//! not end the terms of leaders that others hear. With `steps-down` a leader that hears no majority for a while gives up: it cannot
//! commit anything, and the others elect no leader while they hear it. Source: Ongaro, "Consensus: Bridging Theory and Practice", 2014,
//! sections 6.2 and 9.6.

use std::collections::BTreeSet;

use guest_sdk::{Context, NodeId};

use crate::reads::{self, Reads};
use crate::replication::{self, Progress};
use crate::{Bug, Entry, Mark, Message, Raft, RaftKv, Role, State, Term, members, tell, transfer};

/// No leader was heard of for too long: the node asks whether it would be elected.
pub(crate) fn ask(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    state.role = Role::Asking { votes: BTreeSet::from([ctx.me()]) };
    let last = state.disk.log.last();
    ask_all(protocol, ctx, state, &Raft::AskVote(last));
    stand_if_it_would_win(protocol, ctx, state);
}

/// Asks all whose votes count.
fn ask_all(protocol: &RaftKv, ctx: &mut Context<Message>, state: &State, what: &Raft) {
    for node in members::electors(protocol, ctx, &state.disk) {
        tell(ctx, state, node, what.clone());
    }
}

/// A node asks whether this one would vote for it in the term after its own: not while a leader is heard.
pub(crate) fn asked(
    protocol: &RaftKv,
    ctx: &mut Context<Message>,
    state: &State,
    (from, term): (NodeId, Term),
    last: Mark,
) {
    let hears_leader = matches!(state.role, Role::Leader { .. } | Role::Follower { leader: Some(_) });
    let would = term == state.disk.term && !hears_leader && is_up_to_date(protocol, state, last);
    tell(ctx, state, from, Raft::WouldVote(would));
}

/// A node would vote for this one in the next term.
pub(crate) fn would_vote(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, from: NodeId) {
    if let Role::Asking { votes } = &mut state.role {
        votes.insert(from);
        stand_if_it_would_win(protocol, ctx, state);
    }
}

fn stand_if_it_would_win(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    if matches!(&state.role, Role::Asking { votes } if members::elect(protocol, ctx, &state.disk, votes)) {
        stand(protocol, ctx, state);
    }
}

/// A leader counts the nodes that it has heard since the last check, and gives up if they are no majority together with itself.
pub(crate) fn check(ctx: &mut Context<Message>, state: &mut State) {
    let Role::Leader { heard, .. } = &mut state.role else { return };
    let mut heard = std::mem::take(heard);
    heard.insert(ctx.me());
    if !members::have_majority(ctx, &state.disk, &heard) {
        let (term, nodes) = (state.disk.term, members::all(ctx, &state.disk).len());
        let count = members::count(ctx, &state.disk, &heard);
        ctx.log(format_args!(
            "steps down as leader of term {term}: it hears {count} of {nodes} nodes, itself included"
        ));
        leave(ctx, state);
    }
}

/// A leader follows no node from now on, and tells its clients what has not happened.
pub(crate) fn leave(ctx: &mut Context<Message>, state: &mut State) {
    reads::give_up(ctx, state);
    members::give_up(ctx, state);
    transfer::end(ctx, state);
    state.role = Role::Follower { leader: None };
}

/// The node stands for election in the next term.
pub(crate) fn stand(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    state.disk.term += 1;
    state.disk.voted_for = Some(ctx.me());
    state.role = Role::Candidate { votes: BTreeSet::from([ctx.me()]) };
    let last = state.disk.log.last();
    ask_all(protocol, ctx, state, &Raft::RequestVote(last));
    lead_if_elected(protocol, ctx, state);
}

/// The leader of this term has told this node to stand for election: the node neither waits nor asks first.
pub(crate) fn told(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, from: NodeId) {
    let follows = state.role == Role::Follower { leader: Some(from) };
    // A late message, after which the leader may have given up, does no harm: any node may stand at any time.
    if !follows || !members::may_stand(ctx.me(), &state.disk) || !transfer::may_begin_term(protocol, state) {
        return;
    }
    match protocol.bug {
        Bug::AppointLeader => lead_without_votes(protocol, ctx, state),
        _ => stand(protocol, ctx, state),
    }
}

/// A node of an older term, or of none, learns of this one.
pub(crate) fn observe_term(ctx: &mut Context<Message>, state: &mut State, term: Term) {
    if term > state.disk.term {
        if matches!(state.role, Role::Leader { .. }) {
            ctx.log(format_args!("leads no more: there is term {term}"));
        }
        leave(ctx, state);
        state.disk.term = term;
        state.disk.voted_for = None;
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
    let granted = term == state.disk.term && is_free && is_up_to_date(protocol, state, last);
    if granted {
        state.disk.voted_for = Some(from);
        ctx.restart("timeout");
    }
    tell(ctx, state, from, Raft::Vote(granted));
}

/// Whether a log that ends there has all entries that may be committed.
fn is_up_to_date(protocol: &RaftKv, state: &State, last: Mark) -> bool {
    protocol.bug == Bug::NoLogCheck || last >= state.disk.log.last()
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
    if members::elect(protocol, ctx, &state.disk, votes) {
        lead(protocol, ctx, state);
    }
}

fn lead(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    ctx.log(format_args!("leads in term {}", state.disk.term));
    let last = state.disk.log.last().index;
    let followers = members::followers(ctx, &state.disk).into_iter();
    let followers = followers.map(|node| (node, Progress::unknown(last))).collect();
    let (heard, reads) = (BTreeSet::new(), Reads::default());
    state.role = Role::Leader { followers, heard, snapshot: None, reads, joining: None, hand_over: None };
    // Only entries of this term are counted: those of earlier leaders are committed with this one.
    replication::take(protocol, ctx, state, Entry { term: state.disk.term, command: None });
}

/// A node that a leader has chosen leads in the next term, and no votes are counted: a mistake.
fn lead_without_votes(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    state.disk.term += 1;
    state.disk.voted_for = Some(ctx.me());
    lead(protocol, ctx, state);
}
