//! The properties: no loops, no lock that stays, and in the end one tree in which parents and children agree.

use std::collections::BTreeSet;

use guest_sdk::{NodeId, Properties};

use crate::Overcast;

/// The parent of a node, itself at the root, and its children.
type Place = (Option<NodeId>, BTreeSet<NodeId>);

pub(crate) fn properties(claims: &mut Properties<Overcast>) {
    claims.always("no-loops").system(|_, state| state.parent, no_loops);
    claims.eventually("unlocked").node(
        |_, state| Some(state.locked_by),
        |holder| match holder {
            None => Ok(()),
            Some(holder) => Err(format!("node {holder} has locked it")),
        },
    );
    claims.eventually("spanning-tree").system(|_, state| Some((state.parent, state.children.clone())), spanning_tree);
}

/// From each node the parents lead to the root, or to a node that is not in the tree.
fn no_loops(parents: &[Option<NodeId>]) -> Result<(), String> {
    for node in 0..parents.len() as NodeId {
        let mut met = BTreeSet::new();
        let mut above = node;
        while met.insert(above) {
            match parents[above as usize] {
                Some(parent) if parent != above => above = parent,
                _ => break,
            }
        }
        if parents[above as usize].is_some_and(|parent| parent != above) {
            return Err(format!("node {node} is below a loop"));
        }
    }
    Ok(())
}

fn spanning_tree(places: &[Option<Place>]) -> Result<(), String> {
    let places: Vec<&Place> = places.iter().flatten().collect();
    for (node, (parent, children)) in (0..).zip(&places) {
        let Some(parent) = *parent else { return Err(format!("node {node} is not in the tree")) };
        if parent != node && !places[parent as usize].1.contains(&node) {
            return Err(format!("node {node} has the parent {parent}, which has no such child"));
        }
        if let Some(child) = children.iter().find(|child| places[**child as usize].0 != Some(node)) {
            return Err(format!("node {node} has the child {child}, which has another parent"));
        }
    }
    Ok(())
}
