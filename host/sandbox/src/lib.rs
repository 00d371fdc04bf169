//! Runs protocols as sandboxed WebAssembly components and captures their state.
//!
//! The only crate that names wasmtime. [`Sandbox`] holds the engine, its settings and the [`GuestLimits`]; [`Plugin`] is a
//! loaded component and makes [`Machine`](host_model::contract::Machine)s, one for each worker.
//!
//! The state of a guest is the content and size of its memories and its mutable globals. Before a component is
//! compiled, its core modules are rewritten: each write also marks which 256 bytes it went to, and mutable globals
//! move into memory. A snapshot is then the difference from the image right after instantiation, found and restored
//! at a cost proportional to what was written. Tables, dropped segments and 64-bit memories are refused, at load or by
//! a fault of the instruction that would change them; they are never ignored.
//!
//! | module | what it holds |
//! |---|---|
//! | `sandbox` | the engine: every switch that decides what a guest can do or see, with its reason; the imports |
//! | `limits` | limits of a guest: names, defaults, ranges |
//! | `plugin` | a loaded component |
//! | `spec` | a loaded specification from outside |
//! | `initialised` | a component that begins where another one is after a call of `init` |
//! | `plugin_parts` | what the instances and machines of a plugin share |
//! | `compile` | checking and compiling in threads that can be abandoned |
//! | `processor` | the processor time of these threads |
//! | `compiler_panic` | panics of the compiler |
//! | `check` | the check that bytes are a component of this contract, before any of it runs |
//! | `features` | the features of WebAssembly that a component may use |
//! | `validate` | whether a component is valid |
//! | `error` | reasons why a file cannot be loaded |
//! | `abi` | the contract in Rust types |
//! | `rewrite` | the rewriting of core modules: marks, cells, guards |
//! | `cache` | compiled code on disk |
//! | `machine` | the sandbox as a `Machine` |
//! | `buffers` | arguments of calls, in buffers that are used again |
//! | `rest` | the state between handlers, where the memory tells states apart |
//! | `functions` | the functions of a component that the host calls |
//! | `instance` | one instance in a store of its own |
//! | `context` | host data beside an instance during a call; answers to `choose`, `can-send` and `log` |
//! | `fault` | from an error of wasmtime to a guest's fault, in the same words on every machine |
//! | `memory` | linear memories whose bytes the host can reach |
//! | `image` | images of whole memories, to compare with |
//! | `snapshot` | capture and restore |
//! | `difference` | the first place in which two captured states differ |
//! | `portable` | local states as bytes that another process can take up |
//! | `lines` | pieces of memory that differ from an image |
//! | `inspect` | the parts of a component, for people |
//! | `bare_instance` | the unmodified component without snapshots: the yardstick of the bench |
//! | `fixtures` | guests in WebAssembly text, for tests |
//! | `tests` | the tests of the sandbox |

mod abi;
mod buffers;
mod cache;
mod check;
mod compile;
mod compiler_panic;
mod context;
mod difference;
mod error;
mod fault;
mod features;
mod functions;
mod image;
mod initialised;
mod inspect;
mod instance;
mod limits;
mod lines;
mod machine;
mod memory;
mod plugin;
mod plugin_parts;
mod portable;
mod processor;
mod rest;
mod rewrite;
mod sandbox;
mod snapshot;
mod spec;
mod validate;

#[cfg(feature = "fixtures")]
#[doc(hidden)]
pub mod bare_instance;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;

pub use abi::{About, AboutIdentity, AboutNetwork, AboutParameter};
pub use cache::room::{CACHE_BYTES_MAX, CacheUse};
pub use difference::{MemoryPart, StateDifference, StatePlace};
pub use error::LoadError;
pub use features::{FEATURES, Feature};
pub use initialised::{InitialiseError, initialised};
pub use inspect::{GlobalInspection, Inspection, MemoryInspection, ModuleInspection, TableInspection};
pub use limits::{Addresses, GuestLimits, LIMITS, Libraries, Limit, Sabotage, SandboxConfig, Unit};
pub use plugin::{LoadTimes, Plugin};
pub use sandbox::{Sandbox, SandboxError};
pub use spec::Spec;

#[cfg(test)]
mod tests;
