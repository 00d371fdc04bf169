//! The requirements of the checker on states, and on bytes that leave a node: [`NodeState`] and [`Payload`].
//!
//! The derives that [`Canonical`] asks for provide both. They are separate traits for third-party types:
//! [`Opaque`](crate::Opaque) for states, [`BySerde`] or a few lines by hand for messages.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::canonical::Canonical;
use crate::codec::{Encoding, Format, Json, Postcard, json_string};
use crate::{Opaque, randomness};

/// The state of a node: comparable and printable.
///
/// The state stays in the memory of the node, which the checker captures as a whole, so nothing has to be read back or copied.
/// Implemented for every [`Canonical`] type, and for [`Opaque`] around any other.
#[diagnostic::on_unimplemented(
    message = "states of type `{Self}` cannot be distinguished",
    label = "needs `Clone + Debug + Eq + Hash + Serialize + Deserialize`, or `Opaque` around it",
    note = "derive Clone, Debug, PartialEq, Eq, Hash, serde::Serialize and serde::Deserialize, with BTreeMap in place of HashMap and without \
            floating point numbers",
    note = "around the state of a library: `type State = guest_sdk::Opaque<..>`, which says how else to tell states apart"
)]
pub trait NodeState: Sized + 'static {
    /// Whether states are distinguished by the whole memory of the node.
    const IS_MEMORY: bool = false;

    /// The bytes by which states are distinguished: equal bytes promise equal behaviour.
    fn identity(&self, encoding: Encoding) -> Vec<u8>;

    /// The state for people, as JSON.
    fn shown(&self) -> String;

    #[doc(hidden)]
    fn identity_as<F: Format>(&self) -> Vec<u8> {
        self.identity(F::ENCODING)
    }

    #[doc(hidden)]
    fn note(&mut self, event: &[u8]) {
        let _ = event;
    }

    /// Whether [`note`](Self::note) does something.
    #[doc(hidden)]
    const IS_NOTED: bool = false;

    /// A copy, if the type can be copied.
    #[doc(hidden)]
    fn duplicate(&self) -> Option<Self> {
        None
    }

    /// The state as another process would read it back, if the type can be read back.
    #[doc(hidden)]
    fn round_trip(&self, encoding: Encoding) -> Option<Self> {
        let _ = encoding;
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T: Canonical> NodeState for T {
    fn identity(&self, encoding: Encoding) -> Vec<u8> {
        match encoding {
            Encoding::Postcard => self.identity_as::<Postcard>(),
            Encoding::Json => self.identity_as::<Json>(),
        }
    }

    fn identity_as<F: Format>(&self) -> Vec<u8> {
        // No encoding is a prefix of another one, so the bytes behind it cannot be mistaken for a part of it.
        let mut bytes = self.encode_as::<F>();
        bytes.extend(randomness::identity());
        bytes
    }

    fn shown(&self) -> String {
        self.json()
    }

    fn duplicate(&self) -> Option<Self> {
        Some(Canonical::duplicate(self))
    }

    fn round_trip(&self, encoding: Encoding) -> Option<Self> {
        Some(round_trip(self, encoding))
    }
}

/// Content that leaves a node as bytes: a message, or the content of a disk.
///
/// Implemented for every [`Canonical`] type. For a message of a library, implement it on a type of your own around it: three functions.
/// Equal bytes are the same message, so fields without an order should be sorted.
///
/// ```
/// use guest_sdk::{Encoding, Payload};
///
/// /// A packet of a library that has its own format, and no serde.
/// struct Packet(Vec<u16>);
///
/// impl Payload for Packet {
///     fn to_bytes(&self, _: Encoding) -> Vec<u8> {
///         self.0.iter().flat_map(|word| word.to_be_bytes()).collect()
///     }
///
///     fn from_bytes(bytes: &[u8], _: Encoding) -> Option<Self> {
///         let (words, rest) = bytes.as_chunks();
///         rest.is_empty().then(|| Packet(words.iter().map(|word| u16::from_be_bytes(*word)).collect()))
///     }
///
///     fn shown(&self) -> String {
///         format!("{:?}", self.0)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sent: it has no bytes",
    label = "needs `Clone + Debug + Eq + Hash + Serialize + Deserialize`, or an `impl Payload`",
    note = "derive Clone, Debug, PartialEq, Eq, Hash, serde::Serialize and serde::Deserialize",
    note = "around a message of a library: `BySerde<..>` if it has serde, else `impl guest_sdk::Payload` for a type around it"
)]
pub trait Payload: Sized + 'static {
    /// The bytes.
    fn to_bytes(&self, encoding: Encoding) -> Vec<u8>;

    /// The value with these bytes; none if no value has them.
    fn from_bytes(bytes: &[u8], encoding: Encoding) -> Option<Self>;

    /// For people, as one JSON value. Text that is no JSON is shown as it is.
    fn shown(&self) -> String;

    #[doc(hidden)]
    fn to_bytes_as<F: Format>(&self) -> Vec<u8> {
        self.to_bytes(F::ENCODING)
    }

    #[doc(hidden)]
    fn from_bytes_as<F: Format>(bytes: &[u8]) -> Option<Self> {
        Self::from_bytes(bytes, F::ENCODING)
    }

    #[doc(hidden)]
    fn is_same_as(&self, other: &Self, encoding: Encoding) -> bool {
        self.to_bytes(encoding) == other.to_bytes(encoding)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Canonical> Payload for T {
    fn to_bytes(&self, encoding: Encoding) -> Vec<u8> {
        self.encode(encoding)
    }

    fn from_bytes(bytes: &[u8], encoding: Encoding) -> Option<Self> {
        Self::decode(bytes, encoding)
    }

    fn to_bytes_as<F: Format>(&self) -> Vec<u8> {
        self.encode_as::<F>()
    }

    fn from_bytes_as<F: Format>(bytes: &[u8]) -> Option<Self> {
        Self::decode_as::<F>(bytes)
    }

    fn shown(&self) -> String {
        self.json()
    }

    fn is_same_as(&self, other: &Self, _: Encoding) -> bool {
        self.is_same(other)
    }
}

/// A message with serde, which may lack `Clone`, `Eq` and `Hash`: the type of a library.
///
/// Its bytes are postcard's, or JSON where postcard cannot read them back, as the protocol's [`ENCODING`](crate::Protocol::ENCODING)
/// says. A `HashMap` within keeps its order, so messages that are equal for the library may be distinguished.
#[derive(Debug)]
pub struct BySerde<M>(pub M);

impl<M: Serialize + DeserializeOwned + Debug + 'static> Payload for BySerde<M> {
    fn to_bytes(&self, encoding: Encoding) -> Vec<u8> {
        match encoding {
            Encoding::Postcard => Postcard::encode(&self.0),
            Encoding::Json => serde_json::to_vec(&self.0)
                .unwrap_or_else(|error| panic!("{} has no JSON form: {error}", std::any::type_name::<M>())),
        }
    }

    fn from_bytes(bytes: &[u8], encoding: Encoding) -> Option<Self> {
        match encoding {
            Encoding::Postcard => Self::from_bytes_as::<Postcard>(bytes),
            Encoding::Json => Self::from_bytes_as::<Json>(bytes),
        }
    }

    fn from_bytes_as<F: Format>(bytes: &[u8]) -> Option<Self> {
        F::decode(bytes).map(Self)
    }

    fn shown(&self) -> String {
        crate::canonical::json(&self.0)
    }
}

