//! The properties. They share no function with the protocol except the reading of a state.

use std::collections::BTreeSet;

use guest_sdk::{NodeId, Properties};
use serde::{Deserialize, Serialize};

use crate::{Bug, Phase, RandTree, State};

/// The place of a node in the tree, as it reports it to the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Place {
    is_joined: bool,
    /// The parent; the node itself at the root.
    parent: Option<NodeId>,
    children: BTreeSet<NodeId>,
}

pub(crate) fn properties(claims: &mut Properties<RandTree>) {
    claims.always("children-siblings").node(
        |_, state| is_known(state).then(|| (state.children.clone(), state.siblings.clone())),
        |(children, siblings)| none(&(children & siblings), "both child and sibling"),
    );
    claims.always("root-above").node(
        |_, state| is_known(state).then(|| (state.root, &state.children | &state.siblings)),
        |(root, others)| none(&(others & &BTreeSet::from([*root])), "the root, and child or sibling"),
    );
    claims.always("root-alone").node(
        |_, state| (is_known(state) && state.root == state.me).then(|| state.siblings.clone()),
        |siblings| none(siblings, "a sibling of the root"),
    );
    claims.always("recovery").node(
        |_, state| (is_known(state) && !state.peers.is_empty()).then_some(state.is_recovering),
        |is_recovering| match is_recovering {
            true => Ok(()),
            false => Err("there are peers, and no recovery timer".to_owned()),
        },
    );
    claims.eventually("spanning-tree").system(
        |protocol, state| Some(place(protocol, state)),
        |places| match places.iter().map(Option::as_ref).collect::<Option<Vec<_>>>() {
            Some(places) => spanning_tree(&places),
            None => Err("not all nodes are known".to_owned()),
        },
    );
}

fn is_known(state: &State) -> bool {
    state.phase != Phase::Init
}

fn none(nodes: &BTreeSet<NodeId>, what: &str) -> Result<(), String> {
    match nodes.first() {
        None => Ok(()),
        Some(node) => Err(format!("node {node} is {what}")),
    }
}

/// The answers of a node to the calls of its application.
fn place(protocol: &RandTree, state: &State) -> Place {
    let of_root = (!protocol.bugs.has(Bug::RT2)).then_some(state.me);
    Place {
        is_joined: state.phase == Phase::Joined,
        parent: if state.root == state.me { of_root } else { state.parent },
        children: state.children.clone(),
    }
}

/// One root, and each other node has a parent that has it as a child, up to the root.
fn spanning_tree(places: &[&Place]) -> Result<(), String> {
    let nodes = || (0..).zip(places);
    if let Some((node, _)) = nodes().find(|(_, place)| !place.is_joined) {
        return Err(format!("node {node} has not joined"));
    }
    let roots: Vec<NodeId> =
        nodes().filter(|(node, place)| place.parent == Some(*node)).map(|(node, _)| node).collect();
    if roots.len() != 1 {
        return Err(format!("there are {} roots", roots.len()));
    }
    for (node, place) in nodes() {
        for child in &place.children {
            if places[*child as usize].parent != Some(node) {
                return Err(format!("node {node} has the child {child}, which has another parent"));
            }
        }
        let mut above = node;
        for _ in 0..places.len() {
            let Some(parent) = places[above as usize].parent else { return Err(format!("node {above} has no parent")) };
            if parent != above && !places[parent as usize].children.contains(&above) {
                return Err(format!("node {above} has the parent {parent}, which has no such child"));
            }
            above = parent;
        }
        if above != roots[0] {
            return Err(format!("node {node} is in a loop"));
        }
    }
    Ok(())
}
