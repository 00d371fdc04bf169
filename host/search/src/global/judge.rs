//! Judgements of start states, of other global states, and of states in which only faults can happen.

use host_model::contract::{ClassId, Judgement, MachineError, NodeId};
use host_model::lts::{LocalStateId, Stepper};
use host_model::trace::start::Start;

use crate::global::state::GlobalState;
use crate::kernel::{Judged, Search, judge_system_state};

/// The judgements on a start state.
pub fn judge_start(search: &Search<'_>, stepper: &mut Stepper<'_>, start: &Start) -> Judged {
    let state = GlobalState::new(stepper.known(), start);
    judge_global_state(search, stepper, &state)
}

/// The judgements on a global state.
pub fn judge_global_state(search: &Search<'_>, stepper: &mut Stepper<'_>, state: &GlobalState) -> Judged {
    let judged = judge_system_state(stepper, &state.locals);
    match search.bounds.deadlock {
        true => judged.and(|| judge_end(stepper, state)),
        false => judged,
    }
}

/// The judgements of a global state with these local states after a step of a node, without those of the state before.
pub fn judge_after(stepper: &mut Stepper<'_>, locals: &[LocalStateId], node: NodeId) -> Judged {
    let classes: Vec<ClassId> = locals.iter().map(|local| stepper.known().brief(*local).class).collect();
    let own = Judged::of_node(node, stepper.state(locals[node as usize]).protocol.judgements.iter());
    own.and_tuple(stepper, &classes)
}

/// The deadlock in a global state, if only faults can happen and some node is not done. None otherwise.
pub fn judge_end(stepper: &mut Stepper<'_>, state: &GlobalState) -> Result<Option<Judgement>, MachineError> {
    let crashes_max = stepper.lts().scenario().faults.crashes;
    match state.crashed(stepper.known(), crashes_max) {
        Some(crashed) => stepper.judge_end(&state.locals, &crashed),
        None => Ok(None),
    }
}
