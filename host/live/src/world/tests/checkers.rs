//! Checkers of nodes in systems whose results are known by hand.

use std::sync::Arc;
use std::time::Duration;

use host_model::contract::{LocalKind, Machine, MachineError, MachineFactory};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::{Medium, Toy, ToyTrigger};
use host_model::trace::{TraceEvent, TraceStep, start};
use host_search::kernel::rules::Rules;

use crate::checker::Limits;
use crate::simulator::tests::scenario;
use crate::simulator::{Conditions, Counts, Delays, End, Phase};
use crate::time::Range;
use crate::world::{Checkers, Part, Profile, Ran, Runtime, Troubles};

/// The options of a run.
#[derive(Clone)]
struct Case {
    toy: Toy,
    scenario: Scenario,
    conditions: Conditions,
    script: Vec<Phase>,
    profile: Profile,
}

impl Case {
    /// A toy with unordered links and a quick profile.
    fn new(toy: Toy, nodes: u32, conditions: Conditions) -> Self {
        let limits = Limits { events_max: 500, states_max: 200, ..Profile::ours().limits };
        let profile = Profile { limits, ..Profile::ours() };
        Self { toy, scenario: Scenario::new(nodes), conditions, script: Vec::new(), profile }
    }

    /// The runs with this many seeds, from 0 on.
    fn runs(&self, part: Part, seeds: u64) -> Vec<Ran> {
        self.runs_of(&Arc::new(self.toy.clone()), part, seeds)
    }

    /// The same with another machine.
    fn runs_of(&self, factory: &dyn MachineFactory, part: Part, seeds: u64) -> Vec<Ran> {
        let Self { scenario, conditions, script, mut profile, .. } = self.clone();
        profile.limits.breaks = scenario.faults.breaks > 0;
        let lts = Lts::new(factory, scenario.clone()).expect("it is native");
        let stepper = || Stepper::new(&lts).expect("it is native");
        let starts = start::initial(&mut stepper()).expect("nothing is refused");
        let runtime = Runtime::new(stepper(), factory, &starts, conditions, Troubles::default());
        let runtime = runtime.expect("the conditions make sense").scripted(&script).expect("so does the script");
        let checkers = Checkers::new(factory, &scenario, profile).expect("it is native");
        (0..seeds).map(|seed| runtime.run_watched(seed, &checkers, part).expect("nothing is broken")).collect()
    }
}

/// Two messages of node 1 to node 0; the second one to arrive is fatal. They are in flight at the start, or each is sent by an
/// internal step, which no filter takes.
fn fatal(is_late: bool) -> Toy {
    let toy = match is_late {
        true => (0..2)
            .fold(Toy::new(2), |toy, state| toy.rule(1, state, ToyTrigger::Local(0), state + 1, &[(0, state + 1)])),
        false => Toy::new(2).in_flight(1, 0, 1).in_flight(1, 0, 2),
    };
    let toy = (0..2).fold(toy, |toy, state| {
        let toy = toy.rule(0, state, ToyTrigger::Message(1, 1), state + 1, &[]);
        toy.rule(0, state, ToyTrigger::Message(1, 2), state + 1, &[])
    });
    toy.forbid(&[Some(2), None])
}

/// Messages that take 20 ms at most, and internal steps that take seconds.
fn quick() -> Conditions {
    let delays = Delays { internal: Range::milliseconds(1_000, 9_000), ..Conditions::default().delays };
    Conditions { latency: Range::milliseconds(0, 20), delays, time: Duration::from_secs(60), ..Conditions::default() }
}

