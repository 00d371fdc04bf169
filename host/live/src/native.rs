//! Plain data as the states of a native machine, for tests.

use host_model::contract::Snapshot;
use serde::{Deserialize, Serialize};

pub(crate) fn encode(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).expect("serde derives its encoding, and memory takes every byte")
}

pub(crate) fn decode<T: for<'d> Deserialize<'d>>(bytes: &[u8]) -> T {
    postcard::from_bytes(bytes).expect("it was encoded here")
}

/// The snapshot of a machine that is a value.
pub(crate) fn captured(value: &impl Serialize) -> Snapshot {
    let bytes = encode(value);
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    Snapshot::new(&std::iter::once(bytes.len() as u64).chain(words).collect::<Vec<_>>())
}

/// The value of a snapshot.
pub(crate) fn released<T: for<'d> Deserialize<'d>>(snapshot: &Snapshot) -> T {
    let words = snapshot.words();
    let bytes: Vec<u8> = words[1..].iter().flat_map(|word| word.to_le_bytes()).collect();
    decode(&bytes[..words[0] as usize])
}
