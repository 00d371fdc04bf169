//! The boundary to whatever executes a protocol: a machine that runs handlers, and what its answers mean.
//!
//! | module | what it holds |
//! |---|---|
//! | `machine` | `Machine`, `MachineFactory` with the determinism duty |
//! | `aspects` | what a machine may offer beyond that: the optional interfaces of the contract, and the host's own |
//! | `answers` | the queries for the aspects of a machine, and the neutral answers without them |
//! | `exchange` | what a machine takes and returns: inputs, effects, properties, snapshots |
//! | `durable_map` | the entries that handlers write and that survive a reset |
//! | `written_keys` | the keys of it that handlers have written |
//! | `node_map` | the durable map of the node that a machine stands for |
//! | `synced` | the writes of a handler that are on the disk before its messages leave |
//! | `fault` | faults of a guest, and when two are the same |
//! | `event` | nodes, messages that they send, local events |
//! | `hex` | bytes as digits, in documents and for people |
//! | `live` | what matters only where a protocol runs: requests, answers, durations |
//! | `draws` | which answers to a handler were drawn by chance |
//! | `error` | why a machine does not continue, or a local state does not move to another one |
//! | `property` | classes of local states with equal views; judgements |
//! | `fingerprint` | 128-bit fingerprints, and the contents that go into each |
//! | `sketch` | about how many fingerprints there are, in sets from many places |
//! | `stop` | stopping between two calls of a guest |
//! | `muffled` | a protocol in which one node does not take some events |
//! | `wrapper` | machines around other machines |
//! | `stoppable` | machines that can be stopped |
//! | `outside` | machines with properties from outside |
//! | `selection` | machines restricted to some of their properties |

mod answers;
pub mod aspects;
mod draws;
mod durable_map;
mod error;
mod event;
mod exchange;
mod fault;
pub mod fingerprint;
pub mod hex;
mod live;
mod machine;
mod muffled;
mod node_map;
mod outside;
mod property;
mod selection;
mod sketch;
mod stop;
mod stoppable;
mod synced;
mod wrapper;
mod written_keys;

pub use aspects::{Aspect, AspectName};
pub use draws::Draws;
pub use durable_map::{DurableMap, DurableState};
pub use error::{MachineError, TransferError};
pub use event::{Envelope, LocalEvent, LocalKind, NodeId};
pub use exchange::{
    Arrival, Choice, Effects, Input, Likelihood, Property, PropertyKind, PropertyScope, Quorum, Role, Snapshot,
    StateOwner,
};
pub use fault::{Fault, FaultKind};
pub use live::{Aside, Request, Response, Span};
pub use machine::{Machine, MachineFactory};
pub use muffled::{Ignores, Muffled};
pub use node_map::NodeMap;
pub use outside::{Observed, Outside, OutsideVerdict};
pub use property::{ClassId, Judgement, Severity, ViewId};
pub use selection::Selected;
pub use sketch::Sketch;
pub use stop::{Stop, Stopped};
pub use stoppable::Stoppable;
pub use synced::Synced;
pub(crate) use wrapper::{Wrap, Wrapped};
pub use written_keys::WrittenKeys;
