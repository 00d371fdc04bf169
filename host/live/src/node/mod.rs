//! A node of a running cluster: the component that was checked, with timers, messages on a wire and a disk.
//!
//! [`Node`] opens no socket and no file. Whoever drives it tells it the time, gives it the frames that come and the calls of clients, and
//! carries out its [`Output`]s: what has to be on the disk is one of them, and nothing that depends on it comes out before it is there.
//!
//! What is not the protocol's is refused and counted, see [`Refusal`]: frames of other programs, clusters and versions, and of a
//! second process with the identity of a node.
//!
//! | module | what it holds |
//! |---|---|
//! | `runtime` | the node |
//! | `handler` | one handler, from the gate before it to the gate after it |
//! | `ahead` | what the gate is told of an event whose effects are held, to look ahead from it |
//! | `gathering` | the collection of snapshots: whom a node asks, and of whom its immediate check then knows anything |
//! | `judge` | what judges for the gate |
//! | `moment` | what is known of a node between two events |
//! | `answers` | the answers to `choose` and `can-send` |
//! | `asked` | the snapshots that a node has asked for |
//! | `bandwidth` | how much of the network checkpoints take |
//! | `clients` | requests of clients, and answers to them |
//! | `outbox` | outputs, and what they wait for |
//! | `post` | packets that leave a node |
//! | `undo` | handlers that hit a limit of the plugin |
//! | `arming` | when local events are to happen that begin to wait |
//! | `timers` | when local events are due |
//! | `disks` | the disks of nodes, by which one that lost its data is recognised |
//! | `frame` | packets on a wire |
//! | `refusal` | why an input is not taken, and how often that was |
//! | `requests` | the requests that a node has taken since it started |
//! | `known` | the starts and disks of peers that a node has learnt |
//! | `inside` | what a simulation asks of a node, beyond its outputs |
//! | `settings` | who a node is, and how it behaves in time |
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
pub(crate) use frame::opened;
pub use frame::{Announced, FRAME_MAX, HEAD, VERSION, announced, sender, sender_of};
pub use outbox::{Output, Record};
pub use post::TOKEN;
pub use refusal::{Cause, Counts, Failure, NotNow, Refusal, Undone};
pub use runtime::Node;
pub use settings::{Delays, Identity, Settings};
