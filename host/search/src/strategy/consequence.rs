//! Consequence prediction.

use crate::global::breadth_first::{self, Following};
use crate::kernel::{Report, Search, SearchError};

/// Consequence prediction.
///
/// Guarantee: every reported violation is reachable, by a path that is as short as any that the search explores.
/// Complete: no. A local event or a fault is taken only where its node's local state is fresh, so all chains of one local event
/// and the messages that follow from it are explored from the start states, but not all sequences of chains. If this rule
/// left out nothing, the report says that the space is exhausted.
/// Explores: global states, breadth-first, by all workers. Memory: about 36 bytes per distinct global state, and the states that wait to
/// be expanded.
/// Honours: depth, local-event and state bounds, losses, the wish to find deadlocks, the monitor.
/// Source: Yabandeh, Knežević, Kostić, Kunčak, "CrystalBall: Predicting and preventing inconsistencies in deployed
/// distributed systems", NSDI 2009, figure 3.2 in Yabandeh's thesis; differs in: a state is marked when it is found
/// and not when it is expanded, so none is expanded twice.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    breadth_first::explore(search, Following::Fresh, None)
}
