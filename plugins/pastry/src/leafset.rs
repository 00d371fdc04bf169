//! The nodes that a node knows: the leafset, its neighbours on both sides of the ring, and the routing table.

use std::collections::BTreeSet;

use guest_sdk::NodeId;

use crate::ring::{ROWS, SPACE, clockwise, digit, distance, prefix};
use crate::{Bug, Pastry, State};

impl Pastry {
    /// Puts a node that has joined into the leafset, where it is near enough, and into the routing table.
    pub(crate) fn learn_neighbour(&self, state: &mut State, node: NodeId) {
        self.learn(state, node);
        state.lost.remove(&node);
        for is_right in [true, false] {
            if let Some(replaced) = self.place(state, node, is_right) {
                let half = if is_right { &mut state.right } else { &mut state.left };
                if let Some(replaced) = replaced {
                    half.remove(&replaced);
                }
                half.insert(node);
            }
        }
    }

    /// Puts a node into the routing table, if its cell is free.
    pub(crate) fn learn(&self, state: &mut State, node: NodeId) {
        let (me, other) = (self.ids.of(state.me), self.ids.of(node));
        let row = prefix(me, other);
        if row < ROWS {
            state.table.entry((row, digit(other, row))).or_insert(node);
        }
    }

    /// Whether a node would be a neighbour, and is not.
    pub(crate) fn fits(&self, state: &State, node: NodeId) -> bool {
        node != state.me && [true, false].iter().any(|is_right| self.place(state, node, *is_right).is_some())
    }

    /// Whether there is a place for a node in a half of the leafset, and which node leaves it.
    fn place(&self, state: &State, node: NodeId, is_right: bool) -> Option<Option<NodeId>> {
        let half = if is_right { &state.right } else { &state.left };
        let me = self.ids.of(state.me);
        let away = |node: NodeId| match is_right {
            true => clockwise(me, self.ids.of(node)),
            false => clockwise(self.ids.of(node), me),
        };
        if half.contains(&node) {
            return None;
        }
        if half.len() < self.half {
            return Some(None);
        }
        let furthest =
            half.iter().copied().reduce(|far, next| if self.at_most(away(far), away(next)) { next } else { far });
        furthest.filter(|furthest| away(node) < away(*furthest)).map(Some)
    }

    /// Whether one distance is at most another one.
    fn at_most(&self, one: u8, other: u8) -> bool {
        match self.bugs.has(Bug::Pastry3) && one.abs_diff(other) > SPACE / 2 {
            true => one > other,
            false => one <= other,
        }
    }

    /// Forgets a node.
    pub(crate) fn forget(&self, state: &mut State, node: NodeId) {
        state.right.remove(&node);
        state.left.remove(&node);
        state.table.retain(|_, entry| *entry != node);
        state.asked.remove(&node);
        // A neighbour in one half alone would be in both if it were the only one.
        let others = neighbours(state);
        for other in others {
            self.learn_neighbour(state, other);
        }
    }

    /// The next hop of a Join: this node if it is the one that answers.
    pub(crate) fn next_hop(&self, state: &State, joiner: NodeId) -> NodeId {
        let (me, key) = (self.ids.of(state.me), self.ids.of(joiner));
        let is_allowed = |node: &NodeId| *node != joiner || self.bugs.has(Bug::Pastry4);
        let closest = |nodes: BTreeSet<NodeId>| {
            let near = |node: &NodeId| (distance(self.ids.of(*node), key), *node);
            nodes.into_iter().filter(is_allowed).chain([state.me]).min_by_key(near).expect("the node itself is one")
        };
        let neighbours = neighbours(state);
        if neighbours.len() < 2 * self.half {
            // The node knows all nodes, as far as it can tell.
            return closest(&neighbours | &state.table.values().copied().collect());
        }
        let width = |half: &BTreeSet<NodeId>, is_right: bool| {
            let away = |node: &NodeId| match is_right {
                true => clockwise(me, self.ids.of(*node)),
                false => clockwise(self.ids.of(*node), me),
            };
            half.iter().map(away).max().unwrap_or(0)
        };
        if clockwise(me, key) <= width(&state.right, true) || clockwise(key, me) <= width(&state.left, false) {
            return closest(neighbours);
        }
        let row = prefix(me, key);
        if let Some(node) = state.table.get(&(row, digit(key, row))).filter(|node| is_allowed(node)) {
            return *node;
        }
        let known = &neighbours | &state.table.values().copied().collect();
        closest(known.into_iter().filter(|node| prefix(self.ids.of(*node), key) >= row).collect())
    }
}

/// The nodes of the leafset.
pub(crate) fn neighbours(state: &State) -> BTreeSet<NodeId> {
    &state.right | &state.left
}
