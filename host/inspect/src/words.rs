//! Events, messages and states in words for people.

use host_model::contract::hex::shown;
use host_model::contract::{Choice, LocalEvent, NodeId, PropertyKind};
use host_model::lts::deadlock::with_names;
use host_model::scenario::{Link, NodeNames, Scenario};
use host_model::trace::{BreachClass, BrokenPromise, Finding, TraceEvent, TraceStep};
use serde::Serialize;
use serde_json::Value;

use crate::escape::acts;
pub use crate::escape::{on_one_line, without_controls};

/// The maximum number of bytes of a view that are shown one by one.
const VIEW_BYTES_MAX: usize = 8;

/// The minimum length in letters of bytes that count as a text without the plugin's description.
const TEXT_LETTERS_MIN: usize = 4;

/// The maximum length in letters of a description.
pub const LETTERS_MAX: usize = 4096;

/// The maximum nesting depth of a description. Readers of JSON usually accept 127, and ours is nested in other values.
const NESTED_MAX: usize = 64;

/// The word for the state of an absent node.
pub const ABSENT: &str = "absent";

/// The absent nodes of a cluster, such as `, node 2 absent`; empty if there are none.
pub fn absent(scenario: &Scenario) -> String {
    let absent: Vec<NodeId> = scenario.absent.iter().copied().collect();
    if absent.is_empty() { String::new() } else { format!(", {} {ABSENT}", NodeNames::default().list(&absent)) }
}

/// The network of a cluster, such as `unordered, 0-1 ordered`.
pub fn network(scenario: &Scenario) -> String {
    let links = links(&scenario.links).into_iter().map(|link| format!(", {link}"));
    scenario.network.to_string() + &links.collect::<String>()
}

/// Links with a network of their own, such as `0-1 ordered` for both ways, or `0>1 ordered` for one.
pub fn links(links: &[Link]) -> Vec<String> {
    let both = |link: &Link| links.contains(&Link { from: link.to, to: link.from, network: link.network });
    let shown = links.iter().filter(|link| link.from <= link.to || !both(link));
    let text = |link: &Link| format!("{}{}{} {}", link.from, if both(link) { '-' } else { '>' }, link.to, link.network);
    shown.map(text).collect()
}

/// One event, such as `node 1 <- node 0: Prepare {ballot: 1}` or `node 0: propose (application)`. `message` describes a
/// payload; `argument` is the argument of a local event, if it is shown.
pub fn event(
    step: &TraceStep,
    names: &NodeNames,
    argument: Option<String>,
    mut message: impl FnMut(&[u8]) -> String,
) -> String {
    let node = names.of(step.node);
    let what = match &step.event {
        TraceEvent::Deliver { from, payload } => {
            format!("{node} <- {}: {}", names.of(*from), message(&payload.0))
        }
        TraceEvent::Quorum { name, messages } => {
            let senders: Vec<NodeId> = messages.iter().map(|message| message.from).collect();
            let said = messages.iter().map(|received| message(&received.payload.0)).collect();
            quorum(step.node, names, name, &senders, said)
        }
        TraceEvent::Lose { from, payload } => loss(step.node, *from, names, &message(&payload.0)),
        TraceEvent::Fault { event, lost } => {
            let heard = if *lost { ", and does not notice" } else { "" };
            let what = match event.peer() {
                Some(peer) => format!("{} {}", event.words(), names.of(peer)),
                None => event.to_string(),
            };
            format!("{node}: {what}{heard}")
        }
        TraceEvent::TransportError { peer, lost } => {
            let heard = if *lost { "does not notice that" } else { "finds that" };
            format!("{node}: {heard} the connection to {} is broken", names.of(*peer))
        }
        TraceEvent::Local { name: event, cause, .. } => {
            let argument = argument.filter(|said| !said.is_empty()).map(|said| format!(", {said}")).unwrap_or_default();
            format!("{node}: {} ({}{argument})", on_one_line(event), name(cause))
        }
    };
    what + &choices(&step.choices, names)
}

