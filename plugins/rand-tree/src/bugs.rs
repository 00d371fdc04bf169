//! Deliberate mistakes by their names in the papers, in any combination.

use guest_sdk::{Mistake, Mistakes};

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Where the root is asked to join by a smaller node, it does not note that node as a peer.
    RT1,
    /// The root has no parent, in place of itself.
    RT2,
    /// The recovery timer is set again only where it fires in a joined node.
    RT3,
    /// NewRoot is believed from any sender.
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

/// The mistakes of a run.
pub type Bugs = Mistakes<Bug>;

impl Mistake for Bug {
    /// The names of the papers. RT5 to RT9 are five places of one mistake, RT16 and RT17 one mistake, as are S1 and S2.
    const NAMES: &'static [(&'static str, Self)] = &[
        ("RT1", Self::RT1),
        ("RT2", Self::RT2),
        ("RT3", Self::RT3),
        ("RT4", Self::RT4),
        ("RT5", Self::RT5),
        ("RT6", Self::RT6),
        ("RT7", Self::RT7),
        ("RT8", Self::RT8),
        ("RT9", Self::RT9),
        ("RT10", Self::RT10),
        ("RT11", Self::RT11),
        ("RT12", Self::RT12),
        ("RT13", Self::RT13),
        ("RT14", Self::RT14),
        ("RT15", Self::RT15),
        ("RT16", Self::RT16),
        ("RT17", Self::RT16),
        ("S1", Self::S1),
        ("S2", Self::S1),
        ("S3", Self::S3),
        ("S4", Self::S4),
        ("S5", Self::S5),
        ("S6", Self::S6),
        ("S7", Self::S7),
    ];
}
