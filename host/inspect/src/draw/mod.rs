//! Drawings: nodes as columns, time downwards, messages as arrows.
//!
//! | module | what it holds |
//! |---|---|
//! | `svg` | space-time diagrams as SVG |
//! | `page` | pages for browsers: the page of `host explore` with all states of a trace in one file |
//! | `mermaid` | sequence diagrams for Mermaid |
//! | `dot` | graphs for Graphviz |
//! | `states` | drawings of state graphs |
//! | `kinds` | the kind of a message |
//! | `ground` | where lines and texts are, and where another text has room |
//! | `parts` | what all of them say of steps, messages and the finding |

mod dot;
mod ground;
mod kinds;
mod mermaid;
mod page;
mod parts;
mod states;
mod svg;

use crate::recording::Recording;

pub use page::PAGE_BYTES_MAX;
pub use states::{DrawnEdge, DrawnState, StateGraph, StatesForm, draw_states};

/// The format of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A picture for browsers, with a hover text for each event and message.
    Svg,
    /// The page of `host explore` in one file, with all states of the trace.
    Html,
    /// A sequence diagram for Mermaid.
    Mermaid,
    /// A graph for Graphviz.
    Dot,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Svg, Self::Html, Self::Mermaid, Self::Dot];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Html => "html",
            Self::Mermaid => "mermaid",
            Self::Dot => "dot",
        }
    }

    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Mermaid => "mmd",
            other => other.name(),
        }
    }

    /// The form of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }

    /// The form with this file extension.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.extension() == extension)
    }
}

/// Additions of a drawing to the recording.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'d> {
    /// Number of steps at the beginning that are set apart from the rest.
    pub prefix: usize,
    /// The command that replays the trace.
    pub replay: Option<&'d str>,
    /// The path that keeps the promise that the recording breaks.
    pub sibling: Option<&'d Recording>,
}

/// Draws a recording.
pub fn draw(recording: &Recording, form: Form, context: Context<'_>) -> String {
    match form {
        Form::Svg => svg::draw(recording, context),
        Form::Html => page::draw(recording, context),
        Form::Mermaid => mermaid::draw(recording, context.prefix),
        Form::Dot => dot::draw(recording),
    }
}
