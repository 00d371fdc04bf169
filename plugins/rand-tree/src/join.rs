//! The search for a parent: a node asks a contact, which forwards the question to its root; the root accepts the node, forwards it down, or
//! makes it the root and joins it.

use std::collections::BTreeSet;

use guest_sdk::{Context, NodeId};
use serde::{Deserialize, Serialize};

use crate::{Attempt, Bug, Contact, Message, Phase, RandTree, State};

/// The answer to Join.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reply {
    /// The sender is the joiner's parent.
    Accepted {
        /// The root of the tree.
        root: NodeId,
        /// The sender's other children, if it is the root.
        siblings: BTreeSet<NodeId>,
    },
    /// The joiner is smaller than the root, which will join it.
    RootForce {
        /// The joiner.
        root: NodeId,
    },
    /// The joiner is the root of the sender's tree.
    Loop,
    /// The sender is in no tree now: try again.
    NotYet,
}

impl RandTree {
    pub(crate) fn join_overlay(&self, ctx: &mut Context<Message>, state: &mut State) {
        state.peers = self.told_of(state, ctx.nodes());
        match state.peers.first().copied() {
            None => {
                state.phase = Phase::Joined;
                state.is_recovering = !self.bugs.has(Bug::S7);
            }
            Some(first) => {
                state.is_recovering = true;
                state.probed = first;
                ask(ctx, state, first);
            }
        }
    }

    /// The nodes that a node knows before it joins.
    pub(crate) fn told_of(&self, state: &State, nodes: u32) -> BTreeSet<NodeId> {
        let mut peers = match self.contact {
            Contact::All => (0..nodes).collect(),
            Contact::Next => BTreeSet::from([(state.me + 1) % nodes]),
            Contact::First => BTreeSet::from([0]),
            Contact::Last => BTreeSet::from([nodes - 1]),
        };
        peers.remove(&state.me);
        peers
    }

    /// The join timer fires: the next peer that is no child is asked.
    pub(crate) fn retry(&self, ctx: &mut Context<Message>, state: &mut State) {
        let Some(Attempt { target, is_open }) = state.attempt else { return };
        state.early -= u8::from(is_open);
        if !self.bugs.has(Bug::RT15) {
            state.root = state.me;
        }
        if self.bugs.any(&[Bug::RT1, Bug::RT5, Bug::RT6, Bug::RT7, Bug::RT8, Bug::RT9]) && !state.peers.is_empty() {
            // As originally written: it loops for ever if all peers are children.
            let mut target = after(&state.peers, target);
            while target.is_some_and(|peer| state.children.contains(&peer)) {
                target = target.and_then(|peer| after(&state.peers, peer));
            }
            ask(ctx, state, target.expect("there are peers"));
            return;
        }
        let others = &state.peers - &state.children;
        match after(&others, target) {
            Some(peer) => ask(ctx, state, peer),
            // All nodes that it knows join here.
            None => become_root(ctx, state),
        }
    }

    pub(crate) fn join(
        &self,
        ctx: &mut Context<Message>,
        state: &mut State,
        joiner: NodeId,
        redirected_by: Option<NodeId>,
    ) {
        let answer = |ctx: &mut Context<Message>, reply| ctx.send(joiner, Message::JoinReply(reply));
        if joiner == state.me {
            // Another node takes it for the root, as it does itself.
            return close(state);
        }
        if state.phase == Phase::Init {
            return answer(ctx, Reply::NotYet);
        }
        if !state.is_root() && joiner == state.root {
            return answer(ctx, Reply::Loop);
        }
        if !state.is_root() && redirected_by != Some(state.root) {
            return ctx.send(state.root, Message::Join { joiner, redirected_by: None });
        }
        if state.parent == Some(joiner) {
            // The parent has left its tree.
            answer(ctx, Reply::NotYet);
            self.ask_to_remove(ctx, state, joiner);
            return self.join_again(ctx, state, state.root, true);
        }
        if state.is_root() && joiner < state.me {
            answer(ctx, Reply::RootForce { root: joiner });
            if !self.bugs.has(Bug::S5) {
                state.children.remove(&joiner);
            }
            if !self.bugs.has(Bug::RT1) {
                state.peers.insert(joiner);
            }
            return ask(ctx, state, joiner);
        }
        if state.children.contains(&joiner) {
            // The child was started again, and its parent does not know that.
            if !self.bugs.has(Bug::RT13) {
                answer(ctx, Reply::Accepted { root: state.root, siblings: siblings_of(state, joiner) });
            }
            return;
        }
        if state.children.len() == self.degree {
            let child = ctx.choose(self.degree as u32) as usize;
            let child = *state.children.iter().nth(child).expect("there are as many children");
            return ctx.send(child, Message::Join { joiner, redirected_by: Some(state.root) });
        }
        state.children.insert(joiner);
        if !self.bugs.has(Bug::S4) {
            state.siblings.remove(&joiner);
        }
        answer(ctx, Reply::Accepted { root: state.root, siblings: siblings_of(state, joiner) });
        if !state.is_root() {
            return;
        }
        // A node that has asked only a larger one is a root now. One that knows of a smaller one continues.
        if state.attempt.is_some_and(|attempt| attempt.target > state.me) {
            state.phase = Phase::Joined;
            state.attempt = None;
        }
        tell_siblings(ctx, state, Some(joiner));
    }

