//! Walks that begin where few walks have been.

use crate::kernel::schedule::Schedule;
use crate::kernel::{Report, Search, SearchBounds, SearchError};
use crate::strategy::random_walk;

/// Guided walks: archive and return.
///
/// Guarantee: every reported violation is reachable.
/// Complete: no, and it never claims to be.
/// Explores: walks as those of `walk`, each of at most 32 steps. The states on a walk are put into cells: states with the same values in
/// the fields that the protocol describes, where numbers are replaced by their rank over all nodes, and arrays by length and last
/// element; without a description, states with the same views. A cell keeps the shortest known path to one of its states. One of 16 walks
/// begins in a start state, and the others in cells that few walks have reached and begun in, deep ones first; one of four of these repeats
/// a part of the path to its cell instead, with one event later or left out, before it draws 32 events. Memory: bounded, as `walk`, and at
/// most 16,384 cells; beyond that the more frequent half is forgotten, whatever memory there is. Walks forget and continue as those
/// of `walk`; a path is stored as the numbers of its walks, so it outlives that. With goals, each state where one was reached is in a cell
/// of its own, and three of four walks from cells begin where the most goals were reached in their order; a walk ends where a property to
/// avoid holds.
/// Honours: depth (events from a start state) and local-event bounds, seed, number of walks, weights, the schedule, [`Schedule::Mix`] by
/// default, goals and properties to avoid, the wish to find deadlocks, the monitor. The result depends only on the seed and the number of
/// walks, and is the same on every machine with any number of workers. Promises of progress are examined only where no event is possible,
/// or after as many events as a walk of `walk` has.
/// Source: Ecoffet, Huizinga, Lehman, Stanley, Clune, "First return, then explore" (Go-Explore), Nature 2021; differs in: cells come
/// from descriptions instead of images, a walk returns by the state itself or by repeating its draws, and there is no score. For repeated
/// paths: Gulcan, Ozkan, Majumdar, Nagendra, "Model-guided fuzzing of distributed systems" (ModelFuzz), OOPSLA 2025; differs in: one
/// change at a time, to the paths of rare cells instead of those with new states of a model.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    let bounds = SearchBounds { schedule: search.bounds.schedule.or(Some(Schedule::Mix)), ..search.bounds };
    random_walk::run_with_archive(&Search { bounds, ..*search })
}
