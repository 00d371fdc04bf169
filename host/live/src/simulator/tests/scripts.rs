//! Phases of runs.

use super::*;
use crate::simulator::{Counts, Lost, ScriptError};

/// Runs of a toy with these conditions and this script.
pub(crate) type Engine = fn(&Toy, &Scenario, (Conditions, &[Phase]), std::ops::Range<u64>) -> Vec<Finished>;

/// A phase of this many seconds that changes nothing.
fn phase(seconds: u64) -> Phase {
    let lasts = Range::milliseconds(1_000 * seconds, 1_000 * seconds);
    Phase { lasts, cut: Vec::new(), lost: Vec::new(), calls: None, resets: Vec::new() }
}

/// Of the beacons of an hour, those of 100 s are lost while one of the nodes is cut off, or if the script loses them by their first byte.
/// On an ordered link, they wait.
#[test]
fn phases_cut_nodes_off_and_lose_messages() {
    check_cuts_and_losses(scripted);
}

pub(crate) fn check_cuts_and_losses(engine: Engine) {
    let counts = |engine: Engine, second: Phase, network| {
        let script = [phase(10), Phase { lasts: phase(100).lasts, ..second }, phase(1)];
        engine(&beacon(), &scenario(2, network, 0), (hourly(), &script), 1..2).remove(0).counts
    };
    let lost = |kind| Phase { lost: vec![Lost { from: 0, to: 1, kind }], ..phase(1) };
    let cut = |node| Phase { cut: vec![node], ..phase(1) };
    for second in [cut(0), cut(1), lost(None), lost(Some(7))] {
        assert_eq!(counts(engine, second.clone(), Network::Unordered).lost, 100, "{second:?}");
    }
    assert_eq!(counts(engine, lost(Some(8)), Network::Unordered).lost, 0);
    let held = counts(engine, cut(1), Network::Ordered);
    assert_eq!((held.lost, held.delivered), (0, 3_599));
}

/// A phase adds to the conditions: a run with empty phases equals the run without a script.
#[test]
fn the_conditions_of_a_run_hold_in_each_phase() {
    check_that_conditions_hold_in_each_phase(scripted, &Network::ALL);
}

pub(crate) fn check_that_conditions_hold_in_each_phase(engine: Engine, networks: &[Network]) {
    let minute = Duration::from_secs(60);
    let partitions = Some(Partitions { every: minute, lasting: minute });
    // A node that has sent a beacon is in another state than after a reset.
    let toy = (0..2).fold(Toy::new(2).of_kind(0, LocalKind::Timer), |toy, state| {
        toy.rule(0, state, ToyTrigger::Local(0), 1, &[(1, 7)])
    });
    let (unordered, duplicating) = (Network::Unordered, Network::UnorderedDuplicating);
    type Happened = fn(&Counts) -> u64;
    let cases: [(Conditions, Network, Happened); 5] = [
        (Conditions { loss: Share(250_000), ..hourly() }, unordered, |counts| counts.lost),
        (Conditions { partitions, ..hourly() }, unordered, |counts| counts.lost),
        (Conditions { partitions, ..hourly() }, Network::Ordered, |counts| counts.partitions),
        (Conditions { churn: Some(minute), ..hourly() }, unordered, |counts| counts.resets),
        (Conditions { duplicates: Share::ALL, ..hourly() }, duplicating, |counts| {
            counts.delivered.saturating_sub(3_600)
        }),
    ];
    for (conditions, network, happened) in cases.into_iter().filter(|(_, network, _)| networks.contains(network)) {
        let scenario = scenario(2, network, if conditions.churn.is_some() { 1_000 } else { 0 });
        let without = engine(&toy, &scenario, (conditions, &[]), 1..2).remove(0).counts;
        assert!(happened(&without) > 0, "{conditions:?}: {without:?}");
        let script = [phase(10), phase(1)];
        let with = engine(&toy, &scenario, (conditions, &script), 1..2).remove(0).counts;
        assert_eq!(with, without, "{conditions:?}");
    }
}

/// Messages that wait at the end of a phase or partition keep waiting if another one has begun: of one beacon per second, those of the
/// first 10 s arrive.
#[test]
fn messages_on_an_ordered_link_wait_until_nothing_separates_its_ends() {
    check_waiting(scripted);
}

pub(crate) fn check_waiting(engine: Engine) {
    let cut = |seconds| Phase { cut: vec![1], ..phase(seconds) };
    let counts = |script: &[Phase], partitions| {
        let conditions = Conditions { time: Duration::from_secs(110), partitions, ..hourly() };
        engine(&beacon(), &scenario(2, Network::Ordered, 0), (conditions, script), 1..2).remove(0).counts
    };
    let whole = counts(&[phase(10), cut(100), phase(1)], None);
    assert!((9..=10).contains(&whole.delivered), "{whole:?}");
    assert_eq!(counts(&[phase(10), cut(50), cut(50), phase(1)], None), whole);
    // Partitions begin and end while the node is cut off; before that they delay messages.
    let every = Duration::from_secs(3);
    for seconds in [2, 7, 60] {
        let lasting = Duration::from_secs(seconds);
        let both = counts(&[phase(10), cut(100), phase(1)], Some(Partitions { every, lasting }));
        assert!(both.partitions > 0 && both.delivered <= whole.delivered, "{both:?}");
    }
}

