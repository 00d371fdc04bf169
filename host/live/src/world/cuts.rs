//! The comparison of snapshots with the history.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::fingerprint::of_local_state;
use host_model::contract::{Machine, NodeId, StateOwner};

use crate::checkpoint::Snapshot;
use crate::world::history::{History, MessageId};

/// The facts that all nodes of a cluster share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cluster<'c> {
    pub(super) nodes: u32,
    pub(super) config: &'c str,
    /// The maximum distance of a message that is still taken behind the latest one.
    pub(super) late_max: u64,
}

/// Compares a snapshot with the history: each checkpoint has the true state of its node, no message was received inside and sent outside,
/// and the messages in flight are those sent inside and not received inside.
///
/// # Errors
///
/// The first difference.
pub(super) fn compare(
    history: &History,
    snapshot: &Snapshot,
    machine: &mut dyn Machine,
    Cluster { nodes, config, late_max }: Cluster<'_>,
) -> Result<(), String> {
    let mut clocks = BTreeMap::new();
    for (node, checkpoint) in &snapshot.checkpoints {
        let of = history.start(*node, checkpoint.incarnation);
        let taken = history.taken(of, checkpoint.number);
        let taken = taken.ok_or_else(|| format!("{of:?} has no checkpoint {}, or it is undone", checkpoint.number))?;
        let owner = StateOwner { node: *node, nodes, config };
        let state = machine.import(&checkpoint.content, owner).map_err(|error| error.to_string())?;
        machine.restore(Some(&state)).map_err(|error| error.to_string())?;
        let state = of_local_state(*node, &machine.serialize().map_err(|fault| fault.to_string())?);
        if state != taken.state {
            return Err(format!("checkpoint {} of {of:?} shows another state", checkpoint.number));
        }
        clocks.insert(*node, taken.clock);
    }
    for (id, fate) in &history.messages {
        let (Some(sender), Some(receiver)) = (clocks.get(&id.from.node), clocks.get(&id.to)) else { continue };
        if fate.sent_at >= *sender && fate.received.iter().any(|receipt| receipt.clock < *receiver) {
            return Err(format!("{id:?} is received in the snapshot and sent outside of it"));
        }
    }
    for from in snapshot.checkpoints.keys() {
        for to in snapshot.checkpoints.keys() {
            compare_link(history, snapshot, *from, *to, &Clocks { clocks: &clocks, late_max })?;
        }
    }
    Ok(())
}

/// The positions of nodes in a snapshot, by their clocks.
struct Clocks<'c> {
    clocks: &'c BTreeMap<NodeId, u64>,
    late_max: u64,
}

fn compare_link(
    history: &History,
    snapshot: &Snapshot,
    from: NodeId,
    to: NodeId,
    Clocks { clocks, late_max }: &Clocks<'_>,
) -> Result<(), String> {
    let contents = snapshot.contents(from, to);
    let sender = history.start(from, snapshot.checkpoints[&from].incarnation);
    let mut shown = BTreeSet::new();
    for kept in contents.in_flight.iter().chain(&contents.uncertain) {
        let id = MessageId { from: sender, to, sequence: kept.sequence };
        let fate = history.messages.get(&id).ok_or_else(|| format!("{id:?} is in flight and was never sent"))?;
        if fate.sent_at >= clocks[&from] || fate.payload != kept.payload[..] {
            return Err(format!(
                "{id:?} is in flight in the snapshot, and was sent outside of it or with another content"
            ));
        }
        shown.insert(kept.sequence);
    }
    let is_received = |sequence: u64| {
        let fate = &history.messages[&MessageId { from: sender, to, sequence }];
        fate.received.iter().any(|receipt| receipt.clock < clocks[&to])
    };
    if let Some(kept) = contents.in_flight.iter().find(|kept| is_received(kept.sequence)) {
        return Err(format!("message {} of {sender:?} to node {to} is in flight, and was received", kept.sequence));
    }
    let receiver = snapshot.checkpoints[&to].incarnation;
    let of_link = || history.messages.keys().filter(|id| id.from == sender && id.to == to);
    let latest = of_link().map(|id| id.sequence).filter(|sequence| is_received(*sequence)).max().unwrap_or(0);
    for (id, fate) in &history.messages {
        let is_of_link = id.from == sender && id.to == to && fate.sent_at < clocks[&from];
        let is_late = id.sequence + late_max < latest;
        let is_for_it = !is_late && fate.addressee.is_some_and(|addressee| addressee == 0 || addressee == receiver);
        if is_of_link && is_for_it && !contents.is_partial && !is_received(id.sequence) && !shown.contains(&id.sequence)
        {
            return Err(format!("{id:?} is in flight, and the snapshot has it not, and does not say so"));
        }
    }
    Ok(())
}
