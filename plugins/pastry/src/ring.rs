//! Identifiers: digits, prefixes and distances.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// The identifier of a node, below [`SPACE`].
pub type Id = u8;

/// The number of identifiers.
pub const SPACE: Id = 16;
/// The number of bits of a digit.
const DIGIT: u8 = 2;
/// The number of digits of an identifier, and so the number of rows of a routing table.
pub const ROWS: u8 = 2;

/// The identifiers of the nodes, in the order of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    ids: [Id; SPACE as usize],
    count: usize,
}

impl Ids {
    /// The identifier of a node.
    pub fn of(&self, node: u32) -> Id {
        self.ids[node as usize]
    }

    /// The number of nodes with identifiers.
    pub fn count(&self) -> usize {
        self.count
    }
}

impl Default for Ids {
    /// Few prefixes in common, and no order.
    fn default() -> Self {
        Self::from_str("0,9,5,14,2,11").expect("they are different")
    }
}

impl FromStr for Ids {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = Self { ids: [0; SPACE as usize], count: 0 };
        for word in text.split(',') {
            let id: Id = word.parse().ok().filter(|id| *id < SPACE).ok_or(format!("{word:?} is not below {SPACE}"))?;
            if all.ids[..all.count].contains(&id) {
                return Err(format!("{id} is there twice"));
            }
            all.ids[all.count] = id;
            all.count += 1;
        }
        Ok(all)
    }
}

impl Display for Ids {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let ids: Vec<_> = self.ids[..self.count].iter().map(ToString::to_string).collect();
        f.write_str(&ids.join(","))
    }
}

/// The digit of an identifier at a place, 0 for the first.
pub(crate) fn digit(id: Id, place: u8) -> u8 {
    id >> (DIGIT * (ROWS - 1 - place)) & ((1 << DIGIT) - 1)
}

/// The number of digits that two identifiers have in common at their beginning; all of them if they are equal.
pub(crate) fn prefix(one: Id, other: Id) -> u8 {
    (0..ROWS).take_while(|place| digit(one, *place) == digit(other, *place)).count() as u8
}

/// The distance from one identifier to another in the direction in which they grow.
pub(crate) fn clockwise(from: Id, to: Id) -> u8 {
    (SPACE + to - from) % SPACE
}

/// The distance in the shorter direction.
pub(crate) fn distance(one: Id, other: Id) -> u8 {
    clockwise(one, other).min(clockwise(other, one))
}
