//! Looking ahead from an event whose effects are held, against the reference.

use super::*;
use crate::carried::Fork;

/// Each event of node 0 that can be filtered causes a violation exactly if one is reachable after it, the state after it has none, and none
/// is reachable if its message is lost, or if the local event waits in its state. Each prediction replays from the state after the event.
#[test]
fn an_event_causes_a_violation_exactly_if_none_is_reachable_without_it() {
    let (mut to_blame, mut harmless, mut hopeless, mut local) = (0, 0, 0, 0);
    for (toy, at) in cases(400) {
        let (factory, scenario) = (Arc::new(toy.clone()), Scenario::new(2));
        let mut checker = Checker::new(&factory, scenario.clone(), Limits::of_an_event(200_000)).expect("it is native");
        for (node, on, next) in successors(&toy, &at, &BTreeSet::new()) {
            if node != 0 {
                continue;
            }
            let (mut instead, mut filters) = (at.clone(), BTreeSet::new());
            let (sent, happens);
            let cause = match on {
                ToyTrigger::Message(from, content) => {
                    let count = instead.1.get_mut(&(from, 0, content)).expect("it is in flight");
                    *count -= 1;
                    instead.1.retain(|_, count| *count > 0);
                    sent = [content];
                    Cause::Message { from, network: Network::Unordered, payload: &sent }
                }
                ToyTrigger::Local(name) => {
                    happens = local_event(&toy, name);
                    Cause::Local(&happens)
                }
                ToyTrigger::Error(_) => unreachable!("connections do not break here"),
            };
            let event = Event { state: of_local_state(0, &[at.0[0]]), cause, may_break: false };
            let event = Pattern::of(&event).expect("it can be filtered");
            if matches!(on, ToyTrigger::Local(_)) {
                filters.insert(event.clone());
            }
            let is_violated = |from: &Global, filters: &BTreeSet<Pattern>| {
                is_violated(&toy, &reach(&toy, from, filters).expect("there are not more states than before"))
            };
            let comes = !toy.is_forbidden(&next.0) && is_violated(&next, &BTreeSet::new());
            let expected = comes && !is_violated(&instead, &filters);
            let after = beginning_of(&next);
            let fork = Fork { node: 0, after: Arc::clone(&after), instead: beginning_of(&instead) };
            let foreseen = checker.foresee(&event, &fork, &|| ()).expect("they are states of the toy");
            assert_eq!(foreseen.prediction.is_some(), expected, "{toy:?} {at:?} {on:?}");
            assert!(!foreseen.is_cut);
            if let Some(prediction) = &foreseen.prediction {
                trace::confirm(&factory, &scenario, &Origin::States(after), &prediction.steps, &prediction.finding)
                    .expect("it replays");
                local += u32::from(!filters.is_empty());
            }
            to_blame += u32::from(expected);
            hopeless += u32::from(comes && !expected);
            harmless += u32::from(!comes);
        }
    }
    assert!(to_blame > 10 && harmless > 100 && hopeless > 50 && local > 5, "{to_blame} {harmless} {hopeless} {local}");
}

/// A violation beyond the limit of events is not predicted: node 1 violates a property six events after a message of node 0.
#[test]
fn violations_beyond_the_limit_are_not_predicted() {
    let toy = (0..5).fold(Toy::new(2), |toy, state| toy.rule(1, state + 1, ToyTrigger::Local(0), state + 2, &[]));
    let toy = toy.rule(1, 0, ToyTrigger::Message(0, 1), 1, &[]).forbid(&[None, Some(6)]);
    let factory = Arc::new(toy);
    let local = LocalEvent { name: "local0".to_owned(), kind: LocalKind::Timer, payload: vec![0] };
    let event = Event { state: of_local_state(0, &[0]), cause: Cause::Local(&local), may_break: false };
    let event = Pattern::of(&event).expect("it can be filtered");
    let after = beginning_of(&(vec![1, 0], BTreeMap::from([((0, 1, 1), 1)])));
    let fork = Fork { node: 0, after, instead: beginning_of(&(vec![0, 0], BTreeMap::new())) };
    let foreseen = |events_max| {
        let mut checker =
            Checker::new(&factory, Scenario::new(2), Limits::of_an_event(events_max)).expect("it is native");
        checker.foresee(&event, &fork, &|| ()).expect("they are states of the toy").prediction.is_some()
    };
    assert_eq!((foreseen(3), foreseen(100)), (false, true));
}

/// If a violation is reachable without the event as well, preventing the event is no better: with the known state of the other node, node 0
/// violates a property in its present state, and after the message, too.
#[test]
fn an_event_does_not_cause_a_violation_that_is_reachable_without_it() {
    let toy = Toy::new(2).rule(0, 0, ToyTrigger::Message(1, 1), 1, &[]).rule(0, 1, ToyTrigger::Local(0), 2, &[]);
    let toy = toy.forbid(&[Some(2), None]).forbid(&[Some(0), Some(5)]);
    let factory = Arc::new(toy);
    let content = [1];
    let cause = Cause::Message { from: 1, network: Network::Unordered, payload: &content };
    let event = Event { state: of_local_state(0, &[0]), cause, may_break: false };
    let event = Pattern::of(&event).expect("it can be filtered");
    let foreseen = |other| {
        let [after, instead] = [1, 0].map(|own| beginning_of(&(vec![own, other], BTreeMap::new())));
        let mut checker = Checker::new(&factory, Scenario::new(2), Limits::of_an_event(100)).expect("it is native");
        let fork = Fork { node: 0, after, instead };
        checker.foresee(&event, &fork, &|| ()).expect("they are states of the toy").prediction.is_some()
    };
    assert_eq!([0, 5].map(foreseen), [true, false]);
}