/// With filters none of 50 runs violates the property, without them all do. If the messages are faster than a round, the immediate check
/// refuses the second one. On an ordered link, the connection must be allowed to break.
#[test]
fn steering_decides_whether_the_second_message_is_fatal() {
    let in_order = scenario(2, Network::Ordered, 0);
    let may_break = Scenario { faults: Faults { breaks: 1, ..Faults::default() }, ..in_order.clone() };
    for is_late in [true, false] {
        let of = |scenario: &Scenario| Case { scenario: scenario.clone(), ..Case::new(fatal(is_late), 2, quick()) };
        let is_violated = |ran: &Ran| ran.finished.end == End::Violation;
        assert!(of(&in_order).runs(Part::Steer, 50).iter().all(is_violated));
        for scenario in [&Scenario::new(2), &may_break] {
            assert!(of(scenario).runs(Part::Control, 50).iter().all(is_violated));
            let steered = of(scenario).runs(Part::Steer, 50);
            assert!(!steered.iter().any(is_violated));
            let sum = |of: fn(&Ran) -> u64| steered.iter().map(of).sum::<u64>();
            let counts = (sum(|ran| ran.watched.filtered), sum(|ran| ran.watched.immediate));
            assert!(if is_late { counts.0 >= 50 && counts.1 == 0 } else { counts.1 > 25 }, "{counts:?}");
        }
    }
}

/// Two messages; the second one is fatal, and it is dropped. Afterwards node 1 takes a step every 20 s. No checker predicts anything then,
/// because the dropped message is no longer in flight.
#[test]
fn dropped_messages_are_no_longer_in_flight() {
    let delays = Delays { timer: Range::milliseconds(20_000, 20_000), ..Conditions::default().delays };
    let conditions = Conditions { delays, time: Duration::from_secs(300), ..quick() };
    let steered = |ticks: u8| {
        let toy = fatal(false).of_kind(0, LocalKind::Timer);
        let toy = (0..ticks).fold(toy, |toy, state| toy.rule(1, state, ToyTrigger::Local(0), state + 1, &[]));
        Case::new(toy, 2, conditions).runs(Part::Steer, 50)
    };
    for (few, many) in steered(1).into_iter().zip(steered(6)) {
        assert!(few.watched.has_prevented());
        assert_eq!(few.finished.counts.events + 5, many.finished.counts.events);
        assert_eq!(few.watched.rounds + 2 * 5, many.watched.rounds, "each further tick has a round at each node");
        assert_eq!(few.watched.predicting, many.watched.predicting);
    }
}

/// A call of the application is fatal, and the only enabled event from some time on: steering delays it to the end, so the run counts as
/// stopped. It does not if another node takes steps meanwhile, or without steering.
#[test]
fn a_run_in_which_every_enabled_event_waits_is_stopped() {
    let fatal = Toy::new(2).of_kind(0, LocalKind::Application).rule(0, 0, ToyTrigger::Local(0), 1, &[]);
    let fatal = fatal.forbid(&[Some(1), None]);
    let continues = [0, 1].iter().fold(fatal.clone().of_kind(1, LocalKind::Timer), |toy, state| {
        toy.rule(1, *state, ToyTrigger::Local(1), 1 - state, &[])
    });
    let stopped = |toy: &Toy, part| {
        let ran = Case::new(toy.clone(), 2, quick()).runs(part, 20);
        assert!(ran.iter().all(|ran| ran.watched.has_prevented() == (part == Part::Steer)));
        ran.iter().filter(|ran| ran.watched.is_stopped).count()
    };
    assert_eq!(stopped(&fatal, Part::Steer), 20);
    assert_eq!([stopped(&continues, Part::Steer), stopped(&fatal, Part::Control)], [0, 0]);
}

/// The conditions in which each timer takes 20 s.
fn slow_timers() -> Conditions {
    let delays = Delays { timer: Range::milliseconds(20_000, 20_000), ..Conditions::default().delays };
    Conditions { delays, ..quick() }
}

