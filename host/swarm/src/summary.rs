//! The report on all results.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::plan::Plan;
use crate::results::Sketches;
use crate::run::Over;

/// The version of the JSON object.
const SWARM_VERSION: u32 = 1;

/// The exit code if a job failed, and nothing was found.
const SYSTEM: i32 = 153;

/// The exit codes of a property that cannot be evaluated, and of one that is never reached.
const EVALUATION: i32 = 75;
const NEVER_REACHED: i32 = 15;

/// The report on a swarm. It depends on the results of the jobs alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The version of this object.
    pub swarm_version: u32,
    /// The number of jobs that count.
    pub jobs: usize,
    /// The number of jobs by verdict.
    pub results: BTreeMap<String, usize>,
    /// The findings, those of earlier jobs first.
    pub findings: Vec<Finding>,
    /// The jobs without a result.
    pub failed: Vec<Failed>,
    /// The union of what they have seen.
    pub seen: Seen,
    /// The exit code of the command.
    pub exit_code: i32,
}

/// Findings of one shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The target.
    pub target: String,
    /// The property; none for a fault and a deadlock.
    pub property: Option<String>,
    /// The kind.
    pub kind: String,
    /// The finding, a phrase.
    pub message: String,
    /// The shape: equal for variants by node, by value and by order.
    pub shape: String,
    /// The number of jobs with such a finding.
    pub jobs: usize,
    /// The first of them.
    pub first_job: usize,
    /// The job with the shortest trace.
    pub job: usize,
    /// Its seed.
    pub seed: u64,
    /// The number of events of that trace.
    pub length: usize,
    /// The file with it.
    pub trace: Option<String>,
    /// The command that replays it.
    pub replay: Option<String>,
}

/// A job without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// Its number.
    pub job: usize,
    /// Its name.
    pub name: String,
    /// The reason.
    pub why: String,
}

/// The union of what the jobs have seen, in estimates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seen {
    /// The estimates after the first job, after each doubling of the jobs, and after all.
    pub curve: Vec<Point>,
    /// The last job that added something.
    pub last_new_job: Option<usize>,
    /// The standard error of the estimates.
    pub standard_error: f64,
    /// The estimates are lower bounds: some job has forgotten a part of what it had seen.
    pub at_least: bool,
}

/// The union of what the first jobs have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// The number of jobs.
    pub jobs: usize,
    /// Local states of all nodes.
    pub local_states: u64,
    /// Messages.
    pub messages: u64,
}

impl Summary {
    /// The report on these results; `program` is in the commands for people.
    pub fn new(plan: &Plan, over: &Over, program: &str) -> Self {
        let mut results: BTreeMap<String, usize> = BTreeMap::new();
        let mut findings: Vec<Finding> = Vec::new();
        let mut exit_code = if over.failed.is_empty() { 0 } else { SYSTEM };
        for (number, result) in over.results.iter().rev() {
            *results.entry(result.result.clone()).or_default() += 1;
            if result.has_finding() {
                exit_code = result.exit;
            }
            let (job, folder) = (plan.job(*number), &result.swarm);
            for violation in result.violations.iter().rev() {
                let name = violation.trace.as_deref().and_then(|trace| Path::new(trace).file_name());
                let trace = name.map(|name| folder.job(*number).join(name).display().to_string());
                let replay = match (&trace, job.target.is_component) {
                    (Some(trace), true) => {
                        let component = folder.path().join(&job.target.path);
                        Some(format!(
                            "{program} replay {} --plugin {}",
                            word(trace),
                            word(&component.to_string_lossy())
                        ))
                    }
                    _ => violation.replay.clone(),
                };
                let new = Finding {
                    target: job.target.name.clone(),
                    property: violation.property.clone(),
                    kind: violation.kind.clone(),
                    message: violation.message.clone(),
                    shape: violation.shape.clone(),
                    jobs: 1,
                    first_job: *number,
                    job: *number,
                    seed: job.seed,
                    length: violation.length,
                    trace,
                    replay,
                };
                match findings.iter_mut().find(|finding| finding.is_like(&new)) {
                    Some(finding) => finding.add(new),
                    None => findings.push(new),
                }
            }
        }
        findings.sort_by(|one, other| one.first_job.cmp(&other.first_job).then_with(|| one.shape.cmp(&other.shape)));
        let failed = over.failed.iter();
        let failed = failed.map(|(job, why)| Failed { job: *job, name: plan.job(*job).name(), why: why.clone() });
        Self {
            swarm_version: SWARM_VERSION,
            jobs: over.jobs.len(),
            results,
            findings,
            failed: failed.collect(),
            seen: seen(over),
            exit_code,
        }
    }

