//! Wakeup trees: the executions still to be explored from a state, so that none is explored twice.
//!
//! A sequence of steps that is possible in a state stands for all executions that it can begin, up to the order of
//! independent events; here, steps are independent if they are of different nodes. A step is a *weak initial* of a
//! sequence if the sequence, or some continuation of it, can be reordered to begin with that step.
//!
//! Source: Abdulla, Aronis, Jonsson, Sagonas, "Source sets: a foundation for optimal dynamic partial order reduction",
//! Journal of the ACM 64(4), 2017, §6.

use host_model::lts::Step;

/// The sequences to be explored from a state, with shared beginnings; those on the left first.
#[derive(Clone, Debug, Default)]
pub struct WakeupTree {
    branches: Vec<(Step, WakeupTree)>,
}

impl WakeupTree {
    /// Bytes of a step in a tree: its place in a list that has room for as many again, and the allocation of that list.
    pub const STEP_BYTES: u64 = (2 * size_of::<(Step, Self)>() + 2 * size_of::<usize>()) as u64;

    /// Whether the tree has no execution.
    pub fn is_empty(&self) -> bool {
        self.branches.is_empty()
    }

    /// Removes the first branch: a step, and the tree to be explored after it.
    pub fn take_first(&mut self) -> Option<(Step, Self)> {
        (!self.branches.is_empty()).then(|| self.branches.remove(0))
    }

    /// Adds a sequence unless one in the tree already leads to an execution that begins with it. Returns the number of steps
    /// by which the tree has grown.
    pub fn insert(&mut self, mut sequence: Vec<Step>) -> usize {
        let mut at = self;
        let mut is_root = true;
        loop {
            if at.branches.is_empty() && !is_root {
                return 0;
            }
            is_root = false;
            let Some(index) = at.branches.iter().position(|(step, _)| is_weak_initial(*step, &sequence)) else {
                let chain = |below: WakeupTree, step: Step| WakeupTree { branches: vec![(step, below)] };
                let steps = sequence.len();
                let mut added = sequence.into_iter().rev().fold(Self::default(), chain);
                at.branches.append(&mut added.branches);
                return steps;
            };
            let step = at.branches[index].0;
            if let Some(first) = sequence.iter().position(|other| other.node == step.node) {
                sequence.remove(first);
            }
            at = &mut at.branches[index].1;
        }
    }
}

/// Whether a step that is possible at the beginning of the sequence is a weak initial: it is the first step of its node in the
/// sequence, or the sequence has no step of its node.
pub fn is_weak_initial(step: Step, sequence: &[Step]) -> bool {
    sequence.iter().find(|other| other.node == step.node).is_none_or(|first| *first == step)
}

#[cfg(test)]
mod tests {
    use host_model::lts::{MessageId, Trigger};

    use super::*;

    fn step(node: u32, message: u32) -> Step {
        Step { node, trigger: Trigger::deliver(MessageId(message)), outcome: 0 }
    }

    /// All sequences from the root to a leaf.
    fn leaves(tree: &WakeupTree) -> Vec<Vec<Step>> {
        let mut found = Vec::new();
        for (step, below) in &tree.branches {
            match below.is_empty() {
                true => found.push(vec![*step]),
                false => {
                    found.extend(leaves(below).into_iter().map(|rest| [vec![*step], rest].concat()));
                }
            }
        }
        found
    }

    #[test]
    fn orders_of_independent_steps_are_one_sequence() {
        let (a, b, c) = (step(0, 1), step(1, 2), step(1, 3));
        let mut tree = WakeupTree::default();
        assert_eq!(tree.insert(vec![a, b]), 2);
        // The same two in the other order, and each of them alone, lead to executions that the leaf stands for.
        for covered in [vec![b, a], vec![a], vec![b]] {
            assert_eq!(tree.insert(covered), 0);
        }
        // At node 1, c first is another execution. Its step at node 0 is shared.
        assert_eq!(tree.insert(vec![c, a]), 1);
        assert_eq!(leaves(&tree), [vec![a, b], vec![a, c]]);
        assert_eq!(tree.take_first().map(|(step, below)| (step, leaves(&below))), Some((a, vec![vec![b], vec![c]])));
        assert!(tree.is_empty());
    }
}
