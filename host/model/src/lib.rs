//! The pure model of a distributed system under test.
//!
//! Knows nothing of Wasm, files, clocks, terminals or threads: a [`machine::Machine`] executes handlers, everything
//! else is integers. See ARCHITECTURE.md for the code map.
#![forbid(unsafe_code)]

pub mod audit;
pub mod channels;
pub mod deadlock;
pub mod fingerprint;
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
pub mod toy;
pub mod trace;
