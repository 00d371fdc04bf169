//! The effort of a round that its counts do not include.

use host_model::contract::PropertyKind;

use super::*;

/// Seven nodes that go from state 0 to 3 by internal events, and a property that reads all nodes and always holds, since node 0 stays.
fn side_by_side() -> Toy {
    let toy = (1..8).fold(Toy::new(8), |toy, node| {
        (0..3).fold(toy, |toy, state| toy.rule(node, state, ToyTrigger::Local(0), state + 1, &[]))
    });
    (1..4).fold(toy, |toy, state| toy.forbid(&[&[Some(9)][..], &[Some(state); 7]].concat()))
}

/// A round of at most `steps_max` steps from the start of a toy of eight nodes, and the number of evaluations.
fn round_within(toy: Toy, steps_max: u64, promises: bool) -> (Round, u64) {
    let factory = Arc::new(toy);
    let limits = Limits { steps_max, states_max: 0, ..limits(promises) };
    let mut checker = Checker::new(&factory, Scenario::new(8), limits).expect("it is native");
    let round = checker.round(&beginning_of(&(vec![0; 8], BTreeMap::new()))).expect("it is a state of the toy");
    let evaluations = checker.lts().evaluations();
    (round, evaluations)
}

/// The states of seven nodes have 4^7 combinations, and all but one have a view: a round evaluates the property on all of them, or
/// reports that it is incomplete. It still predicts violations right after an event.
#[test]
fn combinations_of_states_are_not_all_evaluated_if_there_are_too_many() {
    let (whole, evaluations) = round_within(side_by_side(), u64::MAX, false);
    assert!(whole.is_complete && whole.predictions.is_empty());
    assert_eq!(evaluations, 4u64.pow(7) - 1);
    for steps_max in [0, 100_000, 1_000_000] {
        let (part, evaluations) = round_within(side_by_side(), steps_max, false);
        assert!(!part.is_complete && !part.is_cut && part.predictions.is_empty());
        // Each of two loops polls the limit every 128 combinations, and each event adds one more state.
        assert!(evaluations <= steps_max / 500 + 2 * 128 + 22, "{steps_max}: {evaluations}");
        let wrong = side_by_side().forbid(&[&[None, Some(1)][..], &[None; 6]].concat());
        let (part, _) = round_within(wrong, steps_max, false);
        assert!(!part.predictions.is_empty(), "{steps_max}");
    }
}

/// A round needs neither `sometimes` properties nor, if promises are ignored, `eventually` ones: they are not evaluated.
#[test]
fn properties_that_a_round_does_not_need_are_not_evaluated() {
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
    // Each of seven nodes is in its first state or another one. The state in which all are in their first ones is evaluated twice: by the
    // round and by the search.
    assert_eq!(evaluations(PropertyKind::Eventually, true), 1 + 2u64.pow(7));
    let factory = Arc::new(of_kind(PropertyKind::Eventually));
    let promised = |promises| {
        let checker = Checker::new(&factory, Scenario::new(8), limits(promises)).expect("it is native");
        checker.lts().promises().len()
    };
    assert_eq!([false, true].map(promised), [0, 1]);
}

/// A round whose searches exceed their limit of memory is cut short, and reports that; with the default limit it is complete.
#[test]
fn a_round_that_takes_too_much_memory_is_cut_short() {
    let factory = Arc::new(side_by_side());
    for (round_bytes_max, is_cut) in [(1, true), (Limits::default().round_bytes_max, false)] {
        let limits = Limits { round_bytes_max, states_max: 0, ..limits(false) };
        let mut checker = Checker::new(&factory, Scenario::new(8), limits).expect("it is native");
        let round = checker.round(&beginning_of(&(vec![0; 8], BTreeMap::new()))).expect("it is a state of the toy");
        assert_eq!((round.is_cut, round.is_complete), (is_cut, !is_cut));
    }
}
