//! Small protocols given by tables: the test bed of every strategy. Only with the feature `toys`.
//!
//! A toy has the same interface as a sandboxed plugin, so tests on toys cover the strategies
//! as they are. [`Toy::random`] makes systems whose reachable global states are finite by construction.
//!
//! | module | what it holds |
//! |---|---|
//! | `rule` | rules of a toy node: their triggers and their effects |
//! | `property` | properties given by tuples of local states |
//! | `toy` | a protocol given by a table, and its construction |
//! | `machine` | a toy as a machine |
//! | `stored` | the durable map of a toy node |
//! | `native` | parts of machines that tests write by hand |
//! | `renaming` | contents and states that name a node, and renamings of nodes |
//! | `dice` | random numbers |
//! | `random` | random toys, and the features of the contract that they can have |
//! | `symmetric` | random toys that are invariant under renamings of their nodes |
//! | `busy` | random toys that can run for ever |
//! | `overheard` | machines that note a broken property |
//! | `features` | further features of random toys: properties, copies, choices |

mod busy;
mod dice;
mod features;
mod machine;
mod native;
mod overheard;
mod property;
mod random;
mod renaming;
mod rule;
mod stored;
mod symmetric;
mod toy;

pub use dice::Dice;
pub use features::Feature;
pub use machine::{forbidden_words, trap_words};
pub use overheard::Overheard;
pub use property::{Evaluated, ToyProperty};
pub use renaming::{named, permutations, renamed};
pub use rule::{ToyOutcome, ToyState, ToyTrigger};
pub use stored::read_map;
pub use toy::{Medium, Toy, ToySync};
