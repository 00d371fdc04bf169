//! Log replication: the followers copy the leader's log, and entries that a majority has are executed.

use guest_sdk::{Context, NodeId};
use serde::{Deserialize, Serialize};

use crate::pieces::{self, Incoming, Piece, Snapshot};
use crate::{
    Bug, Command, Entry, Index, Log, Mark, Members, Message, Operation, Raft, RaftKv, Role, State, answers, members,
    reads, tables, tell,
};

/// Heartbeats without an answer until entries are sent again, with batches.
const SILENT_MAX: u32 = 3;

/// The knowledge of a leader about the log of another node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Progress {
    /// The first entry to send.
    pub next: Index,
    /// The logs are known to be equal up to here.
    pub matched: Index,
    /// The last entry that was sent, or is to follow what was sent by itself.
    pub sent: Index,
    /// The number of pieces of the store that the node has, if it receives the store in pieces.
    pub taken: u32,
    /// With batches, the last index of each message that the node has not answered, in order.
    pub unanswered: Vec<Index>,
    /// With batches, the number of heartbeats since an answer was expected.
    pub silent: u32,
}

impl Progress {
    /// The progress of a node about whose log nothing is known; the leader's own log ends here.
    pub(crate) fn unknown(last: Index) -> Self {
        Self { next: last + 1, matched: 0, sent: last, taken: 0, unanswered: Vec::new(), silent: 0 }
    }
}

/// A leader takes an entry.
pub(crate) fn take(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, entry: Entry) {
    state.disk.log.push(entry);
    tables::pushed(ctx, &state.disk.log);
    send_news(protocol, ctx, state);
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
    // Entries up to the base are committed, and so the same in both logs.
    let skipped = log.base().index.saturating_sub(prev.index);
    let is_known = skipped > 0 || log.mark(prev.index) == Some(prev);
    if !is_known {
        let missing = log.last().index.min(prev.index.saturating_sub(1));
        return tell(ctx, state, leader, Raft::Missing(missing));
    }
    state.incoming = None;
    let news = entries.get(skipped as usize..);
    if let Some(from) = news.and_then(|entries| log.replace_after(prev.index + skipped, entries)) {
        tables::replaced(ctx, log, from);
    }
    let matched = matched.max(log.base().index);
    commit_up_to(protocol, ctx, state, commit.min(matched));
    tell(ctx, state, leader, Raft::Matched(matched));
}

/// A leader of the present term sends all that it has committed, or a piece of it.
pub(crate) fn install(ctx: &mut Context<Message>, state: &mut State, leader: NodeId, piece: Piece) {
    if !follow(ctx, state, leader) {
        return;
    }
    let (disk, last) = (&mut state.disk, piece.last);
    if last.index > disk.commit {
        let Some(store) = Incoming::take(&mut state.incoming, piece) else {
            let count = Incoming::count_of(state.incoming.as_ref(), last);
            return tell(ctx, state, leader, Raft::Took { last, count });
        };
        match disk.log.mark(last.index) == Some(last) {
            true => disk.log.forget_up_to(last.index),
            false => disk.log = Log::behind(last),
        }
        disk.commit = last.index;
        let before = std::mem::replace(&mut disk.store, store);
        tables::installed(ctx, &before, disk);
        state.used = disk.store.room();
    }
    tell(ctx, state, leader, Raft::Matched(last.index));
}

/// Whether the node follows this leader of its term: not if it leads itself, which the properties say.
fn follow(ctx: &mut Context<Message>, state: &mut State, leader: NodeId) -> bool {
    if matches!(state.role, Role::Leader { .. }) {
        return false;
    }
    let follows = Role::Follower { leader: Some(leader) };
    if state.role != follows {
        ctx.log(format_args!("follows node {leader} in term {}", state.disk.term));
        state.role = follows;
    }
    ctx.restart("timeout");
    true
}