    /// Text for people: the first line has the answer.
    pub fn text(&self, plan: &Plan) -> String {
        let ended: usize = self.results.values().sum();
        let verdicts: Vec<String> = self.results.iter().map(|(name, number)| format!("{number} {name}")).collect();
        let mut text = match self.findings.first() {
            Some(finding) if self.exit_code == EVALUATION => format!("error: {}\n", finding.words()),
            Some(finding) => format!("violation: {}\n", finding.words()),
            None if ended == 0 => "nothing: no job has ended\n".to_owned(),
            None if self.exit_code == NEVER_REACHED => {
                "never-reached: a `sometimes` property holds in no state of a complete search\n".to_owned()
            }
            None if self.results.get("ok") == Some(&self.jobs) => {
                "ok: each job is complete, and no property is violated\n".to_owned()
            }
            None => "no violation was found; a swarm samples, and proves nothing\n".to_owned(),
        };
        text += &format!("jobs        {ended} of {} ended: {}\n", self.jobs, verdicts.join(", "));
        for Failed { job, name, why } in &self.failed {
            text += &format!("failed      job {job} ({name}): {why}\n");
        }
        if let Some(last) = self.seen.curve.last() {
            let least = if self.seen.at_least { "at least " } else { "" };
            let error = self.seen.standard_error * 100.0;
            let Point { local_states, messages, .. } = last;
            text += &format!(
                "seen        {least}about {local_states} local states, {messages} messages (error {error:.1} %)\n"
            );
            let points: Vec<String> =
                self.seen.curve.iter().map(|point| format!("{} after {}", point.local_states, point.jobs)).collect();
            text += &format!("growth      local states: {} jobs\n", points.join(", "));
        }
        if let Some(job) = self.seen.last_new_job {
            text += &format!("last new    in job {job} ({})\n", plan.job(job).name());
        }
        for finding in &self.findings {
            let Finding { target, jobs, job, seed, length, .. } = finding;
            let words = finding.words();
            text += &format!("\n{words}\n  {target}: {jobs} of the jobs; {length} steps in job {job} (seed {seed})\n");
            if let Some(replay) = &finding.replay {
                text += &format!("  {replay}\n");
            }
        }
        text
    }
}

impl Finding {
    /// The finding in words, as the first line of `host run` has it.
    fn words(&self) -> String {
        match &self.property {
            Some(property) if self.kind == "always" => format!("{property} is violated: {}", self.message),
            Some(property) => format!("{property}: {}", self.message),
            None => self.message.clone(),
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        self.target == other.target
            && self.property == other.property
            && self.kind == other.kind
            && self.shape == other.shape
    }

    /// Adds a finding of the same job or an earlier one.
    fn add(&mut self, earlier: Self) {
        let jobs = self.jobs + usize::from(earlier.first_job < self.first_job);
        let first_job = earlier.first_job;
        if earlier.length <= self.length {
            *self = earlier;
        }
        (self.jobs, self.first_job) = (jobs, first_job);
    }
}

/// The growth of the union over the jobs in their order.
fn seen(over: &Over) -> Seen {
    let (mut all, mut curve, mut last_new_job) = (Sketches::default(), Vec::new(), None);
    for (index, (job, result)) in over.results.iter().enumerate() {
        if all.add_all(&result.sketches) {
            last_new_job = Some(*job);
        }
        let jobs = index + 1;
        if jobs.is_power_of_two() || jobs == over.results.len() {
            let (local_states, messages) = (all.local_states.estimate(), all.messages.estimate());
            curve.push(Point { jobs, local_states, messages });
        }
    }
    let at_least = over.results.values().any(|result| result.is_part);
    Seen { curve, last_new_job, standard_error: 0.016, at_least }
}

/// A word of a command line for people.
fn word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:=@%+,".contains(letter);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;
    use crate::plan::{FORMAT, Target};
    use crate::results::{JobResult, Violation};

