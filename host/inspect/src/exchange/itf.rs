//! The Informal Trace Format of Apalache and Quint.
//!
//! Source: "ADR-015: Informal Trace Format in JSON", apalache-mc.org; `mbt::actionTaken` and `mbt::nondetPicks` as Quint
//! writes them with `--mbt`. The variables are the states of the nodes, the messages in flight, the action, and all its
//! nondeterministic picks. Data without a place in the format, such as the plugin's digest, is one string in its `#meta`,
//! so that a trace survives the round trip.

use host_model::trace::{Finding, PluginRef, Trace, TraceEvent, TraceStep};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::exchange::TooLarge;
use crate::explain;
use crate::graph::{Arrow, arrows};
use crate::recording::Recording;
use crate::words;

const ACTION: &str = "mbt::actionTaken";
const PICKS: &str = "mbt::nondetPicks";

/// The parts of a trace other than its steps.
#[derive(Serialize, Deserialize)]
struct Head {
    trace_version: u32,
    plugin: PluginRef,
    scenario: host_model::scenario::Scenario,
    placements: Vec<host_model::trace::Placement>,
    limits: std::collections::BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    expressed: Vec<host_model::trace::Expressed>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    specs: Vec<PluginRef>,
    init_choices: Vec<Vec<host_model::contract::Choice>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beginning: Option<host_model::trace::Beginning>,
    finding: Option<Finding>,
}

/// The maximum size in bytes of a document, written or read: every state has the states of all nodes and all messages in
/// flight, so a short trace can make a long document.
pub const ITF_BYTES_MAX: usize = 64 << 20;

/// The maximum nesting depth of a value of the protocol; a deeper value is a text.
const NESTED_MAX: usize = 24;

/// A recording as ITF.
///
/// # Errors
///
/// The document would exceed [`ITF_BYTES_MAX`].
pub fn itf(recording: &Recording) -> Result<Value, TooLarge> {
    let trace = &recording.trace;
    let head = Head {
        trace_version: trace.trace_version,
        plugin: trace.plugin.clone(),
        scenario: trace.scenario.clone(),
        placements: trace.placements.clone(),
        limits: trace.limits.clone(),
        expressed: trace.expressed.clone(),
        specs: trace.specs.clone(),
        init_choices: trace.init_choices.clone(),
        beginning: trace.beginning.clone(),
        finding: trace.finding.clone(),
    };
    let description = match recording.finding() {
        Some((node, finding)) => explain::verdict(recording, finding, node),
        None => "a path that violates nothing".to_owned(),
    };
    let (arrows, mut states, mut bytes) = (arrows(recording), Vec::new(), 0);
    for step in 0..=recording.steps.len() {
        let state = state(recording, &arrows, step);
        bytes += state.to_string().len();
        if bytes > ITF_BYTES_MAX {
            return Err(TooLarge(ITF_BYTES_MAX));
        }
        states.push(state);
    }
    let mut document = json!({
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "source": trace.plugin.name,
            "description": description,
            "host": json!(head).to_string(),
        },
        "vars": ["nodes", "in_flight", ACTION, PICKS],
        "states": states,
    });
    // The states after it repeat; the state before the loop equals that of the last step.
    if let Some(start) = explain::loop_start(recording) {
        document["loop"] = json!(start + 1);
    }
    Ok(document)
}

/// The global state after this many steps, and the step to it.
fn state(recording: &Recording, arrows: &[Arrow], step: usize) -> Value {
    let nodes: Vec<Value> = (0..recording.nodes())
        .map(|node| {
            let last = if step == 0 { 0 } else { last_of(recording, step, node) };
            let observed = recording.observed(node, last);
            let described = match (&observed.description, &observed.state, &observed.fault) {
                (Some(description), ..) => of_protocol(description),
                (None, Some(state), _) => json!(words::name(host_model::trace::Hex(state.clone()))),
                (None, None, Some(fault)) => json!(fault.to_string()),
                (None, None, None) => json!(words::ABSENT),
            };
            json!([encoded(&json!(node)), described])
        })
        .collect();
    let in_flight: Vec<Value> = arrows
        .iter()
        .filter(|arrow| arrow.is_in_flight_after(step))
        .map(|arrow| {
            let (from, to) = (encoded(&json!(arrow.from)), encoded(&json!(arrow.to)));
            json!({ "from": from, "to": to, "message": of_protocol(&message(recording, &arrow.payload)) })
        })
        .collect();
    let (action, picks) = match step {
        0 => ("init".to_owned(), Map::new()),
        _ => picks(recording, step),
    };
    json!({
        "#meta": { "index": step },
        "nodes": { "#map": nodes },
        "in_flight": in_flight,
        ACTION: action,
        PICKS: picks,
    })
}

/// The last step of a node up to and including this one.
fn last_of(recording: &Recording, step: usize, node: u32) -> usize {
    if recording.trace.steps[step - 1].node == node { step } else { recording.step_before(step, node) }
}

fn message(recording: &Recording, payload: &[u8]) -> Value {
    let described = recording.message_json(payload);
    described.unwrap_or_else(|| json!(host_model::trace::Hex(payload.to_vec())))
}

