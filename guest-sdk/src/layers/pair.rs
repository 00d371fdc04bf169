//! Values of two layers of one node.

use crate::Canonical;
use crate::codec::{Format, Postcard, decode, encode};

/// A value of two layers of a node: of the protocol above, of the transport below, or of both.
///
/// A value of one layer alone is shown as that layer shows it. `Debug` and `Hash` include the layer, so that they distinguish states of
/// two layers, see [`By`](crate::By).
#[derive(Debug, Hash)]
pub struct Layers<A, B> {
    above: Option<A>,
    below: Option<B>,
}

impl<A, B> Layers<A, B> {
    pub(crate) fn new(above: Option<A>, below: Option<B>) -> Self {
        Self { above, below }
    }

    pub(crate) fn above(value: A) -> Self {
        Self::new(Some(value), None)
    }

    pub(crate) fn below(value: B) -> Self {
        Self::new(None, Some(value))
    }

    pub(crate) fn map_above(self, change: impl FnOnce(A) -> A) -> Self {
        Self { above: self.above.map(change), below: self.below }
    }

    pub(crate) fn into_parts(self) -> (Option<A>, Option<B>) {
        (self.above, self.below)
    }

    /// The parts by reference.
    pub fn parts(&self) -> (Option<&A>, Option<&B>) {
        (self.above.as_ref(), self.below.as_ref())
    }

    /// The protocol's part of the state of a node.
    ///
    /// # Panics
    ///
    /// This is the message or the event of a transport.
    pub fn protocol(&self) -> &A {
        self.above.as_ref().expect("a node has a state of its protocol")
    }

    /// The transport's part of the state of a node; none if the transport is the host.
    pub fn end(&self) -> Option<&B> {
        self.below.as_ref()
    }

    /// Both parts of the state of a node, to change them.
    pub(crate) fn both(&mut self) -> (&mut A, Option<&mut B>) {
        (self.above.as_mut().expect("a node has a state of its protocol"), self.below.as_mut())
    }
}

/// By hand, since only the canonical encodings of the parts are known. Both are kept in postcard, with their lengths: equal parts have
/// equal bytes, and so have equal pairs.
impl<A: Canonical, B: Canonical> Canonical for Layers<A, B> {
    fn encode_as<F: Format>(&self) -> Vec<u8> {
        let above = self.above.as_ref().map(|above| above.encode_as::<Postcard>());
        let below = self.below.as_ref().map(|below| below.encode_as::<Postcard>());
        encode(&(above, below))
    }

    fn decode_as<F: Format>(bytes: &[u8]) -> Option<Self> {
        let (above, below): (Option<Vec<u8>>, Option<Vec<u8>>) = decode(bytes)?;
        let above = above.map(|bytes| A::decode_as::<Postcard>(&bytes).ok_or(())).transpose();
        let below = below.map(|bytes| B::decode_as::<Postcard>(&bytes).ok_or(())).transpose();
        Some(Self { above: above.ok()?, below: below.ok()? })
    }

    fn duplicate(&self) -> Self {
        Self { above: self.above.as_ref().map(A::duplicate), below: self.below.as_ref().map(B::duplicate) }
    }

    fn is_same(&self, other: &Self) -> bool {
        let is_above_same = match (&self.above, &other.above) {
            (Some(one), Some(other)) => one.is_same(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        is_above_same
            && match (&self.below, &other.below) {
                (Some(one), Some(other)) => one.is_same(other),
                (one, other) => one.is_none() && other.is_none(),
            }
    }

    fn json(&self) -> String {
        match self.parts() {
            (Some(above), Some(below)) => {
                format!(r#"{{"protocol":{},"transport":{}}}"#, above.json(), below.json())
            }
            (Some(above), None) => above.json(),
            (None, Some(below)) => below.json(),
            (None, None) => "null".to_owned(),
        }
    }

    fn debug(&self) -> String {
        match self.parts() {
            (Some(above), Some(below)) => format!("{} over {}", above.debug(), below.debug()),
            (Some(above), None) => above.debug(),
            (None, Some(below)) => below.debug(),
            (None, None) => "nothing".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{By, Digest, Distinguish, Encoding, Opaque};

    #[test]
    fn encodings_are_canonical_and_tell_layers_apart() {
        let all: Vec<Layers<u8, u8>> =
            [(None, None), (Some(1), None), (None, Some(1)), (Some(1), Some(1)), (Some(1), Some(2))]
                .map(|(above, below)| Layers::new(above, below))
                .into();
        for (place, one) in all.iter().enumerate() {
            let bytes = one.encode(Encoding::Postcard);
            let back = Layers::<u8, u8>::decode(&bytes, Encoding::Postcard).expect("it was encoded");
            for (other_place, other) in all.iter().enumerate() {
                assert_eq!(back.is_same(other), place == other_place);
                assert_eq!(bytes == other.encode(Encoding::Postcard), place == other_place);
            }
            assert!(one.duplicate().is_same(one));
            assert!(Layers::<u8, u8>::decode(&bytes[..bytes.len() - 1], Encoding::Postcard).is_none());
        }
        // The inner bytes are read to their end, too.
        assert!(Layers::<u8, u8>::decode(&encode(&(Some(vec![1, 2]), None::<Vec<u8>>)), Encoding::Postcard).is_none());
        let texts: Vec<String> = all.iter().map(Canonical::json).collect();
        assert_eq!(texts, ["null", "1", "1", r#"{"protocol":1,"transport":1}"#, r#"{"protocol":1,"transport":2}"#]);
    }

    /// A state of two layers in an `Opaque`, as of a library with layers.
    macro_rules! node {
        ($name:ident, $by:expr) => {
            #[derive(Debug)]
            struct $name(Layers<u8, u8>);

            impl Distinguish for $name {
                const BY: By = $by;

                fn digest(&self, digest: &mut Digest) {
                    digest.hash(&self.0);
                }
            }
        };
    }

    node!(ByText, By::Debug { without: &[] });
    node!(ByDigest, By::Digest);

    #[test]
    fn the_text_and_the_digest_tell_layers_apart() {
        let parts = [(None, None), (Some(1), None), (None, Some(1)), (Some(1), Some(1)), (Some(1), Some(2))];
        for (place, (above, below)) in parts.into_iter().enumerate() {
            for (other_place, (its_above, its_below)) in parts.into_iter().enumerate() {
                let (one, other) = (Layers::new(above, below), Layers::new(its_above, its_below));
                let texts = [one, other].map(|layers| Opaque::new(ByText(layers)).bytes());
                assert_eq!(texts[0] == texts[1], place == other_place, "{texts:?}");
                let (one, other) = (Layers::new(above, below), Layers::new(its_above, its_below));
                let digests = [one, other].map(|layers| Opaque::new(ByDigest(layers)).bytes());
                assert_eq!(digests[0] == digests[1], place == other_place, "{digests:?}");
            }
        }
    }
}
