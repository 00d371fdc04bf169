//! Bytes in documents.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that are written as lower-case hexadecimal digits in formats for people, and as they are in others.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hex(pub Vec<u8>);

/// Bytes that are shown where there are more.
const SHOWN_MAX: usize = 32;

/// Bytes for people: as digits, the first ones where there are many.
pub fn shown(bytes: &[u8]) -> String {
    match bytes.get(..SHOWN_MAX) {
        Some(first) if bytes.len() > SHOWN_MAX => format!("{}... ({} bytes)", digits(first), bytes.len()),
        _ => digits(bytes),
    }
}

fn digits(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.serialize_str(&digits(&self.0)),
            false => serializer.serialize_bytes(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Vec::deserialize(deserializer).map(Self);
        }
        let text = String::deserialize(deserializer)?;
        let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
        match digits {
            Some(digits) if digits.len() % 2 == 0 => {
                Ok(Self(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()))
            }
            _ => Err(serde::de::Error::custom(format!("`{text}` is not an even number of hexadecimal digits"))),
        }
    }
}
