//! Decisions about promises: from a search's start states to the verdict and the states to blame.
//!
//! | module | what it holds |
//! |---|---|
//! | `decision` | a search that decides promises, from its start states to its report |
//! | `check` | explores a graph and decides its promises |
//! | `verdict` | the verdict on a promise, with its evidence |
//! | `stuck` | stuck states |
//! | `critical` | critical steps |
//! | `dead` | dead states, distances to a kept promise |

pub(super) mod check;
pub(super) mod critical;
pub(super) mod dead;
pub(super) mod decision;
pub(super) mod stuck;
pub(super) mod verdict;
