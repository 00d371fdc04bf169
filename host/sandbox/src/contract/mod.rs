//! The contract in Rust types, limits, features of WebAssembly, and load errors.
//!
//! | module | what it holds |
//! |---|---|
//! | `table` | the contract as one table |
//! | `abi` | its types in Rust |
//! | `limits` | limits of a guest: names, defaults, ranges |
//! | `features` | the features of WebAssembly that a component may use |
//! | `error` | reasons why a file cannot be loaded |

pub(crate) mod abi;
pub(crate) mod error;
pub(crate) mod features;
pub(crate) mod limits;
pub(crate) mod table;