/// The description of a payload, always as valid JSON.
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "tests show the text itself"))]
pub(crate) fn json_of(payload: &impl Payload) -> String {
    let text = payload.shown();
    if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() { text } else { json_string(&text) }
}

/// The value as the receiver, or a snapshot, reads it.
///
/// # Panics
///
/// The encoding loses something.
pub(crate) fn round_trip<T: Payload>(value: &T, encoding: Encoding) -> T {
    match T::from_bytes(&value.to_bytes(encoding), encoding) {
        Some(back) if back.is_same_as(value, encoding) => back,
        _ => panic!("an encoding that loses something (a skipped field?): {}", value.shown()),
    }
}

impl<T: crate::Distinguish> NodeState for Opaque<T> {
    const IS_MEMORY: bool = Self::IS_BY_MEMORY;
    const IS_NOTED: bool = Self::IS_BY_HISTORY;

    fn identity(&self, _: Encoding) -> Vec<u8> {
        let mut bytes = self.bytes();
        let drawn = randomness::identity();
        // The length last: bytes with draws never equal bytes without.
        bytes.extend(&drawn);
        bytes.extend((drawn.len() as u32).to_le_bytes());
        bytes
    }

    fn shown(&self) -> String {
        self.json()
    }

    fn note(&mut self, event: &[u8]) {
        self.remember(event);
    }

    fn duplicate(&self) -> Option<Self> {
        self.copy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Serialize, serde::Deserialize)]
    struct Reading {
        /// Floats have no `Eq`, so this is no `Canonical` type.
        celsius: f64,
    }

    #[test]
    fn a_message_with_serde_alone_goes_through_both_encodings() {
        for encoding in [Encoding::Postcard, Encoding::Json] {
            let there = round_trip(&BySerde(Reading { celsius: 21.5 }), encoding);
            assert!((there.0.celsius - 21.5).abs() < 1e-9);
            assert!(BySerde::<Reading>::from_bytes(b"non", encoding).is_none());
        }
        assert_eq!(json_of(&BySerde(Reading { celsius: 21.5 })), r#"{"celsius":21.5}"#);
    }

    struct Loses(u32);

    impl Payload for Loses {
        fn to_bytes(&self, _: Encoding) -> Vec<u8> {
            vec![self.0 as u8]
        }

        fn from_bytes(bytes: &[u8], _: Encoding) -> Option<Self> {
            Some(Self(u32::from(*bytes.first()?) / 2))
        }

        fn shown(&self) -> String {
            format!("number {}", self.0)
        }
    }

    #[test]
    fn text_that_is_no_json_is_shown_as_text() {
        assert_eq!(json_of(&Loses(3)), "\"number 3\"");
    }

    #[test]
    #[should_panic(expected = "an encoding that loses something")]
    fn bytes_that_do_not_come_back_are_noticed() {
        round_trip(&Loses(3), Encoding::Postcard);
    }
}
