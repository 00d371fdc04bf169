//! What a guest asked for that no plugin has: the panics of Rust's standard library for want of an operating system, and the traps of the
//! adapter for WASI that `host build` puts in.

/// Something that was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// For people.
    what: &'static str,
    remedy: &'static str,
    /// How the library says it, as far as its words have more than `what`.
    function: Option<String>,
}

const CLOCK: &str = "let the author of the wrapper hand time in as a local event or as a number of the state, or build for \
    wasm32-wasip1, where the clock stands still: `target = \"wasm32-wasip1\"` in [build] of host.toml";
const WAIT: &str = "a timer that is due is a local event: let the wrapper call what the library does after the wait";
const THREAD: &str =
    "look for a feature or a constructor of the library without threads, and call its parts from the handlers";
const SYSTEM: &str =
    "look for a feature of the library without it; what comes from outside is a message or a local event";

/// Words of the standard library, with what was asked for; the first that fits counts.
const WORDS: [(&str, &str, &str); 7] = [
    ("time not implemented on this platform", "a clock", CLOCK),
    ("can't sleep", "a wait", WAIT),
    ("condvar wait not supported", "a wait for another thread", THREAD),
    ("failed to spawn thread: ", "a thread", THREAD),
    ("creating pipe on this platform is unsupported", "a pipe", SYSTEM),
    ("no filesystem on this platform", "a file system", SYSTEM),
    ("no pids on this platform", "a process", SYSTEM),
];

/// The words of an error that some library has unwrapped, wherever that was.
const UNSUPPORTED: &str = "operation not supported on this platform";

/// Traps of the adapter; its functions are named after those of WASI.
const ADAPTER: &str = "wasi_snapshot_preview1.";

/// What was asked for, by the line of a panic: `panic: message (file:line)`.
pub(super) fn by_panic(line: &str) -> Option<Wanted> {
    let message = line.strip_prefix("panic: ")?;
    let (message, place) = message.rsplit_once(" (").unwrap_or((message, ""));
    let is_of_std = place.contains("library/std/src/");
    let found = WORDS.iter().find(|(words, ..)| is_of_std && message.starts_with(words));
    if let Some((_, what, remedy)) = found {
        return Some(Wanted { what, remedy, function: None });
    }
    // The place is that of the library, and names it.
    let by_library = message.contains(UNSUPPORTED).then(|| place.trim_end_matches(')').to_owned());
    by_library.map(|place| Wanted { what: "a thread, a socket or a file", remedy: SYSTEM, function: Some(place) })
}

/// What was asked for, by the function that trapped.
pub(super) fn by_trap(frame: &str) -> Option<Wanted> {
    let function = frame.strip_prefix(ADAPTER)?;
    let (what, remedy) = match function {
        "poll_oneoff" => ("a wait", WAIT),
        _ => ("a socket", SYSTEM),
    };
    Some(Wanted { what, remedy, function: Some(function.to_owned()) })
}

/// Whether a function belongs to the standard library or to a runtime, so that someone else called for it.
pub(super) fn is_of_library(frame: &str) -> bool {
    let frame = frame.trim_start_matches(['<', '&']);
    let is_path =
        ["std::", "core::", "alloc::", "panic_abort::", "__rustc", "__rust", "rust_", "__wasi", "__wasilibc", ADAPTER];
    is_path.iter().any(|start| frame.starts_with(start))
        || matches!(frame, "poll_oneoff" | "nanosleep" | "usleep" | "sleep" | "_start")
}

impl Wanted {
    /// The words of the fault of a call of `function`, in which `frames` ran, the innermost first.
    pub fn message(self, function: &str, frames: &[String]) -> String {
        let Self { what, remedy, function: called } = self;
        let of_std = || frames.iter().find(|frame| frame.starts_with("std::") && is_public(frame)).cloned();
        let called = called.or_else(of_std).map(|name| format!(" (`{name}`)")).unwrap_or_default();
        let caller = frames.iter().find(|frame| !is_of_library(frame));
        let caller = caller.map(|name| format!(" in `{name}`")).unwrap_or_default();
        format!("`{function}` asks for {what}{called}{caller}, which no plugin has; {remedy}")
    }
}

/// Whether a function of the standard library is one that people call.
fn is_public(frame: &str) -> bool {
    ["std::time::", "std::thread::", "std::net::", "std::fs::", "std::process::"]
        .iter()
        .any(|start| frame.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STD: &str = "/rustc/0123/library/std/src/sys/time/unsupported.rs:13)";

    #[test]
    fn panics_for_want_of_a_system_are_told_from_others() {
        let what = |line: &str| by_panic(line).map(|wanted| wanted.what);
        assert_eq!(what(&format!("panic: time not implemented on this platform ({STD}")), Some("a clock"));
        assert_eq!(what("panic: can't sleep (library/std/src/sys/thread/unsupported.rs:45)"), Some("a wait"));
        let spawn =
            "panic: failed to spawn thread: Error { kind: Unsupported } (library/std/src/thread/functions.rs:131)";
        assert_eq!(what(spawn), Some("a thread"));
        // The author's own words.
        assert_eq!(what("panic: can't sleep (src/lib.rs:45)"), None);
        assert_eq!(what("can't sleep (library/std/src/sys/thread/unsupported.rs:45)"), None);
        assert_eq!(what("panic: index out of bounds (library/std/src/lib.rs:4)"), None);
        let unwrapped = "panic: called `Result::unwrap()` on an `Err` value: Error { kind: Unsupported, message: \"operation not supported \
             on this platform\" } (/cargo/registry/src/index/net-1.0.0/src/lib.rs:7)";
        let message = by_panic(unwrapped).expect("a system").message("init", &[]);
        assert!(message.contains("(`/cargo/registry/src/index/net-1.0.0/src/lib.rs:7`)"), "{message}");
    }

    #[test]
    fn the_caller_is_named_and_not_the_library_between() {
        let frames = [
            "std::time::Instant::now",
            "<core::iter::Map<I, F> as core::iter::Iterator>::next",
            "timers::wheel::Wheel::new",
            "init",
        ];
        let frames = frames.map(str::to_owned);
        let wanted = by_panic(&format!("panic: time not implemented on this platform ({STD}")).expect("a clock");
        let message = wanted.message("init", &frames);
        let expected =
            "`init` asks for a clock (`std::time::Instant::now`) in `timers::wheel::Wheel::new`, which no plugin has; ";
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(by_trap("unreachable_of_mine"), None);
        assert_eq!(by_trap("wasi_snapshot_preview1.sock_send").map(|wanted| wanted.what), Some("a socket"));
    }
}
