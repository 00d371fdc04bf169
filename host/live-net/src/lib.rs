//! Runs the nodes of a live cluster on real sockets with a real disk.
//!
//! [`host_live::node`] is the node; this crate is its environment: TCP for ordered links, UDP for the others, a data file that survives a
//! kill at any moment, and the clock. The node runs in the thread that calls [`run`], and each connection has a thread of its own, since a
//! node has few peers. Addresses that are not on loopback are accepted only for connections between nodes that authenticate by TLS.
//!
//! | module | what it holds |
//! |---|---|
//! | `drive` | a node from its start to its end: it receives inputs and executes outputs |
//! | `connections` | which streams between nodes form one connection, and when it breaks |
//! | `address` | the IP addresses to which the addresses of nodes lead |
//! | `accept` | a port, and the connections to it |
//! | `callback` | who has made a stream, without TLS |
//! | `budget` | the bytes that others make a node hold |
//! | `receive` | reads the streams that others have made |
//! | `shared` | state shared by the threads that serve the network |
//! | `record` | the recording of a node in files |
//! | `tcp` | streams between nodes, for ordered links |
//! | `tls` | authenticates peers by certificates |
//! | `udp` | datagrams between nodes, for links without an order |
//! | `http` | HTTP for clients and metrics |
//! | `health` | the probes of a node |
//! | `limited` | streams with a deadline for the other end |
//! | `requests` | the requests that wait for an answer of the node |
//! | `watch` | the checker of a node, in a thread of its own; the node never waits for it |
//! | `slot` | passes snapshots from a node to its checker |
//! | `hold` | the thread that looks ahead from events whose effects are held |
//! | `steer` | the gate of a node that its checker steers |
//! | `deadline` | the deadline of a round of a checker |
//! | `board` | the counts and the phase of a node, published for its ports |
//! | `log` | the log of a node |
//! | `metrics` | the counts of a node, for Prometheus |
//! | `wire` | what arrives from other nodes and from clients |
//! | `status` | whether a node runs, from outside |
//! | `disk` | the files of a node on the disk of a machine |
//! | `tests` | processes on loopback that are killed, and other faults |
#![forbid(unsafe_code)]

mod accept;
mod address;
mod board;
mod budget;
mod callback;
mod connections;
mod deadline;
mod disk;
mod drive;
mod health;
mod hold;
mod http;
mod limited;
mod log;
mod metrics;
mod receive;
mod record;
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
pub use disk::{Disk, DiskError, data_of, make_folder, restore};
pub use drive::{Ended, Operations, Place, RunError, run};
pub use hold::HoldCounts;
pub use host_live::disk::{ENTRIES_MAX, MAP_MAX, Owner, PROTOCOL_MAX, Ways};
pub use host_live::node::DiskId;
pub use log::{Line, Sink, stamp};
pub use record::{RecordError, Recording, numbers, segments};
pub use status::{Answers, Asking, Status, status};
pub use steer::{Steer, SteeringCounts};
pub use tls::{CredentialFile, Credentials, Tls, TlsError};
pub use watch::{Missing, Watch, Watched};
