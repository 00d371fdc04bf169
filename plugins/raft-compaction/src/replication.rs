//! Log replication: the leader's log becomes that of the others, entries that a majority has are committed, and a follower that lacks
//! entries that the leader's log no longer has gets the snapshot.

use guest_sdk::{Context, NodeId};
use serde::{Deserialize, Serialize};

use crate::{Bug, Entry, Index, Log, Mark, Message, Role, State};

/// The knowledge of a leader about the log of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Progress {
    /// The first entry to send.
    pub next: Index,
    /// Up to here the logs are known to be equal.
    pub matched: Index,
}

/// The entries of a leader, and where they belong.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Append {
    /// The place before the first entry. The follower must have the same entry there.
    pub prev: Mark,
    /// The rest of the leader's log.
    pub entries: Vec<Entry>,
    /// The last committed entry of the leader.
    pub commit: Index,
}

/// The entries that a leader has applied up to the base of its log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Snapshot {
    /// The last entry in it.
    pub last: Mark,
    /// All of them.
    pub done: Vec<Entry>,
}

/// The answer of a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Appended {
    /// The follower's log is the leader's up to here.
    Matched(Index),
    /// The follower lacks this entry, or has another one there.
    Missing(Index),
}

/// A leader takes a command. Followers that have all entries before get it at once, the others after their answer or with a heartbeat.
pub(crate) fn command(ctx: &mut Context<Message>, state: &mut State, bug: Bug) {
    let Role::Leader { followers, commands, .. } = &mut state.role else { return };
    *commands += 1;
    let entry = Entry { term: state.term, command: *commands };
    state.log.push(entry);
    let last = state.log.last().index;
    let ready: Vec<NodeId> =
        followers.iter().filter(|(_, progress)| progress.next == last).map(|(node, _)| *node).collect();
    ready.into_iter().for_each(|node| send(ctx, state, node, bug));
    // In a cluster of one node no answer follows.
    advance_commit(ctx, state, bug);
}

/// A leader sends every follower its missing entries, and the commit index; also entries that are in flight already.
pub(crate) fn heartbeat(ctx: &mut Context<Message>, state: &mut State, bug: Bug) {
    let Role::Leader { followers, heartbeats, .. } = &mut state.role else { return };
    *heartbeats += 1;
    let all: Vec<NodeId> = followers.keys().copied().collect();
    all.into_iter().for_each(|node| send(ctx, state, node, bug));
}

fn send(ctx: &mut Context<Message>, state: &State, to: NodeId, bug: Bug) {
    let Role::Leader { followers, .. } = &state.role else { return };
    let (next, base) = (followers[&to].next, state.log.base());
    let is_behind = match bug {
        Bug::NextEqualsSnapshot => next < base.index,
        _ => next <= base.index,
    };
    let term = state.term;
    if is_behind {
        let snapshot = Snapshot { last: base, done: state.snapshot().to_vec() };
        return ctx.send(to, Message::Install { term, snapshot });
    }
    // Without a mistake the place before is in the log.
    let prev = state.log.mark(next - 1).unwrap_or_default();
    let entries = state.log.from(next).to_vec();
    ctx.send(to, Message::Append { term, append: Append { prev, entries, commit: state.commit } });
}

/// A leader of the follower's term sends the rest of its log.
pub(crate) fn append(state: &mut State, append: &Append, bug: Bug) -> Appended {
    let Append { prev, entries, commit } = append;
    let log = &mut state.log;
    let compacted = log.base().index.saturating_sub(prev.index);
    if compacted == 0 && log.mark(prev.index) != Some(*prev) {
        return Appended::Missing(prev.index);
    }
    if bug == Bug::PreviousZero && prev.index == 0 && compacted > 0 {
        entries.iter().for_each(|entry| log.push(*entry));
    } else if let Some(rest) = entries.get(compacted as usize..) {
        // Entries in the snapshot are committed, and so the same in both logs.
        log.replace_after(prev.index + compacted, rest);
    }
    // The message has all entries of the leader from `prev` on, so the follower's entries up to `commit` are the leader's.
    let commit = (*commit).min(state.log.last().index);
    commit_up_to(state, commit);
    Appended::Matched(prev.index + entries.len() as Index)
}

/// A leader of the follower's term sends its snapshot.
pub(crate) fn install(state: &mut State, snapshot: Snapshot, bug: Bug) -> Appended {
    let last = snapshot.last;
    if last.index > state.commit {
        match state.log.mark(last.index) == Some(last) && bug != Bug::SnapshotDropsLog {
            true => state.log.forget_up_to(last),
            false => state.log = Log::behind(last),
        }
        (state.commit, state.done) = (last.index, snapshot.done);
        if bug == Bug::SnapshotTerm {
            (state.term, state.voted_for) = (last.term, None);
        }
    }
    Appended::Matched(last.index)
}

pub(crate) fn appended(ctx: &mut Context<Message>, state: &mut State, from: NodeId, result: Appended, bug: Bug) {
    let Role::Leader { followers, .. } = &mut state.role else { return };
    let progress = followers.get_mut(&from).expect("followers are all other nodes");
    match result {
        Appended::Matched(index) => {
            progress.matched = progress.matched.max(index);
            let is_new = index + 1 > progress.next;
            progress.next = progress.next.max(index + 1);
            let has_more = is_new && progress.next <= state.log.last().index;
            advance_commit(ctx, state, bug);
            if has_more {
                send(ctx, state, from, bug);
            }
        }
        // An answer to an older message, which another one has answered meanwhile, is no news.
        Appended::Missing(index) if index + 1 == progress.next && progress.matched < index => {
            progress.next = index;
            send(ctx, state, from, bug);
        }
        Appended::Missing(_) => {}
    }
}

/// Commits the last entry that a majority has, if it is of this term: one of an older term can still be replaced by a leader
/// that does not have it (figure 8 of the Raft paper).
fn advance_commit(ctx: &Context<Message>, state: &mut State, bug: Bug) {
    let Role::Leader { followers, .. } = &state.role else { return };
    let mut matched: Vec<Index> = followers.values().map(|progress| progress.matched).collect();
    matched.push(state.log.last().index);
    matched.sort_unstable_by(|one, other| other.cmp(one));
    let index = matched[ctx.majority() - 1];
    let is_of_this_term = state.log.mark(index).is_some_and(|mark| mark.term == state.term);
    if is_of_this_term || bug == Bug::CommitOlderTerm {
        commit_up_to(state, index);
    }
}

fn commit_up_to(state: &mut State, index: Index) {
    if index > state.commit {
        let new = &state.log.from(state.commit + 1)[..(index - state.commit) as usize];
        state.done.extend_from_slice(new);
        state.commit = index;
    }
}

/// The snapshot takes the place of all committed entries. After a mistake the log may be shorter.
pub(crate) fn compact(state: &mut State) {
    if let Some(last) = state.log.mark(state.commit) {
        state.log.forget_up_to(last);
    }
}
