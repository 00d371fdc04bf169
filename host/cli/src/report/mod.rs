//! The result of a run: one structure, shown as text or as JSON.
//!
//! | module | what it holds |
//! |---|---|
//! | `text` | the result for people |
//! | `assumed` | the assumptions of a verdict |
//! | `counts` | the counts |
//! | `decided` | whether a search has decided what it did not find |
//! | `never` | parts of a protocol that a run never reached |

mod assumed;
mod counts;
mod decided;
mod never;
mod text;

use host_inspect::explain::{self, Paint};
use host_inspect::words;
use host_model::audit::{Audited, Broken};
use host_model::lts::Lts;
use host_model::machine::{NodeId, Property, PropertyKind};
use host_model::scenario::Scenario;
use host_model::trace::{Finding, PluginRef};
use host_search::kernel::{Basis, End, Report, SymmetryUse};
use serde::Serialize;

use crate::args::RunArguments;
use crate::bounds::peak_bytes;
use crate::exit::Exit;
use crate::expectation::Expectation;
use crate::finding::{Unfinished, Violation};
use crate::json_text;
use crate::plugin_source::Loaded;
use crate::report::assumed::Assumed;
use crate::report::counts::CountsReport;
use crate::report::never::Never;
use crate::text::shell_quoted;

/// A run that is over.
pub struct Run<'r> {
    /// What was asked for.
    pub arguments: &'r RunArguments,
    /// The name of the program.
    pub program: &'r str,
    /// The plugin.
    pub loaded: &'r Loaded,
    /// The cluster.
    pub lts: &'r Lts<'r>,
    /// What the strategy reports.
    pub report: &'r Report,
    /// How long the search took.
    pub times: Times,
    /// Events of the prefix; 0 without one.
    pub prefix_steps: usize,
    /// How the result is written.
    pub paint: Paint,
}

/// How long a search took, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// All of it.
    pub search: f64,
    /// The part that went into verifying what the search came across; 0 for a strategy that verifies nothing.
    pub verification: f64,
}

/// Where a trace was written.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The file, as the user would name it.
    pub trace: String,
    /// The trace as the search found it, if that is another one.
    pub found: Option<String>,
    /// The drawing of the trace, unless that would be too large.
    pub drawing: Option<String>,
    /// The command that replays it.
    pub replay: String,
}

/// The result of a run. The order of the fields is that of the JSON object.
#[derive(Debug, Serialize)]
pub struct RunReport {
    result: Verdict,
    end: &'static str,
    exit_code: u8,
    /// What makes the same run again.
    command: String,
    algo: &'static str,
    plugin: PluginReport,
    scenario: Scenario,
    assumed: Assumed,
    counts: CountsReport,
    /// What the answer rests on: `unfolding` or `local-states`; none where that is what the strategy goes through.
    #[serde(skip_serializing_if = "Option::is_none")]
    basis: Option<&'static str>,
    /// None where the plugin declares none, or nobody asked.
    symmetry: Option<SymmetryReport>,
    depth: u32,
    seconds: Seconds,
    memory_peak_bytes: Option<u64>,
    properties: Vec<PropertyReport>,
    /// What was met and never happened; null with `--reduce`.
    never: Option<Never>,
    /// `found`, `none` or `unknown`; null if nobody looked for one.
    deadlock: Option<&'static str>,
    violations: Vec<ViolationReport>,
    /// What was audited, and what came of it; none without an audit.
    audit: Option<AuditReport>,
    /// What a scenario expects and did not come out; none without a scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    unmet: Option<Vec<String>>,
    /// Why it is open whether there is more than was found; none if there is nothing more.
    #[serde(skip)]
    undecided: Option<&'static str>,
    #[serde(skip)]
    exit: Exit,
    /// One phrase that says more than the verdict.
    #[serde(skip)]
    because: String,
    /// What the strategy guarantees.
    #[serde(skip)]
    guarantees: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    Violation,
    Incomplete,
    Error,
}

