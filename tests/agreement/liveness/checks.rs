//! Promises from the search to an execution that breaks one: replayed, stopped and refused.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use host_agreement::effort::{enough, systems, telling};
use host_agreement::reference::System;
use host_agreement::reference::progress::{Within, progress};
use host_agreement::stopping::Stopping;
use host_model::contract::NodeId;
use host_model::lts::{Lts, Step, Stepper};
use host_model::scenario::{Faults, Network};
use host_model::trace;
use host_model::trace::replay::Replay;
use host_model::trace::start::{self, Start};
use host_search::kernel::BreachClass;
use host_search::kernel::rules::Rules;
use host_search::kernel::{EndCondition, Monitor, Progress, Search, SearchBounds, Unmonitored};
use host_search::liveness::{self, Checked};

use super::counted::{duelling_proposers, lock_server};
use super::toys::{STATES_MAX, random};

/// Checks the promises of a system.
fn check(
    system: &System,
    bounds: SearchBounds,
    monitor: &dyn Monitor,
    work: &mut dyn FnMut(&Lts<'_>, &[Start], Checked),
) {
    let factory = Arc::new(system.toy.clone());
    let lts = Lts::new(&factory, system.scenario()).expect("a toy lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
    let search = Search { lts: &lts, starts: &starts, bounds, monitor, collect_system_states: false };
    let checked = liveness::check(&search, Rules::default()).expect("a toy has no host faults");
    work(&lts, &starts, checked);
}

/// The messages in flight in a replay, and the last state of each node that has moved.
type Where = (Vec<(NodeId, NodeId, Vec<u8>)>, BTreeMap<NodeId, Option<Vec<u8>>>);

/// Executes a path and a cycle twice in fresh machines: the second round ends where the first one did.
fn replays_twice_round(system: &System, lts: &Lts<'_>, start: &Start, prefix: &[Step], cycle: &[Step]) {
    let path: Vec<Step> = [&start.path, prefix, cycle, cycle].concat();
    let mut stepper = Stepper::new(lts).expect("a machine");
    let steps = trace::record(&mut stepper, &start.initial, &path).expect("a toy has no host faults");
    let factory = Arc::new(system.toy.clone());
    let (mut replay, _) = Replay::new(&factory, lts.scenario(), &start.origin).expect("a toy starts");
    let mut states: BTreeMap<NodeId, Option<Vec<u8>>> = BTreeMap::new();
    let mut rounds: Vec<Where> = Vec::new();
    for (number, step) in (1..).zip(&steps) {
        let report = replay.step(step).expect("what is reported replays");
        states.insert(step.node, report.state);
        if number == steps.len() - cycle.len() || number == steps.len() {
            let in_flight = replay.in_flight().map(|(from, to, payload)| (from, to, payload.to_vec()));
            rounds.push((in_flight.collect(), states.clone()));
        }
    }
    assert!(cycle.is_empty() || rounds[0] == rounds[1], "{rounds:?}");
}

#[test]
fn breaches_replay_in_fresh_machines_and_cycles_twice_round() {
    let mut seen = BTreeMap::new();
    for seed in 0..systems(1_000) {
        let system = random(seed);
        // A system that sends more than it receives is endless.
        if progress(&system, Within::default(), STATES_MAX).is_none() {
            continue;
        }
        let bounds = SearchBounds { violations: Some(u64::MAX), ..SearchBounds::default() };
        check(&system, bounds, &Unmonitored, &mut |lts, starts, checked| {
            let verdicts = checked.promises.iter().map(|(_, verdict)| verdict.as_ref().expect("nothing ends it"));
            for breach in verdicts.flat_map(|verdict| checked.breaches(verdict)) {
                replays_twice_round(&system, lts, &starts[breach.start], &breach.prefix, &breach.cycle);
                // The way that keeps the promise begins where the critical step is taken.
                let before = breach.prefix.len() - usize::from(breach.critical.is_some());
                let sibling = [&breach.prefix[..before], &breach.sibling].concat();
                replays_twice_round(&system, lts, &starts[breach.start], &sibling, &[]);
                *seen.entry(breach.class).or_insert(0) += 1;
            }
        });
    }
    telling(seen.len() == 3 && seen.values().all(|count| *count > enough(50)), format_args!("{seen:?}"));
}

/// Wherever the monitor stops the exploration or the decision, the search claims only decided facts.
#[test]
fn a_check_that_is_stopped_claims_nothing() {
    let mut whole = Vec::new();
    check(&duelling_proposers(), SearchBounds::default(), &Unmonitored, &mut |_, _, checked| whole = checked.promises);
    let (mut is_done, mut explored) = (false, 0);
    for checks in 0..1_000 {
        let monitor = Stopping::default();
        monitor.checks_left.store(checks, Ordering::Relaxed);
        check(&duelling_proposers(), SearchBounds::default(), &monitor, &mut |_, _, checked| {
            let end = checked.ended.unwrap_or(checked.report.end);
            is_done = end == EndCondition::SpaceExhausted;
            // An exploration that ended before the decision stays complete.
            explored += u64::from(checked.report.end == EndCondition::SpaceExhausted);
            match is_done {
                true => assert_eq!(checked.promises, whole),
                false => {
                    assert_eq!(end, EndCondition::Interrupted);
                    assert!(checked.promises.iter().all(|(_, verdict)| verdict.is_none()));
                }
            }
        });
        if is_done {
            // The monitor was polled at least before the sets of states and before the components.
            assert!(checks > 3 && explored > 2, "{checks}, {explored}");
            return;
        }
    }
    panic!("it never ends");
}

/// A monitor with this much room, in bytes.
struct Room(u64);

impl Monitor for Room {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        (progress.bytes >= self.0).then_some(EndCondition::MemoryBound)
    }
}

#[test]
fn a_decision_without_room_ends_at_the_bound() {
    let system = duelling_proposers();
    let mut bytes = 0;
    check(&system, SearchBounds::default(), &Unmonitored, &mut |lts, _, checked| {
        bytes = checked.recorded.bytes() + lts.counts().bytes;
    });
    check(&system, SearchBounds::default(), &Room(bytes), &mut |_, _, checked| {
        assert_eq!(checked.ended.unwrap_or(checked.report.end), EndCondition::MemoryBound);
        assert!(checked.promises.iter().all(|(_, verdict)| verdict.is_none()));
    });
}

#[test]
fn what_no_state_says_is_refused() {
    let none = Faults::default();
    for (network, faults) in [
        (Network::UnorderedDuplicating, Faults { duplicates: 1, ..none }),
        (Network::Unordered, Faults { crashes: 1, ..none }),
    ] {
        let system = System { network, faults, ..lock_server() };
        // Each lock that is granted twice adds messages.
        let bounds = SearchBounds { states: Some(100), ..SearchBounds::default() };
        check(&system, bounds, &Unmonitored, &mut |lts, _, checked| {
            assert!(liveness::refusal(lts.scenario()).is_some());
            assert!(checked.promises.iter().all(|(_, verdict)| verdict.is_none()));
        });
    }
}

/// At a bound on depth a state is neither dead nor stuck; with each level more is known, and nothing is taken back.
#[test]
fn deeper_searches_take_nothing_back() {
    let (mut dead, mut deepest) = (0, None);
    for depth in 0..12 {
        let bounds = SearchBounds { depth: Some(depth), ..SearchBounds::default() };
        check(&lock_server(), bounds, &Unmonitored, &mut |_, _, checked| {
            let verdict = checked.promises[0].1.clone().expect("nothing ends it");
            assert!(verdict.dead_states >= dead);
            dead = verdict.dead_states;
            if let Some(breach) = checked.breaches(&verdict).first()
                && breach.class == BreachClass::Dead
            {
                deepest.get_or_insert(depth);
            }
        });
    }
    // s6 and s7 are six and seven events away, and the search has to expand s7 to see that no event is possible there.
    assert_eq!((dead, deepest), (2, Some(7)));
}
