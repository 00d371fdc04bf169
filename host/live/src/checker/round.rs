//! One round: from a global state to predictions.

use std::collections::BTreeSet;
use std::sync::Arc;

use host_model::contract::{Judgement, MachineError, MachineFactory, NodeId, PropertyKind, Stop};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::trace::start::{self, Start, StartError};
use host_model::trace::{self, Beginning, Finding, Origin, Trace, TraceStep};
use host_search::kernel::rules::Rules;
use host_search::kernel::{EndCondition, FoundViolation, Search, SearchBounds, SearchError, judge_system_state};
use host_search::strategy;

use crate::checker::candidates::candidates;
use crate::checker::past::Past;
use crate::checker::stopping::{Asking, Never};
use crate::filter::Pattern;
use crate::gate::Views;
use crate::kinds::Kinds;

/// The limits of a round that adapt to the time that rounds take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reach {
    /// As [`Limits::events_max`].
    pub events_max: u64,
    /// As [`Limits::states_max`].
    pub states_max: u64,
}

/// The limits of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Events of the unfolding.
    pub events_max: u64,
    /// Global states of consequence prediction, which runs if the unfolding is incomplete and has found nothing.
    pub states_max: u64,
    /// Random walks, which run if the unfolding is incomplete and neither search has found anything.
    pub walks_max: u64,
    /// Small steps of a search, which its own counts do not include: the combinations of node states multiply with each node that a
    /// property of system scope reads. The evaluation of such a property counts as 500.
    pub steps_max: u64,
    /// Different violations that a search collects.
    pub violations_max: u64,
    /// Past paths to violations, the latest ones.
    pub past_max: usize,
    /// Bytes of the cache of handlers between two rounds.
    pub bytes_max: u64,
    /// Bytes of each search of a round, including the cache of handlers.
    pub round_bytes_max: u64,
    /// Bytes of all states and messages of a global state in which a round begins.
    pub beginning_max: usize,
    /// The rules by which a state is dead; none if promises are ignored.
    pub promises: Option<Rules>,
    /// Whether connections may be broken in place of messages on ordered links. If so, they can break in the scenario.
    pub breaks: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            events_max: 4_000,
            states_max: 2_000,
            walks_max: 0,
            steps_max: 50_000_000,
            violations_max: 16,
            past_max: 64,
            bytes_max: 64 << 20,
            round_bytes_max: 256 << 20,
            beginning_max: 16 << 20,
            promises: None,
            breaks: false,
        }
    }
}

/// The reason why a round has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The global state is not one of this cluster: a node has reported a wrong state.
    #[error("the snapshot is refused: {0}")]
    Refused(String),
    /// The host has failed.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl From<StartError> for CheckError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Machine(error) => Self::Machine(error),
            error => Self::Refused(error.to_string()),
        }
    }
}

impl From<SearchError> for CheckError {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Machine(error) => Self::Machine(error),
            SearchError::Start(error) => error.into(),
            error => Self::Refused(error.to_string()),
        }
    }
}

/// A predicted violation or dead state, with a trace from the state of the round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The steps.
    pub steps: Vec<TraceStep>,
    /// The finding after them.
    pub finding: Finding,
    /// The violated property; none if a handler fails.
    pub property: Option<u32>,
    /// The node of the violation; none for a property that reads several nodes.
    pub node: Option<NodeId>,
}

impl Prediction {
    /// Its trace, made from an empty trace of the same cluster. `scenario` is the scenario of the checker after the round.
    pub fn trace(&self, scenario: Scenario, beginning: &Arc<Beginning>, empty: Trace) -> Trace {
        Trace {
            scenario,
            finding: Some(self.finding.clone()),
            steps: self.steps.clone(),
            ..empty.beginning_at(Origin::States(Arc::clone(beginning)))
        }
        .with_version()
    }
}

