//! Filters: the events of one node that are not to happen for a while, and what takes their place.
//!
//! Only the node's own checker makes them. A filter never resets a node and never loses what the network has to deliver: see
//! [`Substitute`](crate::gate::Substitute).
//!
//! Source: Yabandeh, Knezevic, Kostic, Kuncak, "CrystalBall: predicting and preventing inconsistencies in deployed distributed
//! systems", NSDI 2009, section 3.3 ("execution steering"). Differs in: a smallest set of events is looked for over all predicted paths, a
//! filter is as coarse as is safe, and what is no longer possible under a filter counts as well.
//!
//! | module | what it holds |
//! |---|---|
//! | `table` | the filters that are in force: their end, their quota, the switch that ends them all |
//! | `hitting` | a smallest set of events that meets every path |
//! | `pattern` | which events a filter matches |

mod hitting;
mod pattern;
mod table;

pub use hitting::smallest_hitting_set;
pub use pattern::{Pattern, Patterns, What};
pub use table::{FILTERS_MAX, FilterTable, Filtered, Quota};
