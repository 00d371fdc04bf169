//! The enabled events of a global state, node by node, for searches that take them one by one.

use crate::contract::{MachineError, NodeId, Role};
use crate::lts::ids::{LocalStateId, MessageId, Trigger};
use crate::lts::quorum::{Member, for_each_set};
use crate::lts::stepper::Stepper;
use crate::scenario::{InFlight, Network};

/// The triggers that are enabled at each node; none if a node is stuck in a fault. A fault may change nothing, and a node may decline a
/// quorum: then they have no outcome. A message can be lost where others wait behind it, and nowhere else: on a link without an order it
/// makes no difference whether it is lost or never arrives.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn enabled(
    stepper: &mut Stepper<'_>,
    locals: &[LocalStateId],
    in_flight: &InFlight<MessageId>,
) -> Result<Vec<Vec<Trigger>>, MachineError> {
    let mut enabled: Vec<Vec<Trigger>> = vec![Vec::new(); locals.len()];
    if stepper.known().is_over(locals) {
        return Ok(enabled);
    }
    let mut members: Vec<Vec<Member<MessageId>>> = vec![Vec::new(); locals.len()];
    for message in next(stepper, locals, in_flight) {
        let to = stepper.known().destination(message);
        let (node, local) = (to as usize, locals[to as usize]);
        let is_notice = stepper.message(message).is_notice;
        match if is_notice { Role::Alone } else { stepper.role(local, message)? } {
            Role::Alone => enabled[node].push(Trigger::deliver(message)),
            Role::Held => {}
            Role::Member(kind) => {
                if members[node].iter().all(|member| member.item != message) {
                    members[node].push(stepper.known().member(kind, message, message));
                }
            }
        }
        if is_in_order(stepper, stepper.message(message).from, to) {
            enabled[node].extend(stepper.known().loss(local, message));
        }
    }
    for (node, members) in members.iter().enumerate() {
        let mut sets: Vec<Vec<MessageId>> = Vec::new();
        for_each_set(members, &|_, _| true, &mut |set| sets.push(set.iter().map(|member| member.item).collect()));
        enabled[node].extend(sets.iter().map(|set| Trigger::deliver_quorum(stepper.quorum(set))));
    }
    for (node, local) in locals.iter().enumerate() {
        let state = stepper.state(*local);
        enabled[node].extend(state.protocol.local_events.iter().map(|event| Trigger::local(*event)));
        enabled[node].extend(state.faults.iter());
    }
    Ok(enabled)
}

/// The messages and notices that can be taken next.
fn next(stepper: &Stepper<'_>, locals: &[LocalStateId], in_flight: &InFlight<MessageId>) -> Vec<MessageId> {
    let mut next = Vec::new();
    in_flight.for_each_next(&stepper.known().links(locals), |message| next.push(*message));
    next
}

/// Whether messages from one node to another have an order.
pub fn is_in_order(stepper: &Stepper<'_>, from: NodeId, to: NodeId) -> bool {
    stepper.lts().scenario().network_of(from, to) == Network::Ordered
}
