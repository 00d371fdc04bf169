//! The reduced search: messages and renamings of nodes that do not matter, and the search without them.
//!
//! | module | what it holds |
//! |---|---|
//! | `reduced_search` | the search of `--reduce` |
//! | `message_facts` | facts about messages, proven from the local steps |
//! | `symmetry` | renamings of interchangeable nodes, defined and checked by execution |
//! | `symmetric_verdicts` | the check that properties give the same verdicts on renamed states |

pub(crate) mod message_facts;
pub(crate) mod reduced_search;
pub(crate) mod symmetric_verdicts;
pub(crate) mod symmetry;
