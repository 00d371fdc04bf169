//! Stuck states: a promise is not kept, and nothing is possible that has to happen.

use crate::kernel::EndCondition;
use crate::liveness::dead::Prospects;
use crate::liveness::graph::StoredGraph;
use crate::liveness::label::EventClass;
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
    let mut found = Stuck::default();
    for state in (0..graph.expanded()).filter(|state| graph.owes(promise, *state)) {
        let class = |label| graph.class(label);
        let has_to_go_on =
            graph.row(state).any(|(_, label)| class(label).is_fair() || class(label) == EventClass::Suppressed);
        watch.work(1)?;
        if !has_to_go_on {
            found.states += 1;
            if found.first.is_none() && !prospects.is_dead(state) {
                found.first = Some(state);
            }
        }
    }
    Ok(found)
}
