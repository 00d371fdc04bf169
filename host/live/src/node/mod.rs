//! A node of a running cluster: the component that was checked, with timers, messages on a wire and a disk.
//!
//! [`Node`] opens no socket and no file. The driver passes it the time, received frames and the calls of clients, and executes its
//! [`Output`]s. One of them is a record for the disk: no output that depends on a record is released before the record is on the disk.
//!
//! Foreign input is refused and counted, see [`Refusal`]: frames of other programs, clusters and versions, and of a second process
//! with the identity of a node.
//!
//! | module | what it holds |
//! |---|---|
//! | `runtime` | the node |
//! | `initial` | the first state of a node: its `init` |
//! | `handler` | one handler, from the gate before it to the gate after it |
//! | `ahead` | the cluster with and without an event whose effects are held, for a gate that looks ahead |
//! | `gathering` | the collection of snapshots: which nodes are asked, and whose states the immediate check reads |
//! | `judge` | the evaluation of properties for the gate |
//! | `moment` | the state of a node between two events |
//! | `answers` | the answers to `choose` and `can-send` |
//! | `asked` | the snapshots that a node has asked for |
//! | `bandwidth` | the rate limit for checkpoints |
//! | `clients` | requests of clients, and answers to them |
//! | `outbox` | outputs, and the records that they wait for |
//! | `post` | packets that leave a node |
//! | `undo` | handlers that hit a limit of the plugin |
//! | `arming` | the times of local events that become possible |
//! | `timers` | the local events that wait, by their time |
//! | `disks` | the identities of data files, by which a node that lost its data is recognised |
//! | `frame` | packets on a wire |
//! | `refusal` | why an input is refused, and the counts |
//! | `requests` | the requests that a node has taken since it started |
//! | `known` | the starts and disks of peers that a node has learnt |
//! | `inside` | what a simulation reads from a node, beyond its outputs |
//! | `settings` | the identity of a node, and its settings |
//! | `tests` | two nodes, their disks and the links between them |

mod ahead;
mod answers;
mod arming;
mod asked;
mod bandwidth;
mod clients;
mod disks;
mod frame;
mod gathering;
mod handler;
mod initial;
mod inside;
mod judge;
mod known;
mod moment;
mod outbox;
mod post;
mod refusal;
mod requests;
mod runtime;
mod settings;
#[cfg(test)]
mod tests;
mod timers;
mod undo;

pub use bandwidth::Backoff;
pub use disks::{DiskId, Disks};
pub use frame::{Announced, FRAME_MAX, HEAD, VERSION, announced, sender, sender_of};
pub(crate) use frame::{for_any_start, opened};
pub use initial::NotStarted;
pub use outbox::{Output, Record};
pub use post::TOKEN;
pub use refusal::{Cause, Counts, Failure, NotNow, Refusal, Undone};
pub use runtime::Node;
pub use settings::{Delays, Identity, Settings};
