//! The durable map of a toy node.

use crate::contract::{DurableMap, DurableState, NodeMap};
use crate::toys::rule::ToyState;
use crate::toys::toy::Medium;

/// The key of the state, if the map has it.
const STATE: &[u8] = &[0];

/// The first byte of the other keys, and the byte behind it.
const KEPT: [&[u8]; 2] = [&[1], &[2]];

/// The first byte of the keys of digits.
const DIGIT: u8 = 3;

/// The digits of a durable state: enough for all that a random toy has.
const DIGITS: u8 = 2;

/// The base of the digits. No entry is a 0.
const BASE: u8 = 3;

/// The map of a node.
///
/// A durable state `n` is the keys 1 to `n` behind a common first byte, and one more with the number: a change puts and deletes several
/// entries, one by one and as a range.
#[derive(Default)]
pub(super) struct Stored(pub(super) NodeMap);

impl Stored {
    /// That of a node with this map.
    pub(super) fn at(map: Option<&DurableMap>) -> Self {
        Self(NodeMap::new(map.cloned().unwrap_or_default()))
    }

    /// Writes the durable state, and the state if the map has it.
    pub(super) fn write(&mut self, kept: Option<u8>, state: Option<ToyState>) {
        let Some(kept) = kept else {
            self.0.delete_range(KEPT[0], Some(KEPT[1]));
            return self.put_state(state);
        };
        for number in 1..=kept {
            self.0.put(&[1, number], b"");
        }
        self.0.put(&[1, u8::MAX], &[kept]);
        self.0.delete_range(&[1, kept + 1], Some(&[1, u8::MAX]));
        self.put_state(state);
    }

    /// Writes the durable state digit by digit: `n` as n + 1, and no durable state as 0.
    pub(super) fn write_digits(&mut self, kept: Option<u8>) {
        let mut rest = kept.map_or(0, |kept| kept + 1);
        assert!(rest < BASE.pow(DIGITS.into()), "it has few durable states");
        for place in 0..DIGITS {
            match rest % BASE {
                0 => self.0.delete(&[DIGIT, place]),
                digit => self.0.put(&[DIGIT, place], &[digit]),
            }
            rest /= BASE;
        }
    }

    fn put_state(&mut self, state: Option<ToyState>) {
        match state {
            Some(state) => self.0.put(STATE, &[state]),
            None => self.0.delete(STATE),
        }
    }

    /// The state that the map has.
    pub(super) fn state(&self) -> ToyState {
        self.0.map().get(STATE).map_or(0, |state| state[0])
    }
}

impl Medium {
    /// Whether these are the bytes of a map that an exported state has.
    pub(super) fn has(self, map: &[u8]) -> bool {
        match self {
            Self::Persisted => map.is_empty(),
            Self::Map | Self::WholeMap | Self::Digits => DurableMap::from_bytes(map).is_some(),
        }
    }

    /// The durable state of a toy in what a reset has left.
    pub(super) fn read(self, durable: &DurableState) -> Option<u8> {
        match self {
            Self::Persisted => durable.persisted.as_ref().map(|bytes| bytes[0]),
            Self::Map | Self::WholeMap => kept(&durable.map),
            Self::Digits => digits(&durable.map),
        }
    }
}

/// The durable state of a toy in a map, and the state of the node if the map has it.
///
/// # Panics
///
/// No toy writes such a map.
pub fn read_map(map: &DurableMap) -> (Option<u8>, Option<ToyState>) {
    (kept(map), map.get(STATE).map(|state| state[0]))
}

/// The durable state of a toy in the digits of a map.
fn digits(map: &DurableMap) -> Option<u8> {
    let digit = |place: u8| map.get(&[DIGIT, place]).map_or(0, |value| value[0]);
    let number = (0..DIGITS).rev().fold(0, |number, place| number * BASE + digit(place));
    number.checked_sub(1)
}

fn kept(map: &DurableMap) -> Option<u8> {
    let mut kept = map.range(KEPT[0], Some(KEPT[1])).map(|(key, value)| (key[1], value));
    let (last, value) = kept.next_back()?;
    let numbers: Vec<u8> = kept.map(|(number, _)| number).collect();
    assert_eq!((last, value), (u8::MAX, &[numbers.len() as u8][..]), "it is what was written");
    assert!(numbers.iter().copied().eq(1..=value[0]), "it is what was written");
    Some(value[0])
}