/// The result of a round.
#[derive(Clone, Debug)]
pub struct Round {
    /// The global state in which it begins.
    pub beginning: Arc<Beginning>,
    /// Its reach.
    pub reach: Reach,
    /// Predicted violations; each replays.
    pub predictions: Vec<Prediction>,
    /// Predicted dead states, if [searched for](Checker::find_dead_ahead); each replays.
    pub dead: Vec<Prediction>,
    /// Whether the first prediction was found along a past path.
    pub is_known: bool,
    /// Violations in the state in which the round begins: each has no steps, and replays. Then nothing is predicted.
    pub violated: Vec<Prediction>,
    /// Whether the search is complete.
    pub is_complete: bool,
    /// Whether it was stopped before it reached its limits.
    pub is_cut: bool,
    /// Units of work: events, transitions.
    pub work: u64,
    /// By node, the events that it could filter on each path, earliest first.
    pub(super) filterable: Vec<Vec<Vec<Pattern>>>,
}

/// Looks ahead for one node.
pub struct Checker<'f> {
    pub(super) factory: &'f dyn MachineFactory,
    pub(crate) limits: Limits,
    pub(super) lts: Lts<'f>,
    pub(super) stop: &'f dyn Stop,
    pub(super) kinds: Arc<Kinds>,
    past: Past,
    generation: u64,
}

impl<'f> Checker<'f> {
    /// A checker for a cluster in this scenario, whose budgets of faults are those of one look ahead.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn new(factory: &'f dyn MachineFactory, scenario: Scenario, limits: Limits) -> Result<Self, MachineError> {
        let lts = new_lts(factory, scenario, &limits)?;
        let kinds = Kinds::new(factory)?;
        Ok(Self { factory, limits, lts, stop: &Never, kinds, past: Past::new(limits.past_max), generation: 0 })
    }

    /// The kinds of messages for its coarser filters.
    pub fn kinds(&self) -> &Arc<Kinds> {
        &self.kinds
    }

    /// Remembers a path from an earlier process that led to a violation.
    pub fn remember(&mut self, steps: &[TraceStep]) {
        self.past.remember(steps);
    }

    /// The same with a stop flag, polled after each handler that it executes, and every few thousand steps. Results found before the
    /// stop stay valid.
    #[must_use]
    pub fn stopped_by(self, stop: &'f dyn Stop) -> Self {
        Self { stop, ..self }
    }

    /// Sets the reach of the next rounds; the other limits stay.
    pub fn set_reach(&mut self, reach: Reach) {
        let Reach { events_max, states_max } = reach;
        self.limits = Limits { events_max, states_max, ..self.limits };
    }

    /// The number of times that the cache of handlers was cleared.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The cache of handlers.
    pub fn lts(&self) -> &Lts<'f> {
        &self.lts
    }

    /// Looks ahead from a global state. Nodes without a state are absent: they absorb messages.
    ///
    /// # Errors
    ///
    /// The state is not one of this cluster, or the host cannot continue. The next round is not affected.
    pub fn round(&mut self, beginning: &Arc<Beginning>) -> Result<Round, CheckError> {
        check_size(beginning, self.limits.beginning_max)?;
        self.renew(beginning)?;
        let mut stepper = Stepper::new(&self.lts)?;
        let start = start::adopt(&mut stepper, beginning)?;
        let Limits { events_max, states_max, .. } = self.limits;
        let mut round = Round {
            beginning: Arc::clone(beginning),
            reach: Reach { events_max, states_max },
            predictions: Vec::new(),
            dead: Vec::new(),
            is_known: false,
            violated: violated(&mut stepper, &start)?,
            is_complete: false,
            is_cut: false,
            work: 0,
            filterable: vec![Vec::new(); start.locals.len()],
        };
        if !round.violated.is_empty() {
            return Ok(round);
        }
        let (found, work) = self.past.follow(&mut stepper, &self.kinds, &start, self.stop)?;
        round.is_known = found.is_some();
        round.work += work;
        let ahead = look_ahead(&self.lts, self.stop, &start, &self.limits)?;
        round.work += ahead.work;
        (round.is_complete, round.is_cut) = (ahead.is_complete, ahead.is_cut);
        for violation in found.iter().chain(&ahead.found) {
            for (node, paths) in (0..).zip(&mut round.filterable) {
                paths.push(candidates(&mut stepper, node, self.limits.breaks, violation)?);
            }
            let prediction = prediction(&mut stepper, violation)?;
            self.past.remember(&prediction.steps);
            round.predictions.push(prediction);
        }
        Ok(round)
    }

    /// The views of each node in a global state, by property; none of absent nodes. The round that begins there reuses
    /// the cached handlers.
    ///
    /// # Errors
    ///
    /// As for a round.
    pub fn views(&mut self, beginning: &Arc<Beginning>) -> Result<Vec<Option<Views>>, CheckError> {
        check_size(beginning, self.limits.beginning_max)?;
        self.renew(beginning)?;
        let mut stepper = Stepper::new(&self.lts)?;
        let start = start::adopt(&mut stepper, beginning)?;
        let is_there = |node: NodeId| beginning.states.iter().any(|state| state.node == node);
        let views = (0..).zip(&start.locals).map(|(node, local)| is_there(node).then(|| stepper.views(*local)));
        Ok(views.collect())
    }

    /// The scenario of a round that begins in this state: nodes without a state are absent.
    pub fn scenario_of(&self, beginning: &Beginning) -> Scenario {
        let scenario = self.lts.scenario();
        let present: BTreeSet<NodeId> = beginning.states.iter().map(|state| state.node).collect();
        let absent = (0..scenario.nodes).filter(|node| !present.contains(node)).collect();
        Scenario { absent, ..scenario.clone() }
    }

    /// Switches to the scenario of a round that begins in this state: the round itself may have been another checker's, or an earlier
    /// one.
    pub(crate) fn attend(&mut self, beginning: &Beginning) -> Result<(), MachineError> {
        if self.scenario_of(beginning).absent == self.lts.scenario().absent { Ok(()) } else { self.renew(beginning) }
    }

    /// Begins another generation if the cache of handlers exceeds its limit, or other nodes are absent.
    fn renew(&mut self, beginning: &Beginning) -> Result<(), MachineError> {
        let scenario = self.scenario_of(beginning);
        if scenario.absent != self.lts.scenario().absent {
            self.lts = new_lts(self.factory, scenario, &self.limits)?;
            self.generation += 1;
        } else if self.lts.counts().local_states > 0 && self.lts.counts().bytes > self.limits.bytes_max {
            self.lts = self.lts.sibling();
            self.generation += 1;
        }
        Ok(())
    }
}

