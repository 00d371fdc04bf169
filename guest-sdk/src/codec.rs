//! The encodings, each as a type: postcard and canonical JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The encoding of states, messages, local events and views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Postcard: compact and fast, for protocols whose nodes all run the same program.
    Postcard,
    /// Canonical JSON: keys sorted by their bytes, no white space, integers only. Every language can read and write it, and no
    /// plugin is needed to read it. `docs/encoding.md` defines it.
    Json,
}

/// An [`Encoding`] as a type.
#[doc(hidden)]
pub trait Format {
    /// The encoding.
    const ENCODING: Encoding;

    /// The bytes of a value.
    fn encode<T: Serialize>(value: &T) -> Vec<u8>;

    /// The value with these bytes, all of them; `None` if there is none.
    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T>;
}

/// [`Encoding::Postcard`].
#[doc(hidden)]
pub struct Postcard;

impl Format for Postcard {
    const ENCODING: Encoding = Encoding::Postcard;

    fn encode<T: Serialize>(value: &T) -> Vec<u8> {
        encode(value)
    }

    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
        decode(bytes)
    }
}

/// [`Encoding::Json`].
#[doc(hidden)]
pub struct Json;

impl Format for Json {
    const ENCODING: Encoding = Encoding::Json;

    fn encode<T: Serialize>(value: &T) -> Vec<u8> {
        encode_json(value)
    }

    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
        serde_json::from_slice(bytes).ok()
    }
}

/// The canonical bytes of a value.
///
/// # Panics
///
/// A hand-written `Serialize` that postcard rejects, such as a sequence of unknown length.
pub(crate) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    // The size is computed first because the bytes leave through the component boundary, which shrinks a larger
    // allocation by allocating again.
    let bytes = postcard::experimental::serialized_size(value);
    encode_behind(value, bytes.map_or_else(|_| Vec::new(), Vec::with_capacity))
}

/// The canonical bytes of a value behind others.
///
/// # Panics
///
/// As for [`encode`].
pub(crate) fn encode_behind<T: Serialize>(value: &T, bytes: Vec<u8>) -> Vec<u8> {
    postcard::to_extend(value, bytes)
        .unwrap_or_else(|error| panic!("{} cannot be encoded: {error}", std::any::type_name::<T>()))
}

/// The value with these bytes, all of them; `None` if there is none.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Some(value),
        _ => None,
    }
}

/// The canonical JSON of a value.
///
/// # Panics
///
/// A value without a JSON form: a map whose keys are neither words nor numbers, or an integer above 2^64.
fn encode_json<T: Serialize>(value: &T) -> Vec<u8> {
    let value = serde_json::to_value(value)
        .unwrap_or_else(|error| panic!("{} cannot be encoded as JSON: {error}", std::any::type_name::<T>()));
    let mut text = String::new();
    write_json(&value, &mut text);
    text.into_bytes()
}

fn write_json(value: &Value, text: &mut String) {
    let separator = |index: usize| if index == 0 { "" } else { "," };
    match value {
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(separator(index));
                write_json(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            // The map is sorted by itself only without a feature that another crate may switch on.
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (index, (key, value)) in fields.into_iter().enumerate() {
                text.push_str(separator(index));
                text.push_str(&json_string(key));
                text.push(':');
                write_json(value, text);
            }
            text.push('}');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

/// A JSON string.
pub(crate) fn json_string(text: &str) -> String {
    serde_json::to_string(text).expect("a string has a JSON form")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_takes_all_the_bytes_or_fails() {
        let bytes = encode(&(1u32, "two"));
        assert_eq!(bytes.capacity(), bytes.len());
        assert_eq!(decode::<(u32, String)>(&bytes), Some((1, "two".to_owned())));
        assert_eq!(decode::<u32>(&bytes), None);
        assert_eq!(decode::<(u32, String, u8)>(&bytes), None);
    }
}
