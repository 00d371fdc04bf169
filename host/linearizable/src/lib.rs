//! Judges histories of clients: whether one order of the operations explains every result.
//!
//! A history is linearizable if its operations can be put into one order that a sequential object explains, and that keeps
//! each operation behind those that had returned before it was called (Herlihy and Wing, "Linearizability: A Correctness
//! Condition for Concurrent Objects", TOPLAS 12(3), 1990). The histories are those of other programs: Jepsen's, or a line
//! of JSON per event. Calls have the semantics of Jepsen: one that failed did not happen, and one without a known end may
//! happen at any later time, or never.
//!
//! Memory is bounded while a history is read and while it is judged. If a bound is hit, the answer is that it is undecided.
//!
//! ```
//! use std::time::Duration;
//! use host_linearizable::{Bounds, Model, Order, Read, Reading, Verdict, judge, read};
//!
//! let lines = r#"
//! {"process": 0, "type": "invoke", "f": "write", "value": 7}
//! {"process": 1, "type": "invoke", "f": "read"}
//! {"process": 1, "type": "ok", "f": "read", "value": 7}
//! {"process": 1, "type": "invoke", "f": "read"}
//! {"process": 1, "type": "ok", "f": "read", "value": null}
//! "#;
//! let model = Model::of_name("register").unwrap();
//! let how = Reading {
//!     model,
//!     accepted: Default::default(),
//!     order: Order::File,
//!     is_independent: false,
//!     memory_bytes: 1 << 20,
//! };
//! let Ok(Read::Whole(mut history)) = read(&mut lines.as_bytes(), &how, &mut || false) else { panic!() };
//! let elapsed = || Duration::ZERO;
//! let bounds = Bounds {
//!     memory_bytes: 1 << 20,
//!     elapsed: &elapsed,
//!     time: Duration::from_secs(1),
//!     is_interrupted: &|| false,
//! };
//! // The write has not returned, but it has taken effect, and cannot be undone.
//! let Verdict::NotLinearizable(why) = judge(&mut history, None, &bounds).unwrap().verdict else { panic!() };
//! assert_eq!((why.blocked.return_line, &why.possible[..]), (Some(6), &["7".to_owned()][..]));
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `error` | errors of histories, with their places |
//! | `value` | values of operations, and numbers for them |
//! | `source` | bytes with their places |
//! | `edn` | EDN |
//! | `entry` | the entry of a line or form |
//! | `formats` | the formats of histories |
//! | `model` | objects, functions, operations with their results |
//! | `results` | operations, from what a call and its end say |
//! | `history` | operations, each from its call to its return |
//! | `object` | the states of an object |
//! | `events` | calls and returns of the operations on one object |
//! | `dequeues` | the order in which a queue has received its values |
//! | `timeline` | the operations on one object, prepared for the search |
//! | `memo` | configurations that lead nowhere |
//! | `config` | beginnings of an order |
//! | `candidates` | the operations that can come next |
//! | `search` | the search for an order |
//! | `explain` | why no order explains a history |
//! | `judge` | a whole history within bounds |
//! | `tests` | tests of the crate as a whole |
//! | `generate` | histories of simulated objects, for tests and measurements |

mod candidates;
mod config;
mod dequeues;
mod edn;
mod entry;
mod error;
mod events;
mod explain;
mod formats;
pub mod generate;
mod history;
mod judge;
mod memo;
mod model;
mod object;
mod results;
mod search;
mod source;
#[cfg(test)]
mod tests;
mod timeline;
mod value;

pub use error::{HistoryError, Place};
pub use explain::{Explanation, Shown};
pub use formats::{Accepted, Format};
pub use history::{History, Order, Read, Reading, read};
pub use judge::{Bounds, Judgement, Verdict, judge};
pub use model::{MODELS, Model};
pub use search::Bound;
pub use value::Value;
