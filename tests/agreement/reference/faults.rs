//! The effect of each fault of a node, by the definition in `docs/semantics.md`.

use host_model::contract::NodeId;
use host_model::scenario::FaultEvent;
use host_model::toys::{Medium, ToyState, ToySync};

use super::{Local, Stored, System};

/// The effect of a fault.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// The node restarts with what is left of its durable state, and all its connections break.
    Restart,
    /// The connection to another node breaks.
    Break,
}

/// The effect of the faults of this kind.
pub(super) fn meaning(kind: &str) -> Meaning {
    match kind {
        "reset" | "outage" => Meaning::Restart,
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
            Meaning::Restart => vec![None],
            Meaning::Break => {
                let open = (0..).zip(&local.ends).filter(|(peer, (_, is_open))| *is_open && *peer != node);
                open.map(|(peer, _)| Some(peer)).collect()
            }
        };
        let event = |peer| FaultEvent::of_kind(kind, peer).expect("the table says the same of peers");
        let lost = if kind == "outage" { local.older.len() as u32 } else { 0 };
        let losing =
            |event: FaultEvent| (0..=lost).map(move |lost| event.losing(lost).expect("an outage loses writes"));
        found.extend(peers.into_iter().map(event).flat_map(losing));
    }
    found
}

/// The durable map of a node in a state.
pub(super) fn stored(system: &System, node: NodeId, state: ToyState) -> Stored {
    let kept = system.toy.durable.get(&(node, state)).copied();
    match system.toy.medium {
        Medium::Persisted => (None, None),
        Medium::Map => (kept, None),
        Medium::WholeMap => (kept, Some(state)),
    }
}

/// Notes what a handler has written that began with a durable map and has led to the state of this node.
pub(super) fn write(system: &System, node: NodeId, local: &mut Local, before: Stored) {
    let after = stored(system, node, local.state);
    let synced = system.toy.syncs.as_ref().map(|syncs| syncs.get(&(node, local.state)));
    match synced {
        None | Some(Some(ToySync::Last)) => local.older.clear(),
        // That is on the disk for certain, and what follows is not.
        Some(Some(ToySync::First)) => local.older = vec![before],
        Some(None) => {
            local.older.retain(|map| *map != before);
            local.older.push(before);
        }
    }
    local.older.retain(|map| *map != after);
    if local.counts.outages >= system.faults.outages {
        local.older.clear();
    }
}
