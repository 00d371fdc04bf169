//! Reports of `bdfs` about promises of progress, against the reference: under bounds, after prefixes, from exported states, on mixed links,
//! for several violations and any number of workers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use host_agreement::effort::{enough, systems, telling};
use host_agreement::reference::progress::{Within, progress};
use host_agreement::reference::promises::{self, Outcome};
use host_agreement::reference::{Prefix, System};
use host_agreement::toys;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Link, Network};
use host_model::toys::{Dice, Toy};
use host_model::trace::start::{self, Start};
use host_model::trace::{self, BreachClass, Trace};
use host_search::kernel::rules::Rules;
use host_search::kernel::{
    EndCondition, FoundViolation, Monitor, Progress, Report, Search, SearchBounds, SearchError, Unmonitored,
};
use host_search::strategy::auto::{self, Member, Turns};
use host_search::strategy::{Promises, bdfs, find};
use rayon::ThreadPoolBuilder;

use super::all_rules;
use super::toys::{STATES_MAX, random};
use super::walks::dead_is_dead;

/// A strategy.
pub(crate) type Run = dyn Fn(&Search<'_>) -> Result<Report, SearchError> + Sync;

/// A search.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) system: System,
    pub(crate) bounds: SearchBounds,
    pub(crate) prefix: Option<Prefix>,
    pub(super) is_exported: bool,
}