pub(crate) fn matched(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, from: NodeId, index: Index) {
    let Role::Leader { followers, snapshot, .. } = &mut state.role else { return };
    let Some(progress) = followers.get_mut(&from) else { return };
    progress.matched = progress.matched.max(index);
    progress.next = progress.next.max(index + 1);
    let unanswered = progress.unanswered.len();
    progress.unanswered.retain(|last| *last > index);
    if progress.unanswered.len() < unanswered {
        progress.silent = 0;
    }
    let log = &state.disk.log;
    // The entries that did not fit into the last message follow.
    let follow = index >= progress.sent && progress.sent < log.last().index;
    if followers.values().all(|progress| log.mark(progress.next - 1).is_some()) {
        *snapshot = None;
    }
    advance_commit(protocol, ctx, state);
    if protocol.batches {
        send_batches(protocol, ctx, state, from);
    } else if follow {
        send(protocol, ctx, state, from);
    }
}

/// A node lacks what comes before the entries that it was sent.
pub(crate) fn missing(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, from: NodeId, index: Index) {
    let Role::Leader { followers, .. } = &mut state.role else { return };
    let Some(progress) = followers.get_mut(&from) else { return };
    // An answer to an older message, for which another answer has arrived meanwhile, has no news.
    if index + 1 < progress.next && progress.matched <= index {
        progress.next = index + 1;
        send(protocol, ctx, state, from);
    }
}

/// A node has `count` pieces of the store up to an entry: it gets the next one. The store must stay as it is meanwhile, so a copy is kept
/// once a node has asked for more than the first piece.
pub(crate) fn took(
    protocol: &RaftKv,
    ctx: &mut Context<Message>,
    state: &mut State,
    from: NodeId,
    (last, count): (Mark, u32),
) {
    let disk = &state.disk;
    let Role::Leader { followers, snapshot, .. } = &mut state.role else { return };
    let Some(progress) = followers.get_mut(&from) else { return };
    if disk.log.mark(progress.next - 1).is_some() {
        return;
    }
    let snapshot = snapshot.take_if(|known| disk.log.mark(known.last.index).is_some());
    let is_new = snapshot.is_none();
    let mut known = snapshot.unwrap_or_else(|| Box::new(Snapshot::new(disk.committed(), &disk.store)));
    let taken = if known.last == last { count } else { 0 };
    // Each piece has one answer that leads to the next piece, even if messages are duplicated.
    let is_answered = !is_new && known.last == last && taken == progress.taken;
    known.idle = 0;
    let Role::Leader { followers, snapshot, .. } = &mut state.role else { return };
    if is_new {
        followers.values_mut().for_each(|progress| progress.taken = 0);
    }
    *snapshot = Some(known);
    if !is_answered {
        if let Some(progress) = followers.get_mut(&from) {
            progress.taken = taken;
        }
        send(protocol, ctx, state, from);
    }
}

/// Sends every other node again the entries that it lacks as far as the leader knows; with batches, only once an answer is late, and
/// until then that the leader is there.
pub(crate) fn repeat(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    if let Role::Leader { snapshot, .. } = &mut state.role {
        snapshot.take_if(|snapshot| !snapshot.grow_old());
    }
    for node in followers(state) {
        match waits_longer(state, node) {
            true => keep_alive(ctx, state, node),
            false => send(protocol, ctx, state, node),
        }
    }
    reads::ask(ctx, state);
}

/// The nodes that get the log of this leader.
fn followers(state: &State) -> Vec<NodeId> {
    match &state.role {
        Role::Leader { followers, .. } => followers.keys().copied().collect(),
        _ => Vec::new(),
    }
}

/// Counts a heartbeat without an answer of a node that owes one; returns whether the leader waits for it.
fn waits_longer(state: &mut State, node: NodeId) -> bool {
    let Role::Leader { followers, .. } = &mut state.role else { return false };
    let Some(progress) = followers.get_mut(&node) else { return false };
    if progress.unanswered.is_empty() {
        return false;
    }
    progress.silent += 1;
    progress.silent < SILENT_MAX
}

