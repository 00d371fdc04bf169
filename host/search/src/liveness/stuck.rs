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
        if !graph.owes(promise, state) {
            return Ok(());
        }
        let class = |label| graph.class(label);
        let has_to_go_on =
            graph.row(state).any(|(_, label)| class(label).is_fair() || class(label) == EventClass::Suppressed);
        if !has_to_go_on {
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
