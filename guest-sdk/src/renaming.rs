//! New names for nodes.

use crate::NodeId;

/// New names for all nodes of a cluster, no two the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renaming(Vec<NodeId>);

impl Renaming {
    /// Renames node `i` to `images[i]`.
    pub fn new(images: Vec<NodeId>) -> Self {
        Self(images)
    }

    /// The new name of a node.
    ///
    /// # Panics
    ///
    /// There is no such node.
    pub fn of(&self, node: NodeId) -> NodeId {
        self.0[node as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_gets_the_name_at_its_place() {
        let renaming = Renaming::new(vec![0, 3, 1, 2]);
        assert_eq!([0, 1, 2, 3].map(|node| renaming.of(node)), [0, 3, 1, 2]);
    }
}
