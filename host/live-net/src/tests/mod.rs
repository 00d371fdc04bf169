//! Processes on loopback that are killed, and what else goes wrong.
//!
//! | module | what it holds |
//! |---|---|
//! | `disk` | files of nodes: torn, damaged, full, in use |
//! | `processes` | a cluster of processes that are killed |
//! | `relay` | what gets in the way of messages |
//! | `watched` | nodes with a checker beside them, which may be slow or dead |
//! | `steered` | nodes that their checkers steer |
//! | `trial` | three nodes in threads of this process, with a checker beside each |
//! | `refused` | places where no node runs |

mod disk;
mod processes;
mod refused;
mod relay;
mod steered;
mod trial;
mod watched;