/// After 20 s node 2 fails by itself. Until then each checker has one round, which predicts the failure if it has asked node 2. Unusable
/// neighbours are counted, and stand for all nodes.
#[test]
fn a_round_sees_only_the_neighbours() {
    let fails = Toy::new(3).rule(2, 0, ToyTrigger::Local(0), 1, &[]).of_kind(0, LocalKind::Timer);
    let fails = fails.forbid(&[None, None, Some(1)]);
    let counts = |toy: &Toy| {
        let ran = Case::new(toy.clone(), 3, slow_timers()).runs(Part::Observe, 1).remove(0);
        assert_eq!((ran.finished.end, ran.watched.rounds), (End::Violation, 3));
        (ran.watched.predicting, ran.watched.unusable > 0)
    };
    assert_eq!(counts(&fails), (3, false));
    let fails = fails.near(1, 0, Some(&[2])).near(2, 0, Some(&[]));
    let cases = [
        (Some(&[1][..]), (2, false)),
        (Some(&[]), (2, false)),
        (Some(&[2, 2]), (3, false)),
        (Some(&[1, 3]), (3, true)),
        (None, (3, true)),
    ];
    for (named, expected) in cases {
        assert_eq!(counts(&fails.clone().near(0, 0, named)), expected, "{named:?}");
    }
}

/// Checkers that predict nothing.
fn blind(case: Case) -> Case {
    let limits = Limits { events_max: 0, states_max: 0, ..case.profile.limits };
    Case { profile: Profile { limits, ..case.profile }, ..case }
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
    let conditions = Conditions { time: Duration::from_secs(30), ..slow_timers() };
    let steered = |toy: &Toy| {
        let ran = blind(Case::new(toy.clone(), 3, conditions)).runs(Part::Steer, 1).remove(0);
        (ran.finished.end, ran.watched.immediate)
    };
    assert_eq!(steered(&toy), (End::Time, 1));
    assert_eq!(steered(&toy.clone().near(0, 0, Some(&[2]))), (End::Time, 1));
    assert_eq!(steered(&toy.near(0, 0, Some(&[1]))), (End::Violation, 0));
}

/// Node 0 has two timers: with one it reaches a state in which the promise holds, and sends a message; with the other, a state from which
/// it never does. Each of the two checkers predicts the dead state one step ahead, and again once the state is dead, but not once the
/// promise is kept. With promises off, no round predicts anything.
#[test]
fn a_promise_that_can_die_is_predicted_until_it_is_kept() {
    let toy = Toy::new(2).promise("arrives", &[&[Some(1), None]]);
    let toy = toy.rule(0, 0, ToyTrigger::Local(0), 1, &[(1, 0)]).rule(0, 0, ToyTrigger::Local(1), 2, &[]);
    let toy = toy.of_kind(0, LocalKind::Timer).of_kind(1, LocalKind::Timer);
    let delays = Delays { timer: Range::milliseconds(1_000, 9_000), ..Conditions::default().delays };
    let of = |part, promises: bool| {
        let mut case = Case::new(toy.clone(), 2, Conditions { delays, ..quick() });
        case.profile.limits.promises = promises.then(Rules::default);
        case.runs(part, 20)
    };
    let mut kept = 0;
    for Ran { finished, watched, .. } in of(Part::Observe, true).into_iter().chain(of(Part::Steer, true)) {
        let is_kept = finished.counts.delivered > 0;
        assert_eq!((finished.end, watched.dying), (End::Quiet, if is_kept { 2 } else { 4 }));
        assert_eq!((watched.predicting, watched.first), (0, None));
        kept += u32::from(is_kept);
    }
    assert!((5..35).contains(&kept), "{kept}");
    assert!(of(Part::Observe, false).iter().all(|ran| ran.watched.rounds >= 4 && ran.watched.dying == 0));
}

/// A phase of this many seconds.
fn phase(seconds: u64, cut: &[u32]) -> Phase {
    let lasts = Range::milliseconds(1_000 * seconds, 1_000 * seconds);
    Phase { lasts, cut: cut.to_vec(), lost: Vec::new(), calls: None, resets: Vec::new() }
}

