//! Minimisation on toys: the result is an execution, shows the same finding, and needs each of its events.

use std::sync::Arc;

use host_inspect::minimize::{self, MinimizeError, Minimized, Options};
use host_inspect::recording::Recording;
use host_inspect::traced_state::{Action, TracedState};
use host_model::contract::{FaultKind, Judgement, PropertyKind};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::{Dice, Toy, ToyOutcome, ToyTrigger};
use host_model::trace::{self, Finding, PluginRef, TRACE_VERSION, Trace, TraceStep, start};
use host_search::kernel::Unmonitored;

/// A walk through a toy: at each state a random event and outcome, until a finding.
fn walk(toy: &Arc<Toy>, seed: u64, length: usize) -> Option<Trace> {
    let mut dice = Dice(seed);
    path(toy, length, |bound, _| dice.below(bound as u32) as usize)
}

/// The path where always the enabled node with the highest number acts.
fn from_the_last_node(toy: &Arc<Toy>) -> Trace {
    let last =
        |_: usize, enabled: &[Action]| (0..enabled.len()).max_by_key(|index| enabled[*index].node).unwrap_or_default();
    path(toy, 1000, last).expect("it leads to a violation")
}

/// The path where `pick` chooses events, and outcomes if there are several, by index.
fn path(toy: &Arc<Toy>, length: usize, mut pick: impl FnMut(usize, &[Action]) -> usize) -> Option<Trace> {
    let lts = Lts::new(toy, Scenario::new(toy.nodes)).expect("toys work");
    let mut stepper = Stepper::new(&lts).expect("toys work");
    let start = start::initial(&mut stepper).expect("toys start").remove(0);
    let mut traced = TracedState::new(&stepper, &start);
    let mut path = Vec::new();
    loop {
        let bad = traced.judge(&mut stepper).expect("toys work").into_iter().find(Judgement::is_bad);
        if let Some(bad) = bad {
            let finding = match bad {
                Judgement::Violated { message, .. } => {
                    Finding::Property { name: "forbidden".to_owned(), kind: PropertyKind::Always, message }
                }
                Judgement::Fault(fault) => {
                    let node = path.last().map_or(0, |step: &host_model::lts::Step| step.node);
                    Finding::Fault { node, fault }
                }
                other => panic!("{other:?} on a toy"),
            };
            let steps = trace::record(&mut stepper, &start.initial, &path).expect("toys work");
            return Some(trace(toy, Some(finding), steps));
        }
        let enabled = traced.enabled(&mut stepper).expect("toys work");
        if enabled.is_empty() || path.len() == length {
            return None;
        }
        let mut action = enabled[pick(enabled.len(), &enabled)].clone();
        let state = traced.locals()[action.node as usize];
        let trigger = action.cause.trigger(&mut stepper);
        let row = stepper.step(state, trigger).expect("toys work");
        let outcomes = stepper.outcomes(row);
        action.choices = outcomes[pick(outcomes.len(), &[])].choices.clone();
        let tag = path.len() as u32;
        path.extend(traced.take(&mut stepper, &action, tag).expect("toys work"));
    }
}

fn trace(toy: &Toy, finding: Option<Finding>, steps: Vec<TraceStep>) -> Trace {
    Trace {
        trace_version: TRACE_VERSION,
        plugin: PluginRef { name: "toy".to_owned(), version: None, digest: None },
        scenario: Scenario::new(toy.nodes),
        placements: Vec::new(),
        limits: Default::default(),
        init_choices: Vec::new(),
        expressed: Vec::new(),
        specs: Vec::new(),
        beginning: None,
        finding,
        steps,
    }
}

/// Minimises, and checks that the result replays from the start to the same property.
fn minimized(toy: &Arc<Toy>, trace: &Trace, options: Options) -> Minimized {
    let lts = Lts::new(toy, trace.scenario.clone()).expect("toys work");
    let mut stepper = Stepper::new(&lts).expect("toys work");
    let short = minimize::minimize(&mut stepper, trace, options, &Unmonitored).expect("the trace shows a violation");
    let finding = minimize::finding(&lts, &short);
    match (&finding, trace.finding.as_ref().expect("it has one")) {
        (Finding::Property { name, .. }, Finding::Property { name: wanted, .. }) => assert_eq!(name, wanted),
        (Finding::Fault { fault, .. }, Finding::Fault { fault: wanted, .. }) => assert_eq!(fault.kind, wanted.kind),
        (one, other) => panic!("{one:?} is not {other:?}"),
    }
    trace::confirm(toy, &trace.scenario, &trace.origin(), &short.steps, &finding)
        .expect("what is left is an execution");
    short
}

/// Node 0 counts to 3 by itself, and each time sends to node 1, which goes from 0 to 1 and stays there; `noise` local
/// events lead node 2 through as many irrelevant states.
fn noisy(noise: u8) -> Toy {
    let mut toy = Toy::new(3).forbid(&[Some(3), Some(1), None]);
    for state in 0..3 {
        toy = toy.rule(0, state, ToyTrigger::Local(0), state + 1, &[(1, 7)]);
    }
    for state in 0..noise {
        toy = toy.rule(2, state, ToyTrigger::Local(1), state + 1, &[(0, 9)]);
    }
    toy.rule(1, 0, ToyTrigger::Message(0, 7), 1, &[])
}