/// Each node is called once. In the phase for calls of node 1, node 0 waits, so it never reaches state 1 first; without the script, it is
/// first in half of the runs.
#[test]
fn calls_wait_for_their_phase() {
    check_calls(scripted);
}

pub(crate) fn check_calls(engine: Engine) {
    let toy = (0..2)
        .fold(Toy::new(2).of_kind(0, LocalKind::Application), |toy, node| {
            toy.rule(node, 0, ToyTrigger::Local(0), 1, &[])
        })
        .forbid(&[Some(1), Some(0)]);
    let script = [Phase { calls: Some(vec![1]), ..phase(20) }, phase(1)];
    let scenario = scenario(2, Network::Unordered, 0);
    let with = engine(&toy, &scenario, (Conditions::default(), &script), 0..200);
    assert!(with.iter().all(|run| run.end == End::Quiet && run.counts.local == 2));
    assert!(with.iter().all(|run| run.at.since_start() >= Duration::from_secs(20)));
    let without = engine(&toy, &scenario, (Conditions::default(), &[]), 0..200);
    let violations = without.iter().filter(|run| run.end == End::Violation).count();
    // Of 200 even draws the standard deviation is 7.
    assert!(violations.abs_diff(100) < 35, "{violations}");
}

/// The second phase begins with a reset, after which the node counts again.
#[test]
fn a_phase_begins_with_its_resets() {
    check_resets(scripted);
}

pub(crate) fn check_resets(engine: Engine) {
    let toy = Toy::new(1).rule(0, 0, ToyTrigger::Local(0), 1, &[]).of_kind(0, LocalKind::Timer);
    let script = [phase(10), Phase { resets: vec![0], ..phase(1) }];
    let scenario = scenario(1, Network::Unordered, 1);
    let run = engine(&toy, &scenario, (Conditions::default(), &script), 1..2).remove(0);
    assert_eq!((run.counts.resets, run.counts.local), (1, 2));
}

#[test]
fn loopback_messages_bypass_the_network() {
    check_loopback(scripted);
}

pub(crate) fn check_loopback(engine: Engine) {
    let toy = Toy::new(2).in_flight(0, 0, 1).in_flight(1, 0, 2);
    let lossy = Conditions { loss: Share::ALL, ..Conditions::default() };
    let delivered = |loopback| {
        let scenario = scenario(2, Network::Unordered, 0);
        let run = engine(&toy, &scenario, (Conditions { loopback, ..lossy }, &[]), 0..1).remove(0);
        (run.counts.delivered, run.counts.lost, run.at)
    };
    assert_eq!(delivered(None), (0, 2, crate::time::Time(0)));
    let second = Range::milliseconds(1_000, 1_000);
    assert_eq!(delivered(Some(second)), (1, 1, crate::time::Time(1_000_000_000)));
}

#[test]
fn scripts_that_do_not_fit_are_refused() {
    let toy = Arc::new(beacon());
    let check = |phase: Phase, scenario: Scenario| {
        let lts = Lts::new(&toy, scenario).expect("it is native");
        let mut stepper = Stepper::new(&lts).expect("it is native");
        let starts = start::initial(&mut stepper).expect("nothing is refused");
        let script = [phase];
        let simulator = Simulator::new(&mut stepper, &starts, Conditions::default()).expect("it makes sense");
        simulator.scripted(&script).err()
    };
    let plain = || Scenario::new(2);
    let lost = |from, to| Phase { lost: vec![Lost { from, to, kind: None }], ..phase(1) };
    for named in [
        Phase { cut: vec![2], ..phase(1) },
        Phase { calls: Some(vec![2]), ..phase(1) },
        Phase { resets: vec![2], ..phase(1) },
        lost(2, 0),
        lost(0, 2),
    ] {
        assert_eq!(check(named, plain()), Some(SimulatorError::Script(ScriptError::Node(1, 2, 2))));
    }
    let ordered = check(lost(0, 1), scenario(2, Network::Ordered, 0));
    assert_eq!(ordered, Some(SimulatorError::Script(ScriptError::Ordered(1, 0, 1))));
    let resets = check(Phase { resets: vec![0], ..phase(1) }, plain());
    assert_eq!(resets, Some(SimulatorError::Script(ScriptError::NoResets(1))));
    let backwards = Phase { lasts: Range::milliseconds(2, 1), ..phase(1) };
    assert_eq!(check(backwards, plain()), Some(SimulatorError::Script(ScriptError::Range(1))));
}
