//! The parallel depth-first search of global states, in rounds.
//!
//! | module | what it holds |
//! |---|---|
//! | `rounds` | the rounds: expand, exchange, admit |
//! | `round_context` | the data that all partitions read while they expand states |
//! | `partition` | one partition of the search: its stack of states; and one shard of the visited set |
//! | `awake` | the events that have to be followed in a state |
//! | `packed_stack` | a compact stack of global states with their paths |
//! | `path_forest` | paths as a forest, with common beginnings shared |
//! | `sleeping_traps` | events that trap although they are asleep in this search |

pub(crate) mod awake;
pub(crate) mod packed_stack;
pub(crate) mod partition;
pub(crate) mod path_forest;
pub(crate) mod round_context;
pub(crate) mod rounds;
pub(crate) mod sleeping_traps;
