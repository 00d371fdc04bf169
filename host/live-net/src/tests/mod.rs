//! Processes on loopback that are killed, and what else goes wrong.
//!
//! | module | what it holds |
//! |---|---|
//! | `disk` | files of nodes: torn, damaged, full, in use |
//! | `processes` | a cluster of processes that are killed |
//! | `relay` | what gets in the way of messages |
//! | `watched` | nodes with a checker beside them, which may be slow or dead |
//! | `refused` | places where no node runs |

mod disk;
mod processes;
mod refused;
mod relay;
mod watched;
