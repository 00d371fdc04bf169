//! What checkers beside the nodes of a run say of promises of progress.

use host_search::kernel::rules::Rules;

use super::*;

/// Node 0 has two timers: by one it comes to where the promise is kept, and sends a message, by the other to where it never is. So each of
/// the two checkers has a round that sees the promise die in one step, and one after that step, in which it is dead or kept for good; after
/// the message has another. Where promises do not count, none sees anything.
#[test]
fn a_promise_that_can_die_is_predicted_until_it_is_kept() {
    let toy = Toy::new(2).promise("arrives", &[&[Some(1), None]]);
    let toy = toy.rule(0, 0, ToyTrigger::Local(0), 1, &[(1, 0)]).rule(0, 0, ToyTrigger::Local(1), 2, &[]);
    let toy = toy.of_kind(0, LocalKind::Timer).of_kind(1, LocalKind::Timer);
    let of = |mode, promises: bool| {
        let mut profile = quick();
        profile.limits.promises = promises.then(Rules::default);
        watched_by(&toy, &Scenario::new(2), (Conditions::default(), &[]), (mode, 0..20), profile)
    };
    let mut kept = 0;
    for (run, seen) in of(Mode::Observe, true).into_iter().chain(of(Mode::Steer, true)) {
        let is_kept = run.counts.delivered > 0;
        let expected = if is_kept { (6, 2) } else { (4, 4) };
        assert_eq!((run.end, seen.rounds, seen.dying), (End::Quiet, expected.0, expected.1));
        assert_eq!((seen.predicting, seen.first), (0, None));
        kept += u32::from(is_kept);
    }
    assert!((5..35).contains(&kept), "{kept}");
    assert!(of(Mode::Observe, false).iter().all(|(_, seen)| seen.rounds >= 4 && seen.dying == 0));
}