impl Case {
    pub(crate) fn random(seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0x5ea4c);
        let mut system = random(seed);
        let others = Faults { losses: 0, ..system.faults };
        if dice.below(3) == 0 && system.toy.roles.is_empty() && others == Faults::default() {
            let nodes = system.toy.nodes;
            for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
                let network = if dice.below(2) == 0 { Network::Ordered } else { Network::Unordered };
                system.links.push(Link { from, to, network });
            }
        }
        let rules = all_rules();
        let rules = rules[dice.below(rules.len() as u32) as usize];
        let bound = |dice: &mut Dice, max| (dice.below(4) == 0).then(|| 1 + dice.below(max));
        let bounds = SearchBounds {
            depth: bound(&mut dice, 8),
            local_events: bound(&mut dice, 2),
            violations: [None, Some(2), Some(u64::MAX)][dice.below(3) as usize],
            promises: Some(rules),
            deadlock: dice.below(6) == 0 && system.toy.roles.is_empty(),
            count_system_states: dice.below(4) == 0,
            ..SearchBounds::default()
        };
        let lossy = if dice.below(2) == 0 { Prefix::random_lossy } else { Prefix::random };
        let prefix = (dice.below(3) == 0).then(|| lossy(&system, seed, 1 + dice.below(4))).flatten();
        Self { is_exported: prefix.is_some() && dice.below(2) == 0, system, bounds, prefix }
    }

    pub(crate) fn within(&self) -> Within<'_> {
        let SearchBounds { depth, local_events, .. } = self.bounds;
        Within { prefix: self.prefix.as_ref(), depth, local_events }
    }

    pub(super) fn rules(&self) -> Rules {
        self.bounds.promises.expect("it is asked for")
    }

    /// The outcome of each promise by these rules according to the reference; none if the system is too large for it.
    pub(super) fn outcomes(&self, rules: Rules) -> Option<Vec<Outcome>> {
        let graph = progress(&self.system, self.within(), STATES_MAX)?;
        let promises = 0..graph.states[0].owed.len();
        promises.map(|promise| promises::decide(&graph.states, promise, rules)).collect()
    }

    /// The starts of the search.
    fn starts(&self, factory: &Arc<Toy>, stepper: &mut Stepper<'_>) -> Vec<Start> {
        let Some(prefix) = &self.prefix else { return start::initial(stepper).expect("a toy starts") };
        let mut trace = trace_of(stepper.lts(), prefix);
        if self.is_exported {
            let lts = Lts::new(factory, self.system.scenario()).expect("a toy lists its properties");
            let mut other = Stepper::new(&lts).expect("a machine");
            let end = start::follow(&mut other, &trace).expect("the prefix can happen");
            let beginning = start::export(&mut other, &end).expect("a toy exports");
            trace = Trace { beginning: Some(beginning), init_choices: Vec::new(), steps: Vec::new(), ..trace };
        }
        vec![start::follow(stepper, &trace).expect("the prefix can happen")]
    }

    /// Runs the search by `bdfs`, and shows its report.
    fn run(&self, workers: usize, monitor: &dyn Monitor, work: &mut dyn FnMut(&Lts<'_>, Report)) {
        self.run_by(&bdfs::run, workers, monitor, work);
    }

    /// Runs the search by some strategy, and shows its report.
    pub(crate) fn run_by(
        &self,
        run: &Run,
        workers: usize,
        monitor: &dyn Monitor,
        work: &mut dyn FnMut(&Lts<'_>, Report),
    ) {
        let factory = Arc::new(self.system.toy.clone());
        let lts = Lts::new(&factory, self.system.scenario()).expect("a toy lists its properties");
        let starts = self.starts(&factory, &mut Stepper::new(&lts).expect("a machine"));
        let search = Search { lts: &lts, starts: &starts, bounds: self.bounds, monitor, collect_system_states: false };
        let pool = ThreadPoolBuilder::new().num_threads(workers).build().expect("threads");
        let report = pool.install(|| run(&search)).expect("a toy has no host faults");
        work(&lts, report);
    }
}

/// A prefix as a trace of its own.
fn trace_of(lts: &Lts<'_>, prefix: &Prefix) -> Trace {
    let Prefix { init_choices, steps, .. } = prefix.clone();
    Trace { init_choices, steps, ..toys::empty_trace(lts.scenario()) }
}

/// A finding as a trace that was executed again in fresh machines: its loop twice round, its sibling to where the promise is kept.
pub(super) fn confirmed(case: &Case, lts: &Lts<'_>, found: &FoundViolation) -> Trace {
    let factory = Arc::new(case.system.toy.clone());
    let mut stepper = Stepper::new(lts).expect("a machine");
    let steps = trace::record(&mut stepper, &found.initial, &found.path).expect("a toy has no host faults");
    let finding = found.finding(&mut stepper).expect("a toy has no host faults");
    let steps = trace::confirm(&factory, lts.scenario(), &found.origin, &steps, &finding).expect("it replays");
    let none = Prefix::default();
    let trace = Trace { finding: Some(finding), steps, ..trace_of(lts, &none) }.beginning_at(found.origin.clone());
    trace::check_sibling(&factory, &trace).expect("the sibling keeps the promise");
    let promise = trace.promise().expect("it shows a broken promise");
    assert_eq!(promise.check(trace.steps.len()), Ok(()));
    trace
}

/// Compares a report with the reference's outcome of each promise.
fn compare(case: &Case, lts: &Lts<'_>, report: &Report, expected: &[Outcome], context: &str) {
    let found: Vec<&FoundViolation> = report.violations.iter().filter(|found| found.breach.is_some()).collect();
    if report.end == EndCondition::Violation {
        assert!(found.is_empty() && report.promises.iter().all(|it| it.decided.is_none()), "{context}");
        return;
    }
    assert_eq!(report.promises.len(), expected.len(), "{context}");
    assert_eq!(report.promises_end, None, "{context}");
    let mut all: Vec<(BreachClass, usize)> = Vec::new();
    for (report, outcome) in report.promises.iter().zip(expected) {
        let decided = report.decided.expect("nothing ended it");
        assert_eq!(decided.class, outcome.ways().first().map(|(class, _)| *class), "{context}");
        let states = (decided.live_states, decided.dead_states, decided.unknown_states);
        assert_eq!(states, outcome.states, "{context}");
        assert_eq!(
            (decided.critical_edges, decided.stuck_states),
            (outcome.critical_edges, outcome.stuck),
            "{context}"
        );
        assert_eq!(decided.fair_components, outcome.fair.len() as u64, "{context}");
        all.extend(outcome.ways());
    }
    let wanted = case.bounds.violations.unwrap_or(1) as usize - (report.violations.len() - found.len());
    assert_eq!(found.len(), all.len().min(wanted), "{context}");
    let prefix = if case.is_exported { 0 } else { case.prefix.as_ref().map_or(0, |prefix| prefix.steps.len()) };
    let mut before = BreachClass::Dead;
    for violation in found {
        let breach = violation.breach.as_ref().expect("it is one");
        let outcome = report.promises.iter().zip(expected).find(|(report, _)| {
            violation.judgement.violated() == Some(report.promise.property) && report.promise.node == violation.node
        });
        let (_, outcome) = outcome.expect("it is about a promise");
        let length = violation.path.len() - prefix - breach.cycle;
        assert!(outcome.ways().contains(&(breach.class, length)), "{context}: {breach:?} of {outcome:?}");
        assert!(!violation.shortest || breach.class != BreachClass::Lasso, "{context}");
        assert!(before <= breach.class, "the most certain ones come first: {context}");
        before = breach.class;
        let trace = confirmed(case, lts, violation);
        assert_eq!(trace.promise().map(|promise| promise.class), Some(breach.class), "{context}");
    }
}

#[test]
fn bdfs_reports_of_promises_what_the_reference_says() {
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let mut tried = 0;
    for seed in 0..systems(6_000) {
        let case = Case::random(seed);
        let Some(outcomes) = case.outcomes(case.rules()) else { continue };
        let context = format!("seed {seed}, {:?}, {:?}, {:#?}", case.bounds, case.prefix, case.system);
        let mut reports = Vec::new();
        for workers in [1, 2] {
            case.run(workers, &Unmonitored, &mut |lts, report| {
                if workers == 1 {
                    compare(&case, lts, &report, &outcomes, &context);
                }
                reports.push((report.end, report.promises, report.violations, report.counts));
            });
        }
        assert!(reports[0] == reports[1], "{context}");
        for promise in &reports[0].1 {
            let (met, decided) = (promise.met.expect("it keeps states"), promise.decided);
            let counts = decided.map(|it| (it.kept_states, it.live_states + it.dead_states + it.unknown_states));
            assert!(counts.is_none_or(|counts| counts == (met.kept, met.states)), "{met:?} and {decided:?}, {context}");
        }
        tried += 1;
        let mut note = |what: &str, is_so: bool| *seen.entry(what.to_owned()).or_default() += u64::from(is_so);
        note("links", !case.system.links.is_empty());
        note("prefix", case.prefix.is_some() && !case.is_exported);
        note("exported", case.is_exported);
        note("lost", case.system.faults.losses > 0);
        note("depth", case.bounds.depth.is_some() && outcomes.iter().any(|it| it.states.2 > 0));
        for violation in &reports[0].2 {
            let class = violation.breach.as_ref().map_or("always", |breach| breach.class.name());
            note(class, true);
        }
    }
    let is_telling = seen.len() == 9 && seen.values().all(|count| *count * 50 > tried);
    telling(is_telling && tried > enough(1_000), format_args!("{tried}: {seen:?}"));
}

/// In the portfolio, `bdfs` decides promises, and walks can be first to prove that one is broken.
#[test]
fn the_portfolio_reports_of_promises_what_the_reference_says() {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..systems(1_500) {
        let mut case = Case::random(seed);
        case.bounds.count_system_states = false;
        let Some(outcomes) = case.outcomes(case.rules()) else { continue };
        let context = format!("seed {seed}, {:?}, {:?}, {:#?}", case.bounds, case.prefix, case.system);
        // Walks alone are never done.
        let is_alone = seed % 2 == 0 && case.bounds.violations.is_none();
        let turns = Turns { shortest: seed % 64, only: is_alone.then_some(Member::Walk) };
        let monitor = StopAt { checks: AtomicU64::new(0), at: if is_alone { 150 } else { u64::MAX } };
        case.run_by(&move |search: &Search<'_>| auto::run_with(search, turns), 1, &monitor, &mut |lts, report| {
            let mut note = |what: &'static str, is_so: bool| *seen.entry(what).or_default() += u64::from(is_so);
            let broken: Vec<_> = report.violations.iter().filter(|found| found.breach.is_some()).collect();
            if !is_alone && report.promises.iter().all(|promise| promise.sampled.is_none()) {
                compare(&case, lts, &report, &outcomes, &context);
                note("decided", !broken.is_empty());
                return;
            }
            let was_stopped = monitor.checks.load(Ordering::Relaxed) >= monitor.at;
            let proven = |found: &&FoundViolation| dead_is_dead((&case, was_stopped), lts, found, &context).is_some();
            note("walked", broken.iter().filter(|found| proven(found)).count() > 0);
            let sampled: Vec<_> = report.promises.iter().filter_map(|promise| promise.sampled).collect();
            // One is enough, and a deadlock is one.
            let dead = sampled.iter().map(|sampled| sampled.dead).sum::<u64>();
            assert!(broken.len() as u64 <= dead && (dead == 0 || !report.violations.is_empty()), "{context}");
            note("stopped", report.end == EndCondition::Interrupted && !sampled.is_empty());
            assert!(report.end != EndCondition::Violation || !report.violations.is_empty(), "{context}");
        });
    }
    telling(seen.len() == 3 && seen.values().all(|count| *count > enough(20)), format_args!("{seen:?}"));
}

