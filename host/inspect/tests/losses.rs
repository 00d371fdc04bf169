//! Messages that a step loses, and messages that are delivered again, in words and drawings.

use std::sync::Arc;

use host_inspect::draw::{Context, Form, draw};
use host_inspect::graph::{Fate, arrows};
use host_inspect::recording::Recording;
use host_inspect::traced_state::TracedState;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::{self, Hex, PluginRef, TRACE_VERSION, Trace, TraceEvent, TraceStep, start};

/// Two messages 7 are in flight to node 1 at the start, and one 8. Node 1 counts.
fn recording(network: Network, events: Vec<TraceEvent>) -> Recording {
    let mut toy = Toy::new(2).in_flight(0, 1, 7).in_flight(0, 1, 7).in_flight(0, 1, 8);
    for state in 0..3 {
        toy = toy.rule(1, state, ToyTrigger::Message(0, 7), state + 1, &[]);
    }
    let duplicates = u32::from(network == Network::UnorderedDuplicating);
    let faults = Faults { duplicates, ..Faults::default() };
    let step = |event| TraceStep { node: 1, event, choices: Vec::new(), sent: None, state: None };
    let trace = Trace {
        trace_version: TRACE_VERSION,
        plugin: PluginRef { name: "toy".to_owned(), version: None, digest: None },
        scenario: Scenario { network, faults, ..Scenario::new(2) },
        placements: Vec::new(),
        limits: Default::default(),
        init_choices: Vec::new(),
        expressed: Vec::new(),
        specs: Vec::new(),
        beginning: None,
        finding: None,
        steps: events.into_iter().map(step).collect(),
    };
    let (recording, result) = Recording::new(&Arc::new(toy), &trace.with_version());
    result.expect("it replays");
    recording
}

fn deliver(content: u8) -> TraceEvent {
    TraceEvent::Deliver { from: 0, payload: Hex(vec![content]) }
}

fn lose(content: u8) -> TraceEvent {
    TraceEvent::Lose { from: 0, payload: Hex(vec![content]) }
}

#[test]
fn drawings_tell_what_is_lost_from_what_is_never_delivered() {
    let recording = recording(Network::Unordered, vec![lose(7), deliver(7)]);
    let fates: Vec<Fate> = arrows(&recording).iter().map(|arrow| arrow.fate).collect();
    assert_eq!(fates, [Fate::Lost(1), Fate::Delivered(2), Fate::InFlight]);
    let drawn = |form| draw(&recording, form, Context::default());
    let mermaid = drawn(Form::Mermaid);
    let words = host_inspect::explain::steps(&recording, 0, host_inspect::explain::Paint::Plain);
    assert!(words.contains("is lost: 07\n     changes nothing\n"), "{words}");
    for line in [
        "n0--xn1: 07, lost in step 1",
        "n0--xn1: 08, never delivered",
        "Note over n1: 1. a message from node 0 is lost: 07",
        "n0->>n1: 2. 07 (sent in 0)",
    ] {
        assert!(mermaid.contains(line), "{line} in {mermaid}");
    }
    for form in [Form::Svg, Form::Dot] {
        let drawing = drawn(form);
        for (words, count) in [("to node 1, lost in step 1", 1), ("to node 1, never delivered", 1)] {
            let lines = drawing.lines().filter(|line| line.contains(words)).count();
            assert!(lines >= count, "{words} in {drawing}");
        }
        assert!(!drawing.contains("07 to node 1, never delivered"), "{drawing}");
    }
}

/// A repeated delivery starts where the first one did, and one copy can be lost while the other arrives.
#[test]
fn each_delivery_of_a_copy_has_its_arrow() {
    let events = vec![deliver(7), deliver(7), deliver(7), lose(8), deliver(7)];
    let recording = recording(Network::UnorderedDuplicating, events);
    let found: Vec<(u8, Fate)> = arrows(&recording).iter().map(|arrow| (arrow.payload[0], arrow.fate)).collect();
    let mut steps: Vec<(u8, Fate)> = found;
    steps.sort_by_key(|(_, fate)| match fate {
        Fate::Delivered(step) | Fate::Lost(step) => *step,
        Fate::InFlight => usize::MAX,
    });
    let delivered = |step| (7, Fate::Delivered(step));
    assert_eq!(steps, [delivered(1), delivered(2), delivered(3), (8, Fate::Lost(4)), delivered(5)]);
    let mermaid = draw(&recording, Form::Mermaid, Context::default());
    assert_eq!(mermaid.matches("07 (sent in 0)").count(), 4, "{mermaid}");
}

