//! A run that is over.

use std::collections::BTreeMap;

use host_model::audit::AuditedFactory;
use host_model::lts::Lts;

use crate::cluster::Cluster;
use crate::search::Outcome;
use crate::spec::RunSpec;

/// A run that is over.
pub struct FinishedRun<'r> {
    /// The request.
    pub spec: &'r RunSpec,
    /// A command that makes the same run again, for a shell.
    pub command: String,
    /// The cluster.
    pub cluster: &'r Cluster,
    /// Its machines, with notes for an audit.
    pub machines: &'r AuditedFactory<'r>,
    /// Its local transition system.
    pub lts: &'r Lts<'r>,
    /// The outcome of the search.
    pub outcome: &'r Outcome,
    /// The files of witnesses, by property.
    pub witnesses: BTreeMap<String, String>,
}

/// The files of a written trace.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The file, as the user would name it.
    pub trace: String,
    /// The trace as the search found it, if it differs.
    pub found: Option<String>,
    /// The drawing of the trace, unless that would be too large.
    pub drawing: Option<String>,
    /// The page that shows the trace step by step.
    pub page: Option<String>,
    /// The command that replays it.
    pub replay: String,
}
