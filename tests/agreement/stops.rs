//! Every strategy stopped between any two calls of a guest.
//!
//! A handler of a toy has up to several outcomes, and each is a call. So a stop comes before, between and after the outcomes
//! of handlers, in `init`, in batches of several workers, and in the verification of `lmc`.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use host_agreement::stopping::{StopAfter, Stopping};
use host_model::audit::{AuditedFactory, Mode};
use host_model::contract::{MachineError, PropertyKind, PropertyScope, Stop, Stoppable, Stopped};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::{Overheard, Toy, ToyProperty, ToyState, ToyTrigger};
use host_model::trace::start::{self, StartError};
use host_model::trace::{self, Origin, replay};
use host_search::kernel::{EndCondition, Monitor, Progress, Report, Search, SearchBounds, SearchError, Unmonitored};
use host_search::strategy::lmc;
use host_search::strategy::lmc::alongside::Turns;
use host_search::strategy::{STRATEGIES, Strategy};

use host_agreement::reference::{self, System};

/// Polls after a stop: each worker polls at most once more, and so does the end of the search.
const LATE_MAX: u64 = 4;

/// The maximum number of states of the systems: each is searched many times.
const STATES_MAX: usize = 600;

/// The first random systems with at least `states_min` global states.
fn systems(count: usize, states_min: usize) -> impl Iterator<Item = (u64, Toy)> {
    systems_of(3, count, states_min)
}

/// The same with this many nodes.
fn systems_of(nodes: u32, count: usize, states_min: usize) -> impl Iterator<Item = (u64, Toy)> {
    let random = (0..).map(move |seed| (seed, Toy::random(seed, nodes)));
    let fits = move |toy: &Toy| {
        let reached = reference::search(&System::new(toy.clone()), None, None, STATES_MAX);
        reached.is_some_and(|reached| reached.global_states as usize >= states_min)
    };
    random.filter(move |(_, toy)| fits(toy)).take(count)
}

type Factory = Stoppable<Arc<Toy>>;

fn stoppable(toy: &Toy, stop: &Arc<StopAfter>) -> Factory {
    Stoppable::new(Arc::new(toy.clone()), Arc::clone(stop) as Arc<dyn Stop>)
}

/// Searches from the start states; the inner error means that the search was stopped before it had a report.
fn search(
    lts: &Lts<'_>,
    strategy: &Strategy,
    bounds: SearchBounds,
    monitor: &(dyn Monitor + Sync),
) -> Result<Report, Stopped> {
    let stopped = |error: MachineError| match error {
        MachineError::Stopped(why) => why,
        error @ MachineError::Host(_) => panic!("a toy has no host faults: {error}"),
    };
    let starts = start::initial(&mut Stepper::new(lts).map_err(stopped)?).map_err(|error| match error {
        StartError::Machine(error) => stopped(error),
        error => panic!("a toy starts: {error}"),
    })?;
    let search = Search { lts, starts: &starts, bounds, monitor, collect_system_states: false };
    (strategy.run)(&search).map_err(|error| match error {
        SearchError::Machine(error) => stopped(error),
        error => panic!("a toy has no host faults: {error}"),
    })
}

fn scenario(toy: &Toy, resets: u32) -> Scenario {
    Scenario { faults: Faults { resets, ..Faults::default() }, ..Scenario::new(toy.nodes) }
}

