//! The over-approximation of local model checking.
//!
//! | module | what it holds |
//! |---|---|
//! | `space` | the local states that messages from anywhere can lead to |

pub(crate) mod space;
