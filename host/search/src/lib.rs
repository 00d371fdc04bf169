//! The search strategies and their common ground.
//!
//! Knows nothing of Wasm, files, clocks, terminals, or threads other than rayon's. A strategy is a row of
//! [`strategy::STRATEGIES`]. The folders import downwards only: `strategy`, then the families of searches, then `kernel`.
//!
//! | module | what it holds |
//! |---|---|
//! | `kernel` | input and output of every strategy, and small parts that several share |
//! | `global` | searches of global states: state, visited set, breadth-first and parallel depth-first engines |
//! | `graph` | the graph of the global states, told edge by edge |
//! | `liveness` | whether what must happen happens, decided on a graph |
//! | `outlook` | whether a promise can still be kept from one state, without the graph of everything |
//! | `reduction` | the reduced search: messages and renamings that do not matter |
//! | `stateless` | searches of executions: happens-before, races, wakeup trees |
//! | `unfolding` | the causal unfolding: events, candidates, cut-offs |
//! | `local` | the over-approximated local states of `lmc` |
//! | `strategy` | the strategies as rows: name, guarantees, bounds honoured, entry point; one module each |
//! | `verdict` | the status of each property in a report, and the verdict that follows from these alone |
#![forbid(unsafe_code)]

mod global;
pub mod graph;
pub mod kernel;
pub mod liveness;
mod local;
pub mod outlook;
mod reduction;
mod stateless;
pub mod strategy;
mod unfolding;
pub mod verdict;
