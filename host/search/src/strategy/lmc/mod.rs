//! Local model checking: local states instead of global ones, and soundness verified afterwards.
//!
//! | module | what it holds |
//! |---|---|
//! | `alongside` | the full unfolding, in turns with a search that may not end |
//! | `soundness` | the soundness verification: its questions to the unfolding, and its memory of the answers |

use std::collections::BTreeSet;

use host_model::contract::{ClassId, Judgement, MachineError, Severity};
use host_model::lts::{LocalStateId, Stepper};
use host_model::trace::start::Start;
use rustc_hash::FxHashSet;

use crate::kernel::{Basis, Counts, EndCondition, Phase, Progress, Report, Search, SearchError, or_end, tuples};
use crate::local::space::{Index, LocalSpace};
use crate::strategy::lmc::alongside::{Alongside, Turns};

use self::soundness::Refutation;

pub mod alongside;
mod soundness;

/// The tuples of local states to examine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    /// All tuples.
    General,
    /// Only tuples whose views violate a property; a property is evaluated once for each tuple of view classes.
    Optimised,
}

/// Preliminary violations are verified when the first ones are found, and again whenever the number of local states has grown by this
/// factor: a verification costs up to a full unfolding, and refutations must mostly be repeated.
const VERIFICATION_GROWTH: usize = 4;

/// Units of work per tuple of classes that is evaluated, see [`Turns`]: a call of the plugin costs as much as several events.
const WORK_PER_EVALUATION: u64 = 8;

/// Tuples of local states per unit of work, if their classes were evaluated before.
const BUILT_PER_WORK: u64 = 256;

/// Tuples that are combined between two polls: evaluating one is a call of the plugin, building one
/// mostly a look-up.
const EVALUATED_PER_CHECK: u64 = 8;
const BUILT_PER_CHECK: u64 = 4_096;

/// Local model checking, general (LMC-GEN).
///
/// Guarantee: every reported violation is reachable, verified by the causal unfolding.
/// Complete: within the bounds; self-references, histories per path and late predecessors are taken into account. Ends
/// wherever the reachable global states are finite, see [`alongside`].
/// Explores: local states with one network that keeps every message; builds every tuple of local states and checks
/// the properties on each. Memory: about 100 bytes per local state and 12 per edge.
/// Honours: local-event bound, by rounds that raise it; state bound (on system states built); the number of violations, which
/// are verified at the end of a round if there can be several; the monitor.
/// Source: Yabandeh, Guerraoui and others, "Local model checking of distributed systems"; differs in: histories are
/// the common part of all paths to a state, and used only for messages that cannot have a second copy; soundness is
/// a question about the unfolding of the ancestors of the violating states, not about combinations of paths.
pub fn run_general(search: &Search<'_>) -> Result<Report, SearchError> {
    run(search, Variant::General, Turns::default())
}

/// Local model checking, optimised by views (LMC-OPT).
///
/// Guarantee, completeness, limits, source: as for [`run_general`].
/// Explores: local states, and the tuples of their view classes; a system state is built only to verify a violation.
/// Generalises the optimisation for Paxos in the paper: there, the view is the chosen value.
pub fn run_optimised(search: &Search<'_>) -> Result<Report, SearchError> {
    run(search, Variant::Optimised, Turns::default())
}

/// [`run_general`], or [`run_optimised`], with a schedule for the turns of the unfolding alongside.
#[doc(hidden)]
pub fn run_with(search: &Search<'_>, is_general: bool, turns: Turns) -> Result<Report, SearchError> {
    run(search, if is_general { Variant::General } else { Variant::Optimised }, turns)
}

fn run(search: &Search<'_>, variant: Variant, turns: Turns) -> Result<Report, SearchError> {
    let mut stepper = Stepper::new(search.lts)?;
    let mut report = Report::new(search.lts).collecting(&search.bounds);
    let mut total = Totals::default();
    for start in search.starts {
        explore_from(search, &mut stepper, start, variant, turns, &mut report, &mut total)?;
        if report.is_full() || report.end.is_external() {
            break;
        }
    }
    if report.end == EndCondition::SpaceExhausted && search.bounds.local_events.is_some() {
        report.basis = report.basis.or(Some(Basis::LocalStates));
    }
    // Another start state may have a shorter path.
    let is_only = search.starts.len() == 1;
    report.violations.iter_mut().for_each(|found| found.shortest &= is_only);
    if search.collect_system_states {
        report.system_states = Some(total.accepted.iter().cloned().collect());
    }
    total.fill(&mut report.counts);
    report.counts.handler_calls = Some(search.lts.counts().handler_calls);
    Ok(report)
}