/// Node 0 has sent itself two messages; the second one is fatal with node 1 in its present state. While the nodes do not reach each other,
/// nothing is predicted. Once they do, the violation is predicted without another event, before the messages arrive.
#[test]
fn a_checker_sees_the_nodes_that_its_node_reaches() {
    let toy = (0..2)
        .fold(Toy::new(2).in_flight(0, 0, 1).in_flight(0, 0, 2), |toy, state| {
            let toy = toy.rule(0, state, ToyTrigger::Message(0, 1), state + 1, &[]);
            toy.rule(0, state, ToyTrigger::Message(0, 2), state + 1, &[])
        })
        .forbid(&[Some(2), Some(0)]);
    let conditions = Conditions { loopback: Some(Range::milliseconds(6_000, 9_000)), ..quick() };
    let first = |script: Vec<Phase>| {
        let ran = Case { script, ..Case::new(toy.clone(), 2, conditions) }.runs(Part::Observe, 1).remove(0);
        assert_eq!(ran.finished.end, End::Violation);
        ran.watched.first.map(|first| first.since_start().as_secs())
    };
    assert_eq!(first(Vec::new()), Some(0));
    assert_eq!(first(vec![phase(3, &[1]), phase(1, &[])]), Some(3));
    assert_eq!(first(vec![phase(100, &[1]), phase(1, &[])]), None);
}

/// Node 1 sends node 2 a message about its step while node 0 reaches neither; then node 0 reaches only node 2. The state of node 1 that
/// node 0 knows is inconsistent with the present one of node 2: together they would predict an impossible violation.
#[test]
fn an_outdated_state_is_not_judged_together_with_newer_ones() {
    let toy = Toy::new(3)
        .rule(0, 0, ToyTrigger::Local(0), 1, &[])
        .of_kind(0, LocalKind::Application)
        .rule(1, 0, ToyTrigger::Local(1), 1, &[(2, 1)])
        .of_kind(1, LocalKind::Timer)
        .rule(2, 0, ToyTrigger::Message(1, 1), 1, &[])
        .forbid(&[Some(1), Some(0), Some(1)]);
    let at = |seconds: u64| Range::milliseconds(1_000 * seconds, 1_000 * seconds);
    let delays = Delays { timer: at(2), application: at(9), ..Conditions::default().delays };
    let conditions = Conditions { latency: Range::milliseconds(10, 10), delays, ..Conditions::default() };
    let script = vec![phase(1, &[]), phase(3, &[0]), phase(1, &[1])];
    let ran = Case { script, ..Case::new(toy, 3, conditions) }.runs(Part::Observe, 1).remove(0);
    assert_eq!((ran.finished.end, ran.finished.counts.events, ran.watched.first), (End::Quiet, 3, None));
}

/// Node 0 sends node 1, after ten seconds, a message that violates a property. If effects are held, the message never leaves, though the
/// immediate check sees nothing wrong there; if not, the immediate check of node 1 drops it; and in control runs it arrives.
#[test]
fn who_looks_ahead_from_an_event_keeps_its_effects_from_leaving() {
    let toy = Toy::new(2)
        .of_kind(0, LocalKind::Timer)
        .rule(0, 0, ToyTrigger::Local(0), 1, &[(1, 7)])
        .rule(1, 0, ToyTrigger::Message(0, 7), 1, &[])
        .forbid(&[None, Some(1)]);
    let delays = Delays { timer: Range::milliseconds(10_000, 11_000), ..Conditions::default().delays };
    let conditions = Conditions { delays, time: Duration::from_secs(600), ..Conditions::default() };
    let of = |part, hold| {
        let mut case = blind(Case::new(toy.clone(), 2, conditions));
        case.profile.hold = hold;
        case.runs(part, 20)
    };
    for Ran { finished, watched, .. } in of(Part::Steer, Some(100)) {
        assert_eq!((finished.end == End::Violation, watched.immediate, watched.filtered), (false, 0, 0));
        assert!(watched.foreseen > 10, "the timer is postponed again and again: {}", watched.foreseen);
        assert_eq!(finished.counts.events, 0);
    }
    for Ran { finished, watched, .. } in of(Part::Control, Some(100)) {
        assert_eq!((finished.end, watched.foreseen), (End::Violation, 0));
    }
    for Ran { finished, watched, .. } in of(Part::Steer, None) {
        let counts = (watched.immediate, watched.foreseen, finished.counts.events);
        assert_eq!((finished.end == End::Violation, counts), (false, (1, 0, 1)));
    }
}

