//! The neighbourhood of a node: the nodes whose states its checker explores from.

use std::collections::BTreeSet;

use host_model::contract::{Fault, NodeId};

/// The neighbourhood of a node in some state. The node itself is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Neighbourhood {
    /// All nodes: the protocol names none.
    All,
    /// The nodes that the protocol names.
    Said(BTreeSet<NodeId>),
    /// All nodes, with the reason why those that the protocol names are unusable.
    Unusable(String),
}

impl Neighbourhood {
    /// Interprets the answer of a node's protocol, in a cluster of this size.
    pub fn of(said: Result<Option<Vec<NodeId>>, Fault>, me: NodeId, nodes: u32) -> Self {
        match said {
            Ok(None) => Self::All,
            Ok(Some(neighbours)) => match neighbours.iter().find(|node| **node >= nodes) {
                None => Self::Said(neighbours.into_iter().chain([me]).collect()),
                Some(node) => {
                    Self::Unusable(format!("names node {node} of a cluster of {nodes}, numbered from 0, a neighbour"))
                }
            },
            Err(fault) => Self::Unusable(fault.to_string()),
        }
    }

    /// Whether a node of the cluster is in it.
    pub fn has(&self, node: NodeId) -> bool {
        match self {
            Self::Said(nodes) => nodes.contains(&node),
            Self::All | Self::Unusable(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use host_model::contract::FaultKind;

    use super::*;

    #[test]
    fn unusable_neighbours_stand_for_all_nodes() {
        let of = |said| Neighbourhood::of(said, 1, 4);
        let has = |neighbourhood: &Neighbourhood| [0, 1, 2, 3].map(|node| neighbourhood.has(node));
        assert_eq!(has(&of(Ok(Some(vec![3, 3])))), [false, true, false, true]);
        assert_eq!(has(&of(Ok(Some(Vec::new())))), [false, true, false, false]);
        assert_eq!(of(Ok(None)), Neighbourhood::All);
        let trap = Fault::new(FaultKind::Trap, "it traps");
        for (said, why) in [(Ok(Some(vec![0, 4])), "node 4 of a cluster of 4"), (Err(trap), "it traps")] {
            let unusable = of(said);
            assert_eq!(has(&unusable), [true; 4]);
            assert!(matches!(&unusable, Neighbourhood::Unusable(words) if words.contains(why)), "{unusable:?}");
        }
    }
}