/// What became of interchangeable nodes; one of the two is there.
#[derive(Debug, Serialize)]
struct SymmetryReport {
    /// States are told apart only up to so many renamings.
    renamings: Option<u64>,
    /// Why the declaration of the plugin was not used.
    refused: Option<String>,
}

impl From<&SymmetryUse> for SymmetryReport {
    fn from(symmetry: &SymmetryUse) -> Self {
        match symmetry {
            SymmetryUse::Renamings(renamings) => Self { renamings: Some(*renamings), refused: None },
            SymmetryUse::Refused(why) => Self { renamings: None, refused: Some(why.clone()) },
        }
    }
}

/// A plugin in JSON.
#[derive(Debug, Serialize)]
pub struct PluginReport {
    name: String,
    version: Option<String>,
    digest: Option<String>,
}

impl From<&PluginRef> for PluginReport {
    fn from(plugin: &PluginRef) -> Self {
        Self { name: plugin.name.clone(), version: plugin.version.clone(), digest: plugin.digest.clone() }
    }
}

/// What was audited.
#[derive(Debug, Serialize)]
struct AuditReport {
    /// Whether it looked at all that it was to look at.
    finished: bool,
    states: usize,
    ambiguous_states: usize,
    broken: Vec<BrokenReport>,
}

#[derive(Debug, Serialize)]
struct BrokenReport {
    promise: &'static str,
    function: String,
    place: String,
    one: String,
    other: String,
    cause: &'static str,
}

