//! One binary, so that everything is linked once.
//!
//! | module | what it holds |
//! |---|---|
//! | `agreement` | every exact strategy against the reference, on random systems |

mod agreement;
