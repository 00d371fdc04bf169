//! Runs protocols as sandboxed WebAssembly components and captures their state.
//!
//! The only crate that names wasmtime. [`Sandbox`] holds the engine, its settings and the [`Limits`]; [`Plugin`] is a
//! loaded component and makes [`Machine`](host_model::machine::Machine)s, one for each worker.
//!
//! The state of a guest is the content and size of its memories and its mutable globals. Before a component is
//! compiled, its core modules are rewritten: each write also marks which 256 bytes it went to, and mutable globals
//! move into memory. A snapshot is then the difference from the image right after instantiation, found and restored
//! at a cost proportional to what was written. Tables, dropped segments and 64-bit memories are refused, at load or by
//! a fault of the instruction that would change them; they are never ignored.

mod abi;
mod cache;
mod check;
mod compile;
mod context;
mod error;
mod fault;
mod image;
mod inspect;
mod instance;
mod limits;
mod lines;
mod machine;
mod memory;
mod plugin;
mod rewrite;
mod sandbox;
mod snapshot;

#[cfg(feature = "fixtures")]
#[doc(hidden)]
pub mod bare;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;

pub use abi::{About, AboutIdentity, AboutNetwork, AboutParameter};
pub use error::LoadError;
pub use inspect::{GlobalInspection, Inspection, MemoryInspection, ModuleInspection, TableInspection};
pub use limits::{LIMITS, Limit, Limits, Sabotage, SandboxConfig, Unit};
pub use plugin::{LoadTimes, Plugin};
pub use sandbox::{Sandbox, SandboxError};

#[cfg(test)]
mod tests;
