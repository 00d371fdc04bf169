//! Given start states: a search that begins in them equals the one after the path to them, for every strategy and on every
//! network.
//!
//! | module | what it holds |
//! |---|---|
//! | `absences` | messages that are lost, and nodes that are absent |

mod absences;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use host_agreement::reference::{self, Prefix, System};
use host_agreement::stopping::Stopping;
use host_agreement::toys::{empty_trace, finding, words};
use host_model::contract::PropertyKind;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{FaultState, Faults, Link, Network, Scenario};
use host_model::toys::{Feature, Toy};
use host_model::trace::replay::Replay;
use host_model::trace::start::{self, Start};
use host_model::trace::{self, Beginning, Finding, Flight, Hex, Trace, TraceEvent, TraceStep};
use host_search::kernel::{
    Counts, EndCondition, Monitor, Report, Search, SearchBounds, SearchError, SymmetryUse, Unmonitored,
};
use host_search::strategy::{Bound, STRATEGIES, Strategy, bdfs};

use crate::workers::{same, with_workers};

/// The maximum number of global states: some strategies explore all executions.
const STATES_MAX: usize = 60;

/// The number of random systems of each family.
const SYSTEMS: u64 = 24;

fn families(seed: u64) -> Vec<System> {
    let toy = || Toy::random(seed, 2 + seed as u32 % 2).with_random_done(seed);
    let faults = |resets, duplicates, breaks| Faults { resets, duplicates, breaks, ..Faults::default() };
    let link = |(from, to)| Link { from, to, network: Network::Unordered };
    let plain = System::new(toy());
    let all = vec![
        System { faults: faults(1, 0, 0), ..System::new(toy()) },
        System { network: Network::UnorderedDuplicating, faults: faults(0, 1, 0), ..System::new(toy()) },
        System { network: Network::Ordered, ..System::new(toy()) },
        System { network: Network::Ordered, faults: faults(1, 0, 1), ..System::new(toy()) },
        System { network: Network::Ordered, links: [(0, 1), (1, 0)].map(link).into(), ..System::new(toy()) },
        System { faults: Faults { refusals: 1, crashes: 1, ..faults(0, 0, 0) }, ..System::new(toy()) },
        plain,
    ];
    let is_small = |system: &System| reference::search(system, None, None, STATES_MAX).is_some();
    all.into_iter().filter(is_small).collect()
}

/// The part of a report that does not depend on where its path begins.
#[derive(Debug, PartialEq)]
struct Said {
    counts: String,
    /// The words of each finding, and the number of events after the start.
    findings: Vec<(String, usize)>,
}

