//! The effect of each fault of a node, by the definition in `docs/semantics.md`.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::NodeId;
use host_model::scenario::{FaultEvent, OutageWrites};
use host_model::toys::{Medium, ToyState, ToySync};

use super::{Local, Stored, System};

/// The values that entries can have after an outage, by key.
type Loose = BTreeMap<Vec<u8>, BTreeSet<Option<Vec<u8>>>>;

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
        if kind == "outage" && system.outage_writes == OutageWrites::Any {
            let disks = disks(&local.loose).len() as u32;
            found.extend((0..disks).map(|disk| event(None).leaving(disk).expect("an outage loses writes")));
            continue;
        }
        found.extend(peers.into_iter().map(event).flat_map(losing));
    }
    found
}

/// The durable map of a node in a state.
pub(super) fn stored(system: &System, node: NodeId, state: ToyState) -> Stored {
    let kept = system.toy.durable.get(&(node, state)).copied();
    match system.toy.medium {
        Medium::Persisted => (None, None),
        Medium::Map | Medium::Digits => (kept, None),
        Medium::WholeMap => (kept, Some(state)),
    }
}

/// A choice for each entry that is not on the disk for certain: another value than the present one, or none.
type Disk = Vec<(Vec<u8>, Option<Option<Vec<u8>>>)>;

/// All choices, in lexicographic order.
fn disks(loose: &Loose) -> Vec<Disk> {
    loose.iter().fold(vec![Disk::new()], |disks, (key, values)| {
        let choices = || std::iter::once(None).chain(values.iter().cloned().map(Some));
        let longer = |disk: Disk| choices().map(move |choice| [&disk[..], &[(key.clone(), choice)]].concat());
        disks.into_iter().flat_map(longer).collect()
    })
}

/// The durable state that the outage leaves that has this number among the disks.
pub(super) fn left(present: Option<u8>, loose: &Loose, number: u32) -> Option<u8> {
    let mut entries = entries(present);
    for (key, choice) in &disks(loose)[number as usize] {
        match choice {
            Some(Some(value)) => _ = entries.insert(key.clone(), value.clone()),
            Some(None) => _ = entries.remove(key),
            None => {}
        }
    }
    let digit = |place: u8| entries.get(&vec![3, place]).map_or(0, |value| value[0]);
    (digit(0) + 3 * digit(1)).checked_sub(1)
}

/// The entries of a durable state in two digits of base 3, no entry being a 0: a state is written as its successor.
fn entries(kept: Option<u8>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let number = kept.map_or(0, |kept| kept + 1);
    let digits = [(0, number % 3), (1, number / 3)].into_iter().filter(|(_, digit)| *digit > 0);
    digits.map(|(place, digit)| (vec![3, place], vec![digit])).collect()
}

/// Notes which entries can have another value after an outage: one that they have had since the last `sync`.
fn write_loose(system: &System, node: NodeId, local: &mut Local, before: Stored) {
    if system.toy.medium == Medium::Persisted {
        return;
    }
    let (then, now) = (entries(before.0), entries(stored(system, node, local.state).0));
    match system.toy.syncs.as_ref().map(|syncs| syncs.get(&(node, local.state))) {
        None | Some(Some(ToySync::Last)) => return local.loose.clear(),
        Some(Some(ToySync::First)) => local.loose.clear(),
        Some(None) => {}
    }
    for place in 0..2 {
        let key = vec![3, place];
        let values = local.loose.entry(key.clone()).or_default();
        values.insert(then.get(&key).cloned());
        values.remove(&now.get(&key).cloned());
    }
    local.loose.retain(|_, values| !values.is_empty());
    if local.counts.outages >= system.faults.outages {
        local.loose.clear();
    }
}

/// Notes what a handler has written that began with a durable map and has led to the state of this node.
pub(super) fn write(system: &System, node: NodeId, local: &mut Local, before: Stored) {
    if system.outage_writes == OutageWrites::Any {
        return write_loose(system, node, local, before);
    }
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
