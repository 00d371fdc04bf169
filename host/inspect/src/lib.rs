//! Counterexamples for people.
//!
//! Pure like the model: a trace goes in, a shorter one, an explanation, a drawing or a document of another format comes
//! out. Handlers are executed through the local transition system or a replay. See ARCHITECTURE.md for the code map.
#![forbid(unsafe_code)]

pub mod debug;
pub mod diff;
pub mod draw;
pub mod exchange;
pub mod explain;
pub mod graph;
pub mod minimize;
pub mod recording;
mod reorder;
pub mod words;
pub mod world;
