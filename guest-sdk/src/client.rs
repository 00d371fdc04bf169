//! What clients of a running node ask, and what they get: in the terms of HTTP.

use crate::NodeId;

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Such as `GET`.
    pub method: String,
    /// Begins with `/`, and has no host; what follows a `?` is part of it.
    pub path: String,
    /// The content.
    pub body: Vec<u8>,
}

impl Request {
    /// One without a content.
    pub fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), body: Vec::new() }
    }

    /// The same with a content.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

/// What a client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code: 200 up to, and including, 599.
    pub status: u16,
    /// The content.
    pub body: Vec<u8>,
    /// The node that the client should ask instead. The host says where that is.
    pub ask: Option<NodeId>,
}

impl Response {
    /// One without a content.
    pub fn new(status: u16) -> Self {
        Self { status, body: Vec::new(), ask: None }
    }

    /// The same with a content.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends the client to another node, by the status 307: it asks the same there.
    pub fn ask(node: NodeId) -> Self {
        Self { status: 307, body: Vec::new(), ask: Some(node) }
    }
}