/// A search that is stopped ends after at most a few more polls, and reports the stop; its findings are true; and it leaves no
/// partial results in the local transition system: another search continues with it.
fn stopped_anywhere(toy: &Toy, strategy: &Strategy, bounds: SearchBounds, resets: u32, what: &str) {
    let never = Arc::new(StopAfter::new(u64::MAX));
    let factory = stoppable(toy, &never);
    let lts = Lts::new(&factory, scenario(toy, resets)).expect("a toy lists its properties");
    let whole = search(&lts, strategy, bounds, &Unmonitored).expect("nothing stops it");
    let all = never.asked.load(Ordering::Relaxed);
    let mut had = false;
    // The first moments, then some.
    for at in (0..12).chain((12..all).step_by((all as usize / 8).max(1))) {
        let stop = Arc::new(StopAfter::new(u64::MAX));
        let factory = stoppable(toy, &stop);
        let lts = Lts::new(&factory, scenario(toy, resets)).expect("a toy lists its properties");
        let before = stop.asked.load(Ordering::Relaxed);
        stop.continues.store(before + at, Ordering::Relaxed);
        let stopped = search(&lts, strategy, bounds, &Unmonitored);
        let late = stop.asked.load(Ordering::Relaxed).saturating_sub(before + at);
        assert!(late <= LATE_MAX, "{what}, at {at} of {all}: {late} questions after the stop");
        if let Ok(report) = stopped {
            let has_ended = late == 0 || report.is_full();
            assert!(has_ended || report.end == EndCondition::Interrupted, "{what}, at {at} of {all}: {:?}", report.end);
            let has = !report.violations.is_empty();
            assert!(has || !had, "{what}, at {at} of {all}: what a stop before had found is lost");
            had = has;
            for found in &report.violations {
                stop.continues.store(u64::MAX, Ordering::Relaxed);
                let mut stepper = Stepper::new(&lts).expect("nothing stops it");
                let steps = trace::record(&mut stepper, &found.initial, &found.path).expect("it was executed");
                let (mut replay, _) =
                    replay::Replay::new(&factory, lts.scenario(), &Origin::default()).expect("a toy starts");
                for step in &steps {
                    replay.step(step).unwrap_or_else(|error| panic!("{what}, at {at}: {error}"));
                }
                assert!(!replay.findings().expect("it can be judged").is_empty(), "{what}, at {at}");
            }
        }
        stop.continues.store(u64::MAX, Ordering::Relaxed);
        let after = search(&lts, strategy, bounds, &Unmonitored).expect("nothing stops it");
        let facts = |report: &Report| {
            (report.end, report.counts.global_states, report.counts.events, report.counts.transitions)
        };
        assert_eq!(facts(&after), facts(&whole), "{what}, at {at} of {all}");
        assert_eq!(after.witnessed, whole.witnessed, "{what}, at {at} of {all}");
    }
}

#[test]
fn a_stop_between_two_calls_ends_every_strategy_at_once() {
    for (seed, toy) in systems(3, 60) {
        let toy = &toy;
        let without = Toy { forbidden: Vec::new(), ..toy.clone() };
        for strategy in STRATEGIES {
            let bounds = SearchBounds { depth: Some(4), walks: Some(20), ..SearchBounds::default() };
            let honoured = |bound| strategy.honours.contains(&bound);
            let bounds = SearchBounds {
                depth: bounds.depth.filter(|_| honoured(host_search::strategy::Bound::Depth)),
                walks: bounds.walks.filter(|_| honoured(host_search::strategy::Bound::Walks)),
                ..bounds
            };
            for (toy, resets) in [(toy, 0), (&without, 0), (&without, 1)] {
                // Without a bound on depth, a fault takes too long for tests.
                if resets > 0 && bounds.depth.is_none() {
                    continue;
                }
                stopped_anywhere(
                    toy,
                    strategy,
                    bounds,
                    resets,
                    &format!("seed {seed}, {}, {resets} resets", strategy.name),
                );
            }
        }
        let reduced = SearchBounds { reduce: true, ..SearchBounds::default() };
        let bdfs = host_search::strategy::find("bdfs").expect("it is in the table");
        stopped_anywhere(&without, bdfs, reduced, 0, &format!("seed {seed}, --reduce"));
    }
}

/// A search that is stopped inside of steps again and again, and continued by another process each time, ends like an uninterrupted one.
#[test]
fn a_search_that_is_stopped_inside_steps_continues_to_the_same_end() {
    for (seed, toy) in systems(8, 400) {
        let toy = &Toy { forbidden: Vec::new(), ..toy };
        for (strategy, network) in kept_and_networks() {
            let run = |stop: &Arc<StopAfter>, monitor: &(dyn Monitor + Sync)| {
                let factory = stoppable(toy, stop);
                let scenario = Scenario { network, ..scenario(toy, 0) };
                let lts = Lts::new(&factory, scenario).expect("it is asked once, for the properties");
                search(&lts, strategy, SearchBounds::default(), monitor)
            };
            let never = Arc::new(StopAfter::new(u64::MAX));
            let whole = run(&never, &Unmonitored).expect("nothing stops it");
            let keeper = Stopping::default();
            keeper.checks_left.store(u64::MAX, Ordering::Relaxed);
            let mut pieces = 0;
            let last = loop {
                pieces += 1;
                // Each process executes again the steps of those before it, and some more.
                let stop = Arc::new(StopAfter::new(3 * pieces));
                match run(&stop, &keeper) {
                    Ok(report) if report.end != EndCondition::Interrupted => break report,
                    _ => {}
                }
            };
            assert!(pieces > 3, "seed {seed}: {pieces} pieces say little");
            let facts = |report: &Report| (report.end, report.counts, report.depth, report.witnessed.clone());
            assert_eq!(facts(&whole), facts(&last), "seed {seed}, {} on {network} in {pieces} pieces", strategy.name);
        }
    }
}

