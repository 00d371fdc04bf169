//! What is wrong on purpose: mistakes by their names in MaceMC's report, in any combination.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Who passes a Join on asks for all rows again.
    Pastry1,
    /// Nodes whose connections break are forgotten.
    Pastry2,
    /// A distance of more than half of the ring counts as a small one.
    Pastry3,
    /// A Join can be passed to the node that joins.
    Pastry4,
    /// A node that has not joined does not say so to whoever passes it a Join.
    Pastry5,
}

/// The names of the report.
const NAMES: [(&str, Bug); 5] = [
    ("PASTRY1", Bug::Pastry1),
    ("PASTRY2", Bug::Pastry2),
    ("PASTRY3", Bug::Pastry3),
    ("PASTRY4", Bug::Pastry4),
    ("PASTRY5", Bug::Pastry5),
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
