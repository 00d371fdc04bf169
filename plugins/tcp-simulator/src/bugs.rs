//! What is wrong on purpose: mistakes by their names in MaceMC's report, in any combination.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Who hears of a reset does what it does on a socket error, too.
    SimTcp1,
    /// The flag that is cleared when an error has arrived is that of node 0, whichever node it is.
    SimTcp2,
    /// A node that is reset while errors are on their way both ways still expects one.
    SimTcp3,
}

/// The names of the report.
const NAMES: [(&str, Bug); 3] = [("SIMTCP1", Bug::SimTcp1), ("SIMTCP2", Bug::SimTcp2), ("SIMTCP3", Bug::SimTcp3)];

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
