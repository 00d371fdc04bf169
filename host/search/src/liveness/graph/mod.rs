//! The graph for deciding promises: recorded, stored and swept.
//!
//! | module | what it holds |
//! |---|---|
//! | `record` | records a graph while it is explored |
//! | `stored` | a graph for analysis |
//! | `rows` | the edges of a large graph in few bytes |
//! | `parents` | the state from which each state was found, in next to no memory |
//! | `label` | labels of edges: the role of an event for promises of progress |
//! | `sweep` | sweeps over all states by all workers |
//! | `watch` | asks during an analysis whether to continue |
//! | `bits` | one bit per state |

pub(super) mod bits;
pub(super) mod label;
mod parents;
pub(super) mod record;
pub(super) mod rows;
pub(super) mod stored;
pub(super) mod sweep;
pub(super) mod watch;
