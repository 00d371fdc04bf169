//! Counts and judges new states, in the order of their numbers.

use host_model::contract::{ClassId, MachineError, NodeId};
use host_model::lts::Stepper;

use super::BreadthFirst;
use crate::global::breadth_first::expansion::Fresh;
use crate::global::breadth_first::sink::{Discovery, GraphSink, GraphState};
use crate::global::judge::{judge_after, judge_end, judge_global_state};
use crate::global::state::GlobalState;
use crate::global::visited::Insertion;
use crate::kernel::{EndCondition, Judged, SearchError};

impl BreadthFirst<'_, '_> {
    /// Counts a new state, and judges it if needed; then it is the current state. Returns why to end the search, if there is a
    /// reason.
    pub(super) fn enter(
        &mut self,
        stepper: &mut Stepper<'_>,
        number: u32,
        depth: u32,
        discovery: Discovery,
        fresh: &Fresh,
    ) -> Result<Option<EndCondition>, SearchError> {
        self.report.depth = self.report.depth.max(depth);
        if let Some(system_state) = fresh.system_state
            && self.system_states.insert(system_state, 0) == Insertion::New
            && self.search.collect_system_states
        {
            self.collected.insert(self.state.locals.as_slice().into());
        }
        self.batch.unjudged = Some(number);
        let node = fresh.is_noted.then(|| stepper.state(fresh.next).protocol.node);
        self.judge(stepper, number, depth, discovery, node)
    }

    /// Judges the current state, which a step of this node may have changed for the properties; returns why to end the search, if there is
    /// a reason.
    pub(super) fn judge(
        &mut self,
        stepper: &mut Stepper<'_>,
        number: u32,
        depth: u32,
        discovery: Discovery,
        node: Option<NodeId>,
    ) -> Result<Option<EndCondition>, SearchError> {
        let mut judged = match node {
            Some(node) => judge_after(stepper, &self.state.locals, node),
            None => Judged::default(),
        };
        if self.search.bounds.deadlock {
            judged = judged.and(|| judge_end(stepper, &self.state));
        }
        if let Some(sink) = &mut self.sink {
            let (search, state) = (self.search, &self.state);
            judged = judged.and(|| {
                let said = judge_global_state(search, stepper, state).all()?;
                let is_bad = said.iter().any(|(_, judgement)| judgement.is_bad());
                tell(*sink, stepper, state, number, discovery, depth, is_bad)?;
                Ok(None)
            });
        }
        let Judged { mut judgements, stopped } = judged;
        judgements.retain(|(node, judgement)| self.report.is_news(*node, judgement));
        if !judgements.is_empty() {
            let (start, path) = self.numbers.path_to(number);
            let start = &self.search.starts[start as usize];
            if self.search.note(&mut self.report, start, &path, judgements) {
                return Ok(Some(EndCondition::Violation));
            }
        }
        if let Some(stopped) = stopped {
            return Err(stopped.into());
        }
        self.batch.unjudged = None;
        let is_full = self.search.bounds.states.is_some_and(|max| u64::from(self.numbers.len()) >= max);
        Ok(is_full.then_some(EndCondition::StateBound))
    }
}

/// Reports a new state to the sink.
pub(super) fn tell(
    sink: &mut dyn GraphSink,
    stepper: &mut Stepper<'_>,
    state: &GlobalState,
    number: u32,
    discovery: Discovery,
    depth: u32,
    is_bad: bool,
) -> Result<(), MachineError> {
    let (locals, in_flight) = (&state.locals, &state.in_flight);
    let classes: Vec<ClassId> = locals.iter().map(|local| stepper.known().brief(*local).class).collect();
    let owed = stepper.owed(&classes)?;
    let known = stepper.known();
    sink.state(&GraphState { number, discovery, depth, locals, in_flight, is_bad, owed: &owed, known });
    Ok(())
}
