//! Encoding and decoding for a protocol in its own encoding, without the code of any other.
//!
//! Otherwise half of the compiled plugin would read and write a format that the plugin does not use.

use crate::codec::{Encoding, Json, Postcard};
use crate::{NodeState, Payload, Protocol};

/// The encoding of a protocol as a constant condition: the compiler instantiates only the branch that is taken.
trait Encoded: Protocol {
    const IS_JSON: bool = matches!(Self::ENCODING, Encoding::Json);
}

impl<P: Protocol> Encoded for P {}

/// The bytes of a payload of a protocol.
pub(crate) fn to_bytes<P: Protocol, T: Payload>(value: &T) -> Vec<u8> {
    if P::IS_JSON { value.to_bytes_as::<Json>() } else { value.to_bytes_as::<Postcard>() }
}

/// The value with these bytes in a protocol's encoding; none if no value has them.
pub(crate) fn from_bytes<P: Protocol, T: Payload>(bytes: &[u8]) -> Option<T> {
    if P::IS_JSON { T::from_bytes_as::<Json>(bytes) } else { T::from_bytes_as::<Postcard>(bytes) }
}

/// The bytes by which a protocol distinguishes its states.
pub(crate) fn identity<P: Protocol>(state: &P::State) -> Vec<u8> {
    if P::IS_JSON { state.identity_as::<Json>() } else { state.identity_as::<Postcard>() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{About, Context, Never, NodeId, ParameterError, Parameters, Properties};

    /// A protocol without behaviour, in an encoding.
    macro_rules! protocol {
        ($name:ident, $encoding:expr) => {
            struct $name;

            impl Protocol for $name {
                const ABOUT: About = crate::about!().nodes(1);
                const ENCODING: Encoding = $encoding;
                type State = (u8, bool);
                type Message = (u8, bool);
                type Local = Never;
                type Durable = Never;

                fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
                    Ok($name)
                }

                fn init(&self, _: &mut Context<Self::Message>, _: Option<Never>) -> Self::State {
                    (0, false)
                }

                fn handle_message(
                    &self,
                    _: &mut Context<Self::Message>,
                    _: &mut Self::State,
                    _: NodeId,
                    _: Self::Message,
                ) {
                }

                fn properties(_: &mut Properties<Self>) {}
            }
        };
    }

    protocol!(InPostcard, Encoding::Postcard);
    protocol!(InJson, Encoding::Json);

    /// The bytes that a protocol writes; it must read them back, and reject bytes of the other encoding.
    fn written<P: Protocol<State = (u8, bool)>>(other: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let value = (7u8, true);
        let bytes = to_bytes::<P, _>(&value);
        assert_eq!(from_bytes::<P, (u8, bool)>(&bytes), Some(value));
        assert_eq!(from_bytes::<P, (u8, bool)>(other), None);
        (bytes, identity::<P>(&value))
    }

    #[test]
    fn a_protocol_reads_and_writes_its_own_encoding() {
        assert_eq!(written::<InPostcard>(b"[7,true]"), (vec![7, 1], vec![7, 1]));
        assert_eq!(written::<InJson>(&[7, 1]), (b"[7,true]".to_vec(), b"[7,true]".to_vec()));
    }
}
