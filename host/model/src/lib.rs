//! The pure model of a distributed system under test.
#![forbid(unsafe_code)]

pub mod machine;
