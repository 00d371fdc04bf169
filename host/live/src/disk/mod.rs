//! The disk of a node: a file whose last record is the durable state.
//!
//! Records are appended, and synchronised before they are acknowledged. An incomplete record at the end was never acknowledged and is cut
//! off; a [damaged](records) one is an error. A long file is replaced atomically by a new one. The file names its owner, and the note next
//! to it records that a file exists: so a lost file is not taken for that of a new node.
//!
//! Nothing here opens a file. The operations on files are those of [`Files`], implemented by the file system of a machine, and by a
//! simulated disk that crashes between any two of them.
//!
//! | module | what it holds |
//! |---|---|
//! | `log` | the file of a node: opening, writing, replacing it |
//! | `records` | the format of the file |

mod log;
pub mod records;

pub use log::{Disk, Files, Trouble, Ways};
pub use records::{Owner, RECORD_MAX};
