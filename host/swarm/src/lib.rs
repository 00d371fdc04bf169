//! Many independent searches, in processes on this machine and on others, with one report.
//!
//! The jobs of a swarm are a list that is known before the first one begins: each target (a component or a scenario, with options of
//! `host run`) with each seed. A job is a process that leaves its result in a folder of its own, so one that died runs again, and a swarm
//! that was stopped continues. The report is made of the results in the order of the jobs: it does not depend on where, when and how often
//! they ran.
//!
//! Imports point downwards in this table:
//!
//! | module | what it holds |
//! |---|---|
//! | `run` | the threads that take jobs from the schedule |
//! | `place` | a process here or on another machine, which executes a job |
//! | `hosts` | the file with the other machines |
//! | `schedule` | the next job, and those that are no longer needed |
//! | `summary` | the report on all results |
//! | `results` | the result of a job, read and checked |
//! | `folder` | the folder of a swarm |
//! | `plan` | the list of jobs |
//! | `error` | the errors that end a swarm |
//!
//! # Example
//!
//! Two seeds for each of two targets; of equal seeds the first target comes first.
//!
//! ```
//! use host_swarm::plan::{FORMAT, Plan, Target};
//!
//! let target = |name: &str| Target {
//!     name: name.to_owned(),
//!     path: format!("components/{name}.wasm"),
//!     is_component: true,
//!     digest: "00".to_owned(),
//!     scenario: serde_json::json!({ "nodes": 3 }),
//!     options: vec!["--algo".to_owned(), "walk".to_owned()],
//! };
//! let targets = vec![target("paxos"), target("raft")];
//! let plan = Plan { format: FORMAT, host: "host 0.1.0".to_owned(), targets, first_seed: 7, seeds: 2 };
//! assert_eq!(plan.len(), 4);
//! assert_eq!((plan.job(2).target.name.as_str(), plan.job(2).seed), ("paxos", 8));
//! assert_eq!(plan.job(3).name(), "raft, seed 8");
//! ```
#![forbid(unsafe_code)]

pub mod error;
pub mod folder;
pub mod hosts;
pub mod place;
pub mod plan;
pub mod results;
pub mod run;
pub mod schedule;
pub mod summary;
