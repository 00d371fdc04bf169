//! The server behind the page of `host explore`: HTTP on loopback over a tree of executions.
//!
//! One thread owns the tree and executes handlers; requests are jobs for it. Each request names its place, so that two tabs do not
//! disturb each other. The page is part of the binary, and asks for nothing elsewhere.
//!
//! | module | what it holds |
//! |---|---|
//! | `refused` | why a request is refused |
//! | `engine` | the tree of executions, and what requests ask of it |
//! | `words` | the words of a request, and the job that is made of them |
//! | `requests` | the requests of the API, a row each |
//! | `routes` | from the words of a request to a job for the engine |
//! | `guard` | requests that are not from the page |
//! | `server` | the sockets, and the thread of the engine |
#![forbid(unsafe_code)]

mod engine;
mod guard;
mod refused;
mod requests;
mod routes;
mod server;
mod words;

pub use engine::{Explored, PLACES_MAX};
pub use requests::{Given, REQUESTS, Request};
pub use server::serve;
