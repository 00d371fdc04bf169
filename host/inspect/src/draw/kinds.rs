//! The kinds of messages, by the plugin's names.

use serde_json::Value;

use crate::recording::Recording;
use crate::words;

/// The maximum length in letters of a name.
const LETTERS_MAX: usize = 40;

/// Fields that name the kind of an object without a variant.
const FIELDS: [&str; 4] = ["kind", "type", "tag", "name"];

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
        // Without a variant, the names of the fields distinguish kinds.
        (None, Some(Value::Object(fields))) if !fields.is_empty() => {
            clipped(&format!("{{{}}}", fields.keys().map(String::as_str).collect::<Vec<_>>().join(", ")))
        }
        (None, Some(Value::Array(values))) => match values.first() {
            Some(Value::String(word)) => clipped(word),
            _ => "[\u{2026}]".to_owned(),
        },
        (None, Some(value)) => clipped(&words::value_on_one_line(value)),
        // The first byte of an encoding usually is the number of the variant.
        (None, None) if words::readable(payload).is_some() => clipped(&words::payload(payload)),
        (None, None) => payload.first().map_or("empty".to_owned(), |byte| format!("{byte:02x}\u{2026}")),
    }
}
