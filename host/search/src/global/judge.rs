//! What is wrong with a start state or another global state, and with a state in which nothing but faults can happen.

use host_model::contract::{Judgement, MachineError, NodeId};
use host_model::lts::Stepper;
use host_model::trace::start::Start;

use crate::global::state::GlobalState;
use crate::kernel::{Search, judge_system_state};

/// The judgements on a start state.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn judge_start(
    search: &Search<'_>,
    stepper: &mut Stepper<'_>,
    start: &Start,
) -> Result<Vec<(Option<NodeId>, Judgement)>, MachineError> {
    let state = GlobalState::new(stepper.known(), start);
    judge_global_state(search, stepper, &state)
}

/// The judgements on a global state.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn judge_global_state(
    search: &Search<'_>,
    stepper: &mut Stepper<'_>,
    state: &GlobalState,
) -> Result<Vec<(Option<NodeId>, Judgement)>, MachineError> {
    let mut judgements = judge_system_state(stepper, &state.locals)?;
    if search.limits.deadlock {
        judgements.extend(judge_end(stepper, state)?.map(|judgement| (None, judgement)));
    }
    Ok(judgements)
}

/// What is wrong with a global state if nothing but faults can happen: that some node is not done. None otherwise.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn judge_end(stepper: &mut Stepper<'_>, state: &GlobalState) -> Result<Option<Judgement>, MachineError> {
    let crashes_max = stepper.lts().scenario().faults.crashes;
    match state.crashed(stepper.known(), crashes_max) {
        Some(crashed) => stepper.judge_end(&state.locals, &crashed),
        None => Ok(None),
    }
}
