//! The disk of a node: a file whose records lead to the durable state.
//!
//! A record holds the whole state, or how it differs from that of the record before: so a write costs what has changed.
//! Records are appended, and synchronised before they are acknowledged. An incomplete record at the end was never acknowledged and is cut
//! off; a [damaged](records) one is an error. A long file is replaced atomically by a new one. The file names its owner, and the note next
//! to it records that a file exists: so a lost file is not taken for that of a new node.
//!
//! Nothing here opens a file. The operations on files are those of [`Files`], implemented by the file system of a machine, and by a
//! simulated disk that crashes between any two of them.
//!
//! | module | what it holds |
//! |---|---|
//! | `backup` | the durable state of a node at one moment |
//! | `changes` | records that are changes of the record before |
//! | `edits` | the difference of a durable state from the one before |
//! | `log` | the file of a node: opening, writing, replacing it |
//! | `records` | the format of the file |
//! | `tests` | files with changes, on a disk that counts the bytes written |

mod backup;
mod changes;
mod edits;
mod log;
pub mod records;

pub use backup::{Backup, NoBackup};
pub use log::{Disk, Files, Trouble, Ways};
pub use records::{ENTRIES_MAX, FILE_LONGEST, MAP_MAX, Owner, PROTOCOL_MAX, RECORD_MAX};

#[cfg(test)]
mod tests;
