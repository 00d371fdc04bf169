//! The over-approximation of local model checking.
//!
//! | module | what it holds |
//! |---|---|
//! | `space` | the local states that messages from any local state can lead to |

pub(crate) mod space;