/// The argument of a local event: the plugin's description, or else its bytes. Empty if it only repeats the name of the event, as in
/// many protocols.
pub fn argument(event: &LocalEvent, described: Option<&Value>) -> String {
    let is_name = |text: &str| {
        let letters = |text: &str| -> String {
            text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
        };
        letters(text) == letters(&event.name)
    };
    let said = match described {
        Some(Value::Null) => String::new(),
        // An empty text is no description.
        Some(value) if value.as_str() != Some("") => match variant(value) {
            Some((name, content)) if is_name(name) => value_on_one_line(content),
            _ => value_on_one_line(value),
        },
        _ => payload(&event.payload),
    };
    if is_name(&said) { String::new() } else { said }
}

/// Messages received together, such as
/// `node 1 <- nodes 0, 2: promises [Promise {ballot: 1}]`; adjacent equal ones are merged.
pub fn quorum(node: NodeId, names: &NodeNames, name: &str, senders: &[NodeId], mut said: Vec<String>) -> String {
    said.dedup();
    format!("{} <- {}: {} [{}]", names.of(node), names.list(senders), on_one_line(name), said.join(", "))
}

/// The loss of a message to a node.
pub fn loss(node: NodeId, from: NodeId, names: &NodeNames, said: &str) -> String {
    format!("{}: a message from {} is lost: {said}", names.of(node), names.of(from))
}

/// The answers in an event: to `choose`, and the refused messages; empty if there were none.
pub fn choices(choices: &[Choice], names: &NodeNames) -> String {
    let chosen = choices.iter().filter(|choice| choice.to.is_none());
    let chosen: Vec<String> = chosen.map(|choice| format!("{} of {}", choice.picked, choice.alternatives)).collect();
    let refused = choices.iter().filter(|choice| choice.is_refusal()).filter_map(|choice| choice.to);
    let refused: Vec<NodeId> = refused.collect();
    let chosen = if chosen.is_empty() { String::new() } else { format!(", choosing {}", chosen.join(", ")) };
    let messages = if refused.len() == 1 { "a message" } else { "messages" };
    match refused.is_empty() {
        true => chosen,
        false => format!("{chosen}, {messages} to {} refused", names.list(&refused)),
    }
}

/// The finding at the end of a trace; `node` is the place, if the finding concerns one node and does not name it itself.
pub fn finding(finding: &Finding, node: Option<NodeId>, names: &NodeNames) -> String {
    let at = node.map(|node| format!(" at {}", names.of(node))).unwrap_or_default();
    let text = match finding {
        Finding::Property { name, kind: PropertyKind::Sometimes, .. } => format!("{name} is reached{at}"),
        Finding::Property { name, message, .. } => format!("{name} is violated{at}: {message}"),
        Finding::Broken { property, fault } => format!("{property} cannot be evaluated{at}: {fault}"),
        Finding::Fault { node, fault } => format!("{} of {}: {fault}", name(fault.kind), names.of(*node)),
        Finding::Deadlock { message } if names.is_empty() => format!("deadlock: {message}"),
        Finding::Deadlock { message } => format!("deadlock: {}", with_names(message, names)),
        Finding::Promise(promise) => format!("{}: {}", broken(promise, names, ""), promise.message),
    };
    shortened(on_one_line(&text))
}

/// The way in which a promise is broken, such as `served is dead since step 6 at node 1`; `since` brings its own preposition.
pub fn broken(promise: &BrokenPromise, names: &NodeNames, since: &str) -> String {
    let at = promise.node.map(|node| format!(" at {}", names.of(node))).unwrap_or_default();
    let how = match (promise.class, promise.loop_start) {
        (BreachClass::Dead, _) => format!("is dead{since}"),
        (BreachClass::Stuck, _) => format!("is stuck{since}"),
        (BreachClass::Lasso, start) => {
            format!("is never kept again, going round from step {} on", start.unwrap_or_default() + 1)
        }
    };
    format!("{} {how}{at}", promise.name)
}

