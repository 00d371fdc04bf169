//! Messages that a step loses, and messages that are delivered again, in words and drawings.

use std::sync::Arc;

use host_inspect::draw::{Context, Form, draw};
use host_inspect::graph::{Fate, arrows};
use host_inspect::recording::Recording;
use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::{Hex, PluginRef, TRACE_VERSION, Trace, TraceEvent, TraceStep};

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
