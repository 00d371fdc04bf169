//! The engine, and compilation in threads that can be abandoned.
//!
//! | module | what it holds |
//! |---|---|
//! | `sandbox` | the engine: every switch that decides what a guest can do or see, with its reason; the imports |
//! | `compile` | checking and compiling in threads that can be abandoned |
//! | `compiler_panic` | panics of the compiler |
//! | `memory` | memory use as Linux reports it |
//! | `processor` | the processor time of these threads |

pub(crate) mod compile;
pub(crate) mod compiler_panic;
pub(crate) mod memory;
pub(crate) mod processor;
pub(crate) mod sandbox;
