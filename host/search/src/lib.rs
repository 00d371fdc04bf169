//! The search strategies and their common ground.
//!
//! Independent of Wasm, files, clocks, terminals, and threads other than rayon's. A strategy is a row of
//! [`strategy::STRATEGIES`]. The folders import downwards only: `strategy`, then the families of searches, then `kernel`.
//!
//! | module | what it holds |
//! |---|---|
//! | `kernel` | input and output of every strategy, and small parts that several share |
//! | `global` | searches of global states: state, visited set, breadth-first and parallel depth-first engines |
//! | `graph` | the graph of the global states, passed on edge by edge |
//! | `liveness` | whether promises of progress are kept, decided on a graph |
//! | `outlook` | whether a promise can still be kept from one state, without the complete graph |
//! | `reduction` | the reduced search: messages and renamings that do not matter |
//! | `stateless` | searches of executions: happens-before, races, wakeup trees |
//! | `unfolding` | the causal unfolding: events, candidates, cut-offs |
//! | `local` | the over-approximated local states of `lmc` |
//! | `strategy` | the strategies as rows: name, guarantees, bounds honoured, entry point; one module each |
//! | `verdict` | the status of each property in a report, and the verdict that follows from these alone |
//!
//! # Example
//!
//! A server grants a lock to each of two clients that request it, without checking whether it is free:
//!
//! ```
//! use std::sync::Arc;
//!
//! use host_model::lts::{Lts, Stepper};
//! use host_model::scenario::Scenario;
//! use host_model::toys::{Toy, ToyTrigger};
//! use host_model::trace::{self, TraceEvent, start};
//! use host_search::kernel::{EndCondition, Report, Search, SearchBounds, Unmonitored};
//! use host_search::strategy::bdfs;
//!
//! const ASK: u8 = 0;
//! const GRANT: u8 = 1;
//!
//! // Node 0 is the server and goes to state `next` with each grant; a client that has the lock is in state 1, and both must not have it.
//! let lock = |next| {
//!     let toy = Toy::new(3)
//!         .in_flight(1, 0, ASK)
//!         .in_flight(2, 0, ASK)
//!         .rule(0, 0, ToyTrigger::Message(1, ASK), next, &[(1, GRANT)])
//!         .rule(0, 0, ToyTrigger::Message(2, ASK), next, &[(2, GRANT)])
//!         .rule(1, 0, ToyTrigger::Message(0, GRANT), 1, &[])
//!         .rule(2, 0, ToyTrigger::Message(0, GRANT), 1, &[]);
//!     Arc::new(toy.forbid(&[None, Some(1), Some(1)]))
//! };
//!
//! // Searches the global states, and returns the report with the steps of the first violation.
//! let check = |toy: Arc<Toy>| -> Result<(Report, Vec<String>), Box<dyn std::error::Error>> {
//!     let lts = Lts::new(&toy, Scenario::new(3))?;
//!     let mut stepper = Stepper::new(&lts)?;
//!     let report = bdfs::run(&Search {
//!         lts: &lts,
//!         starts: &start::initial(&mut stepper)?,
//!         bounds: SearchBounds::default(),
//!         monitor: &Unmonitored,
//!         collect_system_states: false,
//!     })?;
//!     let Some(violation) = report.violations.first() else { return Ok((report, Vec::new())) };
//!     let steps = trace::record(&mut stepper, &violation.initial, &violation.path)?;
//!     trace::confirm(&toy, lts.scenario(), &violation.origin, &steps, &violation.finding(&mut stepper)?)?;
//!     let words = |event: &TraceEvent| match event {
//!         TraceEvent::Deliver { from, payload } if payload.0 == [ASK] => format!("is asked by node {from}"),
//!         TraceEvent::Deliver { from, .. } => format!("has the lock from node {from}"),
//!         event => format!("{event:?}"),
//!     };
//!     let lines = steps.iter().map(|step| format!("node {} {}", step.node, words(&step.event))).collect();
//!     Ok((report, lines))
//! };
//!
//! let (report, steps) = check(lock(0))?;
//! assert_eq!(report.end, EndCondition::Violation);
//! println!("{}", steps.join("\n"));
//! assert_eq!(steps.len(), 4);
//! assert!(steps.contains(&"node 1 has the lock from node 0".to_owned()));
//! assert!(steps.contains(&"node 2 has the lock from node 0".to_owned()));
//!
//! // A server that grants once, in state 0 alone: the start, and per first client the grant and the other request, each delivered or not.
//! let (report, steps) = check(lock(1))?;
//! assert_eq!((report.end, steps), (EndCondition::SpaceExhausted, Vec::new()));
//! assert_eq!(report.counts.global_states, Some(1 + 2 * 2 * 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
