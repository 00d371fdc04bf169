//! Runs protocols as sandboxed WebAssembly components and captures their state.
//!
//! The only crate that names wasmtime. [`Sandbox`] holds the engine, its settings and the [`GuestLimits`]; [`Plugin`] is a
//! loaded component and makes [`Machine`](host_model::contract::Machine)s, one for each worker.
//!
//! The state of a guest is the content and size of its memories and its mutable globals. Before a component is
//! compiled, its core modules are rewritten: each write also marks which 256 bytes it went to, and mutable globals
//! move into memory. A snapshot is then the difference from the image right after instantiation, found and restored
//! at a cost proportional to the bytes written. Tables, dropped segments and 64-bit memories are refused, at load or by
//! a fault of the instruction that would change them; they are never ignored.
//!
//! | module | what it holds |
//! |---|---|
//! | `engine` | the engine, and compilation in threads that can be abandoned |
//! | `contract` | the contract in Rust types, limits, features of WebAssembly, and load errors |
//! | `plugin` | a loaded component |
//! | `run` | instances, and calls of their functions |
//! | `check` | the check that bytes are a component of this contract, before any of it runs |
//! | `rewrite` | the rewriting of core modules: marks, cells, guards |
//! | `cache` | compiled code on disk |
//! | `machine` | the sandbox as a `Machine` |
//! | `store` | the host's data of an instance in wasmtime's store, and the faults of guests |
//! | `state` | the state of a guest: captured, restored and compared |
//! | `bare_instance` | the unmodified component without snapshots: the yardstick of the bench |
//! | `fixtures` | guests in WebAssembly text, for tests |
//! | `tests` | the tests of the sandbox |

mod cache;
mod check;
mod contract;
mod engine;
mod machine;
mod plugin;
mod rewrite;
mod run;
mod state;
mod store;

#[cfg(feature = "fixtures")]
#[doc(hidden)]
pub mod bare_instance;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;

pub use cache::room::{CACHE_BYTES_MAX, CacheUse};
pub use contract::abi::{About, AboutIdentity, AboutNetwork, AboutParameter};
pub use contract::error::LoadError;
pub use contract::features::{FEATURES, Feature};
pub use contract::limits::{Addresses, GuestLimits, LIMITS, Libraries, Limit, Sabotage, SandboxConfig, Unit};
pub use engine::memory::{bytes_in, process_bytes};
pub use engine::sandbox::{Sandbox, SandboxError};
pub use plugin::initialised::{InitialiseError, initialised};
pub use plugin::inspect::{GlobalInspection, Inspection, MemoryInspection, ModuleInspection, TableInspection};
pub use plugin::spec::Spec;
pub use plugin::{LoadTimes, Plugin};
pub use state::difference::{MemoryPart, StateDifference, StatePlace};

#[cfg(test)]
mod tests;