    pub(crate) fn join_reply(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, reply: Reply) {
        match (state.phase, reply) {
            (Phase::Init, Reply::Accepted { .. }) => {
                if !self.bugs.has(Bug::RT13) {
                    self.ask_to_remove(ctx, state, from);
                }
            }
            (Phase::Joined, Reply::Accepted { .. }) => {
                if state.parent != Some(from) {
                    self.ask_to_remove(ctx, state, from);
                }
            }
            // The Remove in flight ends the tie that it was sent for, and this one as well. The node asks again when it has arrived.
            (Phase::Joining, Reply::Accepted { .. }) if state.removing.contains(&from) => {}
            (Phase::Joining, Reply::Accepted { root, siblings }) => {
                self.install_root(state, root);
                if !self.bugs.has(Bug::S5) {
                    state.children.remove(&from);
                }
                state.siblings = siblings;
                if !self.bugs.has(Bug::S3) {
                    yield_children(ctx, state);
                }
                state.parent = Some(from);
                state.phase = Phase::Joined;
                state.attempt = None;
                multicast_root(ctx, state);
            }
            (Phase::Joining, Reply::RootForce { root }) => {
                assert_eq!(state.root, root, "told to be the root, with another root");
                // An answer from above still comes.
                if state.attempt.is_none_or(|attempt| attempt.target > state.me) {
                    become_root(ctx, state);
                }
            }
            (Phase::Joining, Reply::Loop) => become_root(ctx, state),
            (Phase::Joining, Reply::NotYet) => close(state),
            (_, Reply::RootForce { .. } | Reply::Loop | Reply::NotYet) => {}
        }
    }

    /// Leaves the parent and asks a node for another one.
    pub(crate) fn join_again(&self, ctx: &mut Context<Message>, state: &mut State, target: NodeId, is_noted: bool) {
        state.parent = None;
        state.siblings.clear();
        if !self.bugs.any(&[Bug::RT15, Bug::RT16]) {
            state.root = state.me;
        }
        if is_noted {
            state.peers.insert(target);
        }
        ask(ctx, state, target);
    }
}

/// Asks a node for a place in its tree, and sets the join timer.
pub(crate) fn ask(ctx: &mut Context<Message>, state: &mut State, target: NodeId) {
    state.phase = Phase::Joining;
    state.attempt = Some(Attempt { target, is_open: true });
    ctx.send(target, Message::Join { joiner: state.me, redirected_by: None });
}

/// No answer will arrive, or the node has reason to think so.
pub(crate) fn close(state: &mut State) {
    if let Some(attempt) = &mut state.attempt {
        attempt.is_open = false;
    }
}

/// The node is the root of its tree, and announces it.
pub(crate) fn become_root(ctx: &mut Context<Message>, state: &mut State) {
    state.phase = Phase::Joined;
    state.attempt = None;
    state.root = state.me;
    multicast_root(ctx, state);
    tell_siblings(ctx, state, None);
}

/// Announces the root to the children.
pub(crate) fn multicast_root(ctx: &mut Context<Message>, state: &State) {
    for child in &state.children {
        ctx.send(*child, Message::NewRoot(state.root));
    }
}

/// Tells each child of the root but one about the others.
pub(crate) fn tell_siblings(ctx: &mut Context<Message>, state: &State, except: Option<NodeId>) {
    for child in state.children.iter().filter(|child| Some(**child) != except) {
        ctx.send(*child, Message::UpdateSiblings { siblings: siblings_of(state, *child) });
    }
}

/// Children that are siblings now have another parent, or will have one: the root has accepted them. If that was long ago, they join
/// again.
pub(crate) fn yield_children(ctx: &mut Context<Message>, state: &mut State) {
    for child in &state.children & &state.siblings {
        state.children.remove(&child);
        ctx.send(child, Message::Rejoin);
    }
}

/// The other children, if the node is the root.
fn siblings_of(state: &State, child: NodeId) -> BTreeSet<NodeId> {
    let others = state.children.iter().copied().filter(|other| *other != child);
    others.filter(|_| state.is_root()).collect()
}

/// The next node of a set, round and round.
pub(crate) fn after(nodes: &BTreeSet<NodeId>, node: NodeId) -> Option<NodeId> {
    nodes.range(node + 1..).next().or(nodes.first()).copied()
}
