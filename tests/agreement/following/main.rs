//! Logs that are followed and systems that are compared, by the search and by a naive reference: one binary, which needs no strategy.
//!
//! | module | what it holds |
//! |---|---|
//! | `verdicts` | random logs of random systems: the verdict of the search and that of the reference |
//! | `recorded` | recordings of running nodes, as logs |
//! | `refining` | pairs of random systems, compared by their sequences of views |
//! | `describing` | toys that describe themselves |
//! | `logs` | logs made from executions, with holes and lies |
//! | `reference` | whether an execution explains a log, straight from the definition |

#![allow(clippy::print_stdout, reason = "tests say how many cases they had")]

mod describing;
mod logs;
mod recorded;
mod reference;
mod refining;
mod verdicts;
