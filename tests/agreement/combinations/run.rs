//! Runs a case, and returns the result by content.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use host_agreement::reference::{Local, Words};
use host_agreement::stopping::Stopping;
use host_agreement::toys;
use host_model::contract::{Choice, MachineFactory, Property};
use host_model::lts::{Lts, Stepper};
use host_model::trace::replay::ReplayError;
use host_model::trace::start::Start;
use host_model::trace::{self, BreachClass, Finding, Trace, TraceStep, start};
use host_search::kernel::{
    EndCondition, FoundViolation, Keeper, Monitor, Progress, PromiseReport, Report, Search, SearchError,
};
use host_search::strategy::auto;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::combinations::case::{Case, Stop};

/// Steps after which a search is aborted: DPOR-DS may repeat executions without limit.
const TRANSITIONS_MAX: u64 = 60_000;
/// Checks after which a search is aborted that counts no steps.
const CHECKS_MAX: u64 = 20_000;

/// The findings and the report of a search, by content.
pub struct Ran {
    pub report: Report,
    /// The properties that were judged.
    pub properties: Vec<Property>,
    pub findings: Vec<FoundByContent>,
    /// The promises that are broken.
    pub breaches: Vec<Breach>,
    pub system_states: Option<BTreeSet<Vec<Local>>>,
    /// The number of times that the monitor was polled.
    pub checks: u64,
}

/// A finding of a search.
#[derive(Debug)]
pub struct FoundByContent {
    pub words: Words,
    /// Events after the prefix.
    pub length: u32,
    pub is_shortest: bool,
    /// Whether the path replays in fresh machines and ends in the finding, or the reason why not.
    pub replayed: Result<(), String>,
}

/// A broken promise that a search found.
#[derive(Debug)]
pub struct Breach {
    /// The index of the promise in the report.
    pub promise: Option<usize>,
    pub class: BreachClass,
    /// Events after the prefix, up to the first state of a cycle.
    pub length: u32,
    pub is_shortest: bool,
    /// Whether the path (a loop twice) and the path that keeps the promise replay in fresh machines, or the reason why not.
    pub replayed: Result<(), String>,
}

/// All runs of a case.
pub struct Runs {
    /// The run without interruption.
    pub whole: Ran,
    /// The same with another number of workers.
    pub other: Ran,
    /// The run up to its stop.
    pub stopped: Option<Ran>,
    /// The rest of the run, in another process.
    pub resumed: Option<Ran>,
}

/// Executes all runs of a case, or returns the words of a panic or an error.
pub fn run_all(case: &Case) -> Result<Runs, String> {
    let whole = run(case, case.workers, &Watch::default())?;
    let other = run(case, 3 - case.workers, &Watch::default())?;
    let checks = whole.checks.max(1);
    // A stopped search need not have collected the system states, and a checkpoint does not keep them.
    let stopping = &Case { collects: false, ..case.clone() };
    let (stopped, resumed) = match case.stop {
        Stop::Never => (None, None),
        Stop::Interrupted(at) => (Some(run(stopping, case.workers, &Watch::stopping(at % checks, false))?), None),
        Stop::Starved(at) => (Some(run(stopping, case.workers, &Watch::starving(at % checks))?), None),
        Stop::Resumed(at) => {
            let watch = Watch::stopping(at % checks, true);
            let stopped = run(stopping, case.workers, &watch)?;
            let resumed = match stopped.report.end {
                EndCondition::Interrupted => Some(run(stopping, case.workers, &watch.again())?),
                _ => None,
            };
            (Some(stopped), resumed)
        }
        Stop::ResumedStarved(at) => {
            let watch = Watch::stopping(at % checks, true);
            let stopped = run(stopping, case.workers, &watch)?;
            if stopped.report.end != EndCondition::Interrupted {
                return Ok(Runs { whole, other, stopped: Some(stopped), resumed: None });
            }
            let watch = watch.again_starving((at >> 8) % checks);
            let starved = run(stopping, case.workers, &watch)?;
            let resumed = match starved.report.end {
                EndCondition::MemoryBound => Some(run(stopping, case.workers, &watch.again())?),
                _ => None,
            };
            (Some(starved), resumed)
        }
    };
    Ok(Runs { whole, other, stopped, resumed })
}

