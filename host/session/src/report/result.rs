//! The result of a run, in the order of its JSON object.

use std::num::NonZeroU64;

use host_model::audit::Audited;
use host_model::contract::{MachineError, NodeId};
use host_model::scenario::Scenario;
use host_model::trace::PluginRef;
use host_search::kernel::{Basis, CurvePoint, Growth, LevelSizes, Rest, SymmetryUse};
use host_search::strategy::find;
pub use host_search::verdict::Verdict;
use host_search::verdict::{Status, Statuses};
use serde::{Serialize, Serializer};

use crate::base::Exit;
use crate::base::bounds::peak_bytes;
use crate::base::text::{json_text, rounded};
use crate::cluster::Cluster;
use crate::report::assumed::Assumed;
use crate::report::audit::{AuditReport, ReportedViolation};
use crate::report::counts::{CountsReport, DISTINCT};
use crate::report::decided;
use crate::report::ending::{self, Ending};
use crate::report::headline;
use crate::report::not_covered::NotCovered;
use crate::report::properties::{self, PropertyReport};
use crate::report::run::{FinishedRun, Saved};
use crate::report::scopes::ScopeReport;
use crate::report::unreached::Unreached;
use crate::report::violation::ViolationReport;
use crate::spec::expectation::Expectation;

/// The version of the JSON object, which `docs/result.schema.json` describes. A new field keeps it; removing a field or
/// changing its meaning raises it.
pub const RESULT_VERSION: u32 = 1;

/// The result of a run. The order of the fields is that of the JSON object.
#[derive(Debug, Serialize)]
pub struct RunReport {
    /// [`RESULT_VERSION`].
    pub result_version: u32,
    /// The verdict.
    #[serde(serialize_with = "by_name")]
    pub result: Verdict,
    /// The reason why the search ended.
    pub end: &'static str,
    /// The exit code of the command.
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
    /// The number of times that the search forgot the effects of handlers to stay within its memory; none if it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewals: Option<NonZeroU64>,
    /// A node whose state grew all the time on a random walk; none if no walk met one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<GrowthReport>,
    /// The observations of random walks after 1,024 steps and after each doubling of them; empty without walks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePointReport>,
    /// The levels of a search that proceeds by levels; none for all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<LevelsReport>,
    /// The basis of the answer: `unfolding` or `local-states`; none where the strategy itself explores that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<&'static str>,
    /// The use of symmetry; none where the plugin declares none, or it was not requested.
    pub symmetry: Option<SymmetryReport>,
    /// Events on the longest path.
    pub depth: u32,
    /// The duration.
    pub seconds: Seconds,
    /// The peak memory of the process, in bytes.
    pub memory_peak_bytes: Option<u64>,
    /// The properties of the plugin.
    pub properties: Vec<PropertyReport>,
    /// Events and messages that were met and never happened; null with `--reduce`, and where the search forgot what happened.
    pub unreached: Option<Unreached>,
    /// The same under its old name.
    never: Option<Unreached>,
    /// The faults and ends that the run did not look for, and the options to look for them.
    pub not_covered: Vec<NotCovered>,
    /// `found`, `none` or `unknown`; null if deadlocks were not looked for.
    pub deadlock: Option<&'static str>,
    /// The violations.
    pub violations: Vec<ViolationReport>,
    /// The extent and the findings of the audit; none without an audit.
    pub audit: Option<AuditReport>,
    /// The scopes of `--grow`; empty without it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<ScopeReport>,
    /// Expectations of a scenario that were not met; none without a scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmet: Option<Vec<String>>,
    /// The reason why there may be more violations than were found; none if there are no more.
    #[serde(skip)]
    pub undecided: Option<&'static str>,
    /// The statuses of the properties, of faults and of deadlocks: the verdict follows from them alone.
    #[serde(skip)]
    pub statuses: Statuses,
    /// The other inputs of the exit code.
    #[serde(skip)]
    pub ending: Ending,
    /// The exit code.
    #[serde(skip)]
    pub exit: Exit,
    /// One phrase that is more specific than the verdict.
    #[serde(skip)]
    pub because: String,
    /// The guarantees of the strategy.
    #[serde(skip)]
    pub guarantees: String,
}

