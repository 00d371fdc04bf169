//! The kinds of messages, by what the plugin calls them.

use host_model::trace::TraceEvent;
use serde_json::Value;

use crate::graph::Arrow;
use crate::recording::Recording;
use crate::words;

/// Maximum number of kinds; messages of any further name count as the last one.
const KINDS_MAX: usize = 64;

/// Maximum letters of a name.
const LETTERS_MAX: usize = 40;

/// Fields that name the kind of an object where no variant does.
const FIELDS: [&str; 4] = ["kind", "type", "tag", "name"];

/// The kinds of the messages of a recording, in the order of sending.
pub(super) struct Kinds(Vec<String>);

impl Kinds {
    pub(super) fn new(recording: &Recording, arrows: &[Arrow]) -> Self {
        let mut kinds = Self(Vec::new());
        for arrow in arrows {
            let name = name(recording, &arrow.payload);
            if kinds.0.len() < KINDS_MAX && !kinds.0.contains(&name) {
                kinds.0.push(name);
            }
        }
        kinds
    }

    /// Their names.
    pub(super) fn names(&self) -> &[String] {
        &self.0
    }

    /// The index of a message's kind: the last one for names beyond the maximum.
    pub(super) fn of(&self, recording: &Recording, payload: &[u8]) -> usize {
        let name = name(recording, payload);
        self.0.iter().position(|kind| *kind == name).unwrap_or(self.0.len().saturating_sub(1))
    }

    /// The kind of the message that a step receives or loses.
    pub(super) fn of_step(&self, recording: &Recording, number: usize) -> Option<usize> {
        let payload = match &recording.trace.steps[number - 1].event {
            TraceEvent::Deliver { payload, .. } | TraceEvent::Lose { payload, .. } => payload,
            TraceEvent::Quorum { messages, .. } => &messages.first()?.payload,
            _ => return None,
        };
        Some(self.of(recording, &payload.0))
    }
}

/// The name of the kind of a message.
pub(super) fn name(recording: &Recording, payload: &[u8]) -> String {
    let described = recording.message_json(payload);
    let name = match &described {
        Some(Value::String(word)) => Some(word.as_str()),
        Some(value) => words::variant(value)
            .map(|(name, _)| name)
            .or_else(|| FIELDS.iter().find_map(|field| value.get(*field)?.as_str())),
        None => None,
    };
    let clipped = |name: &str| words::clipped(&words::on_one_line(&words::clipped(name, LETTERS_MAX)), LETTERS_MAX);
    match (name, &described) {
        (Some(name), _) => clipped(name),
        // Without a variant the fields are what tells kinds apart.
        (None, Some(Value::Object(fields))) if !fields.is_empty() => {
            clipped(&format!("{{{}}}", fields.keys().map(String::as_str).collect::<Vec<_>>().join(", ")))
        }
        (None, Some(Value::Array(values))) => match values.first() {
            Some(Value::String(word)) => clipped(word),
            _ => "[\u{2026}]".to_owned(),
        },
        (None, Some(value)) => clipped(&words::value_on_one_line(value)),
        // The first byte of an encoding tells the variant as a rule.
        (None, None) if words::readable(payload).is_some() => clipped(&words::payload(payload)),
        (None, None) => payload.first().map_or("empty".to_owned(), |byte| format!("{byte:02x}\u{2026}")),
    }
}
