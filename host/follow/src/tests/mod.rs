//! Logs as text, and the reasons of refusals. Verdicts are compared with a naive reference in `tests/agreement/following`.
//!
//! | module | what it holds |
//! |---|---|
//! | `reading` | logs as text, wrong ones among them |
//! | `refusals` | the reasons of refusals, and bounds |

mod reading;
mod refusals;
