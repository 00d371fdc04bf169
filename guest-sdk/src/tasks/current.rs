//! The parts of the node whose handler runs, as thread-locals: natively several nodes take turns in one thread.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread::LocalKey;

/// A part of the node whose handler runs; none between handlers.
pub(super) type Current<T> = RefCell<Option<Rc<T>>>;

/// Runs a function while this part is the present one.
pub(super) fn within<T: 'static, R>(key: &'static LocalKey<Current<T>>, part: &Rc<T>, run: impl FnOnce() -> R) -> R {
    let outer = key.with_borrow_mut(|current| current.replace(Rc::clone(part)));
    let result = run();
    key.with_borrow_mut(|current| *current = outer);
    result
}

/// The present part, if the handler of a node runs.
pub(super) fn present<T: 'static>(key: &'static LocalKey<Current<T>>) -> Option<Rc<T>> {
    key.with_borrow(Clone::clone)
}

/// The present part.
///
/// # Panics
///
/// No handler of a node runs.
#[track_caller]
pub(super) fn required<T: 'static>(key: &'static LocalKey<Current<T>>) -> Rc<T> {
    present(key).expect(
        "tasks, timers and choices belong to a node: call this in a task, or in `start` or `call` of a `Program`",
    )
}
