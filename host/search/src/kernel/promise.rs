//! Promises of progress in the report of a search.

use host_model::lts::Step;

pub use host_model::lts::Promise;
pub use host_model::trace::BreachClass;

use crate::kernel::rules::Rules;

/// The part of a finding that only a broken promise has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundBreach {
    /// The class of the breach.
    pub class: BreachClass,
    /// The assumptions of the promise.
    pub rules: Rules,
    /// The number of events at the end of the path that repeat for ever; none unless it is a lasso.
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
    /// The decision; none if it was ended early, or if there is none.
    pub decided: Option<Decided>,
    /// The results of random walks; none for other searches.
    pub sampled: Option<Sampled>,
    /// The states that were met, even without a decision; none for a search that does not keep them.
    pub met: Option<MetStates>,
}

/// The states in which a promise was evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetStates {
    /// All states.
    pub states: u64,
    /// States in which it is kept.
    pub kept: u64,
}

/// The results of random walks for a promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Walks that have ended, other than by a violation.
    pub walks: u64,
    /// Of these, walks at whose end it is not kept.
    pub owing: u64,
    /// Of these, walks from whose end a path was found to a state in which it is kept.
    pub alive: u64,
    /// Walks from whose end there is no such path: proven.
    pub dead: u64,
    /// Walks from whose end no path was found, though there may be one.
    pub open: u64,
    /// Walks that were not examined, since the promise was known to be broken or too much work was done already.
    pub unexamined: u64,
    /// The number of walks tried in vain from the end of each open walk.
    pub trials: u64,
}

/// All facts about a promise in the explored part of the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// The most certain class of breach; none if no breach was found.
    pub class: Option<BreachClass>,
    /// States in which it is kept.
    pub kept_states: u64,
    /// States from which it can be kept.
    pub live_states: u64,
    /// States from which it cannot.
    pub dead_states: u64,
    /// States where neither is known, because of a bound.
    pub unknown_states: u64,
    /// States in which it is not kept, and no fair event is enabled.
    pub stuck_states: u64,
    /// Steps from a live state to a dead one.
    pub critical_edges: u64,
    /// Kinds of critical edges: those with the same event, local state before and local state after count once.
    pub critical_kinds: u64,
    /// Fair components: the largest parts of the graph in which a fair execution can stay for ever without keeping the promise.
    pub fair_components: u64,
}
