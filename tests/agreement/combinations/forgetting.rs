//! Random walks in little memory: the result does not depend on how often they forget the effects of handlers, for any options.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use host_agreement::effort;
use host_agreement::options::{AXES, Axis, Row, refusals};
use host_agreement::reference::Prefix;
use host_agreement::toys;
use host_model::contract::{Judgement, MachineFactory, NodeId};
use host_model::lts::{Lts, Stepper};
use host_model::toys::Dice;
use host_model::trace::{self, Origin, TraceStep};
use host_search::kernel::schedule::Schedule;
use host_search::kernel::{Counts, CurvePoint, EndCondition, Monitor, Progress, Report, Search};
use host_search::strategy::STRATEGIES;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::combinations::case::Case;
use crate::combinations::describing::{Describing, Words};
use crate::combinations::run::starts;

/// The number of random systems; `HOST_FUZZ_SYSTEMS` sets another one.
fn systems() -> u64 {
    effort::systems(400)
}

/// Reports the available memory. Ends only a search that loses something: such a search may continue for ever.
struct Room {
    memory_max: Option<u64>,
    /// Questions left until the end.
    checks_left: AtomicU64,
}

/// The maximum number of questions to one search: many times those of any search that loses nothing.
const CHECKS_MAX: u64 = 100_000;

impl Monitor for Room {
    fn check(&self, _progress: &Progress) -> Option<EndCondition> {
        let left = self.checks_left.fetch_sub(1, Ordering::Relaxed);
        (left <= 1).then_some(EndCondition::Interrupted)
    }

    fn memory_max(&self) -> Option<u64> {
        self.memory_max
    }
}

/// A finding by content.
type Finding = (Option<NodeId>, Judgement, Origin, Vec<TraceStep>);

/// The parts of a result in which no two runs of a case may differ, except for the counts of distinct things.
#[derive(Debug, PartialEq)]
struct Result {
    end: EndCondition,
    depth: u32,
    witnessed: Vec<Option<bool>>,
    transitions: Option<u64>,
    walks: Option<u64>,
    walks_ended: Option<u64>,
    findings: Vec<Finding>,
}

/// A random row of walks, without options that exclude each other.
fn random_row(dice: &mut Dice, strategy: &str) -> Row {
    let strategy = STRATEGIES.iter().position(|row| row.name == strategy).expect("it is in the table");
    let refusals = refusals();
    loop {
        let mut row: Row = [0; AXES];
        for axis in Axis::ALL {
            // Most options are off in most rows.
            let value = dice.below(axis.values().len() as u32) as usize;
            row[axis as usize] = if dice.below(3) == 0 { 0 } else { value };
        }
        row[Axis::Strategy as usize] = strategy;
        let given = row.map(Some);
        if !refusals.iter().any(|refusal| refusal.applies(&given)) {
            return row;
        }
    }
}

/// A case with bounds of its own, since no reference computes the needed ones.
fn case(seed: u64, strategy: &str) -> Case {
    let mut dice = Dice(seed ^ 0xf0_96e7);
    let row = random_row(&mut dice, strategy);
    let mut case = Case::of(&row, seed);
    case.bounds.depth = [None, Some(1 + dice.below(12)), Some(60)][dice.below(3) as usize];
    case.bounds.local_events = (row[Axis::LocalEvents as usize] > 0).then(|| dice.below(3));
    // More walks than a batch, or fewer.
    case.bounds.walks = Some([3, 40, 300][dice.below(3) as usize]);
    case.bounds.seed = Some(seed);
    if let Some(Schedule::Pct(depth)) = &mut case.bounds.schedule {
        *depth = [1, 2, 3, 5, 8][dice.below(5) as usize];
    }
    // The number of examined promises depends on the memory.
    case.bounds.promises = None;
    if row[Axis::Prefix as usize] > 0 {
        case.prefix = Prefix::random(&case.system, seed, 1 + dice.below(6));
    }
    case
}

fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(workers).build().expect("threads can be started")
}

/// Walks in this much memory. None if the case is refused.
fn walk(
    case: &Case,
    factory: &dyn MachineFactory,
    pool: &ThreadPool,
    memory_max: Option<u64>,
) -> Option<(Result, Report)> {
    let scenario = case.system.scenario();
    scenario.check().ok()?;
    let lts = Lts::new(factory, scenario).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let starts = starts(case, factory, &mut stepper).ok()?;
    let monitor = Room { memory_max, checks_left: AtomicU64::new(CHECKS_MAX) };
    let search =
        Search { lts: &lts, starts: &starts, bounds: case.bounds, monitor: &monitor, collect_system_states: false };
    let report = pool.install(|| (case.strategy.run)(&search)).expect("a toy has no host faults");
    let finding = |found: &host_search::kernel::FoundViolation| {
        let steps = trace::record(&mut stepper, &found.initial, &found.path).expect("a toy has no host faults");
        let words = toys::finding(&lts, found);
        trace::confirm(factory, lts.scenario(), &found.origin, &steps, &words).expect("what is found is there");
        (found.node, found.judgement.clone(), found.origin.clone(), steps)
    };
    let Counts { transitions, walks, walks_ended, .. } = report.counts;
    let result = Result {
        end: report.end,
        depth: report.depth,
        witnessed: report.witnessed.clone(),
        transitions,
        walks,
        walks_ended,
        findings: report.violations.iter().map(finding).collect(),
    };
    Some((result, report))
}

