//! Local model checking: local states instead of global ones, and soundness verified afterwards.

use std::cell::RefCell;
use std::collections::BTreeSet;

use host_model::lts::LocalStateId;
use host_model::machine::MachineError;
use host_model::property::{ClassId, Judgement};
use host_model::start::Start;
use host_model::stepper::Stepper;
use rustc_hash::FxHashSet;

use crate::kernel::{Counts, End, Limits, Phase, Progress, Report, Search, SearchError};
use crate::local_space::{Index, LocalSpace};
use crate::tuples;
use crate::unfold;
use crate::unfolding::{Everything, Order, Relevance};

/// Which tuples of local states are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    /// All of them.
    General,
    /// Only those whose views violate a property; a property is evaluated once for each tuple of view classes.
    Optimised,
}

/// Preliminary violations are verified as soon as there are some, and again whenever there are so many times as many
/// local states: a verification costs up to a full unfolding, and refutations must mostly be repeated.
const VERIFICATION_GROWTH: usize = 4;

/// Local model checking, general (LMC-GEN).
///
/// Guarantee: every reported violation is reachable, verified by the causal unfolding.
/// Complete: within the bounds; self-references, histories per path and late predecessors are taken into account.
/// Explores: local states with one network that keeps every message; builds every tuple of local states and checks
/// the properties on each. Memory: about 100 bytes a local state and 12 an edge.
/// Honours: local-event bound, by rounds that raise it; state bound (on system states built); the number of violations, which
/// are verified at the end of a round if there can be several; the monitor.
/// Source: Yabandeh, Guerraoui and others, "Local model checking of distributed systems"; differs in: histories are
/// what all paths to a state have in common, and used only for messages that cannot have a second copy; soundness is
/// a question about the unfolding of the ancestors of the violating states, not about combinations of paths.
pub fn run_general(search: &Search<'_>) -> Result<Report, SearchError> {
    run(search, Variant::General)
}

/// Local model checking, optimised by views (LMC-OPT).
///
/// Guarantee, completeness, limits, source: as for [`run_general`].
/// Explores: local states, and the tuples of their view classes; a system state is built only to verify a violation.
/// Generalises the optimisation for Paxos in the paper: there, the view is the chosen value.
pub fn run_optimised(search: &Search<'_>) -> Result<Report, SearchError> {
    run(search, Variant::Optimised)
}

fn run(search: &Search<'_>, variant: Variant) -> Result<Report, SearchError> {
    let mut stepper = Stepper::new(search.lts)?;
    let mut report = Report::new(search.lts).collecting(&search.limits);
    let mut total = Totals::default();
    for start in search.starts {
        explore_from(search, &mut stepper, start, variant, &mut report, &mut total)?;
        if report.is_full() {
            break;
        }
    }
    if search.collect_system_states {
        report.system_states = Some(total.accepted.iter().cloned().collect());
    }
    total.fill(&mut report.counts);
    report.counts.handler_calls = Some(search.lts.counts().handler_calls);
    Ok(report)
}

/// What is counted over all start states.
#[derive(Default)]
struct Totals {
    transitions: u64,
    local_states: u64,
    messages: u64,
    system_states: u64,
    preliminary_violations: u64,
    soundness_checks: u64,
    accepted: BTreeSet<Box<[LocalStateId]>>,
}

impl Totals {
    fn fill(&self, counts: &mut Counts) {
        counts.transitions = Some(self.transitions);
        counts.local_states = Some(self.local_states);
        counts.messages = Some(self.messages);
        counts.system_states = Some(self.system_states);
        counts.preliminary_violations = Some(self.preliminary_violations);
        counts.soundness_checks = Some(self.soundness_checks);
    }
}

