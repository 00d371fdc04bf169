//! Walks that begin where others were: the effects of the seed, and states that only they reach.

use std::collections::BTreeSet;
use std::sync::Arc;

use host_agreement::toys as systems;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::{Toy, ToyState, ToyTrigger};
use host_model::trace::{self, TraceStep, start};
use host_search::kernel::schedule::Schedule;
use host_search::kernel::{Counts, EndCondition, Report, Search, SearchBounds, Unmonitored};
use host_search::strategy::auto::{self, Member, Turns};
use host_search::strategy::{guided, random_walk};
use rayon::ThreadPoolBuilder;

type Strategy = fn(&Search<'_>) -> Result<Report, host_search::kernel::SearchError>;

/// The events of a chain in a row after which a node is in a forbidden state.
const LENGTH: ToyState = 12;

/// The number of events of a node in each state of a chain.
const EVENTS: u8 = 4;

/// One of four events, another one in each state, takes the node one state further; the others lead back to the start. Even draws take
/// twelve steps in a row to the right side once in 16 million times.
fn chain() -> Toy {
    let mut toy = Toy::new(2).forbid(&[Some(LENGTH), None]);
    for state in 0..LENGTH {
        // The other node is never in this state, so nothing is violated, but the state has a view of its own.
        toy = toy.forbid(&[Some(state), Some(200)]);
        for event in 0..EVENTS {
            let is_right = event == (3 * state + 1) % EVENTS;
            toy = toy.rule(0, state, ToyTrigger::Local(event), if is_right { state + 1 } else { 0 }, &[]);
        }
    }
    toy
}

/// Walks with a number of workers; the report, with the findings as confirmed traces.
pub(crate) fn run(
    toy: &Toy,
    bounds: SearchBounds,
    workers: usize,
    strategy: Strategy,
) -> (Report, Vec<Vec<TraceStep>>) {
    let factory = Arc::new(toy.clone());
    let lts = Lts::new(&factory, Scenario::new(toy.nodes)).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let starts = start::initial(&mut stepper).expect("a toy starts");
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    let pool = ThreadPoolBuilder::new().num_threads(workers).build().expect("threads can be started");
    let report = pool.install(|| strategy(&search)).expect("a toy has no host faults");
    let traces = report.violations.iter().map(|found| {
        let steps = trace::record(&mut stepper, &found.initial, &found.path).expect("a toy has no host faults");
        let words = systems::finding(&lts, found);
        trace::confirm(&factory, lts.scenario(), &found.origin, &steps, &words).expect("what is found is there");
        steps
    });
    let traces = traces.collect();
    (report, traces)
}

pub(crate) fn bounds(seed: u64, walks: u64) -> SearchBounds {
    SearchBounds { seed: Some(seed), walks: Some(walks), ..SearchBounds::default() }
}

/// All parts of a report in which walks can differ.
fn summary((report, traces): &(Report, Vec<Vec<TraceStep>>)) -> String {
    let Counts { transitions, local_states, outcomes, walks, walks_ended, .. } = report.counts;
    format!("{:?}", (transitions, local_states, outcomes, walks, walks_ended, report.depth, traces))
}

#[test]
fn the_seed_decides() {
    let toy = chain();
    for schedule in Schedule::ALL {
        let summaries = (0..6).map(|seed| {
            let bounds = SearchBounds { schedule: Some(schedule), ..bounds(seed, 1_000) };
            let by_one = summary(&run(&toy, bounds, 1, guided::run));
            assert_eq!(by_one, summary(&run(&toy, bounds, 4, guided::run)), "{schedule}, seed {seed}");
            assert_eq!(by_one, summary(&run(&toy, bounds, 1, guided::run)), "{schedule}, seed {seed}");
            by_one
        });
        let summaries: BTreeSet<String> = summaries.collect();
        assert_eq!(summaries.len(), 6, "{schedule}: seeds do not differ");
    }
}

/// A mix is the default, since the beginning of a walk determines nothing about the rest.
#[test]
fn walks_are_a_mix_by_default() {
    let toy = chain();
    let mixed = SearchBounds { schedule: Some(Schedule::Mix), ..bounds(1, 500) };
    let of_default = summary(&run(&toy, bounds(1, 500), 1, guided::run));
    assert_eq!(of_default, summary(&run(&toy, mixed, 1, guided::run)));
    let even = SearchBounds { schedule: Some(Schedule::Uniform), ..mixed };
    assert_ne!(of_default, summary(&run(&toy, even, 1, guided::run)));
}

/// The curve counts what properties see of a node: with a property that names each state as many views as states, without properties of
/// system scope the same one for all.
#[test]
fn the_curve_counts_views() {
    let named = chain();
    let mut plain = Toy::new(2);
    for state in 0..LENGTH {
        plain = plain.rule(0, state, ToyTrigger::Local(0), state + 1, &[]);
    }
    let last = |toy: &Toy, strategy| {
        let (report, _) = run(toy, bounds(1, 300), 1, strategy);
        let point = *report.curve.last().expect("more than 1,024 steps");
        (point.views, point.local_states)
    };
    for strategy in [guided::run as Strategy, random_walk::run] {
        let (views, states) = last(&named, strategy);
        // The other node stays in its start state.
        assert!(views > 3 && states > 3 && views.abs_diff(states) <= 1, "{views} views of {states} states");
        let (views, states) = last(&plain, strategy);
        assert!(views == 1 && states > 3, "{views} views of {states} states");
    }
}

/// Walks from the start need more steps to get there.
#[test]
fn an_archive_leads_where_walks_from_the_start_do_not() {
    const STEPS: u64 = 100_000;
    let toy = chain();
    for seed in 0..10 {
        let (report, traces) = run(&toy, bounds(seed, STEPS), 1, guided::run);
        assert_eq!((report.end, traces.len()), (EndCondition::Violation, 1), "seed {seed}");
        let steps = report.counts.transitions.expect("steps count");
        assert!(steps < STEPS, "seed {seed}: {steps} steps");
        assert!(traces[0].len() >= usize::from(LENGTH), "seed {seed}");
        for schedule in [Schedule::Uniform, Schedule::Mix] {
            let walks = STEPS / u64::from(random_walk::LENGTH_DEFAULT);
            let bounds = SearchBounds { schedule: Some(schedule), ..bounds(seed, walks) };
            let (report, traces) = run(&toy, bounds, 1, random_walk::run);
            assert_eq!((report.counts.transitions, traces.len()), (Some(STEPS), 0), "seed {seed}, {schedule}");
        }
    }
}

/// As a member of the portfolio, with the same traces.
#[test]
fn a_member_finds_what_the_strategy_finds() {
    let toy = chain();
    for seed in 0..5 {
        let (_, alone) = run(&toy, bounds(seed, 100_000), 1, guided::run);
        let asked = SearchBounds { seed: Some(seed), ..SearchBounds::default() };
        for workers in [1, 4] {
            let (report, traces) = run(&toy, asked, workers, |search| {
                auto::run_with(search, Turns { only: Some(Member::Guided), ..Turns::default() })
            });
            assert_eq!((report.decided_by, traces), (Some(Member::Guided.decider()), alone.clone()), "seed {seed}");
        }
    }
}

/// A bound on depth counts events from the start, over all walks of a way.
#[test]
fn a_way_ends_at_the_bound() {
    let toy = chain();
    for depth in [1, 5, 11, 40] {
        let (report, traces) = run(&toy, SearchBounds { depth: Some(depth), ..bounds(3, 3_000) }, 1, guided::run);
        assert_eq!(traces.len(), usize::from(depth > u32::from(LENGTH)), "{depth}");
        assert!(report.depth <= depth && (report.depth == depth || !traces.is_empty()), "{depth}: {}", report.depth);
    }
}
