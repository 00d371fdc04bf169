//! The global state of a snapshot.

use host_model::scenario::FaultState;
use host_model::trace::{Beginning, Flight, Hex, NodeState};

use crate::checkpoint::snapshot::Snapshot;

/// The global state of a snapshot whose checkpoints contain exported states; `fresh` is the fault state of a node before its first event.
/// Where connections can break, those over which messages were exchanged are open. Messages that may or may not be in flight are left out,
/// as if the network had lost them; the second value is true if there are any.
pub fn beginning(snapshot: &Snapshot, fresh: &FaultState) -> (Beginning, bool) {
    let state = |(node, content): (u32, &Vec<u8>)| NodeState {
        node,
        exported: Hex(content.clone()),
        fault_state: fault_state(snapshot, node, fresh),
    };
    let contents = snapshot.checkpoints.iter().map(|(node, checkpoint)| (*node, &checkpoint.content));
    let states = contents.map(state).collect();
    let (mut in_flight, mut is_partial) = (Vec::new(), false);
    for from in snapshot.checkpoints.keys() {
        for to in snapshot.checkpoints.keys() {
            let contents = snapshot.contents(*from, *to);
            is_partial |= contents.is_partial || !contents.uncertain.is_empty();
            in_flight.extend(contents.in_flight.into_iter().map(|kept| Flight {
                from: *from,
                to: *to,
                payload: Hex(kept.payload.to_vec()),
                incarnation: 0,
                notice: false,
            }));
        }
    }
    (Beginning { states, in_flight }, is_partial)
}

/// The fault state of a node: no fault has happened, and its connections are open or not. Breaks are counted from here.
fn fault_state(snapshot: &Snapshot, node: u32, fresh: &FaultState) -> FaultState {
    let peers = snapshot.checkpoints[&node].channels.keys().copied();
    let open: Vec<u32> = peers.filter(|peer| fresh.has_connections() && snapshot.is_open(node, *peer)).collect();
    if open.is_empty() {
        return FaultState::default();
    }
    let mut fault_state = fresh.clone();
    open.into_iter().for_each(|peer| _ = fault_state.open(peer));
    fault_state
}