#[test]
fn noise_is_left_out() {
    let toy = Arc::new(noisy(200));
    // First 200 events of node 2; then node 0 receives 200 messages and counts three times, and node 1 receives its message.
    let long = from_the_last_node(&toy);
    assert!(long.steps.len() > 200);
    let short = minimized(&toy, &long, Options::default());
    // Three local events of node 0 and one delivery to node 1; the delivery last, or first and then one change of node.
    assert_eq!(short.steps.len(), 4);
    assert_eq!(short.switches.1, 1);
    assert!(!short.is_cut);
}

#[test]
fn a_prefix_stays() {
    let toy = Arc::new(noisy(200));
    let long = from_the_last_node(&toy);
    let short = minimized(&toy, &long, Options { keep: 50, ..Options::default() });
    assert_eq!(
        short.steps[..50].iter().map(|step| &step.event).collect::<Vec<_>>(),
        long.steps[..50].iter().map(|step| &step.event).collect::<Vec<_>>()
    );
    assert!(short.steps.len() <= 54, "at most the four events that are needed come after it");
}

#[test]
fn choices_become_plain_where_they_do_not_matter() {
    // The first choice of node 0 does not matter, the second one does.
    let go = |next| ToyOutcome::Go(next, Vec::new());
    let mut toy = Toy::new(1).forbid(&[Some(3)]);
    toy.rules.insert((0, 0, ToyTrigger::Local(0)), vec![go(1), go(1)]);
    toy.rules.insert((0, 1, ToyTrigger::Local(0)), vec![go(2), go(3)]);
    let toy = Arc::new(toy);
    let picks = |steps: &[TraceStep]| steps.iter().map(|step| step.choices[0].picked).collect::<Vec<_>>();
    let long = (0..100).filter_map(|seed| walk(&toy, seed, 10)).find(|trace| picks(&trace.steps) == [1, 1]);
    let short = minimized(&toy, &long.expect("one walk in four picks so"), Options::default());
    assert_eq!(picks(&short.steps), [0, 1]);
}

#[test]
fn faults_are_findings_too() {
    let toy = noisy(50).trap(0, 3, ToyTrigger::Message(2, 9));
    let toy = Arc::new(Toy { forbidden: Vec::new(), ..toy });
    let long = (0..1000).filter_map(|seed| walk(&toy, seed, 400)).find(|trace| trace.steps.len() > 20);
    let long = long.expect("in some walk messages of node 2 wait until node 0 has counted");
    assert!(matches!(&long.finding, Some(Finding::Fault { fault, .. }) if fault.kind == FaultKind::Trap));
    // Three local events of node 0, one of node 2, and its message to node 0.
    assert_eq!(minimized(&toy, &long, Options::default()).steps.len(), 5);
}

/// For random systems: the result is not longer, each event of it is needed, and its recording is the trace.
#[test]
fn every_event_that_is_left_is_needed() {
    let (mut tried, mut shorter) = (0, 0);
    for seed in 0..3000 {
        let toy = Arc::new(Toy::random(seed, 3));
        let Some(long) = walk(&toy, seed, 60) else { continue };
        let short = minimized(&toy, &long, Options::default());
        assert!(short.steps.len() <= long.steps.len(), "seed {seed}");
        tried += 1;
        shorter += usize::from(short.steps.len() < long.steps.len());
        let lts = Lts::new(&toy, Scenario::new(3)).expect("toys work");
        let finding = minimize::finding(&lts, &short);
        for index in 0..short.steps.len() {
            let mut steps = short.steps.clone();
            steps.remove(index);
            let left = trace::confirm(&toy, &Scenario::new(3), &trace::Origin::default(), &steps, &finding);
            assert!(left.is_err(), "seed {seed}: step {} is not needed", index + 1);
        }
        let (recording, result) = Recording::new(&toy, &trace(&toy, Some(finding), short.steps.clone()));
        result.expect("it replays");
        let (again, _) = Recording::new(&toy, &recording.trace);
        assert_eq!(again.trace, recording.trace, "seed {seed}");
    }
    // The seeds above give about 1,500 violations; far fewer would mean that the test tests nothing.
    assert!(tried > 300 && shorter > 100, "{tried} violations, {shorter} made shorter");
}

#[test]
fn what_shows_nothing_is_refused() {
    let toy = Arc::new(noisy(1));
    let lts = Lts::new(&toy, Scenario::new(3)).expect("toys work");
    let mut stepper = Stepper::new(&lts).expect("toys work");
    let mut minimize = |trace: &Trace| minimize::minimize(&mut stepper, trace, Options::default(), &Unmonitored);
    assert_eq!(minimize(&trace(&toy, None, Vec::new())), Err(MinimizeError::NoFinding));
    let message = "nothing".to_owned();
    let finding = Finding::Property { name: "forbidden".to_owned(), kind: PropertyKind::Always, message };
    assert_eq!(minimize(&trace(&toy, Some(finding), Vec::new())), Err(MinimizeError::Unconfirmed));
}

#[test]
fn a_bound_on_the_work_is_reported() {
    let toy = Arc::new(noisy(200));
    let long = from_the_last_node(&toy);
    let short = minimized(&toy, &long, Options { work_max: 300, ..Options::default() });
    assert!(short.is_cut && short.steps.len() >= 4);
}
