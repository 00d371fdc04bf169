//! Events, messages and states for people.

use host_model::machine::{Choice, Machine, MachineFactory, NodeId, PropertyKind};
use host_model::trace::{Finding, Hex, TraceEvent, TraceStep};
use serde::Serialize;
use serde_json::Value;

use crate::text::{on_one_line, shortened};

/// Digits of a payload that are shown where the plugin does not describe it.
const HEX_DIGITS_MAX: usize = 64;

/// Asks a plugin to describe messages, and does without where it cannot.
pub struct Describer {
    /// None where no machine can be had, or after a fault: a plugin that fails to describe one message is not asked
    /// again, since each attempt could take the whole fuel.
    machine: Option<Box<dyn Machine>>,
}

impl Describer {
    /// A describer with a machine of its own.
    pub fn new(factory: &dyn MachineFactory) -> Self {
        Self { machine: factory.machine().ok() }
    }

    /// A message: in the plugin's words if it has any, else its bytes.
    pub fn message(&mut self, payload: &[u8]) -> String {
        self.described(payload).map_or_else(|| bytes(payload), |json| compact(&json))
    }

    /// A message as the plugin describes it, for JSON output.
    pub fn message_json(&mut self, payload: &[u8]) -> Option<Value> {
        self.described(payload).map(|json| parsed(&json)).or_else(|| json(payload))
    }

    fn described(&mut self, payload: &[u8]) -> Option<String> {
        let machine = self.machine.as_mut()?;
        let described = match machine.restore(None) {
            Ok(()) => machine.describe_message(payload),
            Err(_) => Ok(None),
        };
        if described.is_err() {
            self.machine = None;
        }
        described.ok().flatten()
    }

    /// One event, such as `node 1 <- node 0: Prepare {ballot: 1}` or `node 0: propose (application)`.
    pub fn event(&mut self, step: &TraceStep) -> String {
        let what = match &step.event {
            TraceEvent::Deliver { from, payload } => {
                format!("node {} <- node {from}: {}", step.node, self.message(&payload.0))
            }
            TraceEvent::Reset => format!("node {}: reset", step.node),
            TraceEvent::Local { name: event, cause, payload } => {
                // Many a protocol puts the name of the event into it, too.
                let payload = match bytes(&payload.0) {
                    payload if payload.is_empty() || payload == *event => String::new(),
                    payload => format!(", {payload}"),
                };
                format!("node {}: {} ({}{payload})", step.node, on_one_line(event), name(cause))
            }
        };
        what + &choices(&step.choices)
    }
}

/// The answers to `choose` behind an event; empty if there were none.
pub fn choices(choices: &[Choice]) -> String {
    if choices.is_empty() {
        return String::new();
    }
    let answers = choices.iter().map(|choice| format!("{} of {}", choice.picked, choice.alternatives));
    format!(", choosing {}", answers.collect::<Vec<_>>().join(", "))
}

/// What a trace shows at its end; `node` is where, if it is about one node and the finding does not say so itself.
pub fn finding(finding: &Finding, node: Option<NodeId>) -> String {
    let at = node.map(|node| format!(" at node {node}")).unwrap_or_default();
    let text = match finding {
        Finding::Property { name, kind: PropertyKind::Sometimes, .. } => format!("{name} is reached{at}"),
        Finding::Property { name, message, .. } => format!("{name} is violated{at}: {message}"),
        Finding::Broken { property, fault } => format!("{property} cannot be evaluated{at}: {fault}"),
        Finding::Fault { node, fault } => format!("{} of node {node}: {fault}", name(fault.kind)),
    };
    shortened(on_one_line(&text))
}

/// The JSON with which a plugin describes a message or a state, on one line: an object with one field is written as
/// `Name value`, quotes around plain words are left out.
pub fn compact(json: &str) -> String {
    let text = match serde_json::from_str::<Value>(json) {
        Ok(value) => value_text(&value),
        Err(_) => json.to_owned(),
    };
    shortened(on_one_line(&text))
}

/// A description as JSON; one that is not JSON is a string of it.
pub fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| Value::String(json.to_owned()))
}

fn value_text(value: &Value) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::String(word) if is_plain(word) => word.clone(),
        Value::Array(values) => format!("[{}]", list(values.iter().map(value_text).collect())),
        Value::Object(fields) => match fields.iter().next() {
            Some((name, value)) if fields.len() == 1 && is_plain(name) && is_variant(name) => {
                format!("{name} {}", value_text(value))
            }
            _ => {
                let field = |(name, value): (&String, &Value)| format!("{name}: {}", value_text(value));
                format!("{{{}}}", list(fields.iter().map(field).collect()))
            }
        },
        other => other.to_string(),
    }
}

fn is_plain(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
}

/// Serde names the variants of an enum in upper case by default, and fields in lower case.
fn is_variant(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_uppercase())
}

/// Bytes that the plugin does not describe: the encoding that all languages share can be read, anything else is digits.
pub fn bytes(bytes: &[u8]) -> String {
    match (json(bytes), std::str::from_utf8(bytes)) {
        (Some(_), Ok(text)) => compact(text),
        _ => hex(bytes),
    }
}

/// The value of a text in JSON. A number may as well be a byte that means something else, so it is not taken for one.
fn json(bytes: &[u8]) -> Option<Value> {
    if !matches!(bytes.first(), Some(b'{' | b'[' | b'"')) {
        return None;
    }
    serde_json::from_slice(bytes).ok()
}

/// Bytes as hexadecimal digits, cut off where there are many.
pub fn hex(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(HEX_DIGITS_MAX / 2)];
    let digits = name(Hex(shown.to_vec()));
    if shown.len() == bytes.len() { digits } else { format!("{digits}... ({} bytes)", bytes.len()) }
}

/// The name that a value has in traces, such as `always` or `memory-limit`.
pub fn name(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        other => unreachable!("only values that traces write as a word have a name, not {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_read_like_the_protocol() {
        let json = r#"{"PrepareResponse": {"ballot": 2, "accepted": null}}"#;
        assert_eq!(compact(json), "PrepareResponse {ballot: 2, accepted: null}");
        assert_eq!(compact(r#""Note""#), "Note");
        assert_eq!(compact(r#"{"sent": ["a b", 1]}"#), r#"{sent: ["a b", 1]}"#);
        assert_eq!(compact("no JSON\u{1b}"), r"no JSON\u{1b}");
    }

    #[test]
    fn texts_in_json_can_be_read() {
        assert_eq!(bytes(br#"{"kind":"query","op":1}"#), "{kind: query, op: 1}");
        assert_eq!(bytes(br#""write""#), "write");
        for other in [&b"12"[..], b"{", b"[\xff]", b"null"] {
            assert_eq!(bytes(other), hex(other));
        }
    }

    #[test]
    fn long_payloads_are_cut_off() {
        assert_eq!(hex(&[1, 0xab]), "01ab");
        assert!(hex(&[0; 100]).ends_with("00... (100 bytes)"));
    }
}
