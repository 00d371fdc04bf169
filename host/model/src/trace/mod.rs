//! Paths of events: as documents, as the starts of searches, and executed again.
//!
//! | module | what it holds |
//! |---|---|
//! | `document` | the trace document and its version |
//! | `origin` | the origin of a path: after `init`, or in states from elsewhere |
//! | `progress` | the assumptions of a promise of progress |
//! | `resolve` | the enabled event of a recorded step |
//! | `record` | the recorded steps of a path of a search |
//! | `start` | the global states where a search begins |
//! | `launch` | the beginning of a replay |
//! | `replay` | re-execution of a trace on machines that run from start to end |
//! | `effects` | the effects of a step of a replay |
//! | `held` | the durable map that a node has |
//! | `writes` | the writes of nodes in a replay, as far as a power outage can lose them |
//! | `description` | a protocol's descriptions of a replay for people |
//! | `promise` | broken promises of progress in a trace, checked in a replay |
//! | `standing` | the standing of a property in the current state of a replay |
//! | `confirm` | the findings in the current state of a replay, compared with that of a trace |

mod confirm;
mod description;
mod document;
mod effects;
mod held;
mod launch;
mod origin;
mod progress;
mod promise;
mod record;
pub mod replay;
mod resolve;
mod standing;
pub mod start;
mod writes;

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
