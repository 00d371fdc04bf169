//! The shape of a trace: the part that it shares with its variants by node and by value.

use host_model::contract::NodeId;
use host_model::trace::{Finding, TraceEvent, TraceStep};
use serde_json::Value;

use crate::graph::{self, Fate};
use crate::recording::Recording;
use crate::words;

/// Hexadecimal digits of a shape.
const DIGITS: usize = 16;

/// A hash over the causes of an event, by kind and name.
type Label = blake3::Hash;

/// The shape of a finding and of the way to it, as [`DIGITS`] hexadecimal digits: equal for two that differ only in the nodes of their
/// events, in the order, and in values.
///
/// A value is the content of a message or a local event other than its name, an answer to `choose`, and a number in the words of a
/// fault. The label of an event is a hash of its kind and name, and of the labels of the senders of its messages. The shape is the
/// multiset of these labels, with the finding.
pub fn shape(recording: &Recording, finding: &Finding) -> String {
    let mut labels: Vec<Label> = labels(recording);
    labels.sort_unstable_by_key(|label| *label.as_bytes());
    let mut hasher = blake3::Hasher::new();
    put(&mut hasher, &found(finding));
    for label in &labels {
        hasher.update(label.as_bytes());
    }
    hasher.finalize().to_hex()[..DIGITS].to_owned()
}

/// The labels of the events, in their order.
fn labels(recording: &Recording) -> Vec<Label> {
    let arrows = graph::arrows(recording);
    let mut labels: Vec<Label> = Vec::with_capacity(recording.steps.len());
    for (number, step) in (1..).zip(&recording.trace.steps).take(recording.steps.len()) {
        // Messages lost with a broken connection are no cause of the step.
        let is_loss = matches!(step.event, TraceEvent::Lose { .. });
        let is_end = |fate: Fate| fate == Fate::Delivered(number) || (is_loss && fate == Fate::Lost(number));
        let causes = arrows.iter().filter(|arrow| is_end(arrow.fate)).map(|arrow| {
            let mut hasher = blake3::Hasher::new();
            // Messages of `init` have no cause.
            if arrow.sent > 0 {
                hasher.update(labels[arrow.sent - 1].as_bytes());
            }
            put(&mut hasher, &message(recording, &arrow.payload));
            put(&mut hasher, if arrow.again.is_some() { "again" } else { "" });
            hasher.finalize()
        });
        let mut causes: Vec<Label> = causes.collect();
        causes.sort_unstable_by_key(|label| *label.as_bytes());
        let mut hasher = blake3::Hasher::new();
        put(&mut hasher, &name(step));
        let refused = step.choices.iter().filter(|choice| choice.is_refusal()).count();
        put(&mut hasher, &refused.to_string());
        for label in &causes {
            hasher.update(label.as_bytes());
        }
        labels.push(hasher.finalize());
    }
    labels
}

/// Kind and name of an event, without its nodes and values.
fn name(step: &TraceStep) -> String {
    match &step.event {
        TraceEvent::Deliver { .. } => "deliver".to_owned(),
        TraceEvent::Lose { .. } => "lose".to_owned(),
        TraceEvent::Quorum { name, .. } => format!("quorum {name}"),
        TraceEvent::Local { name, cause, .. } => format!("local {} {name}", words::name(cause)),
        TraceEvent::TransportError { peer, lost } => format!("error {} {lost}", is_self(*peer, step.node)),
        TraceEvent::Fault { event, lost } => {
            let peer = event.peer().map(|peer| is_self(peer, step.node));
            format!("fault {} {peer:?} {} {lost}", event.kind(), event.unsynced())
        }
    }
}

fn is_self(peer: NodeId, node: NodeId) -> bool {
    peer == node
}

/// The name of a message, if its description has one.
fn message(recording: &Recording, payload: &[u8]) -> String {
    recording.message_json(payload).map_or_else(String::new, |value| named(&value))
}

/// The part of a description that does not depend on values.
fn named(value: &Value) -> String {
    match value {
        // The name of a variant without fields, or a command in words such as `write 3`.
        Value::String(text) => text.chars().take_while(|letter| letter.is_alphabetic() || *letter == '_').collect(),
        Value::Array(values) => values.first().map_or_else(String::new, named),
        Value::Object(fields) => match fields.get("kind").or_else(|| fields.get("type")) {
            Some(Value::String(kind)) => kind.clone(),
            _ => fields.keys().map(String::as_str).collect::<Vec<_>>().join(","),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// The finding, without nodes and values.
fn found(finding: &Finding) -> String {
    match finding {
        Finding::Property { name, .. } => format!("property {name}"),
        Finding::Broken { property, fault } => {
            format!("broken {property} {} {}", words::name(fault.kind), without_numbers(&fault.message))
        }
        Finding::Fault { fault, .. } => format!("{} {}", words::name(fault.kind), without_numbers(&fault.message)),
        Finding::Deadlock { .. } => "deadlock".to_owned(),
        Finding::Promise(promise) => format!("promise {} {}", promise.name, promise.class.name()),
    }
}

/// A text with `#` for each number.
fn without_numbers(text: &str) -> String {
    let mut said = String::new();
    for letter in text.chars() {
        match letter.is_ascii_digit() {
            true if said.ends_with('#') => {}
            true => said.push('#'),
            false => said.push(letter),
        }
    }
    said
}

fn put(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_is_named_by_what_does_not_change_with_its_values() {
        let same = [
            (json!({"Prepare": {"ballot": 1}}), json!({"Prepare": {"ballot": 2}})),
            (json!("Note"), json!("Note")),
            (json!("write 1"), json!("write 22")),
            (json!({"kind": "query", "op": 1}), json!({"op": 2, "kind": "query"})),
            (json!(["ack", 1]), json!(["ack", 2])),
            (json!(1), json!(2)),
        ];
        for (one, other) in same {
            assert_eq!(named(&one), named(&other), "{one} and {other}");
        }
        let all = [json!({"Prepare": 1}), json!({"Accept": 1}), json!("Note"), json!({"kind": "query"}), json!(1)];
        let names: std::collections::BTreeSet<String> = all.iter().map(named).collect();
        assert_eq!(names.len(), all.len(), "{names:?}");
        assert_eq!(without_numbers("index 12 of 3, node 0x1f"), "index # of #, node #x#f");
    }
}
