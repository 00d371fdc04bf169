//! The discovery of other trees: the recovery timer of each node probes others, and roots that are not the same join.

use std::collections::BTreeSet;

use guest_sdk::{Context, NodeId};
use serde::{Deserialize, Serialize};

use crate::join::{after, ask, close};
use crate::{Bug, Message, Phase, Probes, RandTree, State};

/// The relation of a probe's destination to its sender, as the sender sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Tie {
    /// Its parent.
    Parent,
    /// Its child.
    Child,
    /// Neither.
    None,
}

/// No answer to the last probe will come any more.
pub(crate) fn answered(state: &mut State, from: NodeId) {
    if state.awaits == Some(from) {
        state.awaits = None;
    }
}

/// The node that is probed next, if there is one.
pub(crate) fn next(protocol: &RandTree, state: &State) -> Option<NodeId> {
    after(&protocol.candidates(state), state.probed)
}

impl RandTree {
    /// Whether the recovery timer can fire and does something.
    pub(crate) fn may_recover(&self, state: &State) -> bool {
        let is_lost = self.bugs.has(Bug::RT3) && state.phase == Phase::Joining;
        let is_due = state.awaits.is_none() || state.early > 0;
        let probes = state.phase == Phase::Joined && is_due && !self.candidates(state).is_empty();
        self.probes != Probes::Never && state.is_recovering && (probes || is_lost)
    }

    pub(crate) fn recover(&self, ctx: &mut Context<Message>, state: &mut State) {
        if state.phase == Phase::Joining {
            state.is_recovering = false;
            return;
        }
        state.early -= u8::from(state.awaits.is_some());
        let Some(peer) = next(self, state) else { return };
        (state.probed, state.awaits) = (peer, Some(peer));
        let tie = match peer {
            _ if state.parent == Some(peer) => Tie::Parent,
            _ if state.children.contains(&peer) => Tie::Child,
            _ => Tie::None,
        };
        let is_first = state.met.insert(peer);
        ctx.send(peer, Message::Probe { root: state.root, tie, is_first });
    }

    fn candidates(&self, state: &State) -> BTreeSet<NodeId> {
        let parent = state.parent.iter().copied().collect();
        let mut candidates = match self.probes {
            Probes::Peers => &(&state.peers - &state.children) - &parent,
            Probes::All => &(&state.peers | &state.children) | &parent,
            Probes::Never => BTreeSet::new(),
        };
        if self.probes == Probes::Peers {
            candidates.remove(&state.root);
        }
        candidates.remove(&state.me);
        candidates
    }

    pub(crate) fn probe(
        &self,
        ctx: &mut Context<Message>,
        state: &mut State,
        from: NodeId,
        (root, tie, is_first): (NodeId, Tie, bool),
    ) {
        if is_first {
            // The sender was started; its pending probe is lost.
            state.awaits = None;
            state.removing.remove(&from);
            state.unsent.remove(&from);
        }
        if is_first || self.probes == Probes::All {
            // Time passes. With probes of all nodes these are few: the sender has received answers from all others meanwhile.
            close(state);
        }
        if tie == Tie::Child && state.parent != Some(from) {
            self.ask_to_remove(ctx, state, from);
        }
        if tie == Tie::Parent && !state.children.contains(&from) {
            ctx.send(from, Message::Rejoin);
        }
        let is_asked = state.phase != Phase::Init || self.bugs.has(Bug::RT11);
        // The larger of two roots learns of the smaller one.
        let (smaller, larger) = (root.min(state.root), root.max(state.root));
        if !is_asked || smaller == larger || larger == state.me {
            ctx.send(from, Message::Probed(state.me));
            if is_asked && smaller < larger && state.is_root() {
                self.merge(ctx, state, smaller, Bug::RT7);
            }
        } else {
            ctx.send(larger, Message::ProbeJoin { root: smaller, prober: from });
        }
    }

    pub(crate) fn probe_join(
        &self,
        ctx: &mut Context<Message>,
        state: &mut State,
        from: NodeId,
        (root, prober): (NodeId, NodeId),
    ) {
        match prober == state.me {
            true => answered(state, from),
            false => ctx.send(prober, Message::Probed(from)),
        }
        let is_asked = state.phase != Phase::Init || self.bugs.has(Bug::RT14);
        if is_asked && state.is_root() && root < state.me {
            self.merge(ctx, state, root, Bug::RT8);
        }
    }

    /// The root of one tree joins that of another one.
    fn merge(&self, ctx: &mut Context<Message>, state: &mut State, root: NodeId, forgets: Bug) {
        if !self.bugs.has(forgets) {
            state.peers.insert(root);
        }
        let is_asking = state.attempt.is_some_and(|attempt| attempt.target == root && attempt.is_open);
        if !is_asking {
            ask(ctx, state, root);
        }
    }
}
