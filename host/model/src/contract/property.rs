//! Properties over views of local states.
//!
//! A property of system scope sees of each node only its view. Local states with the same views for every property
//! form a class, so a property is evaluated once for each tuple of classes, however many system states share it.

use crate::contract::fault::Fault;

/// A view: what one property reads of one local state, interned by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ViewId(pub u32);

/// A class of local states that no property of system scope can distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub u32);

impl ClassId {
    /// The class of the states that cannot matter to any property of system scope.
    pub const NEUTRAL: Self = Self(0);

    /// The class of a node that is stuck in a fault. The execution ends there, so no property is evaluated in a state with such a node.
    pub const STUCK: Self = Self(1);
}

/// The result of evaluating a property in a local state or on a tuple of classes, or a fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Judgement {
    /// An `always` property does not hold.
    Violated {
        /// Index of the property.
        property: u32,
        /// Why, in the plugin's words.
        message: String,
    },
    /// A `sometimes` property holds.
    Witnessed {
        /// Index of the property.
        property: u32,
    },
    /// A property could not be evaluated.
    Broken {
        /// Index of the property.
        property: u32,
        /// The fault.
        fault: Fault,
    },
    /// The node is stuck in a fault.
    Fault(Fault),
    /// Nothing can happen any more, and some node is not done.
    Deadlock {
        /// Which nodes.
        message: String,
    },
}

/// The consequence of a judgement on a reachable state for a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// A `sometimes` property is reached, given by its index: the search notes that and continues.
    Witness(u32),
    /// A finding that ends the search.
    Violation,
}

impl Judgement {
    /// Its consequence for a search.
    pub fn severity(&self) -> Severity {
        match self {
            Self::Witnessed { property } => Severity::Witness(*property),
            Self::Violated { .. } | Self::Broken { .. } | Self::Fault(_) | Self::Deadlock { .. } => Severity::Violation,
        }
    }

    /// The index of the property that is violated; none of any other judgement.
    pub fn violated(&self) -> Option<u32> {
        if let Self::Violated { property, .. } = self { Some(*property) } else { None }
    }

    /// Whether a reachable state with this judgement ends the search.
    pub fn is_bad(&self) -> bool {
        match self.severity() {
            Severity::Violation => true,
            Severity::Witness(_) => false,
        }
    }
}
