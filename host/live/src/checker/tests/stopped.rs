//! Rounds that are stopped at any poll.

use std::sync::atomic::{AtomicU64, Ordering};

use host_model::contract::{Stop, Stopped};

use super::*;

/// Stops for good after this many polls.
struct After {
    left: AtomicU64,
    asked: AtomicU64,
}

impl After {
    fn new(times: u64) -> Self {
        Self { left: AtomicU64::new(times), asked: AtomicU64::new(0) }
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    fn set(&self, times: u64) {
        self.left.store(times, Ordering::Relaxed);
        self.asked.store(0, Ordering::Relaxed);
    }
}

impl Stop for After {
    fn reason(&self) -> Option<Stopped> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let left = |left: u64| left.checked_sub(1);
        let has_left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok();
        (!has_left).then_some(Stopped::Time)
    }
}

/// A sample of the polls: the first and the last ones.
fn some_of(asked: u64) -> impl Iterator<Item = u64> {
    (0..asked).filter(move |times| times.min(&(asked - 1 - times)) < &2)
}

/// A stopped round reports that it was cut short and never that it is complete; its predictions replay. A round that is not stopped is the
/// same as without a stop.
#[test]
fn a_stopped_round_says_so_and_its_predictions_stand() {
    let (mut cut, mut predicting) = (0, 0);
    for (toy, at) in cases(60) {
        let (factory, scenario, stop) = (Arc::new(toy), Scenario::new(2), After::new(u64::MAX));
        let new = || Checker::new(&factory, scenario.clone(), limits(false)).expect("it is native").stopped_by(&stop);
        let whole = new().round(&beginning_of(&at)).expect("it is a state of the toy");
        assert!(whole.is_complete && !whole.is_cut);
        for times in some_of(stop.asked()) {
            stop.set(times);
            let round = new().round(&beginning_of(&at)).expect("it is a state of the toy");
            assert!(round.is_cut && !round.is_complete && round.work <= whole.work, "{times}: {round:?}");
            let origin = Origin::States(Arc::clone(&round.beginning));
            for Prediction { steps, finding, .. } in &round.predictions {
                trace::confirm(&factory, &scenario, &origin, steps, finding).expect("it replays");
            }
            cut += 1;
            predicting += u32::from(!round.predictions.is_empty());
        }
    }
    assert!(cut > 100 && predicting > 5, "{cut} {predicting}");
}

/// Filters that were not fully explored are dropped: wherever the search was stopped, filters found are safe by the reference, and if none
/// are found, the node is not reported as unhelpful.
#[test]
fn filters_that_could_not_be_explored_are_not_used() {
    let (mut found, mut none) = (0, 0);
    for (toy, at) in cases(200) {
        if !is_violated(&toy, &reach(&toy, &at, &BTreeSet::new()).expect("it is small")) {
            continue;
        }
        let (factory, stop) = (Arc::new(toy.clone()), After::new(u64::MAX));
        let checker = Checker::new(&factory, Scenario::new(2), limits(true)).expect("it is native");
        let mut checker = checker.stopped_by(&stop);
        let round = checker.round(&beginning_of(&at)).expect("it is a state of the toy");
        stop.set(u64::MAX);
        let whole = checker.steer(0, &round).expect("it is native");
        assert!(!whole.is_cut);
        for times in some_of(stop.asked()) {
            stop.set(times);
            let Steering { patterns, is_unhelpful, is_cut, .. } = checker.steer(0, &round).expect("it is native");
            assert!(is_cut && !is_unhelpful, "{times}: {patterns:?}");
            if patterns.is_empty() {
                none += 1;
                continue;
            }
            found += 1;
            let with = reach(&toy, &at, &patterns).expect("there are not more states than without");
            assert!(!is_violated(&toy, &with), "{toy:?} {at:?} {patterns:?}");
        }
    }
    assert!(found > 20 && none > 50, "{found} {none}");
}

/// After a smaller round, the full limits can be set again.
#[test]
fn the_reach_of_a_round_can_change() {
    let toy = (0..40).fold(Toy::new(2), |toy, state| toy.rule(0, state, ToyTrigger::Message(1, 1), state + 1, &[]));
    let at: Global = (vec![0, 0], BTreeMap::from([((1, 0, 1), 40)]));
    let factory = Arc::new(toy.forbid(&[Some(40), None]));
    let mut checker = Checker::new(&factory, Scenario::new(2), limits(false)).expect("it is native");
    let predicted = [(100, 100), (20, 20), (100, 0), (20, 100), (0, 0)].map(|(events_max, states_max)| {
        checker.set_reach(Reach { events_max, states_max });
        let round = checker.round(&beginning_of(&at)).expect("it is a state of the toy");
        // The violation is found along the past path with any limits.
        assert!(!round.is_cut);
        round.predictions.len()
    });
    assert_eq!(predicted, [1, 1, 2, 2, 1]);
}
