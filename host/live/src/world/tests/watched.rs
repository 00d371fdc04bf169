//! Runs of nodes with checkers: those that observe change nothing, and a steered run is an execution of the model.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use host_model::contract::{Judgement, LocalKind};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Network, Scenario};
use host_model::toys::Toy;
use host_model::trace::start;
use host_model::trace::{self, Origin, TraceEvent, TraceStep};
use host_search::kernel::rules::Rules;

use super::runtime::replay;
use super::seeds;
use crate::checker::Limits;
use crate::simulator::tests::{rough, scenario};
use crate::simulator::{Conditions, Finished, Phase};
use crate::time::Range;
use crate::world::{Checkers, Part, Profile, Runtime, Trouble, Troubles, Watched};

/// The number of events of each kind, over all seeds.
pub(super) type Tally = BTreeMap<&'static str, u64>;

/// The options of a run with a seed.
pub(super) struct Asked {
    pub(super) toy: Arc<Toy>,
    pub(super) scenario: Scenario,
    pub(super) conditions: Conditions,
    pub(super) troubles: Troubles,
    pub(super) script: Vec<Phase>,
    pub(super) profile: Profile,
}

pub(super) fn asked(seed: u64) -> Asked {
    let toy = match seed % 3 {
        0 => Toy::random(seed, 3).with_random_promises(seed, false),
        1 => Toy::random_busy(seed, 3).with_random_errors(seed),
        _ => Toy::random_busy(seed, 3).with_random_draws(seed),
    };
    let toy = toy
        .with_random_durable(seed)
        .in_medium(seeds::medium(seed))
        .of_kind(0, LocalKind::Timer)
        .of_kind(1, LocalKind::Application);
    let is_ordered = seed % 4 == 3;
    let network = if is_ordered { Network::Ordered } else { Network::Unordered };
    let scenario = scenario(3, network, if is_ordered { 0 } else { 100 });
    let bit = |place: u64| seed >> place & 1 > 0;
    let trouble = |is: bool, to: u64| {
        let lasting = Range::milliseconds(1, to);
        is.then_some(Trouble { every: Duration::from_secs(2), lasting })
    };
    let troubles = Troubles {
        down: Range::milliseconds(0, if bit(1) { 700 } else { 0 }),
        cuts: trouble(bit(2), 2_000),
        pauses: trouble(bit(3), 2_000),
        jumps: trouble(bit(4), 60_000),
    };
    let rough = rough(&scenario);
    let conditions = Conditions {
        churn: rough.churn.filter(|_| bit(0)),
        partitions: rough.partitions.filter(|_| bit(2)),
        continues: bit(5),
        time: Duration::from_secs(12),
        events_max: 300,
        ..rough
    };
    let phase = |calls: Option<Vec<u32>>| Phase {
        lasts: Range::milliseconds(1_000, 2_000),
        cut: Vec::new(),
        lost: Vec::new(),
        calls,
        resets: Vec::new(),
    };
    let script = if bit(6) { vec![phase(Some(vec![1])), phase(None)] } else { Vec::new() };
    let times = if seed.is_multiple_of(5) { Profile::thesis() } else { Profile::ours() };
    let limits = Limits { events_max: 100, states_max: 50, promises: bit(1).then(Rules::default), ..times.limits };
    let profile = Profile {
        limits,
        hold: (seed.is_multiple_of(3) || seed.is_multiple_of(5)).then_some(100),
        neighbours: bit(3),
        ..times
    };
    Asked { toy: Arc::new(toy), scenario, conditions, troubles, script, profile }
}

