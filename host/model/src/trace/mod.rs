//! Paths of events: as documents, as the starts of searches, and executed again.
//!
//! | module | what it holds |
//! |---|---|
//! | `document` | the trace document and its version |
//! | `start` | the global states where a search begins; paths to traces and back |
//! | `replay` | re-execution of a trace on machines that run from start to end |

mod document;
pub mod replay;
pub mod start;

pub use document::{Finding, Hex, Placement, PluginRef, Received, Sent, TRACE_VERSION, Trace, TraceEvent, TraceStep};
