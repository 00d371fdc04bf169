//! The global state of a snapshot.

use host_model::scenario::FaultState;
use host_model::trace::{Beginning, Flight, Hex, NodeState};

use crate::checkpoint::snapshot::Snapshot;

/// The global state of a snapshot whose checkpoints contain exported states. Messages that may or may not be in flight are left out, as if
/// the network had lost them; the second value is true if there are any.
pub fn beginning(snapshot: &Snapshot) -> (Beginning, bool) {
    let state = |(node, content): (u32, &Vec<u8>)| NodeState {
        node,
        exported: Hex(content.clone()),
        fault_state: FaultState::default(),
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
