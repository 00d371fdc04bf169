//! A path of a cluster as a trace.

use host_model::contract::{FaultKind, PropertyKind};
use host_model::trace::replay::{Replay, ReplayError};
use host_model::trace::{Finding, Hex, Sent, Trace, TraceStep};

use crate::cluster::Cluster;

/// The trace of steps of a cluster, with the finding at their end if there is one. They begin where `trace` begins: its own steps and
/// its finding do not count.
///
/// Time and memory are proportional to the steps: each is executed once, and nothing is described.
///
/// # Errors
///
/// A step cannot happen, or the host cannot provide an instance.
pub fn trace_of(cluster: &Cluster, trace: &Trace, steps: Vec<TraceStep>) -> Result<Trace, ReplayError> {
    let (mut replay, reports) = Replay::new(cluster.factory(), &trace.scenario, &trace.origin())?;
    let refused = reports.into_iter().filter_map(|report| report.fault).find(|fault| fault.kind == FaultKind::Refused);
    if let Some(fault) = refused {
        return Err(ReplayError::NotEnabled { step: 0, why: fault.message });
    }
    let mut executed = Vec::with_capacity(steps.len());
    for step in steps {
        let report = replay.step(&step)?;
        let sent = Some(report.effects.sent.iter().map(Sent::from).collect());
        executed.push(TraceStep { sent, state: report.state.map(Hex), choices: report.effects.choices, ..step });
    }
    let is_bad = |finding: &Finding| !matches!(finding, Finding::Property { kind: PropertyKind::Sometimes, .. });
    let finding = replay.judged()?.into_iter().map(|(_, finding)| finding).find(is_bad);
    let plugin = cluster.plugin.reference.clone();
    Ok(Trace { steps: executed, finding, plugin, ..trace.clone() }.with_version())
}
