//! The effect of each fault of a node, by the definition in `docs/semantics.md`.

use host_model::contract::NodeId;
use host_model::scenario::FaultEvent;
use host_model::toys::{Toy, ToyState};

use super::{Local, System};

/// The effect of a fault.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// The node restarts with the durable state that this function computes from a state, and all its connections break.
    Restart(fn(&Toy, NodeId, ToyState) -> Option<u8>),
    /// The connection to another node breaks.
    Break,
}

/// The effect of the faults of this kind.
pub(super) fn meaning(kind: &str) -> Meaning {
    match kind {
        "reset" => Meaning::Restart(|toy, node, state| toy.durable.get(&(node, state)).copied()),
        "break" => Meaning::Break,
        _ => panic!("the reference does not know what a fault of kind `{kind}` does"),
    }
}

/// The faults that can happen at a node.
pub(super) fn possible(system: &System, node: NodeId, local: &Local) -> Vec<FaultEvent> {
    let mut found = Vec::new();
    for (fault, _) in system.faults.iter().filter(|(fault, budget)| local.counts.of(*fault) < *budget) {
        let Some(kind) = fault.description().event.map(|event| event.kind) else { continue };
        let peers: Vec<Option<NodeId>> = match meaning(kind) {
            Meaning::Restart(_) => vec![None],
            Meaning::Break => {
                let open = (0..).zip(&local.ends).filter(|(peer, (_, is_open))| *is_open && *peer != node);
                open.map(|(peer, _)| Some(peer)).collect()
            }
        };
        let event = |peer| FaultEvent::of_kind(kind, peer).expect("the table says the same of peers");
        found.extend(peers.into_iter().map(event));
    }
    found
}
