//! A path of a cluster as a trace.

use host_inspect::recording::Recording;
use host_model::trace::replay::ReplayError;
use host_model::trace::{Trace, TraceStep};

use crate::cluster::Cluster;

/// The trace of steps of a cluster, with the finding at their end if there is one. They begin where `trace` begins: its own steps and
/// its finding do not count.
///
/// # Errors
///
/// A step cannot happen, or the host cannot provide an instance.
pub fn trace_of(cluster: &Cluster, trace: &Trace, steps: Vec<TraceStep>) -> Result<Trace, ReplayError> {
    let plugin = cluster.plugin.reference.clone();
    let path = Trace { steps, plugin, finding: None, ..trace.clone() };
    let (recording, result) = Recording::new(cluster.factory(), &path);
    result?;
    let finding = recording.finding().map(|(_, finding)| finding.clone());
    Ok(Trace { finding, ..recording.trace }.with_version())
}
