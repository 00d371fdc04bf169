//! The page of `host explore`: its files, the shapes of its answers, and the conversion of the crate's results to them.
//!
//! A server answers its requests; or a file has the page together with all answers, see [`draw`](crate::draw).
//!
//! | module | what it holds |
//! |---|---|
//! | `shapes` | the answers that the page knows |
//! | `story` | a trace and its steps in words |

pub mod shapes;
mod story;

use host_model::contract::{self, LocalKind, PropertyScope};
use host_model::trace::{self, TraceEvent};

use crate::course;
use crate::rows::{self, Mark};
use crate::words;
use shapes::{EventKind, Property, Row, Standing};

pub use story::{Story, about, components};

/// The document. `host/explore/web` builds it and the other two.
pub const DOCUMENT: &str = include_str!("dist/index.html");

/// Its script.
pub const SCRIPT: &str = include_str!("dist/app.js");

/// Its style.
pub const STYLE: &str = include_str!("dist/app.css");

/// A text that can be shown as it is.
pub fn clean(text: &str) -> String {
    words::shortened(words::on_one_line(text))
}

impl From<&contract::Property> for Property {
    fn from(property: &contract::Property) -> Self {
        let scope = match property.scope {
            PropertyScope::Node => "node",
            PropertyScope::System => "cluster",
        };
        Self { name: clean(&property.name), kind: words::name(property.kind), scope }
    }
}

impl From<&TraceEvent> for EventKind {
    fn from(event: &TraceEvent) -> Self {
        match event {
            TraceEvent::Deliver { .. } => Self::Deliver,
            TraceEvent::Quorum { .. } => Self::Quorum,
            TraceEvent::Lose { .. } => Self::Lose,
            TraceEvent::Fault { .. } | TraceEvent::TransportError { .. } => Self::Fault,
            TraceEvent::Local { cause: LocalKind::Timer, .. } => Self::Timer,
            TraceEvent::Local { .. } => Self::Local,
        }
    }
}

/// The kind of a fault, of an event that is one.
pub fn fault(event: &TraceEvent) -> Option<String> {
    match event {
        TraceEvent::Fault { event, .. } => Some(event.kind().to_owned()),
        _ => None,
    }
}

impl From<rows::Row> for Row {
    fn from(row: rows::Row) -> Self {
        let mark = match row.mark {
            Mark::Same => "same",
            Mark::Changed => "changed",
            Mark::Added => "new",
            Mark::Removed => "gone",
        };
        let [name, value] = [row.name, row.value].map(|text| words::on_one_line(&text));
        Self { depth: row.depth, mark, name, value, old: row.old.map(|old| words::on_one_line(&old)) }
    }
}

/// The standing of a property; with a node, that of a property of node scope at the node.
pub fn standing(property: usize, node: Option<contract::NodeId>, stands: &trace::Standing) -> Standing {
    let why = clean(course::why(stands));
    let standing = match course::word(stands) {
        "not known" => "unknown",
        word => word,
    };
    Standing { property, node, standing, why: (!why.is_empty()).then_some(why) }
}
