//! The verdict on two systems.

use host_model::contract::{NodeId, Stopped};
use host_model::lts::Step;

use crate::views::{Field, View};

/// The most views of the old system that a difference lists.
pub const ALTERNATIVES_MAX: usize = 64;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The effort.
    pub counts: Counts,
    /// The fields that no state of either system has: a comparison that asks for one says nothing.
    pub unknown_fields: Vec<Field>,
    /// Whether some state of the new and of the old system is described.
    pub are_described: [bool; 2],
}

/// Whether each sequence of views of the new system is one of the old one.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It is.
    Refines,
    /// The old system cannot show this one.
    Differs(Box<Difference>),
    /// No difference was found within the bounds.
    Undecided(Bound),
}

/// A bound on the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The number of events of the new system.
    Events(u32),
    /// Time.
    Time,
    /// Memory.
    Memory,
    /// An interrupt.
    Interrupted,
}

impl From<Stopped> for Bound {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Time => Self::Time,
            Stopped::Memory => Self::Memory,
            Stopped::Interrupted => Self::Interrupted,
        }
    }
}

/// A shortest execution of the new system whose views the old one cannot show. Its last event is the one at which they part.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The number of the start where it begins.
    pub start: usize,
    /// Its events; none if the old system has no start with such a view.
    pub path: Vec<Step>,
    /// The views of all nodes at its end.
    pub views: Vec<View>,
    /// The node whose view the last event has changed, and the view before.
    pub before: Option<(NodeId, View)>,
    /// The number of states in which the old system can be before the last event.
    pub old_states: usize,
    /// The next views that the old system can show instead, by node; at the start, those of its starts. At most [`ALTERNATIVES_MAX`].
    pub alternatives: Vec<(NodeId, View)>,
}

/// The effort of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Global states of the new system.
    pub new_states: u64,
    /// Global states of the old system.
    pub old_states: u64,
    /// Sets of states in which the old system can be after some sequence of views.
    pub sets: u64,
    /// States of the new system, each with such a set.
    pub pairs: u64,
    /// The number of events up to which all executions of the new system were compared.
    pub events: u32,
}
