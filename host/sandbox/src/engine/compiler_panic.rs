//! Panics of the compiler on its input, which can be hostile.
//!
//! Unwinding does not help: some values of wasmtime panic when they are dropped during it, and a panic within a panic ends the process.
//! So a compiler that panics stays in its thread for ever, with its memory, as does one that takes too long. It stays inside the panic
//! hook, so no other hook can be set in this process from then on.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;
use std::thread;

/// Reports the message of the compiler's panic.
type Tell = Box<dyn FnOnce(String)>;

thread_local! {
    /// For this thread; none while it may unwind.
    static TELL: RefCell<Option<Tell>> = const { RefCell::new(None) };
}

/// Runs a compiler in this thread, which nothing may wait for. If it panics, `tell` gets its message, and this does not return.
///
/// # Errors
///
/// It panicked in a thread that it had started, with this message. That thread has been unwound.
pub fn told<T>(tell: impl FnOnce(String) + 'static, run: impl FnOnce() -> T) -> Result<T, String> {
    install_hook();
    TELL.with(|slot| *slot.borrow_mut() = Some(Box::new(tell)));
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    TELL.with(RefCell::take);
    result.map_err(|payload| {
        let owned = payload.downcast_ref::<String>().map(String::as_str);
        said(owned.or(payload.downcast_ref::<&str>().copied()))
    })
}

/// Leaves all other panics to the hook that was set before.
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // When a thread ends, the slot may be gone before it panics.
            let Some(tell) = TELL.try_with(RefCell::take).ok().flatten() else { return others(info) };
            tell(message(info));
            loop {
                thread::park();
            }
        }));
    });
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let text = said(info.payload_as_str());
    // Without the folder, which is one of the machine that built the host.
    let file = |place: &panic::Location<'_>| place.file().rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    info.location().map_or_else(|| text.clone(), |place| format!("{text} ({}:{})", file(place), place.line()))
}

fn said(text: Option<&str>) -> String {
    text.unwrap_or("it does not say why").to_owned()
}
