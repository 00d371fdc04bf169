//! Fair components: parts of the graph in which a fair execution can stay for ever, taking every edge again and again.
//!
//! With weak fairness, an action has to happen only where it stays possible. Then a strongly connected component is fair or no part of it
//! is: an action that is possible in all its states and taken on none of its edges is so in each part. With strong fairness, an action has
//! to happen if it is possible again and again. Then the states are removed in which such an action is possible that no edge inside takes,
//! and the rest is analysed again, as for Streett automata. Chance removes edges instead, see `chance`.
//!
//! Source: Emerson, Lei, "Modalities for model checking: branching time logic strikes back", Science of Computer Programming 1987, for
//! fairness by components; de Alfaro, "Formal verification of probabilistic systems", 1997, for chance (end components).

use crate::kernel::EndCondition;
use crate::liveness::fair::arena::Arena;
use crate::liveness::fair::components::{Component, Components};
use crate::liveness::fair::large::take_large;
use crate::liveness::graph::label::ActionId;
use crate::liveness::graph::stored::Edge;
use crate::liveness::graph::sweep::{Order, sweep};
use crate::liveness::graph::watch::Watch;

/// Whether an edge stays inside a part of the graph.
type Inside<'i> = dyn Fn(&Edge) -> bool + Sync + 'i;

/// Receives the states of each fair component.
pub type Found<'f> = dyn FnMut(&[u32]) + 'f;

/// Finds all maximal fair components of an arena.
///
/// # Errors
///
/// The analysis is to end.
pub fn fair_components(arena: &Arena<'_>, watch: &mut Watch<'_>, found: &mut Found<'_>) -> Result<(), EndCondition> {
    if arena.has_draws || arena.has_strong() {
        return refine(arena, watch, found);
    }
    let mut hear = |members: &[u32], inside: &Inside<'_>, watch: &mut Watch<'_>| {
        if !arena.is_fair() || is_weakly_fair(arena, members, inside, watch)? {
            found(members);
        }
        Ok(())
    };
    let rest = take_large(arena, watch, &mut |component, watch| {
        let bytes = component.len() * size_of::<u32>() as u64;
        watch.take(bytes)?;
        let members: Vec<u32> = component.iter().collect();
        hear(&members, &|edge| component.contains(edge.to), watch)?;
        watch.give_back(bytes);
        Ok(())
    })?;
    if rest.len() == 0 {
        return Ok(());
    }
    let keeps = |edge: &Edge| rest.contains(edge.to) && arena.keeps_event(edge);
    Components::new(arena.graph, watch)?.find(rest.iter(), &keeps, watch, &mut |component, watch| {
        hear(component.members, &|edge| component.contains(edge.to), watch)
    })
}

/// Whether each action that is possible in all of these states is taken on an edge inside.
fn is_weakly_fair(
    arena: &Arena<'_>,
    members: &[u32],
    inside: &Inside<'_>,
    watch: &mut Watch<'_>,
) -> Result<bool, EndCondition> {
    let owed = possible_in_all(arena, members, watch)?;
    if owed.is_empty() {
        return Ok(true);
    }
    let note = |place: u32, (left, edges): &mut (Option<Vec<ActionId>>, Vec<Edge>), watch: &mut Watch<'_>| {
        let left = left.get_or_insert_with(|| owed.clone());
        if left.is_empty() {
            return Ok(());
        }
        arena.lasting(members[place as usize], inside, edges);
        let is_taken =
            |action: &ActionId| edges.iter().any(|edge| arena.graph.label(edge.label).action == Some(*action));
        left.retain(|action| !is_taken(action));
        watch.work(1 + edges.len() as u64)
    };
    let left = sweep(members.len() as u32, Order::Up, watch, note)?.into_iter().filter_map(|(left, _)| left);
    Ok(in_all(left).is_empty())
}

/// The actions that are possible in all of these states; there must be at least one state.
fn possible_in_all(arena: &Arena<'_>, members: &[u32], watch: &mut Watch<'_>) -> Result<Vec<ActionId>, EndCondition> {
    let note = |place: u32, left: &mut Option<Vec<ActionId>>, watch: &mut Watch<'_>| {
        let left = left.get_or_insert_with(|| arena.possible(members[0]).collect());
        arena.retain_possible(members[place as usize], left);
        watch.work(1 + left.len() as u64)
    };
    Ok(in_all(sweep(members.len() as u32, Order::Up, watch, note)?.into_iter().flatten()))
}

