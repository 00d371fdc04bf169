//! Searches of global states: the state itself, what has been visited, and two engines.
//!
//! | module | what it holds |
//! |---|---|
//! | `state` | a global state, its enabled events and its successors |
//! | `judge` | judgements of start states, of global states, and of states in which only faults can happen |
//! | `visited` | visited global states with their depths: 12 bytes per slot |
//! | `cursor` | a global state that moves along a path and back |
//! | `enabled` | the enabled events of a global state |
//! | `ordered_table` | a hash table of fingerprints in their order |
//! | `breadth_first` | breadth-first search: `consequence`, `bdfs` where a link has an order, and the whole graph |
//! | `queues` | the change of the fingerprint of queues by a step |
//! | `parallel` | the parallel search in rounds, with the same result for any number of workers |

pub(crate) mod breadth_first;
pub(crate) mod cursor;
pub(crate) mod enabled;
pub(crate) mod judge;
pub(crate) mod ordered_table;
pub(crate) mod parallel;
pub(crate) mod queues;
pub(crate) mod state;
pub(crate) mod visited;
