//! The paths to many states as a forest: paths with a common beginning share it.

use host_model::lts::{Step, Trigger};

use crate::kernel::checkpoint_codec::{Reader, Writer};

/// A path, kept as long as it has a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathId(pub(crate) u32);

const NONE: u32 = u32::MAX;

/// All paths; each node points to the one before it, and is freed with its last user.
#[derive(Default)]
pub struct PathForest {
    nodes: Vec<PathNode>,
    /// Nodes to be used again.
    free: Vec<u32>,
}

/// Bytes of one more step on a path.
pub const PATH_BYTES: usize = size_of::<PathNode>();

struct PathNode {
    before: u32,
    /// States and longer paths that end here.
    users: u32,
    /// The last step; at the beginning of a path its node is the index of the start state.
    step: Step,
}

impl PathForest {
    /// The empty path from the start state with this index.
    pub fn root(&mut self, start: u32) -> PathId {
        self.add(PathNode { before: NONE, users: 1, step: Step { node: start, trigger: Trigger::NONE, outcome: 0 } })
    }

    /// A path with one more step; takes over the caller's use of `path`.
    pub fn extend(&mut self, path: PathId, step: Step) -> PathId {
        self.add(PathNode { before: path.0, users: 1, step })
    }

    /// Adds a user of a path.
    pub fn share(&mut self, path: PathId) {
        self.nodes[path.0 as usize].users += 1;
    }

    /// Removes a user of a path.
    pub fn release(&mut self, path: PathId) {
        let mut at = path.0;
        while at != NONE {
            let node = &mut self.nodes[at as usize];
            node.users -= 1;
            if node.users > 0 {
                return;
            }
            self.free.push(at);
            at = node.before;
        }
    }

    /// The index of the start state, and the steps from there.
    pub fn steps(&self, path: PathId) -> (u32, Vec<Step>) {
        let mut steps = Vec::new();
        let mut at = &self.nodes[path.0 as usize];
        while at.before != NONE {
            steps.push(at.step);
            at = &self.nodes[at.before as usize];
        }
        steps.reverse();
        (at.step.node, steps)
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        (self.nodes.capacity() * size_of::<PathNode>() + self.free.capacity() * size_of::<u32>()) as u64
    }

    /// Saves all paths without their counts of users.
    pub fn save(&self, out: &mut Writer<'_>) {
        let node = |node: &PathNode| [node.before, node.step.node, node.step.trigger.raw(), node.step.outcome];
        out.words(&self.nodes.iter().flat_map(node).collect::<Vec<_>>());
    }

    /// The paths that were saved, without users.
    pub fn load(saved: &mut Reader<'_>) -> Option<Self> {
        let node = |[before, node, trigger, outcome]: &[u32; 4]| {
            let step = Step { node: *node, trigger: Trigger::from_raw(*trigger), outcome: *outcome };
            PathNode { before: *before, users: 0, step }
        };
        Some(Self { nodes: saved.words()?.as_chunks().0.iter().map(node).collect(), free: Vec::new() })
    }

    /// Adds a user of a path that was loaded, and returns its start and its steps if there are `len` of these.
    pub fn adopt(&mut self, path: PathId, len: usize) -> Option<(u32, Vec<Step>)> {
        // A longer path than there are nodes has a cycle, and following it would never end.
        if len >= self.nodes.len() {
            return None;
        }
        let mut steps = Vec::new();
        let (mut at, mut is_new) = (path.0, true);
        let start = loop {
            let node = self.nodes.get_mut(at as usize)?;
            if is_new {
                is_new = node.users == 0;
                node.users += 1;
            }
            match (node.before == NONE, steps.len() == len) {
                (true, true) => break node.step.node,
                (false, false) => steps.push(node.step),
                _ => return None,
            }
            at = node.before;
        };
        steps.reverse();
        Some((start, steps))
    }

    /// Frees paths without users.
    pub fn sweep(&mut self) {
        self.free = (0..).zip(&self.nodes).filter(|(_, node)| node.users == 0).map(|(index, _)| index).collect();
    }

    fn add(&mut self, node: PathNode) -> PathId {
        if let Some(index) = self.free.pop() {
            self.nodes[index as usize] = node;
            return PathId(index);
        }
        self.nodes.push(node);
        PathId(u32::try_from(self.nodes.len() - 1).expect("fewer than four billion paths"))
    }
}

#[cfg(test)]
mod tests {
    use host_model::lts::MessageId;

    use super::*;

    fn step(seed: u32) -> Step {
        Step { node: seed % 2, trigger: Trigger::deliver(MessageId(seed)), outcome: seed }
    }

    #[test]
    fn paths_share_their_beginnings_and_are_freed_with_their_last_user() {
        let mut paths = PathForest::default();
        let mut trunk = paths.root(3);
        let mut branches = Vec::new();
        for seed in 0..50 {
            trunk = paths.extend(trunk, step(seed));
            paths.share(trunk);
            branches.push(paths.extend(trunk, step(100)));
        }
        paths.release(trunk);
        assert_eq!(paths.nodes.len(), 101, "a root, a trunk of 50 and 50 branches");
        for (seed, branch) in (0..50).zip(&branches).rev() {
            let expected = (3, (0..=seed).map(step).chain([step(100)]).collect::<Vec<_>>());
            assert_eq!(paths.steps(*branch), expected);
            assert_eq!(paths.free.len(), 2 * (49 - seed as usize), "branches that are gone took their ends along");
            paths.release(*branch);
        }
        assert_eq!(paths.free.len(), paths.nodes.len(), "every path is given back");
    }
}