/// The strategies that keep checkpoints, each on both kinds of networks.
fn kept_and_networks() -> impl Iterator<Item = (&'static Strategy, Network)> {
    let kept = STRATEGIES.iter().filter(|strategy| strategy.keeps_checkpoints);
    kept.flat_map(|strategy| [Network::Unordered, Network::Ordered].map(|network| (strategy, network)))
}

/// A search is saved at every stop once its start states are judged, also in the middle of judging others, and another process
/// continues it to the same end: no process executes or judges without saving progress.
#[test]
fn a_search_is_saved_wherever_it_is_stopped() {
    for ((seed, toy), (strategy, network)) in
        systems(6, 100).flat_map(|one| kept_and_networks().map(move |row| (one.clone(), row)))
    {
        let what = format!("seed {seed}, {} on {network}", strategy.name);
        // No node is in the forbidden state, so there is much to judge and no finding.
        let forbidden = vec![[Some(ToyState::MAX), None, None][..toy.nodes as usize].to_vec()];
        let toy = &Toy { forbidden, ..toy };
        let run = |stop: &Arc<StopAfter>, keeper: &Stopping| {
            let factory = stoppable(toy, stop);
            let scenario = Scenario { network, ..scenario(toy, 0) };
            let lts = Lts::new(&factory, scenario).expect("it is asked once, for the properties");
            search(&lts, strategy, SearchBounds::default(), keeper)
        };
        let new = || {
            let keeper = Stopping::default();
            keeper.checks_left.store(u64::MAX, Ordering::Relaxed);
            keeper
        };
        let never = Arc::new(StopAfter::new(u64::MAX));
        let whole = run(&never, &new()).expect("nothing stops it");
        let all = never.asked.load(Ordering::Relaxed);
        let mut saved = 0;
        for at in 1..all {
            let keeper = new();
            match run(&Arc::new(StopAfter::new(at)), &keeper) {
                Ok(report) if report.end != EndCondition::Interrupted => continue,
                _ => {}
            }
            let is_saved = keeper.saves.load(Ordering::Relaxed) > 0;
            assert!(is_saved || saved == 0, "{what}, stopped at {at} of {all}");
            saved += u64::from(is_saved);
            if is_saved && (at % 7 == 0 || at + 20 > all) {
                let last = run(&Arc::new(StopAfter::new(u64::MAX)), &keeper).expect("nothing stops it");
                let facts = |report: &Report| (report.end, report.counts, report.depth, report.witnessed.clone());
                assert_eq!(facts(&whole), facts(&last), "{what}, resumed from {at} of {all}");
            }
        }
        assert!(saved * 2 > all, "{what}: saved at {saved} of {all}");
    }
}

/// A violation is found by the process that continues, also if the stop came while its state was judged.
#[test]
fn a_search_finds_the_violation_after_any_stop() {
    let (mut tried, mut resumed) = (0, 0);
    for (seed, toy) in systems(12, 60) {
        for (strategy, network) in kept_and_networks() {
            let what = format!("seed {seed}, {} on {network}", strategy.name);
            let run = |stop: &Arc<StopAfter>, keeper: &Stopping| {
                let factory = stoppable(&toy, stop);
                let scenario = Scenario { network, ..scenario(&toy, 0) };
                let lts = Lts::new(&factory, scenario).expect("it is asked once, for the properties");
                search(&lts, strategy, SearchBounds::default(), keeper)
            };
            let new = || {
                let keeper = Stopping::default();
                keeper.checks_left.store(u64::MAX, Ordering::Relaxed);
                keeper
            };
            let never = Arc::new(StopAfter::new(u64::MAX));
            let whole = run(&never, &new()).expect("nothing stops it");
            tried += u64::from(whole.end == EndCondition::Violation);
            for at in (1..never.asked.load(Ordering::Relaxed)).filter(|_| whole.end == EndCondition::Violation) {
                let keeper = new();
                let stopped = run(&Arc::new(StopAfter::new(at)), &keeper);
                if keeper.saves.load(Ordering::Relaxed) == 0 || stopped.is_ok_and(|report| report.is_full()) {
                    continue;
                }
                let last = run(&Arc::new(StopAfter::new(u64::MAX)), &keeper).expect("nothing stops it");
                let facts = |report: &Report| {
                    let found = &report.violations[0];
                    (report.end, report.depth.max(found.path.len() as u32), found.path.len(), found.kind.clone())
                };
                assert_eq!(facts(&whole), facts(&last), "{what}, resumed from {at}");
                resumed += 1;
            }
        }
    }
    assert!(tried > 10 && resumed > 5 * tried, "{resumed} resumptions of {tried} searches say little");
}

