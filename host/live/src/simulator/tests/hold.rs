//! Hold and look ahead in whole runs.

use super::*;

/// Node 0 sends node 1, after ten seconds, a message that violates a property.
fn fatal_message() -> Toy {
    Toy::new(2)
        .of_kind(0, LocalKind::Timer)
        .rule(0, 0, ToyTrigger::Local(0), 1, &[(1, 7)])
        .rule(1, 0, ToyTrigger::Message(0, 7), 1, &[])
        .forbid(&[None, Some(1)])
}

/// Checkers that predict nothing, and effects that are held or not.
fn blind(hold: Option<u64>) -> Profile {
    let limits = Limits { events_max: 0, states_max: 0, ..quick().limits };
    Profile { limits, hold, ..quick() }
}

/// If effects are held, the message of node 0 never leaves, though the immediate check sees nothing wrong there; if not, the immediate
/// check of node 1 drops the message; and if the nodes are only observed, all runs end with the violation.
#[test]
fn who_looks_ahead_from_an_event_keeps_its_effects_from_leaving() {
    let toy = fatal_message();
    let timer = Range::milliseconds(10_000, 11_000);
    let delays = Delays { timer, ..Conditions::default().delays };
    let conditions = Conditions { delays, time: Duration::from_secs(600), ..Conditions::default() };
    let of = |mode, hold| watched_by(&toy, &Scenario::new(2), (conditions, &[]), (mode, 0..20), blind(hold));
    for (run, done) in of(Mode::Steer, Some(100)) {
        assert_eq!((run.end == End::Violation, done.immediate, done.filtered), (false, 0, 0));
        assert!(done.foreseen > 10, "the timer is postponed again and again: {}", done.foreseen);
        assert_eq!(run.counts.events, 0);
    }
    for (run, done) in of(Mode::Observe, Some(100)) {
        assert_eq!((run.end, done.foreseen), (End::Violation, 0));
    }
    for (run, done) in of(Mode::Steer, None) {
        assert_eq!((run.end == End::Violation, done.immediate, done.foreseen, run.counts.events), (false, 1, 0, 1));
    }
}

/// On random systems: a run whose effects are held has the digest that it has alone; a run without prevented events equals its
/// control run.
#[test]
fn equal_seeds_are_equal_where_effects_are_held() {
    let (mut foreseen, mut violating, mut steered) = (0, 0, 0);
    for seed in 0..30 {
        let toy = Toy::random(seed, 2).of_kind(0, LocalKind::Timer).of_kind(1, LocalKind::Application);
        let scenario = scenario(2, Network::Unordered, seed as u32 % 2);
        let conditions = Conditions { latency: Range::milliseconds(10, 2_000), ..rough(&scenario) };
        let profile = Profile { hold: Some(200), ..if seed % 3 == 0 { blind(None) } else { quick() } };
        let of = |seeds| watched_by(&toy, &scenario, (conditions, &[]), (Mode::Steer, seeds), profile);
        let (plain, together, alone) = (runs(&toy, &scenario, conditions, 0..4), of(0..4), of(3..4));
        assert_eq!((together[3].0.digest, together[3].1), (alone[0].0.digest, alone[0].1), "system {seed}");
        for (plain, (run, done)) in plain.iter().zip(&together) {
            let kept = done.filtered + done.immediate + done.foreseen;
            assert!(kept > 0 || run.digest == plain.digest, "system {seed}");
            foreseen += done.foreseen;
            violating += u32::from(plain.violation.is_some());
            steered += u32::from(plain.violation.is_some() && run.violation.is_none());
        }
    }
    assert!(foreseen > 5 && violating > 20 && steered > 5, "{foreseen} {violating} {steered}");
}
