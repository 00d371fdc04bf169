//! The modules of little_raft as they were published, but for `timer`, in which the library starts a thread that sleeps.
#![allow(warnings, reason = "they are the library's own")]

mod timer;

include!(concat!(env!("OUT_DIR"), "/modules.rs"));