/// Rounds with a growing bound on local events, until nothing is left out.
fn explore_from(
    search: &Search<'_>,
    stepper: &mut Stepper<'_>,
    start: &Start,
    variant: Variant,
    report: &mut Report,
    total: &mut Totals,
) -> Result<(), SearchError> {
    let limit = search.limits.local_events.unwrap_or(u32::MAX);
    let mut bound = 1.min(limit);
    loop {
        let mut round = Round {
            search,
            start,
            variant,
            bound,
            report: &mut *report,
            space: LocalSpace::new(stepper, start, bound),
            combined: 0,
            states: vec![Vec::new(); start.locals.len()],
            classes: vec![Vec::new(); start.locals.len()],
            system_states: 0,
            violating: FxHashSet::default(),
            violating_locals: Vec::new(),
            wanted: BTreeSet::new(),
            preliminary: 0,
            refuted: None,
            soundness_checks: 0,
            is_inconclusive: false,
            end: None,
        };
        round.explore(stepper)?;
        let is_cut = round.space.local_events_cut() || round.is_inconclusive;
        let is_last = round.end.is_some() || !round.space.local_events_cut() || bound == limit;
        let end = round.end.unwrap_or(if is_cut { End::LocalEventBound } else { End::SpaceExhausted });
        // A round begins from scratch, so its counts replace those of the round before.
        if is_last {
            total.transitions += round.space.transitions();
            total.local_states += round.space.states().len() as u64;
            total.messages += round.space.messages();
            total.system_states += round.system_states;
            total.preliminary_violations += round.preliminary;
            total.soundness_checks += round.soundness_checks;
            if search.collect_system_states {
                round.collect(stepper, &mut total.accepted)?;
            }
            report.end = report.end.max(end);
            return Ok(());
        }
        bound += 1;
    }
}

/// One round with a fixed bound on local events.
struct Round<'r, 's, 'l> {
    search: &'r Search<'s>,
    start: &'r Start,
    variant: Variant,
    bound: u32,
    report: &'r mut Report,
    space: LocalSpace<'l>,
    /// Local states before this one were combined with the others.
    combined: usize,
    /// For each node its local states that were combined.
    states: Vec<Vec<LocalStateId>>,
    /// For each node the classes of those.
    classes: Vec<Vec<ClassId>>,
    system_states: u64,
    /// Tuples of classes that violate a property.
    violating: FxHashSet<Box<[ClassId]>>,
    /// Local states that are bad by themselves.
    violating_locals: Vec<Index>,
    /// Properties of kind `sometimes` that hold in some tuple or local state, reachable or not.
    wanted: BTreeSet<u32>,
    preliminary: u64,
    /// The last verification, if it has refuted everything.
    refuted: Option<Refutation>,
    soundness_checks: u64,
    /// Whether the last verification left local events out.
    is_inconclusive: bool,
    end: Option<End>,
}

