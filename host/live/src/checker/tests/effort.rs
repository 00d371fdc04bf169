//! The effort of a round besides its counts.

use host_model::contract::PropertyKind;

use super::*;

/// Seven nodes that go from state 0 to 3 by themselves, and a property that reads all of them and is never violated, as node 0 stays.
fn side_by_side() -> Toy {
    let toy = (1..8).fold(Toy::new(8), |toy, node| {
        (0..3).fold(toy, |toy, state| toy.rule(node, state, ToyTrigger::Local(0), state + 1, &[]))
    });
    (1..4).fold(toy, |toy, state| toy.forbid(&[&[Some(9)][..], &[Some(state); 7]].concat()))
}

/// The round from the start of a toy of eight nodes in this many steps, and the evaluations that it took.
fn round_within(toy: Toy, steps_max: u64, promises: bool) -> (Round, u64) {
    let factory = Arc::new(toy);
    let limits = Limits { steps_max, states_max: 0, ..limits(promises) };
    let mut checker = Checker::new(&factory, Scenario::new(8), limits).expect("it is native");
    let round = checker.round(&beginning_of(&(vec![0; 8], BTreeMap::new()))).expect("it is a state of the toy");
    let evaluations = checker.lts().evaluations();
    (round, evaluations)
}

/// The states of seven nodes go together in 4^7 ways, and all but one have a view: a round evaluates the property on all of them, or
/// says that it has not explored everything. What shows right after an event it predicts all the same.
#[test]
fn states_that_go_together_are_not_all_looked_at_where_there_are_too_many() {
    let (whole, evaluations) = round_within(side_by_side(), u64::MAX, false);
    assert!(whole.is_complete && whole.predictions.is_empty());
    assert_eq!(evaluations, 4u64.pow(7) - 1);
    for steps_max in [0, 100_000, 1_000_000] {
        let (part, evaluations) = round_within(side_by_side(), steps_max, false);
        assert!(!part.is_complete && !part.is_cut && part.predictions.is_empty());
        // It asks whether to continue after 128 of them, here and where states are gone through, and has one state per event besides.
        assert!(evaluations <= steps_max / 500 + 2 * 128 + 22, "{steps_max}: {evaluations}");
        let wrong = side_by_side().forbid(&[&[None, Some(1)][..], &[None; 6]].concat());
        let (part, _) = round_within(wrong, steps_max, false);
        assert!(!part.predictions.is_empty(), "{steps_max}");
    }
}

/// Nothing that a round says depends on what can be reached, nor, where promises do not count, on these: no question concerns them.
#[test]
fn what_is_of_no_use_is_not_evaluated() {
    let of_kind = |kind| {
        let mut toy = side_by_side().promise("more", &[&[Some(0); 8]]);
        toy.forbidden.clear();
        let property = toy.properties.last_mut().expect("it has one");
        property.kind = kind;
        toy
    };
    let evaluations = |kind, promises| {
        let (round, evaluations) = round_within(of_kind(kind), u64::MAX, promises);
        assert!(round.is_complete && round.predictions.is_empty() && round.violated.is_empty());
        evaluations
    };
    assert_eq!(evaluations(PropertyKind::Sometimes, true), 0);
    assert_eq!(evaluations(PropertyKind::Eventually, false), 0);
    // Each of seven nodes at the start or elsewhere; that in which all are there by the round as well as by the search.
    assert_eq!(evaluations(PropertyKind::Eventually, true), 1 + 2u64.pow(7));
    let factory = Arc::new(of_kind(PropertyKind::Eventually));
    let promised = |promises| {
        let checker = Checker::new(&factory, Scenario::new(8), limits(promises)).expect("it is native");
        checker.lts().promises().len()
    };
    assert_eq!([false, true].map(promised), [0, 1]);
}

/// A round is cut short where its searches take more memory than they may, and says so; with the memory of the default it is complete.
#[test]
fn a_round_is_cut_short_where_it_takes_too_much_memory() {
    let factory = Arc::new(side_by_side());
    for (round_bytes_max, is_cut) in [(1, true), (Limits::default().round_bytes_max, false)] {
        let limits = Limits { round_bytes_max, states_max: 0, ..limits(false) };
        let mut checker = Checker::new(&factory, Scenario::new(8), limits).expect("it is native");
        let round = checker.round(&beginning_of(&(vec![0; 8], BTreeMap::new()))).expect("it is a state of the toy");
        assert_eq!((round.is_cut, round.is_complete), (is_cut, !is_cut));
    }
}
