//! What the tests of agreement share: a naive reference, and strategies run on toys.
//!
//! | module | what it holds |
//! |---|---|
//! | `growing` | protocols with numbers that grow without end, and a naive search of them |
//! | `stopping` | monitors and stops that end a search, and a checkpoint in memory |
//! | `reference` | a search of toys straight from the definition, without ids and fingerprints |
//! | `programs` | protocols given by functions over integers: longer, wider and heavier than toys |
//! | `toys` | runs a strategy on a toy, and names by content what it has reached |

pub mod growing;
pub mod programs;
pub mod reference;
pub mod stopping;
pub mod toys;
