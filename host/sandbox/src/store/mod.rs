//! The host's data of an instance in wasmtime's store, and the faults of guests.
//!
//! | module | what it holds |
//! |---|---|
//! | `memory` | linear memories whose bytes the host can reach |
//! | `context` | the host's data during a call; answers to `choose`, `can-send` and `log` |
//! | `storage` | the guest's functions on the durable map |
//! | `fault` | turns an error of wasmtime into a guest's fault, in the same words on every machine |

pub(crate) mod context;
pub(crate) mod fault;
pub(crate) mod memory;
pub(crate) mod storage;
