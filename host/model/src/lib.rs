//! The pure model of a distributed system under test.
//!
//! Knows nothing of Wasm, files, clocks, terminals or threads: a [`Machine`](contract::Machine) executes handlers,
//! everything else is integers. A folder imports only folders below it in this table.
//!
//! | module | what it holds |
//! |---|---|
//! | `toys` | small protocols given by tables, and random ones: the test bed of every strategy |
//! | `trace` | the trace document, the states where a search begins, and replay |
//! | `lts` | the local transition system: what each handler does in each local state, executed once |
//! | `audit` | audits of a protocol's promises: notes during a search, trials after it |
//! | `scenario` | the cluster: nodes, networks, faults, and what has gone wrong at a node |
//! | `contract` | the boundary to whatever executes handlers: machines, properties, fingerprints, stopping |
#![forbid(unsafe_code)]

pub mod audit;
pub mod contract;
pub mod lts;
pub mod scenario;
#[cfg(feature = "toys")]
pub mod toys;
pub mod trace;
