//! The state of a stateless strategy: current execution, judgements and counts.

use std::collections::{BTreeSet, VecDeque};

use host_model::contract::{ClassId, MachineError, NodeId};
use host_model::lts::{LocalStateId, Step, Stepper, Trigger, deadlock};
use host_model::trace::start::Start;

use crate::global::cursor::GlobalCursor;
use crate::global::judge::judge_start;
use crate::kernel::{
    CheckSchedule, Counts, EndCondition, Judged, Progress, Report, Search, SearchBounds, SearchError, or_end,
};
use crate::stateless::consistent_cuts::ConsistentCuts;
use crate::stateless::execution::{BoundsHit, Event, Execution};
use crate::stateless::terminal_cuts::LeftOut;

/// The maximum number of events in an execution, or more precisely of events that happen before an event, unless
/// [`SearchBounds::depth`](crate::kernel::SearchBounds::depth) is given: a search that stores no states cannot notice that
/// it goes round in circles.
pub const DEPTH_DEFAULT: u32 = 1_000;

/// The frame of every stateless strategy: judges each start state, lets `explore` continue from there, and reports. `explore`
/// returns the reason if the search ended early.
pub fn explore_all(
    search: &Search<'_>,
    mut explore: impl FnMut(&mut StatelessExploration<'_, '_>) -> Result<Option<EndCondition>, SearchError>,
) -> Result<Report, SearchError> {
    let mut stepper = Stepper::new(search.lts)?;
    let mut exploration = StatelessExploration::new(search, &mut stepper);
    let mut end = None;
    for start in search.starts {
        end = or_end(exploration.begin(start))?;
        // No event happens if a node is stuck from the start.
        if end.is_none() && !exploration.stepper.known().is_over(&start.locals) {
            end = or_end(explore(&mut exploration))?;
        }
        if end.is_some() {
            break;
        }
    }
    Ok(exploration.finish(end))
}

/// The current execution from one start state, and the totals over all executions.
pub struct StatelessExploration<'s, 'l> {
    /// The task of the search.
    pub search: &'s Search<'s>,
    /// The worker that executes the handlers.
    pub stepper: &'s mut Stepper<'l>,
    /// The current execution.
    pub execution: Execution,
    /// Executions that were given up as repetitions of earlier ones, or that turned out to be repetitions.
    pub redundant: u64,
    /// Bytes that the strategy keeps in addition to the execution.
    kept: u64,
    start: &'s Start,
    executions: u64,
    transitions: u64,
    bounds: SearchBounds,
    cut: BoundsHit,
    report: Report,
    classes: ConsistentCuts<ClassId>,
    /// Present if the system states are requested.
    locals: Option<ConsistentCuts<LocalStateId>>,
    collected: BTreeSet<Box<[LocalStateId]>>,
    schedule: CheckSchedule,
    /// Reused, to spare allocations.
    enabled: Vec<(NodeId, Trigger)>,
}

impl<'s, 'l> StatelessExploration<'s, 'l> {
    fn new(search: &'s Search<'s>, stepper: &'s mut Stepper<'l>) -> Self {
        let start = &search.starts[0];
        let bounds = SearchBounds { depth: search.bounds.depth.or(Some(DEPTH_DEFAULT)), ..search.bounds };
        Self {
            search,
            bounds,
            execution: Execution::new(stepper, start, bounds),
            stepper,
            redundant: 0,
            kept: 0,
            start,
            executions: 0,
            transitions: 0,
            cut: BoundsHit::default(),
            report: Report::new(search.lts).collecting(&search.bounds),
            classes: ConsistentCuts::new(std::iter::empty()),
            locals: None,
            collected: BTreeSet::new(),
            schedule: CheckSchedule::default(),
            enabled: Vec::new(),
        }
    }

    /// Moves to a start state and judges it; returns the end if it is a violation.
    fn begin(&mut self, start: &'s Start) -> Result<Option<EndCondition>, SearchError> {
        self.start = start;
        self.execution = Execution::new(self.stepper, start, self.bounds);
        let classes: Vec<ClassId> =
            start.locals.iter().map(|local| self.stepper.state(*local).protocol.class).collect();
        self.classes = ConsistentCuts::new(classes.into_iter());
        if self.search.collect_system_states {
            self.locals = Some(ConsistentCuts::new(start.locals.iter().copied()));
            self.collected.insert(start.locals.as_slice().into());
        }
        let judged = judge_start(self.search, self.stepper, start);
        Ok(self.search.note_judged(&mut self.report, start, &[], judged)?.then_some(EndCondition::Violation))
    }

