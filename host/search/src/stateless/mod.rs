//! Searches that keep executions instead of states: races, and the executions still to explore.
//!
//! | module | what it holds |
//! |---|---|
//! | `execution` | one execution with its happens-before, and its races |
//! | `exploration` | executions, judgements and counts of a stateless search |
//! | `consistent_cuts` | the system states of all consistent cuts of an execution |
//! | `terminal_cuts` | the cuts of an execution that can be ends |
//! | `wakeup_tree` | wakeup trees: the executions that `dpor` has still to explore |

pub(crate) mod consistent_cuts;
pub(crate) mod execution;
pub(crate) mod exploration;
pub(crate) mod terminal_cuts;
pub(crate) mod wakeup_tree;
