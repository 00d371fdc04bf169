//! The pure model of a distributed system under test.
//!
//! Knows nothing of Wasm, files, clocks, terminals or threads: a [`machine::Machine`] executes handlers, everything
//! else is integers.
//!
//! | module | what it holds |
//! |---|---|
//! | `machine` | `Machine`, `MachineFactory`: the boundary to whatever executes handlers, with the determinism duty; events, faults, effects, snapshots |
//! | `lts` | the local transition system: interned contents and outcomes, behind one lock |
//! | `quorum` | messages that are received together: roles, sets, events |
//! | `stepper` | access to the local transition system: executes missing handlers in batches on many machines, explores `choose`, judges tuples of views |
//! | `stop` | stopping between two calls of a guest |
//! | `handler` | executes one handler for every resolution of its choices |
//! | `standing` | fault states: resets, connections and budgets of a node, and the steps of local states that include them |
//! | `channels` | messages in flight on links with an order: the next delivery of each channel, lost messages |
//! | `known` | a lock-free copy of the local transition system per stepper |
//! | `deadlock` | terminal states, and the nodes that are not done there |
//! | `audit` | audits of a protocol's promises: notes during a search, trials after it |
//! | `fingerprint` | 128-bit fingerprints, and the contents that go into each |
//! | `property` | classes of local states with equal views; judgements |
//! | `scenario` | nodes, parameters, networks, budgets of faults |
//! | `start` | the global states where a search begins; paths to traces and back |
//! | `trace` | the trace document and its version |
//! | `replay` | re-execution of a trace on machines that run from start to end |
//! | `toy` | small protocols given by tables, and random ones: the test bed of every strategy |
#![forbid(unsafe_code)]

pub mod audit;
pub mod channels;
pub mod deadlock;
pub mod fingerprint;
pub mod handler;
pub mod known;
pub mod lts;
pub mod machine;
pub mod property;
pub mod quorum;
pub mod replay;
pub mod scenario;
pub mod standing;
pub mod start;
pub mod stepper;
pub mod stop;
pub mod toy;
pub mod trace;