/// The use of interchangeable nodes; one of the two fields is set.
#[derive(Debug, Serialize)]
pub struct SymmetryReport {
    /// The number of renamings up to which states are distinguished.
    pub renamings: Option<u64>,
    /// The reason why the declaration of the plugin was not used.
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

/// A node whose state grew all the time on a walk.
#[derive(Debug, Serialize)]
pub struct GrowthReport {
    /// The node.
    pub node: NodeId,
    /// Events of the walk during which it grew.
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

/// A point of the curve of random walks, in JSON.
#[derive(Debug, Serialize)]
pub struct CurvePointReport {
    /// Steps of all walks together.
    pub transitions: u64,
    /// Walks that had begun.
    pub walks: u64,
    /// Distinct local states; a lower bound.
    pub local_states: u64,
    /// Distinct views of a node, all that properties of system scope see of it; a lower bound.
    pub views: u64,
    /// Distinct outcomes; a lower bound.
    pub outcomes: u64,
}

impl From<CurvePoint> for CurvePointReport {
    fn from(point: CurvePoint) -> Self {
        let CurvePoint { transitions, walks, local_states, views, outcomes } = point;
        Self { transitions, walks, local_states, views, outcomes }
    }
}

/// The levels of a search, in JSON.
#[derive(Debug, Serialize)]
pub struct LevelsReport {
    /// The number of states expanded at each distance from the start; those of complete levels.
    pub expanded: Vec<u64>,
    /// Whether these are all levels: the search came to its end.
    pub whole: bool,
    /// An estimate of what was left; none of a search that came to its end, and where the levels say nothing about it.
    pub estimate: Option<EstimateReport>,
}

/// An estimate of what a search has left, in JSON.
#[derive(Debug, Serialize)]
pub struct EstimateReport {
    /// States.
    pub states: u64,
    /// LevelSizes.
    pub levels: u64,
}

impl LevelsReport {
    fn new(levels: &LevelSizes) -> Option<Self> {
        let estimate = levels.rest().map(|Rest { states, levels }| EstimateReport { states, levels });
        (!levels.is_empty()).then(|| Self { expanded: levels.complete().to_vec(), whole: levels.is_whole(), estimate })
    }
}

/// A plugin in JSON.
#[derive(Debug, Serialize)]
pub struct PluginReport {
    /// Its name.
    pub name: String,
    /// Its version, if it has one.
    pub version: Option<String>,
    /// The hash of the component.
    pub digest: Option<String>,
}

impl From<&PluginRef> for PluginReport {
    fn from(plugin: &PluginRef) -> Self {
        Self { name: plugin.name.clone(), version: plugin.version.clone(), digest: plugin.digest.clone() }
    }
}

/// The durations of a run, in seconds.
#[derive(Debug, Serialize)]
pub struct Seconds {
    /// Loading: from the bytes of the component to a plugin.
    pub load: f64,
    /// The search.
    pub search: f64,
    /// Part of `search`; none for a strategy without soundness verification.
    pub verification: Option<f64>,
}

impl RunReport {
    /// Assembles the report.
    pub fn new(run: &FinishedRun<'_>, saved: Vec<Option<Saved>>) -> Self {
        let (report, violations) = (&run.outcome.report, run.outcome.violations.as_slice());
        let undecided = decided::undecided(report.end, violations);
        let statuses = ending::statuses(run);
        let result = statuses.verdict();
        let leading = ending::leading(run.lts, violations, result);
        let ending = Ending::new(run, leading);
        let exit = ending.exit(result);
        let reports: Vec<ViolationReport> = violations
            .iter()
            .zip(saved)
            .map(|(violation, saved)| ViolationReport::new(run, violation, saved))
            .collect();
        let properties = properties::properties(run, &statuses, undecided);
        let counts = CountsReport(report.counts);
        let because = match leading.map(|index| &reports[index]) {
            Some(violation) if violation.class.is_some() => violation.title.clone() + &properties::notes(&properties),
            Some(violation) => violation.title.clone(),
            None => {
                let because = headline::without_violation(result, report, &properties);
                because + &headline::misfit(&counts) + &headline::grows(report.growth) + &properties::notes(&properties)
            }
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
            counts,
            at_least: if report.are_lower_bounds { DISTINCT } else { &[] },
            renewals: NonZeroU64::new(report.renewals),
            growth: report.growth.map(GrowthReport::from),
            curve: report.curve.iter().copied().map(CurvePointReport::from).collect(),
            levels: LevelsReport::new(&report.levels),
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
            deadlock: statuses.deadlock.map(deadlock),
            violations: reports,
            audit: None,
            scopes: Vec::new(),
            unmet: None,
            undecided,
            statuses,
            ending,
            exit,
            because,
            guarantees: format!("{}; {}", decider.soundness, decider.completeness),
        }
    }

    /// Adds the findings of an audit. With a contract violation, the verdict cannot be `ok`, whatever the search found.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance to examine the difference.
    pub fn add_audit(&mut self, audited: &Audited, cluster: &Cluster) -> Result<(), MachineError> {
        let report = AuditReport::new(audited, cluster)?;
        if let Some(ReportedViolation { violation: broken, .. }) = report.broken.first() {
            self.distrust("the plugin breaks its contract");
            if self.result == Verdict::Error && self.ending.leading.is_none() {
                self.because =
                    format!("the plugin breaks its contract: {}, but not `{}`", broken.promise, broken.function);
            }
        }
        if let Some(stopped) = audited.stopped {
            self.because += &format!("; the audit is not finished: {stopped}");
        }
        self.audit = Some(report);
        Ok(())
    }

    /// Takes back conclusions from the absence of findings.
    fn distrust(&mut self, why: &'static str) {
        self.undecided = Some(why);
        self.statuses.distrust();
        for property in &mut self.properties {
            property.status = property.status.distrusted();
        }
        self.deadlock = self.statuses.deadlock.map(deadlock);
        self.result = self.statuses.verdict();
        self.exit = self.ending.exit(self.result);
        self.exit_code = self.exit.code();
    }

    /// Compares the result with the expectation of a scenario. A difference is never a success.
    pub fn compare(&mut self, expect: &Expectation) {
        let run = serde_json::to_value(&*self).expect("keys are strings, and nothing else can fail in memory");
        let mut unmet = expect.unmet(&run);
        if self.exit != Exit::Ok && !expect.says_how_it_ends() {
            unmet.push(format!("the result is {}, and no violation is expected", self.result.name()));
        }
        if !unmet.is_empty() {
            self.fail(Exit::Unexpected);
        }
        self.unmet = (*expect != Expectation::default()).then_some(unmet);
    }

    /// Ends with this code if the run would end well.
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

fn by_name<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict.name())
}

/// The name of the basis of an answer.
fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Unfolding => "unfolding",
        Basis::LocalStates => "local-states",
    }
}

/// The word for a status of the search for deadlocks.
fn deadlock(status: Status) -> &'static str {
    match status {
        Status::Violated => "found",
        Status::Holds => "none",
        _ => "unknown",
    }
}
