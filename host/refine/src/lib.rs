//! Compares two systems: whether each sequence of views of the new one is one of the old one.
//!
//! The *view* of a global state consists of the descriptions of its nodes, or of some fields of them. An execution shows a sequence of
//! views, in which a view that does not change counts once: *stuttering*. The new system *refines* the old one if it shows no sequence
//! that the old one cannot show. Messages in flight and the faults so far are in no view.
//!
//! Knows of plugins only what a [`Stepper`](host_model::lts::Stepper) shows, and nothing of files and clocks.
//!
//! | module | what it holds |
//! |---|---|
//! | `search` | the search: states of the new system, each with the states in which the old one can be |
//! | `sets` | sets of states of the old system |
//! | `system` | the global states of a system, and their successors |
//! | `views` | views of nodes and of global states |
//! | `verdict` | the verdict, a difference, the counts |
//! | `tests` | differences known by hand |
#![forbid(unsafe_code)]

mod search;
mod sets;
mod system;
#[cfg(test)]
mod tests;
mod verdict;
mod views;

pub use search::{Bounds, Monitor, refine};
pub use system::Side;
pub use verdict::{ALTERNATIVES_MAX, Bound, Counts, Difference, Judgement, Verdict};
pub use views::{Field, View};
