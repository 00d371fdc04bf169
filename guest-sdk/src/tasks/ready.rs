//! The ready tasks of a node: first in, first out.

use std::cell::RefCell;
use std::rc::Rc;

use super::current::{Current, present, within};

thread_local! {
    static READY: Current<Ready> = const { RefCell::new(None) };
}

/// The numbers of the ready tasks, each once.
#[derive(Debug, Default)]
pub(super) struct Ready(RefCell<Vec<u32>>);

impl Ready {
    pub(super) fn within<R>(self: &Rc<Self>, run: impl FnOnce() -> R) -> R {
        within(&READY, self, run)
    }

    pub(super) fn add(&self, task: u32) {
        let mut ready = self.0.borrow_mut();
        if !ready.contains(&task) {
            ready.push(task);
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.0.borrow().len() as u32
    }

    pub(super) fn first(&self) -> Option<u32> {
        self.0.borrow().first().copied()
    }

    /// Takes the task behind this many others.
    pub(super) fn take(&self, others: u32) -> u32 {
        self.0.borrow_mut().remove(others as usize)
    }

    /// Removes a task that has ended.
    pub(super) fn remove(&self, task: u32) {
        self.0.borrow_mut().retain(|ready| *ready != task);
    }

    /// Frees the memory of a list without entries.
    pub(super) fn trim(&self) {
        self.0.borrow_mut().shrink_to_fit();
    }
}

/// Makes a task of the node whose handler runs ready; nothing while a node is dropped.
pub(super) fn wake(task: u32) {
    if let Some(ready) = present(&READY) {
        ready.add(task);
    }
}
