//! A cluster of [nodes](crate::node::Node) in virtual time, from a seed: the runtime itself, with everything around it replaced.
//!
//! A [`World`] stands in for the sockets, disks, clocks and clients of a running node, and executes the outputs of each node in
//! the same order. Faults are drawn from the seed, as a [`Plan`] allows: frames are lost, late, repeated and overtaken, one end of
//! a link does not reach the other, processes are killed between any two operations on their disks, writes are torn, disks are full,
//! nodes are slow or stop for a while, and clocks jump. A [`History`] records all events, and its steps are a trace of the model.
//!
//! | module | what it holds |
//! |---|---|
//! | `driver` | inputs in, outputs executed |
//! | `advance` | one input after the other |
//! | `asked` | snapshots and requests that some node is asked for |
//! | `advice` | checkers of the nodes: snapshots for them, and what their rounds hand over |
//! | `advisor` | one checker, in virtual time |
//! | `explored` | what the checkers of all nodes and runs have explored |
//! | `profile` | how far checkers look, and the time that it takes |
//! | `hold` | hold and look ahead: the results for all nodes and runs |
//! | `guided` | the gate of a node that its checker steers |
//! | `crashes` | processes that begin and end, and what their disks do meanwhile |
//! | `clocks` | clocks that jump, and processes that pause |
//! | `place` | a node with its clock and its disk, whether it runs or not |
//! | `plan` | what goes wrong, and how often |
//! | `network` | frames on their way between nodes |
//! | `connections` | connections between nodes, where links have an order |
//! | `links` | the same as the model has them |
//! | `passage` | ordered links between nodes that do not reach each other |
//! | `ends` | ends of connections in the model |
//! | `files` | files on a disk that crashes |
//! | `history` | what has happened at the nodes, and to each message |
//! | `path` | what has happened as a trace of the model |
//! | `script` | phases of a run that are the same each time |
//! | `cuts` | snapshots compared with that |
//! | `input` | what is going to happen |
//! | `memo` | a machine that looks handlers up instead of running them |
//! | `runtime` | runs from seeds, judged as those of the model |
//! | `refusal` | why nodes cannot run in place of the model |
//! | `recorder` | the gate that takes notes |
//! | `chance` | what is drawn in a world |
//! | `watched` | runs of nodes with checkers |
//! | `tests` | hundreds of seeds under invariants |

mod advance;
mod advice;
mod advisor;
mod asked;
mod chance;
mod clocks;
mod connections;
mod crashes;
mod cuts;
mod driver;
mod ends;
mod explored;
mod files;
mod guided;
mod history;
mod hold;
mod input;
mod links;
mod memo;
mod network;
mod passage;
mod path;
mod place;
mod plan;
mod profile;
mod recorder;
mod refusal;
mod runtime;
mod script;
#[cfg(test)]
mod tests;
mod watched;

pub use advisor::{Advice, Foreseen};
pub use driver::{Answered, Broken, World};
pub use guided::Guided;
pub use history::{History, Step};
pub use memo::{Memo, Memory, Taken};
pub use plan::{Own, Plan, Trouble};
pub use profile::Profile;
pub use recorder::{Recorder, What};
pub use refusal::RuntimeError;
pub use runtime::{Runtime, Troubles};
pub use watched::{Checkers, Firsts, Part, Predicted, Ran, Watched};
