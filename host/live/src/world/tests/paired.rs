//! Runs of nodes with checkers and rare combinations: scripts that reset and lose, walks, handlers that trap, a stop in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use host_model::contract::{Stop, Stopped};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Network;
use host_model::trace::start;

use super::watched::{Asked, Tally, asked, compare};
use crate::simulator::{Lost, Phase};
use crate::time::Range;
use crate::world::{Checkers, Part, Runtime};

/// The options of a run with a seed, with walks, and a script that resets and loses where links have no order.
fn paired(seed: u64) -> Asked {
    let mut asked = asked(seed);
    if !seed.is_multiple_of(4) {
        asked.toy = Arc::new((*asked.toy).clone().with_random_traps(seed));
    }
    if seed.is_multiple_of(2) {
        asked.profile.limits.walks_max = 5;
    }
    if asked.scenario.network == Network::Unordered {
        let phase = |resets: &[u32], from: u32| Phase {
            lasts: Range::milliseconds(500, 3_000),
            cut: Vec::new(),
            lost: vec![Lost { from, to: (from + 1) % 3, kind: None }],
            calls: None,
            resets: resets.to_vec(),
        };
        asked.script = vec![phase(&[], 0), phase(&[(seed % 3) as u32], 1), phase(&[0, 1], 2)];
    }
    asked
}

/// On random systems, as without these: a steered run in which nothing was prevented is its control run, and all runs replay.
#[test]
fn checkers_follow_scripts_walks_and_handlers_that_trap() {
    let mut tally = Tally::default();
    (0..80).for_each(|seed| compare(seed, &paired(seed), &mut tally));
    for name in ["rounds", "predicting", "filtered", "foreseen", "failed", "resets", "lost"] {
        assert!(tally.get(name).is_some_and(|count| *count > 2), "{name}: {tally:?}");
    }
}

/// Stops after this many questions.
struct After {
    times: AtomicU64,
    asked: AtomicU64,
}

impl Stop for After {
    fn reason(&self) -> Option<Stopped> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        (asked >= self.times.load(Ordering::Relaxed)).then_some(Stopped::Interrupted)
    }
}

/// A run has a result only without a stop, wherever that happens. Explorations that were stopped do not affect later runs: these
/// are as they would be without the stop.
#[test]
fn what_was_explored_until_a_stop_is_not_kept() {
    let mut stopped = 0;
    for seed in [0, 2, 5, 9, 13, 16] {
        let Asked { toy, scenario, conditions, troubles, profile, .. } = asked(seed);
        let lts = Lts::new(&toy, scenario.clone()).expect("it is native");
        let mut stepper = Stepper::new(&lts).expect("it is native");
        let starts = start::initial(&mut stepper).expect("nothing is refused");
        let runtime = Stepper::new(&lts).expect("it is native");
        let runtime = Runtime::new(runtime, &toy, &starts, conditions, troubles).expect("the conditions make sense");
        let stop = After { times: AtomicU64::new(u64::MAX), asked: AtomicU64::new(0) };
        let checkers = || Checkers::new(&toy, &scenario, profile).expect("it is native").stopped_by(&stop);
        let run = |checkers: &Checkers<'_>, times: u64| {
            stop.times.store(times, Ordering::Relaxed);
            stop.asked.store(0, Ordering::Relaxed);
            runtime.run_watched(seed, checkers, Part::Steer).map(|ran| (ran.finished.digest, ran.watched))
        };
        let whole = run(&checkers(), u64::MAX).expect("nothing stops it");
        let asked = stop.asked.load(Ordering::Relaxed);
        for part in 0..10 {
            let checkers = checkers();
            assert_eq!(run(&checkers, asked * part / 10), Err(Stopped::Interrupted.into()), "{seed}: {part} of 10");
            assert_eq!(run(&checkers, u64::MAX), Ok(whole), "{seed}: after {part} of 10");
            stopped += 1;
        }
    }
    assert_eq!(stopped, 60);
}