/// Runs a case until its monitor was polled this many times.
pub fn run_until(case: &Case, checks: u64) -> Result<Ran, String> {
    run(case, case.workers, &Watch::stopping(checks, false))
}

/// Stops a search at some check, or when it becomes too long.
#[derive(Default)]
struct Watch {
    asked: AtomicU64,
    stops_at: Option<u64>,
    /// Whether it stops for lack of memory.
    is_starving: bool,
    keeper: Option<Stopping>,
}

impl Watch {
    fn stopping(check: u64, is_kept: bool) -> Self {
        Self { stops_at: Some(check), keeper: is_kept.then(Stopping::default), ..Self::default() }
    }

    fn starving(check: u64) -> Self {
        Self { is_starving: true, ..Self::stopping(check, false) }
    }

    /// Continues from the checkpoint, until memory runs out at a check.
    fn again_starving(self, check: u64) -> Self {
        Self { stops_at: Some(check), is_starving: true, ..self.again() }
    }

    /// Continues from the checkpoint.
    fn again(self) -> Self {
        Self { stops_at: None, asked: AtomicU64::new(0), ..self }
    }
}

impl Monitor for Watch {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if self.stops_at == Some(asked) {
            return Some(if self.is_starving { EndCondition::MemoryBound } else { EndCondition::Interrupted });
        }
        let counts = progress.counts;
        let steps = counts.transitions.max(counts.events).unwrap_or(0);
        (steps > TRANSITIONS_MAX || asked > CHECKS_MAX).then_some(EndCondition::MemoryBound)
    }

    fn keeper(&self) -> Option<&dyn Keeper> {
        self.keeper.as_ref().map(|keeper| keeper as &dyn Keeper)
    }
}

fn pool(workers: usize) -> &'static ThreadPool {
    static POOLS: [OnceLock<ThreadPool>; 2] = [OnceLock::new(), OnceLock::new()];
    let new = || ThreadPoolBuilder::new().num_threads(workers).build().expect("threads can be started");
    POOLS[workers - 1].get_or_init(new)
}

fn run(case: &Case, workers: usize, watch: &Watch) -> Result<Ran, String> {
    let ran = catch_unwind(AssertUnwindSafe(|| run_or_panic(case, workers, watch)));
    ran.unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        Err(format!("a panic: {}", words.or(panic.downcast_ref::<&str>().copied()).unwrap_or("of some kind")))
    })
}

fn run_or_panic(case: &Case, workers: usize, watch: &Watch) -> Result<Ran, String> {
    let error = |error: &dyn std::fmt::Display| error.to_string();
    let system = &case.system;
    let factory = &*case.factory();
    let scenario = system.scenario();
    scenario.check().map_err(|misfit| error(&misfit))?;
    let lts = Lts::new(factory, scenario).map_err(|it| error(&it))?;
    let mut stepper = Stepper::new(&lts).map_err(|it| error(&it))?;
    let starts = starts(case, factory, &mut stepper)?;
    let search = Search {
        lts: &lts,
        starts: &starts,
        bounds: case.bounds,
        monitor: watch,
        collect_system_states: case.collects,
    };
    let report = pool(workers).install(|| run_strategy(case, &search)).map_err(|it| error(&it))?;
    let mut stepper = Stepper::new(&lts).map_err(|it| error(&it))?;
    let before = starts[0].path.len();
    let (broken, others): (Vec<_>, Vec<_>) = report.violations.iter().partition(|found| found.breach.is_some());
    let findings = others.into_iter().map(|found| by_content(&mut stepper, factory, before, found)).collect();
    let breaches = broken.into_iter().map(|found| breach(&mut stepper, factory, before, (&report, found))).collect();
    let states = report.system_states.as_ref();
    let system_states = states
        .map(|states| states.iter().map(|locals| locals.iter().map(|id| toys::local(&lts, *id)).collect()).collect());
    let properties = lts.properties().to_vec();
    Ok(Ran { properties, findings, breaches, system_states, checks: watch.asked.load(Ordering::Relaxed), report })
}

