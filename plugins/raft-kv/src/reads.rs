//! Reads that need no entry: a leader answers from its store once a majority has confirmed that it leads.
//!
//! One round of messages confirms all reads that came before it; those that come meanwhile wait for the next one. A leader whose term
//! has no committed entry yet may lack what earlier leaders have committed: its reads wait for that entry. Source: Ongaro, "Consensus:
//! Bridging Theory and Practice", 2014, section 6.4.

use std::collections::BTreeSet;

use guest_sdk::{Context, NodeId, Response};
use serde::{Deserialize, Serialize};

use crate::answers::answer;
use crate::{Bug, Message, Operation, Raft, RaftKv, Role, State, members, tell};

/// The reads that a leader has not answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reads {
    /// The number of the last round, counted from 1.
    pub round: u32,
    /// The nodes that have confirmed it, the leader included.
    pub confirmed: BTreeSet<NodeId>,
    /// The reads that it is for; none if no round is under way.
    pub asked: Vec<Read>,
    /// The reads that came after it began.
    pub waiting: Vec<Read>,
}

/// A read of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Read {
    /// The number of the request.
    pub number: u64,
    /// The operation.
    pub operation: Operation,
}

/// A leader gets a read.
pub(crate) fn take(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, read: Read) {
    if let Role::Leader { reads, .. } = &mut state.role {
        reads.waiting.push(read);
        begin(protocol, ctx, state);
    }
}

/// Begins the next round if reads wait for one and none is under way.
pub(crate) fn begin(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    let knows_all = state.disk.committed().term == state.disk.term || protocol.bug == Bug::ReadEarly;
    let Role::Leader { reads, .. } = &mut state.role else { return };
    if !knows_all || !reads.asked.is_empty() || reads.waiting.is_empty() {
        return;
    }
    reads.round += 1;
    reads.asked = std::mem::take(&mut reads.waiting);
    reads.confirmed = BTreeSet::from([ctx.me()]);
    ask(ctx, state);
    answer_confirmed(protocol, ctx, state);
}

/// Asks the nodes that have not confirmed the round under way.
pub(crate) fn ask(ctx: &mut Context<Message>, state: &State) {
    let Role::Leader { reads, .. } = &state.role else { return };
    if !reads.asked.is_empty() {
        let missing = members::other_members(ctx, &state.disk).into_iter();
        let missing = missing.filter(|node| !reads.confirmed.contains(node));
        missing.for_each(|node| tell(ctx, state, node, Raft::Confirm(reads.round)));
    }
}

/// A node has confirmed a round in the present term.
pub(crate) fn confirmed(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, from: NodeId, round: u32) {
    let Role::Leader { reads, .. } = &mut state.role else { return };
    if round == reads.round && !reads.asked.is_empty() {
        reads.confirmed.insert(from);
        answer_confirmed(protocol, ctx, state);
    }
}

/// Answers the reads of the round under way once a majority has confirmed it, and begins the next one.
fn answer_confirmed(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    let Role::Leader { reads, .. } = &mut state.role else { return };
    if !members::have_majority(ctx, &state.disk, &reads.confirmed) {
        return;
    }
    reads.confirmed.clear();
    for Read { number, operation } in std::mem::take(&mut reads.asked) {
        let outcome = operation.apply(&mut state.disk.store, state.disk.commit);
        answer(ctx, state, number, outcome);
    }
    begin(protocol, ctx, state);
}

/// A former leader tells the clients of its reads that nothing has happened.
pub(crate) fn give_up(ctx: &mut Context<Message>, state: &mut State) {
    if let Role::Leader { reads, .. } = &mut state.role {
        for Read { number, .. } in std::mem::take(reads).unanswered() {
            ctx.answer(number, Response::new(503).body("there is another leader now; try again\n"));
        }
    }
}

impl Reads {
    fn unanswered(self) -> impl Iterator<Item = Read> {
        self.asked.into_iter().chain(self.waiting)
    }
}
