//! The thread of a search.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host_inspect::page::Story;
use host_inspect::words;
use host_model::audit::{AuditedFactory, Mode};
use host_model::lts::Lts;
use host_model::trace::{Finding, Trace};
use host_session::base::context::{Builds, Clock};
use host_session::base::{Context, Failure};
use host_session::cluster::{Cluster, trace_file};
use host_session::report::{FinishedRun, RunReport};
use host_session::search;
use host_session::search::finding::{Early, Violation};
use host_session::search::monitor::{Form, Moment, Shown};
use host_session::spec::RunSpec;

use super::ends;
use super::found::Found;

/// The resources of the thread of a search.
pub(super) struct Task {
    pub(super) spec: RunSpec,
    pub(super) prefix: Trace,
    pub(super) directory: PathBuf,
    pub(super) cache: Option<PathBuf>,
    pub(super) builds: Builds,
    pub(super) clock: Clock,
    /// The number of random walks in place of one search.
    pub(super) seeds: Option<u64>,
    pub(super) stops: Arc<AtomicBool>,
    pub(super) shared: Arc<Mutex<Progress>>,
}

/// The progress of a search, as its thread reports it.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) line: String,
    /// Seeds that were asked for, that are done, and that violate a property.
    pub(super) seeds: Option<[u64; 3]>,
    /// The number of seeds that end in a violation of each kind.
    pub(super) counts: Vec<u64>,
    /// The findings since the last question.
    pub(super) found: Vec<Found>,
    /// Whether these are the minimised findings of the whole search, in place of those shown while it ran.
    pub(super) is_final: bool,
    /// Ways with different ends.
    pub(super) ends: Vec<Found>,
    pub(super) ended: Option<Result<Ended, Failure>>,
}

/// The end of a search.
pub(super) struct Ended {
    pub(super) verdict: String,
    pub(super) stopped: bool,
    /// Nothing was found.
    is_empty: bool,
}

impl Task {
    pub(super) fn run(mut self) {
        let ended = self.search();
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).ended = Some(ended);
    }

    fn search(&mut self) -> Result<Ended, Failure> {
        let no_file =
            |error: std::io::Error| Failure::system(format_args!("no file for the start of the search: {error}"));
        let folder = tempfile::tempdir().map_err(no_file)?;
        let start = folder.path().join("start.json");
        std::fs::write(&start, trace_file::text(&self.prefix)).map_err(no_file)?;
        self.spec.cluster.prefix = Some(start);
        // Another cluster than that of the session, whose handlers the bounds of the search must not stop.
        let mut context = Context {
            log: &mut std::io::sink() as &mut (dyn Write + Send),
            columns: None,
            directory: &self.directory,
            cache: self.cache.as_deref(),
            interrupted: &self.stops,
            clock: &self.clock,
            builds: &self.builds,
        };
        let cluster = Cluster::open(&self.spec, &mut context)?;
        let machines = AuditedFactory::new(cluster.factory(), Mode::Off);
        let lts = cluster.lts(&machines)?;
        let mut ended = match self.seeds {
            Some(seeds) => self.walks(seeds, &cluster, &lts, &mut context)?,
            None => self.strategy(&cluster, &machines, &lts, &mut context)?,
        };
        if ended.is_empty && !ended.stopped {
            match ends::different(&cluster, &lts, &self.prefix, self.spec.search.depth) {
                Ok(ends) => self.shared().ends = ends,
                Err(failure) => ended.verdict.push_str(&format!("; no ways with different ends: {}", failure.message)),
            }
        }
        Ok(ended)
    }

    fn shared(&self) -> MutexGuard<'_, Progress> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    /// One search by the strategy.
    fn strategy(
        &self,
        cluster: &Cluster,
        machines: &AuditedFactory<'_>,
        lts: &Lts<'_>,
        context: &mut Context<'_>,
    ) -> Result<Ended, Failure> {
        let line = |moment: &Moment<'_>| {
            let line = line(moment);
            self.shared().line.clone_from(&line);
            line
        };
        let early = Mutex::new(Kinds::default());
        let finds = |violation: Early| {
            let found = early_finding(violation, &mut early.lock().unwrap_or_else(PoisonError::into_inner));
            self.shared().found.extend(found);
        };
        let shown = Shown { line: &line, form: Form::EverySecond, finds: Some(&finds) };
        let outcome = search::run(&self.spec, cluster, lts, Some(shown), context)?;
        {
            let mut shared = self.shared();
            shared.found = outcome.violations.iter().filter_map(found).collect();
            shared.is_final = true;
        }
        let saved = outcome.violations.iter().map(|_| None).collect();
        let (spec, outcome) = (&self.spec, &outcome);
        let (command, witnesses) = (String::new(), BTreeMap::new());
        let run = FinishedRun { spec, command, cluster, machines, lts, outcome, witnesses };
        let report = RunReport::new(&run, saved);
        let verdict = format!("{}: {}", report.result.name(), report.because);
        Ok(Ended { verdict, stopped: self.is_stopped(), is_empty: outcome.violations.is_empty() })
    }

    /// A random walk for each seed. Of those that end in the same violation, the shortest is shown at once.
    fn walks(&self, seeds: u64, cluster: &Cluster, lts: &Lts<'_>, context: &mut Context<'_>) -> Result<Ended, Failure> {
        let ends = (self.clock)().saturating_add(self.spec.process.time.unwrap_or(Duration::MAX));
        let mut spec = self.spec.clone();
        (spec.search.walks, spec.search.continues, spec.process.no_minimize) = (Some(1), false, true);
        spec.search.max_violations = None;
        let mut kinds = Kinds::default();
        let (mut done, mut violating) = (0, 0);
        let is_over = || self.is_stopped() || (self.clock)() > ends;
        for seed in 1..=seeds {
            if is_over() {
                break;
            }
            spec.search.seed = Some(seed);
            spec.process.time = Some(ends.saturating_sub((self.clock)()));
            let outcome = search::run(&spec, cluster, lts, None, context)?;
            // A walk that was cut off proves nothing.
            if outcome.violations.is_empty() && is_over() {
                break;
            }
            done += 1;
            violating += u64::from(!outcome.violations.is_empty());
            let shorter: Vec<Found> = outcome.violations.iter().filter_map(|violation| kinds.add(violation)).collect();
            let mut shared = self.shared();
            shared.found.extend(shorter);
            shared.counts = kinds.0.iter().map(|(.., count)| *count).collect();
            shared.seeds = Some([seeds, done, violating]);
            shared.line = format!("{done} of {seeds} seeds, {violating} end in a violation");
        }
        let verdict = format!("{violating} of {done} seeds end in a violation");
        self.shared().seeds = Some([seeds, done, violating]);
        Ok(Ended { verdict, stopped: self.is_stopped(), is_empty: violating == 0 })
    }
}

