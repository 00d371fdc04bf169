//! Kinds of messages, for filters that match more than one message.

use std::collections::BTreeMap;
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

use host_model::contract::{Machine, MachineError, MachineFactory};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The kind of a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// The variants that the description of the message names, from the outermost to the innermost: `Raft.what.Append`.
    Variant(String),
    /// The first byte of a message without such a description; none for an empty one.
    First(Option<u8>),
}

/// The maximum number of nested variants in a kind; deeper ones are ignored.
const DEPTH_MAX: usize = 4;
/// Bytes of the longest name of a variant or a field. Anything longer is a text.
const NAME_MAX: usize = 64;
/// The fields in which a description may name its variant.
const TAGS: [&str; 3] = ["kind", "type", "tag"];
/// Bytes of messages in the cache of kinds; beyond, it is cleared.
const KNOWN_BYTES_MAX: usize = 1 << 20;

/// Finds the kinds of the messages of a protocol.
///
/// If a protocol describes its messages, kinds are variants; otherwise they are first bytes. In an encoding of nested enums, the first
/// byte is only the outermost variant, which is often the same for all messages.
#[derive(Default)]
pub struct Kinds(Option<Mutex<Described>>);

struct Described {
    machine: Box<dyn Machine>,
    known: BTreeMap<Box<[u8]>, Kind>,
    /// Size of the messages in `known`, in bytes.
    bytes: usize,
}

impl Kinds {
    /// The kinds of a protocol's messages.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn new(factory: &dyn MachineFactory) -> Result<Arc<Self>, MachineError> {
        let described = Described { machine: factory.machine()?, known: BTreeMap::new(), bytes: 0 };
        Ok(Arc::new(Self(Some(Mutex::new(described)))))
    }

    /// The kind of a message.
    pub fn of(&self, payload: &[u8]) -> Kind {
        let first = || Kind::First(payload.first().copied());
        let Some(described) = &self.0 else { return first() };
        let mut described = described.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kind) = described.known.get(payload) {
            return kind.clone();
        }
        let kind = described.variant(payload).map_or_else(first, Kind::Variant);
        described.bytes += payload.len() + size_of::<(Box<[u8]>, Kind)>();
        if described.bytes > KNOWN_BYTES_MAX {
            described.known.clear();
            described.bytes = payload.len();
        }
        described.known.insert(payload.into(), kind.clone());
        kind
    }
}

impl Described {
    /// None if the protocol does not describe its messages, describes this one by a text, or fails.
    fn variant(&mut self, payload: &[u8]) -> Option<String> {
        self.machine.restore(None).ok()?;
        let json = self.machine.describe_message(payload).ok().flatten()?;
        variant(&json)
    }
}

impl Debug for Kinds {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Kinds of descriptions" } else { "Kinds by the first byte" })
    }
}

/// The path of variants in the description of a message, if it is the description of one.
fn variant(json: &str) -> Option<String> {
    let mut path = Vec::new();
    match serde_json::from_str(json).ok()? {
        // A variant without content. A text with blanks is no variant.
        Value::String(name) if is_name(&name) => path.push(name),
        Value::Object(fields) if fields.len() == 1 && tag(&fields).is_none() => {
            let (name, content) = fields.into_iter().next().filter(|(name, _)| is_name(name))?;
            path.push(name);
            descend(&content, &mut path);
        }
        content => descend(&content, &mut path),
    }
    (!path.is_empty()).then(|| path.join("."))
}

/// Adds the variants inside of the content of a variant.
fn descend(content: &Value, path: &mut Vec<String>) {
    if path.len() >= DEPTH_MAX {
        return;
    }
    match content {
        Value::String(name) if is_variant(name) => path.push(name.clone()),
        Value::Object(fields) if is_enum(fields) => {
            for (name, content) in fields {
                path.push(name.clone());
                descend(content, path);
            }
        }
        Value::Object(fields) => {
            path.extend(tag(fields).map(str::to_owned));
            for (field, content) in fields {
                if is_name(field) && content.as_object().is_some_and(is_enum) && path.len() < DEPTH_MAX {
                    path.push(field.clone());
                    descend(content, path);
                }
            }
        }
        _ => {}
    }
}

/// The variant that a description names in a field of its own.
fn tag(fields: &Map<String, Value>) -> Option<&str> {
    TAGS.iter().find_map(|tag| fields.get(*tag)?.as_str().filter(|name| is_name(name)))
}

/// Whether a nested description is that of an enum: one variant, with its content.
fn is_enum(fields: &Map<String, Value>) -> bool {
    fields.len() == 1 && fields.keys().all(|name| is_variant(name))
}

/// Whether a text can be the name of a variant or a field.
fn is_name(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-:".contains(letter);
    (1..=NAME_MAX).contains(&text.len())
        && text.chars().all(is_letter)
        && !text.starts_with(|it: char| it.is_ascii_digit())
}

/// Whether a nested name is that of a variant, and not of a field or a key: it begins with a capital letter.
fn is_variant(text: &str) -> bool {
    is_name(text) && text.starts_with(|letter: char| letter.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use host_model::toys::Toy;

    use super::*;

    fn of(json: &str) -> String {
        variant(json).unwrap_or_else(|| "none".to_owned())
    }

    /// Descriptions as the SDKs write them: enums of structs of enums, tuples, tagged objects; and texts, numbers and lists.
    #[test]
    fn a_kind_is_the_path_of_variants_in_a_description() {
        let append = |commit: u32, entries: &str| {
            format!(
                r#"{{"Raft":{{"term":3,"what":{{"Append":{{"prev":{{"index":1,"term":1}},"entries":{entries},"commit":{commit}}}}}}}}}"#
            )
        };
        assert_eq!(of(&append(1, "[]")), "Raft.what.Append");
        assert_eq!(of(&append(2, r#"[{"term":1,"command":{"Put":["k","v"]}}]"#)), "Raft.what.Append");
        assert_eq!(of(r#"{"Raft":{"term":3,"what":{"Vote":true}}}"#), "Raft.what.Vote");
        assert_eq!(of(r#"{"Returned":7}"#), "Returned");
        assert_eq!(of(r#""Ping""#), "Ping");
        assert_eq!(of(r#"{"Outer":"Inner"}"#), "Outer.Inner");
        assert_eq!(of(r#"{"Say":"some words"}"#), "Say");
        assert_eq!(of(r#"{"kind":"append","term":3}"#), of(r#"{"kind":"append","term":4}"#));
        assert_eq!([of(r#"{"kind":"vote","term":3}"#), of(r#"{"kind":"query"}"#)], ["vote", "query"]);
        // A key is no variant.
        assert_eq!(of(r#"{"Install":{"last":3,"store":{"color":[1]}}}"#), "Install");
        for none in [r#""not a message of this protocol""#, "7", "[1]", "{}", "no json", r#"{"term":3,"index":4}"#] {
            assert_eq!(of(none), "none");
        }
    }

    #[test]
    fn a_protocol_without_descriptions_has_kinds_by_the_first_byte() {
        let factory: Arc<Toy> = Arc::new(Toy::new(1));
        let described = Kinds::new(&factory).expect("it is native");
        for kinds in [&*described, &Kinds::default()] {
            assert_eq!(kinds.of(&[3, 1]), kinds.of(&[3, 2]));
            assert_eq!([kinds.of(&[3]), kinds.of(&[])], [Kind::First(Some(3)), Kind::First(None)]);
        }
    }
}
