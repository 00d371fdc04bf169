//! The receiver of a graph while it is explored.

use std::ops::Range;

use host_model::lts::{LocalStateId, MessageId, Step};

use crate::kernel::EndCondition;

/// How a state was met first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// It is the start state with this index.
    Start(u32),
    /// By a step from the state with this number.
    Step(u32, Step),
}

/// A state of the graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphState<'g> {
    /// Its number: states are numbered from 0 on in the order of discovery.
    pub number: u32,
    /// How it was met first.
    pub discovery: Discovery,
    /// Number of events on a shortest path to it.
    pub depth: u32,
    /// The local states, one per node.
    pub locals: &'g [LocalStateId],
    /// The messages in flight, in the order that the network gives them.
    pub in_flight: &'g [MessageId],
    /// Whether something bad is said about it.
    pub is_bad: bool,
}

/// Hears of the states and edges of a graph, by one worker and in an order that does not depend on the number of workers.
///
/// A state is heard of once, before any edge to it. Then come, state by state in the order of their numbers, the edges of each, in
/// the order of its events and their outcomes, and that these were [all](Self::expanded). A search that ends early stops anywhere.
pub trait GraphSink {
    /// All states at this depth are known; none of them was expanded yet.
    fn level(&mut self, _depth: u32, _states: Range<u32>) {}

    /// A new state.
    fn state(&mut self, state: &GraphState<'_>);

    /// A step leads from a state to a state. Several steps can do so.
    fn edge(&mut self, from: u32, step: Step, to: u32);

    /// There are no more edges from a state. If a bound left some out, it is given: what follows such a state is not known.
    fn expanded(&mut self, _state: u32, _left_out: Option<EndCondition>) {}

    /// Bytes kept, which count as memory of the search.
    fn bytes(&self) -> u64 {
        0
    }
}
