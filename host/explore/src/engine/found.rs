//! A way that a search shows.

use host_inspect::page::Story;
use host_model::trace::Trace;

/// A way that becomes a branch.
pub(super) struct Found {
    /// The number of its kind, if only the shortest way of a kind is shown.
    pub(super) kind: Option<usize>,
    /// The finding in words.
    pub(super) text: String,
    /// The way.
    pub(super) trace: Trace,
    /// The same, step by step.
    pub(super) story: Story,
    /// The number of seeds that end so.
    pub(super) seeds: Option<u64>,
}
