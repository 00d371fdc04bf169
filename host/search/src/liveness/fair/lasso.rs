//! A fair lasso: a shortest path into a fair component, and a short fair cycle there.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::kernel::EndCondition;
use crate::kernel::rules::Rules;
use crate::liveness::fair::arena::Arena;
use crate::liveness::fair::walk::{Need, is_fair_cycle, need};
use crate::liveness::graph::label::ActionId;
use crate::liveness::graph::stored::{Edge, StoredGraph};
use crate::liveness::graph::watch::Watch;

/// Maximum number of states visited to shorten a cycle: for each two of its edges all states of the component.
const EFFORT_MAX: usize = 1 << 26;

/// A fair execution that owes a promise for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasso {
    /// A path to the first state of the cycle.
    pub prefix: Vec<Edge>,
    /// The cycle, which repeats for ever.
    pub cycle: Vec<Edge>,
}

/// The lasso into a fair component, given by its states in ascending order, whose cycle begins in one of them.
///
/// # Errors
///
/// The analysis is to end.
///
/// # Panics
///
/// The component is not fair.
pub fn lasso(arena: &Arena<'_>, members: &[u32], entry: u32, watch: &mut Watch<'_>) -> Result<Lasso, EndCondition> {
    let tour = Tour { arena, members };
    let mut cycle = tour.way(entry, entry, watch)?;
    while let Some(need) = need(arena, &cycle) {
        let detour = tour.detour(entry, &need, watch)?;
        let back = detour.last().map_or(entry, |edge| edge.to);
        cycle.extend(detour);
        if back != entry {
            cycle.extend(tour.way(back, entry, watch)?);
        }
    }
    tour.shorten(&mut cycle, watch)?;
    assert!(is_fair_cycle(arena, &cycle), "the cycle is one, and it is fair");
    Ok(Lasso { prefix: arena.graph.path_to(entry), cycle })
}

/// Whether an execution that owes a promise can repeat this cycle for ever and be fair; the events of all its states must be known.
///
/// # Errors
///
/// The analysis is to end.
pub fn is_fair_lasso(
    graph: &StoredGraph,
    promise: usize,
    rules: Rules,
    cycle: &[Edge],
    watch: &mut Watch<'_>,
) -> Result<bool, EndCondition> {
    Ok(is_fair_cycle(&Arena::new(graph, promise, rules, watch)?, cycle))
}

/// Paths inside a component.
struct Tour<'t, 'g> {
    arena: &'t Arena<'g>,
    /// Its states, in ascending order.
    members: &'t [u32],
}

impl Tour<'_, '_> {
    fn is_inside(&self, edge: &Edge) -> bool {
        self.members.binary_search(&edge.to).is_ok()
    }

    /// A shortest path of at least one edge between two states.
    fn way(&self, from: u32, to: u32, watch: &mut Watch<'_>) -> Result<Vec<Edge>, EndCondition> {
        self.search(from, &|_| false, &|edge| edge.to == to, watch)
    }

    /// A shortest path from a state that meets a need. It may be empty if the state itself does.
    fn detour(&self, from: u32, need: &Need, watch: &mut Watch<'_>) -> Result<Vec<Edge>, EndCondition> {
        let graph = self.arena.graph;
        let takes = |edge: &Edge, action: ActionId| graph.label(edge.label).action == Some(action);
        match need {
            Need::Strong(action) => self.search(from, &|_| false, &|edge| takes(edge, *action), watch),
            Need::Weak(action) => {
                let is_free = |state: u32| !self.arena.possible(state).any(|possible| possible == *action);
                self.search(from, &is_free, &|edge| takes(edge, *action), watch)
            }
            Need::Answers(state, row, answers) => {
                let gives = |edge: &Edge| {
                    let draw = graph.label(edge.label).draw.as_ref();
                    edge.from == *state
                        && draw.is_some_and(|draw| draw.row == *row && draw.answers.starts_with(answers))
                };
                self.search(from, &|_| false, &gives, watch)
            }
        }
    }

    /// A shortest path from a state, to a goal state or over a goal edge at its end.
    fn search(
        &self,
        from: u32,
        is_goal: &dyn Fn(u32) -> bool,
        is_last: &dyn Fn(&Edge) -> bool,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Edge>, EndCondition> {
        let mut found_by: FxHashMap<u32, Edge> = FxHashMap::default();
        let mut queue = VecDeque::from([from]);
        let mut edges = Vec::new();
        while let Some(state) = queue.pop_front() {
            self.arena.lasting(state, &|edge| self.is_inside(edge), &mut edges);
            watch.work(1 + edges.len() as u64)?;
            for edge in &edges {
                if is_last(edge) || is_goal(edge.to) {
                    let mut way = vec![*edge];
                    while way[way.len() - 1].from != from {
                        way.push(found_by[&way[way.len() - 1].from]);
                    }
                    way.reverse();
                    return Ok(way);
                }
                if edge.to != from && !found_by.contains_key(&edge.to) {
                    found_by.insert(edge.to, *edge);
                    queue.push_back(edge.to);
                }
            }
        }
        unreachable!("in a fair component every need can be met")
    }

    /// Replaces parts of a cycle by shorter paths as long as it stays fair.
    fn shorten(&self, cycle: &mut Vec<Edge>, watch: &mut Watch<'_>) -> Result<(), EndCondition> {
        while cycle.len().saturating_mul(cycle.len()).saturating_mul(self.members.len()) <= EFFORT_MAX {
            let Some(shorter) = self.shorter(cycle, watch)? else { return Ok(()) };
            *cycle = shorter;
        }
        Ok(())
    }

    /// A shorter fair cycle that has the same first state; none if none was found.
    fn shorter(&self, cycle: &[Edge], watch: &mut Watch<'_>) -> Result<Option<Vec<Edge>>, EndCondition> {
        for first in 0..cycle.len() {
            for last in (first..cycle.len()).rev() {
                let (from, to) = (cycle[first].from, cycle[last].to);
                let instead = if from == to { Vec::new() } else { self.way(from, to, watch)? };
                let is_shorter = instead.len() < last - first + 1;
                let shorter = [&cycle[..first], &instead, &cycle[last + 1..]].concat();
                if is_shorter && !shorter.is_empty() && need(self.arena, &shorter).is_none() {
                    return Ok(Some(shorter));
                }
            }
        }
        Ok(None)
    }
}
