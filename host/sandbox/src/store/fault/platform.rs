//! Platform functions that a guest called and no plugin has: panics of Rust's standard library without an operating system, traps of the
//! stubs that `host build` puts in place of WASI, and messages of the stubs that it puts into interpreters.

use crate::store::context::{PANIC_PREFIX, PLATFORM_PREFIX};

/// An unavailable platform function that was called.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Its description for people.
    what: String,
    remedy: &'static str,
    /// The library's own words for it, if they contain more than `what`.
    function: Option<String>,
    /// The caller.
    caller: Caller,
}

/// The caller of a platform function.
#[derive(Debug, PartialEq, Eq)]
enum Caller {
    /// The first function that is not of a library.
    Frame,
    /// A place in the source. The functions on the stack are those of an interpreter, and show nothing.
    Source(Option<String>),
}

const CLOCK: &str = "let the author of the wrapper hand time in as a local event or as a number of the state, or build for \
    wasm32-wasip1, where the clock stands still: `target = \"wasm32-wasip1\"` in [build] of host.toml";
const WAIT: &str = "a timer that is due is a local event: let the wrapper call what the library does after the wait";
const THREAD: &str =
    "look for a feature or a constructor of the library without threads, and call its parts from the handlers";
const SYSTEM: &str =
    "look for a feature of the library without it; what comes from outside is a message or a local event";
const MODULE: &str = "import it at the top of a file of the plugin, so that it is there when the plugin is built";
const END: &str = "let the handler return, or raise an error where the protocol must not get to";

/// Remedies, by the beginning of the words for the function.
const REMEDIES: [(&str, &str); 5] =
    [("a wait", WAIT), ("a timer", WAIT), ("a thread", THREAD), ("a module", MODULE), ("the end of the process", END)];

/// The message of rand 0.4 to 0.7, which only uses an operating system or a browser.
const NO_GENERATOR: &str = "could not initialize thread_rng";
const GENERATOR: &str = "rand before 0.8 finds no randomness in a plugin, but for 0.7 built for wasm32-wasip1: take a version of the library \
    with a later one, or a constructor of it that takes a generator or a seed";

/// Messages of the standard library, with the function that was called; the first match counts.
const WORDS: [(&str, &str, &str); 7] = [
    ("time not implemented on this platform", "a clock", CLOCK),
    ("can't sleep", "a wait", WAIT),
    ("condvar wait not supported", "a wait for another thread", THREAD),
    ("failed to spawn thread: ", "a thread", THREAD),
    ("creating pipe on this platform is unsupported", "a pipe", SYSTEM),
    ("no filesystem on this platform", "a file system", SYSTEM),
    ("no pids on this platform", "a process", SYSTEM),
];

/// The message of an error that some library has unwrapped, wherever that was.
const UNSUPPORTED: &str = "operation not supported on this platform";

/// Traps of the adapter; its functions are named after those of WASI.
const ADAPTER: &str = "wasi_snapshot_preview1.";

/// Traps of the stubs for WASI 0.2: interface and function follow, with a `#` between them.
const WASI: &str = "wasi:";

/// The purposes of the interfaces of WASI 0.2, by the beginnings of their names.
const INTERFACES: [(&str, &str); 4] = [
    ("io/poll", "a wait"),
    ("sockets/", "a socket"),
    ("filesystem/", "a file"),
    ("cli/exit", "the end of the process"),
];

/// The function called, from the last line before a trap: `panic: message (file:line)`, or `host:platform what: words (file:line)`.
pub(super) fn by_line(line: &str) -> Option<Wanted> {
    match line.strip_prefix(PLATFORM_PREFIX) {
        Some(words) => Some(by_words(words)),
        None => by_panic(line.strip_prefix(PANIC_PREFIX)?),
    }
}

/// The function called, from the words of a stub in an interpreter.
fn by_words(words: &str) -> Wanted {
    let (words, place) = match words.rsplit_once(" (") {
        Some((words, place)) => (words, place.strip_suffix(')').filter(|place| *place != "None")),
        None => (words, None),
    };
    let (what, function) = words.split_once(": ").map_or((words, None), |(what, name)| (what, Some(name.to_owned())));
    Wanted { what: what.to_owned(), remedy: remedy(what), function, caller: Caller::Source(place.map(str::to_owned)) }
}

fn remedy(what: &str) -> &'static str {
    REMEDIES.iter().find(|(start, _)| what.starts_with(start)).map_or(SYSTEM, |(_, remedy)| remedy)
}

fn by_panic(message: &str) -> Option<Wanted> {
    let (message, place) = message.rsplit_once(" (").unwrap_or((message, ""));
    let is_of_std = place.contains("library/std/src/");
    let found = WORDS.iter().find(|(words, ..)| is_of_std && message.starts_with(words));
    let wanted =
        |what: &str, remedy, function| Wanted { what: what.to_owned(), remedy, function, caller: Caller::Frame };
    if let Some((_, what, remedy)) = found {
        return Some(wanted(what, remedy, None));
    }
    if message.starts_with(NO_GENERATOR) {
        return Some(wanted("randomness", GENERATOR, None));
    }
    // The place is that of the library, and names it.
    let by_library = message.contains(UNSUPPORTED).then(|| place.trim_end_matches(')').to_owned());
    by_library.map(|place| wanted("a thread, a socket or a file", SYSTEM, Some(place)))
}

