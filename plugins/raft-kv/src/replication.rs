//! Log replication: the leader's log becomes that of the others, and entries that a majority has are done.

use guest_sdk::{Context, NodeId};
use serde::{Deserialize, Serialize};

use crate::{Command, Entry, Index, Log, Mark, Message, Raft, RaftKv, Role, State, Store, answers, tell};

/// What a leader knows about the log of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Progress {
    /// The first entry to send.
    pub next: Index,
    /// Up to here the logs are known to be equal.
    pub matched: Index,
}

/// A leader takes an entry.
pub(crate) fn take(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, entry: Entry) {
    state.disk.log.push(entry);
    send_to_all(ctx, state);
    // In a cluster of one node there is no answer to wait for.
    advance_commit(protocol, ctx, state);
}

/// A leader of the present term sends a part of its log.
pub(crate) fn append(
    protocol: &RaftKv,
    ctx: &mut Context<Message>,
    state: &mut State,
    leader: NodeId,
    (prev, entries, commit): (Mark, &[Entry], Index),
) {
    if !follow(ctx, state, leader) {
        return;
    }
    let log = &mut state.disk.log;
    let matched = prev.index + entries.len() as Index;
    // What is before the base is committed, and so the same in both logs.
    let skipped = log.base().index.saturating_sub(prev.index);
    let is_known = skipped > 0 || log.mark(prev.index) == Some(prev);
    if !is_known {
        let missing = log.last().index.min(prev.index.saturating_sub(1));
        return tell(ctx, state, leader, Raft::Missing(missing));
    }
    if let Some(entries) = entries.get(skipped as usize..) {
        log.replace_after(prev.index + skipped, entries);
    }
    let matched = matched.max(log.base().index);
    commit_up_to(protocol, ctx, state, commit.min(matched));
    tell(ctx, state, leader, Raft::Matched(matched));
}

/// A leader of the present term sends all that it has committed.
pub(crate) fn install(ctx: &mut Context<Message>, state: &mut State, leader: NodeId, last: Mark, store: Store) {
    if !follow(ctx, state, leader) {
        return;
    }
    let disk = &mut state.disk;
    if last.index > disk.commit {
        match disk.log.mark(last.index) == Some(last) {
            true => disk.log.forget_up_to(last.index),
            false => disk.log = Log::behind(last),
        }
        (disk.commit, disk.store) = (last.index, store);
    }
    tell(ctx, state, leader, Raft::Matched(last.index));
}

/// Whether the node follows this leader of its term: not if it leads itself, which the properties say.
fn follow(ctx: &mut Context<Message>, state: &mut State, leader: NodeId) -> bool {
    if matches!(state.role, Role::Leader { .. }) {
        return false;
    }
    state.role = Role::Follower { leader: Some(leader) };
    ctx.restart("timeout");
    true
}

pub(crate) fn matched(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, from: NodeId, index: Index) {
    let Role::Leader { followers } = &mut state.role else { return };
    let progress = followers.get_mut(&from).expect("followers are all other nodes");
    progress.matched = progress.matched.max(index);
    progress.next = progress.next.max(index + 1);
    advance_commit(protocol, ctx, state);
}

/// A node lacks what comes before the entries that it was sent.
pub(crate) fn missing(ctx: &mut Context<Message>, state: &mut State, from: NodeId, index: Index) {
    let Role::Leader { followers } = &mut state.role else { return };
    let progress = followers.get_mut(&from).expect("followers are all other nodes");
    // An answer to an older message, which another one has answered meanwhile, says nothing new.
    if index + 1 < progress.next && progress.matched <= index {
        progress.next = index + 1;
        send(ctx, state, from);
    }
}

/// Sends every other node what it lacks as far as the leader knows, and what is committed.
pub(crate) fn send_to_all(ctx: &mut Context<Message>, state: &State) {
    let Role::Leader { followers } = &state.role else { return };
    followers.keys().for_each(|node| send(ctx, state, *node));
}

fn send(ctx: &mut Context<Message>, state: &State, to: NodeId) {
    let Role::Leader { followers } = &state.role else { return };
    let disk = &state.disk;
    let what = match disk.log.mark(followers[&to].next - 1) {
        Some(prev) => Raft::Append { prev, entries: disk.log.after(prev.index).to_vec(), commit: disk.commit },
        None => {
            let last = disk.log.mark(disk.commit).expect("what is committed is not behind the log's end");
            Raft::Install { last, store: disk.store.clone() }
        }
    };
    tell(ctx, state, to, what);
}

/// Commits the last entry that a majority has, if it is of this term: one of an older term can still be replaced by a leader
/// that does not have it (figure 8 of the Raft paper). The entries before it are committed with it.
fn advance_commit(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    let Role::Leader { followers } = &state.role else { return };
    let mut matched: Vec<Index> = followers.values().map(|progress| progress.matched).collect();
    matched.push(state.disk.log.last().index);
    matched.sort_unstable_by(|one, other| other.cmp(one));
    let index = matched[ctx.majority() - 1];
    let is_of_this_term = state.disk.log.mark(index).is_some_and(|mark| mark.term == state.disk.term);
    if index > state.disk.commit && is_of_this_term {
        commit_up_to(protocol, ctx, state, index);
        send_to_all(ctx, state);
    }
}

/// Does what is committed, answers it, and forgets what is older than what is kept.
fn commit_up_to(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, index: Index) {
    for next in state.disk.commit + 1..=index {
        let entry = state.disk.log.entry(next).expect("what is committed is in the log").clone();
        state.disk.commit = next;
        if let Some(Command { node, number, operation }) = entry.command {
            let outcome = operation.apply(&mut state.disk.store);
            if node == ctx.me() {
                answers::answer(ctx, state, number, outcome);
            }
        }
    }
    state.disk.log.forget_up_to(state.disk.commit.saturating_sub(protocol.kept));
}
