//! What lies beside an instance in wasmtime's store, and the faults that come out of it.
//!
//! | module | what it holds |
//! |---|---|
//! | `memory` | linear memories whose bytes the host can reach |
//! | `context` | host data beside an instance during a call; answers to `choose`, `can-send` and `log` |
//! | `fault` | from an error of wasmtime to a guest's fault, in the same words on every machine |

pub(crate) mod context;
pub(crate) mod fault;
pub(crate) mod memory;