/// With a bound below the number of states, all claims are true of the whole space.
#[test]
fn a_bound_on_states_hides_answers_and_makes_none_up() {
    let mut seen: BTreeMap<BreachClass, u64> = BTreeMap::new();
    for seed in 0..systems(3_000) {
        let mut case = Case::random(seed);
        case.bounds = SearchBounds {
            depth: None,
            local_events: None,
            violations: Some(u64::MAX),
            states: Some(1 + seed % 30),
            ..case.bounds
        };
        let rules = case.rules();
        let Some(graph) = progress(&case.system, case.within(), STATES_MAX) else { continue };
        case.run(1, &Unmonitored, &mut |lts, report| {
            let decided = (0..).zip(&report.promises).filter_map(|(index, it)| Some((index, it.decided?)));
            for (promise, decided) in decided {
                let Some(outcome) = promises::decide(&graph.states, promise, rules) else { continue };
                let context = || format!("seed {seed}: {decided:?}, {outcome:?}");
                assert!(
                    decided.dead_states <= outcome.states.1 && decided.live_states <= outcome.states.0,
                    "{}",
                    context()
                );
                assert!(decided.stuck_states <= outcome.stuck, "{}", context());
                let is_true = match decided.class {
                    None => true,
                    Some(BreachClass::Dead) => outcome.death.is_some(),
                    Some(BreachClass::Stuck) => outcome.stuck > 0,
                    Some(BreachClass::Lasso) => !outcome.fair.is_empty(),
                };
                assert!(is_true, "{}", context());
                if report.end == EndCondition::StateBound
                    && let Some(class) = decided.class
                {
                    *seen.entry(class).or_default() += 1;
                }
            }
            for found in report.violations.iter().filter(|found| found.breach.is_some()) {
                confirmed(&case, lts, found);
            }
        });
    }
    telling(seen.len() == 3 && seen.values().all(|count| *count >= enough(11)), format_args!("{seen:?}"));
}

