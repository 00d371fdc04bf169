//! Hundreds of seeds under invariants.
//!
//! `HOST_WORLD_SEEDS=10000` sets the number of seeds of each test, and `HOST_WORLD_SEED=7` runs that one alone, as a failure says.
//!
//! | module | what it holds |
//! |---|---|
//! | `runtime` | runs from seeds, compared with runs of the model |
//! | `seeds` | the seeds of a test, and the plan of each |
//! | `compared` | worlds compared: where handlers are looked up with where they run, and with simulations |
//! | `guided` | nodes that their checkers steer while everything goes wrong |
//! | `memo` | the machine that looks handlers up, compared with the one that runs them |
//! | `snapshots` | snapshots of nodes that talk all the time and are killed all the time |
//! | `steered` | nodes that are steered by checkers, where few filters are safe, and beyond their quota |
//! | `traces` | worlds of random toys, each a trace of the model |
//! | `watched` | runs of nodes with checkers, steered or not |
//! | `checkers` | checkers in systems whose results are known by hand |
//! | `linked` | the same over links with an order |
//! | `paired` | the same with what rarely goes together |
//! | `losses` | disks that are lost while their nodes hear nothing and start again and again |
//! | `connections` | links with an order, whose connections break |
//! | `registers` | a register that clients write and read: linearizable, and nothing acknowledged is lost |
//! | `register` | that register |
//! | `recorded` | recordings of nodes, replayed, and followed as logs |
//! | `linearizable` | whether what clients have seen is that of one register |

mod checkers;
mod compared;
mod connections;
mod guided;
mod linearizable;
mod linked;
mod losses;
mod memo;
mod paired;
mod recorded;
mod register;
mod registers;
mod runtime;
mod seeds;
mod snapshots;
mod steered;
mod traces;
mod watched;
