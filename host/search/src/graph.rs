//! The graph of the global states: explored whole, and passed to a recorder edge by edge.

use crate::global::breadth_first::{self, Following};
use crate::kernel::rules::Recovery;
use crate::kernel::{Report, Search, SearchError};

pub use crate::global::breadth_first::sink::{Discovery, Expanded, GraphEdge, GraphSink, GraphState};

/// Explores the graph level by level, on any network, and passes its states and edges to a sink.
///
/// Honours: depth, local-event and state bounds, the number of violations that end it, the wish to find deadlocks, the monitor. The
/// graph is not reduced. The calls of the sink do not depend on the number of workers.
///
/// Memory: that of the breadth-first search of `bdfs`, and the bytes that the sink reports.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn explore(search: &Search<'_>, sink: &mut dyn GraphSink) -> Result<Report, SearchError> {
    breadth_first::explore(search, Following::All, Some(sink))
}

/// The same for the part of the graph that events lead to on which progress can rely.
///
/// # Errors
///
/// The host cannot provide an instance.
pub(crate) fn explore_reliable(
    search: &Search<'_>,
    recovery: Recovery,
    sink: &mut dyn GraphSink,
) -> Result<Report, SearchError> {
    breadth_first::explore(search, Following::Reliable(recovery), Some(sink))
}
