//! The result of an audit.

use host_model::audit::{Audited, ContractViolation};
use host_model::contract::MachineError;
use host_model::trace::Hex;
use serde::Serialize;

use crate::cluster::Cluster;
use crate::search::why_different::DifferentPlace;

/// The extent of an audit.
#[derive(Debug, Serialize)]
pub struct AuditReport {
    /// Whether it examined everything that it had to.
    pub finished: bool,
    /// The number of local states that it examined.
    pub states: usize,
    /// The number of local states with the encoding of another one.
    pub ambiguous_states: usize,
    /// The contract violations.
    pub broken: Vec<ReportedViolation>,
}

/// A contract violation, as reports have it.
#[derive(Debug, Serialize)]
pub struct ReportedViolation {
    /// The violation, and its place.
    #[serde(flatten)]
    pub violation: ContractViolation,
    /// The difference between two states with the same bytes that behave differently; none for other violations, and if nodes run
    /// different components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differ: Option<HiddenDifference>,
}

/// The first place in which two states with the same bytes differ.
#[derive(Debug, Serialize)]
pub struct HiddenDifference {
    /// The place.
    pub place: DifferentPlace,
    /// The bytes from there on in each, at most eight.
    #[serde(serialize_with = "as_digits")]
    pub bytes: [Vec<u8>; 2],
}

impl AuditReport {
    /// The report of an audit of this cluster.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance to compare states.
    pub fn new(audited: &Audited, cluster: &Cluster) -> Result<Self, MachineError> {
        let broken = |violation: &ContractViolation| {
            Ok(ReportedViolation { violation: violation.clone(), differ: difference(violation, cluster)? })
        };
        Ok(Self {
            finished: audited.stopped.is_none(),
            states: audited.states,
            ambiguous_states: audited.ambiguous,
            broken: audited.broken.iter().map(broken).collect::<Result<_, MachineError>>()?,
        })
    }
}

fn difference(violation: &ContractViolation, cluster: &Cluster) -> Result<Option<HiddenDifference>, MachineError> {
    // A state of a mixed cluster is not a state of the plugin.
    let Some([one, other]) = violation.states().filter(|_| !cluster.is_mixed()) else { return Ok(None) };
    let found = cluster.plugin.plugin.difference(one, other)?;
    Ok(found.map(|found| HiddenDifference { place: DifferentPlace::State(found.place), bytes: found.bytes }))
}

fn as_digits<S: serde::Serializer>(bytes: &[Vec<u8>; 2], serializer: S) -> Result<S::Ok, S::Error> {
    bytes.each_ref().map(|bytes| Hex(bytes.clone())).serialize(serializer)
}
