//! Whether a prefix leads the same way in a cluster whose parameters differ from the recorded ones.

use std::path::Path;

use host_model::contract::FaultKind;
use host_model::trace::Trace;
use host_model::trace::replay::{Replay, ReplayError};

use crate::base::Failure;
use crate::cluster::Cluster;

/// Refuses a prefix whose path depends on a parameter that differs from the recorded one: each step is executed in fresh machines,
/// and must send the same messages and lead to the same state. Parameters that only properties read may differ.
///
/// # Errors
///
/// The first step that differs, or the host cannot provide an instance.
pub fn check_path(cluster: &Cluster, given: &Path, trace: &Trace) -> Result<(), Failure> {
    let plugin = &cluster.plugin;
    let (now, then) = (plugin.effective_parameters(&cluster.scenario), plugin.effective_parameters(&trace.scenario));
    let others: Vec<String> = now
        .iter()
        .filter(|(key, value)| then.get(*key) != Some(*value))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    let followed =
        Replay::new(cluster.factory(), &cluster.scenario, &trace.origin()).and_then(|(mut replay, reports)| {
            let refused = |kind| kind == FaultKind::Refused;
            // The caller that begins there reports a refused configuration.
            if reports.iter().filter_map(|report| report.fault.as_ref()).any(|fault| refused(fault.kind)) {
                return Ok(());
            }
            trace.steps.iter().try_for_each(|step| replay.step(step).map(drop))
        });
    followed.map_err(|error| match error {
        ReplayError::Machine(error) => error.into(),
        differs => {
            let what =
                format_args!("the prefix {} leads elsewhere with {}: {differs}", given.display(), others.join(", "));
            let failure = Failure::configuration(what).about(format_args!("set {}", key_of(&others[0])));
            failure.help(
                "leave these parameters as they were recorded: only those that nothing but properties read may differ",
            )
        }
    })
}

fn key_of(assignment: &str) -> &str {
    assignment.split_once('=').map_or(assignment, |(key, _)| key)
}