/// The counts over all start states.
#[derive(Default)]
struct Totals {
    transitions: u64,
    local_states: u64,
    messages: u64,
    system_states: u64,
    /// The events of the unfoldings that had the answer.
    events: Option<u64>,
    preliminary_violations: u64,
    soundness_checks: u64,
    accepted: BTreeSet<Box<[LocalStateId]>>,
}

impl Totals {
    /// A round begins from scratch, so only the last round from a start state counts.
    fn add(&mut self, round: &Round<'_, '_, '_>) {
        self.transitions += round.space.transitions();
        self.local_states += round.space.states().len() as u64;
        self.messages += round.space.messages();
        self.system_states += round.system_states;
        self.preliminary_violations += round.preliminary;
        self.soundness_checks += round.soundness_checks;
    }

    fn fill(&self, counts: &mut Counts) {
        counts.transitions = Some(self.transitions);
        counts.local_states = Some(self.local_states);
        counts.messages = Some(self.messages);
        counts.system_states = Some(self.system_states);
        counts.events = self.events;
        counts.preliminary_violations = Some(self.preliminary_violations);
        counts.soundness_checks = Some(self.soundness_checks);
    }
}

/// Runs rounds with a growing bound on local events until none is left out, unless the unfolding alongside has the answer before.
fn explore_from(
    search: &Search<'_>,
    stepper: &mut Stepper<'_>,
    start: &Start,
    variant: Variant,
    turns: Turns,
    report: &mut Report,
    total: &mut Totals,
) -> Result<(), SearchError> {
    let limit = search.bounds.local_events.unwrap_or(u32::MAX);
    let alongside = Alongside::new(search, start, turns, report);
    let (mut bound, mut work) = (1.min(limit), 0);
    let end = loop {
        let mut round =
            Round::new(search, start, &alongside, stepper, RoundPlan { variant, bound, work }, &mut *report);
        let explored = round.explore(stepper).map(|()| None);
        round.end = or_end(explored)?.or(round.end);
        let is_cut = round.space.local_events_cut();
        let is_last = round.end.is_some() || !is_cut || bound == limit;
        if is_last {
            if is_cut && round.end.is_none() {
                round.end = or_end(round.local_events_cut(stepper))?;
            }
            total.add(&round);
            if search.collect_system_states {
                round.collect(stepper, &mut total.accepted)?;
            }
            break match round.end {
                Some(end) => end,
                None if round.is_inconclusive => EndCondition::LocalEventBound,
                None => EndCondition::SpaceExhausted,
            };
        }
        work = round.work();
        bound += 1;
    };
    let (mut answer, reachable) = (None, alongside.reachable());
    let stopped = or_end(alongside.into_answer(report).map(|found| {
        answer = found;
        None
    }))?;
    let Some(mut answer) = answer else {
        report.end = report.end.max(stopped.unwrap_or(end));
        if report.end.is_external() {
            report.counts.reachable_local_states = reachable;
        }
        return Ok(());
    };
    total.events = Some(total.events.unwrap_or(0) + answer.counts.events.unwrap_or(0));
    // The unfolding may have ended before it came to the known witnesses.
    let known =
        (0..report.witnessed.len() as u32).filter(|property| report.witnessed[*property as usize] == Some(true));
    known.for_each(|property| answer.witness(property));
    let (end, depth) = (report.end.max(answer.end), report.depth.max(answer.depth));
    *report = Report { end, depth, basis: Some(Basis::Unfolding), ..answer };
    search.announce(report);
    Ok(())
}

/// The parameters of a round.
#[derive(Clone, Copy)]
struct RoundPlan {
    variant: Variant,
    /// Maximum number of local events of a node.
    bound: u32,
    /// Units of work of the rounds before it.
    work: u64,
}

