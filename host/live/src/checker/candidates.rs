//! The events of a node on a path that it can filter.

use host_model::contract::{MachineError, NodeId};
use host_model::lts::Stepper;
use host_search::kernel::FoundViolation;

use crate::filter::Pattern;
use crate::gate::{Cause, Event};

/// The events of a node on a path that it can filter, earliest first.
pub(super) fn candidates(
    stepper: &mut Stepper<'_>,
    node: NodeId,
    found: &FoundViolation,
) -> Result<Vec<Pattern>, MachineError> {
    let (mut locals, mut patterns) = (found.initial.clone(), Vec::new());
    for step in &found.path {
        let before = locals[step.node as usize];
        if step.node == node {
            let state = stepper.state(before).protocol.fingerprint;
            let pattern = match (step.trigger.message(), step.trigger.local_event()) {
                (Some(message), _) if !stepper.message(message).is_notice => {
                    let message = stepper.message(message);
                    let network = stepper.lts().scenario().network_of(message.from, node);
                    let cause = Cause::Message { from: message.from, network, payload: &message.payload };
                    Pattern::of(&Event { state, cause })
                }
                (_, Some(event)) => {
                    Pattern::of(&Event { state, cause: Cause::Local(&stepper.lts().local_event(event)) })
                }
                _ => None,
            };
            patterns.extend(pattern);
        }
        let row = stepper.step(before, step.trigger)?;
        locals[step.node as usize] = stepper.outcomes(row)[step.outcome as usize].next;
    }
    Ok(patterns)
}
