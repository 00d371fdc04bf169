//! Shared parts of the agreement tests: a naive reference, strategies run on toys, and combinations of options.
//!
//! | module | what it holds |
//! |---|---|
//! | `effort` | the number of random systems of a test |
//! | `growing` | protocols with numbers that grow without end, and a naive search of them |
//! | `options` | the options of a search with their values, and the combinations that are refused |
//! | `covering` | rows of options such that every two values meet, and of the main options every three |
//! | `stopping` | monitors and stops that end a search, and a checkpoint in memory |
//! | `reference` | a search of toys straight from the definition, without ids and fingerprints |
//! | `refinement` | quorum transitions split by senders, and plain reductions with and without it |
//! | `programs` | protocols given by functions over integers: longer, wider and heavier than toys |
//! | `toys` | runs a strategy on a toy, and names the reached states by content |

pub mod covering;
pub mod effort;
pub mod growing;
pub mod options;
pub mod programs;
pub mod reference;
pub mod refinement;
pub mod stopping;
pub mod toys;
