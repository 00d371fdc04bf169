//! The properties. They share no function with the protocol except the reading of a state.

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::{NodeId, Properties};
use serde::{Deserialize, Serialize};

use crate::{Block, Blocks, BulletPrime, Session};

/// The blocks of a node, its announcements, and those that it received.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Maps {
    blocks: Blocks,
    /// For each receiver its session, the blocks not announced to it, and the number of differences sent to it.
    shadows: BTreeMap<NodeId, (Session, Blocks, u8)>,
    /// For each sender the session, its announced blocks, and the number of differences with them.
    views: BTreeMap<NodeId, (Session, Blocks, u8)>,
}

pub(crate) fn properties(claims: &mut Properties<BulletPrime>) {
    claims.always("file-map").system(
        |_, state| {
            let shadow = |it: &crate::Receiver| (it.session, it.shadow.clone(), it.sent);
            let view = |it: &crate::Sender| (it.session, it.view.clone(), it.received);
            Some(Maps {
                blocks: state.blocks.clone(),
                shadows: state.receivers.iter().map(|(node, it)| (*node, shadow(it))).collect(),
                views: state.senders.iter().map(|(node, it)| (*node, view(it))).collect(),
            })
        },
        |nodes| file_maps(&nodes.iter().flatten().collect::<Vec<_>>()),
    );
    claims.sometimes("whole-file").node(
        |protocol, state| (state.me > 0 && state.blocks.len() == usize::from(protocol.blocks)).then_some(()),
        |()| Ok(()),
    );
    claims.eventually("complete").node(
        |protocol, state| Some((0..protocol.blocks).find(|block| !state.blocks.contains(block))),
        |missing: &Option<Block>| match missing {
            None => Ok(()),
            Some(block) => Err(format!("block {block} is missing")),
        },
    );
}

/// If no difference is in flight, a receiver knows the blocks of its sender, except those that the sender has not announced.
fn file_maps(nodes: &[&Maps]) -> Result<(), String> {
    for (receiver, maps) in (0..).zip(nodes) {
        for (sender, (session, view, received)) in &maps.views {
            let other = nodes[*sender as usize];
            let Some((same, shadow, sent)) = other.shadows.get(&receiver) else { continue };
            if same != session {
                continue;
            }
            if let Some(block) = view.difference(&other.blocks).next() {
                return Err(format!("node {receiver} was told of block {block}, which node {sender} has not"));
            }
            let told: BTreeSet<Block> = &other.blocks - shadow;
            if sent == received && *view != told {
                return Err(format!("node {sender} has told node {receiver} of {told:?}, which knows of {view:?}"));
            }
        }
    }
    Ok(())
}
