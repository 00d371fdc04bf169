//! Stuck states: a promise is not kept, and nothing is possible that has to happen.

use crate::kernel::EndCondition;
use crate::liveness::dead::Prospects;
use crate::liveness::graph::StoredGraph;
use crate::liveness::label::EventClass;
use crate::liveness::sweep::{Order, sweep};
use crate::liveness::watch::Watch;

/// The stuck states of a promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stuck {
    /// How many there are.
    pub states: u64,
    /// The first one that is not dead as well.
    pub first: Option<u32>,
}

/// Finds the stuck states.
///
/// # Errors
///
/// The analysis is to end.
pub fn stuck(
    graph: &StoredGraph,
    promise: usize,
    prospects: &Prospects,
    watch: &mut Watch<'_>,
) -> Result<Stuck, EndCondition> {
    let note = |state: u32, found: &mut Stuck, watch: &mut Watch<'_>| {
        if is_stuck(graph, promise, state) {
            found.states += 1;
            if found.first.is_none() && !prospects.is_dead(state) {
                found.first = Some(state);
            }
        }
        watch.work(1)
    };
    let found = sweep(graph.expanded(), Order::Up, watch, note)?;
    Ok(Stuck {
        states: found.iter().map(|found| found.states).sum(),
        first: found.iter().filter_map(|found| found.first).min(),
    })
}

/// Whether the promise is not kept in a state whose events are known, and nothing is possible there that has to happen.
pub fn is_stuck(graph: &StoredGraph, promise: usize, state: u32) -> bool {
    let has_to_happen = |class: EventClass| class.is_fair() || class == EventClass::Suppressed;
    graph.owes(promise, state) && !graph.row(state).any(|(_, label)| has_to_happen(graph.class(label)))
}
