//! Contents and states that name a node, and renamings of nodes.

use crate::contract::NodeId;

/// Contents and states from here on name a node.
pub(crate) const NAMED: u8 = 8;

/// The content, or the state, `base` with a node in it. `base` is below 8.
pub fn named(base: u8, node: NodeId) -> u8 {
    base + NAMED * (1 + node as u8)
}

/// The content, or the state, with the node in it renamed.
pub fn renamed(content: u8, renaming: &[NodeId]) -> u8 {
    match content / NAMED {
        0 => content,
        node => named(content % NAMED, renaming[usize::from(node - 1)]),
    }
}

/// All permutations of all nodes up to the end of the range that move nodes in it only.
pub fn permutations(moved: std::ops::Range<NodeId>) -> Vec<Vec<NodeId>> {
    let mut all = vec![(0..moved.start).collect::<Vec<NodeId>>()];
    for _ in moved.clone() {
        let longer = |some: &Vec<NodeId>| -> Vec<Vec<NodeId>> {
            let left = moved.clone().filter(|node| !some.contains(node));
            left.map(|node| some.iter().copied().chain([node]).collect()).collect()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}
