//! Consistent checkpoints of a running cluster, without stopping it.
//!
//! Each node numbers its checkpoints. Every packet carries the number of its sender, and a packet with a higher number than that of
//! its receiver forces a checkpoint before the packet is processed. So for any `n`, the first checkpoints of all nodes with a number of
//! at least `n` are a cut that no message crosses backwards: a *snapshot*.
//!
//! Source: Yabandeh, Knezevic, Kostic, Kuncak, "CrystalBall: predicting and preventing inconsistencies in deployed distributed
//! systems", NSDI 2009, after Manivannan and Singhal, "Quasi-synchronous checkpointing". Differs in the rule for resets and for
//! discarded checkpoints, since the published one admits inconsistent snapshots, see [`Rule`]; and in the messages in flight, which
//! are part of a snapshot.
//!
//! | module | what it holds |
//! |---|---|
//! | `manager` | the state machine of one node: packets and requests in, packets and snapshots out |
//! | `gather` | the collection of a snapshot by the node that requests it |
//! | `snapshot` | snapshots: their consistency, and the messages in flight |
//! | `beginning` | the global state of a snapshot, in which a search begins |
//! | `packet` | the packets between nodes |
//! | `cost` | the memory that a packet takes when decoded, computed without decoding it |
//! | `difference` | packets as bytes: checkpoints as differences from one that their destination has |
//! | `channel` | the record of messages to and from a peer |
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