/// Searches from the end of a trace by one strategy; findings are executed again.
fn said(system: &System, trace: &Trace, run: fn(&Search<'_>) -> Result<Report, SearchError>) -> Said {
    said_within(system, trace, run, SearchBounds { violations: Some(3), deadlock: true, ..SearchBounds::default() })
}

fn said_within(
    system: &System,
    trace: &Trace,
    run: fn(&Search<'_>) -> Result<Report, SearchError>,
    bounds: SearchBounds,
) -> Said {
    let factory = Arc::new(system.toy.clone());
    let lts = Lts::new(&factory, trace.scenario.clone()).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let starts = [start::follow(&mut stepper, trace).expect("the trace can be followed")];
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    let report = run(&search).expect("a toy has no host faults");
    let mut findings = Vec::new();
    for found in &report.violations {
        let steps = trace::record(&mut stepper, &found.initial, &found.path).expect("a toy has no host faults");
        trace::confirm(&factory, lts.scenario(), &found.origin, &steps, &finding(&lts, found)).expect("it replays");
        findings.push((format!("{:?}", words(found)), found.path.len() - starts[0].path.len()));
    }
    findings.sort();
    let Counts { global_states, transitions, system_states, .. } = report.counts;
    let counts = format!("{:?}, {global_states:?}, {transitions:?}, {system_states:?}", report.end);
    Said { counts, findings }
}

/// The end of a trace as the beginning of another one, exported.
fn exported(system: &System, trace: &Trace) -> Beginning {
    let factory = Arc::new(system.toy.clone());
    let lts = Lts::new(&factory, trace.scenario.clone()).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let end: Start = start::follow(&mut stepper, trace).expect("the trace can be followed");
    start::export(&mut stepper, &end).expect("the states of toys can leave")
}

#[test]
fn searches_from_exported_states_equal_those_after_the_path() {
    let mut compared = 0;
    for seed in 0..SYSTEMS {
        for system in families(seed) {
            let Some(prefix) = Prefix::random(&system, seed, 1 + seed as u32 % 5) else { continue };
            let scenario = system.scenario();
            let after = Trace { init_choices: prefix.init_choices, steps: prefix.steps, ..empty_trace(&scenario) };
            let beginning = exported(&system, &after);
            beginning.check(&scenario).expect("it fits the scenario");
            let from = Trace { beginning: Some(beginning), ..empty_trace(&scenario) };
            for row in STRATEGIES.iter().filter(|row| row.name != "walk") {
                let what = format!("seed {seed}, {:?}, {:?}, {}", system.network, system.faults, row.name);
                assert_eq!(said(&system, &from, row.run), said(&system, &after, row.run), "{what}");
                compared += 1;
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

/// Every bound and option of a strategy, one at a time.
fn options(row: &Strategy, system: &System) -> Vec<SearchBounds> {
    let honours = |bound| row.honours.contains(&bound);
    let all =
        SearchBounds { violations: Some(u64::MAX), deadlock: honours(Bound::Deadlock), ..SearchBounds::default() };
    let has_order = system.scenario().has_network(Network::Ordered);
    let options = [
        (true, SearchBounds { violations: None, ..all }),
        (honours(Bound::Depth), SearchBounds { depth: Some(3), ..all }),
        (honours(Bound::LocalEvents), SearchBounds { local_events: Some(1), ..all }),
        (honours(Bound::CountSystemStates), SearchBounds { count_system_states: true, ..all }),
        (honours(Bound::Reduce) && !has_order, SearchBounds { reduce: true, ..all }),
        (honours(Bound::Walks), SearchBounds { seed: Some(7), walks: Some(40), ..all }),
    ];
    options.into_iter().filter(|(is_honoured, _)| *is_honoured).map(|(_, bounds)| bounds).collect()
}

#[test]
fn options_mean_the_same_after_exported_states() {
    let mut compared: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 100..100 + SYSTEMS {
        for system in families(seed) {
            let Some(prefix) = Prefix::random(&system, seed, 1 + seed as u32 % 5) else { continue };
            let scenario = system.scenario();
            let after = Trace { init_choices: prefix.init_choices, steps: prefix.steps, ..empty_trace(&scenario) };
            let from = Trace { beginning: Some(exported(&system, &after)), ..empty_trace(&scenario) };
            for row in STRATEGIES {
                for bounds in options(row, &system) {
                    let [mut one, other] = [&from, &after].map(|trace| said_within(&system, trace, row.run, bounds));
                    let what =
                        format!("seed {seed}, {:?}, {:?}, {}, {bounds:?}", system.network, system.faults, row.name);
                    // Which events are cut off depends on the order of ids, and so whether the depth has cut anything.
                    if row.name == "unfold" && bounds.depth.is_some() && one.counts != other.counts {
                        for (said, trace) in [(&one, &from), (&other, &after)] {
                            let whole = said_within(&system, trace, row.run, SearchBounds { depth: None, ..bounds });
                            let is_whole = said.counts.starts_with("SpaceExhausted");
                            assert!(!is_whole || said.findings == whole.findings, "{what}");
                        }
                        one.counts.clone_from(&other.counts);
                    }
                    assert_eq!(one, other, "{what}");
                    *compared.entry(row.name).or_default() += 1;
                }
            }
        }
    }
    assert!(compared.len() == STRATEGIES.len() && compared.values().all(|count| *count > 80), "{compared:?}");
}

/// More faults than the budget allowed before can happen, if the states carry all that this requires.
#[test]
fn budgets_can_be_raised_after_exported_states() {
    let mut compared = 0;
    for seed in 0..SYSTEMS {
        for system in families(seed) {
            let Faults { resets, breaks, .. } = system.faults;
            let is_ordered = system.scenario().has_network(Network::Ordered);
            let has_connections = is_ordered && (resets > 0 || breaks > 0);
            if is_ordered != has_connections {
                continue;
            }
            let breaks = breaks + u32::from(is_ordered);
            let faults = Faults { resets: resets + 1, breaks, crashes: 1, ..system.faults };
            let raised = System { faults, ..system.clone() };
            if reference::search(&raised, None, None, 4 * STATES_MAX).is_none() {
                continue;
            }
            let Some(prefix) = Prefix::random(&system, seed, 3) else { continue };
            let path =
                Trace { init_choices: prefix.init_choices, steps: prefix.steps, ..empty_trace(&system.scenario()) };
            let from = Trace { beginning: Some(exported(&system, &path)), ..empty_trace(&raised.scenario()) };
            let after = Trace { scenario: raised.scenario(), ..path };
            for row in STRATEGIES.iter().filter(|row| row.is_complete && !row.name.starts_with("dpor-")) {
                let what = format!("seed {seed}, {:?}, {:?}, {}", system.network, system.faults, row.name);
                assert_eq!(said(&raised, &from, row.run), said(&raised, &after, row.run), "{what}");
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

/// Violations in the start states themselves are found, without a step.
#[test]
fn what_is_wrong_where_a_path_begins_is_found() {
    let mut wrong = 0;
    for seed in 0..SYSTEMS {
        for system in families(seed) {
            let toy = system.toy.clone().with_random(Feature::Properties, seed, false);
            let silent = Toy { forbidden: Vec::new(), properties: Vec::new(), ..toy.clone() };
            let silent = System { toy: silent, ..system.clone() };
            let Some(prefix) = Prefix::random(&silent, seed, 4) else { continue };
            let scenario = system.scenario();
            let path = Trace { init_choices: prefix.init_choices, steps: prefix.steps, ..empty_trace(&scenario) };
            let from = Trace { beginning: Some(exported(&silent, &path)), ..empty_trace(&scenario) };
            let judged = System { toy, ..system };
            let all = SearchBounds { violations: Some(u64::MAX), ..SearchBounds::default() };
            let (mut replay, _) =
                Replay::new(&Arc::new(judged.toy.clone()), &scenario, &from.origin()).expect("it can be");
            let is_bad =
                |finding: &Finding| !matches!(finding, Finding::Property { kind: PropertyKind::Sometimes, .. });
            let there = replay.findings().expect("toys work").into_iter().filter(is_bad).count();
            let complete = STRATEGIES.iter().filter(|row| row.is_complete);
            let mut words: Option<BTreeSet<String>> = None;
            for row in complete {
                let said = said_within(&judged, &from, row.run, all);
                let at_once = said.findings.iter().filter(|(_, length)| *length == 0).count();
                assert_eq!(at_once, there, "seed {seed}, {}", row.name);
                let found: BTreeSet<String> = said.findings.into_iter().map(|(words, _)| words).collect();
                assert_eq!(*words.get_or_insert_with(|| found.clone()), found, "seed {seed}, {}", row.name);
            }
            wrong += there;
        }
    }
    assert!(wrong > 20, "{wrong}");
}

/// The report of a search from the end of a trace by this many workers, ids and all.
fn report(system: &System, trace: &Trace, name: &str, workers: usize, monitor: &(dyn Monitor + Sync)) -> Report {
    let factory = Arc::new(system.toy.clone());
    let lts = Lts::new(&factory, trace.scenario.clone()).expect("a toy lists its properties");
    let starts = [start::follow(&mut Stepper::new(&lts).expect("machines"), trace).expect("it can be followed")];
    let bounds = SearchBounds { walks: (name == "walk").then_some(50), ..SearchBounds::default() };
    let search = Search { lts: &lts, starts: &starts, bounds, monitor, collect_system_states: false };
    with_workers(workers, name, &search)
}

/// From exported states, after messages were lost, and without a node, by any number of workers and in any number of pieces.
#[test]
fn workers_and_checkpoints_do_not_matter_to_exported_states() {
    let (mut tried, mut pieces) = (0, 0);
    for seed in 0.. {
        let system = System::new(Toy { forbidden: Vec::new(), ..Toy::random(seed, 4) });
        let size = reference::search(&system, None, None, 5_000).map_or(0, |reached| reached.global_states);
        let Some(prefix) = Prefix::random(&system, seed, 2).filter(|_| size > 2_000) else { continue };
        let scenario = system.scenario();
        let after = Trace { init_choices: prefix.init_choices, steps: prefix.steps, ..empty_trace(&scenario) };
        let beginning = exported(&system, &after);
        let mut lossy = after;
        if let Some(Flight { from, to, payload, .. }) = beginning.in_flight.first().cloned() {
            let event = TraceEvent::Lose { from, payload };
            lossy.steps.push(TraceStep { node: to, event, choices: Vec::new(), sent: None, state: None });
        }
        let from = Trace { beginning: Some(beginning.clone()), ..empty_trace(&scenario) };
        let mut partial = beginning;
        partial.states.pop();
        partial.in_flight.retain(|flight| flight.to != 3);
        let scenario = Scenario { absent: [3].into(), ..scenario };
        let partial = Trace { beginning: Some(partial), ..empty_trace(&scenario) };
        for (how, trace) in [("exported", &from), ("lossy", &lossy), ("partial", &partial)] {
            for row in STRATEGIES.iter().filter(|row| !row.name.starts_with("dpor")) {
                let one = report(&system, trace, row.name, 1, &Unmonitored);
                let three = report(&system, trace, row.name, 3, &Unmonitored);
                same(&one, &three, &format!("seed {seed}, {how}, {}", row.name));
                if !row.keeps_checkpoints {
                    continue;
                }
                let keeper = Stopping::default();
                let last = loop {
                    pieces += 1;
                    keeper.checks_left.store(1, Ordering::Relaxed);
                    let report = report(&system, trace, row.name, 2, &keeper);
                    if report.end != EndCondition::Interrupted {
                        break report;
                    }
                };
                same(&one, &last, &format!("seed {seed}, {how}, {} in pieces", row.name));
            }
        }
        tried += 1;
        if tried == 3 {
            break;
        }
    }
    assert!(pieces > 3 * 3 * tried, "{pieces} pieces of {tried} systems say little");
}

/// Interchangeable nodes are distinguished if it is not known which states are renamings of each other; the findings stay the same.
#[test]
fn symmetry_is_not_used_where_it_is_not_known() {
    let (mut refused, mut used) = (0, 0);
    for seed in 0..2 * SYSTEMS {
        let system = System::new(Toy::random_symmetric(seed, 3));
        let is_small = reference::search(&system, None, None, 4_000).is_some();
        let Some(prefix) = Prefix::random(&system, seed, 2).filter(|_| is_small) else { continue };
        let scenario = system.scenario();
        let after = Trace { init_choices: prefix.init_choices, steps: prefix.steps, ..empty_trace(&scenario) };
        let beginning = exported(&system, &after);
        let mut lossy = after.clone();
        for Flight { from, to, payload, .. } in beginning.in_flight.clone() {
            let event = TraceEvent::Lose { from, payload };
            lossy.steps.push(TraceStep { node: to, event, choices: Vec::new(), sent: None, state: None });
        }
        let from = Trace { beginning: Some(beginning), ..empty_trace(&scenario) };
        for (trace, is_known) in [(&from, false), (&after, true), (&lossy, true)] {
            let found = |bounds| {
                let said =
                    said_within(&system, trace, bdfs::run, SearchBounds { violations: Some(u64::MAX), ..bounds });
                said.findings.into_iter().map(|(words, _)| words).collect::<BTreeSet<String>>()
            };
            let reduced = SearchBounds { reduce: true, ..SearchBounds::default() };
            let alone = SearchBounds { no_symmetry: true, ..reduced };
            assert_eq!(found(alone), found(SearchBounds::default()), "seed {seed}");
            assert_eq!(found(reduced).is_empty(), found(alone).is_empty(), "seed {seed}");
            let factory = Arc::new(system.toy.clone());
            let lts = Lts::new(&factory, trace.scenario.clone()).expect("a toy lists its properties");
            let starts =
                [start::follow(&mut Stepper::new(&lts).expect("machines"), trace).expect("it can be followed")];
            let search = Search {
                lts: &lts,
                starts: &starts,
                bounds: reduced,
                monitor: &Unmonitored,
                collect_system_states: false,
            };
            match bdfs::run(&search).expect("a toy has no host faults").symmetry {
                Some(SymmetryUse::Refused(why)) if !is_known => {
                    assert_eq!(why, "the search begins in states from elsewhere");
                    assert_eq!(found(reduced), found(alone), "seed {seed}");
                    refused += 1;
                }
                // A prefix can leave no renaming that keeps where it ends.
                None if is_known => {}
                Some(SymmetryUse::Refused(why)) if is_known => {
                    assert_eq!(why, "the state where the search begins tells them apart");
                }
                Some(SymmetryUse::Renamings(_)) if is_known => used += 1,
                other => panic!("seed {seed}: {other:?}"),
            }
        }
    }
    assert!(refused > 20 && used > 10, "{refused} refused, {used} used");
}

/// States that no cluster can be in are refused before a machine is asked, with an error of their own.
#[test]
fn beginnings_that_cannot_be_are_refused() {
    let system = System { network: Network::Ordered, ..System::new(Toy::random(3, 2)) };
    let scenario = system.scenario();
    let beginning = exported(&system, &empty_trace(&scenario));
    let refused = |change: &dyn Fn(&mut Beginning), scenario: &Scenario| {
        let mut changed = beginning.clone();
        change(&mut changed);
        changed.check(scenario).expect_err("it cannot be")
    };
    let flight = |from, to, incarnation, notice| Flight { from, to, payload: Hex::default(), incarnation, notice };
    let no_state = refused(&|beginning| beginning.states.truncate(1), &scenario);
    assert!(no_state.contains("states of the nodes [0]"), "{no_state}");
    let far = refused(&|beginning| beginning.in_flight.push(flight(0, 7, 0, false)), &scenario);
    assert!(far.contains("from node 0 to node 7 cannot be in flight: there is no such node"), "{far}");
    let notice = refused(&|beginning| beginning.in_flight.push(flight(0, 1, 1, true)), &scenario);
    assert!(notice.contains("its connection cannot break"), "{notice}");
    let faulty = Scenario { faults: Faults { resets: 1, ..Faults::default() }, ..scenario.clone() };
    let fault_state = |resets| {
        let mut fault_state = FaultState::default();
        fault_state.counts.resets = resets;
        fault_state
    };
    let overdrawn = refused(&|beginning| beginning.states[1].fault_state = fault_state(2), &faulty);
    assert_eq!(overdrawn, "node 1 has used 2 of its resets, and its budget is 1");
    let half = refused(&|beginning| beginning.states[1].fault_state = fault_state(1), &faulty);
    assert!(half.contains("connections that can break are known at both ends or not at all"), "{half}");
    let absent = Scenario { absent: [1].into(), ..scenario };
    let gone = refused(&|beginning| beginning.states.truncate(2), &absent);
    assert!(gone.contains("that is not absent"), "{gone}");
    let mut stepper_trace = empty_trace(&absent);
    let mut only = beginning.clone();
    only.states.truncate(1);
    only.in_flight = vec![flight(0, 1, 0, false)];
    assert!(only.check(&absent).expect_err("no node takes it").contains("its destination is absent"));
    only.in_flight.clear();
    only.states[0].exported = Hex(vec![9, 9, 9]);
    stepper_trace.beginning = Some(only);
    let factory = Arc::new(system.toy.clone());
    let lts = Lts::new(&factory, absent).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let error = start::begin(&mut stepper, &stepper_trace).expect_err("no state of a toy");
    assert_eq!(error.to_string(), "the state of node 0: this is no state of node 0 of a toy");
}
