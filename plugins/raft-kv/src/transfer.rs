//! A leader that is about to end hands its leadership over.
//!
//! It takes no more requests, sends a follower all entries that it lacks, and tells it to stand for election at once, before any time-out
//! and without asking first. That is an election like any other: nothing depends on the leader's choice. The leader has handed over when it hears of a later term. Source: Ongaro, "Consensus: Bridging Theory and Practice",
//! 2014, section 3.10.

use std::collections::BTreeSet;

use guest_sdk::{Context, LocalEvents, NodeId, Response};
use serde::{Deserialize, Serialize};

use crate::{Local, Message, Raft, RaftKv, Role, State, members, tell};

/// Heartbeats until a node counts as one that does not take over: less than a time-out.
const BEATS_MAX: u32 = 3;

/// The state of a leader that hands over.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HandOver {
    /// The node that is to lead.
    pub to: NodeId,
    /// The number of the request.
    pub number: u64,
    /// Whether that node has been asked to stand for election.
    pub told: bool,
    /// Heartbeats since it was chosen.
    pub beats: u32,
    /// The nodes that were chosen before, and did not take over in time.
    pub late: BTreeSet<NodeId>,
}

/// Whether a leader hands over, and takes no more requests.
pub(crate) fn is_under_way(state: &State) -> bool {
    matches!(&state.role, Role::Leader { hand_over: Some(_), .. })
}

/// The answer to a client meanwhile.
pub(crate) fn refusal() -> Response {
    Response::new(503).body("the leader hands over; try again\n")
}

/// Lists the events of a search: a leader is asked to hand over.
pub(crate) fn list(protocol: &RaftKv, state: &State, events: &mut LocalEvents<Local>) {
    let is_idle = matches!(&state.role, Role::Leader { hand_over: None, .. });
    if protocol.transfers && is_idle && events.nodes() > 1 && may_begin_term(protocol, state) {
        events.application("hand over", Local::HandOver { number: 0 });
    }
}

/// The event of a request to hand over: another node than the leader has nothing to hand over.
pub(crate) fn accept(state: &State, number: u64) -> Result<(&'static str, Local), Response> {
    match &state.role {
        Role::Leader { hand_over: None, .. } => Ok(("hand over", Local::HandOver { number })),
        Role::Leader { hand_over: Some(_), .. } => Err(Response::new(409).body("the leader hands over already\n")),
        _ => Err(Response::new(204)),
    }
}

/// A leader is asked to hand over.
pub(crate) fn begin(ctx: &mut Context<Message>, state: &mut State, number: u64) {
    match &state.role {
        Role::Leader { hand_over: None, .. } => choose(ctx, state, number, BTreeSet::new()),
        Role::Leader { hand_over: Some(_), .. } => ctx.answer(number, refusal()),
        _ => ctx.answer(number, Response::new(204)),
    }
}

/// Chooses the member that has most of the log and, among equals, has been heard lately.
fn choose(ctx: &mut Context<Message>, state: &mut State, number: u64, late: BTreeSet<NodeId>) {
    let others = members::other_members(ctx, &state.disk).into_iter().filter(|node| !late.contains(node));
    let Role::Leader { followers, heard, hand_over, .. } = &mut state.role else { return };
    let rank = |node: &NodeId| {
        let matched = followers.get(node).map_or(0, |progress| progress.matched);
        (matched, heard.contains(node), std::cmp::Reverse(*node))
    };
    let Some(to) = others.max_by_key(rank) else {
        *hand_over = None;
        return ctx.answer(number, Response::new(503).body("no other member takes over: this node leads on\n"));
    };
    *hand_over = Some(Box::new(HandOver { to, number, told: false, beats: 0, late }));
    ctx.log(format_args!("hands over to node {to}"));
    advance(ctx, state);
}

/// Tells the chosen node to stand for election, once its log has all entries of the leader's.
pub(crate) fn advance(ctx: &mut Context<Message>, state: &mut State) {
    let last = state.disk.log.last().index;
    let Role::Leader { followers, hand_over: Some(hand_over), .. } = &mut state.role else { return };
    let matched = followers.get(&hand_over.to).map_or(0, |progress| progress.matched);
    if matched == last && !hand_over.told {
        hand_over.told = true;
        let to = hand_over.to;
        tell(ctx, state, to, Raft::Stand);
    }
}

/// Counts a heartbeat, after which a message may be lost; a node that does not take over in time makes room for the next one.
pub(crate) fn wait(ctx: &mut Context<Message>, state: &mut State) {
    let Role::Leader { hand_over: Some(hand_over), .. } = &mut state.role else { return };
    hand_over.beats += 1;
    let (to, number, told) = (hand_over.to, hand_over.number, hand_over.told);
    if hand_over.beats >= BEATS_MAX {
        let mut late = std::mem::take(&mut hand_over.late);
        late.insert(to);
        choose(ctx, state, number, late);
    } else if told {
        tell(ctx, state, to, Raft::Stand);
    }
}

/// A former leader answers the request to hand over: another node may lead now, and this one does not.
pub(crate) fn end(ctx: &mut Context<Message>, state: &mut State) {
    if let Role::Leader { hand_over, .. } = &mut state.role
        && let Some(hand_over) = hand_over.take()
    {
        ctx.answer(hand_over.number, Response::new(204));
    }
}

/// Whether a node may stand for election in a later term.
pub(crate) fn may_begin_term(protocol: &RaftKv, state: &State) -> bool {
    protocol.terms == 0 || state.disk.term < protocol.terms
}
