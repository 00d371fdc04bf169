//! Large strongly connected components, found by all workers; the rest is left to [`Components`](crate::liveness::fair::components).
//!
//! A state that is reached from a pivot, and from which the pivot is reached, is in its component. Sweeps find both sets with
//! a few bits per state; a depth-first search needs words, and only one worker can do it. But a component costs two closures here, so
//! small ones are left.
//!
//! Source: Slota, Rajamanickam, Madduri, "BFS and coloring-based parallel algorithms for strongly connected components and related
//! problems", IPDPS 2014: trim, take the largest component by a forward and a backward search, do the rest in another way.

use crate::kernel::EndCondition;
use crate::liveness::fair::arena::Arena;
use crate::liveness::graph::bits::{SharedSet, StateSet};
use crate::liveness::graph::stored::Edge;
use crate::liveness::graph::sweep::{Order, sweep, sweep_until_still};
use crate::liveness::graph::watch::Watch;

/// A component is large if it has at least one in this many of the remaining states.
const LARGE: u64 = 4;

/// States are trimmed as long as a sweep removes one in this many of those that are left.
const WORTHWHILE: u64 = 16;

/// Receives a component that has an edge inside. An error ends the analysis.
pub type Found<'f> = dyn FnMut(&StateSet, &mut Watch<'_>) -> Result<(), EndCondition> + 'f;

/// Finds large components of an arena. Returns the states of all others, and maybe some that are in no component with an edge inside.
///
/// # Errors
///
/// The analysis is to end.
pub fn take_large(arena: &Arena<'_>, watch: &mut Watch<'_>, found: &mut Found<'_>) -> Result<StateSet, EndCondition> {
    let states = arena.graph.states();
    let bytes = u64::from(states) / 8;
    watch.take(bytes)?;
    let mut rest = StateSet::new(states);
    (0..states).filter(|state| arena.contains(*state)).for_each(|state| {
        rest.insert(state);
    });
    loop {
        let mut left = rest.len();
        let shared = SharedSet::from(rest);
        trim(arena, &shared, &mut left, watch)?;
        rest = shared.finish();
        let Some(pivot) = rest.iter().nth(left as usize / 2) else { return Ok(rest) };
        watch.take(3 * bytes)?;
        let forward = reached(arena, &rest, pivot, watch)?;
        let component = reaching(arena, &forward, pivot, watch)?;
        let members = component.len();
        let has_loop = || edges(arena, pivot, &component).any(|edge| edge.to == pivot);
        if members > 1 || has_loop() {
            found(&component, watch)?;
        }
        rest.take_out(&component);
        watch.give_back(3 * bytes);
        if members < left / LARGE {
            return Ok(rest);
        }
    }
}

/// The edges of a state of the arena that can be taken for ever and stay among these states of it.
fn edges<'a>(arena: &'a Arena<'_>, from: u32, among: &'a StateSet) -> impl Iterator<Item = Edge> + 'a {
    let row = arena.graph.row(from).map(move |(to, label)| Edge { from, to, label });
    row.filter(|edge| among.contains(edge.to) && arena.keeps_event(edge))
}

/// Removes states from which no edge stays among the rest: they are in no component with an edge inside.
fn trim(arena: &Arena<'_>, rest: &SharedSet, left: &mut u64, watch: &mut Watch<'_>) -> Result<(), EndCondition> {
    let mut order = Order::Down;
    loop {
        let taken = sweep(arena.graph.states(), order, watch, |from, taken: &mut u64, watch| {
            if !rest.contains(from) {
                return Ok(());
            }
            let mut work = 1;
            let stays = arena.graph.row(from).any(|(to, label)| {
                work += 1;
                rest.contains(to) && arena.keeps_event(&Edge { from, to, label })
            });
            if !stays {
                rest.remove(from);
                *taken += 1;
            }
            watch.work(work)
        })?;
        let taken: u64 = taken.iter().sum();
        *left -= taken;
        if taken <= *left / WORTHWHILE {
            return Ok(());
        }
        order = order.turned();
    }
}

/// The states that are reached from the pivot by edges among these.
fn reached(arena: &Arena<'_>, among: &StateSet, pivot: u32, watch: &mut Watch<'_>) -> Result<StateSet, EndCondition> {
    let (found, followed) = (SharedSet::new(arena.graph.states()), SharedSet::new(arena.graph.states()));
    found.insert(pivot);
    sweep_until_still(arena.graph.states(), Order::Up, watch, |state, watch| {
        if !found.contains(state) || !followed.insert(state) {
            return Ok(false);
        }
        let (mut work, mut is_news) = (1, false);
        for edge in edges(arena, state, among) {
            work += 1;
            is_news |= found.insert(edge.to);
        }
        watch.work(work)?;
        Ok(is_news)
    })?;
    Ok(found.finish())
}

/// The states from which the pivot is reached by edges among these.
fn reaching(arena: &Arena<'_>, among: &StateSet, pivot: u32, watch: &mut Watch<'_>) -> Result<StateSet, EndCondition> {
    let found = SharedSet::new(arena.graph.states());
    found.insert(pivot);
    sweep_until_still(arena.graph.states(), Order::Down, watch, |state, watch| {
        if !among.contains(state) || found.contains(state) {
            return Ok(false);
        }
        let mut work = 1;
        let leads_on = edges(arena, state, among).any(|edge| {
            work += 1;
            found.contains(edge.to)
        });
        watch.work(work)?;
        Ok(leads_on && found.insert(state))
    })?;
    Ok(found.finish())
}