/// Node 0 takes the message of node 1, and then a step every 20 s. If node 1 is reset, the connection breaks, and the error violates the
/// property. So each checker predicts that from each snapshot, although no message is in flight any more.
#[test]
fn the_error_of_a_peer_after_a_reset_is_predicted_long_after_the_last_message() {
    let toy = Toy::new(2).in_flight(1, 0, 1).rule(0, 0, ToyTrigger::Message(1, 1), 1, &[]).of_kind(0, LocalKind::Timer);
    let toy = (1..5).fold(toy, |toy, state| toy.rule(0, state, ToyTrigger::Local(0), state + 1, &[]));
    let toy = (1..6).fold(toy, |toy, state| toy.rule(0, state, ToyTrigger::Error(1), 9, &[]));
    let toy = toy.forbid(&[Some(9), None]);
    let conditions = Conditions { time: Duration::from_secs(150), ..slow_timers() };
    let case = Case { scenario: scenario(2, Network::Ordered, 1), ..Case::new(toy, 2, conditions) };
    for Ran { finished, watched, firsts, .. } in case.runs(Part::Observe, 10) {
        assert_eq!((finished.end, finished.counts.local), (End::Quiet, 4));
        assert!(watched.rounds >= 10 && watched.predicting == watched.rounds, "{watched:?}");
        let steps = &firsts.violation.expect("each round predicts one").round.predictions[0].steps;
        assert!(matches!(steps.last().map(|step| &step.event), Some(TraceEvent::TransportError { .. })), "{steps:?}");
    }
}

/// The same where the second error is fatal, and node 1, which keeps its state, sends nothing after its reset: the connection is closed
/// then, so that no further reset breaks it, and no checker predicts anything.
#[test]
fn no_error_is_predicted_over_a_connection_that_has_broken_and_is_not_in_use() {
    let toy = Toy::new(2).in_flight(1, 0, 1).rule(0, 0, ToyTrigger::Message(1, 1), 1, &[]).of_kind(0, LocalKind::Timer);
    let toy = toy.rule(1, 0, ToyTrigger::Local(1), 1, &[]).keep(1, 1, 1);
    // Steps go from 1 to 2 and back before the first error, and from 3 to 4 and back after it.
    let toy = [(1, 2), (2, 1), (3, 4), (4, 3)]
        .iter()
        .fold(toy, |toy, (from, to)| toy.rule(0, *from, ToyTrigger::Local(0), *to, &[]));
    let toy = [(1, 3), (2, 4), (3, 9), (4, 9)]
        .iter()
        .fold(toy, |toy, (from, to)| toy.rule(0, *from, ToyTrigger::Error(1), *to, &[]));
    let toy = toy.forbid(&[Some(9), None]);
    let conditions = Conditions { time: Duration::from_secs(250), ..slow_timers() };
    let script = vec![phase(100, &[]), Phase { resets: vec![1], ..phase(1, &[]) }];
    let case = Case { scenario: scenario(2, Network::Ordered, 1), script, ..Case::new(toy, 2, conditions) };
    for Ran { finished, watched, .. } in case.runs(Part::Observe, 10) {
        assert_eq!((finished.end, finished.counts.resets), (End::Time, 1));
        assert!(watched.rounds > 15 && watched.predicting == 0, "{watched:?}");
    }
}

