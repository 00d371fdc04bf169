//! Promises of progress in the report of a search.

use host_model::lts::Step;

pub use host_model::lts::Promise;
pub use host_model::trace::BreachClass;

use crate::kernel::rules::Rules;

/// The part of a finding that only a broken promise has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundBreach {
    /// How it is broken.
    pub class: BreachClass,
    /// What it relies on.
    pub rules: Rules,
    /// This many events at the end of the path happen again and again; none unless it is a lasso.
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
    /// What was found out; none if the decision was ended before, or there is none.
    pub decided: Option<Decided>,
    /// What random walks have seen of it; none of other searches.
    pub sampled: Option<Sampled>,
    /// The states that were met, even without a decision; none of a search that does not keep them.
    pub met: Option<MetStates>,
}

/// The states in which a promise was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetStates {
    /// All of them.
    pub states: u64,
    /// Those in which it is kept.
    pub kept: u64,
}

/// What random walks have seen of a promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Walks that have ended, other than by a violation.
    pub walks: u64,
    /// Of these, walks at whose end it is not kept.
    pub owing: u64,
    /// Of these, walks from whose end a way was found to where it is kept.
    pub alive: u64,
    /// Walks from whose end there is no such way: proven.
    pub dead: u64,
    /// Walks from whose end none was found, and there may be one.
    pub open: u64,
    /// Walks that were not looked at, since it was known to be broken or too much work was done already.
    pub unexamined: u64,
    /// How many walks were tried in vain from the end of each that is open.
    pub trials: u64,
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
    /// States where neither is known, because of a bound.
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
