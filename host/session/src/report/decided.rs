//! The reasons why a search that found nothing about a property proves nothing about it. [`host_search::verdict`] decides whether it
//! does.

use host_search::kernel::EndCondition;

use crate::search::finding::Violation;

/// The reason why there may be more violations than were found; none if there are no more.
pub fn undecided(end: EndCondition, violations: &[Violation]) -> Option<&'static str> {
    why_open(end, violations.iter().all(|violation| violation.nondeterminism.is_none()))
}

fn why_open(end: EndCondition, is_deterministic: bool) -> Option<&'static str> {
    if !is_deterministic {
        return Some("the plugin is not deterministic");
    }
    match end {
        EndCondition::SpaceExhausted => None,
        EndCondition::Violation => Some("the search ended with the violation, try --continue"),
        _ => Some("the search did not explore everything"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All ends; the match has one more line when there is another end.
    fn ends() -> impl Iterator<Item = (EndCondition, bool)> {
        use EndCondition as End;
        let is_whole = |end| match end {
            End::SpaceExhausted => true,
            End::Pruned
            | End::WalksDone
            | End::DepthBound
            | End::LocalEventBound
            | End::StateBound
            | End::TimeBound
            | End::MemoryBound
            | End::Interrupted
            | End::Violation => false,
        };
        let all = [
            End::SpaceExhausted,
            End::Pruned,
            End::WalksDone,
            End::DepthBound,
            End::LocalEventBound,
            End::StateBound,
            End::TimeBound,
            End::MemoryBound,
            End::Interrupted,
            End::Violation,
        ];
        all.into_iter().map(move |end| (end, is_whole(end)))
    }

    #[test]
    fn only_what_was_explored_to_its_end_by_a_deterministic_plugin_decides() {
        for (end, is_whole) in ends() {
            for is_deterministic in [false, true] {
                let is_decided = why_open(end, is_deterministic).is_none();
                assert_eq!(is_decided, is_whole && is_deterministic, "{end:?} {is_deterministic}");
            }
        }
    }

    /// The remedy is named only where it helps.
    #[test]
    fn only_a_search_that_a_violation_ended_can_continue() {
        for (end, _) in ends() {
            let is_named = why_open(end, true).is_some_and(|why| why.contains("--continue"));
            assert_eq!(is_named, end == EndCondition::Violation, "{end:?}");
        }
    }
}
