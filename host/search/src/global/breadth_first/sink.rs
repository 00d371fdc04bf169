//! The receiver of a graph while it is explored.

use std::ops::Range;

use host_model::contract::NodeId;
use host_model::lts::{LocalStateId, LtsCache, MessageId, OutcomesRef, Step, Trigger};

use crate::kernel::EndCondition;

/// The first discovery of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// The start state with this index.
    Start(u32),
    /// A step from the state with this number.
    Step(u32, Step),
}

/// A state of the graph.
#[derive(Clone, Copy)]
pub struct GraphState<'g> {
    /// Its number: states are numbered from 0 on in the order of discovery.
    pub number: u32,
    /// Its first discovery.
    pub discovery: Discovery,
    /// Number of events on a shortest path to it.
    pub depth: u32,
    /// The local states, one per node.
    pub locals: &'g [LocalStateId],
    /// The messages in flight, in the order that the network gives them.
    pub in_flight: &'g [MessageId],
    /// Whether there is a finding in it.
    pub is_bad: bool,
    /// The `eventually` properties of system scope that do not hold; those of node scope are in the local states.
    pub owed: &'g [u32],
    /// The known part of the local transition system.
    pub known: &'g LtsCache,
}

/// A step from a state to a state.
#[derive(Clone, Copy)]
pub struct GraphEdge<'g> {
    /// The state that it begins in.
    pub from: u32,
    /// The step.
    pub step: Step,
    /// The local state of its node before.
    pub local: LocalStateId,
    /// The outcomes of its trigger there.
    pub row: OutcomesRef,
    /// The state that it leads to.
    pub to: u32,
    /// The known part of the local transition system.
    pub known: &'g LtsCache,
}

/// The end of the edges from a state.
#[derive(Clone, Copy)]
pub struct Expanded<'g> {
    /// The state.
    pub state: u32,
    /// The bound that left out some edges, if one did: the successors of such a state are not known.
    pub left_out: Option<EndCondition>,
    /// Whether its events were followed: not at the bound on depth.
    pub is_followed: bool,
    /// The local events that the bound on them left out.
    pub suppressed: &'g [(NodeId, Trigger)],
}

/// Receives the states and edges of a graph, from one worker and in an order that does not depend on the number of workers.
///
/// Each state comes once, before any edge to it. Then, state by state in the order of their numbers, come the edges of each state, in
/// the order of its events and their outcomes, and [the end](Self::expanded) of these edges. A search that ends early stops anywhere.
pub trait GraphSink {
    /// All states at this depth are known; none of them was expanded yet.
    fn level(&mut self, _depth: u32, _states: Range<u32>) {}

    /// A new state.
    fn state(&mut self, state: &GraphState<'_>);

    /// A step leads from a state to a state. Several steps can do so.
    fn edge(&mut self, edge: &GraphEdge<'_>);

    /// There are no more edges from a state.
    fn expanded(&mut self, _expanded: &Expanded<'_>) {}

    /// Bytes kept, which count as memory of the search.
    fn bytes(&self) -> u64 {
        0
    }
}
