//! The properties: no loops, and in the end one tree in which parents and children agree.

use std::collections::BTreeSet;

use guest_sdk::{NodeId, Properties};

use crate::{BrokenTree, ROOT};

/// The parent of a node, itself at a root, and its children.
type Place = (Option<NodeId>, BTreeSet<NodeId>);

pub(crate) fn properties(claims: &mut Properties<BrokenTree>) {
    claims.always("no-loops").system(|_, state| state.parent, no_loops);
    claims.eventually("spanning-tree").system(|_, state| Some((state.parent, state.children.clone())), spanning_tree);
}

/// From each node the parents lead to the root, or to a node that is not in the tree yet.
fn no_loops(parents: &[Option<NodeId>]) -> Result<(), String> {
    for node in 0..parents.len() as NodeId {
        let mut above = node;
        let ends = (0..parents.len()).any(|_| match parents[above as usize] {
            Some(parent) if above != ROOT => {
                above = parent;
                false
            }
            _ => true,
        });
        if !ends {
            return Err(format!("node {node} is below a loop"));
        }
    }
    Ok(())
}

fn spanning_tree(places: &[Option<Place>]) -> Result<(), String> {
    let places: Vec<&Place> = places.iter().flatten().collect();
    if let Some(node) = places.iter().position(|(parent, _)| parent.is_none()) {
        return Err(format!("node {node} is not in the tree"));
    }
    let nodes = || (0..).zip(&places);
    let roots = nodes().filter(|(node, (parent, _))| *parent == Some(*node)).count();
    if roots != 1 {
        return Err(format!("there are {roots} roots"));
    }
    for (node, (parent, children)) in nodes() {
        let above = parent.unwrap_or(node);
        if above != node && !places[above as usize].1.contains(&node) {
            return Err(format!("node {node} has the parent {above}, which has no such child"));
        }
        if let Some(child) = children.iter().find(|child| places[**child as usize].0 != Some(node)) {
            return Err(format!("node {node} has the child {child}, which has another parent"));
        }
    }
    Ok(())
}
