//! Runs whose checkers are stopped.

use std::sync::atomic::{AtomicU64, Ordering};

use host_model::contract::{MachineError, Stop, Stopped};

use super::*;

/// Stops for good after this many polls.
struct After {
    times: u64,
    asked: AtomicU64,
}

impl Stop for After {
    fn reason(&self) -> Option<Stopped> {
        (self.asked.fetch_add(1, Ordering::Relaxed) >= self.times).then_some(Stopped::Interrupted)
    }
}

/// A steered run with held effects, whose checkers are stopped after this many polls. Also returns the number of polls.
fn run(toy: &Arc<Toy>, times: u64) -> (Result<(u128, Watched), MachineError>, u64) {
    let (scenario, stop) = (Scenario::new(2), After { times, asked: AtomicU64::new(0) });
    let lts = Lts::new(toy, scenario.clone()).expect("it is native");
    let mut stepper = Stepper::new(&lts).expect("it is native");
    let starts = start::initial(&mut stepper).expect("nothing is refused");
    let conditions = Conditions { latency: Range::milliseconds(10, 2_000), ..Conditions::default() };
    let mut simulator = Simulator::new(&mut stepper, &starts, conditions).expect("the conditions make sense");
    let profile = Profile { hold: Some(100), ..quick() };
    let mut watching = Watching::new(toy, &scenario, profile).expect("it is native").stopped_by(&stop);
    let result = simulator.run_watched(1, &mut watching, Mode::Steer).map(|(run, watched)| (run.digest, watched));
    drop(watching);
    (result, stop.asked.into_inner())
}

/// A run whose checkers were asked to stop, at any poll, has no result: what they have found by then depends on the time of the request.
#[test]
fn a_run_whose_checkers_are_stopped_has_no_result() {
    let (mut stopped, mut steered) = (0, 0);
    for seed in 0..12 {
        let toy = Arc::new(Toy::random(seed, 2).of_kind(0, LocalKind::Timer).of_kind(1, LocalKind::Application));
        let (whole, asked) = run(&toy, u64::MAX);
        let whole = whole.expect("it is not stopped");
        steered += whole.1.filtered + whole.1.immediate + whole.1.foreseen;
        for times in
            (0..asked).step_by(usize::try_from(asked / 20 + 1).expect("it is small")).chain(asked.checked_sub(1))
        {
            assert_eq!(run(&toy, times).0, Err(Stopped::Interrupted.into()), "{seed}: {times} of {asked}");
            stopped += 1;
        }
        assert_eq!(run(&toy, asked).0, Ok(whole), "{seed}");
    }
    assert!(stopped > 100 && steered > 5, "{stopped} {steered}");
}
