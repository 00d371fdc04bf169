//! Log replication: the leader's log becomes that of the others, and entries that a majority has are committed.

use guest_sdk::{Context, NodeId};
use serde::{Deserialize, Serialize};

use crate::{Bug, Entry, Index, Mark, Message, Role, State, Term};

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
    /// The following entries of the leader's log.
    pub entries: Vec<Entry>,
    /// The last index that the leader has committed.
    pub commit: Index,
}

/// The result of an [`Append`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Appended {
    /// The follower's log is the leader's up to here.
    Matched(Index),
    /// The follower lacks this entry, or has another one there.
    Missing(Index),
}

/// The application gives a command.
pub(crate) fn command(ctx: &mut Context<Message>, state: &mut State, bug: Bug) {
    state.log.push(Entry { term: state.term, command: ctx.me() });
    send_to_all(ctx, state);
    // In a cluster of one node there is no answer to wait for.
    advance_commit(ctx, state, bug);
}

pub(crate) fn append(ctx: &mut Context<Message>, state: &mut State, leader: NodeId, term: Term, append: &Append) {
    let Append { prev, entries, commit } = append;
    if term == state.term && matches!(state.role, Role::Candidate { .. }) {
        state.role = Role::Follower;
    }
    // Another leader of this term: there are two, as the properties report.
    if matches!(state.role, Role::Leader { .. }) {
        return;
    }
    let is_known = term == state.term && state.log.mark(prev.index) == Some(*prev);
    let result = if is_known {
        let matched = prev.index + entries.len() as Index;
        state.log.replace_after(prev.index, entries);
        state.commit = state.commit.max(matched.min(*commit));
        Appended::Matched(matched)
    } else {
        Appended::Missing(prev.index)
    };
    ctx.send(leader, Message::Appended { term: state.term, result });
}

pub(crate) fn appended(
    ctx: &mut Context<Message>,
    state: &mut State,
    follower: NodeId,
    (term, result): (Term, Appended),
    bug: Bug,
) {
    let Role::Leader { followers } = &mut state.role else { return };
    if term != state.term {
        return;
    }
    let progress = followers.get_mut(&follower).expect("followers are all other nodes");
    match result {
        Appended::Matched(index) => {
            progress.matched = progress.matched.max(index);
            progress.next = progress.next.max(index + 1);
            advance_commit(ctx, state, bug);
        }
        Appended::Missing(_) if bug == Bug::NoBacktrack => {}
        // An answer to an older message, which another one has answered meanwhile, is no news.
        Appended::Missing(index) if index + 1 == progress.next && progress.matched < index => {
            progress.next = index;
            send(ctx, state, follower);
        }
        Appended::Missing(_) => {}
    }
}

/// Sends every other node its missing entries, as far as the leader knows, and the commit index.
pub(crate) fn send_to_all(ctx: &mut Context<Message>, state: &State) {
    let Role::Leader { followers } = &state.role else { return };
    followers.keys().for_each(|node| send(ctx, state, *node));
}

fn send(ctx: &mut Context<Message>, state: &State, to: NodeId) {
    let Role::Leader { followers } = &state.role else { return };
    let before = followers[&to].next - 1;
    let prev = state.log.mark(before).expect("a leader does not shorten its log");
    let entries = state.log.after(before).to_vec();
    ctx.send(to, Message::Append { term: state.term, append: Append { prev, entries, commit: state.commit } });
}

/// Commits the last entry that a majority has, if it is of this term: one of an older term can still be replaced by a leader
/// that does not have it (figure 8 of the Raft paper). The entries before it are committed with it.
fn advance_commit(ctx: &mut Context<Message>, state: &mut State, bug: Bug) {
    let Role::Leader { followers } = &state.role else { return };
    let mut matched: Vec<Index> = followers.values().map(|progress| progress.matched).collect();
    matched.push(state.log.last().index);
    matched.sort_unstable_by(|one, other| other.cmp(one));
    let index = matched[ctx.majority() - 1];
    let is_of_this_term = state.log.mark(index).is_some_and(|mark| mark.term == state.term);
    if index > state.commit && (is_of_this_term || bug == Bug::CommitOlderTerm) {
        state.commit = index;
        send_to_all(ctx, state);
    }
}
