//! Walks through random systems.

use std::collections::BTreeMap;
use std::sync::Arc;

use host_inspect::recording::Recording;
use host_inspect::traced_state::TracedState;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::Toy;
use host_model::trace::{self, PluginRef, TRACE_VERSION, Trace, start};

/// A walk through a system, which takes the oldest message or else the first local event. One in three loses messages, and one
/// in three begins in exported states.
pub fn trace(toy: &Arc<Toy>, seed: u64) -> Trace {
    let lts = Lts::new(toy, Scenario::new(3)).expect("toys work");
    let mut stepper = Stepper::new(&lts).expect("toys work");
    let mut start = start::initial(&mut stepper).expect("toys start").remove(0);
    if seed % 3 == 1 {
        let beginning = start::export(&mut stepper, &start).expect("the states of toys can leave");
        start = start::adopt(&mut stepper, &Arc::new(beginning)).expect("they are of this cluster");
    }
    let mut traced = TracedState::new(&stepper, &start);
    let mut path = Vec::new();
    while path.len() < 30 {
        let mut enabled = traced.enabled(&mut stepper).expect("toys work");
        if seed % 3 == 2 && path.len() % 4 == 1 {
            enabled.extend(traced.losses(&stepper));
            let last = enabled.len().min(1);
            enabled.rotate_right(last);
        }
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
        expressed: Vec::new(),
        specs: Vec::new(),
        beginning: None,
        finding: None,
        steps: trace::record(&mut stepper, &start.initial, &path).expect("toys work"),
    };
    trace.beginning_at(start.origin.clone()).with_version()
}

/// A trace of a system, executed.
pub fn executed(toy: &Arc<Toy>, trace: &Trace) -> Recording {
    let (recording, result) = Recording::new(toy, trace);
    result.expect("it replays");
    recording
}