/// The counts of distinct things.
fn distinct(report: &Report) -> [u64; 3] {
    let counts = &report.counts;
    [counts.local_states, counts.messages, counts.outcomes].map(|count| count.expect("walks count it"))
}

/// Walks that forget the effects of handlers have the same findings on the same paths as walks that keep everything, and count the same
/// as long as memory suffices to count.
#[test]
fn plain_walks_that_forget_find_the_same() {
    those_that_forget_find_the_same("walk", systems(), &|case, _| case.factory());
}

/// The same for walks that begin where others were: the paths to their beginnings are not forgotten.
#[test]
fn guided_walks_that_forget_find_the_same() {
    those_that_forget_find_the_same("guided", systems() / 2, &|case, _| case.factory());
}

/// The same if nodes describe their states, which decides where walks begin; also if they trap or their words are not JSON.
#[test]
fn guided_walks_over_descriptions_that_forget_find_the_same() {
    const ALL: [Words; 4] = [Words::Everything, Words::Parity, Words::Traps, Words::Broken];
    those_that_forget_find_the_same("guided", systems() / 2, &|case, seed| {
        Arc::new(Describing { factory: case.factory(), words: ALL[seed as usize % ALL.len()] })
    });
}

/// The words of nodes about their states decide only where walks begin: a trap there is no finding.
#[test]
fn descriptions_guide_walks_and_are_no_findings() {
    let one = pool(1);
    let (mut differ, mut alone) = (0, 0);
    for seed in 0..200 {
        let mut case = case(seed, "guided");
        // All walks of the first batch begin in start states.
        case.bounds.walks = Some(600);
        let Some((silent, _)) = walk(&case, &*case.factory(), &one, None) else { continue };
        for words in [Words::Everything, Words::Traps] {
            let factory = Describing { factory: case.factory(), words };
            let (result, _) = walk(&case, &factory, &one, None).expect("it is not refused");
            differ += u64::from(result != silent);
            let is_of_description = |(_, judgement, ..): &Finding| format!("{judgement:?}").contains("describes");
            assert!(!result.findings.iter().any(is_of_description), "seed {seed}, {words:?}");
            alone += 1;
        }
    }
    assert!(differ > 20 && alone > 200, "{differ} of {alone} differ");
}

/// Where the curve has its points, and what it counts there.
fn curve(report: &Report) -> (Vec<[u64; 2]>, Vec<[u64; 3]>) {
    let split = |CurvePoint { transitions, walks, local_states, views, outcomes }: &CurvePoint| {
        ([*transitions, *walks], [*local_states, *views, *outcomes])
    };
    report.curve.iter().map(split).unzip()
}

fn those_that_forget_find_the_same(
    strategy: &str,
    systems: u64,
    factory: &dyn Fn(&Case, u64) -> Arc<dyn MachineFactory>,
) {
    let (one, four) = (pool(1), pool(4));
    let (mut tried, mut forgetful, mut found, mut exact, mut calls, mut points) = (0, 0, 0, 0, 0, 0);
    for seed in 0.. {
        let case = case(seed, strategy);
        let factory = &*factory(&case, seed);
        let Some((expected, all)) = walk(&case, factory, &one, None) else { continue };
        assert_eq!((all.renewals, all.are_lower_bounds), (0, false), "seed {seed}: a toy needs little memory");
        // No memory at all, so that everything is forgotten after each step; and some for counting.
        for (memory_max, pool) in [(0, &one), (0, &four), (60_000, &one), (150_000, &four)] {
            let what = format!("seed {seed}, {memory_max} bytes, {:?}", case.bounds);
            let (result, report) = walk(&case, factory, pool, Some(memory_max)).expect("it is not refused");
            assert_eq!(result, expected, "{what}");
            let is_below = distinct(&report).iter().zip(distinct(&all)).all(|(some, all)| *some <= all);
            assert!(is_below, "{what}: {:?} of {:?}", report.counts, all.counts);
            let ((places, seen), (all_places, all_seen)) = (curve(&report), curve(&all));
            assert_eq!(places, all_places, "{what}");
            let is_below = seen.iter().flatten().zip(all_seen.iter().flatten()).all(|(some, all)| some <= all);
            assert!(is_below, "{what}: {seen:?} of {all_seen:?}");
            points += places.len() as u64;
            if !report.are_lower_bounds {
                assert_eq!((distinct(&report), seen), (distinct(&all), all_seen), "{what}");
                exact += u64::from(report.renewals > 0);
            }
            // Forgotten handler calls are executed again.
            assert!(report.counts.handler_calls >= all.counts.handler_calls, "{what}");
            calls += u64::from(report.counts.handler_calls > all.counts.handler_calls);
            forgetful += u64::from(report.renewals > 1);
        }
        found += expected.findings.len() as u64;
        tried += 1;
        if tried == systems {
            break;
        }
    }
    let many = systems / 2;
    let is_telling =
        2 * forgetful > 3 * many && calls > many && exact > many / 10 && found > many / 2 && points > many / 4;
    let counts = format!(
        "{forgetful} runs forget, {calls} repeat, {exact} count all; {found} findings, {points} points of curves"
    );
    assert!(is_telling, "of {tried}: {counts}");
}
