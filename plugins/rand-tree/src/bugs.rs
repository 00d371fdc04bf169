//! What is wrong on purpose: mistakes by their names in the papers, in any combination.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Where the root is asked to join by a smaller node, it does not note that node as a peer.
    RT1,
    /// The root has no parent, in place of itself.
    RT2,
    /// The recovery timer is set again only where it fires in a joined node.
    RT3,
    /// NewRoot is believed whoever sends it.
    RT4,
    /// As RT1, where the parent that died was the root.
    RT5,
    /// As RT1, where the parent that died was not the root.
    RT6,
    /// As RT1, on Probe.
    RT7,
    /// As RT1, on ProbeJoin.
    RT8,
    /// As RT1, on Rejoin.
    RT9,
    /// Remove is ignored by a node that is joining.
    RT10,
    /// A node that has not begun to join takes Probe.
    RT11,
    /// A Remove that the transport refuses is forgotten.
    RT12,
    /// A node that has not begun to join ignores JoinReply, and a parent does not answer the Join of a child.
    RT13,
    /// A node that has not begun to join takes ProbeJoin.
    RT14,
    /// A node that joins again keeps its old root, also when its join timer fires.
    RT15,
    /// A node that joins again keeps its old root until its join timer fires.
    RT16,
    /// Siblings are installed by UpdateSiblings without a look at the children.
    S1,
    /// Siblings are installed by JoinReply without a look at the children.
    S3,
    /// A child is accepted without a look at the siblings.
    S4,
    /// A root is installed without a look at children and siblings.
    S5,
    /// A node that becomes root keeps its siblings.
    S6,
    /// The recovery timer is not set where there are no peers.
    S7,
}

/// The names of the papers. RT5 to RT9 are five places of one mistake, RT16 and RT17 one mistake, as are S1 and S2.
const NAMES: [(&str, Bug); 24] = [
    ("RT1", Bug::RT1),
    ("RT2", Bug::RT2),
    ("RT3", Bug::RT3),
    ("RT4", Bug::RT4),
    ("RT5", Bug::RT5),
    ("RT6", Bug::RT6),
    ("RT7", Bug::RT7),
    ("RT8", Bug::RT8),
    ("RT9", Bug::RT9),
    ("RT10", Bug::RT10),
    ("RT11", Bug::RT11),
    ("RT12", Bug::RT12),
    ("RT13", Bug::RT13),
    ("RT14", Bug::RT14),
    ("RT15", Bug::RT15),
    ("RT16", Bug::RT16),
    ("RT17", Bug::RT16),
    ("S1", Bug::S1),
    ("S2", Bug::S1),
    ("S3", Bug::S3),
    ("S4", Bug::S4),
    ("S5", Bug::S5),
    ("S6", Bug::S6),
    ("S7", Bug::S7),
];

/// A set of mistakes, written as names with commas between them, or `none`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bugs(u32);

impl Bugs {
    /// Whether the mistake is made.
    pub fn has(self, bug: Bug) -> bool {
        self.0 & (1 << bug as u32) != 0
    }

    /// Whether any of them is made.
    pub fn any(self, bugs: &[Bug]) -> bool {
        bugs.iter().any(|bug| self.has(*bug))
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
