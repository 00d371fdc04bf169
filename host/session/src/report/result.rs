//! The result of a run, in the order of its JSON object.

use std::num::NonZeroU64;

use host_inspect::words;
use host_model::audit::Audited;
use host_model::contract::{MachineError, NodeId};
use host_model::scenario::Scenario;
use host_model::trace::{Finding, PluginRef};
use host_search::kernel::{Basis, Counts, EndCondition, Growth, SymmetryUse};
use host_search::strategy::find;
use serde::Serialize;

use crate::base::Exit;
use crate::base::bounds::peak_bytes;
use crate::base::text::{count, grouped, json_text, rounded};
use crate::cluster::Cluster;
use crate::report::assumed::Assumed;
use crate::report::audit::{AuditReport, BrokenPromise};
use crate::report::counts::{CountsReport, DISTINCT};
use crate::report::decided;
use crate::report::not_covered::NotCovered;
use crate::report::properties::{self, PropertyReport};
use crate::report::run::{FinishedRun, Saved};
use crate::report::unreached::Unreached;
use crate::report::violation::ViolationReport;
use crate::search::finding::Violation;
use crate::spec::expectation::Expectation;

/// The version of the JSON object, which `docs/result.schema.json` describes. A new field keeps it; a field that
/// goes, or changes its meaning, raises it.
pub const RESULT_VERSION: u32 = 1;

/// The result of a run. The order of the fields is that of the JSON object.
#[derive(Debug, Serialize)]
pub struct RunReport {
    /// [`RESULT_VERSION`].
    pub result_version: u32,
    /// The verdict.
    pub result: Verdict,
    /// Why the search ended.
    pub end: &'static str,
    /// How the command ends, as a number.
    pub exit_code: u8,
    /// A command that makes the same run again.
    pub command: String,
    /// The strategy.
    pub algo: &'static str,
    /// The strategy that had the answer, with its options; none where that is `algo`, and where a portfolio has no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// The plugin.
    pub plugin: PluginReport,
    /// The cluster.
    pub scenario: Scenario,
    /// The assumptions of the verdict.
    pub assumed: Assumed,
    /// The counts.
    pub counts: CountsReport,
    /// The counts that are lower bounds, since there was no room to count everything; none if all are exact.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub at_least: &'static [&'static str],
    /// How often the search forgot what handlers do, to stay within its memory; none if it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewals: Option<NonZeroU64>,
    /// A node whose state became longer and longer on a random walk; none if walks came across none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<GrowthReport>,
    /// The basis of the answer: `unfolding` or `local-states`; none where that is what the strategy goes through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<&'static str>,
    /// None where the plugin declares none, or it was not asked for.
    pub symmetry: Option<SymmetryReport>,
    /// Events on the longest path.
    pub depth: u32,
    /// How long it took.
    pub seconds: Seconds,
    /// The most memory that the process had, in bytes.
    pub memory_peak_bytes: Option<u64>,
    /// The properties of the plugin.
    pub properties: Vec<PropertyReport>,
    /// Events and messages that were met and never happened; null with `--reduce`, and where the search forgot what happened.
    pub unreached: Option<Unreached>,
    /// The same under its old name.
    never: Option<Unreached>,
    /// What was not looked for, and the options that would.
    pub not_covered: Vec<NotCovered>,
    /// `found`, `none` or `unknown`; null if deadlocks were not looked for.
    pub deadlock: Option<&'static str>,
    /// The violations.
    pub violations: Vec<ViolationReport>,
    /// The extent and the findings of the audit; none without an audit.
    pub audit: Option<AuditReport>,
    /// Expectations of a scenario that did not come out; none without a scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmet: Option<Vec<String>>,
    /// Why it is open whether there is more than was found; none if there is nothing more.
    #[serde(skip)]
    pub undecided: Option<&'static str>,
    /// How the command ends.
    #[serde(skip)]
    pub exit: Exit,
    /// One phrase that says more than the verdict.
    #[serde(skip)]
    pub because: String,
    /// The guarantees of the strategy.
    #[serde(skip)]
    pub guarantees: String,
}

/// The verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Everything that can happen was explored, and no property is violated.
    Ok,
    /// Something bad was found.
    Violation,
    /// Nothing bad was found, and not everything was explored.
    Incomplete,
    /// The plugin does not allow a verdict.
    Error,
}

impl Verdict {
    /// Its name.
    pub fn name(self) -> String {
        words::name(self)
    }
}

/// The use of interchangeable nodes; one of the two is there.
#[derive(Debug, Serialize)]
pub struct SymmetryReport {
    /// States are told apart only up to so many renamings.
    pub renamings: Option<u64>,
    /// Why the declaration of the plugin was not used.
    pub refused: Option<String>,
}