/// The JSON with which a plugin describes a message or a state, on one line: an object with one field is written as
/// `Name value`, and quotes around plain words are omitted.
pub fn compact(json: &str) -> String {
    match serde_json::from_str::<Value>(json) {
        Ok(value) => value_on_one_line(&value),
        Err(_) => shortened(on_one_line(json)),
    }
}

/// The same for parsed JSON.
pub fn value_on_one_line(value: &Value) -> String {
    shortened(on_one_line(&value_text(value)))
}

/// A description as JSON; a description that is not JSON, or is nested too deeply, becomes a string.
pub fn parsed(json: &str) -> Value {
    let value = serde_json::from_str(json).ok().filter(|value| is_nested(value, NESTED_MAX));
    value.unwrap_or_else(|| Value::String(json.to_owned()))
}

/// Whether the nesting depth of a value is at most this.
pub fn is_nested(value: &Value, levels_max: usize) -> bool {
    match value {
        Value::Array(values) => levels_max > 0 && values.iter().all(|value| is_nested(value, levels_max - 1)),
        Value::Object(fields) => levels_max > 0 && fields.values().all(|value| is_nested(value, levels_max - 1)),
        _ => true,
    }
}

fn value_text(value: &Value) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::String(word) if is_plain(word) => word.clone(),
        Value::Array(values) => format!("[{}]", list(values.iter().map(value_text).collect())),
        Value::Object(fields) => match variant(value) {
            Some((name, value)) => format!("{name} {}", value_text(value)),
            None => {
                let field = |(name, value): (&String, &Value)| format!("{name}: {}", value_text(value));
                format!("{{{}}}", list(fields.iter().map(field).collect()))
            }
        },
        other => other.to_string(),
    }
}

/// The name and the content of an enum's variant. Serde names variants in upper case by default, and fields in lower
/// case.
pub fn variant(value: &Value) -> Option<(&str, &Value)> {
    let fields = value.as_object()?;
    let (name, value) = fields.iter().next()?;
    let is_variant = name.starts_with(|letter: char| letter.is_ascii_uppercase());
    (fields.len() == 1 && is_plain(name) && is_variant).then_some((name, value))
}

fn is_plain(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
}

/// Bytes without the plugin's description: the shared encoding of all languages and text are readable; anything else is shown as
/// digits.
pub fn payload(bytes: &[u8]) -> String {
    readable(bytes).unwrap_or_else(|| shown(bytes))
}

/// Readable bytes: JSON, or a text of printable letters; a scalar of JSON is such a text, too. Very short texts may be numbers
/// that look like letters.
pub fn readable(bytes: &[u8]) -> Option<String> {
    if let Some(value) = json(bytes) {
        return Some(value_on_one_line(&value));
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let is_text = text.chars().count() >= TEXT_LETTERS_MIN && text.chars().any(char::is_alphanumeric);
    let is_text = is_text && !text.chars().any(acts);
    is_text.then(|| match serde_json::from_str::<Value>(text) {
        Ok(scalar @ (Value::Null | Value::Bool(_) | Value::Number(_))) => value_on_one_line(&scalar),
        _ => value_on_one_line(&Value::String(text.to_owned())),
    })
}

/// A view without the plugin's description. More than a few digits say nothing: the changes that coincide with it do.
pub fn view(bytes: &[u8]) -> String {
    match bytes.len() > VIEW_BYTES_MAX && readable(bytes).is_none() {
        true => format!("{} bytes", bytes.len()),
        false => payload(bytes),
    }
}

/// The value of a JSON text. A number may as well be a byte with another meaning, so numbers are not accepted.
pub fn json(bytes: &[u8]) -> Option<Value> {
    if !matches!(bytes.first(), Some(b'{' | b'[' | b'"')) {
        return None;
    }
    serde_json::from_slice(bytes).ok().filter(|value| is_nested(value, NESTED_MAX))
}

/// The name that a value has in traces, such as `always` or `memory-limit`.
pub fn name(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        other => unreachable!("only values that traces write as a word have a name, not {other:?}"),
    }
}

