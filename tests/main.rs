//! One binary, so that everything is linked once.
//!
//! | module | what it holds |
//! |---|---|
//! | `agreement` | every exact strategy against the reference, on random systems |
//! | `stateless` | the strategies that count executions against the reference, on smaller ones |
//! | `faults` | faults and networks by every strategy: against the reference, and counted by hand |
//! | `deadlocks` | deadlocks by every strategy that looks for them, likewise |
//! | `links` | a network for each link, by every strategy: against the reference, and counted by hand |
//! | `quorums` | quorums by every strategy against the reference |
//! | `refinement` | quorum transitions split by senders: the same relation, and what a reduction gains |
//! | `symmetry` | node symmetry against the reference, and declarations that are refused |
//! | `walks` | random walks: what the seed decides, weights, coverage |
//! | `languages` | one protocol in many languages: the same states, to the last byte |
//! | `plugins` | the bundled plugins in the sandbox, by every strategy |
//! | `cli` | the command line: results, exit codes, bad input |
//! | `fuzzing` | damaged and made-up input, a little of it |
//! | `workers` | the same result for any number of workers, and from a checkpoint on |
//! | `structure` | what the documents promise about the tree itself |

mod agreement;
mod cli;
mod deadlocks;
mod faults;
mod fuzzing;
mod languages;
mod links;
mod plugins;
mod quorums;
mod refinement;
mod stateless;
mod structure;
mod symmetry;
mod walks;
mod workers;
