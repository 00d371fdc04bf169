//! A run as data. Absent parts have their defaults.
//!
//! | module | what it holds |
//! |---|---|
//! | `run` | all of it, in parts: the cluster, the search, and what belongs to the process |
//! | `layers` | one specification over another |
//! | `source` | how a plugin is found and loaded |
//! | `placement` | clusters whose nodes differ |
//! | `limits` | what a plugin may use up: names, values and units |
//! | `links` | links with a network of their own, and their effect on a cluster |
//! | `values` | names and assignments as text |
//! | `expectation` | the expected result |

pub mod expectation;
mod layers;
pub mod limits;
pub mod links;
pub mod placement;
pub mod run;
pub mod source;
pub mod values;

pub use run::{Algo, ClusterSpec, Keep, ProcessSpec, RunSpec, SearchSpec};
pub use source::Source;