impl<'s, 'l> Round<'_, 's, 'l> {
    fn explore(&mut self, stepper: &mut Stepper<'l>) -> Result<(), SearchError> {
        let mut next_verification = 0;
        loop {
            let (mut stopped, progress) = (None, self.progress());
            let is_complete = !self.space.pass(stepper, &mut |space| {
                let counts = Counts {
                    transitions: Some(space.transitions()),
                    local_states: Some(space.states().len() as u64),
                    ..progress.counts
                };
                let bytes = space.bytes() + self.search.lts.counts().snapshot_bytes;
                stopped = self.search.monitor.check(&Progress { counts, bytes, ..progress });
                stopped.is_none()
            })?;
            self.end = self.end.or(stopped);
            self.combine(stepper)?;
            if let Some(reached) = self.space.states().last() {
                self.report.depth = self.report.depth.max(reached.depth);
            }
            self.end = self.end.or_else(|| self.search.monitor.check(&self.progress()));
            let is_over = is_complete || self.end.is_some();
            // A rejected tuple may become reachable by a predecessor found later, so it is verified again. All violations
            // are there only at the end, and to ask for some of them before would be in vain.
            let is_due = self.report.violations_max == 1 && self.space.states().len() >= next_verification;
            if self.targets() > 0 && (is_over || is_due) {
                next_verification = self.space.states().len() * VERIFICATION_GROWTH;
                self.search.monitor.enter(Phase::Verifying);
                self.verify(stepper, is_complete)?;
                self.search.monitor.enter(Phase::Exploring);
            }
            if is_over || self.end.is_some() {
                return Ok(());
            }
        }
    }

    /// Combines the local states found since the last time with those of the other nodes.
    fn combine(&mut self, stepper: &mut Stepper<'l>) -> Result<(), MachineError> {
        for index in self.combined..self.space.states().len() {
            let reached = &self.space.states()[index];
            let (state, node) = (reached.state, reached.node as usize);
            let local_state = stepper.state(state).clone();
            for judgement in &local_state.judgements {
                if let Judgement::Witnessed { property } = judgement {
                    if self.report.wants_witness(*property) {
                        self.wanted.insert(*property);
                    }
                } else {
                    self.preliminary += 1;
                    self.violating_locals.push(Index(index as u32));
                }
            }
            if !self.classes[node].contains(&local_state.class) {
                self.combine_class(stepper, node, local_state.class)?;
            }
            if self.variant == Variant::General && self.end.is_none() {
                self.build(stepper, node, state)?;
            }
            self.states[node].push(state);
        }
        self.combined = self.space.states().len();
        Ok(())
    }

    /// Evaluates the properties on the tuples of a new class with the classes of the other nodes.
    fn combine_class(&mut self, stepper: &mut Stepper<'l>, node: usize, class: ClassId) -> Result<(), MachineError> {
        for tuple in tuples::with_fixed(&self.classes, node, class) {
            for judgement in stepper.judge(&tuple)?.iter() {
                if let Judgement::Witnessed { property } = judgement {
                    if self.report.wants_witness(*property) {
                        self.wanted.insert(*property);
                    }
                } else {
                    let is_new = self.violating.insert(tuple.clone().into());
                    self.preliminary += u64::from(is_new && self.variant == Variant::Optimised);
                }
            }
        }
        self.classes[node].push(class);
        Ok(())
    }

    /// Builds the system states of a new local state with the local states of the other nodes.
    fn build(&mut self, stepper: &mut Stepper<'l>, node: usize, state: LocalStateId) -> Result<(), MachineError> {
        let states_max = self.search.limits.states.unwrap_or(u64::MAX);
        let mut classes = Vec::with_capacity(self.states.len());
        for tuple in tuples::with_fixed(&self.states, node, state) {
            self.system_states += 1;
            classes.clear();
            for local in &tuple {
                classes.push(stepper.state(*local).class);
            }
            let is_bad = stepper.judge(&classes)?.iter().any(Judgement::is_bad);
            self.preliminary += u64::from(is_bad);
            if self.system_states >= states_max {
                self.end = Some(End::StateBound);
            } else if self.system_states.is_multiple_of(65_536) {
                self.end = self.end.or_else(|| self.search.monitor.check(&self.progress()));
            }
            if self.end.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// How many tuples of classes, local states and witnesses there are to verify.
    fn targets(&self) -> usize {
        self.violating.len() + self.violating_locals.len() + self.wanted.len()
    }

    /// Asks the unfolding whether what was found on over-approximated states is reachable.
    fn verify(&mut self, stepper: &mut Stepper<'l>, is_complete: bool) -> Result<(), SearchError> {
        let wanted: Vec<u32> = std::mem::take(&mut self.wanted).into_iter().collect();
        if !wanted.is_empty() {
            // Where a witness is, is not known, so nothing is left out; but the first ones are enough.
            self.ask(stepper, Relevant::everything(), &wanted, is_complete)?;
        }
        if self.end.is_none() && self.violating.len() + self.violating_locals.len() > 0 {
            let relevant = self.relevant(stepper);
            self.ask(stepper, relevant, &[], is_complete)?;
        }
        Ok(())
    }

    /// One run of the unfolding, unless the last one has the answer.
    fn ask(
        &mut self,
        stepper: &mut Stepper<'l>,
        relevant: Relevant,
        until_witnessed: &[u32],
        is_complete: bool,
    ) -> Result<(), SearchError> {
        let search = self.verification();
        if self.refuted.as_ref().is_some_and(|refuted| refuted.still_holds(&relevant, search.limits)) {
            return Ok(());
        }
        self.soundness_checks += match until_witnessed.len() {
            0 => self.violating.len() + self.violating_locals.len(),
            wanted => wanted,
        } as u64;
        let (end_before, known) = (self.report.end, self.report.violations.len());
        let mut run = unfold::Run {
            search: &search,
            start: self.start,
            report: self.report,
            order: Order::Adequate,
            until_witnessed,
            events_before: 0,
            events: 0,
        };
        run.explore(stepper, &relevant, &mut BTreeSet::new())?;
        let end = std::mem::replace(&mut self.report.end, end_before);
        self.is_inconclusive = end == End::LocalEventBound;
        // A shorter one may need more local events, or violate a tuple that is not known yet.
        let is_shortest = is_complete && !self.space.local_events_cut();
        for found in &mut self.report.violations[known..] {
            found.shortest &= is_shortest;
        }
        match end {
            End::Violation => self.end = Some(End::Violation),
            // The verification itself ran out of time or memory: its silence proves nothing.
            End::TimeBound | End::MemoryBound | End::Interrupted => self.end = self.end.or(Some(end)),
            // The witnesses were found, and nothing else was asked.
            End::Pruned => {}
            _ => {
                let left_out = relevant.left_out.into_inner();
                self.refuted = Some(Refutation { left_out, limits: search.limits });
            }
        }
        Ok(())
    }

    /// What the unfolding is asked. The space can be complete although some executions have more local events than the
    /// bound of the round: a cycle, say. Then only the user's bound counts.
    fn verification(&self) -> Search<'s> {
        let of_round = self.space.local_events_cut().then_some(self.bound);
        let limits = Limits { local_events: of_round.or(self.search.limits.local_events), ..Limits::default() };
        Search { limits, collect_system_states: false, ..*self.search }
    }

    /// The local states from which something to verify can be reached.
    fn relevant(&self, stepper: &mut Stepper<'l>) -> Relevant {
        if !self.violating_locals.is_empty() {
            // The messages on the way to a single local state may come from anywhere.
            return Relevant::everything();
        }
        let mut classes = vec![FxHashSet::default(); self.classes.len()];
        #[expect(clippy::iter_over_hash_type, reason = "only fills sets")]
        for tuple in &self.violating {
            for (classes, class) in classes.iter_mut().zip(tuple) {
                classes.insert(*class);
            }
        }
        let mut targets = Vec::new();
        for (index, reached) in (0u32..).zip(self.space.states()) {
            if classes[reached.node as usize].contains(&stepper.state(reached.state).class) {
                targets.push(Index(index));
            }
        }
        Relevant { states: Some(self.space.ancestors(targets.into_iter())), left_out: RefCell::default() }
    }

    /// The built system states that the soundness verification accepts.
    fn collect(
        &self,
        stepper: &mut Stepper<'l>,
        accepted: &mut BTreeSet<Box<[LocalStateId]>>,
    ) -> Result<(), SearchError> {
        let search = Search { collect_system_states: true, ..self.verification() };
        let mut report = Report::new(self.search.lts);
        let mut run = unfold::Run {
            search: &search,
            start: self.start,
            report: &mut report,
            order: Order::Adequate,
            until_witnessed: &[],
            events_before: 0,
            events: 0,
        };
        let mut valid = BTreeSet::new();
        run.explore(stepper, &Everything, &mut valid)?;
        let is_built =
            |tuple: &[LocalStateId]| tuple.iter().zip(&self.states).all(|(state, states)| states.contains(state));
        accepted.extend(valid.into_iter().filter(|tuple| is_built(tuple)));
        Ok(())
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
        let bytes = self.space.bytes() + self.search.lts.counts().snapshot_bytes;
        Progress { counts, depth: self.report.depth, queue: 0, bytes }
    }
}

