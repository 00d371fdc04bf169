//! Processes on loopback that are killed, and other faults.
//!
//! | module | what it holds |
//! |---|---|
//! | `disk` | files of nodes: torn, damaged, full, in use |
//! | `http` | slow clients, and refused requests |
//! | `processes` | a cluster of processes that are killed |
//! | `attacks` | attacks on the port of a node, and the bytes that they make it hold |
//! | `relay` | a relay that disturbs messages |
//! | `breaks` | connections that break unnoticed by one end |
//! | `busy` | a node under endless load |
//! | `ending` | the end of a node on a signal, and its probes |
//! | `connections` | both ends of a connection, with threads and network in any order |
//! | `certificates` | the authority that signs the certificates of nodes |
//! | `encrypted` | nodes that authenticate, and nodes that do not |
//! | `credentials` | certificates and keys that a node refuses |
//! | `watched` | nodes with a checker, which may be slow or dead |
//! | `steered` | nodes that their checkers steer |
//! | `gated` | steps that wait for a report of a checker |
//! | `trial` | three nodes with checkers, in threads of this process |
//! | `recorded` | recordings of processes that are killed |
//! | `refused` | configurations that a node refuses |

mod attacks;
mod breaks;
mod busy;
mod certificates;
mod connections;
mod credentials;
mod disk;
mod encrypted;
mod ending;
mod gated;
mod http;
mod processes;
mod recorded;
mod refused;
mod relay;
mod steered;
mod trial;
mod watched;

use crate::Owner;

/// The owner of the files in these tests.
pub(crate) fn owner() -> Owner {
    let [plugin, digest, network] = ["toy", "none", "ordered"].map(str::to_owned);
    Owner { node: 0, plugin, digest, nodes: 3, config: String::new(), network, name: String::new() }
}
