//! The types of keys, and their bytes: the order of the bytes is that of the values.

/// A type of keys. The order of the bytes is that of the values, and no key is the beginning of another one.
pub trait Key: Sized {
    /// Adds the bytes of the key.
    fn write(&self, bytes: &mut Vec<u8>);

    /// Takes a key from the beginning of bytes; none if there is none.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(
            /// The most significant byte first.
            impl Key for $number {
                fn write(&self, bytes: &mut Vec<u8>) {
                    bytes.extend(self.to_be_bytes());
                }

                fn read(bytes: &mut &[u8]) -> Option<Self> {
                    let (number, rest) = bytes.split_first_chunk()?;
                    *bytes = rest;
                    Some(Self::from_be_bytes(*number))
                }
            }
        )*
    };
}
numbers!(u8, u16, u32, u64, u128);

/// The only key of a table with one entry.
impl Key for () {
    fn write(&self, _: &mut Vec<u8>) {}

    fn read(_: &mut &[u8]) -> Option<Self> {
        Some(())
    }
}

impl<const N: usize> Key for [u8; N] {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (content, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(*content)
    }
}

/// Two zero bytes are the end; a zero byte of the content has 255 behind it.
impl Key for Vec<u8> {
    fn write(&self, bytes: &mut Vec<u8>) {
        write_content(self, bytes);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let mut content = Self::new();
        loop {
            let (byte, rest) = bytes.split_first()?;
            *bytes = rest;
            if *byte == 0 {
                let (behind, rest) = bytes.split_first()?;
                *bytes = rest;
                match behind {
                    0 => return Some(content),
                    255 => {}
                    _ => return None,
                }
            }
            content.push(*byte);
        }
    }
}

/// As bytes.
impl Key for String {
    fn write(&self, bytes: &mut Vec<u8>) {
        write_content(self.as_bytes(), bytes);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        Self::from_utf8(Vec::read(bytes)?).ok()
    }
}

fn write_content(content: &[u8], bytes: &mut Vec<u8>) {
    for byte in content {
        bytes.push(*byte);
        if *byte == 0 {
            bytes.push(255);
        }
    }
    bytes.extend([0, 0]);
}

/// The first one decides.
impl<A: Key, B: Key> Key for (A, B) {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.0.write(bytes);
        self.1.write(bytes);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        Some((A::read(bytes)?, B::read(bytes)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    fn check<K: Key + Ord + Debug>(keys: &[K]) {
        let bytes = |key: &K| {
            let mut bytes = Vec::new();
            key.write(&mut bytes);
            bytes
        };
        for key in keys {
            let (written, mut rest) = (bytes(key), &bytes(key)[..]);
            assert_eq!((K::read(&mut rest).as_ref(), rest), (Some(key), &[][..]));
            for end in 0..written.len() {
                assert_eq!(K::read(&mut &written[..end]), None, "{key:?} is cut off");
            }
            for other in keys {
                assert_eq!(written.cmp(&bytes(other)), key.cmp(other), "{key:?} {other:?}");
            }
        }
    }

    /// The order of the bytes is the order of the values, and each key is read back.
    #[test]
    fn bytes_have_the_order_of_their_keys() {
        check(&[0u8, 1, 255]);
        check(&[0u32, 1, 255, 256, 65_536, u32::MAX]);
        check(&[0u64, 255, 256, u64::MAX]);
        check(&[[0u8, 0], [0, 1], [1, 0]]);
        let contents: Vec<Vec<u8>> =
            vec![vec![], vec![0], vec![0, 0], vec![0, 1], vec![0, 255], vec![1], vec![1, 0], vec![255], vec![255, 0]];
        check(&contents);
        check(&["", "a", "aa", "ab", "b", "\0", "a\0"].map(str::to_owned));
        let pairs =
            contents.iter().flat_map(|first| contents.iter().map(move |second| (first.clone(), second.clone())));
        check(&pairs.collect::<Vec<_>>());
        check(&[(0u16, "b".to_owned()), (1, "a".to_owned()), (256, String::new())]);
    }
}
