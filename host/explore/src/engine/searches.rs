//! Searches from a place: each in a thread of its own, with a cluster that it opens itself.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use host_inspect::debug::Place;
use host_inspect::page::shapes::{Finding, Search};
use host_inspect::words;
use host_model::audit::{AuditedFactory, Mode};
use host_model::trace::Trace;
use host_session::base::context::{Builds, Clock};
use host_session::base::{Context, Failure};
use host_session::cluster::{Cluster, trace_file};
use host_session::report::{FinishedRun, RunReport};
use host_session::search;
use host_session::search::monitor::{Form, Moment, Shown};
use host_session::spec::{Algo, RunSpec, values};
use serde_json::json;

use super::{Engine, clean};
use crate::refused::{Answer, Refused};

/// Searches of a session, and those that run at once.
const SEARCHES_MAX: usize = 1_000;
const RUNNING_MAX: usize = 4;

/// Seconds of a search.
const SECONDS_MAX: u64 = 86_400;

/// The strategies that the page offers, those that fit most protocols first.
pub(super) fn strategies() -> Vec<String> {
    let first = ["auto", "bdfs", "walk", "unfold", "consequence"];
    let is_there = |name: &&str| values::strategy(name).is_ok();
    first.iter().filter(|name| is_there(name)).map(|name| (*name).to_owned()).collect()
}

/// What a search is asked for.
pub struct Wanted {
    /// The name of the strategy.
    pub strategy: String,
    /// The time for it.
    pub seconds: u64,
    /// Events on a path, from the beginning.
    pub depth: Option<u32>,
}

/// A search that runs, or has run.
pub(super) struct Running {
    strategy: String,
    stops: Arc<AtomicBool>,
    shared: Arc<Mutex<Progress>>,
    thread: Option<JoinHandle<()>>,
    /// What it has found, once that is a branch of the tree.
    findings: Vec<Finding>,
}

/// How far a search is, as its thread says.
#[derive(Default)]
struct Progress {
    line: String,
    ended: Option<Result<Ended, Failure>>,
}

struct Ended {
    verdict: String,
    stopped: bool,
    found: Vec<(String, Trace)>,
}

impl Running {
    pub(super) fn stop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    pub(super) fn join(mut self) {
        // A thread that has panicked has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What the thread of a search touches.
struct Task {
    spec: RunSpec,
    prefix: Trace,
    directory: PathBuf,
    cache: Option<PathBuf>,
    clock: Clock,
    stops: Arc<AtomicBool>,
    shared: Arc<Mutex<Progress>>,
}

impl Engine<'_> {
    /// Begins a search from a place.
    pub fn search(&mut self, place: Place, wanted: &Wanted) -> Answer {
        let steps = self.moments.path(self.place(place)?);
        let strategy = values::strategy(&wanted.strategy).map_err(Refused::wrong)?;
        let is_running = |search: &&Running| search.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        if self.searches.len() >= SEARCHES_MAX || self.searches.values().filter(is_running).count() >= RUNNING_MAX {
            let refused =
                Refused::conflict(format_args!("{RUNNING_MAX} searches run at once, and {SEARCHES_MAX} in a session"));
            return Err(refused.help("stop one of them"));
        }
        if wanted.seconds == 0 || wanted.seconds > SECONDS_MAX {
            return Err(Refused::wrong(format_args!("a search takes between 1 and {SECONDS_MAX} seconds")));
        }
        let mut spec = self.explored.spec.clone();
        spec.search.algo = Some(Algo(strategy));
        spec.search.depth = wanted.depth;
        spec.process.time = Some(Duration::from_secs(wanted.seconds));
        // What runs here was built already.
        spec.process.source.finished = true;
        spec.process.source.quiet = true;
        let (stops, shared) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Progress>>::default());
        let plugin = self.explored.cluster.plugin.reference.clone();
        let task = Task {
            spec,
            prefix: Trace { steps, plugin, finding: None, ..self.explored.trace.clone() }.with_version(),
            directory: self.explored.directory.clone(),
            cache: self.explored.cache.clone(),
            clock: Arc::clone(&self.explored.clock),
            stops: Arc::clone(&stops),
            shared: Arc::clone(&shared),
        };
        let thread = std::thread::Builder::new().name("search".to_owned()).spawn(move || task.run());
        let thread = thread.map_err(|error| Refused::conflict(format_args!("no thread for the search: {error}")))?;
        let (number, strategy) = (self.number(), strategy.name.to_owned());
        self.searches.insert(number, Running { strategy, stops, shared, thread: Some(thread), findings: Vec::new() });
        Ok(json!({ "search": number }).to_string())
    }

