//! Connections that break in place of messages, derived by hand.

use host_model::scenario::Faults;

use super::*;

/// Node 1 has sent two messages, and a filter matches the first one. Node 0 counts what arrives; at the notice of a break it sends a third
/// message, which node 1 takes after its own notice.
fn notified() -> Toy {
    (0..3)
        .fold(Toy::new(2).in_flight(1, 0, 1).in_flight(1, 0, 2), |toy, state| {
            toy.rule(0, state, ToyTrigger::Message(1, 2), 2, &[])
        })
        .rule(0, 0, ToyTrigger::Message(1, 1), 1, &[])
        .rule(0, 0, ToyTrigger::Error(1), 7, &[(1, 3)])
        .rule(1, 0, ToyTrigger::Error(0), 8, &[])
        .rule(1, 8, ToyTrigger::Message(0, 3), 9, &[])
}

/// Why the filter that matches its first message is refused; none if it is not.
fn refused(toy: Toy, network: Network, promises: bool) -> Option<Unsafe> {
    let mut scenario = Scenario::new(2);
    scenario.network = network;
    scenario.faults.breaks = u32::from(network == Network::Ordered);
    let factory = Arc::new(toy);
    let lts = Lts::new(&factory, scenario.clone()).expect("it is native");
    let mut stepper = Stepper::new(&lts).expect("it is native");
    let start = start::initial(&mut stepper).expect("nothing is refused").remove(0);
    let mut beginning = start::export(&mut stepper, &start).expect("toys leave");
    for (state, local) in beginning.states.iter_mut().zip(&start.locals) {
        // Connections break only in place of a message.
        state.fault_state = stepper.state(*local).fault_state.clone();
        state.fault_state.counts = scenario.faults;
    }
    let limits = Limits { breaks: true, ..limits(promises) };
    let checker = Checker::new(&factory, scenario, limits).expect("it is native");
    let cause = Cause::Message { from: 1, network, payload: &[1] };
    let exact = Pattern::of(&Event { state: of_local_state(0, &[0]), cause, may_break: true });
    let filters = BTreeSet::from([exact.expect("it has a substitute")]);
    let checked = checker.check_filters(&Arc::new(beginning), 0, &filters).expect("it is a state of the toy");
    assert!(checked.is_complete || checked.refused.is_some());
    checked.refused
}

/// If the message is dropped, the second one arrives. If the connection is broken in its place, neither arrives, both ends get a notice but
/// may lose it, and later messages arrive.
#[test]
fn a_connection_broken_in_place_of_a_message_loses_all_messages_and_notifies_both_ends() {
    let comes = |network, states: [Option<ToyState>; 2]| refused(notified().forbid(&states), network, false).is_some();
    let (dropped, broken) = (Network::Unordered, Network::Ordered);
    let cases = [[Some(1), None], [Some(2), None], [Some(7), Some(8)], [Some(0), Some(8)], [Some(7), Some(9)]];
    assert_eq!(cases.map(|states| comes(dropped, states)), [false, true, false, false, false]);
    assert_eq!(cases.map(|states| comes(broken, states)), [false, false, true, true, true]);
}

/// A filter is refused if a promise needs a message that it loses: the first message either way, the second one if the connection breaks. A
/// promise that only a break can keep is dead without the filter as well, and one with another way to be kept is alive with it.
#[test]
fn a_connection_is_not_broken_where_a_promise_dies_with_its_messages() {
    let dies = |network, tuples: &[[Option<ToyState>; 2]], promises: bool| {
        let tuples: Vec<&[Option<ToyState>]> = tuples.iter().map(<[_; 2]>::as_slice).collect();
        match refused(notified().promise("arrives", &tuples), network, promises) {
            Some(Unsafe::Dead(0)) => true,
            None => false,
            other => panic!("{other:?}"),
        }
    };
    let (dropped, broken) = (Network::Unordered, Network::Ordered);
    let (first, second, after) = ([Some(1), None], [Some(2), None], [Some(7), Some(9)]);
    let cases = [&[first][..], &[second], &[after], &[second, after]];
    assert_eq!(cases.map(|tuples| dies(dropped, tuples, true)), [true, false, false, false]);
    assert_eq!(cases.map(|tuples| dies(broken, tuples, true)), [true, true, false, false]);
    for network in [dropped, broken] {
        assert_eq!(cases.map(|tuples| dies(network, tuples, false)), [false; 4]);
    }
}

/// Node 1 sends a message with each of its two steps. If one arrives between them, a property is violated; if none ever arrives, the promise
/// of node 0 never holds. So breaking the connection in place of the first message helps, as the second one arrives. If node 1 can be reset
/// after its second step, that message may arrive after its next first step: then both must not arrive, and the promise dies.
#[test]
fn a_break_that_helps_is_of_no_use_where_a_reset_lies_ahead() {
    let toy = Toy::new(2)
        .rule(1, 0, ToyTrigger::Local(0), 1, &[(0, 1)])
        .rule(1, 1, ToyTrigger::Local(0), 2, &[(0, 2)])
        .rule(0, 0, ToyTrigger::Message(1, 1), 2, &[])
        .rule(0, 0, ToyTrigger::Message(1, 2), 2, &[])
        .forbid(&[Some(2), Some(1)])
        .promise("told", &[&[Some(2), None]]);
    let factory = Arc::new(toy);
    let faults = Faults { resets: 1, ..Faults::default() };
    let scenario = Scenario { network: Network::Ordered, faults, ..Scenario::new(2) };
    let lts = Lts::new(&factory, scenario.clone()).expect("it is native");
    let mut stepper = Stepper::new(&lts).expect("it is native");
    let start = start::initial(&mut stepper).expect("nothing is refused").remove(0);
    let mut filters = |used_up: Faults, promises| {
        let mut beginning = start::export(&mut stepper, &start).expect("toys leave");
        for (state, local) in beginning.states.iter_mut().zip(&start.locals) {
            state.fault_state = stepper.state(*local).fault_state.clone();
            state.fault_state.counts = used_up;
        }
        let limits = Limits { breaks: true, ..limits(promises) };
        let mut checker = Checker::new(&factory, scenario.clone(), limits).expect("it is native");
        let round = checker.round(&Arc::new(beginning)).expect("it is a state of the toy");
        let Steering { patterns, is_unhelpful, .. } = checker.steer(0, &round).expect("it is native");
        assert_eq!(is_unhelpful, patterns.is_empty());
        let cause = |content| Cause::Message { from: 1, network: Network::Ordered, payload: content };
        let matches = |content| {
            let event = Event { state: of_local_state(0, &[0]), cause: cause(content), may_break: true };
            patterns.iter().any(|pattern| pattern.matches(&event, &Kinds::default()))
        };
        [&[1_u8], &[2]].map(|content| matches(content))
    };
    assert_eq!(filters(faults, true), [true, false]);
    assert_eq!(filters(Faults::default(), true), [false, false]);
    assert_eq!(filters(Faults::default(), false), [true, true]);
}
