//! The portfolio within bounds on memory and time: no found answer is dropped, lack of memory ends the members that use it, and walks have
//! most of the turns where levels explode.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use host_agreement::effort::{systems, telling};
use host_agreement::programs::Program;
use host_agreement::reference::System;
use host_model::contract::PropertyKind;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::Toy;
use host_model::trace::start;
use host_search::kernel::rules::Rules;
use host_search::kernel::schedule::Schedule;
use host_search::kernel::{EndCondition, Monitor, Phase, Progress, Report, Search, SearchBounds, Unmonitored};
use host_search::strategy::auto::{self, Turns};
use host_search::strategy::random_walk;

use crate::liveness::searches::Case;

/// Ends a search that keeps too much, or after some polls, and records the reports.
struct Bounds {
    bytes_max: u64,
    asked: AtomicU64,
    asked_max: u64,
    is_timed: bool,
    /// The most bytes of all.
    most: AtomicU64,
    /// Phases, and the member whose turn it is.
    told: Mutex<Vec<Result<Phase, &'static str>>>,
    /// Units of work by member.
    units: Mutex<BTreeMap<&'static str, u64>>,
    /// The units of work when walks worked last.
    walked: Mutex<BTreeMap<&'static str, u64>>,
}

impl Bounds {
    fn new(bytes_max: u64, asked_max: u64) -> Self {
        let (told, units, walked) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (asked, most) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { bytes_max, asked, asked_max, is_timed: false, most, told, units, walked }
    }
}

impl Monitor for Bounds {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        self.most.fetch_max(progress.bytes, Ordering::Relaxed);
        if self.asked.fetch_add(1, Ordering::Relaxed) >= self.asked_max {
            return Some(EndCondition::TimeBound);
        }
        (progress.bytes >= self.bytes_max).then_some(EndCondition::MemoryBound)
    }

    fn memory_max(&self) -> Option<u64> {
        Some(self.bytes_max)
    }

    fn is_timed(&self) -> bool {
        self.is_timed
    }

    fn enter(&self, phase: Phase) {
        self.told.lock().expect("one tells").push(Ok(phase));
    }

    fn runs(&self, strategy: &'static str) {
        self.told.lock().expect("one tells").push(Err(strategy));
    }

    fn rests(&self, strategy: &'static str, units: u64) {
        let mut all = self.units.lock().expect("one tells");
        all.insert(strategy, units);
        if strategy == "walk" {
            *self.walked.lock().expect("one tells") = all.clone();
        }
    }
}

/// The number of steps of each node of [`deep`].
const END: u64 = 30;

/// Five nodes that take 30 steps each, of two kinds. The promise is kept by the first step of the second kind that node 0 takes before the
/// sixth one, and by all other nodes from the start: one walk of 64 breaks it, 150 steps deep, among 28 million global states.
fn deep() -> Program {
    Program {
        events: |_, state| if state % 100 < END { vec![0, 1] } else { Vec::new() },
        on_event: |node, state, event| {
            let keeps = node == 0 && event == 1 && state % 100 < 6;
            (state + 1 + if keeps && state < 100 { 100 } else { 0 }, Vec::new())
        },
        kind: PropertyKind::Eventually,
        is_bad: |node, state| node == 0 && state < 100,
        ..Program::default()
    }
}

/// One node that takes 15 steps of four kinds, and knows each of them: 1.4 billion states. One path in 4,096 breaks the property at its
/// end, by steps in its middle.
fn bushy() -> Program {
    Program {
        events: |_, state| if steps(state) < 15 { (0..4).collect() } else { Vec::new() },
        on_event: |_, state, event| (state.max(1) * 4 + event, Vec::new()),
        is_bad: |_, state| steps(state) == 15 && (state >> 10) % 4_096 == 0b01_10_01_10_01_10,
        ..Program::default()
    }
}

/// The number of steps to a state of [`bushy`]: two bits each, below a bit that is set.
fn steps(state: u64) -> u32 {
    state.max(1).ilog2() / 2
}

