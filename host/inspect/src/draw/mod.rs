//! Drawings: nodes as columns, time downwards, messages as arrows.
//!
//! | module | what it holds |
//! |---|---|
//! | `svg` | space-time diagrams as SVG |
//! | `mermaid` | sequence diagrams for Mermaid |
//! | `dot` | graphs for Graphviz |

mod dot;
mod mermaid;
mod svg;

use crate::explain;
use crate::graph::{Arrow, Fate};
use crate::recording::Recording;
use crate::words;

/// The format of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A picture for browsers, with a hover text for each event and message.
    Svg,
    /// A sequence diagram for Mermaid.
    Mermaid,
    /// A graph for Graphviz.
    Dot,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Svg, Self::Mermaid, Self::Dot];

    /// The name, which is also how files end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Mermaid => "mmd",
            Self::Dot => "dot",
        }
    }

    /// The form of a file by its ending.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.extension() == extension)
    }
}

/// Draws a recording. The first `prefix` steps are marked off from the rest.
pub fn draw(recording: &Recording, form: Form, prefix: usize) -> String {
    match form {
        Form::Svg => svg::draw(recording, prefix),
        Form::Mermaid => mermaid::draw(recording, prefix),
        Form::Dot => dot::draw(recording),
    }
}

/// The event of a step, without its node.
fn label(recording: &Recording, number: usize) -> String {
    let event = recording.event(number);
    let label = event.split_once(": ").map_or(event.as_str(), |(_, label)| label);
    label.to_owned()
}

/// Whether a drawing is so long that the rest is left out.
fn is_full(drawing: &str) -> bool {
    drawing.len() > explain::TEXT_BYTES_MAX
}

/// The last line of a drawing that was cut off.
const LEFT_OUT: &str = "the rest is left out, the drawing would be too large";

/// The text of a step where there is room.
fn details(recording: &Recording, number: usize) -> String {
    let mut lines = vec![format!("{number}. {}", recording.event(number))];
    lines.extend(explain::lines(recording, number));
    lines.join("\n")
}

/// For each step whether it changed what the violated property reads of its node, and the change in words.
fn marks(recording: &Recording) -> Vec<Option<String>> {
    let mut marks = vec![None; recording.steps.len()];
    for (_, history) in recording.views() {
        for (since, view) in history {
            if since > 0 {
                let changes = explain::changes(recording, since);
                let read = view.map_or("nothing".to_owned(), words::payload);
                marks[since - 1] = Some(changes.last().cloned().unwrap_or(read));
            }
        }
    }
    marks
}

/// The fate of a message that is not delivered.
fn undelivered(arrow: &Arrow) -> String {
    match arrow.fate {
        Fate::Lost(step) => format!("lost in step {step}"),
        Fate::InFlight | Fate::Delivered(_) => "never delivered".to_owned(),
    }
}

/// The finding at the end, if there is one.
fn verdict(recording: &Recording) -> Option<String> {
    recording.finding().map(|(node, finding)| explain::verdict(recording, finding, node))
}

/// The cluster on one line.
fn title(recording: &Recording) -> String {
    let trace = &recording.trace;
    let (scenario, name) = (&trace.scenario, &trace.plugin.name);
    let (absent, network) = (words::absent(scenario), words::network(scenario));
    let mut title = format!("{name}, {} nodes{absent}, network {network}", scenario.nodes);
    title.extend(trace.scenario.parameters.iter().map(|(key, value)| format!(", {key}={value}")));
    words::on_one_line(&title)
}
