//! Closed walks: whether one is fair, and its needs otherwise.

use crate::liveness::fair::arena::Arena;
use crate::liveness::graph::label::{ActionId, Source};
use crate::liveness::graph::stored::Edge;

/// The need of a closed walk that is not fair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// The action is possible in all its states, and is not taken. The walk has to take it, or to visit a state in which it is not
    /// possible.
    Weak(ActionId),
    /// The action is possible in one of its states, and has to be taken.
    Strong(ActionId),
    /// A handler is executed in this state, and chance has to give these answers as well. They begin with those that the walk has.
    Answers(u32, u32, Vec<(u32, Source)>),
}

/// The first need of a closed walk; none if it is fair.
pub fn need(arena: &Arena<'_>, walk: &[Edge]) -> Option<Need> {
    if !arena.is_fair() {
        return None;
    }
    let graph = arena.graph;
    let mut taken: Vec<ActionId> = walk.iter().filter_map(|edge| graph.label(edge.label).action).collect();
    taken.sort_unstable();
    let is_taken = |action: &ActionId| taken.binary_search(action).is_ok();
    let mut states: Vec<u32> = walk.iter().map(|edge| edge.from).collect();
    states.sort_unstable();
    states.dedup();
    for state in &states {
        let mut strong = graph.row(*state).filter_map(|(_, label)| arena.strong_action(label));
        if let Some(action) = strong.find(|action| !is_taken(action)) {
            return Some(Need::Strong(action));
        }
    }
    let mut owed: Vec<ActionId> = arena.possible(states[0]).filter(|action| !is_taken(action)).collect();
    owed.sort_unstable();
    states[1..].iter().for_each(|state| arena.retain_possible(*state, &mut owed));
    owed.first().map(|action| Need::Weak(*action)).or_else(|| missing_answers(arena, walk))
}

/// Answers that chance has to give as well at a handler that a walk executes.
fn missing_answers(arena: &Arena<'_>, walk: &[Edge]) -> Option<Need> {
    if !arena.has_draws {
        return None;
    }
    let graph = arena.graph;
    let draw_of = |edge: &Edge| graph.label(edge.label).draw.as_ref();
    for edge in walk {
        let Some(draw) = draw_of(edge) else { continue };
        for (depth, (_, source)) in draw.answers.iter().enumerate().filter(|(_, (_, source))| *source != Source::Chosen)
        {
            let _ = source;
            let is_same_question = |row: u32, answers: &[(u32, Source)]| {
                row == draw.row && answers.len() > depth && answers[..depth] == draw.answers[..depth]
            };
            let offered = graph.row(edge.from).filter_map(|(_, label)| graph.label(label).draw.as_ref());
            let offered = offered.filter(|other| is_same_question(other.row, &other.answers));
            let mut drawn = offered.map(|other| other.answers[depth]).filter(|(_, source)| *source == Source::Drawn);
            let is_given = |answer: &(u32, Source)| {
                let mut given = walk.iter().filter(|other| other.from == edge.from).filter_map(draw_of);
                given.any(|other| is_same_question(other.row, &other.answers) && other.answers[depth] == *answer)
            };
            if let Some(answer) = drawn.find(|answer| !is_given(answer)) {
                let answers = draw.answers[..depth].iter().copied().chain([answer]).collect();
                return Some(Need::Answers(edge.from, draw.row, answers));
            }
        }
    }
    None
}

/// Whether this is a cycle that an execution which owes a promise can repeat for ever: it closes, all its edges are in the arena, and it
/// is fair. The check does not depend on how the cycle was found.
pub fn is_fair_cycle(arena: &Arena<'_>, cycle: &[Edge]) -> bool {
    let Some(last) = cycle.last() else { return false };
    let follow = |(before, edge): (&Edge, &Edge)| before.to == edge.from;
    let closes = std::iter::once(last).chain(cycle).zip(cycle).all(follow);
    let is_edge = |edge: &Edge| arena.graph.row(edge.from).any(|entry| entry == (edge.to, edge.label));
    closes && cycle.iter().all(|edge| is_edge(edge) && arena.keeps(edge)) && need(arena, cycle).is_none()
}
