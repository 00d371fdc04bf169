//! The checker of a node: its requests for snapshots, and its rounds, one after the other.
//!
//! Both are state machines. On a real machine, the rounds have a thread; in a world they have virtual time.
//!
//! | module | what it holds |
//! |---|---|
//! | `rounds` | the rounds of the checker, and what they hand over |
//! | `pace` | how far the next round may go |
//! | `collect` | when a node asks for snapshots, and how they end |
//! | `patience` | how long a node waits for a snapshot, and who is in none |

mod collect;
mod pace;
mod patience;
mod rounds;

pub use collect::{Collected, Collector};
pub use patience::Missing;
pub use rounds::{Counts, Desk, Manner, Rounds, rest_after};