/// An empty local transition system for these limits, without witnesses, and without promises if they are ignored.
pub(super) fn new_lts<'f>(
    factory: &'f dyn MachineFactory,
    scenario: Scenario,
    limits: &Limits,
) -> Result<Lts<'f>, MachineError> {
    let of_no_use = match limits.promises {
        Some(_) => &[PropertyKind::Sometimes][..],
        None => &[PropertyKind::Sometimes, PropertyKind::Eventually],
    };
    Ok(Lts::new(factory, scenario)?.leaving_out(of_no_use))
}

/// The violations in a state, as findings without steps.
fn violated(stepper: &mut Stepper<'_>, start: &Start) -> Result<Vec<Prediction>, MachineError> {
    let wrong = judge_system_state(stepper, &start.locals).bad()?.into_iter();
    wrong.map(|(node, judgement)| prediction(stepper, &FoundViolation::new(start, &[], node, judgement))).collect()
}

/// A violation in the form of a trace.
fn prediction(stepper: &mut Stepper<'_>, violation: &FoundViolation) -> Result<Prediction, MachineError> {
    let property = match &violation.judgement {
        Judgement::Violated { property, .. } => Some(*property),
        _ => None,
    };
    let steps = trace::record(stepper, &violation.initial, &violation.path)?;
    Ok(Prediction { steps, finding: violation.finding(stepper)?, property, node: violation.node })
}

fn check_size(beginning: &Beginning, most: usize) -> Result<(), CheckError> {
    let states = beginning.states.iter().map(|state| state.exported.0.len());
    let messages = beginning.in_flight.iter().map(|flight| flight.payload.0.len() + size_of_val(flight));
    if states.chain(messages).sum::<usize>() > most {
        return Err(CheckError::Refused(format!("its states and messages have more than {most} bytes")));
    }
    Ok(())
}

