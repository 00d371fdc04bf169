//! The tree of executions, and what requests ask of it.
//!
//! | module | what it holds |
//! |---|---|
//! | `places` | states, steps and differences |
//! | `taking` | what can happen, what it would change, and taking it |
//! | `files` | names of moments, traces in and out |
//! | `links` | a moment as a fragment of an address |
//! | `probes` | expressions along a branch |
//! | `reasons` | why an event is not enabled, and the writer of a field |
//! | `map` | the states within reach |
//! | `local` | the states of one node |
//! | `searches` | searches from a place |
//! | `task` | the thread of a search |
//! | `found` | a way that a search shows |
//! | `ends` | ways with different ends |
//! | `scenarios` | a moment as a scenario |

mod ends;
mod files;
mod found;
mod links;
mod local;
mod map;
mod places;
mod probes;
mod reasons;
mod scenarios;
mod searches;
mod taking;
mod task;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use host_inspect::debug::{CursorError, Moments, Place};
use host_inspect::explain;
use host_inspect::page::shapes::{About, Plugin, Property, Session, Sibling};
use host_inspect::page::{self, Story, clean};
use host_inspect::recording::Recording;
use host_model::lts::{Lts, Stepper};
use host_model::trace::{self, Trace};
use host_session::base::Failure;
use host_session::base::context::{Builds, Clock};
use host_session::cluster::Cluster;
use host_session::spec::RunSpec;
use serde::Serialize;

use crate::refused::{Answer, Refused};
use links::Choices;
use map::Reach;
use probes::Asked;
use searches::Running;

pub use searches::Wanted;

/// Places of a session.
pub const PLACES_MAX: usize = 200_000;

/// The version of the API.
const VERSION: u32 = 1;

/// The maximum number of steps of a trace that is put into words, for which its states are described once more.
const STORY_STEPS_MAX: usize = 10_000;

/// Steps of one answer; the next request begins behind them.
const STEPS_MAX: usize = 20_000;

/// The subject of a session, and the resources that it uses.
pub struct Explored<'c> {
    /// The cluster.
    pub cluster: &'c Cluster,
    /// The beginning of the session, and its initial branch: a trace without steps for none.
    pub trace: Trace,
    /// The cluster on one line.
    pub title: String,
    /// The cluster for searches, which open it themselves. A prefix is put in for each.
    pub spec: RunSpec,
    /// The directory of relative paths.
    pub directory: PathBuf,
    /// The folder of compiled code.
    pub cache: Option<PathBuf>,
    /// The components that were built for the cluster, which searches load.
    pub builds: Builds,
    /// The clock of bounds on time.
    pub clock: Clock,
    /// Ends the session.
    pub interrupted: Arc<AtomicBool>,
    /// The maximum number of places in the session, up to [`PLACES_MAX`].
    pub places_max: usize,
}

/// The owner of the tree.
pub struct Engine<'l> {
    explored: Explored<'l>,
    moments: Moments<'l>,
    /// The branch that the page begins with.
    line: Vec<Place>,
    /// That branch in words, and single places.
    story: Story,
    told: BTreeMap<Place, Vec<String>>,
    about: Vec<About>,
    /// In place of the critical step of a broken promise.
    sibling: Option<Sibling>,
    /// The traces of broken promises and deadlocks, which no single state shows, by the places of their ends.
    broken: BTreeMap<Place, Trace>,
    names: BTreeMap<Place, String>,
    choices: Choices,
    probes: BTreeMap<usize, Asked>,
    searches: BTreeMap<usize, Running>,
    /// The last exploration of the states within reach.
    reached: Option<Rc<Reach>>,
    /// The number of probes and searches so far.
    numbers: usize,
}

