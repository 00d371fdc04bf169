//! Critical steps: the edges from live states to dead ones.

use std::collections::BTreeMap;

use crate::kernel::EndCondition;
use crate::liveness::decide::dead::Prospects;
use crate::liveness::graph::rows::LabelId;
use crate::liveness::graph::stored::{Edge, StoredGraph};
use crate::liveness::graph::sweep::{Order, sweep};
use crate::liveness::graph::watch::Watch;

/// Critical steps of one kind: the same event in the same local state with the same outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Critical {
    /// The first edge: no critical step of this kind is reached by fewer events.
    pub first: Edge,
    /// Number of edges of this kind.
    pub edges: u64,
    /// Whether it is a fault.
    pub is_fault: bool,
}

/// All kinds of critical steps, in the order of the number of events that lead to them.
///
/// # Errors
///
/// The analysis is to end.
pub fn critical_steps(
    graph: &StoredGraph,
    prospects: &Prospects,
    watch: &mut Watch<'_>,
) -> Result<Vec<Critical>, EndCondition> {
    if prospects.dead() == 0 {
        return Ok(Vec::new());
    }
    let note = |from: u32, kinds: &mut BTreeMap<LabelId, Critical>, watch: &mut Watch<'_>| {
        if !prospects.is_live(from) {
            return Ok(());
        }
        let mut edges = 1;
        for (to, label) in graph.row(from) {
            edges += 1;
            if prospects.is_dead(to) {
                let is_fault = graph.class(label).is_fault();
                add(kinds, Critical { first: Edge { from, to, label }, edges: 1, is_fault });
            }
        }
        watch.work(edges)
    };
    let mut kinds = BTreeMap::new();
    for some in sweep(graph.expanded(), Order::Up, watch, note)? {
        some.into_values().for_each(|kind| add(&mut kinds, kind));
    }
    let mut kinds: Vec<Critical> = kinds.into_values().collect();
    kinds.sort_by_key(|kind| kind.first);
    Ok(kinds)
}

fn add(kinds: &mut BTreeMap<LabelId, Critical>, more: Critical) {
    let kind = kinds.entry(more.first.label).or_insert(Critical { edges: 0, ..more });
    kind.first = kind.first.min(more.first);
    kind.edges += more.edges;
}