/// An audit that is stopped reports that, at any stop.
#[test]
fn an_audit_that_is_stopped_is_not_finished() {
    for (seed, toy) in systems(10, 60) {
        let toy = &toy;
        let stop = Arc::new(StopAfter::new(u64::MAX));
        let factory = stoppable(toy, &stop);
        let machines = AuditedFactory::new(&factory, Mode::Full);
        let lts = Lts::new(&machines, scenario(toy, 0)).expect("a toy lists its properties");
        let bdfs = host_search::strategy::find("bdfs").expect("it is in the table");
        search(&lts, bdfs, SearchBounds::default(), &Unmonitored).expect("nothing stops it");
        let before = stop.asked.load(Ordering::Relaxed);
        let whole = machines.check(lts.properties()).expect("a toy has machines");
        assert_eq!(whole.stopped, None, "seed {seed}");
        let all = stop.asked.load(Ordering::Relaxed) - before;
        for at in (0..all).step_by((all as usize / 30).max(1)) {
            let asked = stop.asked.load(Ordering::Relaxed);
            stop.continues.store(asked + at, Ordering::Relaxed);
            let part = machines.check(lts.properties()).expect("a toy has machines");
            let late = stop.asked.load(Ordering::Relaxed) - asked - at;
            assert_eq!((part.stopped, late), (Some(Stopped::Interrupted), 1), "seed {seed}, at {at} of {all}");
            assert!(part.states <= whole.states, "seed {seed}, at {at} of {all}");
        }
    }
}

/// Strategies that report a broken property only once they have verified that an execution leads there, which can be stopped; one of them
/// is a member of `auto`.
const VERIFY: [&str; 4] = ["auto", "lmc", "lmc-opt", "lmc-gen"];

/// Strategies that evaluate properties of combinations of local states before they know of an execution that leads there. A single node has
/// no such combinations.
const COMBINE: [&str; 1] = ["unfold"];

/// Stopped anywhere, no strategy loses a violation that it knows of: once a property was evaluated as broken, the report has it,
/// though later judgements are missing, be it another property of the same states.
#[test]
fn what_was_judged_before_a_stop_is_reported() {
    let mut heard = [0, 0];
    for (seed, toy) in systems(5, 40).chain(systems_of(1, 10, 3)) {
        let toy = Toy { forbidden: some_states(&toy), ..toy };
        let further = (0..2).map(|number| another_property(&toy, number)).collect();
        let several = Toy { properties: further, ..toy.clone() };
        for (strategy, deadlock) in STRATEGIES.iter().flat_map(|it| [(it, false), (it, true)]) {
            if toy.nodes > 1 && COMBINE.contains(&strategy.name) {
                continue;
            }
            let honoured = |bound| strategy.honours.contains(&bound);
            if VERIFY.contains(&strategy.name) || deadlock && !honoured(host_search::strategy::Bound::Deadlock) {
                continue;
            }
            let bounds = SearchBounds {
                walks: honoured(host_search::strategy::Bound::Walks).then_some(20),
                depth: honoured(host_search::strategy::Bound::Depth).then_some(6),
                violations: (seed % 2 == 0 && honoured(host_search::strategy::Bound::Violations)).then_some(1_000),
                deadlock,
                ..SearchBounds::default()
            };
            for (toy, at) in (0..60).flat_map(|at| [(&toy, at), (&several, at)]) {
                let stop = Arc::new(StopAfter::new(at));
                let factory = Overheard::new(stoppable(toy, &stop));
                let Ok(lts) = Lts::new(&factory, scenario(toy, 0)) else { continue };
                let stopped = search(&lts, strategy, bounds, &Unmonitored);
                let has_found = stopped.as_ref().is_ok_and(|report| !report.violations.is_empty());
                let properties = lts.properties().len();
                let what = format!(
                    "seed {seed}, {}, deadlocks {deadlock}, {properties} properties, stopped at {at}",
                    strategy.name
                );
                assert!(has_found || !factory.has_heard(), "{what}: {stopped:?}");
                heard[usize::from(properties > 1)] += u64::from(factory.has_heard());
            }
        }
    }
    assert!(heard.iter().all(|heard| *heard > 1_000), "only {heard:?} stops after a broken property");
}

/// Another property of all nodes that the states of some tuples break, most of them forbidden ones too.
fn another_property(toy: &Toy, number: usize) -> ToyProperty {
    ToyProperty {
        name: format!("another {number}"),
        kind: PropertyKind::Always,
        scope: PropertyScope::System,
        tuples: toy.forbidden.iter().skip(number).cloned().collect(),
        traps: Vec::new(),
        sees_all: true,
    }
}

