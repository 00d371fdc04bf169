//! The disk of a node: a file, the last record in which is the durable state.
//!
//! Records are appended, and synchronised before they are acknowledged. A record at the end that is not complete was never acknowledged,
//! and is cut off; what is [damaged](records) is an error. A long file is replaced by a new one, which is there completely or not at all.
//! The file names its owner, and the note next to it says that there is a file: a lost one is not taken for that of a new node.
//!
//! Nothing here opens a file: the operations on files are those of [`Files`], which a machine executes, or a simulated disk that
//! crashes between any two of them.
//!
//! | module | what it holds |
//! |---|---|
//! | `log` | the file of a node: opened, written, replaced |
//! | `records` | the bytes of such a file |

mod log;
pub mod records;

pub use log::{Disk, Files, Trouble, Ways};
pub use records::{Owner, RECORD_MAX};
