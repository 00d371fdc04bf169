//! Seeds, conditions and violations, on toys.
//!
//! | module | what it holds |
//! |---|---|
//! | `combinations` | every pair of options, on random systems |
//! | `outages` | restarts that lose what was not synced, compared with what can be on the disk |
//! | `promises` | the time that promises are kept |
//! | `replayed` | a run compared with its replay |
//! | `scripts` | phases of runs |

mod combinations;
mod outages;
mod promises;
mod replayed;
pub(crate) mod scripts;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use host_model::contract::LocalKind;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Network, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::replay::Replay;
use host_model::trace::start::{self, Start};
use host_model::trace::{self, TraceStep};
use host_search::kernel::FoundViolation;

use crate::time::{Range, Share};

use super::{Conditions, ConditionsError, Delays, End, Finished, Partitions, Phase, Simulator, SimulatorError};

/// The runs with these seeds in one local transition system. Each path is executed again by machines without memo and snapshots, which
/// confirms a violation at its end.
pub(crate) fn runs(
    toy: &Toy,
    scenario: &Scenario,
    conditions: Conditions,
    seeds: impl Iterator<Item = u64>,
) -> Vec<Finished> {
    scripted(toy, scenario, (conditions, &[]), seeds)
}

/// Like [`runs`], with a script.
pub(crate) fn scripted(
    toy: &Toy,
    scenario: &Scenario,
    (conditions, script): (Conditions, &[Phase]),
    seeds: impl Iterator<Item = u64>,
) -> Vec<Finished> {
    with_starts(toy, scenario, |factory, lts, starts| {
        let mut stepper = Stepper::new(lts).expect("it is native");
        let simulator = Simulator::new(&mut stepper, starts, conditions).expect("the conditions make sense");
        let mut simulator = simulator.scripted(script).expect("the script makes sense");
        let finished: Vec<Finished> = seeds.map(|seed| simulator.run(seed).expect("it is native")).collect();
        for violation in finished.iter().filter_map(|run| run.violation.as_ref()) {
            let steps = confirmed(factory, lts, violation);
            let (mut replay, _) = Replay::new(factory, scenario, &violation.origin).expect("it is native");
            let is_early = |step| {
                replay.step(step).expect("it replays");
                !replay.findings().expect("it is native").is_empty()
            };
            let early: Vec<bool> = steps[..steps.len().saturating_sub(1)].iter().map(is_early).collect();
            let sometimes = lts.properties().len() > 1;
            assert!(sometimes || !early.contains(&true), "the first violation ends a run");
        }
        finished
    })
}

