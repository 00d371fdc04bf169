//! Checkers that ask only some nodes.

use super::*;

/// After 20 s node 2 fails by itself. Until then each checker has one round, which predicts the failure if it has asked node 2. Unusable
/// neighbours are counted, and stand for all nodes.
#[test]
fn a_round_sees_only_the_neighbours() {
    let fails = Toy::new(3).rule(2, 0, ToyTrigger::Local(0), 1, &[]).of_kind(0, LocalKind::Timer);
    let fails = fails.forbid(&[None, None, Some(1)]);
    let late = Range::milliseconds(20_000, 20_000);
    let conditions = Conditions { delays: Delays { timer: late, ..Conditions::default().delays }, ..hourly() };
    let counts = |toy: &Toy| {
        let (run, watched) = watched(toy, &Scenario::new(3), conditions, (Mode::Observe, 0..1)).remove(0);
        assert_eq!((run.end, watched.rounds), (End::Violation, 3));
        (watched.predicting, watched.unusable)
    };
    assert_eq!(counts(&fails), (3, 0));
    let fails = fails.near(1, 0, Some(&[2])).near(2, 0, Some(&[]));
    let cases = [
        (Some(&[1][..]), (2, 0)),
        (Some(&[]), (2, 0)),
        (Some(&[2, 2]), (3, 0)),
        (Some(&[1, 3]), (3, 1)),
        (None, (3, 1)),
    ];
    for (named, expected) in cases {
        assert_eq!(counts(&fails.clone().near(0, 0, named)), expected, "{named:?}");
    }
}

/// Nodes 0 and 2 must not both be in state 1, and node 2 gets there first. The rounds of node 0 are too short to see it, but its immediate
/// check does, as long as it asks node 2.
#[test]
fn the_immediate_check_reads_only_the_neighbours() {
    let toy = Toy::new(3)
        .in_flight(1, 2, 1)
        .rule(2, 0, ToyTrigger::Message(1, 1), 1, &[])
        .rule(0, 0, ToyTrigger::Local(0), 1, &[])
        .of_kind(0, LocalKind::Timer)
        .forbid(&[Some(1), None, Some(1)]);
    let late = Range::milliseconds(20_000, 20_000);
    let delays = Delays { timer: late, ..Conditions::default().delays };
    let conditions = Conditions { delays, time: Duration::from_secs(30), ..Conditions::default() };
    let steered = |toy: &Toy| {
        let (factory, scenario) = (Arc::new(toy.clone()), Scenario::new(3));
        let lts = Lts::new(&factory, scenario.clone()).expect("it is native");
        let mut stepper = Stepper::new(&lts).expect("it is native");
        let starts = start::initial(&mut stepper).expect("nothing is refused");
        let mut simulator = Simulator::new(&mut stepper, &starts, conditions).expect("the conditions make sense");
        let mut blind = Profile::ours();
        (blind.limits.events_max, blind.limits.states_max) = (0, 0);
        let mut watching = Watching::new(&factory, &scenario, blind).expect("it is native");
        let (run, watched) = simulator.run_watched(1, &mut watching, Mode::Steer).expect("it is native");
        (run.end, watched.immediate)
    };
    assert_eq!(steered(&toy), (End::Time, 1));
    assert_eq!(steered(&toy.clone().near(0, 0, Some(&[2]))), (End::Time, 1));
    assert_eq!(steered(&toy.near(0, 0, Some(&[1]))), (End::Violation, 0));
}
