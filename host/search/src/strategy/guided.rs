//! Walks that begin where few walks have been.

use crate::kernel::schedule::Schedule;
use crate::kernel::{Report, Search, SearchBounds, SearchError};
use crate::strategy::random_walk;

/// Guided walks: archive and return.
///
/// Guarantee: every reported violation is reachable.
/// Complete: no, and it never claims to be.
/// Explores: walks as those of `walk`, each of at most 32 steps. What a walk comes through is put into cells: states that are
/// the same in the fields that the protocol describes, numbers replaced by their rank over all nodes, arrays by their length and last
/// element; without a description, in the views of the properties. A cell keeps the shortest way known to one of its states. One of 16
/// walks begins in a start state, and the others in cells that few walks have reached and begun in, deep ones first. Memory: bounded, as
/// `walk`, and at most 16,384 cells; beyond that the more frequent half is forgotten, whatever memory there is. Walks forget and continue as
/// those of `walk`; a way is the numbers of its walks, so it outlives that. Where goals are named, where one was reached is a cell of its own,
/// and three of four walks from cells begin where the most were reached in their order; where a property that is to be avoided holds, a walk
/// ends.
/// Honours: depth (events from a start state) and local-event bounds, seed, number of walks, weights, the schedule, which is
/// [`Schedule::Mix`] unless told otherwise, goals and properties to avoid, the wish to find deadlocks, the monitor. The result depends on the seed and the number of walks
/// only, and is the same on every machine with any number of workers. Promises of progress are examined only where nothing can happen, or
/// after as many events as a walk of `walk` has.
/// Source: Ecoffet, Huizinga, Lehman, Stanley, Clune, "First return, then explore" (Go-Explore), Nature 2021; differs in: cells come
/// from descriptions instead of images, a walk returns by the state itself or by repeating its draws, and there is no score.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    let bounds = SearchBounds { schedule: search.bounds.schedule.or(Some(Schedule::Mix)), ..search.bounds };
    random_walk::run_with_archive(&Search { bounds, ..*search })
}