/// Shortens a text that is too long to read, with a note. The texts of a plugin can have megabytes.
pub fn shortened(text: String) -> String {
    match text.char_indices().nth(LETTERS_MAX) {
        None => text,
        Some((end, _)) => format!("{}... ({} in all)", &text[..end], bytes(text.len() as u64)),
    }
}

/// The first letters of a text.
pub fn clipped(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(letters.saturating_sub(1)).collect();
            format!("{}\u{2026}", kept.trim_end())
        }
    }
}

/// Bytes in the largest unit that leaves at least one.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{number} B") } else { format!("{value:.1} {}", UNITS[unit]) }
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
        // Numbers keep their digits: 2^100 + 1 is no floating-point number.
        let large = r#"{"id": 1267650600228229401496703205377, "share": 0.10}"#;
        assert_eq!(compact(large), "{id: 1267650600228229401496703205377, share: 0.10}");
        assert_eq!(payload(large.as_bytes()), compact(large));
        assert_eq!(parsed(large).to_string(), r#"{"id":1267650600228229401496703205377,"share":0.10}"#);
    }

    #[test]
    fn long_payloads_are_cut_off() {
        assert_eq!(shown(&[1, 0xab]), "01ab");
        assert_eq!((view(&[7; 8]), view(&[7; 9])), ("07".repeat(8), "9 bytes".to_owned()));
        assert_eq!(view(br#"{"value": 17}"#), "{value: 17}");
        assert!(shown(&[0; 100]).ends_with("00... (100 bytes)"));
        assert_eq!(clipped("abc", 3), "abc");
        assert_eq!(clipped("ab cd", 4), "ab\u{2026}");
    }

    #[test]
    fn texts_in_json_can_be_read() {
        assert_eq!(payload(br#"{"kind":"query","op":1}"#), "{kind: query, op: 1}");
        assert_eq!(payload(br#""write""#), "write");
        assert_eq!(
            (payload(b"null"), payload(b"1234"), payload(b"-0.5")),
            ("null".into(), "1234".into(), "-0.5".into())
        );
        assert_eq!((payload(b"idle"), payload(b"to whom?")), ("idle".to_owned(), "\"to whom?\"".to_owned()));
        assert_eq!(payload("h\u{e4}ngt".as_bytes()), "\"h\u{e4}ngt\"");
        // Possible numbers, and letters that would affect the text around them.
        for other in [&b"12"[..], b"{", b"[\xff]", b"abc", b"----", b"ab\ncd", b"ab\x1b[31m", "abc\u{202e}".as_bytes()]
        {
            assert_eq!(payload(other), shown(other));
        }
    }

    #[test]
    fn escape_sequences_are_shown_not_obeyed() {
        assert_eq!(on_one_line("a\u{1b}[31m\nok"), r"a\u{1b}[31m\nok");
        assert_eq!(without_controls("a\n\tb\r"), "a\n\tb\\r");
    }

    #[test]
    fn an_argument_says_more_than_the_name_of_its_event() {
        let event = |name: &str, payload: &[u8]| LocalEvent {
            name: name.to_owned(),
            kind: host_model::contract::LocalKind::Timer,
            payload: payload.to_vec(),
        };
        let said = |name: &str, json: &str| argument(&event(name, &[1, 5]), Some(&parsed(json)));
        assert_eq!(said("expire", r#"{"Expire":{"waiter":5}}"#), "{waiter: 5}");
        assert_eq!(said("expire", r#"{"Timer":5}"#), "Timer 5");
        assert_eq!(said("send-all", r#""SendAll""#), "");
        assert_eq!(said("tick", "null"), "");
        assert_eq!(said("expire", r#""""#), "0105");
        assert_eq!(argument(&event("expire", &[1, 5]), None), "0105");
        assert_eq!(argument(&event("tick", b"tick"), None), "");
    }

    #[test]
    fn texts_without_end_are_cut() {
        assert_eq!(shortened("a".repeat(LETTERS_MAX)), "a".repeat(LETTERS_MAX));
        assert!(shortened("ä".repeat(LETTERS_MAX + 1)).ends_with("ä... (8.0 KiB in all)"));
    }
}