    /// How far a search is. What it has found is a branch from then on.
    pub fn searched(&mut self, number: usize) -> Answer {
        let mut running = self.searches.remove(&number).ok_or_else(|| no_search(number))?;
        let answer = self.progress(number, &mut running);
        self.searches.insert(number, running);
        answer
    }

    fn progress(&mut self, number: usize, running: &mut Running) -> Answer {
        let shared = Arc::clone(&running.shared);
        let mut progress = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let has_panicked = progress.ended.is_none() && running.thread.as_ref().is_none_or(JoinHandle::is_finished);
        let (state, text) = match &mut progress.ended {
            None if has_panicked => ("failed", "the search has ended by a mistake of `host`".to_owned()),
            None => ("running", progress.line.clone()),
            Some(Err(failure)) => {
                let help = failure.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
                ("failed", format!("{}{help}", failure.message))
            }
            Some(Ok(ended)) => {
                for (text, trace) in std::mem::take(&mut ended.found) {
                    let moved = self.branch(&trace)?;
                    running.findings.push(Finding { text: clean(&text), place: moved.place, line: moved.line });
                }
                (if ended.stopped { "stopped" } else { "done" }, ended.verdict.clone())
            }
        };
        let (strategy, findings) = (running.strategy.clone(), running.findings.clone());
        super::json(&Search { search: number, strategy, state, text: clean(&text), findings })
    }

    /// Stops a search; what it has found by then stays.
    pub fn stop(&mut self, number: usize) -> Answer {
        self.searches.get_mut(&number).ok_or_else(|| no_search(number))?.stop();
        self.searched(number)
    }
}

fn no_search(number: usize) -> Refused {
    Refused::missing(format_args!("there is no search {number} in this session"))
}

impl Task {
    fn run(mut self) {
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
        let builds = Builds::default();
        let mut context = Context {
            log: &mut std::io::sink() as &mut (dyn Write + Send),
            columns: None,
            directory: &self.directory,
            cache: self.cache.as_deref(),
            interrupted: &self.stops,
            clock: &self.clock,
            builds: &builds,
        };
        let cluster = Cluster::open(&self.spec, &mut context)?;
        let machines = AuditedFactory::new(cluster.factory(), Mode::Off);
        let lts = cluster.lts(&machines)?;
        let shared = Arc::clone(&self.shared);
        let line = move |moment: &Moment<'_>| {
            let line = line(moment);
            shared.lock().unwrap_or_else(PoisonError::into_inner).line.clone_from(&line);
            line
        };
        let shown = Shown { line: &line, form: Form::EverySecond };
        let outcome = search::run(&self.spec, &cluster, &lts, Some(shown), &mut context)?;
        let told = |violation: &search::finding::Violation| {
            let finding = violation.trace.finding.as_ref()?;
            Some((words::finding(finding, violation.node, &violation.recording.names), violation.trace.clone()))
        };
        let found: Vec<(String, Trace)> = outcome.violations.iter().filter_map(told).collect();
        let stopped = self.stops.load(Ordering::Relaxed);
        let saved = outcome.violations.iter().map(|_| None).collect();
        let (spec, cluster, lts, outcome) = (&self.spec, &cluster, &lts, &outcome);
        let (command, witnesses) = (String::new(), BTreeMap::new());
        let run = FinishedRun { spec, command, cluster, machines: &machines, lts, outcome, witnesses };
        let report = RunReport::new(&run, saved);
        let verdict = format!("{}: {}", report.result.name(), report.because);
        Ok(Ended { verdict, stopped, found })
    }
}

/// How far a search is.
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
