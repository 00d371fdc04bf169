//! The recorded answers of a page without a server: the session and its states as one JSON object.
//!
//! Every text in it can be shown unchanged: control letters are escaped before the JSON is made.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use crate::draw::Context;
use crate::draw::parts::title;
use crate::escape;
use crate::explain;
use crate::page::shapes::{About, Mark, MarkKind, Plugin, Property, Session, Sibling, Step};
use crate::page::{self, Story};
use crate::recording::Recording;

use super::PAGE_BYTES_MAX;
use super::places::Line;

/// The maximum size in bytes of the states in the page; later states are left out, with a note.
const STATES_BYTES_MAX: usize = PAGE_BYTES_MAX / 2;

/// The maximum size in bytes of the marks of single steps.
const STORY_BYTES_MAX: usize = PAGE_BYTES_MAX / 16;

/// A state: parts that many states share are numbers of values in the pool.
#[derive(Serialize)]
struct Recorded {
    step: Step,
    nodes: Vec<Node>,
    flight: Vec<usize>,
    standings: usize,
}

#[derive(Serialize)]
struct Node {
    rows: usize,
    stuck: Option<String>,
}

/// The object, escaped for an element of the page.
pub(super) fn json(recording: &Recording, context: Context<'_>) -> String {
    let steps = recording.steps.len();
    let line = Line::new(recording, Story::new(recording, context.prefix), (0..=steps).collect());
    let mut record = Record::default();
    let kept = record.states(&line, 0);
    let mut session = session(&line, context, kept);
    let critical = recording.trace.promise().and_then(|promise| promise.critical);
    if let Some((sibling, critical)) = context.sibling.zip(critical)
        && critical < kept
    {
        // Up to the critical step, both paths are the same.
        let own = sibling.steps.len() + 1 - critical;
        let places = (0..critical).chain(steps + 1..=steps + own).collect();
        let other = Line::new(sibling, Story::new(sibling, 0), places);
        let kept = record.states(&other, critical);
        let text = page::clean(&explain::sibling_head(sibling.steps.len(), critical));
        session.sibling = Some(Sibling { text, line: other.places[..kept].to_vec() });
    }
    let recorded = json!({ "session": session, "states": record.states, "pool": record.pool });
    escape::json_in_markup(&recorded.to_string())
}

/// The session; the page has this many places of the line.
fn session(line: &Line<'_>, context: Context<'_>, kept: usize) -> Session {
    let (recording, story) = (line.recording, &line.story);
    let reference = &recording.trace.plugin;
    let version = reference.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let mut about = page::about(&recording.trace, context.replay);
    let places = line.places[..kept].to_vec();
    let mut marks: Vec<Mark> = Vec::new();
    let mut room = STORY_BYTES_MAX;
    for mark in story.marks(&places) {
        if room < mark.text.len() {
            break;
        }
        room -= mark.text.len();
        marks.push(mark);
    }
    if kept < line.places.len() {
        let text = format!("steps {kept} to {} are left out: the page would be too large", recording.steps.len());
        marks.push(Mark { place: kept - 1, kind: MarkKind::After, text: text.clone() });
        about.push(About { name: "left out".to_owned(), value: text });
    }
    Session {
        version: 1,
        title: title(recording),
        plugin: Plugin {
            reference: page::clean(&format!("{}{version}", reference.name)),
            digest: page::clean(&reference.digest.clone().unwrap_or_default()),
        },
        place: kept - 1,
        line: places,
        nodes: (0..recording.nodes()).map(|node| page::clean(&recording.names.of(node))).collect(),
        properties: recording.properties.iter().map(Property::from).collect(),
        strategies: Vec::new(),
        verdict: story.verdict.clone(),
        marks,
        about,
        sibling: None,
        reads: story.reads.clone(),
        crashed: story.crashed.clone(),
    }
}

/// The recorded states, and the pool of their values.
#[derive(Default)]
struct Record {
    states: Vec<Value>,
    pool: Vec<Value>,
    numbers: BTreeMap<String, usize>,
    bytes: usize,
}

impl Record {
    /// Records the states of a line from a step on, until the page is full, and returns the number of places of the line in the page.
    fn states(&mut self, line: &Line<'_>, first: usize) -> usize {
        let mut flight = BTreeSet::new();
        for number in 0..line.places.len() {
            line.follow(number, &mut flight);
            if number < first {
                continue;
            }
            // The beginning is always included.
            if number > 0 && self.bytes > STATES_BYTES_MAX {
                return number;
            }
            let state = self.state(line, number, &flight);
            self.add_bytes(&state);
            self.states.push(state);
        }
        line.places.len()
    }

    fn state(&mut self, line: &Line<'_>, number: usize, flight: &BTreeSet<usize>) -> Value {
        let node = |node| (line.rows(number, node), line.stuck(number, node));
        let nodes: Vec<_> = (0..line.recording.nodes()).map(node).collect();
        let nodes = nodes.into_iter().map(|(rows, stuck)| Node { rows: self.number(json!(rows)), stuck }).collect();
        let flight = flight.iter().map(|index| self.number(json!(line.flying(*index)))).collect();
        let standings = self.number(json!(line.standings(number)));
        json!(Recorded { step: line.step(number), nodes, flight, standings })
    }

    /// The number of a value in the pool.
    fn number(&mut self, value: Value) -> usize {
        let text = value.to_string();
        if let Some(number) = self.numbers.get(&text) {
            return *number;
        }
        self.add_bytes(&value);
        self.numbers.insert(text, self.pool.len());
        self.pool.push(value);
        self.pool.len() - 1
    }

    fn add_bytes(&mut self, value: &Value) {
        self.bytes += escape::json_in_markup(&value.to_string()).len();
    }
}
