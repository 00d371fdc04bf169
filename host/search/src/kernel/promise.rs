//! Promises of progress in the report of a search.

use host_model::lts::Step;

pub use host_model::lts::Promise;
pub use host_model::trace::BreachClass;

/// The part of a finding that only a broken promise has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundBreach {
    /// How it is broken.
    pub class: BreachClass,
    /// So many events at the end of the path happen again and again; none unless it is a lasso.
    pub cycle: usize,
    /// Whether the last event of the path is a critical step: before it the promise could still be kept.
    pub is_critical: bool,
    /// Events from the state before the critical step to one where the promise is kept, as few as possible.
    pub sibling: Vec<Step>,
}

/// The result of a search for one promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromiseReport {
    /// The promise.
    pub promise: Promise,
    /// What was found out; none if the decision was ended before.
    pub decided: Option<Decided>,
}

/// All that was found out about a promise in the part of the graph that was explored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// The most certain way in which it is broken; none if no way was found.
    pub class: Option<BreachClass>,
    /// States in which it is kept.
    pub kept_states: u64,
    /// States from which it can be kept.
    pub live_states: u64,
    /// States from which it cannot.
    pub dead_states: u64,
    /// States of which neither is known, because of a bound.
    pub unknown_states: u64,
    /// States in which it is not kept, and nothing has to happen.
    pub stuck_states: u64,
    /// Steps from a live state to a dead one.
    pub critical_edges: u64,
    /// The same by event, local state before and local state after.
    pub critical_kinds: u64,
    /// Fair components: the largest parts of the graph in which an execution can stay for ever, never keep the promise, and be fair.
    pub fair_components: u64,
}
