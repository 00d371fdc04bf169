//! The types of a running protocol: clients and time.

// A length of time, and no clock.
use core::time::Duration;

use crate::contract::event::NodeId;

/// A request of a client to a running node, in the terms of HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Such as `GET`.
    pub method: String,
    /// Begins with `/`, and has no host; what follows a `?` is part of it.
    pub path: String,
    /// The content.
    pub body: Vec<u8>,
}

/// The answer of a running node to a client, in the terms of HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Response {
    /// The status code: 200 up to, and including, 599.
    pub status: u16,
    /// The content.
    pub body: Vec<u8>,
    /// The node that the client should ask instead; smaller than the cluster size.
    pub ask: Option<NodeId>,
}

impl Response {
    /// An answer in words, for people.
    pub fn words(status: u16, words: impl Into<String>) -> Self {
        Self { status, body: words.into().into_bytes(), ask: None }
    }
}

/// The effects of a handler that matter only where a protocol runs: nothing in the guest depends on them, and a search drops them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aside {
    /// Answers to requests, by their numbers, in the order of the calls.
    pub answers: Vec<(u64, Response)>,
    /// Names of local events that wait again.
    pub restarted: Vec<String>,
}

impl Aside {
    /// Forgets all of it.
    pub fn clear(&mut self) {
        self.answers.clear();
        self.restarted.clear();
    }
}

/// A range of durations; the first one is not longer than the second one.
pub type Span = (Duration, Duration);
