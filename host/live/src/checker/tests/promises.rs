//! Predictions of dead states, against the reference.

use host_model::trace::{Finding, TraceEvent, TraceStep};

use super::*;

/// The states to which a path can lead, by the table of the toy alone; several if a handler chooses.
fn after(toy: &Toy, at: &Global, steps: &[TraceStep]) -> BTreeSet<Global> {
    let mut all = BTreeSet::from([at.clone()]);
    for step in steps {
        let on = match &step.event {
            TraceEvent::Deliver { from, payload } => ToyTrigger::Message(*from, payload.0[0]),
            TraceEvent::Local { payload, .. } => ToyTrigger::Local(payload.0[0]),
            event => panic!("{event:?} does not happen here"),
        };
        let next = |at: &Global| successors(toy, at, &BTreeSet::new());
        let leads_on = all.iter().flat_map(next).filter(|(node, by, _)| (*node, *by) == (step.node, on));
        all = leads_on.map(|(_, _, global)| global).collect();
    }
    all
}

fn dies(toy: &Toy, at: &Global) -> bool {
    is_dead(toy, &reach(toy, at, &BTreeSet::new()).expect("there are not more states than before"))
}

/// If the states ahead are few, a dead state is predicted exactly if one of them is dead. If they are too many for a round, predictions are
/// still true. Each prediction replays, to a dead state.
#[test]
fn dead_states_are_predicted_only_where_there_are_some() {
    let (mut dead, mut alive, mut bounded) = (0, 0, 0);
    for (toy, at) in cases(250).into_iter().filter(|(toy, _)| !toy.properties.is_empty()) {
        let reached = reach(&toy, &at, &BTreeSet::new()).expect("it is small");
        if reached.all.len() > 60 || is_violated(&toy, &reached) {
            continue;
        }
        let (factory, scenario) = (Arc::new(toy.clone()), Scenario::new(2));
        let mut checker = Checker::new(&factory, scenario.clone(), limits(true)).expect("it is native");
        let expected = reached.all.iter().any(|global| dies(&toy, global));
        for states in [2_000, 8, 3] {
            checker.set_reach(Reach { events_max: 200_000, states_max: states });
            let mut round = checker.round(&beginning_of(&at)).expect("it is a state of the toy");
            checker.find_dead_ahead(&mut round).expect("it is native");
            assert!(round.dead.len() <= usize::from(expected), "{toy:?} {at:?}");
            assert!(round.dead.len() == usize::from(expected) || states < 60, "{toy:?} {at:?}");
            for Prediction { steps, finding, .. } in &round.dead {
                let origin = Origin::States(Arc::clone(&round.beginning));
                trace::confirm(&factory, &scenario, &origin, steps, finding).expect("it replays");
                assert!(after(&toy, &at, steps).iter().any(|global| dies(&toy, global)), "{steps:?}");
            }
            bounded += u32::from(states < 60 && !round.dead.is_empty());
        }
        dead += u32::from(expected);
        alive += u32::from(!expected);
    }
    assert!(dead > 30 && alive > 5 && bounded > 15, "{dead} {alive} {bounded}");
}

/// Node 1 moves in a circle of 40 states, and a round explores 20 of them. One step of node 0 leads to a state in which the promise holds,
/// the other to a state from which it never does, whatever node 1 does: proving that takes no exploration of global states.
fn never_or_at_once() -> Toy {
    let toy = Toy::new(2).promise("arrives", &[&[Some(1), None]]);
    let toy = toy.rule(0, 0, ToyTrigger::Local(0), 9, &[]).rule(0, 0, ToyTrigger::Local(1), 1, &[]);
    (0..40).fold(toy, |toy, state| toy.rule(1, state, ToyTrigger::Local(0), (state + 1) % 40, &[]))
}

#[test]
fn a_certificate_proves_a_dead_state_where_the_states_are_too_many() {
    let factory = Arc::new(never_or_at_once());
    let at = beginning_of(&(vec![0, 0], BTreeMap::new()));
    let mut alone = (*at).clone();
    alone.states.truncate(1);
    let found = |limits: Limits, beginning: &Arc<Beginning>| {
        let mut checker = Checker::new(&factory, Scenario::new(2), limits).expect("it is native");
        checker.set_reach(Reach { events_max: 20, states_max: 20 });
        let mut round = checker.round(beginning).expect("it is a state of the toy");
        checker.find_dead_ahead(&mut round).expect("it is native");
        assert!(!round.is_cut && round.predictions.is_empty());
        round.dead
    };
    let dead = found(limits(true), &at);
    let [Prediction { steps, finding: Finding::Promise(promise), property: Some(1), node: None }] = &dead[..] else {
        panic!("{dead:?}")
    };
    assert_eq!((steps.len(), steps[0].node, &*promise.name), (1, 0, "arrives"));
    // No prediction if promises are off, or if the actions of the other node are unknown.
    assert_eq!([found(limits(false), &at), found(limits(true), &Arc::new(alone))].concat(), []);
}
