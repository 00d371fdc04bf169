//! The reports of random walks about promises: a promise reported dead is dead, from the step reported as critical on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use host_agreement::effort::{systems, telling};
use host_agreement::programs::Program;
use host_agreement::reference::Prefix;
use host_agreement::reference::progress::{Within, progress};
use host_agreement::reference::promises::{self, Outcome};
use host_model::contract::PropertyKind;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::trace::start;
use host_model::trace::{BreachClass, TraceStep};
use host_search::kernel::rules::Rules;
use host_search::kernel::{
    EndCondition, FoundViolation, Monitor, Progress, Sampled, Search, SearchBounds, Unmonitored,
};
use host_search::outlook::Outlook;
use host_search::outlook::question::Question;
use host_search::strategy::random_walk;

use super::searches::{Case, confirmed};
use super::toys::STATES_MAX;

/// A case for walks: bounds that they honour, and faults.
fn case(seed: u64) -> Case {
    let case = Case::random(seed);
    let SearchBounds { violations, promises, local_events, .. } = case.bounds;
    let depth = Some([3, 10, 40][(seed % 3) as usize]);
    let (walks, seed) = (Some(20), Some(seed));
    let bounds = SearchBounds { depth, local_events, walks, seed, violations, promises, ..SearchBounds::default() };
    Case { bounds, ..case }
}

/// The reference's outcomes of the promises after more steps than those of the case's own prefix.
fn after(case: &Case, steps: &[TraceStep], init_choices: &Prefix) -> Option<Vec<Outcome>> {
    let steps = steps.iter().map(|step| TraceStep { sent: None, state: None, ..step.clone() });
    let before = if case.is_exported { init_choices.steps.clone() } else { Vec::new() };
    let prefix = Prefix { steps: before.into_iter().chain(steps).collect(), ..init_choices.clone() };
    let graph = progress(&case.system, Within { prefix: Some(&prefix), ..Within::default() }, STATES_MAX)?;
    let promises = 0..graph.states[0].owed.len();
    promises.map(|promise| promises::decide(&graph.states, promise, case.rules())).collect()
}

/// Asserts that the promise of a finding is dead where walks say so, and was alive before the step reported as critical, for any
/// bounds. Whether there is such a step; none if the system is too large for the reference. A search that `was_stopped` may not
/// know the step.
pub(super) fn dead_is_dead(
    (case, was_stopped): (&Case, bool),
    lts: &Lts<'_>,
    violation: &FoundViolation,
    context: &str,
) -> Option<bool> {
    let breach = violation.breach.as_ref().expect("it is one");
    assert_eq!((breach.class, breach.cycle, violation.shortest), (BreachClass::Dead, 0, false), "{context}");
    let trace = confirmed(case, lts, violation);
    let index = lts
        .promises()
        .iter()
        .position(|promise| violation.judgement.violated() == Some(promise.property) && promise.node == violation.node);
    let index = index.expect("it is about a promise");
    let from_init = Prefix { init_choices: trace.init_choices.clone(), steps: Vec::new() };
    let start = case.prefix.clone().unwrap_or(from_init);
    let outcome = |steps: &[TraceStep]| after(case, steps, &start).map(|all| all[index].distances[0]);
    assert_eq!(outcome(&trace.steps)?, None, "{context}");
    let own = if case.is_exported { 0 } else { start.steps.len() };
    match breach.is_critical {
        true => {
            let before = outcome(&trace.steps[..trace.steps.len() - 1])?;
            assert_eq!(before, Some(breach.sibling.len()), "{context}");
        }
        false => assert!(was_stopped || trace.steps.len() == own, "it is dead from the start: {context}"),
    }
    Some(breach.is_critical)
}

