//! Filters: patterns of events that a node withholds for a while, and the substitutes of these events.
//!
//! Only the node's own checker makes them. A filter never resets a node, and never loses a message that the network must deliver: see
//! [`Substitute`](crate::gate::Substitute).
//!
//! Source: Yabandeh, Knezevic, Kostic, Kuncak, "CrystalBall: predicting and preventing inconsistencies in deployed distributed
//! systems", NSDI 2009, section 3.3 ("execution steering"). Differs in: filters are a smallest set of events over all predicted paths, each
//! as coarse as is safe, and a promise that a filter makes dead counts against it.
//!
//! | module | what it holds |
//! |---|---|
//! | `table` | the filters in force: their end, their quota, the switch that turns them off |
//! | `hitting` | a smallest set of events that meets every path |
//! | `pattern` | the events that a filter matches |

mod hitting;
mod pattern;
mod table;

pub use hitting::smallest_hitting_set;
pub use pattern::{Pattern, Patterns, What};
pub use table::{FILTERS_MAX, FilterTable, Filtered, Quota};