    /// Executes a step that is possible, and judges the system states that are new in this execution; returns why to end
    /// the search, if there is a reason.
    pub fn push(&mut self, step: Step) -> Result<Option<EndCondition>, SearchError> {
        self.execution.push(self.stepper, step)?;
        self.transitions += 1;
        let depth_max = self.bounds.depth.unwrap_or(DEPTH_DEFAULT);
        let depth = self.execution.events().len() as u32;
        self.cut.depth |= depth > depth_max;
        self.report.depth = self.report.depth.max(depth.min(depth_max));
        if self.judge(step.node, depth_max)? {
            return Ok(Some(EndCondition::Violation));
        }
        // Each event is compared with those before it.
        if self.schedule.is_check_due_after(self.stepper, self.execution.events().len())
            && let Some(end) = self.search.monitor.check(&self.progress())
        {
            return Ok(Some(end));
        }
        Ok(None)
    }

    /// Notes the number of bytes that the strategy keeps in addition to the execution; returns why to end the search, if it has grown much
    /// and there is a reason. To be called whenever one execution requests others, which can be many.
    pub fn keep(&mut self, bytes: u64) -> Option<EndCondition> {
        self.kept = bytes;
        self.schedule.has_grown(bytes).then(|| self.search.monitor.check(&self.progress())).flatten()
    }

    /// Removes the last event.
    pub fn pop(&mut self) -> Option<Event> {
        if !self.execution.events().is_empty() {
            self.classes.pop(&self.execution);
            if let Some(locals) = &mut self.locals {
                locals.pop(&self.execution);
            }
        }
        self.execution.pop(self.stepper)
    }

    /// The events that are enabled.
    pub fn enabled(&mut self, enabled: &mut Vec<(NodeId, Trigger)>) -> Result<(), SearchError> {
        let cut = self.execution.enabled(self.stepper, enabled)?;
        self.cut.depth |= cut.depth;
        self.cut.local_events |= cut.local_events;
        Ok(())
    }

    /// The next step of a desired order if it is possible; otherwise the order is given up, and the first possible step is next.
    /// None in a state without enabled events.
    pub fn next_step(&mut self, desired: &mut VecDeque<Step>) -> Result<Option<Step>, SearchError> {
        let mut enabled = std::mem::take(&mut self.enabled);
        self.enabled(&mut enabled)?;
        let first = enabled.first().map(|(node, trigger)| Step { node: *node, trigger: *trigger, outcome: 0 });
        let wish = desired.pop_front().filter(|step| enabled.contains(&(step.node, step.trigger)));
        self.enabled = enabled;
        if let Some(step) = wish
            && self.has_outcome(step)?
        {
            return Ok(Some(step));
        }
        desired.clear();
        Ok(first)
    }

    /// Whether a possible trigger has as many outcomes as this step needs.
    fn has_outcome(&mut self, step: Step) -> Result<bool, SearchError> {
        let row = self.stepper.step(self.execution.local(step.node), step.trigger)?;
        Ok((step.outcome as usize) < self.stepper.outcomes(row).len())
    }

    /// Counts a complete execution, and judges the ends among its cuts;
    /// returns why the search ends, if it does.
    pub fn count_execution(&mut self) -> Result<Option<EndCondition>, SearchError> {
        self.executions += 1;
        if self.bounds.deadlock
            && let Some(end) = self.judge_ends()?
        {
            return Ok(Some(end));
        }
        Ok(self.bounds.states.is_some_and(|max| self.executions >= max).then_some(EndCondition::StateBound))
    }