/// One round with a fixed bound on local events.
struct Round<'r, 's, 'l> {
    search: &'r Search<'s>,
    start: &'r Start,
    alongside: &'r Alongside<'r, 's>,
    variant: Variant,
    bound: u32,
    /// Units of work of earlier rounds, and of this one without the work of `space`.
    work: u64,
    report: &'r mut Report,
    space: LocalSpace<'l>,
    /// Local states before this one were combined with the others.
    combined: usize,
    /// For each node its local states that were combined.
    states: Vec<Vec<LocalStateId>>,
    /// For each node the classes of these local states, in the order of discovery.
    classes: Vec<Vec<ClassId>>,
    /// The pairs of a node and one of its `classes`.
    has_class: FxHashSet<(usize, ClassId)>,
    evaluated: u64,
    system_states: u64,
    /// Tuples of classes that violate a property.
    violating: FxHashSet<Box<[ClassId]>>,
    /// Local states that are violations by themselves.
    violating_locals: Vec<Index>,
    /// Properties of kind `sometimes` that hold in some tuple or local state, reachable or not, and were not reached yet.
    wanted: BTreeSet<u32>,
    preliminary: u64,
    /// The last verifications that refuted everything: without and with events left out.
    refuted: [Option<Refutation>; 2],
    soundness_checks: u64,
    /// Whether the last verification left local events out, or was given up.
    is_inconclusive: bool,
    end: Option<EndCondition>,
}

impl<'r, 's, 'l> Round<'r, 's, 'l> {
    fn new(
        search: &'r Search<'s>,
        start: &'r Start,
        alongside: &'r Alongside<'r, 's>,
        stepper: &mut Stepper<'l>,
        plan: RoundPlan,
        report: &'r mut Report,
    ) -> Self {
        let RoundPlan { variant, bound, work } = plan;
        let nodes = start.locals.len();
        Self {
            search,
            start,
            alongside,
            variant,
            bound,
            work,
            report,
            space: LocalSpace::new(stepper, start, bound),
            combined: 0,
            states: vec![Vec::new(); nodes],
            classes: vec![Vec::new(); nodes],
            has_class: FxHashSet::default(),
            evaluated: 0,
            system_states: 0,
            violating: FxHashSet::default(),
            violating_locals: Vec::new(),
            wanted: BTreeSet::new(),
            preliminary: 0,
            refuted: [None, None],
            soundness_checks: 0,
            is_inconclusive: false,
            end: None,
        }
    }

    fn explore(&mut self, stepper: &mut Stepper<'l>) -> Result<(), SearchError> {
        let mut next_verification = 0;
        loop {
            let (mut stopped, progress, alongside) = (None, self.progress(), self.alongside);
            let (work, bytes) = (self.work, progress.bytes - self.space.bytes());
            let is_complete = !self.space.pass(stepper, &mut |space| {
                let counts = Counts {
                    transitions: Some(space.transitions()),
                    local_states: Some(space.states().len() as u64),
                    ..progress.counts
                };
                let progress = Progress { counts, bytes: bytes + space.bytes(), ..progress };
                stopped = alongside.check(work + space.work(), &progress);
                stopped.is_none()
            })?;
            self.end = self.end.or(stopped);
            self.combine(stepper)?;
            if let Some(reached) = self.space.states().last() {
                self.report.depth = self.report.depth.max(reached.depth);
            }
            self.end = self.end.or_else(|| self.check());
            let is_over = is_complete || self.end.is_some();
            // A rejected tuple may become reachable by a predecessor found later, so it is verified again. The violations
            // are complete only at the end, so verifying some of several before would be in vain.
            let is_due = self.report.violations_max == 1 && self.space.states().len() >= next_verification;
            if self.targets() > 0 && (is_over || is_due) && !alongside.is_over() {
                next_verification = self.space.states().len() * VERIFICATION_GROWTH;
                alongside.enter(Phase::Verifying);
                let verified = self.verify(stepper, is_complete && self.end.is_none());
                alongside.enter(Phase::Exploring);
                verified?;
                self.search.announce(self.report);
            }
            if is_over || self.end.is_some() {
                return Ok(());
            }
        }
    }

    /// The work so far, see [`Turns`].
    fn work(&self) -> u64 {
        self.work + self.evaluated * WORK_PER_EVALUATION + self.system_states / BUILT_PER_WORK + self.space.work()
    }

    /// The reason to stop, if there is one.
    fn check(&self) -> Option<EndCondition> {
        self.alongside.check(self.work(), &self.progress())
    }

