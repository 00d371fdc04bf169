//! A run that is over.

use host_inspect::explain::Paint;
use host_model::lts::Lts;
use host_search::kernel::Report;

use crate::options::run::RunArguments;
use crate::setup::plugin_source::Loaded;

/// A run that is over.
pub struct Run<'r> {
    /// What was asked for.
    pub arguments: &'r RunArguments,
    /// The name of the program.
    pub program: &'r str,
    /// The plugin.
    pub loaded: &'r Loaded,
    /// The cluster.
    pub lts: &'r Lts<'r>,
    /// What the strategy reports.
    pub report: &'r Report,
    /// How long the search took.
    pub times: Times,
    /// Events of the prefix; 0 without one.
    pub prefix_steps: usize,
    /// How the result is written.
    pub paint: Paint,
}

/// How long a search took, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// All of it.
    pub search: f64,
    /// The part that went into verifying what the search came across; 0 for a strategy that verifies nothing.
    pub verification: f64,
}

/// Where a trace was written.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The file, as the user would name it.
    pub trace: String,
    /// The trace as the search found it, if that is another one.
    pub found: Option<String>,
    /// The drawing of the trace, unless that would be too large.
    pub drawing: Option<String>,
    /// The command that replays it.
    pub replay: String,
}
