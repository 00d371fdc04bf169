//! The time that promises are kept in a run.

use host_model::contract::PropertyScope;

use super::*;
use crate::simulator::Kept;

/// Node 0 takes a step every second, from state 0 to 1, 2 and 0 again; node 1 goes from 0 to 1 after a second and stays there. In an hour,
/// 3,600 events of node 0, node 0 is in state 1 for every third second, and node 1 for all but the first one.
#[test]
fn the_time_that_a_promise_is_kept_is_exact_to_the_second() {
    let toy = [(0, 1), (1, 2), (2, 0)]
        .iter()
        .fold(Toy::new(2), |toy, (from, to)| toy.rule(0, *from, ToyTrigger::Local(0), *to, &[]));
    let toy = toy.rule(1, 0, ToyTrigger::Local(0), 1, &[]).of_kind(0, LocalKind::Timer);
    let promise = |toy: Toy, name: &str, scope, tuple: [Option<u8>; 2]| {
        let mut toy = toy.promise(name, &[&tuple]);
        toy.properties.last_mut().expect("it was added").scope = scope;
        toy
    };
    let (one, both) = ([Some(1), None], [Some(1), Some(1)]);
    let toy = promise(toy, "one", PropertyScope::System, one);
    let toy = promise(toy, "both", PropertyScope::System, both);
    let toy = Arc::new(promise(toy, "each", PropertyScope::Node, both));
    let kept = |conditions: Conditions| {
        let scenario = Scenario::new(2);
        let lts = Lts::new(&toy, scenario).expect("it is native");
        let mut stepper = Stepper::new(&lts).expect("it is native");
        let starts = start::initial(&mut stepper).expect("nothing is refused");
        let mut simulator = Simulator::new(&mut stepper, &starts, conditions).expect("the conditions make sense");
        let run = simulator.run(1).expect("it is native");
        let seconds = |kept: &Kept| (kept.property, kept.kept.as_secs(), kept.whole.as_secs());
        assert!(run.kept.iter().all(|kept| kept.kept.subsec_nanos() == 0));
        run.kept.iter().map(seconds).collect::<Vec<_>>()
    };
    // Index 0 is the property of all toys.
    let first = 1;
    let expected = [(first, 1_200, 3_600), (first + 1, 1_200, 3_600), (first + 2, 1_200 + 3_599, 7_200)];
    assert_eq!(kept(hourly()), expected);
    // In four seconds, node 0 is there during the second one, and again at the end of the fourth.
    let short = Conditions { time: Duration::from_secs(4), ..hourly() };
    assert_eq!(kept(short), [(first, 1, 4), (first + 1, 1, 4), (first + 2, 1 + 3, 8)]);
}