impl From<&Audited> for AuditReport {
    fn from(audited: &Audited) -> Self {
        let broken = audited.broken.iter().cloned();
        let broken = broken.map(|Broken { promise, function, place, one, other, cause }| BrokenReport {
            promise,
            function,
            place,
            one,
            other,
            cause,
        });
        Self {
            finished: audited.stopped.is_none(),
            states: audited.states,
            ambiguous_states: audited.ambiguous,
            broken: broken.collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Seconds {
    load: f64,
    search: f64,
    /// Part of `search`; none for a strategy without soundness verification.
    verification: Option<f64>,
}

#[derive(Debug, Serialize)]
struct PropertyReport {
    name: String,
    kind: PropertyKind,
    scope: String,
    status: &'static str,
}

#[derive(Debug, Serialize)]
struct ViolationReport {
    /// None for a fault and a deadlock.
    property: Option<String>,
    /// `always`, `broken`, `deadlock`, `nondeterminism`, or the kind of fault.
    kind: String,
    message: String,
    node: Option<NodeId>,
    trace: Option<String>,
    /// The trace as the search found it, if another one is shown.
    found: Option<String>,
    /// The drawing of the trace.
    drawing: Option<String>,
    /// How many more were found that end in the same way.
    alike: usize,
    /// All events, those of the prefix included.
    length: usize,
    /// The same of what the search found.
    found_length: usize,
    prefix_length: usize,
    shortest: bool,
    /// Whether it was run again from the start, in fresh machines.
    confirmed: bool,
    /// What was stopped before it was done, a phrase; null if nothing was.
    unfinished: Option<String>,
    replay: Option<String>,
    #[serde(skip)]
    title: String,
    /// The events with what they did, as text in the colours of the output.
    #[serde(skip)]
    steps: String,
    /// What the property reads at the end.
    #[serde(skip)]
    views: String,
}

impl RunReport {
    /// Puts together what is to be told.
    pub fn new(run: &Run<'_>, violations: &[Violation], saved: Vec<Option<Saved>>) -> Self {
        let undecided = decided::undecided(run.report.end, violations);
        let result = verdict(undecided, violations);
        let exit = match violations.first() {
            Some(violation) => violation.exit(),
            None if result == Verdict::Incomplete && run.arguments.require_complete => Exit::TooLarge,
            None => Exit::Ok,
        };
        let reports: Vec<ViolationReport> =
            violations.iter().zip(saved).map(|(violation, saved)| violation_report(run, violation, saved)).collect();
        let properties = properties(run, undecided, violations);
        let because = match reports.first() {
            Some(violation) => violation.title.clone(),
            None => because(run.report.end).to_owned() + &unreached(&properties),
        };
        let strategy = run.arguments.algo;
        Self {
            result,
            end: run.report.end.name(),
            exit_code: exit.code(),
            command: command(run),
            algo: strategy.name,
            plugin: PluginReport::from(&run.loaded.reference),
            scenario: run.lts.scenario().clone(),
            assumed: Assumed::new(run),
            counts: CountsReport(run.report.counts),
            basis: run.report.basis.map(basis),
            symmetry: run.report.symmetry.as_ref().map(SymmetryReport::from),
            depth: run.report.depth,
            seconds: Seconds {
                load: rounded(run.loaded.seconds),
                search: rounded(run.times.search),
                // A strategy counts soundness checks exactly if it makes some.
                verification: run.report.counts.soundness_checks.map(|_| rounded(run.times.verification)),
            },
            memory_peak_bytes: peak_bytes(),
            properties,
            never: Never::new(run),
            deadlock: run.arguments.deadlock.then(|| deadlock(undecided, violations)),
            violations: reports,
            audit: None,
            unmet: None,
            undecided,
            exit,
            because,
            guarantees: format!("{}; {}", strategy.soundness, strategy.completeness),
        }
    }

    /// Adds what an audit found. A plugin that breaks a promise cannot be `ok`, whatever the search says.
    pub fn add_audit(&mut self, audited: &Audited) {
        let report = AuditReport::from(audited);
        if !report.broken.is_empty() {
            self.leave_open("the plugin breaks a promise");
        }
        if let Some(broken) = report.broken.first()
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
        if !unmet.is_empty() && self.exit == Exit::Ok {
            self.exit = Exit::Unexpected;
            self.exit_code = self.exit.code();
        }
        self.unmet = (*expect != Expectation::default()).then_some(unmet);
    }

    /// How the command ends.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// One JSON object.
    pub fn json(&self) -> String {
        json_text(self)
    }
}

fn verdict(undecided: Option<&str>, violations: &[Violation]) -> Verdict {
    match (violations.first(), undecided) {
        (Some(violation), _) if violation.nondeterminism.is_some() => Verdict::Error,
        (Some(violation), _) if violation.exit() == Exit::Evaluation => Verdict::Error,
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

/// The command line of a run, for a shell.
fn command(run: &Run<'_>) -> String {
    let words = [run.program, "run"].into_iter().chain(run.arguments.words.iter().map(String::as_str));
    words.map(shell_quoted).collect::<Vec<_>>().join(" ")
}

/// Why there is no violation to tell of.
fn because(end: End) -> &'static str {
    match end {
        End::SpaceExhausted => "everything that can happen was explored, and no property is violated",
        End::Pruned => "no violation found, but the strategy leaves events out on purpose",
        End::WalksDone => "no violation found, but random walks see only part of what can happen",
        End::DepthBound => "no violation found, but --depth cut off longer paths",
        End::LocalEventBound => "no violation found, but --local-events left events out",
        End::StateBound => "no violation found, but --states ended the search early",
        End::TimeBound => "no violation found, but --time ended the search early",
        End::MemoryBound => "no violation found, but the memory is used up (see --memory)",
        End::Interrupted => "no violation found, but the search was interrupted",
        End::Violation => unreachable!("a search that ends in a violation has one"),
    }
}

fn properties(run: &Run<'_>, undecided: Option<&str>, violations: &[Violation]) -> Vec<PropertyReport> {
    let status = |property: &Property, witnessed: Option<bool>| {
        let found = violations.iter().find_map(|violation| match &violation.trace.finding {
            Some(Finding::Property { name, .. }) if *name == property.name => Some("violated"),
            Some(Finding::Broken { property: name, .. }) if *name == property.name => Some("broken"),
            _ => None,
        });
        match (property.kind, found, witnessed) {
            (PropertyKind::Eventually, ..) => "not-checked",
            (_, Some(found), _) => found,
            (PropertyKind::Sometimes, _, Some(true)) => "reached",
            (PropertyKind::Sometimes, ..) if undecided.is_none() => "never-reached",
            (PropertyKind::Always, ..) if undecided.is_none() => "holds",
            _ => "unknown",
        }
    };
    let witnessed = run.report.witnessed.iter();
    let properties = run.loaded.properties.iter().zip(witnessed).map(|(property, witnessed)| PropertyReport {
        name: property.name.clone(),
        kind: property.kind,
        scope: words::name(property.scope),
        status: status(property, *witnessed),
    });
    properties.collect()
}

/// What the verdict must not leave unsaid: a goal that cannot be reached is no violation, but hardly what was meant.
fn unreached(properties: &[PropertyReport]) -> String {
    let unreached = properties.iter().filter(|property| property.status == "never-reached");
    let names: Vec<&str> = unreached.map(|property| property.name.as_str()).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!("; {} is never reached", words::on_one_line(one)),
        several => format!("; never reached: {}", words::on_one_line(&several.join(", "))),
    }
}

fn deadlock(undecided: Option<&str>, violations: &[Violation]) -> &'static str {
    let is_deadlock = |violation: &Violation| matches!(&violation.trace.finding, Some(Finding::Deadlock { .. }));
    match undecided {
        _ if violations.iter().any(is_deadlock) => "found",
        None => "none",
        Some(_) => "unknown",
    }
}

fn violation_report(run: &Run<'_>, violation: &Violation, saved: Option<Saved>) -> ViolationReport {
    let trace = &violation.trace;
    let finding = trace.finding.as_ref().expect("a violation is a finding");
    let (property, mut kind, mut message) = match finding {
        Finding::Property { name, kind, message } => (Some(name.clone()), words::name(kind), message.clone()),
        Finding::Broken { property, fault } => (Some(property.clone()), "broken".to_owned(), fault.to_string()),
        Finding::Fault { fault, .. } => (None, words::name(fault.kind), fault.to_string()),
        Finding::Deadlock { message } => (None, "deadlock".to_owned(), message.clone()),
    };
    let mut title = words::finding(finding, violation.node.filter(|_| property.is_some()));
    if let Some(differs) = &violation.nondeterminism {
        kind = "nondeterminism".to_owned();
        title = words::on_one_line(&format!(
            "the plugin is not deterministic, or its `serialize` leaves out what matters: \
             the search found that {title}; run again from the start, {differs}"
        ));
        message = title.clone();
    }
    if let Some(Unfinished::Confirming(_)) = violation.unfinished {
        title = format!("not confirmed: the search found that {title}");
    }
    ViolationReport {
        property,
        kind,
        message,
        node: violation.node,
        trace: saved.as_ref().map(|saved| saved.trace.clone()),
        drawing: saved.as_ref().and_then(|saved| saved.drawing.clone()),
        alike: violation.alike,
        found: saved.as_ref().and_then(|saved| saved.found.clone()),
        length: trace.steps.len(),
        found_length: violation.found.as_ref().map_or(trace.steps.len(), |(found, _)| found.steps.len()),
        prefix_length: run.prefix_steps,
        shortest: violation.shortest,
        confirmed: violation.nondeterminism.is_none()
            && !matches!(violation.unfinished, Some(Unfinished::Confirming(_))),
        unfinished: violation.unfinished.map(unfinished),
        replay: saved.map(|saved| saved.replay),
        title,
        steps: explain::steps(&violation.recording, run.prefix_steps, run.paint),
        views: explain::views(&violation.recording),
    }
}

/// What was not done with a finding, and why.
fn unfinished(unfinished: Unfinished) -> String {
    match unfinished {
        Unfinished::Confirming(why) => format!("not run again from the start: {why}"),
        Unfinished::Minimizing(why) => format!("not made short: {why}"),
    }
}

/// Seconds to the microsecond.
pub fn rounded(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}
