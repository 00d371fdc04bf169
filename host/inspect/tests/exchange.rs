//! Round trips through the formats of other tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use host_inspect::exchange::{self, from_itf, shiviz};
use host_inspect::graph::{arrows, clocks};
use host_inspect::recording::Recording;
use host_inspect::traced_state::TracedState;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::Toy;
use host_model::trace::{self, PluginRef, TRACE_VERSION, Trace, TraceEvent, start};

/// What a reader of ITF looks at.
#[derive(serde::Deserialize)]
struct Seen {
    #[serde(rename = "mbt::actionTaken")]
    action: String,
    in_flight: Vec<Flying>,
}

#[derive(serde::Deserialize)]
struct Flying {
    message: String,
}

/// Some way through a random system, the oldest message or else the first local event first.
fn recording(seed: u64) -> Recording {
    let toy = Arc::new(Toy::random(seed, 3));
    let lts = Lts::new(&toy, Scenario::new(3)).expect("toys work");
    let mut stepper = Stepper::new(&lts).expect("toys work");
    let start = start::initial(&mut stepper).expect("toys start").remove(0);
    let mut traced = TracedState::new(&stepper, &start);
    let mut path = Vec::new();
    while path.len() < 30 {
        let enabled = traced.enabled(&mut stepper).expect("toys work");
        let Some(action) = enabled.get(path.len() * 7 % enabled.len().max(1)) else { break };
        path.extend(traced.take(&mut stepper, action, path.len() as u32).expect("toys work"));
    }
    let trace = Trace {
        trace_version: TRACE_VERSION,
        plugin: PluginRef { name: "toy".to_owned(), version: Some("1".to_owned()), digest: None },
        scenario: Scenario { parameters: BTreeMap::from([("a".to_owned(), "b".to_owned())]), ..Scenario::new(3) },
        placements: Vec::new(),
        limits: BTreeMap::from([("fuel".to_owned(), 123_456)]),
        init_choices: Vec::new(),
        beginning: None,
        finding: None,
        steps: trace::record(&mut stepper, &start.initial, &path).expect("toys work"),
    };
    let (recording, result) = Recording::new(&toy, &trace);
    result.expect("it replays");
    recording
}

/// A document as it is read from a file.
fn read(document: &serde_json::Value) -> exchange::Document {
    serde_json::from_str(&document.to_string()).expect("a document")
}

#[test]
fn a_trace_comes_back_from_itf_as_it_was() {
    let mut steps = 0;
    for seed in 0..200 {
        let recording = recording(seed);
        let document = exchange::itf(&recording).expect("a short trace");
        assert_eq!(from_itf(&read(&document)), Ok(recording.trace.clone()), "seed {seed}");
        steps += recording.steps.len();
        // Another implementation reads it, and sees as many states and the actions.
        let text = document.to_string();
        let read: ::itf::Trace<Seen> = ::itf::trace_from_str(&text).expect("it is ITF");
        let actions: Vec<&str> = read.states.iter().map(|state| state.value.action.as_str()).collect();
        let expected = recording.trace.steps.iter().map(|step| match &step.event {
            TraceEvent::Deliver { .. } => "deliver",
            TraceEvent::Quorum { .. } => "quorum",
            TraceEvent::Local { name, .. } => name,
            TraceEvent::Lose { .. } => "lose",
            TraceEvent::Reset => "reset",
            TraceEvent::Break { .. } => "break",
            TraceEvent::TransportError { .. } => "transport-error",
        });
        assert_eq!(actions, std::iter::once("init").chain(expected).collect::<Vec<_>>());
        assert!(read.states.iter().all(|state| state.value.in_flight.iter().all(|flying| flying.message.len() == 2)));
        assert_eq!(read.vars, ["nodes", "in_flight", "mbt::actionTaken", "mbt::nondetPicks"]);
    }
    assert!(steps > 1000, "{steps} steps in 200 systems test nothing");
}

#[test]
fn what_host_did_not_write_is_refused() {
    let mut document = exchange::itf(&recording(1)).expect("a short trace");
    document["states"][1]["mbt::nondetPicks"]["node"]["value"] = "x".into();
    assert!(from_itf(&read(&document)).is_err_and(|why| why.starts_with("`node` of state 1 is wrong")));
    document["#meta"] = serde_json::json!({});
    assert!(from_itf(&read(&document)).is_err_and(|why| why.contains("was not written by `host`")));
}

/// Reads a log as ShiViz does by default: a line with the event, a line with host and clock.
fn read_shiviz(log: &str) -> Vec<(String, BTreeMap<String, u64>)> {
    let lines: Vec<&str> = log.lines().collect();
    let events = lines.chunks(2).map(|pair| {
        let (host, clock) = pair[1].split_once(' ').expect("host and clock");
        (host.to_owned(), serde_json::from_str(clock).expect("a clock is a JSON object"))
    });
    events.collect()
}

#[test]
fn shiviz_sees_the_happens_before_of_the_trace() {
    for seed in 0..100 {
        let recording = recording(seed);
        let log = read_shiviz(&shiviz(&recording).expect("a short trace"));
        let nodes = recording.nodes() as usize;
        assert_eq!(log.len(), nodes + recording.steps.len());
        // The index of the last event of each node, and the clocks as the definition says: the own entry counts up, all
        // entries are at least those of the event before and of the one that sent the message.
        let index = |node: u32, step: usize| if step == 0 { node as usize } else { nodes + step - 1 };
        for (number, step) in (1..).zip(&recording.trace.steps) {
            let (host, clock) = &log[index(step.node, number)];
            assert_eq!(*host, format!("node{}", step.node));
            let before = &log[index(step.node, recording.step_before(number, step.node))].1;
            assert_eq!(clock[host], before[host] + 1);
            let sender = arrows(&recording).into_iter().find(|arrow| arrow.delivered == Some(number));
            let causes = sender.map(|arrow| &log[index(arrow.from, arrow.sent)].1).into_iter().chain([before]);
            for cause in causes {
                assert!(cause.iter().all(|(node, count)| clock.get(node) >= Some(count)), "seed {seed}, step {number}");
            }
        }
        assert_eq!(clocks(&recording).len(), recording.steps.len());
    }
}
