//! Judgements of start states, of other global states, and of states in which nothing but faults can happen.

use host_model::contract::{ClassId, Judgement, MachineError, NodeId};
use host_model::lts::{LocalStateId, Stepper};
use host_model::trace::start::Start;

use crate::global::state::GlobalState;
use crate::kernel::{Search, judge_system_state};

/// Judgements of one state, and why some are missing: a stop loses nothing that was judged before it.
#[derive(Debug, Default)]
pub struct Judged {
    /// The judgements, of a node or of all nodes together.
    pub judgements: Vec<(Option<NodeId>, Judgement)>,
    /// Why there are no more.
    pub stopped: Option<MachineError>,
}

impl Judged {
    /// Judgements of a node.
    pub fn of_node<'j>(node: NodeId, judgements: impl IntoIterator<Item = &'j Judgement>) -> Self {
        let judgements = judgements.into_iter().map(|judgement| (Some(node), judgement.clone())).collect();
        Self { judgements, stopped: None }
    }

    /// Adds judgements of all nodes together, unless it was stopped before.
    #[must_use]
    pub fn and<I: IntoIterator<Item = Judgement>>(mut self, judge: impl FnOnce() -> Result<I, MachineError>) -> Self {
        if self.stopped.is_none() {
            match judge() {
                Ok(judgements) => self.judgements.extend(judgements.into_iter().map(|judgement| (None, judgement))),
                Err(stopped) => self.stopped = Some(stopped),
            }
        }
        self
    }

    /// All of them.
    ///
    /// # Errors
    ///
    /// Some are missing.
    pub fn all(self) -> Result<Vec<(Option<NodeId>, Judgement)>, MachineError> {
        self.stopped.map_or(Ok(self.judgements), Err)
    }

    /// Whether one of them is a violation.
    pub fn is_bad(&self) -> bool {
        self.judgements.iter().any(|(_, judgement)| judgement.is_bad())
    }
}

/// The judgements on a start state.
pub fn judge_start(
    search: &Search<'_>,
    stepper: &mut Stepper<'_>,
    start: &Start,
) -> Result<Vec<(Option<NodeId>, Judgement)>, MachineError> {
    let state = GlobalState::new(stepper.known(), start);
    judge_global_state(search, stepper, &state)
}

/// The judgements on a global state.
pub fn judge_global_state(
    search: &Search<'_>,
    stepper: &mut Stepper<'_>,
    state: &GlobalState,
) -> Result<Vec<(Option<NodeId>, Judgement)>, MachineError> {
    let mut judgements = judge_system_state(stepper, &state.locals)?;
    if search.bounds.deadlock {
        judgements.extend(judge_end(stepper, state)?.map(|judgement| (None, judgement)));
    }
    Ok(judgements)
}

/// The judgements of a global state with these local states after a step of a node, without those of the state before.
pub fn judge_after(stepper: &mut Stepper<'_>, locals: &[LocalStateId], node: NodeId) -> Judged {
    let classes: Vec<ClassId> = locals.iter().map(|local| stepper.known().brief(*local).class).collect();
    let own = Judged::of_node(node, stepper.state(locals[node as usize]).protocol.judgements.iter());
    own.and(|| Ok(stepper.judge(&classes)?.to_vec()))
}

/// The deadlock in a global state, if nothing but faults can happen and some node is not done. None otherwise.
pub fn judge_end(stepper: &mut Stepper<'_>, state: &GlobalState) -> Result<Option<Judgement>, MachineError> {
    let crashes_max = stepper.lts().scenario().faults.crashes;
    match state.crashed(stepper.known(), crashes_max) {
        Some(crashed) => stepper.judge_end(&state.locals, &crashed),
        None => Ok(None),
    }
}
