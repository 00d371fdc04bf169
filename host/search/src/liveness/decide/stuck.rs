//! Stuck states: a promise is not kept, and no fair event is enabled.

use crate::kernel::EndCondition;
use crate::liveness::decide::dead::Prospects;
use crate::liveness::graph::label::EventClass;
use crate::liveness::graph::stored::StoredGraph;
use crate::liveness::graph::sweep::{Order, sweep};
use crate::liveness::graph::watch::Watch;

/// The stuck states of a promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stuck {
    /// Number of stuck states.
    pub states: u64,
    /// The first one from which the promise can be kept. Without one, and if no state is known to be dead, the first one whose prospects
    /// a bound leaves unknown: it breaks the promise in any case, and after a dead state it may be the same defect.
    pub first: Option<u32>,
}

/// The stuck states that one worker has found.
#[derive(Default)]
struct Found {
    states: u64,
    live: Option<u32>,
    unknown: Option<u32>,
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
    let note = |state: u32, found: &mut Found, watch: &mut Watch<'_>| {
        if is_stuck(graph, promise, state) {
            found.states += 1;
            if prospects.is_live(state) {
                found.live.get_or_insert(state);
            } else if !prospects.is_dead(state) {
                found.unknown.get_or_insert(state);
            }
        }
        watch.work(1)
    };
    let found = sweep(graph.expanded(), Order::Up, watch, note)?;
    let live = found.iter().filter_map(|found| found.live).min();
    let unknown = found.iter().filter_map(|found| found.unknown).min().filter(|_| prospects.dead() == 0);
    Ok(Stuck { states: found.iter().map(|found| found.states).sum(), first: live.or(unknown) })
}

/// Whether the promise is not kept in a state whose events are known, and no fair event is enabled there.
pub fn is_stuck(graph: &StoredGraph, promise: usize, state: u32) -> bool {
    let has_to_happen = |class: EventClass| class.is_fair() || class == EventClass::Suppressed;
    graph.owes(promise, state) && !graph.row(state).any(|(_, label)| has_to_happen(graph.class(label)))
}