    /// Judges the ends among the cuts of the current execution; returns why to end the search, if there is a reason.
    fn judge_ends(&mut self) -> Result<Option<EndCondition>, SearchError> {
        let progress = self.progress();
        let Self { search, execution, stepper, start, report, bounds, .. } = self;
        let events = execution.events();
        let depth_max = bounds.depth.unwrap_or(DEPTH_DEFAULT) as usize;
        let crashes_max = stepper.lts().scenario().faults.crashes;
        let mut cursor = GlobalCursor::new(stepper, start, bounds);
        let mut locals = start.locals.clone();
        let mut stopped = None;
        let mut may_continue = || {
            stopped = search.monitor.check(&progress);
            stopped.is_none()
        };
        let is_full = LeftOut::new(execution, crashes_max).for_each(&mut may_continue, |kept| {
            if kept.clone().nth(depth_max).is_some() {
                return Ok(true);
            }
            locals.clone_from(&start.locals);
            kept.clone().for_each(|at| locals[events[at].step.node as usize] = events[at].next);
            if deadlock::crashed_in(stepper.known(), &locals, [], crashes_max).is_none() {
                return Ok(true);
            }
            let path: Vec<Step> = kept.map(|at| events[at].step).collect();
            cursor.go_to(stepper, &path)?;
            let deadlock = cursor.judge_end(stepper)?.map(|deadlock| (None, deadlock));
            Ok::<_, MachineError>(!search.note(report, start, &path, deadlock.into_iter().collect()))
        })?;
        Ok(if is_full { Some(EndCondition::Violation) } else { stopped })
    }

    /// Judges the system states after the last event; returns whether the search is to end.
    fn judge(&mut self, node: NodeId, depth_max: u32) -> Result<bool, SearchError> {
        let Self { search, execution, stepper, start, report, classes, locals, collected, .. } = self;
        let index = execution.events().len() - 1;
        let next = execution.events()[index].next;
        let (class, judgements) = {
            let state = stepper.state(next);
            (state.protocol.class, state.protocol.judgements.clone())
        };
        if judgements.iter().any(|judgement| report.is_news(Some(node), judgement)) {
            let path = cut_path(execution, execution.clock(index));
            let judgements = judgements.iter().map(|judgement| (Some(node), judgement.clone())).collect();
            if search.note(report, start, &path, judgements) {
                return Ok(true);
            }
        }
        if classes.push(execution, class) {
            classes.for_each_new(execution, depth_max, |classes, cut| {
                let judged = Judged::default().and_tuple(stepper, classes);
                let path = match judged.judgements.iter().any(|(node, judgement)| report.is_news(*node, judgement)) {
                    true => cut_path(execution, cut),
                    false => Vec::new(),
                };
                Ok::<_, MachineError>(!search.note_judged(report, start, &path, judged)?)
            })?;
        }
        if let Some(locals) = locals
            && locals.push(execution, next)
        {
            locals.for_each_new(execution, depth_max, |locals, _| {
                // A trap can come last in each cut that it is in, but no second one can follow it.
                let traps = locals.iter().filter(|local| stepper.known().brief(**local).is_stuck).count();
                if traps < 2 && !collected.contains(locals) {
                    collected.insert(locals.into());
                }
                Ok::<_, MachineError>(true)
            })?;
        }
        Ok(self.report.is_full())
    }

    fn progress(&self) -> Progress {
        let counts = Counts {
            transitions: Some(self.transitions),
            executions: Some(self.executions),
            redundant: Some(self.redundant),
            system_states: self.locals.is_some().then_some(self.collected.len() as u64),
            ..Counts::default()
        };
        // A tuple in a B-tree takes twice its size, as a node of the tree is at least half full.
        let tuple = 2 * size_of::<Box<[LocalStateId]>>() + self.start.locals.len() * size_of::<LocalStateId>();
        let runs = self.classes.bytes() + self.locals.as_ref().map_or(0, ConsistentCuts::bytes);
        let execution = self.execution.bytes() + runs + (self.collected.len() * tuple) as u64;
        let bytes = execution + self.kept + self.search.lts.counts().bytes;
        Progress { counts, steps: 0, depth: self.report.depth, queue: 0, bytes }
    }

    /// Closes a search that ended early, or that explored everything.
    fn finish(self, end: Option<EndCondition>) -> Report {
        let counts = self.progress().counts;
        let end = end.unwrap_or(match (self.cut.depth, self.cut.local_events) {
            (true, _) => EndCondition::DepthBound,
            (false, true) => EndCondition::LocalEventBound,
            (false, false) => EndCondition::SpaceExhausted,
        });
        let system_states = self.search.collect_system_states.then(|| self.collected.into_iter().collect());
        let mut report = Report { end, counts, system_states, ..self.report };
        report.count_local(self.search.lts);
        report
    }
}

/// The events of an execution that are in a consistent cut, in their order.
fn cut_path(execution: &Execution, cut: &[u32]) -> Vec<Step> {
    let events = execution.events().iter();
    events.filter(|event| event.position <= cut[event.step.node as usize]).map(|event| event.step).collect()
}
