//! Dead states: those from which no reliable event leads to a state that keeps the promise.
//!
//! The states that can still keep it are found backwards without reverse edges: sweeps over the rows, first in the reverse order of
//! discovery, until a sweep finds nothing new. Most edges lead forward in the order of discovery, so a few sweeps suffice.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::kernel::rules::{Recovery, Rules};
use crate::kernel::{EndCondition, table_bytes};
use crate::liveness::graph::bits::{SharedSet, StateSet};
use crate::liveness::graph::label::EventClass;
use crate::liveness::graph::rows::LabelId;
use crate::liveness::graph::stored::{Edge, StoredGraph};
use crate::liveness::graph::sweep::{Order, sweep_until_still};
use crate::liveness::graph::watch::Watch;

/// A distance that is not known to be finite.
pub const FAR: u32 = u32::MAX;

/// The prospects of each state: can it still keep the promise?
#[derive(Clone, Debug)]
pub struct Prospects {
    /// States from which a state is reached that keeps the promise.
    live: StateSet,
    /// States that reach such a state, or one with unknown successors; none if all successors are known.
    open: Option<StateSet>,
    states: u32,
}

impl Prospects {
    /// Whether the promise can still be kept.
    #[inline]
    pub fn is_live(&self, state: u32) -> bool {
        self.live.contains(state)
    }

    /// Whether the promise cannot be kept any more, whatever the unexplored part contains.
    #[inline]
    pub fn is_dead(&self, state: u32) -> bool {
        !self.open.as_ref().unwrap_or(&self.live).contains(state)
    }

    /// Number of live states.
    pub fn live(&self) -> u64 {
        self.live.len()
    }

    /// Number of dead states.
    pub fn dead(&self) -> u64 {
        u64::from(self.states) - self.open.as_ref().unwrap_or(&self.live).len()
    }

    /// Number of states that are not known to be live or dead.
    pub fn unknown(&self) -> u64 {
        u64::from(self.states) - self.live() - self.dead()
    }
}

/// Whether progress can rely on an event.
#[inline]
fn is_progress(class: EventClass, recovery: Recovery) -> bool {
    match class {
        EventClass::Delivery | EventClass::Timer | EventClass::Internal | EventClass::Free => true,
        EventClass::Reset => recovery == Recovery::Resets,
        EventClass::Loss | EventClass::Fault | EventClass::Suppressed => false,
    }
}

/// Computes the prospects of each state.
///
/// # Errors
///
/// The analysis is to end.
pub fn prospects(
    graph: &StoredGraph,
    promise: usize,
    rules: Rules,
    watch: &mut Watch<'_>,
) -> Result<Prospects, EndCondition> {
    let states = graph.states();
    let live = close_backwards(graph, rules.recovery, watch, |state| !graph.owes(promise, state))?;
    let open = match graph.has_truncated() {
        true => {
            let is_open = |state| live.contains(state) || graph.is_truncated(state);
            Some(close_backwards(graph, rules.recovery, watch, is_open)?)
        }
        false => None,
    };
    Ok(Prospects { live, open, states })
}

/// All states from which one of these is reached.
fn close_backwards(
    graph: &StoredGraph,
    recovery: Recovery,
    watch: &mut Watch<'_>,
    is_goal: impl Fn(u32) -> bool,
) -> Result<StateSet, EndCondition> {
    watch.take(u64::from(graph.states()) / 8)?;
    let mut goals = StateSet::new(graph.states());
    for state in (0..graph.states()).filter(|state| is_goal(*state)) {
        goals.insert(state);
    }
    let found = SharedSet::from(goals);
    sweep_until_still(graph.expanded(), Order::Down, watch, |state, watch| {
        if found.contains(state) {
            return Ok(false);
        }
        let mut edges = 1;
        let leads_on = graph.row(state).any(|(to, label)| {
            edges += 1;
            found.contains(to) && is_progress(graph.class(label), recovery)
        });
        watch.work(edges)?;
        Ok(leads_on && found.insert(state))
    })?;
    Ok(found.finish())
}

/// The number of reliable events from each state to one that keeps the promise; [`FAR`] if there is no such path.
///
/// # Errors
///
/// The analysis is to end.
pub fn distances(
    graph: &StoredGraph,
    promise: usize,
    recovery: Recovery,
    watch: &mut Watch<'_>,
) -> Result<Vec<u32>, EndCondition> {
    watch.take(u64::from(graph.states()) * 4)?;
    let at_goal = |state| if graph.owes(promise, state) { FAR } else { 0 };
    let mut distances: Vec<u32> = (0..graph.states()).map(at_goal).collect();
    loop {
        let mut has_changed = false;
        for state in (0..graph.expanded()).rev() {
            let row = graph.row(state).filter(|(_, label)| is_progress(graph.class(*label), recovery));
            let mut edges = 1;
            let next = row.map(|(to, _)| {
                edges += 1;
                distances[to as usize].saturating_add(1)
            });
            let next = next.min().unwrap_or(FAR);
            watch.work(edges)?;
            if next < distances[state as usize] {
                distances[state as usize] = next;
                has_changed = true;
            }
        }
        if !has_changed {
            return Ok(distances);
        }
    }
}

/// A shortest path by reliable events from a state to one that keeps the promise; none if there is no such path.
///
/// # Errors
///
/// The analysis is to end.
pub fn way_to_live(
    graph: &StoredGraph,
    promise: usize,
    from: u32,
    recovery: Recovery,
    watch: &mut Watch<'_>,
) -> Result<Option<Vec<Edge>>, EndCondition> {
    let keeps = |edge: &Edge| is_progress(graph.class(edge.label), recovery);
    shortest_path(graph, from, watch, &keeps, &|state| !graph.owes(promise, state))
}

/// A shortest path over some edges from a state to a goal; none if there is no such path.
///
/// # Errors
///
/// The analysis is to end.
pub fn shortest_path(
    graph: &StoredGraph,
    from: u32,
    watch: &mut Watch<'_>,
    keeps: &dyn Fn(&Edge) -> bool,
    is_goal: &dyn Fn(u32) -> bool,
) -> Result<Option<Vec<Edge>>, EndCondition> {
    let mut found_by: FxHashMap<u32, (u32, LabelId)> = FxHashMap::default();
    let mut queue = VecDeque::from([from]);
    let mut taken = 0;
    while let Some(state) = queue.pop_front() {
        if is_goal(state) {
            watch.give_back(taken);
            return Ok(Some(path_back(&found_by, from, state)));
        }
        let edges = graph.row(state).map(|(to, label)| Edge { from: state, to, label });
        let mut new = 0;
        for edge in edges.filter(keeps) {
            if edge.to != from && !found_by.contains_key(&edge.to) {
                found_by.insert(edge.to, (state, edge.label));
                queue.push_back(edge.to);
                new += 1;
            }
        }
        watch.work(1 + new)?;
        let bytes = (table_bytes::<(u32, (u32, LabelId))>(found_by.capacity()) + queue.capacity() * 4) as u64;
        if bytes > taken {
            watch.take(bytes - taken)?;
            taken = bytes;
        }
    }
    watch.give_back(taken);
    Ok(None)
}

fn path_back(found_by: &FxHashMap<u32, (u32, LabelId)>, start: u32, goal: u32) -> Vec<Edge> {
    let mut path = Vec::new();
    let mut to = goal;
    while to != start {
        let (from, label) = found_by[&to];
        path.push(Edge { from, to, label });
        to = from;
    }
    path.reverse();
    path
}
