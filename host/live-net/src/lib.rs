//! Runs the nodes of a live cluster on real sockets with a real disk.
//!
//! [`host_live::node`] says what a node does; this crate is the world around it: TCP where links have an order, UDP where they have
//! none, a file that survives a kill at any moment, and the clock. One thread per connection, since a node has few peers, and the node
//! itself in the thread that calls [`run`]. Addresses that are not on loopback are taken for connections between nodes that prove who they
//! are by TLS, and for nothing else.
//!
//! | module | what it holds |
//! |---|---|
//! | `drive` | a node from its start to its end: inputs in, outputs carried out |
//! | `connections` | which streams between nodes are one connection, and when it is broken |
//! | `accept` | a port, and the connections to it |
//! | `callback` | who has made a stream that nothing else proves |
//! | `budget` | the bytes that others make a node hold |
//! | `receive` | what comes over the streams that others have made |
//! | `shared` | what the threads that serve the network share |
//! | `tcp` | streams between nodes, where links have an order |
//! | `tls` | who a peer is, by certificates |
//! | `udp` | datagrams between nodes, where they have none |
//! | `http` | HTTP for clients and metrics |
//! | `limited` | streams whose other end has its time and no more |
//! | `requests` | the requests that wait for an answer of the node |
//! | `watch` | a checker beside a node, for which the node never waits |
//! | `slot` | where a node leaves a snapshot for its checker |
//! | `hold` | the thread that looks ahead from events whose effects are held |
//! | `steer` | the gate of a node that its checker steers |
//! | `deadline` | a time at which a round of a checker ends that takes too long |
//! | `board` | the counts of a node, published for its metrics |
//! | `log` | the log of a node |
//! | `metrics` | what a node has counted, for Prometheus |
//! | `wire` | what comes from other nodes and from clients |
//! | `status` | whether a node runs, from outside |
//! | `disk` | the files of a node on the disk of a machine |
//! | `tests` | processes on loopback that are killed, and what else goes wrong |
#![forbid(unsafe_code)]

mod accept;
mod board;
mod budget;
mod callback;
mod connections;
mod deadline;
mod disk;
mod drive;
mod hold;
mod http;
mod limited;
mod log;
mod metrics;
mod receive;
mod requests;
mod shared;
mod slot;
mod status;
mod steer;
mod tcp;
#[cfg(test)]
mod tests;
mod tls;
mod udp;
mod watch;
mod wire;

pub use budget::Holding;
pub use disk::{Disk, DiskError, make_folder};
pub use drive::{Ended, Place, RunError, run};
pub use hold::HoldCounts;
pub use host_live::disk::{Owner, RECORD_MAX, Ways};
pub use host_live::node::DiskId;
pub use log::{Sink, stamp};
pub use status::{Status, status};
pub use steer::{Steer, SteeringCounts};
pub use tls::{CredentialFile, Credentials, Tls, TlsError};
pub use watch::{Missing, Watch, Watched};
