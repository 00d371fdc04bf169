//! What is wrong on purpose: mistakes by their names in MaceMC's report, in any combination.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A SYN that is there twice opens its connection again.
    MT1,
    /// The timers of a connection that is closed go on.
    MT2,
    /// A SYN that is late opens its old connection again.
    MT3,
    /// The last SYN is noted in the connection, and forgotten with it.
    MT3Forgets,
    /// Messages that come out of the buffer are not counted as received.
    MT4,
    /// A message that comes too early is acknowledged by the number that it should have had.
    MT5,
    /// An acknowledgement of more than what is in flight is ignored.
    MT6,
    /// A Reset closes both directions, whatever connection it is about.
    MT7,
    /// A fragment that is in the buffer is counted again.
    MT8,
    /// A message is acknowledged without those after it that are in the buffer.
    MT9,
    /// An error leaves the promise that the application may send.
    MT10,
    /// A message that stays in the buffer, and is sent again and again, does not reset its connection.
    MT11,
}

/// The names of the report. Of the two wrong repairs of MT3 in it, the one with a missing clause does what MT3 does.
const NAMES: [(&str, Bug); 13] = [
    ("MT1", Bug::MT1),
    ("MT2", Bug::MT2),
    ("MT3", Bug::MT3),
    ("MT3-clause", Bug::MT3),
    ("MT3-forgets", Bug::MT3Forgets),
    ("MT4", Bug::MT4),
    ("MT5", Bug::MT5),
    ("MT6", Bug::MT6),
    ("MT7", Bug::MT7),
    ("MT8", Bug::MT8),
    ("MT9", Bug::MT9),
    ("MT10", Bug::MT10),
    ("MT11", Bug::MT11),
];

/// A set of mistakes, written as names with commas between them, or `none`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bugs(u32);

impl Bugs {
    /// Whether the mistake is made.
    pub fn has(self, bug: Bug) -> bool {
        self.0 & (1 << bug as u32) != 0
    }
}

impl FromStr for Bugs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::default());
        }
        text.split(',').try_fold(Self::default(), |Self(set), word| {
            let found = NAMES.iter().find(|(name, _)| *name == word);
            let known = || NAMES.map(|(name, _)| name).join(", ");
            let (_, bug) = found.ok_or_else(|| format!("there is no {word:?}; it is none, or some of {}", known()))?;
            Ok(Self(set | 1 << *bug as u32))
        })
    }
}

impl Display for Bugs {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = NAMES.iter().filter(|(_, bug)| self.has(*bug)).map(|(name, _)| *name).collect();
        f.write_str(if names.is_empty() { "none".to_owned() } else { names.join(",") }.as_str())
    }
}
