//! Traces shortened and confirmed.

use host_inspect::minimize::{self, MinimizeError, Minimized, Options};
use host_model::contract::Stop;
use host_model::lts::{Lts, Stepper};
use host_model::trace::replay::ReplayError;
use host_model::trace::{self, Trace};
use host_search::kernel::{EndCondition, Monitor, Progress};

use crate::base::bounds::Bounds;
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
    let has_others = cluster.placements().iter().any(|it| it.adversary || it.twin_of.is_some());
    if trace.promise().is_some() && has_others {
        return Err(MinimizeError::Promise("nothing has to happen at an adversary or a twin"));
    }
    let mut stepper = Stepper::new(lts)?;
    let mut minimized = minimize::minimize(&mut stepper, trace, options, &Within(&cluster.plugin.bounds))?;
    let finding = minimize::finding(lts, &minimized);
    let short = Trace { finding: Some(finding.clone()), steps: minimized.steps.clone(), ..trace.clone() };
    let confirmed = trace::confirm(cluster.factory(), &trace.scenario, &trace.origin(), &short.steps, &finding);
    match confirmed.and_then(|steps| trace::check_sibling(cluster.factory(), &short).map(|()| steps)) {
        Ok(steps) => Ok((Trace { steps, ..short }.with_version(), minimized)),
        Err(ReplayError::Machine(error)) => Err(error.into()),
        Err(_) => {
            minimized.steps.clone_from(&trace.steps);
            minimized.switches.1 = minimized.switches.0;
            Ok((trace.clone(), minimized))
        }
    }
}

/// Stops the searches over parts of a trace within the bounds of the process, like the main search.
struct Within<'b>(&'b Bounds);

impl Monitor for Within<'_> {
    fn check(&self, _progress: &Progress) -> Option<EndCondition> {
        self.0.reason().map(EndCondition::from)
    }
}