/// Compares a run without checkers, an observed run, the control run of a steered one, and the steered one; each twice.
pub(super) fn compare(seed: u64, asked: &Asked, tally: &mut Tally) {
    let Asked { toy, scenario, conditions, troubles, script, profile } = asked;
    let lts = Lts::new(toy, scenario.clone()).expect("it is native");
    let mut stepper = Stepper::new(&lts).expect("it is native");
    let starts = start::initial(&mut stepper).expect("nothing is refused");
    let runtime = Stepper::new(&lts).expect("it is native");
    let runtime = Runtime::new(runtime, toy, &starts, *conditions, *troubles).expect("the conditions make sense");
    let runtime = runtime.scripted(script).expect("the script makes sense");
    let checkers = Checkers::new(toy, scenario, *profile).expect("it is native");
    // A run that ends with its first violation is a prefix of the one that continues.
    let ending = conditions.continues.then(|| {
        let stepper = Stepper::new(&lts).expect("it is native");
        let conditions = Conditions { continues: false, ..*conditions };
        let ending = Runtime::new(stepper, toy, &starts, conditions, *troubles).expect("the conditions make sense");
        ending.scripted(script).expect("the script makes sense")
    });
    let facts = |run: &Finished| (run.digest, run.counts, run.end, run.at, run.violated, run.kept.clone());
    let mut plain = runtime.path(seed).expect("nothing is broken").0;
    let mut of_control = String::new();
    for part in [Part::Observe, Part::Control, Part::Steer] {
        let what = format!("system {seed}, {part:?}");
        let of = || runtime.path_watched(seed, &checkers, part).expect("nothing is broken");
        let (run, start, path, watched, firsts) = of();
        let again = of();
        assert_eq!((facts(&run), watched), (facts(&again.0), again.3), "{what}");
        if let Some(ending) = &ending {
            let (first, _, prefix, ..) = ending.path_watched(seed, &checkers, part).expect("nothing is broken");
            assert!(first.violated == run.violated && path.starts_with(&prefix), "{what}");
        }
        let Watched { filtered, immediate, foreseen, .. } = watched;
        let kept = filtered + immediate + foreseen;
        assert!(part == Part::Steer || kept == 0, "{what}: {watched:?}");
        // Snapshots tell nodes of each other's starts, and messages for a former start are dropped, except over connections.
        let restarts = scenario.network == Network::Unordered
            && (conditions.churn.is_some() || script.iter().any(|phase| !phase.resets.is_empty()));
        if kept == 0 && (!restarts || part == Part::Steer) {
            assert_eq!(facts(&run), facts(&plain), "{what}: nothing was kept from happening, {watched:?}");
        }
        // So a steered run that prevents nothing takes the place of its control run, with what its checkers have found.
        let found = format!("{watched:?} {firsts:?} {path:?}");
        if part == Part::Steer && !watched.has_prevented() {
            assert_eq!(found, of_control, "{what}");
        }
        assert!(watched.helped + watched.unhelpful == 0 || watched.predicting > 0, "{what}: {watched:?}");
        let (steps, _) = replay((toy, scenario), &mut stepper, (&start, &path), &what);
        for predicted in firsts.violation.iter().chain(&firsts.dead) {
            let origin = Origin::States(Arc::clone(&predicted.round.beginning));
            for prediction in predicted.round.predictions.iter().chain(&predicted.round.dead) {
                let (steps, finding) = (&prediction.steps, &prediction.finding);
                trace::confirm(toy, &predicted.scenario, &origin, steps, finding).expect("it replays");
            }
        }
        let is_violated = |run: &Finished| run.violation.is_some();
        let mut note = |name: &'static str, count: u64| *tally.entry(name).or_default() += count;
        note("rounds", watched.rounds);
        note("predicting", watched.predicting);
        note("dying", watched.dying);
        note("filtered", filtered);
        note("immediate", immediate);
        note("foreseen", foreseen);
        note("prevented", u64::from(is_violated(&plain) && !is_violated(&run)));
        note("caused", u64::from(!is_violated(&plain) && is_violated(&run)));
        note("stopped", u64::from(watched.is_stopped));
        note("alike", u64::from(part == Part::Steer && kept == 0 && watched.predicting > 0));
        note("quiet", u64::from(run.end == crate::simulator::End::Quiet));
        note("resets", run.counts.resets);
        note("lost", run.counts.lost);
        let is_break =
            |step: &&TraceStep| matches!(&step.event, TraceEvent::Fault { event, .. } if event.peer().is_some());
        note("breaks", steps.iter().filter(is_break).count() as u64);
        let is_heard = |step: &&TraceStep| matches!(step.event, TraceEvent::TransportError { lost: false, .. });
        note("heard", steps.iter().filter(is_heard).count() as u64);
        note(
            "failed",
            u64::from(run.violation.as_ref().is_some_and(|found| matches!(found.judgement, Judgement::Fault(_)))),
        );
        if part == Part::Control {
            (plain, of_control) = (run, found);
        }
    }
}

/// The results of runs with these seeds and all findings of their checkers: each run is observed, a control run and steered.
fn found(runtime: &Runtime<'_, '_>, checkers: &Checkers<'_>, seeds: &[u64]) -> Vec<String> {
    let mut all = Vec::new();
    for seed in seeds {
        for part in [Part::Observe, Part::Control, Part::Steer] {
            let (run, start, path, watched, firsts) =
                runtime.path_watched(*seed, checkers, part).expect("nothing is broken");
            let Finished { digest, counts, end, at, violated, kept, .. } = run;
            let facts = (digest, counts, end, at, violated, kept);
            let firsts = [firsts.violation, firsts.dead];
            all.push(format!("{seed} {part:?}: {facts:?} {:?} {path:?} {watched:?} {firsts:?}", start.initial));
        }
    }
    all
}

/// On random systems, runs are the same whether checkers share what they explore or each explores by itself, and whatever was explored in
/// runs before.
#[test]
fn rounds_that_are_looked_up_are_those_that_would_be_explored() {
    let (mut explored, mut looked_up) = (0, 0);
    for seed in 0..50 {
        let Asked { toy, scenario, conditions, troubles, script, profile } = asked(seed);
        let lts = Lts::new(&toy, scenario.clone()).expect("it is native");
        let mut stepper = Stepper::new(&lts).expect("it is native");
        let starts = start::initial(&mut stepper).expect("nothing is refused");
        let runtime = Stepper::new(&lts).expect("it is native");
        let runtime = Runtime::new(runtime, &toy, &starts, conditions, troubles).expect("the conditions make sense");
        let runtime = runtime.scripted(&script).expect("the script makes sense");
        let checkers = || Checkers::new(&toy, &scenario, profile).expect("it is native");
        let shared = checkers();
        let seeds = [seed, seed + 1, seed];
        let together = found(&runtime, &shared, &seeds);
        let alone = found(&runtime, &checkers().alone(&toy), &seeds);
        for (one, other) in together.iter().zip(&alone) {
            assert_eq!(one, other, "system {seed}");
        }
        explored += shared.counted().0;
        looked_up += shared.counted().1;
    }
    assert!(explored > 100 && looked_up > explored, "{explored} rounds explored, {looked_up} looked up");
}

#[test]
fn checkers_of_nodes_change_nothing_but_what_they_keep_from_happening() {
    let mut tally = Tally::default();
    (0..200).for_each(|seed| compare(seed, &asked(seed), &mut tally));
    for name in
        ["rounds", "predicting", "dying", "filtered", "immediate", "foreseen", "prevented", "quiet", "resets", "alike"]
    {
        assert!(tally.get(name).is_some_and(|count| *count > 2), "{name}: {tally:?}");
    }
}
