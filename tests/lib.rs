//! What the tests share.

pub mod reference;
