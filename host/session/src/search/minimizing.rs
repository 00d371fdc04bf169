//! Traces made short and confirmed.

use host_inspect::minimize::{self, MinimizeError, Minimized, Options};
use host_model::lts::{Lts, Stepper};
use host_model::trace::replay::ReplayError;
use host_model::trace::{self, Trace};

use crate::cluster::Cluster;

/// A shorter trace, confirmed in fresh machines. If the short one does not replay, the long one stays.
///
/// # Errors
///
/// The trace has no finding or cannot happen. A fault of the host.
pub fn shorten(
    lts: &Lts<'_>,
    cluster: &Cluster,
    trace: &Trace,
    options: Options,
) -> Result<(Trace, Minimized), MinimizeError> {
    let mut stepper = Stepper::new(lts)?;
    let mut minimized = minimize::minimize(&mut stepper, trace, options)?;
    let finding = minimize::finding(lts, &minimized);
    let confirmed = trace::confirm(cluster.factory(), &trace.scenario, &trace.origin(), &minimized.steps, &finding);
    match confirmed {
        Ok(steps) => Ok((Trace { finding: Some(finding), steps, ..trace.clone() }.with_version(), minimized)),
        Err(ReplayError::Machine(error)) => Err(error.into()),
        Err(_) => {
            minimized.steps.clone_from(&trace.steps);
            minimized.switches.1 = minimized.switches.0;
            Ok((trace.clone(), minimized))
        }
    }
}
