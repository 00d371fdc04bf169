//! From what to run to a cluster that is ready, and traces in files.
//!
//! | module | what it holds |
//! |---|---|
//! | `open` | a cluster that is ready to run |
//! | `expressed` | properties from outside, which a run adds |
//! | `judged` | the properties that a run judges |
//! | `plugin_source` | from a path to a loaded plugin |
//! | `spec_source` | from paths to loaded specifications from outside |
//! | `compilation` | says that machine code is made, and for how long |
//! | `placement` | the component of each node: checks, traces |
//! | `mixed` | a cluster of several components as one factory of machines; twins |
//! | `scenario` | nodes, parameters, networks and bounds, from defaults, the request, and the prefix |
//! | `numbered` | the nodes of a cluster, by number and name |
//! | `pieces` | whether messages may be as long as parameters say |
//! | `prefix` | whether a prefix leads the same way under other parameters |
//! | `exporters` | the formats in which a trace is exported |
//! | `trace_file` | reading, checking and writing traces |
//! | `trace_source` | from the path of a trace to the trace and its cluster |
//! | `watched` | which clusters can have a checker for each node |

mod compilation;
pub mod exporters;
mod expressed;
pub mod judged;
mod mixed;
pub mod numbered;
mod open;
pub mod pieces;
pub mod placement;
pub mod plugin_source;
mod prefix;
pub mod scenario;
pub mod spec_source;
pub mod trace_file;
mod trace_source;
mod watched;

pub use open::{Cluster, replay_command};
pub use trace_source::TraceSpec;
pub use watched::Watching;