fn explore(program: &Program, seed: u64, bounds: &Bounds, run: &dyn Fn(&Search<'_>) -> Report) -> Report {
    let asked = SearchBounds { seed: Some(seed), promises: Some(Rules::default()), ..SearchBounds::default() };
    explore_within(program, 5, asked, &|search| run(&Search { monitor: bounds, ..*search }))
}

fn explore_within(program: &Program, nodes: u32, bounds: SearchBounds, run: &dyn Fn(&Search<'_>) -> Report) -> Report {
    let lts = Lts::new(program, Scenario::new(nodes)).expect("it lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("it starts");
    run(&Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false })
}

fn walk(search: &Search<'_>) -> Report {
    random_walk::run(search).expect("no host faults")
}

fn auto_in(shortest: u64) -> impl Fn(&Search<'_>) -> Report {
    move |search| auto::run_with(search, Turns { shortest, only: None }).expect("no host faults")
}

/// Walks in little memory find violations in spaces far too large for all others, and so does the portfolio.
#[test]
fn what_walks_find_in_some_memory_is_found_by_all_in_it() {
    let mut found = 0;
    for (seed, bytes_max) in (0..3).flat_map(|seed| [1 << 19, 1 << 20, 1 << 22].map(|bytes_max| (seed, bytes_max))) {
        let alone = explore(&deep(), seed, &Bounds::new(bytes_max, u64::MAX), &walk);
        if alone.violations.is_empty() {
            continue;
        }
        found += 1;
        for shortest in [0, 1 << 12] {
            let all = explore(&deep(), seed, &Bounds::new(bytes_max, u64::MAX), &auto_in(shortest));
            let context = format!("seed {seed}, {bytes_max} bytes, turns of {shortest}: {:?}", all.end);
            assert_eq!(all.violations.len(), 1, "{context}");
            assert_eq!(all.decided_by.map(|decider| decider.strategy), Some("walk"), "{context}");
        }
    }
    assert!(found > 5, "{found}");
}

/// The same over random systems with promises.
#[test]
fn what_walks_find_of_random_systems_in_some_memory_is_found_by_all_in_it() {
    let (mut found, mut ended) = (0, 0);
    for seed in 0..systems(120) {
        let mut case = case(seed);
        // Walks of busy systems do not end.
        case.bounds.depth = (seed % 4 > 0).then_some(40);
        for bytes_max in [1 << 16, 1 << 18] {
            let mut alone = 0;
            case.run_by(&random_walk::run, 1, &Bounds::new(bytes_max, 200_000), &mut |_, report| {
                alone = report.violations.len();
            });
            let run = move |search: &Search<'_>| auto::run_with(search, Turns { shortest: seed % 64, only: None });
            case.run_by(&run, 1, &Bounds::new(bytes_max, 200_000), &mut |_, report| {
                let context = format!("seed {seed}, {bytes_max} bytes: {:?}", report.end);
                assert!(alone == 0 || !report.violations.is_empty(), "{context}");
                found += alone;
                ended += usize::from(report.end == EndCondition::MemoryBound);
            });
        }
    }
    telling(found > 10 && ended > 10, format_args!("{found} found, {ended} ended"));
}

/// A random system with promises, and no other bounds than those that a test sets.
fn case(seed: u64) -> Case {
    let mut case = Case::random(seed);
    let promises = case.bounds.promises;
    case.bounds = SearchBounds { promises, seed: Some(seed), ..SearchBounds::default() };
    case
}

/// A search stopped at any poll has the answers that it had when stopped at the poll before: in random systems with and without promises.
#[test]
fn no_answer_is_lost_by_a_later_stop() {
    let (mut answers, mut stops) = (0, 0);
    // The number of systems is fixed, since each has to have this many answers.
    for seed in 0..80 {
        let mut case = case(seed);
        if seed % 2 == 0 {
            case.system = System::new(Toy::random(seed, 3));
            case.prefix = None;
        }
        let run = move |search: &Search<'_>| auto::run_with(search, Turns { shortest: seed % 32, only: None });
        let (mut had, mut at, mut is_over) = (false, 0, false);
        while !is_over && at < 200 {
            case.run_by(&run, 1, &Bounds::new(u64::MAX, at), &mut |_, report| {
                let has = !report.violations.is_empty();
                assert!(has || !had, "seed {seed}, stopped at question {at}");
                answers += u64::from(has && !had);
                (had, is_over) = (has, !report.end.is_external());
                stops += 1;
            });
            at += 1;
        }
    }
    assert!(answers > 10 && stops > 500, "{answers} answers, {stops} stops");
}

/// A mistake in the depth of an exploding space: walks have most of the turns, so it costs little more than by walks alone.
#[test]
fn walks_have_most_of_the_turns_where_levels_explode() {
    for seed in 0..3 {
        let bounds = Bounds::new(u64::MAX, u64::MAX);
        let report = explore(&deep(), seed, &bounds, &auto_in(1 << 13));
        assert_eq!(report.decided_by.map(|decider| decider.strategy), Some("walk"), "seed {seed}");
        let units = bounds.units.into_inner().expect("one tells");
        let (walks, all) = (units["walk"], units.values().sum::<u64>());
        assert!(walks * 2 >= all, "seed {seed}: {units:?}");
    }
}

/// A walk that breaks a promise leaves `bdfs` a quarter of the walks' units, and at least 50,000, to show a shorter path: its units after
/// the last turn of the walks, plus at most those between two polls.
#[test]
fn bdfs_has_a_quarter_of_the_answer_after_a_broken_promise() {
    /// States that `bdfs` counts between two questions, and the rest of a turn.
    const SLACK: u64 = 4_096;
    let mut grants = Vec::new();
    for seed in 0..6 {
        let bounds = Bounds::new(u64::MAX, u64::MAX);
        let report = explore(&deep(), seed, &bounds, &auto_in(1 << 13));
        assert_eq!(report.decided_by.map(|decider| decider.strategy), Some("walk"), "seed {seed}");
        let before = bounds.walked.into_inner().expect("one tells");
        let after = bounds.units.into_inner().expect("one tells");
        let grant = (before["walk"] / 4).max(50_000);
        let had = after["bdfs"] - before["bdfs"];
        assert!((grant..grant + SLACK).contains(&had), "seed {seed}: {had} units for {grant}, {before:?}");
        grants.push(grant);
    }
    assert!(grants.contains(&50_000), "{grants:?}");
}

/// The same without promises, where the levels are those of a reduced search, or of the unfolding if there is none. With these seeds
/// and even draws a mistake is found after the first batch of walks, and before they have had most of the turns for as long as they are to.
#[test]
fn walks_have_most_of_the_turns_where_levels_explode_without_promises() {
    for (seed, depth) in [2, 4, 6].into_iter().flat_map(|seed| [(seed, None), (seed, Some(20))]) {
        let told = Bounds::new(u64::MAX, u64::MAX);
        let schedule = Some(Schedule::Uniform);
        let bounds = SearchBounds { seed: Some(seed), depth, schedule, ..SearchBounds::default() };
        let run = auto_in(1 << 15);
        let report = explore_within(&bushy(), 1, bounds, &|search| run(&Search { monitor: &told, ..*search }));
        assert_eq!(report.decided_by.map(|decider| decider.strategy), Some("walk"), "seed {seed}");
        // Others look for a shorter way afterwards.
        let units = told.walked.into_inner().expect("one tells");
        let (walks, all) = (units["walk"], units.values().sum::<u64>());
        assert!(walks * 3 >= all, "seed {seed}, depth {depth:?}: {units:?}");
    }
}

/// Guided walks begin after the first turns of all others, and have at most half of the units of these while levels explode.
#[test]
fn guided_walks_begin_late_and_have_a_third_of_all_turns_where_levels_explode() {
    const SHORTEST: u64 = 1 << 13;
    let told = Bounds::new(u64::MAX, 4_000);
    let bounds = SearchBounds { seed: Some(1), ..SearchBounds::default() };
    let endless = Program { is_bad: |_, _| false, ..bushy() };
    let run = auto_in(SHORTEST);
    let report = explore_within(&endless, 1, bounds, &|search| run(&Search { monitor: &told, ..*search }));
    assert_eq!(report.end, EndCondition::TimeBound);
    let turns = told.told.into_inner().expect("one tells");
    let first = |member: &'static str| turns.iter().position(|told| *told == Err(member)).expect("each has a turn");
    for member in ["bdfs", "unfold", "bdfs --reduce", "walk", "lmc-opt"] {
        assert!(first(member) < first("guided"), "{member}: {turns:?}");
    }
    let units = told.units.into_inner().expect("one tells");
    let others = units.values().sum::<u64>() - units["guided"];
    // Where they begin, the others have worked far more; each turn is at most an eighth too long.
    assert!(units["guided"] * 4 > others && units["guided"] * 16 < others * 9, "{units:?}");
}

/// In the same memory, guided walks end before plain ones do.
#[test]
fn plain_walks_continue_where_there_is_no_memory_for_guided_ones() {
    let kept = Program { is_bad: |_, _| false, kind: PropertyKind::Always, ..deep() };
    let timed = Bounds { is_timed: true, ..Bounds::new(1 << 19, 40_000) };
    let report = explore(&kept, 1, &timed, &auto_in(0));
    assert_eq!(report.end, EndCondition::TimeBound);
    let turns = timed.told.into_inner().expect("one tells");
    assert!(turns.contains(&Err("guided")), "they have begun");
    assert_eq!(turns.iter().rev().find(|told| told.is_err()), Some(&Err("walk")));
}

/// The findings of a batch of walks come in their first turn.
#[test]
fn a_batch_of_walks_takes_one_turn() {
    let bounds = Bounds::new(u64::MAX, u64::MAX);
    let report = explore(&deep(), 1, &bounds, &auto_in(Turns::default().shortest));
    assert_eq!(report.counts.walks, Some(256));
    let turns = bounds.told.into_inner().expect("one tells").into_iter().filter(|told| *told == Err("walk"));
    assert_eq!(turns.count(), 1);
}

/// Walks continue once the bound on memory has ended all other members: without a bound on time for as long as the others took, else until
/// the time is up.
#[test]
fn walks_alone_end() {
    let kept = Program { is_bad: |_, _| false, kind: PropertyKind::Always, ..deep() };
    let untimed = Bounds::new(1 << 19, u64::MAX);
    let report = explore(&kept, 1, &untimed, &auto_in(0));
    assert_eq!((report.end, report.decided_by), (EndCondition::MemoryBound, None));
    assert!(report.counts.walks > Some(random_walk::WALKS_DEFAULT), "{:?}", report.counts);
    let asked = untimed.asked.into_inner();
    let timed = Bounds { is_timed: true, ..Bounds::new(1 << 19, asked * 4) };
    let report = explore(&kept, 1, &timed, &auto_in(0));
    assert_eq!((report.end, timed.asked.into_inner()), (EndCondition::TimeBound, asked * 4 + 1));
}

/// No other member has a turn while the promises owed at the end of a walk are examined.
#[test]
fn no_turn_ends_while_something_is_examined() {
    let bounds = Bounds::new(u64::MAX, u64::MAX);
    explore(&deep(), 1, &bounds, &auto_in(0));
    let (mut examined, mut is_examining) = (0, false);
    for told in bounds.told.into_inner().expect("one tells") {
        match told {
            Ok(phase) => {
                is_examining = phase == Phase::Examining;
                examined += u64::from(is_examining);
            }
            Err(member) => assert!(!is_examining, "a turn of {member}"),
        }
    }
    assert!(examined > 0);
}

/// Words of a snapshot as large as those of interpreters.
const BALLAST: usize = 1 << 12;

/// All members go through the same local states, and keep their snapshots once.
#[test]
fn members_share_large_snapshots() {
    let most = |ballast| {
        let program = Program { ballast, ..deep() };
        let bounds = Bounds::new(u64::MAX, 2_000);
        let lts = Lts::new(&program, Scenario::new(5)).expect("it lists its properties");
        let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("it starts");
        let asked = SearchBounds { seed: Some(1), promises: Some(Rules::default()), ..SearchBounds::default() };
        let (monitor, collect_system_states) = (&bounds, false);
        auto_in(0)(&Search { lts: &lts, starts: &starts, bounds: asked, monitor, collect_system_states });
        let units = bounds.units.into_inner().expect("one tells");
        assert_eq!(units.len(), 6, "{units:?}");
        (bounds.most.into_inner(), lts.counts().local_states)
    };
    let ((without, _), (with, states)) = (most(0), most(BALLAST));
    let (taken, once) = (with - without, states * BALLAST as u64 * 8);
    assert!(states > 50 && taken > once && taken < once * 3 / 2, "{taken} bytes, {states} states of {once} bytes");
}