/// Forbids some states of a node alone, or some pairs of states of the first two.
fn some_states(toy: &Toy) -> Vec<Vec<Option<ToyState>>> {
    if toy.nodes == 1 {
        return vec![vec![Some(0)], vec![Some(1)]];
    }
    let pairs = (0..6).flat_map(|one| (0..6).map(move |other| (one, other)));
    let pairs = pairs.filter(|(one, other)| (one * 7 + other * 3) % 4 == 3);
    let rest = vec![None; toy.nodes as usize - 2];
    pairs.map(|(one, other)| [&[Some(one), Some(other)], &rest[..]].concat()).collect()
}

/// Counts the polls between two steps, and stops at one of them and at all after it.
#[derive(Default)]
struct Idle {
    /// Polls by the number of steps before them.
    asked: Mutex<BTreeMap<u64, u64>>,
    /// The number of steps and further polls after which to stop.
    stops_at: Option<(u64, u64)>,
}

impl Monitor for Idle {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        let steps = progress.counts.transitions.expect("local model checking counts them");
        let mut asked = self.asked.lock().expect("one thread");
        let questions = asked.entry(steps).or_default();
        *questions += 1;
        let is_over = self.stops_at.is_some_and(|at| (steps, *questions) >= at);
        is_over.then_some(EndCondition::Interrupted)
    }
}

/// Runs local model checking alone; returns the polls between two steps.
fn idle(toy: &Toy, stops_at: Option<(u64, u64)>) -> (Report, BTreeMap<u64, u64>) {
    let factory = Arc::new(toy.clone());
    let lts = Lts::new(&factory, scenario(toy, 0)).expect("a toy lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
    let monitor = Idle { stops_at, ..Idle::default() };
    let bounds = SearchBounds::default();
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &monitor, collect_system_states: false };
    let alone = Turns { first: u64::MAX, least: 0 };
    let report = lmc::run_with(&search, false, alone).expect("a toy has no host faults");
    (report, monitor.asked.into_inner().expect("one thread"))
}

/// After `steps` steps, at least `least` polls follow before the next step, and the search ends at each of them.
fn hears_while_idle(toy: &Toy, steps: u64, least: u64) {
    let (_, asked) = idle(toy, None);
    let questions = asked[&steps];
    assert!(questions >= least, "{questions} questions after {steps} steps, which take long");
    for nth in [1, 2, questions / 2, questions - 1] {
        let (report, asked) = idle(toy, Some((steps, nth)));
        assert_eq!((report.end, report.counts.transitions), (EndCondition::Interrupted, Some(steps)), "question {nth}");
        let after = asked.range(steps + 1..).count() as u64;
        let late = asked[&steps] + after - nth;
        assert!(late <= LATE_MAX, "{late} questions after a no to question {nth}");
    }
}

/// Every state has a local event to every state. An event that was not taken on the way to the first state becomes known in all
/// states at once, along all edges; and whether some path repeats an event is asked of every state and event. So between two of
/// its 160 * 160 steps there can be as many small ones.
#[test]
fn local_states_that_all_reach_each_other_do_not_keep_lmc_from_hearing() {
    const STATES: u8 = 160;
    let edges = (0..STATES).flat_map(|from| (0..STATES).map(move |to| (from, to)));
    let toy = edges.fold(Toy::new(1), |toy, (from, to)| toy.rule(0, from, ToyTrigger::Local(to), to, &[]));
    let (_, asked) = idle(&toy, None);
    let all = u64::from(STATES) * u64::from(STATES);
    // Right after the first pass the classes are combined, after the last step the search is over.
    let between = asked.range(u64::from(STATES) + 1..all);
    let (steps, _) = between.max_by_key(|(_, questions)| **questions).expect("it asks");
    hears_while_idle(&toy, *steps, 5);
    hears_while_idle(&toy, all, 5);
}

/// Fourteen messages of different senders are taken together, and only thirteen senders have sent some, each two: there are 3^13
/// sets to try, and none is a quorum.
#[test]
fn quorums_that_are_not_there_do_not_keep_lmc_from_hearing() {
    const SENDERS: u32 = 13;
    let toy = Toy::new(1 + SENDERS).collect((0, 0), &[0, 1], SENDERS + 1, 1, &[]);
    let toy = (1..=SENDERS).fold(toy, |toy, from| toy.in_flight(from, 0, 0).in_flight(from, 0, 1));
    hears_while_idle(&toy, 0, 100);
}