/// Messages in flight, as sender, destination and content.
type Flight = Vec<(u32, u32, Vec<u8>)>;

/// A random walk with resets and breaks over ordered links, and what the model has in flight at the start and after each step.
fn walk(toy: &Arc<Toy>, seed: u64) -> (Trace, Vec<Flight>) {
    let faults = Faults { resets: 1, breaks: 2, ..Faults::default() };
    let scenario = Scenario { network: Network::Ordered, faults, ..Scenario::new(3) };
    let lts = Lts::new(toy, scenario.clone()).expect("toys work");
    let mut stepper = Stepper::new(&lts).expect("toys work");
    let start = start::initial(&mut stepper).expect("toys start").remove(0);
    let mut traced = TracedState::new(&stepper, &start);
    let flight = |stepper: &Stepper<'_>, traced: &TracedState| -> Flight {
        let messages = traced.in_flight().iter().map(|flying| stepper.message(flying.message));
        let messages = messages.filter(|message| !message.is_notice);
        let mut flight: Flight = messages.map(|message| (message.from, message.to, message.payload.clone())).collect();
        flight.sort();
        flight
    };
    let (mut path, mut flights, mut random) = (Vec::new(), vec![flight(&stepper, &traced)], seed);
    // Faults that change nothing are no steps.
    for _ in 0..60 {
        let enabled = traced.enabled(&mut stepper).expect("toys work");
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let Some(action) = enabled.get((random >> 33) as usize % enabled.len().max(1)) else { break };
        if let Some(step) = traced.take(&mut stepper, action, path.len() as u32).expect("toys work") {
            path.push(step);
            flights.push(flight(&stepper, &traced));
        }
    }
    let trace = Trace {
        trace_version: TRACE_VERSION,
        plugin: PluginRef { name: "toy".to_owned(), version: None, digest: None },
        scenario,
        placements: Vec::new(),
        limits: Default::default(),
        init_choices: Vec::new(),
        expressed: Vec::new(),
        specs: Vec::new(),
        beginning: None,
        finding: None,
        steps: trace::record(&mut stepper, &start.initial, &path).expect("toys work"),
    };
    (trace.beginning_at(start.origin).with_version(), flights)
}

/// The naive reference is the model: an arrow is in flight after a step where its message is, and what is lost with a connection is not.
#[test]
fn arrows_are_in_flight_where_the_messages_are() {
    let (mut lost, mut lost_at_once) = (0, 0);
    for seed in 0..300 {
        let toy = Arc::new(Toy::random(seed, 3).with_random_errors(seed));
        let (trace, flights) = walk(&toy, seed);
        let (recording, result) = Recording::new(&toy, &trace);
        result.expect("it replays");
        let arrows = arrows(&recording);
        for (step, flight) in flights.iter().enumerate() {
            let shown = arrows.iter().filter(|arrow| arrow.is_in_flight_after(step));
            let mut shown: Flight = shown.map(|arrow| (arrow.from, arrow.to, arrow.payload.clone())).collect();
            shown.sort();
            assert_eq!(shown, *flight, "seed {seed}, after step {step}");
        }
        let all = recording.steps.iter().flat_map(|step| &step.lost);
        lost += all.clone().filter(|lost| !lost.is_sent).count();
        lost_at_once += all.filter(|lost| lost.is_sent).count();
        let drawing = draw(&recording, Form::Svg, Context::default());
        let never = arrows.iter().any(|arrow| arrow.fate == Fate::InFlight);
        assert!(never || !drawing.contains("never delivered"), "seed {seed}: {drawing}");
    }
    assert!(lost > 20 && lost_at_once > 5, "{lost} and {lost_at_once} losses are too few to compare");
}
