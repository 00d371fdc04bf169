//! Searches from a place: each in a thread of its own, with a cluster that it opens itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use host_inspect::debug::Place;
use host_inspect::page::shapes::{Finding, Moved, Search, Seeds};
use host_inspect::page::{Story, clean};
use host_model::trace::Trace;
use host_session::base::Failure;
use host_session::base::exit::Exit;
use host_session::spec::{Algo, values};
use serde_json::json;

use super::Engine;
use super::found::Found;
use super::scenarios::is_of_path;
use super::task::{Ended, Progress, Task};
use crate::refused::{Answer, Refused};

/// Searches of a session, and those that run at once.
pub(super) const SEARCHES_MAX: usize = 1_000;
pub(super) const RUNNING_MAX: usize = 4;

/// Seeds of a search by seeds.
pub(super) const SEEDS_MAX: u64 = 100_000;

/// Seconds of a search.
pub(super) const SECONDS_MAX: u64 = 86_400;

/// The strategies that the page offers, those that fit most protocols first.
pub(super) fn strategies() -> Vec<String> {
    let first = ["auto", "bdfs", "walk", "unfold", "consequence"];
    let others = values::strategies().filter(|name| !first.contains(name));
    first.into_iter().chain(others).map(str::to_owned).collect()
}

/// The request for a search.
pub struct Wanted {
    /// The name of the strategy.
    pub strategy: String,
    /// The time for it.
    pub seconds: u64,
    /// Events on a path, from the beginning.
    pub depth: Option<u32>,
    /// The number of random walks in place of the strategy.
    pub seeds: Option<u64>,
}

/// A search that runs, or has run.
pub(super) struct Running {
    strategy: String,
    stops: Arc<AtomicBool>,
    shared: Arc<Mutex<Progress>>,
    thread: Option<JoinHandle<()>>,
    /// The findings that are branches of the tree.
    findings: Vec<Branch>,
    /// Ways with different ends, of one that has found nothing.
    representatives: Vec<Branch>,
    /// Findings that are no branches: the session is full.
    left_out: usize,
}

/// A finding that is a branch, and the number of its kind if only the shortest one of a kind is shown.
struct Branch {
    kind: Option<usize>,
    finding: Finding,
}

impl Running {
    pub(super) fn stop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    pub(super) fn join(mut self) {
        // A thread that has panicked has printed its message.
        let _ = self.thread.take().map(JoinHandle::join);
    }
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
        if wanted.seeds.is_some_and(|seeds| seeds == 0 || seeds > SEEDS_MAX) {
            return Err(Refused::wrong(format_args!("there are between 1 and {SEEDS_MAX} seeds")));
        }
        let strategy =
            if wanted.seeds.is_some() { values::strategy("walk").map_err(Refused::wrong)? } else { strategy };
        let mut spec = self.explored.spec.clone();
        spec.search.algo = Some(Algo(strategy));
        spec.search.depth = wanted.depth;
        spec.process.time = Some(Duration::from_secs(wanted.seconds));
        spec.process.source.quiet = true;
        let (stops, shared) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Progress>>::default());
        let plugin = self.explored.cluster.plugin.reference.clone();
        let task = Task {
            spec,
            prefix: Trace { steps, plugin, finding: None, ..self.explored.trace.clone() }.with_version(),
            directory: self.explored.directory.clone(),
            cache: self.explored.cache.clone(),
            builds: self.explored.builds.of_components(),
            clock: Arc::clone(&self.explored.clock),
            seeds: wanted.seeds,
            stops: Arc::clone(&stops),
            shared: Arc::clone(&shared),
        };
        let thread = std::thread::Builder::new().name("search".to_owned()).spawn(move || task.run());
        let thread = thread.map_err(|error| Refused::conflict(format_args!("no thread for the search: {error}")))?;
        let (number, strategy) = (self.number(), strategy.name.to_owned());
        let (findings, representatives) = (Vec::new(), Vec::new());
        let running = Running { strategy, stops, shared, thread: Some(thread), findings, representatives, left_out: 0 };
        self.searches.insert(number, running);
        Ok(json!({ "search": number }).to_string())
    }

    /// The progress of a search. Its findings become branches.
    pub fn searched(&mut self, number: usize) -> Answer {
        let mut running = self.searches.remove(&number).ok_or_else(|| no_search(number))?;
        let answer = self.progress(number, &mut running);
        self.searches.insert(number, running);
        answer
    }

    fn progress(&mut self, number: usize, running: &mut Running) -> Answer {
        let shared = Arc::clone(&running.shared);
        let mut progress = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (found, ends) = (std::mem::take(&mut progress.found), std::mem::take(&mut progress.ends));
        if std::mem::take(&mut progress.is_final) {
            running.findings.clear();
        }
        let counts = progress.counts.clone();
        let has_panicked = progress.ended.is_none() && running.thread.as_ref().is_none_or(JoinHandle::is_finished);
        let (state, mut text) = match &progress.ended {
            None if has_panicked => ("failed", "the search has ended by a mistake of `host`".to_owned()),
            None => ("running", progress.line.clone()),
            Some(ended) => state_of(ended),
        };
        let seeds = progress.seeds.map(|[asked, done, violating]| Seeds { asked, done, violating });
        // The thread continues while its findings become branches.
        drop(progress);
        self.add(found, &mut running.findings, &mut running.left_out);
        self.add(ends, &mut running.representatives, &mut running.left_out);
        if running.left_out > 0 {
            let left_out = running.left_out;
            text = format!(
                "{text}; {left_out} more found that are no branches: the session is full, or they do not replay"
            );
        }
        let strategy = running.strategy.clone();
        for Branch { kind, finding } in &mut running.findings {
            finding.seeds = kind.and_then(|kind| counts.get(kind).copied()).or(finding.seeds);
        }
        let shapes = |branches: &[Branch]| branches.iter().map(|branch| branch.finding.clone()).collect();
        let (findings, representatives) = (shapes(&running.findings), shapes(&running.representatives));
        super::json(&Search { search: number, strategy, state, text: clean(&text), findings, seeds, representatives })
    }

    fn add(&mut self, found: Vec<Found>, known: &mut Vec<Branch>, left_out: &mut usize) {
        let (mut told, mut broken) = (Vec::new(), Vec::new());
        *left_out += adopt(found, known, |trace, story| {
            let moved = self.branch(trace)?;
            told.extend(moved.line.iter().copied().zip(story.lines.clone()));
            broken.extend(is_of_path(trace).then(|| (moved.place, trace.clone())));
            Ok(moved)
        });
        self.told.extend(told);
        self.broken.extend(broken);
    }

    /// Stops a search; its findings so far stay.
    pub fn stop(&mut self, number: usize) -> Answer {
        self.searches.get_mut(&number).ok_or_else(|| no_search(number))?.stop();
        self.searched(number)
    }
}