#[test]
fn what_walks_say_is_dead_is_dead_for_the_reference() {
    let (mut seen, mut tried): (BTreeMap<&str, u64>, u64) = (BTreeMap::new(), 0);
    for seed in 0..systems(3_000) {
        let case = case(seed);
        let whole = Within { prefix: case.prefix.as_ref(), ..Within::default() };
        if progress(&case.system, whole, STATES_MAX).is_none() {
            continue;
        }
        let context = format!("seed {seed}, {:?}, {:#?}", case.prefix, case.system);
        tried += 1;
        case.run_by(&random_walk::run, 1, &Unmonitored, &mut |lts, report| {
            assert_eq!(report.promises.len(), if seen_by(&case) { lts.promises().len() } else { 0 }, "{context}");
            let found: Vec<&FoundViolation> = report.violations.iter().filter(|found| found.breach.is_some()).collect();
            for report in &report.promises {
                let sampled = report.sampled.expect("walks sample");
                assert!(report.decided.is_none(), "{context}");
                assert_eq!(
                    sampled.owing,
                    sampled.alive + sampled.dead + sampled.open + sampled.unexamined,
                    "{context}"
                );
                // All states are nearby.
                assert!(sampled.open == 0 && sampled.dead <= 1 && sampled.owing <= sampled.walks, "{context}");
                *seen.entry("alive").or_default() += sampled.alive;
                *seen.entry("dead").or_default() += sampled.dead;
            }
            for violation in &found {
                let Some(is_critical) = dead_is_dead((&case, false), lts, violation, &context) else { continue };
                *seen.entry(if is_critical { "critical" } else { "from the start" }).or_default() += 1;
                *seen.entry("prefix").or_default() += u64::from(case.prefix.is_some());
            }
            if report.end == EndCondition::Violation {
                *seen.entry("ended").or_default() += 1;
            }
        });
    }
    let enough = seen.len() == 6 && seen.values().all(|count| *count > 20);
    telling(enough && tried > 500, format_args!("{tried}: {seen:?}"));
}

/// Whether walks look at promises in a case.
fn seen_by(case: &Case) -> bool {
    let faults = case.system.scenario().faults;
    faults.duplicates == 0 && faults.crashes == 0
}

/// The reports of walks about promises depend only on the seed.
#[test]
fn what_walks_say_of_promises_does_not_depend_on_the_workers() {
    let mut dead = 0;
    for seed in 0..systems(300) {
        let case = case(seed);
        let mut all = Vec::new();
        for workers in [1, 2] {
            case.run_by(&random_walk::run, workers, &Unmonitored, &mut |_, report| {
                let found: Vec<_> =
                    report.violations.iter().map(|found| (found.path.len(), found.breach.clone())).collect();
                dead += u64::from(found.iter().any(|(_, breach)| breach.is_some()));
                all.push((report.promises, found));
            });
        }
        assert!(all[0] == all[1], "seed {seed}: {all:?}");
    }
    telling(dead > 20, format_args!("{dead}"));
}

/// Stops a search at some poll, and leaves no memory to examine executed events.
struct StopAt {
    question: u64,
    asked: AtomicU64,
    memory_max: Option<u64>,
}

impl Monitor for StopAt {
    fn check(&self, _: &Progress) -> Option<EndCondition> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        (asked >= self.question).then_some(EndCondition::TimeBound)
    }

    fn memory_max(&self) -> Option<u64> {
        self.memory_max
    }
}