/// Does something with a toy, its local transition system and its start states.
pub(crate) fn with_starts<R>(
    toy: &Toy,
    scenario: &Scenario,
    then: impl FnOnce(&Arc<Toy>, &Lts<'_>, &[Start]) -> R,
) -> R {
    let factory = Arc::new(toy.clone());
    let lts = Lts::new(&factory, scenario.clone()).expect("it is native");
    let starts = start::initial(&mut Stepper::new(&lts).expect("it is native")).expect("nothing is refused");
    then(&factory, &lts, &starts)
}

/// The steps to a violation, which machines without memo and snapshots confirm.
pub(crate) fn confirmed(factory: &Arc<Toy>, lts: &Lts<'_>, violation: &FoundViolation) -> Vec<TraceStep> {
    let mut stepper = Stepper::new(lts).expect("it is native");
    let finding = violation.finding(&mut stepper).expect("it is native");
    let steps = trace::record(&mut stepper, &violation.initial, &violation.path).expect("it is native");
    trace::confirm(factory, lts.scenario(), &violation.origin, &steps, &finding).expect("it replays");
    steps
}

/// Conditions with every fault that the scenario allows.
pub(crate) fn rough(scenario: &Scenario) -> Conditions {
    let is_ordered = scenario.network == Network::Ordered;
    let duplicates = scenario.network == Network::UnorderedDuplicating;
    Conditions {
        loss: Share(if is_ordered { 0 } else { 100_000 }),
        duplicates: Share(if duplicates { 300_000 } else { 0 }),
        churn: (scenario.faults.resets > 0).then_some(Duration::from_secs(1)),
        partitions: Some(Partitions { every: Duration::from_secs(5), lasting: Duration::from_secs(1) }),
        time: Duration::from_secs(60),
        ..Conditions::default()
    }
}

pub(crate) fn scenario(nodes: u32, network: Network, resets: u32) -> Scenario {
    let mut scenario = Scenario::new(nodes);
    scenario.network = network;
    scenario.faults.resets = resets;
    scenario.faults.duplicates = u32::from(network == Network::UnorderedDuplicating);
    scenario
}

/// On random systems: a run does not depend on those before it, seeds give different runs, and violations replay under every network.
#[test]
fn a_seed_decides_everything_and_violations_replay() {
    let mut ends = BTreeSet::new();
    let (mut digests, mut count) = (BTreeSet::new(), 0);
    for seed in 0..150 {
        let toy = match seed % 3 {
            0 => Toy::random(seed, 3).with_random_durable(seed).with_random_errors(seed),
            1 => Toy::random(seed, 3).with_random_starts(seed).with_random_traps(seed),
            _ => Toy::random_busy(seed, 3),
        };
        let network = Network::ALL[(seed / 3 % 3) as usize];
        let scenario = scenario(3, network, (seed / 9 % 2) as u32 * 3);
        let mut conditions = Conditions { events_max: 500, ..rough(&scenario) };
        if seed % 2 == 0 {
            conditions.partitions = None;
        }
        let together = runs(&toy, &scenario, conditions, 0..4);
        let alone = runs(&toy, &scenario, conditions, 3..4);
        let facts = |run: &Finished| (run.seed, run.end, run.at, run.counts, run.digest, run.witnessed.clone());
        assert_eq!(facts(&together[3]), facts(&alone[0]), "system {seed}");
        for run in together.iter().filter(|run| run.counts.events > 20) {
            digests.insert(run.digest);
            count += 1;
        }
        ends.extend(together.iter().map(|run| format!("{:?}", run.end)));
    }
    assert!(count > 50 && digests.len() == count, "{} digests of {count} runs", digests.len());
    assert_eq!(ends.into_iter().collect::<Vec<_>>(), ["Events", "Quiet", "Time", "Violation"]);
}

/// Node 0 has a timer that sends a message to node 1 each time.
fn beacon() -> Toy {
    Toy::new(2).rule(0, 0, ToyTrigger::Local(0), 0, &[(1, 7)]).of_kind(0, LocalKind::Timer)
}

/// Once a second for an hour.
fn hourly() -> Conditions {
    let second = Range::milliseconds(1_000, 1_000);
    let delays = Delays { timer: second, ..Conditions::default().delays };
    Conditions { delays, latency: Range::milliseconds(10, 10), ..Conditions::default() }
}

/// 3,600 beacons; the last is in flight at the end. Of n draws with probability p the standard deviation is
/// sqrt(n p (1 - p)): 26 for a quarter of 3,600, 7.7 for the resets of an hour, once a minute: gaps are even between 0 and 2 minutes, so
/// their deviation is 0.58 of the mean.
#[test]
fn conditions_are_what_they_say() {
    let run = |conditions, scenario: &Scenario| runs(&beacon(), scenario, conditions, 1..2).remove(0);
    let counts = run(hourly(), &Scenario::new(2)).counts;
    assert_eq!((counts.local, counts.delivered, counts.lost), (3_600, 3_599, 0));

    let counts = run(Conditions { loss: Share(250_000), ..hourly() }, &Scenario::new(2)).counts;
    assert!(counts.lost.abs_diff(900) < 130 && counts.lost + counts.delivered + 1 >= 3_600, "{counts:?}");
    assert_eq!(run(Conditions { loss: Share::ALL, ..hourly() }, &Scenario::new(2)).counts.delivered, 0);

    let twice = scenario(2, Network::UnorderedDuplicating, 0);
    assert_eq!(run(hourly(), &twice).counts.delivered, 3_599);
    assert_eq!(run(Conditions { duplicates: Share::ALL, ..hourly() }, &twice).counts.delivered, 2 * 3_599);

    // Each partition separates the two nodes, and lasts 10 of 70 seconds: a seventh of the messages, 514 of 3,600.
    let partitions = Some(Partitions { every: Duration::from_secs(60), lasting: Duration::from_secs(10) });
    let parted = Conditions { partitions, ..hourly() };
    let counts = run(parted, &Scenario::new(2)).counts;
    assert!(counts.partitions.abs_diff(51) < 20 && counts.lost.abs_diff(514) < 150, "{counts:?}");
    let counts = run(parted, &scenario(2, Network::Ordered, 0)).counts;
    assert!(counts.lost == 0 && counts.delivered >= 3_580, "{counts:?}");

    let counts = run(Conditions { events_max: 100, ..hourly() }, &Scenario::new(2)).counts;
    assert_eq!(counts.events, 100);
}

/// A node that goes to a forbidden state and back, once a second for an hour.
#[test]
fn a_run_continues_after_a_violation_if_the_conditions_say_so() {
    let toy = (0..2)
        .fold(Toy::new(1), |toy, state| toy.rule(0, state, ToyTrigger::Local(0), 1 - state, &[]))
        .of_kind(0, LocalKind::Timer)
        .forbid(&[Some(1)]);
    let facts = |continues| {
        let run = runs(&toy, &Scenario::new(1), Conditions { continues, ..hourly() }, 1..2).remove(0);
        (run.end, run.counts.events, run.counts.violating, run.violated.map(|at| at.since_start().as_secs()))
    };
    assert_eq!(facts(false), (End::Violation, 1, 1, Some(1)));
    assert_eq!(facts(true), (End::Time, 3_600, 1_800, Some(1)));
    // A node that has failed ends every run.
    let trap = |continues| {
        let toy = Toy::new(1).trap(0, 0, ToyTrigger::Local(0)).of_kind(0, LocalKind::Timer);
        runs(&toy, &Scenario::new(1), Conditions { continues, ..hourly() }, 1..2).remove(0).end
    };
    assert_eq!([trap(false), trap(true)], [End::Violation; 2]);
}

/// Node 0 leaves its first state, so that a reset changes something.
#[test]
fn nodes_are_reset_at_the_rate_of_churn() {
    let toy = Toy::new(2)
        .rule(0, 0, ToyTrigger::Local(0), 1, &[])
        .rule(0, 1, ToyTrigger::Local(0), 1, &[])
        .of_kind(0, LocalKind::Timer);
    let churn = Conditions { churn: Some(Duration::from_secs(60)), ..hourly() };
    // Resets of node 1 would change nothing, and do not happen.
    let counts = runs(&toy, &scenario(2, Network::Unordered, 100), churn, 1..2).remove(0).counts;
    assert!(counts.resets.abs_diff(30) < 18, "{counts:?}");
    let counts = runs(&toy, &scenario(2, Network::Unordered, 5), churn, 1..2).remove(0).counts;
    assert_eq!(counts.resets, 5, "the budget is used up");
}

/// Node 0 sends 1, 2 and 3 at once; node 1 must not take a later one first.
#[test]
fn messages_overtake_each_other_where_there_is_no_order() {
    let toy = Toy::new(2).start(0, 0, &[(1, 1), (1, 2), (1, 3)]);
    let toy = (0..3).fold(toy, |toy, state| toy.rule(1, state, ToyTrigger::Message(0, state + 1), state + 1, &[]));
    let toy = [(0, 2), (0, 3), (1, 3)]
        .into_iter()
        .fold(toy, |toy, (state, message)| toy.rule(1, state, ToyTrigger::Message(0, message), 9, &[]));
    let toy = toy.forbid(&[None, Some(9)]);
    let violations = |network| {
        let finished = runs(&toy, &scenario(2, network, 0), Conditions::default(), 0..600);
        finished.iter().filter(|run| run.end == End::Violation).count()
    };
    // One order of six is the right one: 500 of 600 violate, with a deviation of 9.
    assert!(violations(Network::Unordered).abs_diff(500) < 45);
    assert_eq!(violations(Network::Ordered), 0);
}

#[test]
fn conditions_that_do_not_fit_are_refused() {
    let check = |change: &dyn Fn(&mut Conditions), scenario: &Scenario| {
        let mut conditions = Conditions::default();
        change(&mut conditions);
        conditions.check(scenario).err()
    };
    let plain = Scenario::new(2);
    let ordered = scenario(2, Network::Ordered, 0);
    assert_eq!(check(&|_| (), &plain), None);
    let backwards = Range::milliseconds(2, 1);
    assert_eq!(check(&|it| it.latency = backwards, &plain), Some(ConditionsError::Range("latency")));
    assert_eq!(check(&|it| it.delays.timer = backwards, &plain), Some(ConditionsError::Range("timers")));
    assert_eq!(check(&|it| it.loss = Share(1_000_001), &plain), Some(ConditionsError::Share("lost messages")));
    assert_eq!(check(&|it| it.churn = Some(Duration::ZERO), &plain), Some(ConditionsError::Frequency("resets")));
    assert_eq!(check(&|it| it.churn = Some(Duration::MAX), &plain), Some(ConditionsError::TooLong("resets")));
    assert_eq!(check(&|it| it.time = Duration::MAX, &plain), Some(ConditionsError::TooLong("time")));
    assert_eq!(check(&|it| it.loss = Share(1), &ordered), Some(ConditionsError::NoLoss));
    assert_eq!(check(&|it| it.duplicates = Share(1), &plain), Some(ConditionsError::NoDuplicates));
    assert_eq!(check(&|it| it.churn = Some(Duration::from_secs(1)), &plain), Some(ConditionsError::NoResets));

    let toy = Arc::new(
        (0..200)
            .map(|seed| Toy::random(seed, 2).with_random_quorums(seed))
            .find(|toy| toy.takes_quorums(1))
            .expect("some do"),
    );
    let lts = Lts::new(&toy, plain).expect("it is native");
    let mut stepper = Stepper::new(&lts).expect("it is native");
    let starts = start::initial(&mut stepper).expect("nothing is refused");
    let refused = Simulator::new(&mut stepper, &starts, Conditions::default()).err();
    assert!(matches!(refused, Some(SimulatorError::Quorums(_))), "{refused:?}");
}
