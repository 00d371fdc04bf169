//! The messages of connections.

use std::fmt::{self, Debug};

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A message of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Segment {
    /// The number of the connection among those that the same node opened to the same other one.
    pub connection: u32,
    /// Whether the sender of this segment opened the connection.
    pub is_opener: bool,
    /// The content.
    pub content: Content,
}

/// The content of a [`Segment`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Content {
    /// Opens a connection to this port.
    Open(u16),
    /// The connection is open.
    Accept,
    /// The port has no listener.
    Refuse,
    /// Bytes of the stream.
    Data {
        /// The number of bytes sent before.
        at: u32,
        /// The bytes.
        bytes: Bytes,
        /// Whether these are the last ones.
        is_last: bool,
    },
    /// The sender does not know the connection, or no longer.
    Reset,
}

/// A way to send segments as messages of a program.
#[derive(Clone, Copy, Debug)]
pub struct Carrier<M> {
    /// The message that carries a segment.
    pub wrap: fn(Segment) -> M,
    /// The segment that a message carries, or the message itself, which is then a datagram of the program.
    pub unwrap: fn(M) -> Result<Segment, M>,
}

impl Carrier<Segment> {
    /// For a program that has no other messages.
    pub const SEGMENTS: Self = Self { wrap: |segment| segment, unwrap: Ok };
}

/// Bytes of a stream. In text they are ASCII, with escapes as in Rust.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Bytes(pub Vec<u8>);

impl Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(&self.0.escape_ascii())
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes, or ASCII with escapes")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
                unescape(text).map(Bytes).ok_or_else(|| E::custom("no ASCII with escapes"))
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Reader)
        } else {
            deserializer.deserialize_bytes(Reader)
        }
    }
}

/// The reverse of [`slice::escape_ascii`]; none for a text that is no result of it.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let (kind, behind) = rest.split_first()?;
        rest = behind;
        bytes.push(match kind {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'\\' | b'\'' | b'"' => *kind,
            b'x' => {
                let (digits, behind) = rest.split_at_checked(2)?;
                rest = behind;
                u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?
            }
            _ => return None,
        });
    }
    (bytes.escape_ascii().to_string() == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoding, Payload};

    #[test]
    fn bytes_are_read_back_from_both_encodings() {
        let all = Bytes((0..=255).collect());
        for bytes in [Bytes::default(), Bytes(b"GET / HTTP/1.1\r\n\r\n".to_vec()), Bytes(b"\\x41\"'".to_vec()), all] {
            for encoding in [Encoding::Postcard, Encoding::Json] {
                assert_eq!(Bytes::from_bytes(&bytes.to_bytes(encoding), encoding), Some(bytes.clone()));
            }
        }
        assert_eq!(Payload::shown(&Bytes(b"a\n\0".to_vec())), r#""a\\n\\x00""#);
        for wrong in ["\\", "\\q", "\\x4", "\\x41", "ä", "\n"] {
            assert_eq!(unescape(wrong), None, "{wrong}");
        }
    }
}