impl<'l> Engine<'l> {
    /// An engine at the beginning of a session.
    ///
    /// # Errors
    ///
    /// The trace cannot be followed, or the host cannot provide an instance.
    pub fn new(explored: Explored<'l>, lts: &'l Lts<'l>) -> Result<Self, Failure> {
        let failure = |error| match error {
            CursorError::Machine(error) => Failure::from(error),
            error @ CursorError::Crowded(_) => {
                let failure = Failure::configuration(format_args!("the trace cannot be explored: {error}"));
                failure
                    .help("`host replay` prints its steps, and `host minimize` shortens it if it ends in a violation")
            }
            error => Failure::configuration(format_args!("the trace cannot be explored: {error}")),
        };
        let (trace, factory) = (&explored.trace, explored.cluster.factory());
        let moments = Moments::new(factory, Stepper::new(lts)?, trace).map_err(failure)?;
        let mut moments = moments.with_places_max(explored.places_max.min(PLACES_MAX));
        // The way that keeps a promise is a branch of its own.
        let sibling = trace::sibling(trace).map(|sibling| moments.open(&sibling));
        let sibling = sibling.transpose().map_err(|(_, error)| failure(error))?;
        let line = moments.open(trace).map_err(|(_, error)| failure(error))?;
        let is_told = !trace.steps.is_empty() && trace.steps.len() <= STORY_STEPS_MAX;
        let story = if is_told { Story::new(&Recording::new(factory, trace).0, 0) } else { Story::default() };
        let critical = trace.promise().and_then(|promise| promise.critical);
        let sibling = sibling.zip(critical).map(|(line, critical)| {
            let text = clean(&explain::sibling_head(line.len() - 1, critical));
            Sibling { text, line }
        });
        Ok(Self {
            broken: line
                .last()
                .filter(|_| scenarios::is_of_path(trace))
                .map(|end| (*end, trace.clone()))
                .into_iter()
                .collect(),
            told: line.iter().copied().zip(story.lines.clone()).collect(),
            about: page::about(trace, None),
            explored,
            moments,
            line,
            story,
            sibling,
            names: BTreeMap::new(),
            choices: Choices::default(),
            probes: BTreeMap::new(),
            searches: BTreeMap::new(),
            reached: None,
            numbers: 0,
        })
    }

    /// The first answer for the page.
    pub fn session(&self) -> Answer {
        let reference = &self.explored.cluster.plugin.reference;
        let version = reference.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        json(&Session {
            version: VERSION,
            title: clean(&self.explored.title),
            plugin: Plugin {
                reference: clean(&format!("{}{version}", reference.name)),
                digest: reference.digest.clone().unwrap_or_default(),
            },
            place: 0,
            line: self.line.clone(),
            nodes: (0..self.moments.nodes()).map(|node| clean(&self.moments.names().of(node))).collect(),
            properties: self.moments.stepper().lts().properties().iter().map(Property::from).collect(),
            strategies: searches::strategies(),
            verdict: self.story.verdict.clone(),
            marks: self.story.marks(&self.line),
            about: self.about.clone(),
            sibling: self.sibling.clone(),
            reads: self.story.reads.clone(),
            crashed: self.story.crashed.clone(),
        })
    }

    /// Stops the threads of searches, and waits for them.
    pub fn end(&mut self) {
        self.searches.values_mut().for_each(Running::stop);
        while let Some((_, search)) = self.searches.pop_first() {
            search.join();
        }
    }

    /// An existing place.
    fn place(&self, place: Place) -> Result<Place, Refused> {
        match place < self.moments.places() {
            true => Ok(place),
            false => Err(Refused::missing(format_args!("there is no place {place} in this session"))
                .help("places are those of one run of `host explore`: begin again at 0")),
        }
    }

    /// The places from the beginning to a place, and from there as far as the session has explored the branch.
    fn line_through(&self, place: Place) -> Vec<Place> {
        let mut line = self.moments.line_to(place);
        self.continue_line(&mut line);
        line
    }

    /// Continues a line as far as the session has explored the branch.
    fn continue_line(&self, line: &mut Vec<Place>) {
        while let Some(child) = line.last().and_then(|last| self.moments.children(*last).first()) {
            line.push(*child);
        }
    }

    /// A new number for a probe or a search.
    fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }
}

fn json(answer: &impl Serialize) -> Answer {
    serde_json::to_string(answer).map_err(Refused::conflict)
}

#[cfg(test)]
mod tests {
    use host_session::base::text::grouped;

    use super::*;

    /// A number as the book writes it.
    fn written(number: usize) -> String {
        grouped(number as u64)
    }

    #[test]
    fn the_book_has_the_bounds() {
        assert_eq!([7, 1_000, 20_000].map(written), ["7", "1,000", "20,000"]);
        let book = include_str!("../../../../docs/explore-api.md");
        for (what, values) in [
            ("places of a session", vec![PLACES_MAX]),
            ("steps or values in one answer", vec![STEPS_MAX]),
            ("states of a map", vec![map::STATES_MAX]),
            ("probes", vec![probes::PROBES_MAX]),
            ("searches", vec![searches::RUNNING_MAX, searches::SEARCHES_MAX]),
            ("letters of a name, names", vec![files::NAME_LETTERS_MAX, files::NAMES_MAX]),
            ("`limit`", vec![map::STATES_MAX]),
            ("`seconds`", vec![searches::SECONDS_MAX as usize]),
            ("`seeds`", vec![searches::SEEDS_MAX as usize]),
            ("`name`", vec![files::NAME_LETTERS_MAX]),
        ] {
            let row = book.lines().find(|line| line.starts_with(&format!("| {what} |"))).expect("a row");
            for value in values {
                assert!(row.contains(&written(value)), "{row}: not {}", written(value));
            }
        }
    }
}
