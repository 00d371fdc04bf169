//! The end state to which a part of the events must lead.

use host_model::contract::{FaultKind, Judgement};
use host_model::lts::Lts;
use host_model::trace::Finding;

/// The end state to which a part of the events must lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The property is violated, or reached if it is a `sometimes`.
    Property(u32),
    /// The property cannot be evaluated.
    Broken(u32),
    /// A node is stuck in a fault of this kind.
    Fault(FaultKind),
    /// Only faults are possible, and some node is not done.
    Deadlock,
}

impl Target {
    /// The target of a finding; none if its property is missing, or an execution shows it and no state.
    pub(super) fn of(lts: &Lts<'_>, finding: &Finding) -> Option<Self> {
        let index = |wanted: &String| {
            let mut named = (0..).zip(lts.properties()).filter(|(_, property)| property.name == *wanted);
            named.next().map(|(index, _)| index)
        };
        match finding {
            Finding::Property { name, .. } => index(name).map(Self::Property),
            Finding::Broken { property, .. } => index(property).map(Self::Broken),
            Finding::Fault { fault, .. } => Some(Self::Fault(fault.kind)),
            Finding::Deadlock { .. } => Some(Self::Deadlock),
            Finding::Promise(_) => None,
        }
    }

    /// Whether a judgement matches the target.
    pub(super) fn is_hit(self, judgement: &Judgement) -> bool {
        match (self, judgement) {
            (Self::Property(wanted), Judgement::Violated { property, .. } | Judgement::Witnessed { property })
            | (Self::Broken(wanted), Judgement::Broken { property, .. }) => wanted == *property,
            (Self::Fault(wanted), Judgement::Fault(fault)) => wanted == fault.kind,
            (Self::Deadlock, Judgement::Deadlock { .. }) => true,
            _ => false,
        }
    }
}
