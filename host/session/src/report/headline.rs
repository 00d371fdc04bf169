//! The headline of a run: one phrase that is more specific than the verdict.

use host_search::kernel::{EndCondition, Growth, Report};
use host_search::verdict::{Status, Verdict};

use crate::base::text::{count, grouped};
use crate::report::counts::CountsReport;
use crate::report::properties::{PropertyReport, named};

/// The headline of a run whose verdict no violation with a trace explains.
pub fn without_violation(verdict: Verdict, report: &Report, properties: &[PropertyReport]) -> String {
    let is_whole = report.end == EndCondition::SpaceExhausted;
    match verdict {
        Verdict::NeverReached => {
            format!("{EXPLORED}, and {} never reached", subject(properties, Status::NeverReached))
                + &also_open(properties)
        }
        Verdict::Incomplete if is_whole => match report.promises_end {
            Some(end) => left_open(end).to_owned() + &also_open(properties),
            None => open(properties),
        },
        // Its trace was lost when the search was ended.
        Verdict::Violation => {
            format!("{} violated, and the search ended before it had a trace", subject(properties, Status::Violated))
        }
        Verdict::Error => format!("{} not to be evaluated", subject(properties, Status::Broken)),
        Verdict::Ok | Verdict::Incomplete => because(report.end).to_owned(),
    }
}

/// The phrase for a complete search.
const EXPLORED: &str = "the search is complete";

/// Names as a subject with its verb.
fn subject(properties: &[PropertyReport], status: Status) -> String {
    let (number, names) = named(properties, &|it| it.status == status);
    format!("{names} {}", if number == 1 { "is" } else { "are" })
}

/// The `eventually` properties that are not decided by a complete search.
fn open(properties: &[PropertyReport]) -> String {
    let (_, names) = named(properties, &|it| it.status == Status::Unknown);
    let first = properties.iter().find_map(|it| it.undecided.clone());
    let why = first.map(|why| format!(" ({why})")).unwrap_or_default();
    format!("{EXPLORED}, and no violation was found; not decided: {names}{why}")
}

/// The same as a note.
fn also_open(properties: &[PropertyReport]) -> String {
    match named(properties, &|it| it.status == Status::Unknown) {
        (0, _) => String::new(),
        (_, names) => format!("; not decided: {names}"),
    }
}

/// The reason why no violation is reported.
fn because(end: EndCondition) -> &'static str {
    match end {
        EndCondition::SpaceExhausted => "the search is complete, and no property is violated",
        EndCondition::Pruned => "no violation found, but the strategy leaves events out on purpose",
        EndCondition::WalksDone => "no violation found, but random walks see only part of what can happen",
        EndCondition::DepthBound => "no violation found, but --depth cut off longer paths",
        EndCondition::LocalEventBound => "no violation found, but --local-events left events out",
        EndCondition::StateBound => "no violation found, but --states ended the search early",
        EndCondition::TimeBound => "no violation found, but --time ended the search early",
        EndCondition::MemoryBound => "no violation found, but the memory is used up (see --memory)",
        EndCondition::Interrupted => "no violation found, but the search was interrupted",
        EndCondition::Violation => unreachable!("a search that ends in a violation has one"),
    }
}

/// The reason why nothing is reported about `eventually` properties after a complete search.
fn left_open(end: EndCondition) -> &'static str {
    match end {
        EndCondition::TimeBound => {
            "the search is complete, but --time ended the decision about `eventually` properties"
        }
        EndCondition::MemoryBound => {
            "the search is complete, but deciding `eventually` properties takes more memory (see --memory)"
        }
        _ => "the search is complete, but the decision about `eventually` properties was interrupted",
    }
}

/// The ratio of local states to known reachable ones from which on an over-approximation does not fit the protocol.
const MISFIT: u64 = 4;

/// A note on a search through far more local states than are reachable; empty for other searches.
pub fn misfit(CountsReport(counts): &CountsReport) -> String {
    let Some((local_states, reachable)) = counts.local_states.zip(counts.reachable_local_states) else {
        return String::new();
    };
    if local_states < reachable.saturating_mul(MISFIT) {
        return String::new();
    }
    format!(
        "; of the {} that it assumes only {} known to be reachable, so another strategy may suit the protocol better",
        count(local_states, "local state"),
        if reachable == 1 { "1 is".to_owned() } else { format!("{} are", grouped(reachable)) },
    )
}

/// A note that a node may keep data that it could forget.
pub fn grows(growth: Option<Growth>) -> String {
    let Some(Growth { node, steps, bytes: (before, after) }) = growth else { return String::new() };
    format!(
        "; on a walk of {} the state of node {node} became longer and longer, from {} to {}, so there may be no end of states",
        count(steps.into(), "event"),
        count(before as u64, "byte"),
        count(after as u64, "byte"),
    )
}

#[cfg(test)]
mod tests {
    use host_search::kernel::Counts;

    use super::*;

    #[test]
    fn few_reachable_states_of_many_are_worth_a_word() {
        let counts = |local_states, reachable_local_states| {
            misfit(&CountsReport(Counts { local_states, reachable_local_states, ..Counts::default() }))
        };
        let told = "; of the 24,007 local states that it assumes only 12 are known to be reachable, so another strategy may suit the \
                    protocol better";
        assert_eq!(counts(Some(24_007), Some(12)), told);
        assert!(counts(Some(4), Some(1)).contains("only 1 is known"));
        assert_eq!([counts(Some(47), Some(12)), counts(Some(47), None), counts(None, Some(12))], [""; 3]);
    }
}
