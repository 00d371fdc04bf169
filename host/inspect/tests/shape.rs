//! Shapes of traces on toys: equal exactly for variants by node, by value and by order.

use std::sync::Arc;

use host_inspect::recording::Recording;
use host_inspect::shape::shape;
use host_model::contract::{LocalKind, NodeId, PropertyKind};
use host_model::scenario::Scenario;
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::{Finding, Hex, PluginRef, TRACE_VERSION, Trace, TraceEvent, TraceStep};

fn found(name: &str) -> Finding {
    Finding::Property { name: name.to_owned(), kind: PropertyKind::Always, message: String::new() }
}

/// Three nodes: each can send 1 to each other, answers 1 with 2, and takes every message.
fn toy() -> Toy {
    let mut toy = Toy::new(3);
    for node in 0..3 {
        let others: Vec<(NodeId, u8)> = (0..3).filter(|other| *other != node).map(|other| (other, 1)).collect();
        for state in 0..3 {
            toy = toy.rule(node, state, ToyTrigger::Local(0), state + 1, &others);
            for from in (0..3).filter(|from| *from != node) {
                toy = toy.rule(node, state, ToyTrigger::Message(from, 1), state + 1, &[(from, 2)]);
                toy = toy.rule(node, state, ToyTrigger::Message(from, 2), state + 1, &[]);
            }
        }
    }
    toy
}

fn local(node: NodeId) -> (NodeId, TraceEvent) {
    (node, TraceEvent::Local { name: "local0".to_owned(), cause: LocalKind::Internal, payload: Hex(vec![0]) })
}

fn deliver(from: NodeId, node: NodeId) -> (NodeId, TraceEvent) {
    (node, TraceEvent::Deliver { from, payload: Hex(vec![1]) })
}

fn answer(from: NodeId, node: NodeId) -> (NodeId, TraceEvent) {
    (node, TraceEvent::Deliver { from, payload: Hex(vec![2]) })
}

fn of(steps: &[(NodeId, TraceEvent)], finding: &Finding) -> String {
    let toy = Arc::new(toy());
    let step = |(node, event): &(NodeId, TraceEvent)| TraceStep {
        node: *node,
        event: event.clone(),
        choices: Vec::new(),
        sent: None,
        state: None,
    };
    let trace = Trace {
        trace_version: TRACE_VERSION,
        plugin: PluginRef { name: "toy".to_owned(), version: None, digest: None },
        scenario: Scenario::new(3),
        placements: Vec::new(),
        limits: Default::default(),
        init_choices: Vec::new(),
        expressed: Vec::new(),
        specs: Vec::new(),
        beginning: None,
        finding: None,
        steps: steps.iter().map(step).collect(),
    };
    let (recording, result) = Recording::new(&toy, &trace);
    result.expect("it replays");
    shape(&recording, finding)
}

#[test]
fn variants_by_node_and_by_order_have_one_shape() {
    let one = of(&[local(0), local(1), deliver(0, 2), deliver(1, 2)], &found("p"));
    let renamed = of(&[local(2), local(1), deliver(2, 0), deliver(1, 0)], &found("p"));
    let reordered = of(&[local(1), local(0), deliver(1, 2), deliver(0, 2)], &found("p"));
    let interleaved = of(&[local(0), deliver(0, 2), local(1), deliver(1, 2)], &found("p"));
    // Another node receives the second one.
    let placed = of(&[local(0), local(1), deliver(0, 2), deliver(1, 0)], &found("p"));
    assert_eq!([&renamed, &reordered, &interleaved, &placed], [&one; 4]);
}

#[test]
fn what_has_other_causes_has_another_shape() {
    let finding = found("p");
    let all = [
        of(&[local(0), local(1), deliver(0, 2), deliver(1, 2)], &finding),
        of(&[local(0), local(1), deliver(0, 2), deliver(1, 2)], &found("q")),
        of(&[local(0), local(1), deliver(0, 2), answer(2, 0)], &finding),
        of(&[local(0), local(1), deliver(0, 2)], &finding),
        of(&[local(0), deliver(0, 2), deliver(0, 1)], &finding),
        of(&[local(0), deliver(0, 2), answer(2, 0)], &finding),
        of(&[], &finding),
    ];
    let different: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(different.len(), all.len(), "{all:?}");
}
