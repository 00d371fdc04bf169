//! The state of a guest: captured, restored and compared.
//!
//! | module | what it holds |
//! |---|---|
//! | `lines` | pieces of memory that differ from an image |
//! | `image` | images of whole memories, to compare with |
//! | `digest` | the digest of memories, from the granules that differ |
//! | `snapshot` | capture and restore |
//! | `difference` | the first place in which two captured states differ |

pub(crate) mod difference;
pub(crate) mod digest;
pub(crate) mod image;
pub(crate) mod lines;
pub(crate) mod snapshot;
