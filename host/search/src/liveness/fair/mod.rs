//! Fair executions: which edges can be taken for ever, and a lasso that takes them.
//!
//! | module | what it holds |
//! |---|---|
//! | `lasso` | a fair lasso: a shortest path into a fair component, and a short fair cycle there |
//! | `walk` | closed walks: whether one is fair, and its needs otherwise |
//! | `fairness` | fair components |
//! | `large` | large strongly connected components, by all workers |
//! | `components` | strongly connected components |
//! | `arena` | the part of the graph in which an execution can owe a promise for ever |
//! | `chance` | which outcomes of a handler can be taken for ever |

pub(super) mod arena;
mod chance;
mod components;
pub(super) mod fairness;
mod large;
pub(super) mod lasso;
mod walk;
