//! Consistent checkpoints of a running cluster, without stopping it.
//!
//! Each node numbers its checkpoints. Every packet carries the number of its sender, and a packet with a higher number than that of
//! its receiver forces a checkpoint before anything of it is processed. So the checkpoints of all nodes with the lowest number from
//! `n` on are a cut that no message crosses backwards: a *snapshot*.
//!
//! Source: Yabandeh, Knezevic, Kostic, Kuncak, "CrystalBall: predicting and preventing inconsistencies in deployed distributed
//! systems", NSDI 2009, after Manivannan and Singhal, "Quasi-synchronous checkpointing". Differs in what happens after a reset and
//! where checkpoints were discarded: the rule there admits inconsistent snapshots, see [`Rule`]; and in messages in flight, which a
//! snapshot contains.
//!
//! | module | what it holds |
//! |---|---|
//! | `manager` | the state machine of one node: packets and requests in, packets and snapshots out |
//! | `gather` | the collection of a snapshot by the node that wants it |
//! | `snapshot` | snapshots: whether they are consistent, and what is in flight in them |
//! | `beginning` | the global state of a snapshot, as a search begins in it |
//! | `packet` | what nodes send to each other |
//! | `cost` | the memory that a packet takes once it is read, found out without taking it |
//! | `difference` | packets as bytes: checkpoints as differences from what their destination has |
//! | `channel` | what a node knows of the messages to and from a peer |
//! | `numbers` | the numbers of checkpoints, across resets |
//! | `tests` | random schedules, and every execution of three nodes |

mod beginning;
mod channel;
mod cost;
mod difference;
mod gather;
mod manager;
mod numbers;
mod packet;
mod snapshot;
#[cfg(test)]
mod tests;

pub use beginning::beginning;
pub use channel::{Channel, Kept, Sequences};
pub use difference::{Differences, News, Unreadable};
pub use gather::Outcome;
pub use manager::{Dropped, Limits, Manager, Output};
pub use numbers::{AfterReset, Durable, Rule};
pub use packet::{Body, Checkpoint, Header, Packet};
pub use snapshot::{Contents, Inconsistency, Snapshot};