    /// Combines the local states found since the last call with those of the other nodes.
    fn combine(&mut self, stepper: &mut Stepper<'l>) -> Result<(), MachineError> {
        for index in self.combined..self.space.states().len() {
            let reached = &self.space.states()[index];
            let (state, node) = (reached.state, reached.node as usize);
            let local_state = stepper.state(state).clone();
            for judgement in &local_state.protocol.judgements {
                match judgement.severity() {
                    Severity::Witness(property) => self.want(property),
                    Severity::Violation => {
                        self.preliminary += 1;
                        self.violating_locals.push(Index(index as u32));
                    }
                }
            }
            // A trap ends the execution, and is the only finding in a state with one.
            if local_state.is_stuck() {
                continue;
            }
            if self.has_class.insert((node, local_state.protocol.class)) {
                self.combine_class(stepper, node, local_state.protocol.class)?;
            }
            if self.variant == Variant::General && self.end.is_none() {
                self.build(stepper, node, state)?;
            }
            if self.end.is_some() {
                return Ok(());
            }
            self.states[node].push(state);
        }
        self.combined = self.space.states().len();
        Ok(())
    }

    /// Begins to look for a witness of a property that has none yet.
    fn want(&mut self, property: u32) {
        if self.report.wants_witness(property) {
            self.wanted.insert(property);
        }
    }

    /// Evaluates the properties on the tuples of a new class with the classes of the other nodes.
    fn combine_class(&mut self, stepper: &mut Stepper<'l>, node: usize, class: ClassId) -> Result<(), MachineError> {
        let classes = std::mem::take(&mut self.classes);
        for tuple in tuples::with_fixed(&classes, node, class) {
            for judgement in stepper.judge(&tuple)?.iter() {
                match judgement.severity() {
                    Severity::Witness(property) => self.want(property),
                    Severity::Violation => {
                        let is_new = self.violating.insert(tuple.clone().into());
                        self.preliminary += u64::from(is_new && self.variant == Variant::Optimised);
                    }
                }
            }
            self.evaluated += 1;
            if self.evaluated.is_multiple_of(EVALUATED_PER_CHECK) {
                self.end = self.end.or_else(|| self.check());
            }
            if self.end.is_some() {
                break;
            }
        }
        self.classes = classes;
        self.classes[node].push(class);
        Ok(())
    }

    /// Builds the system states of a new local state with the local states of the other nodes.
    fn build(&mut self, stepper: &mut Stepper<'l>, node: usize, state: LocalStateId) -> Result<(), MachineError> {
        let states_max = self.search.bounds.states.unwrap_or(u64::MAX);
        let mut classes = Vec::with_capacity(self.states.len());
        for tuple in tuples::with_fixed(&self.states, node, state) {
            self.system_states += 1;
            classes.clear();
            for local in &tuple {
                classes.push(stepper.state(*local).protocol.class);
            }
            let is_bad = stepper.judge(&classes)?.iter().any(Judgement::is_bad);
            self.preliminary += u64::from(is_bad);
            if self.system_states >= states_max {
                self.end = Some(EndCondition::StateBound);
            } else if self.system_states.is_multiple_of(BUILT_PER_CHECK) {
                self.end = self.end.or_else(|| self.check());
            }
            if self.end.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Number of tuples of classes, local states and witnesses to verify.
    fn targets(&self) -> usize {
        self.violating.len() + self.violating_locals.len() + self.wanted.len()
    }

    fn progress(&self) -> Progress {
        let counts = Counts {
            transitions: Some(self.space.transitions()),
            local_states: Some(self.space.states().len() as u64),
            system_states: Some(self.system_states),
            messages: Some(self.space.messages()),
            preliminary_violations: Some(self.preliminary),
            soundness_checks: Some(self.soundness_checks),
            ..Counts::default()
        };
        // A tuple of classes on the heap, and its entry in a table. The stepper keeps the verdicts.
        let tuple = 4 * self.states.len() as u64 + 32;
        let classes = self.has_class.capacity() * size_of::<(usize, ClassId)>() * 2;
        let tuples = (self.evaluated + self.violating.capacity() as u64) * tuple;
        let states = self.combined * size_of::<LocalStateId>() + classes;
        let bytes = self.space.bytes() + tuples + states as u64 + self.search.lts.counts().bytes;
        Progress { counts, steps: 0, depth: self.report.depth, queue: 0, bytes }
    }
}