/// Tells a node that the leader is there, and what is committed, without entries.
fn keep_alive(ctx: &mut Context<Message>, state: &mut State, to: NodeId) {
    let disk = &state.disk;
    let Role::Leader { followers, .. } = &state.role else { return };
    let what = match disk.log.mark(followers[&to].next - 1) {
        Some(prev) => Raft::Append { prev, entries: Vec::new(), commit: disk.commit },
        // It gets a store, and has no entry that both logs have. No round of reads has this number.
        None => Raft::Confirm(0),
    };
    tell(ctx, state, to, what);
}

/// Sends every other node what it lacks as far as the leader knows, and what is committed; with batches, only what it was not sent.
fn send_news(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    for node in followers(state) {
        if !protocol.batches {
            send(protocol, ctx, state, node);
            continue;
        }
        let is_idle = unanswered(state, node) == 0;
        let is_sent = send_batches(protocol, ctx, state, node);
        // With heartbeats, the next one says what is committed.
        if is_idle && !is_sent && !protocol.heartbeats {
            send(protocol, ctx, state, node);
        }
    }
}

/// The number of messages that a node has to answer, with batches.
fn unanswered(state: &State, node: NodeId) -> usize {
    match &state.role {
        Role::Leader { followers, .. } => followers.get(&node).map_or(0, |progress| progress.unanswered.len()),
        _ => 0,
    }
}

/// Sends a node the entries that it was not sent, behind those that it has not confirmed, as far as it may owe answers. Returns whether
/// there was something to send.
fn send_batches(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, to: NodeId) -> bool {
    let mut is_sent = false;
    while unanswered(state, to) < protocol.pipeline.max(1) {
        let disk = &state.disk;
        let Role::Leader { followers, .. } = &mut state.role else { break };
        let Some(progress) = followers.get_mut(&to) else { break };
        progress.sent = progress.sent.max(progress.next - 1);
        if progress.sent >= disk.log.last().index {
            break;
        }
        is_sent = true;
        let Some(prev) = disk.log.mark(progress.sent).filter(|_| disk.log.mark(progress.next - 1).is_some()) else {
            // A node that lacks the entry before gets a store, which is one message at a time.
            if progress.unanswered.is_empty() {
                send(protocol, ctx, state, to);
            }
            break;
        };
        let entries = pieces::batch(disk.log.after(prev.index), protocol.piece).to_vec();
        progress.sent = prev.index + entries.len() as Index;
        progress.unanswered.push(progress.sent);
        let commit = disk.commit;
        tell(ctx, state, to, Raft::Append { prev, entries, commit });
    }
    is_sent
}

/// A leader of the present term asks whether this node follows it.
pub(crate) fn confirm(ctx: &mut Context<Message>, state: &mut State, leader: NodeId, round: u32) {
    if follow(ctx, state, leader) {
        tell(ctx, state, leader, Raft::Confirmed(round));
    }
}

