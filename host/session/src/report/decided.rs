//! Decides whether the silence of a search about a property proves anything: the one place that does.

use host_search::kernel::EndCondition;

use crate::search::finding::Violation;

/// Why it is open whether there is more than was found; none if there is nothing more.
pub fn undecided(end: EndCondition, violations: &[Violation]) -> Option<&'static str> {
    if violations.iter().any(|violation| violation.nondeterminism.is_some()) {
        return Some("the plugin is not deterministic");
    }
    match end {
        EndCondition::SpaceExhausted => None,
        EndCondition::Violation => Some("the search ended with the violation, --continue goes on"),
        _ => Some("the search did not explore everything"),
    }
}
