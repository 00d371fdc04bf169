//! States from elsewhere: a search that begins in them is the one after the path that led there, by every strategy and on every
//! network; absent nodes are silent ones; and messages that are lost are gone.

use std::collections::BTreeMap;
use std::sync::Arc;

use host_agreement::reference::{self, Prefix, System};
use host_agreement::toys::{finding, words};
use host_model::contract::NodeId;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Link, Network, Scenario};
use host_model::toys::Toy;
use host_model::trace::start::{self, Start};
use host_model::trace::{self, Beginning, Hex, PluginRef, TRACE_VERSION, Trace, TraceEvent, TraceStep};
use host_search::kernel::{Counts, Report, Search, SearchBounds, SearchError, Unmonitored};
use host_search::strategy::STRATEGIES;

/// Systems with more global states than this are left out: some strategies go through all executions.
const STATES_MAX: usize = 60;

/// How many random systems of each family are tried.
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
        plain,
    ];
    let is_small = |system: &System| reference::search(system, None, None, STATES_MAX).is_some();
    all.into_iter().filter(is_small).collect()
}

fn empty_trace(scenario: &Scenario) -> Trace {
    Trace {
        trace_version: TRACE_VERSION,
        plugin: PluginRef { name: "toy".to_owned(), version: None, digest: None },
        scenario: scenario.clone(),
        placements: Vec::new(),
        limits: BTreeMap::new(),
        init_choices: Vec::new(),
        beginning: None,
        finding: None,
        steps: Vec::new(),
    }
}

/// What a search says that does not depend on where its path begins.
#[derive(Debug, PartialEq)]
struct Said {
    counts: String,
    /// The words of each finding, and how many events after the start.
    findings: Vec<(String, usize)>,
}

/// Searches from the end of a trace by one strategy; what is found is executed again.
fn said(system: &System, trace: &Trace, run: fn(&Search<'_>) -> Result<Report, SearchError>) -> Said {
    let factory = Arc::new(system.toy.clone());
    let lts = Lts::new(&factory, trace.scenario.clone()).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let starts = [start::follow(&mut stepper, trace).expect("the trace can be followed")];
    let bounds = SearchBounds { violations: Some(3), deadlock: true, ..SearchBounds::default() };
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

/// A message that is lost is gone: what follows is what follows from the same states without it.
#[test]
fn what_is_lost_is_no_longer_in_flight() {
    let mut lost = 0;
    for seed in 0..SYSTEMS {
        for system in families(seed) {
            let Some(prefix) = Prefix::random(&system, seed, 3) else { continue };
            let scenario = system.scenario();
            let mut after = Trace { init_choices: prefix.init_choices, steps: prefix.steps, ..empty_trace(&scenario) };
            let mut beginning = exported(&system, &after);
            // A notice of a break cannot be lost.
            if beginning.in_flight.iter().any(|flight| flight.notice) {
                continue;
            }
            for flight in std::mem::take(&mut beginning.in_flight) {
                let event = TraceEvent::Lose { from: flight.from, payload: flight.payload };
                after.steps.push(TraceStep { node: flight.to, event, choices: Vec::new(), sent: None, state: None });
                lost += 1;
            }
            assert_eq!(exported(&system, &after), beginning, "seed {seed}");
            let from = Trace { beginning: Some(beginning), ..empty_trace(&scenario) };
            for row in STRATEGIES.iter().filter(|row| row.name != "walk") {
                assert_eq!(said(&system, &from, row.run), said(&system, &after, row.run), "seed {seed}, {}", row.name);
            }
        }
    }
    assert!(lost > 50, "{lost}");
}

/// An absent node does to the others what one does that takes every message and does nothing.
#[test]
fn absent_nodes_are_silent() {
    let gone: NodeId = 2;
    let mut compared = 0;
    for seed in 0..SYSTEMS {
        let mut toy = Toy::random(seed, 3);
        toy.rules.retain(|(node, ..), _| *node != gone);
        toy.initial.retain(|(from, ..)| *from != gone);
        // No property reads it, either.
        toy.forbidden.iter_mut().for_each(|tuple| tuple[gone as usize] = None);
        let silent = System::new(toy);
        if reference::search(&silent, None, None, STATES_MAX).is_none() {
            continue;
        }
        compared += 1;
        let trace = empty_trace(&silent.scenario());
        let mut absent = empty_trace(&silent.scenario());
        absent.scenario.absent.insert(gone);
        for row in STRATEGIES.iter().filter(|row| row.is_complete) {
            let violations = |trace: &Trace| {
                let factory = Arc::new(silent.toy.clone());
                let lts = Lts::new(&factory, trace.scenario.clone()).expect("a toy lists its properties");
                let mut stepper = Stepper::new(&lts).expect("a toy has machines");
                let starts = start::initial(&mut stepper).expect("a toy starts");
                let bounds = SearchBounds { violations: Some(u64::MAX), ..SearchBounds::default() };
                let search =
                    Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
                let report = (row.run)(&search).expect("a toy has no host faults");
                let mut found: Vec<_> = report.violations.iter().map(words).collect();
                found.sort();
                found
            };
            assert_eq!(violations(&absent), violations(&trace), "seed {seed}, {}", row.name);
        }
    }
    assert!(compared > 5, "{compared}");
}

/// What no cluster can be in is refused before a machine is asked, in words of its own.
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
    let flight =
        |from, to, incarnation, notice| trace::Flight { from, to, payload: Hex::default(), incarnation, notice };
    let no_state = refused(&|beginning| beginning.states.truncate(1), &scenario);
    assert!(no_state.contains("states of the nodes [0]"), "{no_state}");
    let far = refused(&|beginning| beginning.in_flight.push(flight(0, 7, 0, false)), &scenario);
    assert!(far.contains("from node 0 to node 7 cannot be in flight: there is no such node"), "{far}");
    let notice = refused(&|beginning| beginning.in_flight.push(flight(0, 1, 1, true)), &scenario);
    assert!(notice.contains("its connection cannot break"), "{notice}");
    let absent = Scenario { absent: [1].into(), ..scenario };
    let gone = refused(&|beginning| beginning.states.truncate(2), &absent);
    assert!(gone.contains("that is not absent"), "{gone}");
    let mut stepper_trace = empty_trace(&absent);
    let mut only = beginning.clone();
    only.states.truncate(1);
    only.in_flight = vec![flight(0, 1, 0, false)];
    assert!(only.check(&absent).expect_err("nobody takes it").contains("its destination is absent"));
    only.in_flight.clear();
    only.states[0].exported = Hex(vec![9, 9, 9]);
    stepper_trace.beginning = Some(only);
    let factory = Arc::new(system.toy.clone());
    let lts = Lts::new(&factory, absent).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let error = start::begin(&mut stepper, &stepper_trace).expect_err("no state of a toy");
    assert_eq!(error.to_string(), "the state of node 0: this is no state of node 0 of a toy");
}