/// A violation of a search that continues; none if one in the same words is shown and is not longer.
fn early_finding(violation: Early, shown: &mut Kinds) -> Option<Found> {
    let Early { trace, recording, node } = violation;
    let text = words::finding(trace.finding.as_ref()?, node, &recording.names);
    let kind = shown.place(&text, trace.steps.len())?;
    let story = Story::new(&recording, 0);
    Some(Found { kind: Some(kind), text, trace, story, seeds: None })
}

/// The kinds of ends of the seeds so far: each kind with the steps of the shortest way, and the number of seeds.
#[derive(Default)]
struct Kinds(Vec<(String, usize, u64)>);

impl Kinds {
    /// Adds a violation, and returns it if none of its kind is shorter.
    fn add(&mut self, violation: &Violation) -> Option<Found> {
        let found = found(violation)?;
        let kind = self.place(&kind(violation.trace.finding.as_ref()?), found.trace.steps.len())?;
        Some(Found { kind: Some(kind), ..found })
    }

    /// Counts a violation of a kind. Returns the number of the kind if none of it is shorter.
    fn place(&mut self, name: &str, steps: usize) -> Option<usize> {
        let known = self.0.iter().position(|(known, ..)| known == name);
        let Some(known) = known else {
            self.0.push((name.to_owned(), steps, 1));
            return Some(self.0.len() - 1);
        };
        let (_, shortest, count) = &mut self.0[known];
        *count += 1;
        let is_shorter = steps < *shortest;
        *shortest = steps.min(*shortest);
        is_shorter.then_some(known)
    }
}

/// The kind of a finding: what is violated, whatever the values.
fn kind(finding: &Finding) -> String {
    match finding {
        Finding::Property { name, .. } => format!("violated {name}"),
        Finding::Broken { property, .. } => format!("broken {property}"),
        Finding::Promise(promise) => format!("promise {}", promise.name),
        Finding::Fault { fault, .. } => format!("fault {}", words::name(fault.kind)),
        Finding::Deadlock { .. } => "deadlock".to_owned(),
    }
}

/// A violation as a branch to be.
fn found(violation: &Violation) -> Option<Found> {
    let finding = violation.trace.finding.as_ref()?;
    let text = words::finding(finding, violation.node, &violation.recording.names);
    let story = Story::new(&violation.recording, 0);
    Some(Found { kind: None, text, trace: violation.trace.clone(), story, seeds: None })
}

/// The progress of a search in a line.
fn line(moment: &Moment<'_>) -> String {
    let counts = &moment.progress.counts;
    let named = [
        ("global states", counts.global_states),
        ("local states", counts.local_states),
        ("events", counts.events),
        ("executions", counts.executions),
        ("walks", counts.walks),
    ];
    let mut line = format!("{} s", moment.elapsed.as_secs());
    for (name, count) in named {
        if let Some(count) = count {
            line.push_str(&format!(", {count} {name}"));
        }
    }
    line
}
