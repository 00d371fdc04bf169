//! Nodes that are asynchronous programs: tasks, timers and messages, in virtual time and in the order that the checker decides.
//!
//! A [`Program`] starts tasks; [`Tasks`] makes a [`Protocol`](crate::Protocol) of it. A handler puts its input in, a message or the end of a
//! timer, and runs all tasks that are ready until none is. A waiting task is memory like any other, which the checker captures and restores.
//!
//! Channels and locks that need no runtime work between tasks, such as those of tokio with its feature `sync` alone, and so do `join!` and
//! `select!`. tokio's `select!` draws lots to begin with one of its branches: write `biased;` in it.
//!
//! ```
//! use std::cell::Cell;
//! use std::rc::Rc;
//! use std::time::Duration;
//!
//! use guest_sdk::tasks::{self, Network, Program, Tasks};
//! use guest_sdk::{About, Never, ParameterError, Parameters, Properties};
//!
//! /// A node asks its neighbour each second until it has an answer.
//! struct Polling;
//!
//! impl Program for Polling {
//!     const ABOUT: About = guest_sdk::about!().nodes(2);
//!     type Message = bool;
//!     type Call = Never;
//!     type Durable = Never;
//!     type Shared = Rc<Cell<bool>>;
//!
//!     fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
//!         Ok(Polling)
//!     }
//!
//!     fn start(&self, network: Network<bool>, _: Option<Never>) -> Rc<Cell<bool>> {
//!         let answered = Rc::new(Cell::new(false));
//!         let (questions, seen) = (network.clone(), Rc::clone(&answered));
//!         let asking = tasks::spawn(async move {
//!             loop {
//!                 tasks::sleep(Duration::from_secs(1)).await;
//!                 questions.send_to((questions.me() + 1) % questions.nodes(), true);
//!             }
//!         });
//!         tasks::spawn(async move {
//!             loop {
//!                 let (from, is_question) = network.recv_from().await;
//!                 if is_question {
//!                     network.send_to(from, false);
//!                 } else {
//!                     seen.set(true);
//!                     asking.abort();
//!                 }
//!             }
//!         });
//!         answered
//!     }
//!
//!     fn properties(claims: &mut Properties<Tasks<Self>>) {
//!         claims.sometimes("answered").node(|_, node| Some(node.get()), |answered| match answered {
//!             true => Ok(()),
//!             false => Err("no answer yet".to_owned()),
//!         });
//!     }
//! }
//!
//! guest_sdk::arena!();
//! guest_sdk::export!(Tasks<Polling>);
//!
//! let mut cluster = guest_sdk::test::Cluster::<Tasks<Polling>>::new(2, &[])?;
//! // The name of a timer is the place that armed it.
//! let timer = cluster.local_events(0)[0].name;
//! assert!(timer.contains(".rs:"), "{timer}");
//! cluster.happen(0, timer);
//! cluster.settle();
//! assert!(cluster.state(0).get() && cluster.local_events(0).is_empty());
//! # Ok::<(), ParameterError>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `program` | a node as a program, and the protocol that it is |
//! | `executor` | tasks, and the order in which they run |
//! | `ready` | the ready tasks |
//! | `waker` | wakers that are numbers |
//! | `current` | the node whose handler runs |
//! | `timers` | sleeping, timeouts and the clock |
//! | `zone` | which timers can be the next |
//! | `fs` | files |
//! | `net` | byte streams |
//! | `network` | messages |

mod current;
mod executor;
pub mod fs;
pub mod net;
mod network;
mod program;
mod ready;
mod timers;
mod waker;
mod zone;

pub use executor::{Aborted, JoinHandle, choose, log, spawn, yield_now};
pub use network::Network;
pub use program::{Event, Program, Running, Tasks};
pub use timers::{Elapsed, Instant, Sleep, sleep, sleep_named, sleep_until, timeout};
