//! Recordings of nodes: each event that a node handled, with what its handler drew, so that the same component does the same again.
//!
//! A node is deterministic: its state follows from the durable state that its start found, from its inputs in their order, and from the
//! answers to `choose`. So a recording has these, and after each event a fingerprint of the state, by which a replay is compared.
//!
//! A recording is a sequence of segments, and a start of the node begins a new one. A long segment ends with a full one behind it, which
//! begins with the exported state of the node: so old segments can go, and the rest replays.
//!
//! | module | what it holds |
//! |---|---|
//! | `sequence` | the order of the segments of a node |
//! | `lines` | recordings as lines of a log, for `host-follow` |
//! | `player` | replays the events of a node |
//! | `memory` | a gate that records into memory |
//! | `gate` | the gate that records |
//! | `format` | the format of a segment |
//! | `entry` | the entries of a segment |
//! | `tests` | damaged and torn segments, and their order |

mod entry;
mod format;
mod gate;
mod lines;
mod memory;
mod player;
mod sequence;
#[cfg(test)]
mod tests;

pub use entry::{Begins, Chain, Entry, Failure, Handled, Head, Occurrence};
pub use format::{Next, SEGMENT_LONGEST, Segment, Wrong};
pub use gate::{Recorded, Tape};
pub use lines::{Line, Lines, NoLines};
pub use memory::{Taped, Tapes, entries};
pub use player::{Deviation, Played, Player, Trouble};
pub use sequence::{Break, Sequence};
