//! Paths of events: as documents, as the starts of searches, and executed again.
//!
//! | module | what it holds |
//! |---|---|
//! | `document` | the trace document and its version |
//! | `origin` | where a path begins: after `init`, or in states from elsewhere |
//! | `progress` | what a promise of progress relies on |
//! | `resolve` | from a recorded step to an event that is enabled |
//! | `record` | from a path of a search to recorded steps |
//! | `start` | the global states where a search begins |
//! | `launch` | how a replay begins |
//! | `replay` | re-execution of a trace on machines that run from start to end |
//! | `effects` | the effects of a step of a replay |
//! | `description` | what a protocol says of a replay for people |
//! | `promise` | promises of progress that a trace shows to be broken, and whether a replay shows it too |
//! | `standing` | the standing of a property in the state that a replay is in |
//! | `confirm` | what is found in the state that a replay is in, and whether it is what a trace shows |

mod confirm;
mod description;
mod document;
mod effects;
mod launch;
mod origin;
mod progress;
mod promise;
mod record;
pub mod replay;
mod resolve;
mod standing;
pub mod start;

pub use crate::contract::hex::Hex;
pub use confirm::confirm;
pub use description::node_names;
pub use document::{
    BreachClass, BrokenPromise, Expressed, Finding, Placement, PluginRef, Received, Sent, TRACE_VERSION,
    TRACE_VERSION_MAX, Trace, TraceEvent, TraceStep,
};
pub use origin::{Beginning, Flight, NodeState, Origin};
pub use progress::{Fairness, Recovery, Timers};
pub use promise::{PromiseWatch, check_sibling, sibling, way_on};
pub use record::{event, record};
pub use resolve::{Enabled, GlobalSituation, Unresolved, resolve};
pub use standing::Standing;