/// Sends a node the entries that it lacks as far as the leader knows, or the store.
pub(crate) fn send(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, to: NodeId) {
    let disk = &state.disk;
    let Role::Leader { followers, snapshot, .. } = &mut state.role else { return };
    let Some(progress) = followers.get_mut(&to) else { return };
    let what = match disk.log.mark(progress.next - 1) {
        Some(prev) => {
            let entries = pieces::batch(disk.log.after(prev.index), protocol.piece);
            progress.sent = prev.index + entries.len() as Index;
            Raft::Append { prev, entries: entries.to_vec(), commit: disk.commit }
        }
        None => {
            let known = snapshot.as_ref().filter(|known| disk.log.mark(known.last.index).is_some());
            progress.taken = if known.is_some() { progress.taken } else { 0 };
            let (last, store) = known.map_or((disk.committed(), &disk.store), |known| (known.last, &known.store));
            let mut piece = pieces::piece(last, store, progress.taken, protocol.piece);
            if let Raft::Install { store, .. } = &mut piece
                && protocol.bug == Bug::ForgetSessions
            {
                store.sessions.clear();
            }
            if let Raft::Install { store, .. } = &mut piece
                && protocol.bug == Bug::ForgetMembers
            {
                store.members = Some(Members::first(protocol.members, ctx.nodes()));
            }
            // The entries behind a store in pieces are sent after its last piece.
            let is_whole = !protocol.batches && matches!(piece, Raft::Install { number: 0, is_last: true, .. });
            progress.sent = if is_whole { disk.log.last().index } else { last.index };
            piece
        }
    };
    if protocol.batches {
        // Everything is sent again from here: answers to earlier messages are answers to this one, too.
        let is_empty = matches!(&what, Raft::Append { entries, .. } if entries.is_empty());
        progress.unanswered = if is_empty { Vec::new() } else { vec![progress.sent] };
        progress.silent = 0;
    }
    tell(ctx, state, to, what);
}

/// Commits the last entry that a majority has, if it is of this term: one of an older term can still be replaced by a leader
/// that does not have it (figure 8 of the Raft paper). The entries before it are committed with it.
fn advance_commit(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    let Role::Leader { followers, .. } = &state.role else { return };
    let last = state.disk.log.last().index;
    let matched = |node: NodeId| match node == ctx.me() {
        true => last,
        false => followers.get(&node).map_or(0, |progress| progress.matched),
    };
    let mut matched: Vec<Index> = members::all(ctx, &state.disk).into_iter().map(matched).collect();
    matched.sort_unstable_by(|one, other| other.cmp(one));
    // As many have this one or more as make a majority.
    let index = matched[matched.len() / 2];
    let is_of_this_term = state.disk.log.mark(index).is_some_and(|mark| mark.term == state.disk.term);
    if index > state.disk.commit && is_of_this_term {
        commit_up_to(protocol, ctx, state, index);
        send_news(protocol, ctx, state);
        reads::begin(protocol, ctx, state);
    }
}

/// Executes the committed entries, answers their requests, and forgets entries that are too old to keep.
fn commit_up_to(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, index: Index) {
    for next in state.disk.commit + 1..=index {
        let entry = state.disk.log.entry(next).expect("what is committed is in the log").clone();
        state.disk.commit = next;
        if let Some(Command { node, number, operation }) = entry.command {
            let store = &mut state.disk.store;
            let before = store.room_of(&operation);
            let outcome = match &operation {
                Operation::Once(once) if protocol.bug == Bug::RepeatEarly => once.execute(store, next),
                operation => operation.apply(store, next),
            };
            state.used = state.used + store.room_of(&operation) - before;
            tables::applied(ctx, store, &operation);
            if node == ctx.me() {
                answers::answer(ctx, state, number, outcome);
            }
        }
    }
    forget(protocol, ctx, state);
}

/// Forgets committed entries: some of the last ones stay for nodes that lag behind, and all behind a store that is sent in
/// pieces; but no more than half of the room.
fn forget(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    let disk = &mut state.disk;
    let mut up_to = disk.commit.saturating_sub(protocol.kept);
    if let Role::Leader { snapshot: Some(known), .. } = &state.role {
        up_to = up_to.min(known.last.index);
    }
    let (mut bytes, mut first) = (0, disk.commit);
    while first > up_to
        && let Some(entry) = disk.log.entry(first)
    {
        bytes += pieces::size(entry);
        if bytes > protocol.room / 2 {
            break;
        }
        first -= 1;
    }
    let before = disk.log.base();
    disk.log.forget_up_to(first);
    if disk.log.base() != before {
        tables::forgot(ctx, &disk.log);
    }
}
