//! Drawings of state graphs: states in rows by their distance from the start, events as arrows.
//!
//! | module | what it holds |
//! |---|---|
//! | `layout` | the place of each state |
//! | `labels` | arrows, and the places of their events |
//! | `svg` | pictures for browsers |
//! | `dot` | graphs for Graphviz |

mod dot;
mod labels;
mod layout;
mod svg;

use crate::escape::on_one_line;
use crate::words::clipped;

/// The maximum length in letters of a line in a state, and of the events of an arrow.
const LINE_LETTERS: usize = 44;
const EVENT_LETTERS: usize = 60;

/// The number of states above which only their numbers are drawn; the rest is in hover texts.
const TEXTS_MAX: usize = 120;

/// The maximum number of named events per arrow.
const EVENTS_MAX: usize = 3;

/// A graph in words. Any text may come from a plugin: all are escaped when they are drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateGraph {
    /// The subject of the drawing, on one line.
    pub title: String,
    /// The states; arrows refer to them by index.
    pub states: Vec<DrawnState>,
    /// The steps between them.
    pub edges: Vec<DrawnEdge>,
    /// A sentence about the parts that are not drawn; none if the drawing is complete.
    pub left_out: Option<String>,
}

/// A state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrawnState {
    /// Number of events on a shortest path to it.
    pub depth: u32,
    /// The part of the drawing that it belongs to: parts stand side by side.
    pub part: u32,
    /// Its description, if the drawing has room.
    pub lines: Vec<String>,
    /// Further facts about it.
    pub details: Vec<String>,
    /// Whether executions begin there.
    pub is_start: bool,
    /// Whether a finding is about it.
    pub is_violating: bool,
    /// Whether it has no enabled events.
    pub is_terminal: bool,
    /// Whether its enabled events are unknown.
    pub is_open: bool,
}

/// A step from a state to a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnEdge {
    /// The state where it begins.
    pub from: usize,
    /// The state where it ends.
    pub to: usize,
    /// The event.
    pub event: String,
}

/// The format of a drawing of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatesForm {
    /// A picture for browsers.
    Svg,
    /// A graph for Graphviz.
    Dot,
}

impl StatesForm {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Svg, Self::Dot];

    /// The name, which is also the extension of its files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Dot => "dot",
        }
    }

    /// The form of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// Draws a graph.
pub fn draw_states(graph: &StateGraph, form: StatesForm) -> String {
    match form {
        StatesForm::Svg => svg::draw(graph),
        StatesForm::Dot => dot::draw(graph),
    }
}

impl StateGraph {
    /// The drawn lines of a state, its number first.
    fn lines(&self, state: usize) -> Vec<String> {
        let drawn = &self.states[state];
        let number = format!("{state}{}", drawn.marks());
        let said = if self.states.len() > TEXTS_MAX { &[][..] } else { &drawn.lines };
        let said = said.iter().map(|line| clipped(&on_one_line(line), LINE_LETTERS));
        std::iter::once(number).chain(said).collect()
    }

    /// All facts about a state, for a hover text.
    fn details(&self, state: usize) -> String {
        let drawn = &self.states[state];
        let said = drawn.lines.iter().chain(&drawn.details).map(|line| on_one_line(line));
        std::iter::once(format!("state {state}{}", drawn.marks())).chain(said).collect::<Vec<_>>().join("\n")
    }

    /// The arrows: each pair of states once, with the events between them.
    fn arrows(&self) -> Vec<((usize, usize), Vec<String>)> {
        let mut arrows = std::collections::BTreeMap::<(usize, usize), Vec<String>>::new();
        for edge in &self.edges {
            let events = arrows.entry((edge.from, edge.to)).or_default();
            let event = on_one_line(&edge.event);
            if !events.contains(&event) {
                events.push(event);
            }
        }
        arrows.into_iter().collect()
    }
}

impl DrawnState {
    /// The marks of the state, in words.
    fn marks(&self) -> String {
        let marks = [
            (self.is_start, "start"),
            (self.is_violating, "violation"),
            (self.is_terminal, "terminal"),
            (self.is_open, "not explored"),
        ];
        let named: Vec<&str> = marks.into_iter().filter(|(is_set, _)| *is_set).map(|(_, mark)| mark).collect();
        if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
    }
}

/// The events of an arrow, shortened.
fn short(events: &[String]) -> String {
    let named: Vec<String> = events.iter().take(EVENTS_MAX).map(|event| clipped(event, EVENT_LETTERS)).collect();
    let more = events.len() - named.len();
    named.join("\n") + &if more > 0 { format!("\nand {more} more") } else { String::new() }
}
