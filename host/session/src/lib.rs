//! A run as data: the request, the cluster that it opens, the search, and the result.
//!
//! A [`spec::RunSpec`] says what to run, a [`cluster::Cluster`] is ready to run, [`search::run`] runs, and a [`report::RunReport`] is the
//! result, as values; a [`Request`] goes all the way. Command lines, scenario files and checkpoints are three notations of a `RunSpec`.
//! Nothing here knows an option parser or a terminal.
//!
//! Imports point upwards in this table:
//!
//! | module | what it holds |
//! |---|---|
//! | `base` | surroundings, files, failures, exit codes, text |
//! | `spec` | what to run |
//! | `expression` | properties from outside: expressions over described states |
//! | `cluster` | from what to run to a cluster that is ready, and traces in files |
//! | `scenario_file` | scenarios in files |
//! | `live` | clusters that run, in files |
//! | `search` | a search and what surrounds it: progress, checkpoints, findings |
//! | `report` | the result of a run |
//! | `conformance` | runs a plugin for a while, every step in several ways that must not differ |
//! | `request` | a run from its request to its report |
//! | `scopes` | the same run in scopes of growing size |
#![forbid(unsafe_code)]

pub mod base;
pub mod cluster;
pub mod conformance;
pub mod expression;
pub mod live;
pub mod report;
mod request;
pub mod scenario_file;
pub mod scopes;
pub mod search;
pub mod spec;

pub use request::Request;
