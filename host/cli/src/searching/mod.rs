//! A search and what surrounds it: progress, checkpoints, and what becomes of its findings.
//!
//! | module | what it holds |
//! |---|---|
//! | `monitor` | progress of a search, and its end by a bound |
//! | `identity` | what a search is about, as facts that can be compared |
//! | `checkpoint` | checkpoints in files, and the command line that resumes one |
//! | `finding` | from a finding of a search to a confirmed one |
//! | `minimizing` | traces made short and confirmed |

pub mod checkpoint;
pub mod finding;
pub mod identity;
pub mod minimizing;
pub mod monitor;
