//! Wakers that are the number of a task: nothing is allocated, so a stored waker tells no states apart that the task does not.
#![allow(unsafe_code, reason = "a waker is built from a table of functions")]

use std::ptr::without_provenance;
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::ready::wake;

static FUNCTIONS: RawWakerVTable = RawWakerVTable::new(raw, wake_pointer, wake_pointer, |_| {});

/// The waker of a task.
pub(super) fn waker(task: u32) -> Waker {
    // SAFETY: the functions read the pointer as a number and dereference nothing, so no call of them, from any thread, can be wrong.
    unsafe { Waker::from_raw(raw(without_provenance(task as usize))) }
}

const fn raw(task: *const ()) -> RawWaker {
    RawWaker::new(task, &FUNCTIONS)
}

fn wake_pointer(task: *const ()) {
    wake(task.addr() as u32);
}
