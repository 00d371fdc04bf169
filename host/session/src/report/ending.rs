//! The end of a run: the statuses of its properties, and the exit code and the headline that follow from the verdict on these.

use host_model::lts::Lts;
use host_model::trace::Finding;
use host_search::kernel::EndCondition;
use host_search::verdict::{Asked, Found, Statuses, Verdict};

use crate::base::Exit;
use crate::report::run::FinishedRun;
use crate::search::finding::{self, Violation};

/// The statuses of the properties that were judged, of faults and of deadlocks.
pub fn statuses(run: &FinishedRun<'_>) -> Statuses {
    let search = &run.spec.search;
    let asked = Asked { promises: !search.safety_only, deadlock: search.deadlock };
    let found: Vec<Found> = run.outcome.violations.iter().filter_map(|it| found(run.lts, it)).collect();
    Statuses::new(&run.outcome.report, run.lts.properties(), asked, &found)
}

/// A violation as far as the verdict depends on it; none if it is no violation.
fn found(lts: &Lts<'_>, violation: &Violation) -> Option<Found> {
    if violation.nondeterminism.is_some() {
        return Some(Found::Unconfirmed);
    }
    let place = |name: &str| (0..).zip(lts.properties()).find(|(_, it)| it.name == name).map(|(place, _)| place);
    let finding = violation.trace.finding.as_ref()?;
    match finding {
        Finding::Property { .. } if finding::exit(finding) == Exit::Ok => None,
        Finding::Property { name, .. } => place(name).map(Found::Violated),
        Finding::Promise(promise) => place(&promise.name).map(Found::Violated),
        Finding::Broken { property, .. } => place(property).map(Found::Broken),
        Finding::Fault { .. } if finding::exit(finding) == Exit::Plugin => Some(Found::Platform),
        Finding::Fault { .. } => Some(Found::Fault),
        Finding::Deadlock { .. } => Some(Found::Deadlock),
    }
}

/// The first violation with this verdict, which the headline and the exit code are about; none where there is none.
pub fn leading(lts: &Lts<'_>, violations: &[Violation], verdict: Verdict) -> Option<usize> {
    violations.iter().position(|it| found(lts, it).is_some_and(|found| found.verdict() == verdict))
}

/// The inputs of the exit code other than the verdict.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// The exit code of the leading violation, if there is one.
    pub leading: Option<Exit>,
    /// Whether the user or a signal ended the run.
    pub is_interrupted: bool,
    /// Whether an incomplete run is a failure.
    pub requires_complete: bool,
}

impl Ending {
    /// The ending of a run.
    pub fn new(run: &FinishedRun<'_>, leading: Option<usize>) -> Self {
        let report = &run.outcome.report;
        Self {
            leading: leading.map(|index| run.outcome.violations[index].exit()),
            is_interrupted: [Some(report.end), report.promises_end].contains(&Some(EndCondition::Interrupted)),
            requires_complete: run.spec.process.require_complete,
        }
    }

    /// The exit code for a verdict: 0 exactly if the verdict is `ok`, or `incomplete` without an interrupt or a required complete run.
    pub fn exit(self, verdict: Verdict) -> Exit {
        match verdict {
            Verdict::Ok => Exit::Ok,
            Verdict::Incomplete if self.is_interrupted => Exit::Stopped,
            Verdict::Incomplete if self.requires_complete => Exit::TooLarge,
            Verdict::Incomplete => Exit::Ok,
            Verdict::NeverReached => Exit::NeverReached,
            // A plugin that breaks its contract is an error without a trace.
            Verdict::Error => self.leading.unwrap_or(Exit::GuestFault),
            // So is a broken promise of progress whose trace could not be kept.
            Verdict::Violation => self.leading.unwrap_or(Exit::Liveness),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All verdicts under all circumstances.
    #[test]
    fn an_exit_code_of_0_means_ok_or_a_tolerated_incomplete_run() {
        for verdict in Verdict::ALL {
            for leading in [None, Some(Exit::Safety), Some(Exit::Deadlock), Some(Exit::Evaluation)] {
                for (is_interrupted, requires_complete) in [(false, false), (false, true), (true, false), (true, true)]
                {
                    let ending = Ending { leading, is_interrupted, requires_complete };
                    let exit = ending.exit(verdict);
                    let is_lenient = verdict == Verdict::Incomplete && !is_interrupted && !requires_complete;
                    let is_good = verdict == Verdict::Ok || is_lenient;
                    assert_eq!(exit == Exit::Ok, is_good, "{verdict:?}, {ending:?}");
                    let is_bad = matches!(verdict, Verdict::Violation | Verdict::Error);
                    let is_leading = leading.is_some_and(|leading| leading == exit);
                    assert_eq!(is_leading, is_bad && leading.is_some(), "{verdict:?}, {ending:?}");
                }
            }
        }
    }
}
