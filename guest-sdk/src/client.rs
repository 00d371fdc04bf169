//! Requests of clients to a running node, and its responses, in the terms of HTTP.

use crate::NodeId;

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method, such as `GET`.
    pub method: String,
    /// The path: begins with `/`, and has no host; a query behind `?` is part of it.
    pub path: String,
    /// The content.
    pub body: Vec<u8>,
}

impl Request {
    /// A request without a body.
    pub fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), body: Vec::new() }
    }

    /// The same request with a body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

/// The response to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code: 200 up to, and including, 599.
    pub status: u16,
    /// The content.
    pub body: Vec<u8>,
    /// The node that the client should ask instead. The host knows its address.
    pub ask: Option<NodeId>,
}

impl Response {
    /// A response without a body.
    pub fn new(status: u16) -> Self {
        Self { status, body: Vec::new(), ask: None }
    }

    /// The same response with a body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Redirects the client to another node, by the status 307: it repeats its request there.
    pub fn ask(node: NodeId) -> Self {
        Self { status: 307, body: Vec::new(), ask: Some(node) }
    }
}