impl From<&SymmetryUse> for SymmetryReport {
    fn from(symmetry: &SymmetryUse) -> Self {
        match symmetry {
            SymmetryUse::Renamings(renamings) => Self { renamings: Some(*renamings), refused: None },
            SymmetryUse::Refused(why) => Self { renamings: None, refused: Some(why.clone()) },
        }
    }
}

/// A node whose state became longer and longer on a walk.
#[derive(Debug, Serialize)]
pub struct GrowthReport {
    /// The node.
    pub node: NodeId,
    /// Events of the walk during which it did.
    pub steps: u32,
    /// Bytes of its state before and after them.
    pub bytes: (usize, usize),
}

impl From<Growth> for GrowthReport {
    fn from(growth: Growth) -> Self {
        let Growth { node, steps, bytes } = growth;
        Self { node, steps, bytes }
    }
}

/// A plugin in JSON.
#[derive(Debug, Serialize)]
pub struct PluginReport {
    /// Its name.
    pub name: String,
    /// Its version, if it tells one.
    pub version: Option<String>,
    /// The hash of the component.
    pub digest: Option<String>,
}

impl From<&PluginRef> for PluginReport {
    fn from(plugin: &PluginRef) -> Self {
        Self { name: plugin.name.clone(), version: plugin.version.clone(), digest: plugin.digest.clone() }
    }
}

/// How long a run took, in seconds.
#[derive(Debug, Serialize)]
pub struct Seconds {
    /// From the bytes of the component to a plugin.
    pub load: f64,
    /// The search.
    pub search: f64,
    /// Part of `search`; none for a strategy without soundness verification.
    pub verification: Option<f64>,
}

impl RunReport {
    /// Puts together what is to be told.
    pub fn new(run: &FinishedRun<'_>, saved: Vec<Option<Saved>>) -> Self {
        let (report, violations) = (&run.outcome.report, run.outcome.violations.as_slice());
        let undecided = decided::undecided(report.end, violations);
        // Everything can be explored, and too little time be left to decide what must happen.
        let open = properties::undecided_promises(run);
        let result = verdict(undecided.or(open.map(EndCondition::name)), violations);
        let exit = match violations.first() {
            Some(violation) => violation.exit(),
            None if [Some(report.end), open].contains(&Some(EndCondition::Interrupted)) => Exit::Stopped,
            None if result == Verdict::Incomplete && run.spec.process.require_complete => Exit::TooLarge,
            None => Exit::Ok,
        };
        let reports: Vec<ViolationReport> = violations
            .iter()
            .zip(saved)
            .map(|(violation, saved)| ViolationReport::new(run, violation, saved))
            .collect();
        let properties = properties::properties(run, undecided, violations);
        let notes = properties::notes(&properties);
        let because = match (reports.first(), open.filter(|_| undecided.is_none())) {
            (Some(violation), _) if violation.class.is_some() => violation.title.clone() + &notes,
            (Some(violation), _) => violation.title.clone(),
            (None, Some(end)) => left_open(end).to_owned() + &notes,
            (None, None) => because(report.end).to_owned() + &misfit(&report.counts) + &grows(report.growth) + &notes,
        };
        let unreached = Unreached::new(run);
        let strategy = run.spec.strategy();
        let decider = report.decided_by.and_then(|decider| find(decider.strategy)).unwrap_or(strategy);
        Self {
            result_version: RESULT_VERSION,
            result,
            end: report.end.name(),
            exit_code: exit.code(),
            command: run.command.clone(),
            algo: strategy.name,
            decided_by: report.decided_by.map(|decider| decider.to_string()),
            plugin: PluginReport::from(&run.cluster.plugin.reference),
            scenario: run.lts.scenario().clone(),
            assumed: Assumed::new(run),
            counts: CountsReport(report.counts),
            at_least: if report.are_lower_bounds { DISTINCT } else { &[] },
            renewals: NonZeroU64::new(report.renewals),
            growth: report.growth.map(GrowthReport::from),
            basis: report.basis.map(basis),
            symmetry: report.symmetry.as_ref().map(SymmetryReport::from),
            depth: report.depth,
            seconds: Seconds {
                load: rounded(run.cluster.plugin.seconds),
                search: rounded(run.outcome.times.search),
                // A strategy counts soundness checks exactly if it makes some.
                verification: report.counts.soundness_checks.map(|_| rounded(run.outcome.times.verification)),
            },
            memory_peak_bytes: peak_bytes(),
            properties,
            not_covered: NotCovered::of(run),
            never: unreached.clone(),
            unreached,
            deadlock: run.spec.search.deadlock.then(|| deadlock(undecided, violations)),
            violations: reports,
            audit: None,
            unmet: None,
            undecided,
            exit,
            because,
            guarantees: format!("{}; {}", decider.soundness, decider.completeness),
        }
    }

