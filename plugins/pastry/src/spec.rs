//! The properties. They share no function with the protocol except the reading of a state.

use std::collections::BTreeSet;

use guest_sdk::{NodeId, Properties};
use serde::{Deserialize, Serialize};

use crate::ring::SPACE;
use crate::{Pastry, Phase, State};

/// The neighbours that a node knows, by identifiers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Leaves {
    is_joined: bool,
    id: u8,
    right: BTreeSet<u8>,
    left: BTreeSet<u8>,
    /// The maximum number of nodes of each half.
    half: usize,
}

fn leaves(protocol: &Pastry, state: &State) -> Leaves {
    let ids = |nodes: &BTreeSet<NodeId>| nodes.iter().map(|node| protocol.ids.of(*node)).collect();
    Leaves {
        is_joined: state.phase == Phase::Joined,
        id: protocol.ids.of(state.me),
        right: ids(&state.right),
        left: ids(&state.left),
        half: protocol.half,
    }
}

pub(crate) fn properties(claims: &mut Properties<Pastry>) {
    claims.always("own-join").node(
        |_, state| Some(state.got_own_join),
        |got_own_join| match got_own_join {
            false => Ok(()),
            true => Err("a node was passed its own Join".to_owned()),
        },
    );
    claims.always("halves").node(
        |protocol, state| Some(leaves(protocol, state)),
        |leaves| match () {
            () if leaves.right.contains(&leaves.id) || leaves.left.contains(&leaves.id) => {
                Err("a node is its own neighbour".to_owned())
            }
            () if leaves.right.len().max(leaves.left.len()) > leaves.half => Err("a half is too large".to_owned()),
            () if leaves.right.is_empty() != leaves.left.is_empty() => Err("only one half is empty".to_owned()),
            () => Ok(()),
        },
    );
    claims.eventually("joined").node(
        |_, state| Some(state.phase == Phase::Joined),
        |is_joined| match is_joined {
            true => Ok(()),
            false => Err("the node has not joined".to_owned()),
        },
    );
    claims.eventually("ring").system(
        |protocol, state| Some(leaves(protocol, state)),
        |nodes| ring(&nodes.iter().flatten().collect::<Vec<_>>()),
    );
    claims.eventually("leafsets").system(
        |protocol, state| Some(leaves(protocol, state)),
        |nodes| leafsets(&nodes.iter().flatten().collect::<Vec<_>>()),
    );
}

/// The nearest identifiers in one direction, by a walk around the ring.
fn nearest(of: &Leaves, all: &BTreeSet<u8>, step: u8) -> BTreeSet<u8> {
    let around = (1..SPACE).map(|steps| (of.id + steps * step) % SPACE);
    around.filter(|id| all.contains(id)).take(of.half).collect()
}

/// From each node to its nearest neighbour on the right, and so on, all nodes are reached.
fn ring(nodes: &[&Leaves]) -> Result<(), String> {
    let all: BTreeSet<u8> = nodes.iter().map(|node| node.id).collect();
    for node in nodes {
        let next = (1..SPACE).map(|steps| (node.id + steps) % SPACE).find(|id| node.right.contains(id));
        let expected = (1..SPACE).map(|steps| (node.id + steps) % SPACE).find(|id| all.contains(id));
        if next != expected {
            return Err(format!("after {} comes {expected:?}, and it knows of {next:?}", node.id));
        }
    }
    Ok(())
}

/// Each half is the nearest nodes on its side; so the relation is reflexive.
fn leafsets(nodes: &[&Leaves]) -> Result<(), String> {
    let all: BTreeSet<u8> = nodes.iter().map(|node| node.id).collect();
    for node in nodes {
        if !node.is_joined {
            return Err(format!("{} has not joined", node.id));
        }
        for (name, half, step) in [("right", &node.right, 1), ("left", &node.left, SPACE - 1)] {
            let expected = nearest(node, &all, step);
            if *half != expected {
                return Err(format!("on the {name} of {} there are {expected:?}, and it knows of {half:?}", node.id));
            }
        }
    }
    Ok(())
}
