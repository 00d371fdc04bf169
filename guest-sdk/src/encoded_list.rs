//! A list whose elements stay encoded until they are read: [`EncodedList`].

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::codec;

/// A list in a view that is compared more often than read, such as the log of a node.
///
/// The elements are encoded one after the other where the view is taken, with no copy of any, and decoded only by [`get`](Self::get).
/// Equal elements have equal [bytes](Self::bytes), so a comparison needs no decoding. In JSON it is a list like any other.
///
/// ```
/// # use guest_sdk::EncodedList;
/// let log = [(1, "red".to_owned()), (1, "green".to_owned())];
/// let [left, right] = [&log[..], &log[..1]].map(|entries| entries.iter().collect::<EncodedList<(u32, String)>>());
/// assert_eq!((left.len(), left.bytes(0) == right.bytes(0), left.get(1)), (2, true, log[1].clone()));
/// ```
pub struct EncodedList<T> {
    bytes: Vec<u8>,
    /// Where each element ends.
    ends: Vec<u32>,
    elements: PhantomData<fn() -> T>,
}

impl<T> EncodedList<T> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The canonical encoding of an element, by postcard.
    ///
    /// # Panics
    ///
    /// The list is shorter.
    pub fn bytes(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |former| self.ends[former]);
        &self.bytes[start as usize..self.ends[index] as usize]
    }
}

impl<T: DeserializeOwned> EncodedList<T> {
    /// An element.
    ///
    /// # Panics
    ///
    /// The list is shorter, or its bytes were read from something that is no such list.
    pub fn get(&self, index: usize) -> T {
        let decoded = codec::decode(self.bytes(index));
        decoded.unwrap_or_else(|| panic!("element {index} is no {}", std::any::type_name::<T>()))
    }

    fn iter(&self) -> impl Iterator<Item = T> {
        (0..self.len()).map(|index| self.get(index))
    }
}

impl<T> Default for EncodedList<T> {
    fn default() -> Self {
        Self { bytes: Vec::new(), ends: Vec::new(), elements: PhantomData }
    }
}

impl<'e, T: Serialize + 'e> FromIterator<&'e T> for EncodedList<T> {
    fn from_iter<I: IntoIterator<Item = &'e T>>(elements: I) -> Self {
        let mut list = Self::default();
        for element in elements {
            list.bytes = codec::encode_behind(element, list.bytes);
            list.ends.push(u32::try_from(list.bytes.len()).expect("the memory of a guest has 32-bit addresses"));
        }
        list
    }
}

impl<T> Clone for EncodedList<T> {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), ends: self.ends.clone(), elements: PhantomData }
    }
}

impl<T> PartialEq for EncodedList<T> {
    fn eq(&self, other: &Self) -> bool {
        (&self.ends, &self.bytes) == (&other.ends, &other.bytes)
    }
}

impl<T> Eq for EncodedList<T> {}

impl<T> std::hash::Hash for EncodedList<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.ends, &self.bytes).hash(state);
    }
}

impl<T: DeserializeOwned + fmt::Debug> fmt::Debug for EncodedList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Bytes that serde writes as a whole.
struct Whole<B>(B);

impl Serialize for Whole<&[u8]> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de> Deserialize<'de> for Whole<Vec<u8>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }

        deserializer.deserialize_byte_buf(Bytes).map(Self)
    }
}

impl<T: Serialize + DeserializeOwned> Serialize for EncodedList<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_seq(self.iter());
        }
        (&self.ends, Whole(&self.bytes[..])).serialize(serializer)
    }
}

impl<'de, T: Serialize + DeserializeOwned> Deserialize<'de> for EncodedList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements<T>(PhantomData<fn() -> T>);

        impl<'de, T: Serialize + DeserializeOwned> Visitor<'de> for Elements<T> {
            type Value = EncodedList<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<EncodedList<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(element) = elements.next_element::<T>()? {
                    all.push(element);
                }
                Ok(all.iter().collect())
            }
        }

        if deserializer.is_human_readable() {
            return deserializer.deserialize_seq(Elements(PhantomData));
        }
        let (ends, Whole(bytes)) = <(Vec<u32>, Whole<Vec<u8>>)>::deserialize(deserializer)?;
        if !ends.is_sorted() || ends.last().map_or(0, |end| *end as usize) != bytes.len() {
            return Err(D::Error::custom("elements that do not end where their bytes do"));
        }
        Ok(Self { bytes, ends, elements: PhantomData })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Canonical, Encoding};

    type Words = EncodedList<(u32, String)>;

    fn words() -> Words {
        [(1, "one"), (2, ""), (300, "three")].map(|(number, word)| (number, word.to_owned())).iter().collect()
    }

    #[test]
    fn both_encodings_bring_it_back() {
        for encoding in [Encoding::Postcard, Encoding::Json] {
            for list in [words(), Words::default()] {
                assert_eq!(Words::decode(&list.encode(encoding), encoding), Some(list));
            }
        }
        assert_eq!(words().encode(Encoding::Json), br#"[[1,"one"],[2,""],[300,"three"]]"#);
        assert_eq!(format!("{:?}", words()), r#"[(1, "one"), (2, ""), (300, "three")]"#);
    }

    #[test]
    fn an_element_is_read_by_its_place() {
        assert_eq!(
            (words().len(), words().get(0), words().get(2)),
            (3, (1, "one".to_owned()), (300, "three".to_owned()))
        );
        assert!(words().bytes(1) != words().bytes(2) && words().bytes(1) == codec::encode(&(2_u32, "")));
        assert!(Words::default().is_empty() && !words().is_empty());
    }

    /// Every list of up to three of three elements, one of them without bytes: equal only to itself, and so are its bytes.
    #[test]
    fn lists_are_equal_if_their_elements_are() {
        fn lists(length: usize) -> Vec<Vec<Option<()>>> {
            let Some(shorter) = length.checked_sub(1) else { return vec![Vec::new()] };
            let longer = lists(shorter).into_iter().filter(|list| list.len() == shorter);
            let longer = longer.flat_map(|list| [None, Some(())].map(|last| [&list[..], &[last]].concat()));
            lists(shorter).into_iter().chain(longer).collect()
        }
        let all = lists(3);
        for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
            let [left, right] = [one, other].map(|list| list.iter().collect::<EncodedList<Option<()>>>());
            assert_eq!(
                (left == right, left.encode(Encoding::Postcard) == right.encode(Encoding::Postcard)),
                (one == other, one == other)
            );
        }
        assert_eq!(all.len(), 1 + 2 + 4 + 8);
        let [two, three] = [2, 3].map(|units| vec![(); units].iter().collect::<EncodedList<()>>());
        assert!(two != three && two.bytes(1).is_empty());
    }

    #[test]
    fn bytes_that_are_no_list_are_refused() {
        let of = |ends: &[u32], bytes: &[u8]| Words::decode(&codec::encode(&(ends, Whole(bytes))), Encoding::Postcard);
        assert!(of(&[1], &[0]).is_some());
        for (ends, bytes) in [(&[2][..], &[0][..]), (&[0], &[0]), (&[], &[0]), (&[2, 1, 2], &[0, 0]), (&[1], &[])] {
            assert_eq!(of(ends, bytes), None, "{ends:?} {bytes:?}");
        }
        assert_eq!(Words::decode(b"[7]", Encoding::Json), None);
    }
}
