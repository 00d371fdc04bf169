//! Searches of global states: the state itself, what has been visited, and two engines.
//!
//! | module | what it holds |
//! |---|---|
//! | `state` | a global state, its enabled events and its successors |
//! | `judge` | what is wrong with a start state, and with a state in which only faults can happen |
//! | `visited` | visited global states with their depths: 12 bytes per slot |
//! | `cursor` | a global state that moves along a path and back |
//! | `bookkeeping` | visited states, counts and findings of a search |
//! | `bfs` | breadth-first search: `consequence`, and `bdfs` where a link has an order |
//! | `parallel` | the parallel search in rounds, with the same result for any number of workers |

pub(crate) mod bfs;
pub(crate) mod bookkeeping;
pub(crate) mod cursor;
pub(crate) mod judge;
pub(crate) mod parallel;
pub(crate) mod state;
pub(crate) mod visited;
