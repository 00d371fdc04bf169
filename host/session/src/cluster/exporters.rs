//! The formats in which a trace is exported: a row each.

use host_inspect::exchange::{self, ITF_BYTES_MAX, TooLarge};
use host_inspect::recording::Recording;

use crate::base::text::json_text;

/// A format for traces.
#[derive(Debug)]
pub struct Exporter {
    /// Its name, as `--format` takes it.
    pub name: &'static str,
    /// The tools that read it, for the help.
    pub summary: &'static str,
    /// Writes a recording in this format, unless the text would have too many bytes.
    pub write: fn(&Recording) -> Result<String, TooLarge>,
}

/// All formats. The options, their help and the command come from this table.
pub const EXPORTERS: [Exporter; 4] = [
    Exporter { name: "itf", summary: "Informal Trace Format, for Apalache and Quint", write: itf },
    Exporter { name: "shiviz", summary: "log with vector clocks, for ShiViz", write: exchange::shiviz },
    Exporter { name: "log", summary: "a line of JSON per event, for `host follow`", write: exchange::log },
    Exporter {
        name: "json",
        summary: "trace of `host` with everything that a replay computes",
        write: |recording| Ok(json_text(&recording.trace)),
    },
];

/// Indentation can make a document longer than the limit that its own text keeps.
fn itf(recording: &Recording) -> Result<String, TooLarge> {
    let text = json_text(&exchange::itf(recording)?);
    if text.len() > ITF_BYTES_MAX { Err(TooLarge(ITF_BYTES_MAX)) } else { Ok(text) }
}