/// The name of an action, and its picks, each as an option.
fn picks(recording: &Recording, number: usize) -> (String, Map<String, Value>) {
    let step = &recording.trace.steps[number - 1];
    let (name, said) = match &step.event {
        TraceEvent::Deliver { payload, .. } => ("deliver".to_owned(), Some(message(recording, &payload.0))),
        TraceEvent::Quorum { messages, .. } => {
            let said = messages.iter().map(|received| message(recording, &received.payload.0));
            ("quorum".to_owned(), Some(said.collect()))
        }
        TraceEvent::Local { name, .. } => (name.clone(), None),
        TraceEvent::Lose { payload, .. } => ("lose".to_owned(), Some(message(recording, &payload.0))),
        TraceEvent::Fault { event, .. } => (event.kind().to_owned(), None),
        TraceEvent::TransportError { .. } => ("transport-error".to_owned(), None),
    };
    let mut picks = Map::new();
    for (name, value) in [
        ("node", Some(json!(step.node))),
        ("event", Some(json!(step.event))),
        ("message", said),
        ("choices", Some(json!(step.choices))),
        ("sent", step.sent.as_ref().map(|sent| json!(sent))),
        ("state", step.state.as_ref().map(|state| json!(state))),
    ] {
        let option = match value {
            Some(value) if name == "message" => json!({ "tag": "Some", "value": of_protocol(&value) }),
            Some(value) => json!({ "tag": "Some", "value": encoded(&value) }),
            None => none(),
        };
        picks.insert(name.to_owned(), option);
    }
    (name, picks)
}

/// A document written by [`itf`], with the parts that a trace needs. Other parts are ignored.
#[derive(Deserialize)]
pub struct Document {
    #[serde(rename = "#meta", default)]
    meta: Meta,
    #[serde(default)]
    states: Option<Vec<State>>,
}

#[derive(Default, Deserialize)]
struct Meta {
    host: Option<String>,
}

#[derive(Deserialize)]
struct State {
    #[serde(rename = "mbt::nondetPicks", default)]
    picks: Picks,
}

/// Options, each an object with tag and value.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Picks {
    node: Value,
    event: Value,
    choices: Value,
    sent: Value,
    state: Value,
}

/// A trace from a document written by [`itf`].
///
/// # Errors
///
/// The missing or wrong part; a lower-case phrase.
pub fn from_itf(document: &Document) -> Result<Trace, String> {
    let head = document.meta.host.as_deref().ok_or("it was not written by `host`: `#meta` has no `host`")?;
    let head: Head = serde_json::from_str(head).map_err(|error| format!("`host` in `#meta` is wrong: {error}"))?;
    let states = document.states.as_ref().ok_or("it has no list of `states`")?;
    let steps = states.iter().enumerate().skip(1).map(|(index, State { picks })| {
        let pick = |option: &Value| if option["tag"] == "Some" { decoded(&option["value"]) } else { Value::Null };
        let wrong = |name: &str, error: serde_json::Error| format!("`{name}` of state {index} is wrong: {error}");
        Ok(TraceStep {
            node: serde_json::from_value(pick(&picks.node)).map_err(|error| wrong("node", error))?,
            event: serde_json::from_value(pick(&picks.event)).map_err(|error| wrong("event", error))?,
            choices: serde_json::from_value(pick(&picks.choices)).map_err(|error| wrong("choices", error))?,
            sent: serde_json::from_value(pick(&picks.sent)).map_err(|error| wrong("sent", error))?,
            state: serde_json::from_value(pick(&picks.state)).map_err(|error| wrong("state", error))?,
        })
    });
    let steps: Vec<TraceStep> = steps.collect::<Result<_, String>>()?;
    Ok(Trace {
        trace_version: head.trace_version,
        plugin: head.plugin,
        scenario: head.scenario,
        placements: head.placements,
        limits: head.limits,
        expressed: head.expressed,
        specs: head.specs,
        init_choices: head.init_choices,
        beginning: head.beginning,
        finding: head.finding,
        steps,
    })
}

/// A value of the protocol as an ITF expression.
fn of_protocol(value: &Value) -> Value {
    match words::is_nested(value, NESTED_MAX) {
        true => encoded(value),
        false => Value::String(words::shortened(value.to_string())),
    }
}

fn none() -> Value {
    json!({ "tag": "None", "value": { "#tup": [] } })
}

/// JSON as an ITF expression: integers are big, there is no null, and records have names as fields.
fn encoded(value: &Value) -> Value {
    match value {
        Value::Null => none(),
        // In its own digits: integers of any length; a fraction or a power of ten becomes a text.
        Value::Number(number) => {
            let text = number.to_string();
            let is_whole = text.bytes().all(|letter| letter == b'-' || letter.is_ascii_digit());
            if is_whole { json!({ "#bigint": text }) } else { Value::String(text) }
        }
        Value::Array(values) => Value::Array(values.iter().map(encoded).collect()),
        Value::Object(fields) if fields.keys().all(|name| is_name(name)) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), encoded(value))).collect())
        }
        Value::Object(fields) => {
            json!({ "#map": fields.iter().map(|(name, value)| json!([name, encoded(value)])).collect::<Vec<_>>() })
        }
        other => other.clone(),
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(|letter: char| letter.is_ascii_digit()) && !name.starts_with('#')
}

/// The JSON behind an ITF expression written by [`encoded`], as far as events of a trace need it.
fn decoded(value: &Value) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.iter().map(decoded).collect()),
        Value::Object(fields) => {
            if let Some(Value::String(digits)) = fields.get("#bigint") {
                return digits.parse().map_or(Value::Null, Value::Number);
            }
            if *value == none() {
                return Value::Null;
            }
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), decoded(value))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_and_come_back() {
        let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        for whole in ["0", "-7", "18446744073709551615", "1267650600228229401496703205377"] {
            assert_eq!(encoded(&value(whole)), json!({ "#bigint": whole }));
            assert_eq!(decoded(&encoded(&value(whole))), value(whole));
        }
        for other in ["0.5", "1e400", "-2E3"] {
            assert!(encoded(&value(other)).is_string(), "{other}");
        }
    }
}