/// Stops the search at this number of polls.
#[derive(Default)]
struct StopAt {
    checks: AtomicU64,
    at: u64,
}

impl Monitor for StopAt {
    fn check(&self, _: &Progress) -> Option<EndCondition> {
        (self.checks.fetch_add(1, Ordering::Relaxed) >= self.at).then_some(EndCondition::Interrupted)
    }
}

/// Wherever a search is stopped: a promise that it decides is as the whole search decides it, and after a complete exploration,
/// the rest is as in the whole search.
#[test]
fn a_search_that_is_stopped_takes_nothing_back() {
    let (mut exploring, mut deciding) = (0, 0);
    for seed in 0..systems(300) {
        let case = Case::random(seed);
        if progress(&case.system, case.within(), STATES_MAX).is_none() {
            continue;
        }
        let counting = StopAt { at: u64::MAX, ..StopAt::default() };
        let mut whole = None;
        case.run(1, &counting, &mut |_, report| whole = Some(report));
        let (whole, checks) = (whole.expect("it ran"), counting.checks.load(Ordering::Relaxed));
        for at in (0..checks).rev().take(12) {
            case.run(1, &StopAt { at, ..StopAt::default() }, &mut |_, report| {
                let is_explored = report.end == whole.end && report.end != EndCondition::Interrupted;
                for (stopped, whole) in report.promises.iter().zip(&whole.promises) {
                    assert!(
                        stopped.decided.is_none() || (is_explored && stopped.decided == whole.decided),
                        "seed {seed}"
                    );
                    // The states met before the stop are part of those met without a stop.
                    let (met, all) = (stopped.met.expect("it keeps states"), whole.met.expect("it keeps states"));
                    let (owed, all_owed) = (met.states - met.kept, all.states - all.kept);
                    assert!(met.kept <= all.kept && owed <= all_owed, "seed {seed}: {met:?} of {all:?}");
                    assert!(!is_explored || met == all, "seed {seed}: {met:?} of {all:?}");
                }
                if !is_explored {
                    assert_eq!(report.end, EndCondition::Interrupted, "seed {seed}");
                    exploring += 1;
                    return;
                }
                let others = |report: &Report| {
                    let found = report.violations.iter().filter(|found| found.breach.is_none());
                    found.cloned().collect::<Vec<FoundViolation>>()
                };
                assert_eq!((others(&report), &report.witnessed), (others(&whole), &whole.witnessed), "seed {seed}");
                assert_eq!(report.promises_end, Some(EndCondition::Interrupted), "seed {seed}");
                deciding += 1;
            });
        }
    }
    telling(exploring > 50 && deciding > 50, format_args!("{exploring}, {deciding}"));
}

/// A strategy that does not decide promises reports nothing about them, whatever the request.
#[test]
fn no_other_strategy_decides_promises() {
    let mut case = Case::random(3);
    case.bounds = SearchBounds { promises: Some(Rules::default()), states: Some(50), ..SearchBounds::default() };
    let factory = Arc::new(case.system.toy.clone());
    for strategy in host_search::strategy::STRATEGIES.iter().filter(|row| row.promises == Promises::Unchecked) {
        let lts = Lts::new(&factory, case.system.scenario()).expect("a toy lists its properties");
        let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
        let bounds = SearchBounds { walks: Some(3), depth: Some(5), ..case.bounds };
        let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
        let report = (strategy.run)(&search).expect("a toy has no host faults");
        assert!(report.promises.is_empty(), "{}", strategy.name);
    }
    assert_eq!(find("bdfs").expect("it is there").promises, Promises::Decided);
    // Nor does its reduced search.
    case.bounds.reduce = case.system.network == Network::Unordered;
    if case.bounds.reduce {
        case.run(1, &Unmonitored, &mut |_, report| assert!(report.promises.is_empty()));
    }
}
