//! The graph whose promises are decided: how it is recorded, stored and swept.
//!
//! | module | what it holds |
//! |---|---|
//! | `record` | records a graph while it is explored |
//! | `stored` | a graph for analysis |
//! | `rows` | the edges of a large graph in few bytes |
//! | `parents` | from which state each state was found, in next to no memory |
//! | `label` | labels of edges: what an event is to a promise of progress |
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
