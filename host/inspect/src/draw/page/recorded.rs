//! The answers that a page has in place of a server: the session and its states as one JSON object.
//!
//! Every text in it is one that can be shown as it is: letters that act on others are escaped before the JSON is made.

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

/// Bytes of the states as they stand in the page; those that follow are left out, which the page says.
const STATES_BYTES_MAX: usize = PAGE_BYTES_MAX / 2;

/// Bytes of the marks of single steps.
const STORY_BYTES_MAX: usize = PAGE_BYTES_MAX / 16;

/// A state: what is equal in many of them are numbers of values in the pool.
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

/// The object, as it can stand in an element of the page.
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
        // What the critical step follows is the same.
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

/// The session; this many places of the line are there.
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

/// The states so far, and what they share.
#[derive(Default)]
struct Record {
    states: Vec<Value>,
    pool: Vec<Value>,
    numbers: BTreeMap<String, usize>,
    bytes: usize,
}

impl Record {
    /// Records the states of a line from a step on, as far as there is room, and returns how many places of the line are there.
    fn states(&mut self, line: &Line<'_>, first: usize) -> usize {
        let mut flight = BTreeSet::new();
        for number in 0..line.places.len() {
            line.follow(number, &mut flight);
            if number < first {
                continue;
            }
            // The beginning is always there.
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
