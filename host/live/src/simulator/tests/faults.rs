//! Runs that are steered while nodes are reset and connections break, and go on after violations: against a replay of what happened.

use host_model::contract::NodeId;
use host_model::lts::Step;
use host_model::trace::Finding;

use super::*;
use crate::time::Time;

/// Sender, destination and content, channel by channel.
type InFlight = Vec<(NodeId, NodeId, Vec<u8>)>;

/// A run as it was and as a replay has it.
struct Compared {
    end: End,
    path: Vec<Step>,
    violating: u64,
    violated: Option<Time>,
    resets: u64,
    /// Connections that were broken in place of a message.
    broken: usize,
}

/// What fresh machines without memo, snapshots and checkers make of the steps of a run: in how many states something is violated, after
/// how many steps first, and what is in flight at the end, channel by channel. Each step has to be possible where it happens.
fn replayed(
    stepper: &mut Stepper<'_>,
    (toy, scenario): (&Arc<Toy>, &Scenario),
    (start, path): (&start::Start, &[Step]),
) -> (u64, Option<usize>, InFlight) {
    let steps = trace::record(stepper, &start.initial, path).expect("it is native");
    let (mut replay, _) = Replay::new(toy, scenario, &start.origin).expect("it is native");
    let (mut violating, mut first) = (0, None);
    for number in 0..=steps.len() {
        if number > 0 {
            replay.step(&steps[number - 1]).expect("what happens in a run can happen");
        }
        let findings = replay.findings().expect("it is native");
        let is_violation = |finding: &Finding| match finding {
            Finding::Property { kind, .. } => *kind == host_model::contract::PropertyKind::Always,
            _ => true,
        };
        if findings.iter().any(is_violation) {
            violating += 1;
            first.get_or_insert(number);
        }
    }
    let mut in_flight: InFlight = replay.in_flight().map(|(from, to, payload)| (from, to, payload.to_vec())).collect();
    in_flight.sort_by_key(|(from, to, _)| (*from, *to));
    (violating, first, in_flight)
}

/// A run on links with an order, beside checkers that break connections, compared with its replay.
fn compared(
    toy: &Arc<Toy>,
    scenario: &Scenario,
    conditions: Conditions,
    (mode, seed): (Option<Mode>, u64),
) -> Compared {
    let lts = Lts::new(toy, scenario.clone()).expect("it is native");
    let mut stepper = Stepper::new(&lts).expect("it is native");
    let starts = start::initial(&mut stepper).expect("nothing is refused");
    let mut quick = Profile::ours();
    (quick.limits.events_max, quick.limits.states_max, quick.limits.breaks) = (200, 100, true);
    let mut watching = Watching::new(toy, scenario, quick).expect("it is native");
    let mut simulator = Simulator::new(&mut stepper, &starts, conditions).expect("the conditions make sense");
    let mut run = simulator.begin(seed, mode.map(|mode| (&mut watching, mode)));
    let end = run.finish().expect("it is native");
    let (violated, violation) = run.violation.take().unzip();
    let (path, counts, start) = (std::mem::take(&mut run.path), run.counts, run.start.clone());
    let is_break = |step: &&Step| step.trigger.fault().is_some_and(|fault| fault.peer().is_some());
    let broken = path.iter().filter(is_break).count();
    let followed = run.watch.as_ref().map(|watch| watch.history.in_flight.clone());
    drop(run);
    let (violating, first, in_flight) = replayed(&mut stepper, (toy, scenario), (&start, &path));
    assert_eq!(counts.violating, violating, "seed {seed}");
    assert_eq!(violation.map(|found| found.path.len()), first, "seed {seed}");
    if let Some(followed) = followed {
        let message = |id| stepper.message(id);
        let messages = followed.iter().map(|id| message(*id)).filter(|message| !message.is_notice);
        let mut followed: InFlight = messages.map(|it| (it.from, it.to, it.payload.clone())).collect();
        followed.sort_by_key(|(from, to, _)| (*from, *to));
        assert_eq!(followed, in_flight, "seed {seed}");
    }
    // What was sent arrives, or is lost with its connection.
    assert!(end != End::Quiet || in_flight.is_empty(), "seed {seed}: {in_flight:?}");
    Compared { end, path, violating, violated, resets: counts.resets, broken }
}

/// Random systems on links with an order whose nodes are reset, beside checkers that break connections in place of messages, and runs
/// that go on after a violation: each is an execution of the scenario, the states that violate a property are those in which a replay
/// finds something, checkers that observe leave the run as it is, and one that ends with its first violation is the beginning of one
/// that goes on.
#[test]
fn a_steered_run_with_resets_that_goes_on_is_an_execution_and_counts_its_violations() {
    let (mut resets, mut broken, mut without, mut with, mut several) = (0, 0, 0, 0, 0);
    for seed in 0..30 {
        let toy = Toy::random(seed, 3).with_random_durable(seed).with_random_errors(seed);
        let toy = Arc::new(toy.of_kind(0, LocalKind::Timer).of_kind(1, LocalKind::Application));
        let mut scenario = scenario(3, Network::Ordered, 200);
        scenario.faults.breaks = 200;
        let latency = Range::milliseconds(10, 2_000);
        let conditions =
            Conditions { latency, partitions: None, time: Duration::from_secs(12), goes_on: true, ..rough(&scenario) };
        let of = |goes_on, mode| compared(&toy, &scenario, Conditions { goes_on, ..conditions }, (mode, seed));
        let [plain, observed, steered] = [None, Some(Mode::Observe), Some(Mode::Steer)].map(|mode| of(true, mode));
        assert!(plain.path == observed.path && plain.end == observed.end && plain.broken == 0, "system {seed}");
        for (whole, mode) in [(&observed, Mode::Observe), (&steered, Mode::Steer)] {
            let first = of(false, Some(mode));
            assert_eq!(first.violated, whole.violated, "system {seed}");
            assert!(whole.path.starts_with(&first.path), "system {seed}");
            assert!(first.violating == u64::from(first.violated.is_some()), "system {seed}");
        }
        resets += steered.resets;
        broken += steered.broken;
        without += observed.violating;
        with += steered.violating;
        several += u32::from(observed.violating > 1);
    }
    let counts = format!("{resets} resets, {broken} broken, {without} and {with} violating, {several} with several");
    assert!(resets > 100 && broken > 10 && several > 5 && with < without, "{counts}");
}