/// The function called, from the function that trapped.
pub(super) fn by_trap(frame: &str) -> Option<Wanted> {
    if let Some(function) = frame.strip_prefix(ADAPTER) {
        let what = if function == "poll_oneoff" { "a wait" } else { "a socket" };
        let function = Some(function.to_owned());
        return Some(Wanted { what: what.to_owned(), remedy: remedy(what), function, caller: Caller::Frame });
    }
    let (interface, function) = frame.strip_prefix(WASI)?.split_once('#')?;
    let what = INTERFACES.iter().find(|(start, _)| interface.starts_with(start)).map_or(interface, |(_, what)| what);
    let function = Some(format!("{interface} {function}"));
    Some(Wanted { what: what.to_owned(), remedy: remedy(what), function, caller: Caller::Source(None) })
}

/// Whether a function belongs to the standard library or to a runtime, so that another function is the caller.
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
        let Self { what, remedy, function: called, caller } = self;
        let of_std = || frames.iter().find(|frame| frame.starts_with("std::") && is_public(frame)).cloned();
        let called = called.or_else(of_std).map(|name| format!(" (`{name}`)")).unwrap_or_default();
        let caller = match caller {
            Caller::Frame => frames.iter().find(|frame| !is_of_library(frame)).cloned(),
            Caller::Source(place) => place,
        };
        let caller = caller.map(|name| format!(" in `{name}`")).unwrap_or_default();
        format!("`{function}` asks for {what}{called}{caller}, which no plugin has; {remedy}")
    }
}

/// Whether a function of the standard library is public.
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
    fn panics_of_a_missing_platform_are_recognised() {
        let what = |line: &str| by_line(line).map(|wanted| wanted.what);
        assert_eq!(what(&format!("panic: time not implemented on this platform ({STD}")), Some("a clock".to_owned()));
        assert_eq!(
            what("panic: can't sleep (library/std/src/sys/thread/unsupported.rs:45)"),
            Some("a wait".to_owned())
        );
        let spawn =
            "panic: failed to spawn thread: Error { kind: Unsupported } (library/std/src/thread/functions.rs:131)";
        assert_eq!(what(spawn), Some("a thread".to_owned()));
        // The author's own words.
        assert_eq!(what("panic: can't sleep (src/lib.rs:45)"), None);
        assert_eq!(what("can't sleep (library/std/src/sys/thread/unsupported.rs:45)"), None);
        assert_eq!(what("panic: index out of bounds (library/std/src/lib.rs:4)"), None);
        let unwrapped = "panic: called `Result::unwrap()` on an `Err` value: Error { kind: Unsupported, message: \"operation not supported \
             on this platform\" } (/cargo/registry/src/index/net-1.0.0/src/lib.rs:7)";
        let message = by_line(unwrapped).expect("a system").message("init", &[]);
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
        let wanted = by_line(&format!("panic: time not implemented on this platform ({STD}")).expect("a clock");
        let message = wanted.message("init", &frames);
        let expected =
            "`init` asks for a clock (`std::time::Instant::now`) in `timers::wheel::Wheel::new`, which no plugin has; ";
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(by_trap("unreachable_of_mine"), None);
        assert_eq!(by_trap("wasi_snapshot_preview1.sock_send").map(|wanted| wanted.what), Some("a socket".to_owned()));
    }

    #[test]
    fn interpreters_say_what_was_asked_for_and_where() {
        let said = |line: &str| by_line(line).expect("a system").message("handle-local", &["PyEval".to_owned()]);
        let expected =
            "`handle-local` asks for a wait (`time.sleep(1)`) in `app.py:7`, which no plugin has; a timer that is due";
        let message = said("host:platform a wait: time.sleep(1) (app.py:7)");
        assert!(message.starts_with(expected), "{message}");
        let message = said("host:platform a module that was not there: No module named 'x' (None)");
        assert!(
            message.starts_with("`handle-local` asks for a module that was not there (`No module named 'x'`), which")
        );
        assert!(message.ends_with(MODULE), "{message}");
        // A line of the author's own.
        assert_eq!(by_line("platform a wait: of mine"), None);
    }

    #[test]
    fn traps_of_what_stands_in_for_wasi_are_named() {
        let said = |frame: &str| by_trap(frame).expect("a system").message("init", &["poll".to_owned()]);
        let message = said("wasi:io/poll#[method]pollable.block");
        assert!(
            message
                .starts_with("`init` asks for a wait (`io/poll [method]pollable.block`), which no plugin has; a timer")
        );
        assert!(said("wasi:sockets/tcp#[method]tcp-socket.shutdown").contains("asks for a socket (`sockets/tcp "));
        assert!(said("wasi:cli/exit#exit").contains("asks for the end of the process"));
        assert_eq!(by_trap("wasi:of mine"), None);
    }
}