/// Node 0 tells node 1 of a step. Checkers predict what follows if a kill loses the write of that step, where the protocol calls `sync` and
/// does not sync this one.
#[test]
fn a_kill_that_loses_a_write_is_predicted_where_a_protocol_forgets_to_sync() {
    let toy = Toy::new(2).rule(0, 0, ToyTrigger::Local(0), 1, &[(1, 7)]).of_kind(0, LocalKind::Timer);
    let toy = toy.rule(1, 0, ToyTrigger::Message(0, 7), 1, &[]).keep(0, 1, 1).keep(1, 1, 1).in_medium(Medium::Map);
    let toy = toy.forbid(&[Some(0), Some(1)]);
    let resets = Faults { resets: 1, ..Faults::default() };
    let outages = Faults { outages: 1, ..Faults::default() };
    for (toy, faults, is_predicted) in [
        (toy.clone(), resets, false),
        (toy.clone().sync(&[]), outages, true),
        (toy.clone().sync(&[(0, 1)]), outages, false),
    ] {
        let conditions = Conditions { time: Duration::from_secs(150), ..slow_timers() };
        let scenario = Scenario { faults, ..scenario(2, Network::Ordered, 0) };
        for Ran { watched, firsts, .. } in (Case { scenario, ..Case::new(toy, 2, conditions) }).runs(Part::Observe, 5) {
            assert!(watched.rounds > 1 && (watched.predicting > 0) == is_predicted, "{watched:?}");
            let Some(first) = firsts.violation else { continue };
            let is_outage =
                |step: &TraceStep| matches!(step.event, TraceEvent::Fault { event, .. } if event.unsynced() == 1);
            assert!(first.round.predictions[0].steps.iter().any(is_outage), "{:?}", first.round.predictions);
        }
    }
}

/// A toy without a handler for broken connections.
struct Deaf(Arc<Toy>);

impl MachineFactory for Deaf {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        self.0.machine()
    }

    fn hears_errors(&self) -> bool {
        false
    }
}

/// The second message is refused, and the connection breaks in its place, also if the protocol has no handler for that.
#[test]
fn a_connection_breaks_in_place_of_a_message_whether_the_protocol_hears_of_it_or_not() {
    let in_order = scenario(2, Network::Ordered, 0);
    let may_break = Scenario { faults: Faults { breaks: 1, ..Faults::default() }, ..in_order };
    let case = Case { scenario: may_break, ..Case::new(fatal(false), 2, quick()) };
    let deaf = Deaf(Arc::new(fatal(false)));
    for Ran { finished, watched, .. } in case.runs_of(&deaf, Part::Steer, 20) {
        assert!(finished.end != End::Violation && watched.has_prevented(), "{watched:?}");
        let counts = (finished.counts.delivered, finished.counts.events);
        assert_eq!(counts, (1, 3), "the message, the break and its notice");
    }
}

/// Node 1 sends node 0 a fatal message, and is reset while it is on its way: the notice of the break is behind the message. Node 0, whose
/// end of the connection is not in use, refuses the message and takes the notice in its place.
#[test]
fn a_notice_takes_the_place_of_a_message_before_it_that_the_node_refuses() {
    let toy = Toy::new(2)
        .rule(1, 0, ToyTrigger::Local(0), 1, &[(0, 1)])
        .keep(1, 1, 1)
        .rule(0, 0, ToyTrigger::Message(1, 1), 1, &[])
        .rule(0, 0, ToyTrigger::Error(1), 2, &[])
        .forbid(&[Some(1), None]);
    let faults = Faults { resets: 1, breaks: 1, ..Faults::default() };
    let scenario = Scenario { faults, ..scenario(2, Network::Ordered, 1) };
    let delays = Delays { internal: Range::milliseconds(1_000, 1_000), ..Conditions::default().delays };
    let latency = Range::milliseconds(5_000, 5_000);
    let conditions = Conditions { latency, delays, time: Duration::from_secs(60), ..Conditions::default() };
    let script = vec![phase(2, &[]), Phase { resets: vec![1], ..phase(1, &[]) }];
    let case = blind(Case { scenario, script, ..Case::new(toy, 2, conditions) });
    for Ran { finished, watched, .. } in case.runs(Part::Steer, 10) {
        let Counts { delivered, resets, events, .. } = finished.counts;
        assert_eq!((watched.immediate, delivered, resets, events), (1, 0, 1, 3), "the step, the reset and the notice");
        assert!(finished.end != End::Violation && finished.at.since_start() >= Duration::from_secs(6));
    }
    let control = case.runs(Part::Control, 10);
    assert!(control.iter().all(|ran| ran.finished.end == End::Violation));
}
