//! The maintenance of the ties between parents, children and siblings.

use std::collections::BTreeSet;

use guest_sdk::{Context, NodeId};

use crate::join::{become_root, close, multicast_root, tell_siblings, yield_children};
use crate::probe::answered;
use crate::{Bug, Message, Phase, RandTree, State};

impl RandTree {
    /// Sends Remove, unless there is one in flight. If the transport is full, it is sent later.
    pub(crate) fn ask_to_remove(&self, ctx: &mut Context<Message>, state: &mut State, parent: NodeId) {
        if !state.removing.insert(parent) || ctx.try_send(parent, Message::Remove) {
            return;
        }
        match self.bugs.has(Bug::RT12) {
            true => state.removing.remove(&parent),
            false => state.unsent.insert(parent),
        };
    }

    pub(crate) fn remove(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId) {
        ctx.send(from, Message::Removed);
        if !self.bugs.has(Bug::RT10) || state.phase != Phase::Joining {
            self.lose_child(ctx, state, from);
        }
    }

    fn lose_child(&self, ctx: &mut Context<Message>, state: &mut State, child: NodeId) {
        if state.children.remove(&child) && state.is_root() {
            tell_siblings(ctx, state, None);
        }
    }

    pub(crate) fn rejoin(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId) {
        if state.parent == Some(from) {
            self.join_again(ctx, state, state.root, !self.bugs.has(Bug::RT9));
        }
    }

    pub(crate) fn update_siblings(
        &self,
        ctx: &mut Context<Message>,
        state: &mut State,
        from: NodeId,
        siblings: BTreeSet<NodeId>,
    ) {
        if state.parent != Some(from) {
            return;
        }
        state.siblings = siblings;
        if !self.bugs.has(Bug::S1) {
            yield_children(ctx, state);
        }
    }

    pub(crate) fn new_root(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, root: NodeId) {
        let is_believed = self.bugs.has(Bug::RT4) && state.phase == Phase::Joined;
        if state.parent != Some(from) && !is_believed {
            return;
        }
        if root == state.me {
            // Its parent is below it.
            self.ask_to_remove(ctx, state, from);
            state.parent = None;
            state.siblings.clear();
            return become_root(ctx, state);
        }
        self.install_root(state, root);
        if state.parent != Some(root) {
            state.siblings.clear();
        }
        multicast_root(ctx, state);
    }

    /// Notes a root, which is neither child nor sibling.
    pub(crate) fn install_root(&self, state: &mut State, root: NodeId) {
        state.root = root;
        if !self.bugs.has(Bug::S5) {
            state.children.remove(&root);
            state.siblings.remove(&root);
        }
    }

    /// The connection to a node is broken: child, parent or neither.
    pub(crate) fn peer_died(&self, ctx: &mut Context<Message>, state: &mut State, peer: NodeId) {
        answered(state, peer);
        state.removing.remove(&peer);
        state.unsent.remove(&peer);
        if state.attempt.is_some_and(|attempt| attempt.target == peer) {
            close(state);
        }
        self.lose_child(ctx, state, peer);
        if state.parent != Some(peer) {
            return;
        }
        if peer != state.root {
            return self.join_again(ctx, state, state.root, !self.bugs.has(Bug::RT6));
        }
        match state.siblings.first().copied().filter(|first| *first < state.me) {
            Some(first) => self.join_again(ctx, state, first, !self.bugs.has(Bug::RT5)),
            None => {
                state.parent = None;
                if !self.bugs.has(Bug::S6) {
                    state.siblings.clear();
                }
                become_root(ctx, state);
            }
        }
    }
}
