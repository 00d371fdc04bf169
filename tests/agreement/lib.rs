//! What the tests of agreement share: a naive reference, and strategies run on toys.

pub mod reference;
pub mod stopping;
pub mod toys;