    fn violation(shape: &str, length: usize) -> Violation {
        Violation {
            property: Some("agreement".to_owned()),
            kind: "always".to_owned(),
            message: format!("{shape} at last"),
            shape: shape.to_owned(),
            length,
            trace: Some("elsewhere/jobs/000009/trace-2.json".to_owned()),
            replay: None,
        }
    }

    fn result(swarm: &Folder, violations: Vec<Violation>, states: std::ops::Range<u128>) -> JobResult {
        let mut sketches = Sketches::default();
        let spread = |number: u128| number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        states.map(spread).for_each(|state| sketches.local_states.add(state));
        let (result, exit) = if violations.is_empty() { ("incomplete", 0) } else { ("violation", 12) };
        JobResult { swarm: swarm.clone(), result: result.to_owned(), exit, violations, sketches, is_part: false }
    }

    #[test]
    fn findings_of_one_shape_are_one_with_the_shortest_trace() {
        let target = Target {
            name: "paxos".to_owned(),
            path: "components/paxos.wasm".to_owned(),
            is_component: true,
            digest: "0".to_owned(),
            scenario: serde_json::Value::Null,
            options: Vec::new(),
        };
        let plan = Plan { format: FORMAT, host: String::new(), targets: vec![target], first_seed: 100, seeds: 6 };
        let place = tempfile::tempdir().expect("a temporary folder");
        let path = place.path().join("a swarm");
        let (folder, _lock) = Folder::open(&path, &plan).expect("a new folder");
        let results = BTreeMap::from([
            (0, result(&folder, Vec::new(), 0..100)),
            (1, result(&folder, vec![violation("two values", 18), violation("two values", 17)], 50..150)),
            (2, result(&folder, vec![violation("no value", 9)], 0..150)),
            (4, result(&folder, vec![violation("two values", 17)], 100..120)),
        ]);
        let failed = BTreeMap::from([(3, "it was killed".to_owned())]);
        let summary = Summary::new(&plan, &Over { jobs: 0..5, results, failed }, "host");
        assert_eq!((summary.jobs, summary.exit_code), (5, 12));
        assert_eq!(summary.results, BTreeMap::from([("incomplete".to_owned(), 1), ("violation".to_owned(), 3)]));
        let facts: Vec<_> = summary.findings.iter().map(|one| [one.jobs, one.first_job, one.job, one.length]).collect();
        assert_eq!(facts, [[2, 1, 1, 17], [1, 2, 2, 9]]);
        assert_eq!(summary.findings[0].seed, 101);
        let replay = summary.findings[0].replay.as_deref().expect("a command");
        let path = path.display();
        assert_eq!(
            replay,
            format!("host replay '{path}/jobs/000001/trace-2.json' --plugin '{path}/components/paxos.wasm'")
        );
        let curve: Vec<_> = summary.seen.curve.iter().map(|point| point.jobs).collect();
        assert_eq!((curve, summary.seen.last_new_job), (vec![1, 2, 4], Some(1)));
        let text = summary.text(&plan);
        assert!(text.starts_with("violation: agreement is violated: two values at last\njobs        4 of 5 ended: 1 incomplete, 3 violation\n"), "{text}");
        assert!(text.contains("\nfailed      job 3 (paxos, seed 103): it was killed\n"), "{text}");
        assert!(text.contains("\nlast new    in job 1 (paxos, seed 101)\n"), "{text}");
    }
}
