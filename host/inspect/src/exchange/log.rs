//! A trace as a log: a line of JSON per event, as the nodes could have written it.

use host_model::trace::{Sent, TraceEvent};
use serde_json::{Map, Value, json};

use crate::exchange::TooLarge;
use crate::recording::{Observed, Recording};

/// The maximum size in bytes of a log: every line has the whole state of its node.
const LOG_BYTES_MAX: usize = 256 << 20;

/// The letters of a text from which on it may be a description that was shortened.
const SHORTENED_LETTERS: usize = 4_000;

/// A line per event that its node notices, with the messages that it sends and the state after it. Messages and states are those that the
/// plugin describes; a message without a description has its bytes.
///
/// # Errors
///
/// The log would have too many bytes.
pub fn log(recording: &Recording) -> Result<String, TooLarge> {
    let mut text = String::new();
    for (node, observed) in recording.init.iter().enumerate() {
        let mut line = Map::new();
        line.insert("node".to_owned(), json!(node));
        line.insert("event".to_owned(), json!("start"));
        state(&mut line, observed);
        text += &Value::Object(line).to_string();
        text.push('\n');
    }
    for (number, step) in (1..).zip(&recording.trace.steps) {
        let Some(fields) = event(recording, &step.event) else { continue };
        let observed = &recording.steps[number - 1];
        let mut line = Map::from_iter([("node".to_owned(), json!(step.node))]);
        line.extend(fields);
        if !observed.sent.is_empty() {
            let sent = observed.sent.iter().map(|sent| Value::Object(sending(recording, sent)));
            line.insert("sent".to_owned(), sent.collect());
        }
        state(&mut line, observed);
        text += &Value::Object(line).to_string();
        text.push('\n');
        if text.len() > LOG_BYTES_MAX {
            return Err(TooLarge(LOG_BYTES_MAX));
        }
    }
    Ok(text)
}

/// The fields of an event; none if its node does not notice it.
fn event(recording: &Recording, event: &TraceEvent) -> Option<Map<String, Value>> {
    let mut line = Map::new();
    let mut put = |field: &str, value: Value| drop(line.insert(field.to_owned(), value));
    match event {
        _ if event.is_lost() => return None,
        TraceEvent::Lose { .. } => return None,
        TraceEvent::Deliver { from, payload } => {
            put("event", json!("deliver"));
            put("from", json!(from));
            line.extend(message(recording, &payload.0));
        }
        TraceEvent::Quorum { name, .. } => {
            put("event", json!("quorum"));
            put("name", json!(name));
        }
        TraceEvent::Local { name, cause, payload } => {
            put("event", json!("local"));
            put("name", json!(name));
            put("cause", json!(cause));
            put("payload", json!(payload));
        }
        TraceEvent::TransportError { peer, .. } => {
            put("event", json!("transport-error"));
            put("peer", json!(peer));
        }
        TraceEvent::Fault { event, .. } => {
            put("event", json!(event.kind()));
            if let Some(peer) = event.peer() {
                put("peer", json!(peer));
            }
        }
    }
    Some(line)
}

fn message(recording: &Recording, payload: &[u8]) -> Map<String, Value> {
    let (field, value) = match recording.message_json(payload) {
        Some(described) if is_whole(&described) => ("message", described),
        _ => ("payload", json!(host_model::trace::Hex(payload.to_vec()))),
    };
    Map::from_iter([(field.to_owned(), value)])
}

fn sending(recording: &Recording, sent: &Sent) -> Map<String, Value> {
    let mut fields = Map::from_iter([("to".to_owned(), json!(sent.to))]);
    fields.extend(message(recording, &sent.payload.0));
    fields
}

fn state(line: &mut Map<String, Value>, observed: &Observed) {
    if let Some(description) = observed.description.clone().filter(is_whole) {
        line.insert("state".to_owned(), description);
    }
}

/// Whether a description is all that the plugin has said: a long one becomes a text without its end.
fn is_whole(description: &Value) -> bool {
    description.as_str().is_none_or(|text| text.len() < SHORTENED_LETTERS)
}
