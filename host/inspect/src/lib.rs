//! Counterexamples for people.
//!
//! Pure like the model: a trace goes in, a shorter one, an explanation, a drawing or a document of another format comes
//! out. Handlers are executed through the local transition system or a replay.
//!
//! | module | what it holds |
//! |---|---|
//! | `traced_state` | a global state that knows the sender event of each message in flight |
//! | `minimize` | from a long trace to a short one: delta debugging over the local transition system |
//! | `reorder` | the same events in an order with fewer changes of node |
//! | `recording` | an executed trace with everything that was observed |
//! | `course` | where in a trace each property holds, is violated, is owed |
//! | `shape` | what a trace has in common with its variants by node and by value |
//! | `explain` | a recording in words: changes, messages, and the reason for the verdict |
//! | `graph` | senders, messages and deliveries: happens-before and vector clocks |
//! | `draw` | space-time drawings of traces |
//! | `marks` | the steps that change what the violated property reads |
//! | `page` | the page of `host explore`, and the shapes of what it asks for |
//! | `rows` | a state before and after a step, row by row |
//! | `diff` | differences between two states, field by field |
//! | `escape` | text of others for terminals, logs, JSON, XML and HTML |
//! | `words` | events, messages, states and bytes in words |
//! | `exchange` | formats of other tools |
//! | `debug` | the debugger without a terminal |
#![forbid(unsafe_code)]

pub mod course;
pub mod debug;
pub mod diff;
pub mod draw;
pub mod escape;
pub mod exchange;
pub mod explain;
pub mod graph;
mod marks;
pub mod minimize;
pub mod page;
pub mod recording;
mod reorder;
pub mod rows;
pub mod shape;
pub mod traced_state;
pub mod words;
