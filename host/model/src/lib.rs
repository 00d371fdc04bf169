//! The pure model of a distributed system under test.
//!
//! Independent of Wasm, files, clocks, terminals and threads: a [`Machine`](contract::Machine) executes handlers,
//! everything else is integers. A folder imports only folders below it in this table.
//!
//! | module | what it holds |
//! |---|---|
//! | `toys` | small protocols given by tables, and random ones: the test bed of every strategy |
//! | `trace` | the trace document, the states where a search begins, and replay |
//! | `lts` | the local transition system: the outcomes of each handler in each local state, executed once |
//! | `audit` | audits whether a protocol keeps the contract: notes during a search, trials after it |
//! | `scenario` | the cluster: nodes, networks, faults, and fault states |
//! | `contract` | the boundary to the executor of handlers: machines, properties, fingerprints, stopping |
//!
//! # Example
//!
//! A server grants a lock to each of two clients that request it, without checking whether it is free. A handler runs once per local
//! state and trigger, and a trace replays on fresh machines, where the violation is at its end:
//!
#![cfg_attr(feature = "toys", doc = "```")]
#![cfg_attr(not(feature = "toys"), doc = "```ignore")]
//! use std::sync::Arc;
//!
//! use host_model::lts::{Lts, Stepper, Trigger};
//! use host_model::scenario::Scenario;
//! use host_model::toys::{Toy, ToyTrigger};
//! use host_model::trace::replay::Replay;
//! use host_model::trace::{Finding, Hex, Origin, TraceEvent, TraceStep, start};
//!
//! const ASK: u8 = 0;
//! const GRANT: u8 = 1;
//!
//! // Node 0 is the server; a client that has the lock is in state 1, and both must not have it.
//! let lock = Arc::new(
//!     Toy::new(3)
//!         .in_flight(1, 0, ASK)
//!         .in_flight(2, 0, ASK)
//!         .rule(0, 0, ToyTrigger::Message(1, ASK), 0, &[(1, GRANT)])
//!         .rule(0, 0, ToyTrigger::Message(2, ASK), 0, &[(2, GRANT)])
//!         .rule(1, 0, ToyTrigger::Message(0, GRANT), 1, &[])
//!         .rule(2, 0, ToyTrigger::Message(0, GRANT), 1, &[])
//!         .forbid(&[None, Some(1), Some(1)]),
//! );
//!
//! // The local transition system: the server stays in its state and sends one message.
//! let lts = Lts::new(&lock, Scenario::new(3))?;
//! let mut stepper = Stepper::new(&lts)?;
//! let start = start::initial(&mut stepper)?.remove(0);
//! let mut asked = Vec::new();
//! start.in_flight.for_each_next(&stepper.known().links(&start.locals), |message| asked.push(*message));
//! assert_eq!(asked.len(), 2);
//! let row = stepper.step(start.locals[0], Trigger::deliver(asked[0]))?;
//! assert_eq!(stepper.outcomes(row)[0].next, start.locals[0]);
//! assert_eq!(stepper.outcomes(row)[0].sent.len(), 1);
//!
//! // A trace: both requests arrive, then both grants.
//! let deliver = |from, node, content| TraceStep {
//!     node,
//!     event: TraceEvent::Deliver { from, payload: Hex(vec![content]) },
//!     choices: Vec::new(),
//!     sent: None,
//!     state: None,
//! };
//! let (mut replay, _) = Replay::new(&lock, &Scenario::new(3), &Origin::default())?;
//! for step in [deliver(1, 0, ASK), deliver(2, 0, ASK), deliver(0, 1, GRANT), deliver(0, 2, GRANT)] {
//!     assert_eq!(replay.findings()?, []);
//!     replay.step(&step)?;
//! }
//! assert!(matches!(&replay.findings()?[..], [Finding::Property { name, .. }] if name == "forbidden"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod audit;
pub mod contract;
pub mod lts;
pub mod scenario;
#[cfg(any(test, feature = "toys"))]
pub mod toys;
pub mod trace;
