//! Whether other options of an open cluster would be refused.

use host_model::lts::Lts;
use host_model::scenario::Network;

use crate::base::Failure;
use crate::cluster::{Cluster, scenario};
use crate::search::{goals, limits, promises};
use crate::spec::RunSpec;

/// Refuses the options of the cluster and of the search that a run would refuse, without a call of a guest: `lts` is that of a run of
/// the same components.
///
/// # Errors
///
/// A run refuses the options.
pub fn refusal(spec: &RunSpec, cluster: &Cluster, lts: &Lts<'_>) -> Result<(), Failure> {
    let scenario = scenario::scenario(spec, &cluster.plugin, &cluster.components, cluster.prefix.as_ref())?;
    goals::named(spec, lts.properties(), limits::limits(spec)?)?;
    promises::rules_in(spec, cluster, &scenario, promises::has_promises(lts))?;
    let takes_quorums = lts.takes_quorums();
    if spec.search.deadlock && takes_quorums {
        return Err(limits::no_ends());
    }
    // The states that a prefix leads to follow from its network.
    if takes_quorums && scenario.has_network(Network::Ordered) {
        return Err(Failure::configuration("messages of a quorum have no order").about("network"));
    }
    Ok(())
}