/// The state of a search that has ended, in the words of the API, and its result. One without a result that was stopped has not failed.
fn state_of(ended: &Result<Ended, Failure>) -> (&'static str, String) {
    match ended {
        Ok(ended) => (if ended.stopped { "stopped" } else { "done" }, ended.verdict.clone()),
        Err(failure) => {
            let help = failure.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
            let state = if failure.exit == Exit::Stopped { "stopped" } else { "failed" };
            (state, format!("{}{help}", failure.message))
        }
    }
}

fn no_search(number: usize) -> Refused {
    Refused::missing(format_args!("there is no search {number} in this session"))
}

/// Makes branches of findings, and returns how many could not become one: such a finding does not prevent those behind it.
fn adopt(
    found: Vec<Found>,
    known: &mut Vec<Branch>,
    mut branch: impl FnMut(&Trace, &Story) -> Result<Moved, Refused>,
) -> usize {
    let mut left_out = 0;
    for Found { kind, text, trace, story, seeds } in found {
        let Ok(moved) = branch(&trace, &story) else {
            left_out += 1;
            continue;
        };
        let marks = story.marks(&moved.line);
        let finding = Finding { text: clean(&text), place: moved.place, line: moved.line, seeds, marks };
        // A shorter way to a violation of the same kind takes the place of the other.
        match known.iter_mut().find(|known| kind.is_some() && known.kind == kind) {
            Some(known) => known.finding = finding,
            None => known.push(Branch { kind, finding }),
        }
    }
    left_out
}

#[cfg(test)]
mod tests {
    use host_model::scenario::Scenario;
    use host_model::trace::{PluginRef, TRACE_VERSION};

    use super::*;

    fn found(nodes: u32, kind: Option<usize>) -> Found {
        let trace = Trace {
            trace_version: TRACE_VERSION,
            plugin: PluginRef { name: "toy".to_owned(), version: None, digest: None },
            scenario: Scenario::new(nodes),
            placements: Vec::new(),
            limits: Default::default(),
            init_choices: Vec::new(),
            expressed: Vec::new(),
            specs: Vec::new(),
            beginning: None,
            finding: None,
            steps: Vec::new(),
        };
        Found { kind, text: "found".to_owned(), trace, story: Story::default(), seeds: None }
    }

    /// A branch whose place is the number of nodes, and no room for those with more than three.
    fn branch(trace: &Trace, _: &Story) -> Result<Moved, Refused> {
        match trace.scenario.nodes as usize {
            place @ ..=3 => Ok(Moved { place, line: vec![0, place] }),
            _ => Err(Refused::conflict("the session is full")),
        }
    }

    #[test]
    fn a_search_that_was_stopped_before_a_result_has_not_failed() {
        let of = |failure: Failure| state_of(&Err(failure));
        let (state, text) = of(Failure::stopped("interrupted"));
        assert_eq!((state, &text[..]), ("stopped", "stopped before there was a result: interrupted"));
        let wrong = Failure::configuration("a prefix does not fit").help("take it away");
        assert_eq!(of(wrong), ("failed", "a prefix does not fit; take it away".to_owned()));
    }

    #[test]
    fn a_finding_without_room_does_not_hide_those_behind_it() {
        let mut known = Vec::new();
        let all = [4, 1, 5, 2].map(|nodes| found(nodes, None));
        assert_eq!(adopt(all.into(), &mut known, branch), 2);
        assert_eq!(known.iter().map(|branch| branch.finding.place).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn the_shortest_of_a_kind_takes_the_place_of_the_others() {
        let mut known = Vec::new();
        let all = [(1, Some(0)), (2, Some(1)), (3, Some(0))].map(|(nodes, kind)| found(nodes, kind));
        assert_eq!(adopt(all.into(), &mut known, branch), 0);
        assert_eq!(known.iter().map(|branch| branch.finding.place).collect::<Vec<_>>(), [3, 2]);
    }
}
