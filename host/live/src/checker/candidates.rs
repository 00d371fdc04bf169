//! The events of a node on a path that it can filter.

use host_model::contract::{MachineError, NodeId};
use host_model::lts::Stepper;
use host_search::kernel::FoundViolation;

use crate::filter::Pattern;
use crate::seen::Seen;

/// The events of a node on a path that it can filter, earliest first: messages on links with an order only if connections may be broken.
pub(super) fn candidates(
    stepper: &mut Stepper<'_>,
    node: NodeId,
    may_break: bool,
    found: &FoundViolation,
) -> Result<Vec<Pattern>, MachineError> {
    let (mut locals, mut patterns) = (found.initial.clone(), Vec::new());
    for step in &found.path {
        let before = locals[step.node as usize];
        if step.node == node {
            let seen = Seen::of(stepper, before, step.trigger);
            patterns.extend(seen.event(may_break).and_then(|event| Pattern::of(&event)));
        }
        let row = stepper.step(before, step.trigger)?;
        locals[step.node as usize] = stepper.outcomes(row)[step.outcome as usize].next;
    }
    Ok(patterns)
}
