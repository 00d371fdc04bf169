//! The properties over time, against replays from the start.

use std::sync::Arc;

use host_inspect::course::{Course, grouped};
use host_model::contract::{NodeId, PropertyKind, PropertyScope};
use host_model::toys::{Toy, ToyProperty, ToyTrigger};
use host_model::trace::replay::Replay;
use host_model::trace::{Finding, Standing, Trace, TraceEvent};

use super::walks;

/// A system with properties of every kind and scope; one of them sometimes cannot be evaluated.
fn toy(seed: u64) -> Arc<Toy> {
    let mut toy = Toy::random(seed, 3).forbid(&[Some(1), Some(1), None]).promise("promised", &[&[Some(1), None, None]]);
    let kinds = [PropertyKind::Always, PropertyKind::Sometimes, PropertyKind::Eventually];
    for (index, kind) in kinds.into_iter().enumerate() {
        for scope in [PropertyScope::Node, PropertyScope::System] {
            toy.properties.push(ToyProperty {
                name: format!("{kind:?}-{scope:?}"),
                kind,
                scope,
                tuples: vec![vec![Some(1), Some(2), None], vec![None, Some(1), Some(2)]],
                traps: if index == 1 { vec![vec![None, Some(3), None]] } else { Vec::new() },
                sees_all: seed.is_multiple_of(2),
            });
        }
    }
    Arc::new(toy)
}

/// The standing in a cluster that has taken only the first steps of a trace,
/// by the functions that confirm findings.
fn reference(toy: &Arc<Toy>, trace: &Trace, step: usize, course: &Course, name: &str) -> Option<&'static str> {
    let (mut replay, _) = Replay::new(toy, &trace.scenario, &trace.origin()).expect("toys start");
    for step in &trace.steps[..step] {
        replay.step(step).expect("it replays");
    }
    let findings = replay.judged().expect("toys work");
    if findings.iter().any(|(_, finding)| matches!(finding, Finding::Fault { .. })) {
        return Some("not known");
    }
    let is_here = |node: &Option<NodeId>| *node == course.node;
    for (_, finding) in findings.iter().filter(|(node, _)| is_here(node)) {
        match finding {
            Finding::Broken { property, .. } if property == name => return Some("not known"),
            Finding::Property { name: found, kind: PropertyKind::Always, .. } if found == name => {
                return Some("violated");
            }
            Finding::Property { name: found, kind: PropertyKind::Sometimes, .. } if found == name => {
                return Some("reached");
            }
            _ => {}
        }
    }
    let property = replay.properties()[course.property].clone();
    if property.kind == PropertyKind::Eventually {
        let owed = replay.owing(course.property as u32, course.node).expect("toys work");
        return Some(if owed.is_some() { "owed" } else { "holds" });
    }
    Some(if property.kind == PropertyKind::Always { "holds" } else { "not reached" })
}

#[test]
fn a_course_says_what_a_replay_of_the_first_steps_finds() {
    let (mut compared, mut changes) = (0, 0);
    for seed in 0..60 {
        let toy = toy(seed);
        let trace = walks::trace(&toy, seed);
        let recording = walks::executed(&toy, &trace);
        for course in &recording.courses {
            let name = &recording.properties[course.property].name;
            for step in 0..=trace.steps.len() {
                let word = host_inspect::course::word(course.after(step));
                let expected = reference(&toy, &trace, step, course, name).expect("it is judged");
                assert_eq!(word, expected, "seed {seed}, {name} at {:?} after step {step}", course.node);
                compared += 1;
            }
            changes += course.standings.len() - 1;
        }
    }
    assert!(compared > 5_000 && changes > 100, "{compared} standings with {changes} changes test little");
}

/// A trap ends the execution, and no standing is known there.
#[test]
fn nothing_is_known_of_a_cluster_with_a_node_in_a_fault() {
    let toy = Toy::new(2).rule(0, 0, ToyTrigger::Local(1), 1, &[]).trap(0, 1, ToyTrigger::Local(1));
    let toy = Arc::new(toy.promise("served", &[&[None, Some(3)]]));
    let mut trace = walks::trace(&Arc::new(Toy::new(3)), 0);
    trace.scenario = host_model::scenario::Scenario::new(2);
    let local = host_model::contract::LocalEvent {
        name: "local1".to_owned(),
        kind: host_model::contract::LocalKind::Internal,
        payload: vec![1],
    };
    let event = TraceEvent::from_local(&local);
    let step = host_model::trace::TraceStep { node: 0, event, choices: Vec::new(), sent: None, state: None };
    trace.steps = vec![step.clone(), step];
    let recording = walks::executed(&toy, &trace);
    for course in &recording.courses {
        assert!(!matches!(course.after(1), Standing::Unknown(_)));
        assert!(matches!(course.after(2), Standing::Unknown(why) if why.starts_with("node 0 is stuck")), "{course:?}");
    }
    assert_eq!(grouped(&recording.courses, &recording.properties, &recording.names).len(), recording.courses.len());
}
