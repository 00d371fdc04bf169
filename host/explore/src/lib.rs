//! The server behind the page of `host explore`.
//!
//! | module | what it holds |
//! |---|---|
//! | `shapes` | the answers of its API, as the page knows them |
#![forbid(unsafe_code)]

pub mod shapes;
