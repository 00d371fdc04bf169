//! Processes on loopback that are killed, and what else goes wrong.
//!
//! | module | what it holds |
//! |---|---|
//! | `disk` | files of nodes: torn, damaged, full, in use |
//! | `http` | clients that take long, and what is not taken from them |
//! | `processes` | a cluster of processes that are killed |
//! | `attacks` | what reaches the port of a node, and how many bytes that makes it hold |
//! | `relay` | what gets in the way of messages |
//! | `breaks` | connections that break where one end does not see it |
//! | `busy` | a node that has no end of things to do |
//! | `connections` | both ends of a connection, with threads and network in any order |
//! | `certificates` | who signs the certificates of nodes |
//! | `encrypted` | nodes that prove who they are, and those that do not |
//! | `credentials` | certificates and keys with which no node runs |
//! | `watched` | nodes with a checker beside them, which may be slow or dead |
//! | `steered` | nodes that their checkers steer |
//! | `trial` | three nodes in threads of this process, with a checker beside each |
//! | `refused` | places where no node runs |

mod attacks;
mod breaks;
mod busy;
mod certificates;
mod connections;
mod credentials;
mod disk;
mod encrypted;
mod http;
mod processes;
mod refused;
mod relay;
mod steered;
mod trial;
mod watched;

use crate::Owner;

/// Whose the files of these tests are.
pub(crate) fn owner() -> Owner {
    let [plugin, digest, network] = ["toy", "none", "ordered"].map(str::to_owned);
    Owner { node: 0, plugin, digest, nodes: 3, config: String::new(), network, name: String::new() }
}
