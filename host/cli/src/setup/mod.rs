//! From options and files to a cluster that is ready to run.
//!
//! | module | what it holds |
//! |---|---|
//! | `plugin_source` | from a path to a loaded plugin |
//! | `placement` | the component of each node: checks, traces |
//! | `mixed` | a cluster of several components as one factory of machines; twins |
//! | `scenario_choice` | cluster and bounds, from defaults, options and prefix |
//! | `trace_file` | reading, checking and writing traces |
//! | `trace_source` | from the path of a trace to the trace and its plugin |

pub mod mixed;
pub mod placement;
pub mod plugin_source;
pub mod scenario_choice;
pub mod trace_file;
pub mod trace_source;