/// The actions in all of these lists; there must be at least one list.
fn in_all(lists: impl Iterator<Item = Vec<ActionId>>) -> Vec<ActionId> {
    let both = |mut one: Vec<ActionId>, other: Vec<ActionId>| {
        one.retain(|action| other.contains(action));
        one
    };
    lists.reduce(both).expect("some worker has looked at something")
}

/// No region.
const NOWHERE: u32 = 0;

/// Regions that are still to be analysed.
struct Regions {
    /// The region of each state.
    of: Vec<u32>,
    /// The number of regions so far.
    count: u32,
    waiting: Vec<Vec<u32>>,
}

impl Regions {
    fn add(&mut self, members: Vec<u32>) {
        self.count += 1;
        members.iter().for_each(|state| self.of[*state as usize] = self.count);
        self.waiting.push(members);
    }
}

/// The same with strong fairness or chance: a region is refined until it is one component by edges that can be taken for ever, and
/// no state has to be removed.
fn refine(arena: &Arena<'_>, watch: &mut Watch<'_>, found: &mut Found<'_>) -> Result<(), EndCondition> {
    let states = arena.graph.states();
    watch.take(u64::from(states) * 2 * size_of::<u32>() as u64)?;
    let mut regions = Regions { of: vec![NOWHERE; states as usize], count: NOWHERE, waiting: Vec::new() };
    regions.add((0..states).filter(|state| arena.contains(*state)).collect());
    let mut components = Components::new(arena.graph, watch)?;
    while let Some(region) = regions.waiting.pop() {
        let Some(number) = region.first().map(|state| regions.of[*state as usize]) else { continue };
        components.forget(&region);
        let is_inside = |edge: &Edge| regions.of[edge.to as usize] == number;
        let keeps = |edge: &Edge| is_inside(edge) && arena.keeps(edge) && lasts(arena, edge, &is_inside);
        let (mut parts, mut is_whole): (Vec<Vec<u32>>, bool) = (Vec::new(), false);
        components.find(region.iter().copied(), &keeps, watch, &mut |component: Component<'_>, _| {
            is_whole = component.members.len() == region.len();
            parts.push(component.members.to_vec());
            Ok(())
        })?;
        if !is_whole {
            parts.into_iter().for_each(|part| regions.add(part));
            continue;
        }
        let rest = without_starved(arena, &region, &is_inside, watch)?;
        if rest.len() < region.len() {
            region.iter().for_each(|state| regions.of[*state as usize] = NOWHERE);
            regions.add(rest);
        } else if is_weakly_fair(arena, &region, &is_inside, watch)? {
            let mut region = region;
            region.sort_unstable();
            found(&region);
        }
    }
    Ok(())
}

/// Whether chance lets an edge be taken for ever.
fn lasts(arena: &Arena<'_>, edge: &Edge, inside: &dyn Fn(&Edge) -> bool) -> bool {
    if !arena.has_draws || arena.graph.label(edge.label).draw.is_none() {
        return true;
    }
    let mut edges = Vec::new();
    arena.lasting(edge.from, inside, &mut edges);
    edges.contains(edge)
}

/// These states without those in which an action is possible that has to happen if it is possible again and again, but that no edge
/// inside takes.
fn without_starved(
    arena: &Arena<'_>,
    members: &[u32],
    inside: &dyn Fn(&Edge) -> bool,
    watch: &mut Watch<'_>,
) -> Result<Vec<u32>, EndCondition> {
    if !arena.has_strong() {
        return Ok(members.to_vec());
    }
    let (mut taken, mut edges): (Vec<ActionId>, Vec<Edge>) = (Vec::new(), Vec::new());
    for state in members {
        arena.lasting(*state, inside, &mut edges);
        taken.extend(edges.iter().filter_map(|edge| arena.strong_action(edge.label)));
        watch.work(1 + edges.len() as u64)?;
        if taken.len() > 1 << 16 {
            taken.sort_unstable();
            taken.dedup();
        }
    }
    taken.sort_unstable();
    taken.dedup();
    let is_starved = |state: &u32| {
        let mut actions = arena.graph.row(*state).filter_map(|(_, label)| arena.strong_action(label));
        actions.any(|action| taken.binary_search(&action).is_err())
    };
    Ok(members.iter().copied().filter(|state| !is_starved(state)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_worker_has_left_is_left() {
        let lists = |lists: &[&[ActionId]]| in_all(lists.iter().map(|list| list.to_vec()));
        assert_eq!(lists(&[&[3, 1]]), [3, 1]);
        assert_eq!(lists(&[&[1, 2, 4], &[2, 3], &[4, 2]]), [2]);
        assert_eq!(lists(&[&[1], &[]]), [0; 0]);
    }
}
