//! A trace with every element that a page can show.

use std::sync::Arc;

use host_inspect::draw::{Context, Form, draw};
use host_inspect::recording::Recording;
use host_model::scenario::{FaultEvent, Faults, Network, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::{Hex, PluginRef, TRACE_VERSION, Trace, TraceEvent, TraceStep};
use serde_json::json;

/// The command in its drawings.
pub const REPLAY: &str = "host replay found/trace.json --plugin 'my plugins/toy'";

/// Node 0 sends to both others. Node 1 receives its message twice, answers, and restarts; the message to node 2 is lost, and a
/// copy of it never delivered. The state of node 0 after the answer is forbidden, and promised.
pub fn recording() -> Recording {
    let toy = Toy::new(3)
        .rule(0, 0, ToyTrigger::Local(1), 1, &[(1, 7), (2, 7)])
        .rule(1, 0, ToyTrigger::Message(0, 7), 1, &[(0, 9)])
        .rule(1, 1, ToyTrigger::Message(0, 7), 2, &[(2, 8)])
        .rule(0, 1, ToyTrigger::Message(1, 9), 2, &[])
        .forbid(&[Some(2), None, None])
        .promise("served", &[&[Some(2), None, None]]);
    let deliver = |from, content| TraceEvent::Deliver { from, payload: Hex(vec![content]) };
    let event = FaultEvent::of_kind("reset", None).expect("there is such a fault");
    let steps = [
        (0, TraceEvent::from_local(&local())),
        (1, deliver(0, 7)),
        (1, deliver(0, 7)),
        (2, TraceEvent::Lose { from: 0, payload: Hex(vec![7]) }),
        (1, TraceEvent::Fault { event, lost: false }),
        (0, deliver(1, 9)),
    ];
    let step = |(node, event)| TraceStep { node, event, choices: Vec::new(), sent: None, state: None };
    let faults = Faults { duplicates: 1, resets: 1, ..Faults::default() };
    let trace = Trace {
        trace_version: TRACE_VERSION,
        plugin: PluginRef {
            name: "toy".to_owned(),
            version: None,
            digest: Some(format!("blake3:{}", "0a".repeat(32))),
        },
        scenario: Scenario { network: Network::UnorderedDuplicating, faults, ..Scenario::new(3) },
        placements: Vec::new(),
        limits: Default::default(),
        init_choices: Vec::new(),
        expressed: Vec::new(),
        specs: Vec::new(),
        beginning: None,
        finding: None,
        steps: steps.into_iter().map(step).collect(),
    };
    let mut recording = super::walks::executed(&Arc::new(toy), &trace.with_version());
    described(&mut recording);
    recording
}

fn local() -> host_model::contract::LocalEvent {
    let kind = host_model::contract::LocalKind::Internal;
    host_model::contract::LocalEvent { name: "local1".to_owned(), kind, payload: vec![1] }
}

/// Describes the states of toys, which do not describe themselves, with fields that change and fields that do not.
pub fn described(recording: &mut Recording) {
    for observed in recording.init.iter_mut().chain(&mut recording.steps) {
        let Some(state) = observed.state.as_ref().map(|state| state[0]) else { continue };
        let votes: Vec<u8> = (0..state).collect();
        observed.description = Some(json!({ "Running": { "state": state, "votes": votes, "name": "n".repeat(60) } }));
    }
}

/// The page of a recording.
pub fn page(recording: &Recording) -> String {
    draw(recording, Form::Html, Context { replay: Some(REPLAY), ..Context::default() })
}