/// The ancestors of what is verified; all states if anything may matter.
struct Relevant {
    states: Option<FxHashSet<LocalStateId>>,
    /// The states that an event would have reached and that are not relevant.
    left_out: RefCell<FxHashSet<LocalStateId>>,
}

impl Relevant {
    fn everything() -> Self {
        Self { states: None, left_out: RefCell::default() }
    }
}

impl Relevance for Relevant {
    fn is_relevant(&self, state: LocalStateId) -> bool {
        let is_relevant = self.states.as_ref().is_none_or(|states| states.contains(&state));
        if !is_relevant {
            self.left_out.borrow_mut().insert(state);
        }
        is_relevant
    }
}

/// A verification that found nothing bad reachable.
struct Refutation {
    left_out: FxHashSet<LocalStateId>,
    limits: Limits,
}

impl Refutation {
    /// Whether a new verification would do just the same: nothing that was left out is relevant now. So although
    /// predecessors arrive all the time, only those that matter cost anything.
    fn still_holds(&self, relevant: &Relevant, limits: Limits) -> bool {
        let is_relevant = |states: &FxHashSet<LocalStateId>| !states.is_disjoint(&self.left_out);
        self.limits == limits && !relevant.states.as_ref().map_or(!self.left_out.is_empty(), is_relevant)
    }
}