/// The results of an exploration.
#[derive(Default)]
pub(super) struct Ahead {
    pub(super) found: Vec<FoundViolation>,
    pub(super) is_complete: bool,
    pub(super) is_cut: bool,
    pub(super) work: u64,
}

/// Events of a random walk: several times the length of a typical violation, and no more, since longer walks rarely find one.
const WALK_EVENTS: u32 = 200;

/// Explores ahead: by the unfolding; if that is incomplete and has found nothing, by consequence prediction; and last by random walks.
pub(super) fn look_ahead(lts: &Lts<'_>, stop: &dyn Stop, start: &Start, limits: &Limits) -> Result<Ahead, CheckError> {
    let mut ahead = Ahead::default();
    let bounds = SearchBounds { violations: Some(limits.violations_max), ..SearchBounds::default() };
    let by_states = |states| (states, SearchBounds { states: Some(states), ..bounds });
    // One violation of a walk is enough: further ones are mostly the same one on other paths.
    let by_walks = SearchBounds { walks: Some(limits.walks_max), depth: Some(WALK_EVENTS), violations: None, ..bounds };
    let stages = [
        ("unfold", by_states(limits.events_max)),
        ("consequence", by_states(limits.states_max)),
        ("walk", (limits.walks_max, by_walks)),
    ];
    for (name, (most, bounds)) in stages {
        if most == 0 {
            continue;
        }
        let starts = std::slice::from_ref(start);
        let monitor = Asking::new(stop).within(lts, limits.steps_max).holding(limits.round_bytes_max);
        let search = Search { lts, starts, bounds, monitor: &monitor, collect_system_states: false };
        let strategy = strategy::find(name).expect("the table of strategies has these three, which tests run");
        let report = (strategy.run)(&search)?;
        ahead.work += report.counts.events.or(report.counts.transitions).unwrap_or(0);
        ahead.is_complete |= report.end == EndCondition::SpaceExhausted;
        ahead.is_cut |= report.end.is_external();
        ahead.found.extend(report.violations);
        if ahead.is_complete || ahead.is_cut || !ahead.found.is_empty() {
            break;
        }
    }
    Ok(ahead)
}

#[cfg(test)]
mod tests {
    use host_model::toys::{Toy, ToyTrigger};

    use super::*;

    /// A violation after forty steps of node 0, in a cluster with a node that moves in circles: too deep for the searches within their
    /// limits, and within reach of a walk. Its prediction replays.
    #[test]
    fn walks_find_violations_too_deep_for_the_searches() {
        let round = Toy::new(2)
            .rule(1, 0, ToyTrigger::Local(0), 1, &[])
            .rule(1, 1, ToyTrigger::Local(0), 0, &[])
            .forbid(&[Some(40), None]);
        let toy = (0..40).fold(round, |toy, state| toy.rule(0, state, ToyTrigger::Local(0), state + 1, &[]));
        let (factory, scenario) = (Arc::new(toy), Scenario::new(2));
        let predicted = |walks_max| {
            let limits = Limits { events_max: 20, states_max: 20, walks_max, ..Limits::default() };
            let mut checker = Checker::new(&factory, scenario.clone(), limits).expect("it is native");
            let lts = Lts::new(&factory, scenario.clone()).expect("it is native");
            let mut stepper = Stepper::new(&lts).expect("it is native");
            let start = start::initial(&mut stepper).expect("nothing is refused").remove(0);
            let beginning = Arc::new(start::export(&mut stepper, &start).expect("toys leave"));
            let round = checker.round(&beginning).expect("it is a state of the toy");
            for prediction in &round.predictions {
                let origin = Origin::States(Arc::clone(&beginning));
                trace::confirm(&factory, &scenario, &origin, &prediction.steps, &prediction.finding)
                    .expect("it replays");
            }
            round.predictions.len()
        };
        assert_eq!(predicted(0), 0);
        assert!(predicted(20) > 0);
    }
}
