//! Two nodes, their disks and the links between them.
//!
//! | module | what it holds |
//! |---|---|
//! | `pair` | two nodes on links and disks that obey the test |
//! | `differences` | checkpoints between nodes as differences |
//! | `lengths` | how long a message may be, in a search and in a node |
//! | `order` | what leaves a node, and when: disks, resets, broken connections |
//! | `restarts` | nodes that only answer, and start again |
//! | `filters` | gates |
//! | `ahead` | what a node says of the cluster where the effects of an event are held |
//! | `snapshots` | snapshots of running nodes as the beginning of a round |
//! | `gathering` | whom a node asks for a snapshot |
//! | `bad_input` | what is refused |
//! | `clients` | requests of clients, answers to them, and durations |
//! | `limits` | handlers that hit limits of the plugin |
//! | `draws` | answers by weights |

mod ahead;
mod bad_input;
mod clients;
mod differences;
mod draws;
mod filters;
mod gathering;
mod lengths;
mod limits;
mod order;
mod pair;
mod restarts;
mod snapshots;