/// Sets the turns of the members of a portfolio as in the case: a turn of the usual length is longer than a search of a small system.
fn run_strategy(case: &Case, search: &Search<'_>) -> Result<Report, SearchError> {
    match case.strategy.name {
        "auto" => auto::run_with(search, case.turns),
        _ => (case.strategy.run)(search),
    }
}

/// The starts of the search of a case, or the reason why it cannot begin.
pub fn starts(case: &Case, factory: &dyn MachineFactory, stepper: &mut Stepper<'_>) -> Result<Vec<Start>, String> {
    let found = match &case.prefix {
        None => start::initial(stepper),
        Some(prefix) => {
            let mut trace = trace(stepper.lts(), prefix.init_choices.clone(), prefix.steps.clone(), None);
            if case.is_exported {
                trace = exported(factory, &trace)?;
            }
            start::follow(stepper, &trace).map(|start| vec![start])
        }
    };
    found.map_err(|error| error.to_string())
}

/// The end of a trace as the beginning of one without steps, as another process exports it.
fn exported(factory: &dyn MachineFactory, trace: &Trace) -> Result<Trace, String> {
    let lts = Lts::new(factory, trace.scenario.clone()).map_err(|error| error.to_string())?;
    let mut stepper = Stepper::new(&lts).map_err(|error| error.to_string())?;
    let end = start::follow(&mut stepper, trace).map_err(|error| error.to_string())?;
    let beginning = start::export(&mut stepper, &end).map_err(|error| error.to_string())?;
    Ok(Trace { beginning: Some(beginning), init_choices: Vec::new(), steps: Vec::new(), ..trace.clone() })
}

/// A trace of a toy.
pub fn trace(lts: &Lts<'_>, init_choices: Vec<Vec<Choice>>, steps: Vec<TraceStep>, finding: Option<Finding>) -> Trace {
    Trace { init_choices, steps, finding, ..toys::empty_trace(lts.scenario()) }
}

/// A finding by its words, after its path was executed again in fresh machines.
fn by_content(
    stepper: &mut Stepper<'_>,
    factory: &dyn MachineFactory,
    prefix: usize,
    found: &FoundViolation,
) -> FoundByContent {
    let steps = trace::record(stepper, &found.initial, &found.path).expect("a toy has no host faults");
    let replayed =
        trace::confirm(factory, stepper.lts().scenario(), &found.origin, &steps, &toys::finding(stepper.lts(), found));
    FoundByContent {
        words: toys::words(found),
        length: (found.path.len() - prefix) as u32,
        is_shortest: found.shortest,
        replayed: replayed.map(drop).map_err(|error| error.to_string()),
    }
}

/// A broken promise, after its path was executed again in fresh machines.
fn breach(
    stepper: &mut Stepper<'_>,
    factory: &dyn MachineFactory,
    prefix: usize,
    (report, found): (&Report, &FoundViolation),
) -> Breach {
    let breach = found.breach.as_ref().expect("it is one");
    let is_it = |promise: &PromiseReport| {
        found.judgement.violated() == Some(promise.promise.property) && promise.promise.node == found.node
    };
    Breach {
        promise: report.promises.iter().position(is_it),
        class: breach.class,
        length: (found.path.len() - prefix - breach.cycle) as u32,
        is_shortest: found.shortest,
        replayed: replayed(stepper, factory, found).map_err(|error| error.to_string()),
    }
}

fn replayed(
    stepper: &mut Stepper<'_>,
    factory: &dyn MachineFactory,
    found: &FoundViolation,
) -> Result<(), ReplayError> {
    let steps = trace::record(stepper, &found.initial, &found.path).expect("a toy has no host faults");
    let finding = found.finding(stepper).expect("a toy has no host faults");
    let scenario = stepper.lts().scenario();
    let steps = trace::confirm(factory, scenario, &found.origin, &steps, &finding)?;
    let trace = Trace { finding: Some(finding), steps, ..toys::empty_trace(scenario) };
    trace::check_sibling(factory, &trace.beginning_at(found.origin.clone()))
}
