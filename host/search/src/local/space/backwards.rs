//! The local states from which a local state can be reached.

use std::collections::VecDeque;

use host_model::lts::LocalStateId;
use rustc_hash::FxHashSet;

use super::{Index, LocalSpace};

/// The distance from a state that cannot reach a target.
pub const FAR: u32 = u32::MAX;

impl LocalSpace<'_> {
    /// The states from which one of `targets` can be reached on its node, the targets included.
    pub fn ancestors(&self, targets: impl Iterator<Item = Index>) -> FxHashSet<LocalStateId> {
        let mut found = FxHashSet::default();
        let mut stack: Vec<Index> = targets.collect();
        while let Some(index) = stack.pop() {
            let reached = &self.states[index.0 as usize];
            if found.insert(reached.state) {
                stack.extend(&reached.predecessors);
            }
        }
        found
    }

    /// For each local state the fewest events of its node to one of `targets`, [`FAR`] if none can be reached.
    pub fn distances(&self, targets: impl Iterator<Item = Index>) -> Vec<u32> {
        let mut distances = vec![FAR; self.states.len()];
        let mut queue = VecDeque::new();
        for target in targets {
            distances[target.0 as usize] = 0;
            queue.push_back(target);
        }
        while let Some(index) = queue.pop_front() {
            let next = distances[index.0 as usize] + 1;
            for before in &self.states[index.0 as usize].predecessors {
                let distance = &mut distances[before.0 as usize];
                if *distance == FAR {
                    *distance = next;
                    queue.push_back(*before);
                }
            }
        }
        distances
    }
}