/// Three nodes that take steps of two kinds to their ends; none keeps its promise. A promise owed where no event is possible is dead by
/// itself: it is reported wherever the search is stopped after a walk has reached its end, also while the path is being shortened,
/// with any memory.
#[test]
fn what_is_owed_at_an_end_is_reported_wherever_the_search_is_stopped() {
    let program = Program {
        events: |_, state| if state < 4 { vec![0, 1] } else { Vec::new() },
        on_event: |_, state, event| (state + 1 + event, Vec::new()),
        kind: PropertyKind::Eventually,
        is_bad: |_, _| true,
        ..Program::default()
    };
    let (mut short, mut long) = (0, 0);
    for (seed, memory_max) in (0..4).flat_map(|seed| [(seed, None), (seed, Some(1_000))]) {
        for question in 0.. {
            let lts = Lts::new(&program, Scenario::new(3)).expect("it lists its properties");
            let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("it starts");
            let promises = Some(Rules::default());
            let bounds = SearchBounds { seed: Some(seed), promises, walks: Some(20), ..SearchBounds::default() };
            let monitor = StopAt { question, asked: AtomicU64::new(0), memory_max };
            let search = Search { lts: &lts, starts: &starts, bounds, monitor: &monitor, collect_system_states: false };
            let report = random_walk::run(&search).expect("no host faults");
            let context = format!("seed {seed}, {memory_max:?}, question {question}");
            let has_ended = report.counts.walks_ended > Some(0);
            assert_eq!(report.violations.len(), usize::from(has_ended), "{context}");
            assert_eq!(report.end == EndCondition::Violation, has_ended, "{context}");
            for found in &report.violations {
                assert!(found.judgement.violated().is_some(), "{context}");
                *(if found.path.is_empty() { &mut short } else { &mut long }) += 1;
            }
            if monitor.asked.into_inner() <= question {
                break;
            }
        }
    }
    // It is dead from the start, which takes some questions to find out.
    assert!(short > 0 && long > 0, "{short} {long}");
}

/// A ladder: each step may be the one that falls back to its foot, and the promise holds at its end, which no walk reaches and which is
/// farther away than the examination looks. So neither is proven, and the walks seen so far bound the next ones.
#[test]
fn what_is_too_far_away_stays_open() {
    const END: u64 = 20_000;
    let program = Program {
        events: |_, _| vec![0, 1],
        on_event: |_, state, event| (if event == 0 { (state + 1).min(END) } else { 0 }, Vec::new()),
        kind: PropertyKind::Eventually,
        is_bad: |_, state| state < END,
        ..Program::default()
    };
    let lts = Lts::new(&program, Scenario::new(1)).expect("it lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("it starts");
    let bounds = SearchBounds {
        walks: Some(3),
        depth: Some(50),
        seed: Some(1),
        promises: Some(Rules::default()),
        ..SearchBounds::default()
    };
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    let report = random_walk::run(&search).expect("no host faults");
    assert_eq!((report.end, report.violations.len()), (EndCondition::WalksDone, 0));
    let expected = Sampled { walks: 3, owing: 3, open: 3, trials: 40, ..Sampled::default() };
    assert_eq!(report.promises.iter().map(|promise| promise.sampled).collect::<Vec<_>>(), [Some(expected)]);
}

/// The same ladder with few rungs, with nodes that move in circles: too many states are close by, and next to no walk reaches its
/// end. The remaining steps lead there, rung by rung.
#[test]
fn what_is_left_leads_through_what_does_not_matter() {
    const END: u64 = 20;
    let program = Program {
        events: |_, _| vec![0, 1],
        on_event: |node, state, event| {
            let next = match (node, event) {
                (0, 0) => (state + 1).min(END),
                (0, _) => 0,
                (_, event) => (state + 1 + event) % 10,
            };
            (next, Vec::new())
        },
        kind: PropertyKind::Eventually,
        is_bad: |node, state| node == 0 && state < END,
        ..Program::default()
    };
    let lts = Lts::new(&program, Scenario::new(7)).expect("it lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a machine");
    let starts = start::initial(&mut stepper).expect("it starts");
    let bounds = SearchBounds { promises: Some(Rules::default()), ..SearchBounds::default() };
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    let (index, promise) = (0, lts.promises()[0]);
    let question =
        Question { search: &search, progress: &Progress::default(), index, promise, rules: Rules::default() };
    assert_eq!(question.look_around(&starts[0]).expect("no host faults").0, Outlook::Open);
    let (outlook, _) = question.ask(&mut stepper, &starts[0]).expect("no host faults");
    let Outlook::Alive(way) = outlook else { panic!("{outlook:?}") };
    assert_eq!(way.len(), 20);
    assert!(way.iter().all(|step| step.node == 0));
}