    /// Adds what an audit found. A plugin that breaks a promise cannot be `ok`, whatever the search says.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance to look closer.
    pub fn add_audit(&mut self, audited: &Audited, cluster: &Cluster) -> Result<(), MachineError> {
        let report = AuditReport::new(audited, cluster)?;
        if !report.broken.is_empty() {
            self.leave_open("the plugin breaks a promise");
        }
        if let Some(BrokenPromise { violation: broken, .. }) = report.broken.first()
            && self.violations.is_empty()
        {
            self.result = Verdict::Error;
            self.exit = Exit::GuestFault;
            self.exit_code = self.exit.code();
            self.because = format!("the plugin breaks a promise: {}, but not `{}`", broken.promise, broken.function);
        }
        if let Some(stopped) = audited.stopped {
            self.because += &format!("; the audit is not finished: {stopped}");
        }
        self.audit = Some(report);
        Ok(())
    }

    /// Takes back that what was not found is not there.
    fn leave_open(&mut self, why: &'static str) {
        self.undecided = Some(why);
        for property in &mut self.properties {
            if matches!(property.status, "holds" | "never-reached") {
                property.status = "unknown";
            }
        }
        self.deadlock = self.deadlock.map(|found| if found == "none" { "unknown" } else { found });
    }

    /// Compares the result with what a scenario expects. A difference is never a success.
    pub fn compare(&mut self, expect: &Expectation) {
        let run = serde_json::to_value(&*self).expect("keys are strings, and nothing else can fail in memory");
        let unmet = expect.unmet(&run);
        if !unmet.is_empty() {
            self.fail(Exit::Unexpected);
        }
        self.unmet = (*expect != Expectation::default()).then_some(unmet);
    }

    /// Ends with this code what would end well.
    pub fn fail(&mut self, exit: Exit) {
        if self.exit == Exit::Ok {
            self.exit = exit;
            self.exit_code = exit.code();
        }
    }

    /// One JSON object.
    pub fn json(&self) -> String {
        json_text(self)
    }
}

fn verdict(undecided: Option<&str>, violations: &[Violation]) -> Verdict {
    match (violations.first(), undecided) {
        (Some(violation), _) if violation.nondeterminism.is_some() => Verdict::Error,
        (Some(violation), _) if matches!(violation.exit(), Exit::Evaluation | Exit::Plugin) => Verdict::Error,
        (Some(_), _) => Verdict::Violation,
        (None, None) => Verdict::Ok,
        (None, Some(_)) => Verdict::Incomplete,
    }
}

/// The name of what an answer rests on.
fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Unfolding => "unfolding",
        Basis::LocalStates => "local-states",
    }
}

/// Why there is no violation to tell of.
fn because(end: EndCondition) -> &'static str {
    match end {
        EndCondition::SpaceExhausted => "everything that can happen was explored, and no property is violated",
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

/// Why there is nothing to tell of what must happen, although everything was explored.
fn left_open(end: EndCondition) -> &'static str {
    match end {
        EndCondition::TimeBound => {
            "everything that can happen was explored, but --time ended the decision about `eventually` properties"
        }
        EndCondition::MemoryBound => {
            "everything that can happen was explored, but deciding `eventually` properties takes more memory (see --memory)"
        }
        _ => "everything that can happen was explored, but the decision about `eventually` properties was interrupted",
    }
}

/// Local states per one that is known to be reachable from which on an over-approximation does not fit the protocol.
const MISFIT: u64 = 4;

/// A note on a search that has gone through far more local states than are reachable; empty if it has not.
fn misfit(counts: &Counts) -> String {
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

/// That a node may keep what it could forget.
fn grows(growth: Option<Growth>) -> String {
    let Some(Growth { node, steps, bytes: (before, after) }) = growth else { return String::new() };
    format!(
        "; on a walk of {} the state of node {node} became longer and longer, from {} to {}, so there may be no end of states",
        count(steps.into(), "event"),
        count(before as u64, "byte"),
        count(after as u64, "byte"),
    )
}

fn deadlock(undecided: Option<&str>, violations: &[Violation]) -> &'static str {
    let is_deadlock = |violation: &Violation| matches!(&violation.trace.finding, Some(Finding::Deadlock { .. }));
    match undecided {
        _ if violations.iter().any(is_deadlock) => "found",
        None => "none",
        Some(_) => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_reachable_states_of_many_are_worth_a_word() {
        let counts = |local_states, reachable_local_states| {
            misfit(&Counts { local_states, reachable_local_states, ..Counts::default() })
        };
        let told = "; of the 24,007 local states that it assumes only 12 are known to be reachable, so another strategy may suit the \
                    protocol better";
        assert_eq!(counts(Some(24_007), Some(12)), told);
        assert!(counts(Some(4), Some(1)).contains("only 1 is known"));
        assert_eq!([counts(Some(47), Some(12)), counts(Some(47), None), counts(None, Some(12))], [""; 3]);
    }
}
