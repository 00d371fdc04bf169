//! The outlook of one global state: whether a promise of progress can still be kept from there, without the complete graph.
//!
//! | module | what it holds |
//! |---|---|
//! | `certificate` | a proof from local states alone that it cannot |
//! | `combinations` | the combinations of local states that keep a promise |
//! | `nearby` | the answer of the part of the graph close by |
//! | `guided` | the answer of a search that is led by distances between local states |
//! | `question` | the question about one promise, asked of states one by one |
//! | `execution` | whether one execution breaks a promise in a given way |
//! | `turning_point` | the step of a path after which a promise cannot be kept any more |

use host_model::contract::{MachineError, Stopped};
use host_model::lts::{LocalStateId, Promise, Step, Stepper};

use crate::kernel::EndCondition;
use crate::kernel::rules::Recovery;

pub mod certificate;
mod combinations;
pub mod execution;
pub mod guided;
pub mod nearby;
pub mod question;
pub mod turning_point;

/// The outlook of a promise: can it still be kept?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// It is kept after these steps.
    Alive(Vec<Step>),
    /// No event on which progress can rely ever leads to a state where it is kept: proven.
    Dead,
    /// Neither was proven.
    Open,
}

/// Called occasionally with the number of bytes taken; returns the reason to stop.
pub type Ask<'a> = dyn FnMut(u64) -> Option<EndCondition> + 'a;

/// Whether a promise is not kept in a global state with these local states.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn is_owed(stepper: &mut Stepper<'_>, locals: &[LocalStateId], promise: Promise) -> Result<bool, MachineError> {
    if stepper.known().is_over(locals) {
        return Ok(false);
    }
    match promise.node {
        Some(node) => Ok(stepper.state(locals[node as usize]).protocol.owed.contains(&promise.property)),
        None => {
            let classes: Vec<_> = locals.iter().map(|local| stepper.known().brief(*local).class).collect();
            Ok(stepper.owed(&classes)?.contains(&promise.property))
        }
    }
}

/// Whether progress cannot rely on a step from this local state of its node, so that it may lead from a dead state to a live one: it is a
/// fault, or a message is refused in it.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn is_fault(
    stepper: &mut Stepper<'_>,
    before: LocalStateId,
    step: Step,
    recovery: Recovery,
) -> Result<bool, MachineError> {
    let row = stepper.step(before, step.trigger)?;
    let is_refused = stepper.outcomes(row)[step.outcome as usize].is_refused();
    Ok(is_refused || !recovery.can_rely_on(step.trigger))
}

/// The end that a monitor requests, as an error of the current step.
pub fn stop(end: EndCondition) -> MachineError {
    MachineError::Stopped(match end {
        EndCondition::TimeBound => Stopped::Time,
        EndCondition::MemoryBound => Stopped::Memory,
        _ => Stopped::Interrupted,
    })
}
