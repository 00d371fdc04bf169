//! Requests of a guest to the system, language by language: each works, or is an error of the platform by name, and never a violation.
//!
//! The same table is in `docs/languages.md`. The guests are in `tests/platform`; `cli::platform` covers the requests of crates in Rust.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use host_model::contract::{Effects, FaultKind, Input, Machine, MachineFactory};
use host_sandbox::SandboxConfig;

use crate::languages::{all_languages, built, copy, folder, load};

/// The result of a request.
#[derive(Clone, Copy)]
enum Answer {
    /// An answer, which is the same each time the node is in the same state.
    Works,
    /// An error of the platform that has these words.
    Platform(&'static str),
    /// The language has no such request.
    Absent,
}

use Answer::{Absent, Platform, Works};

/// A request in a language: the parameter of the guest, and the result.
type Cell = (&'static str, Answer);

const NONE: Cell = ("", Absent);

/// The languages, with the names of their guests and the folders of their SDK, where a guest uses it.
const LANGUAGES: [(&str, &str, Option<&str>); 3] =
    [("Python", "python", None), ("TypeScript", "typescript", None), ("Go", "go", Some("../guest-sdk/go"))];

/// The request, its substitute if it works, and the code in each language.
const TABLE: [(&str, &str, [Cell; 3]); 22] = [
    ("output", "lines in `log`", [("print", Works), ("console", Works), ("fmt.Println", Works)]),
    ("logging", "lines in `log`", [("logging", Works), NONE, ("log.Print", Works)]),
    ("the time", "2001-09-09 01:46:40 UTC", [("time.time", Works), ("Date.now", Works), ("time.Now", Works)]),
    ("a date", "the same", [("datetime.now", Works), ("new Date", Works), NONE]),
    ("time that has passed", "none", [("time.monotonic", Works), ("performance.now", Works), ("time.Since", Works)]),
    (
        "random bytes",
        "the same each time",
        [("os.urandom", Works), ("crypto.getRandomValues", Works), ("crypto/rand.Read", Works)],
    ),
    ("an identifier", "the same each time", [("uuid.uuid4", Works), ("crypto.randomUUID", Works), NONE]),
    (
        "a generator",
        "begins in the same way, and continues in the memory of the node",
        [("random", Works), ("Math.random", Works), ("math/rand.Int", Works)],
    ),
    ("variables", "none are set", [("os.environ", Works), ("process.env.NODE_ENV", Works), ("os.Getenv", Works)]),
    ("text as bytes", "", [NONE, ("TextEncoder", Works), NONE]),
    ("bytes as text", "", [NONE, ("TextDecoder", Works), NONE]),
    ("a deep copy", "", [NONE, ("structuredClone", Works), NONE]),
    ("coroutines", "run until all wait", [("asyncio", Works), ("await", Works), ("goroutines", Works)]),
    ("a callback later", "runs before the handler returns", [NONE, ("Promise", Works), NONE]),
    (
        "a wait",
        "",
        [
            ("time.sleep", Platform("a wait")),
            ("await for ever", Platform("a wait")),
            ("time.Sleep", Platform("a wait")),
        ],
    ),
    (
        "a timer",
        "",
        [
            ("asyncio.sleep", Platform("a wait")),
            ("setTimeout", Platform("a timer")),
            ("time.After", Platform("a wait")),
        ],
    ),
    ("a thread", "", [("threading.Thread", Platform("a thread")), ("Worker", Platform("a thread")), NONE]),
    (
        "a file",
        "",
        [
            ("open", Platform("a file, a socket or a process")),
            NONE,
            ("os.ReadFile", Platform("a file, a socket or a process")),
        ],
    ),
    (
        "a socket",
        "",
        [
            ("socket", Platform("a file, a socket or a process")),
            ("fetch", Platform("a socket")),
            ("net.Dial", Platform("a file, a socket or a process")),
        ],
    ),
    (
        "a process",
        "",
        [
            ("subprocess", Platform("a file, a socket or a process")),
            ("process", Platform("a global of Node.js or of browsers")),
            ("exec.Command", Platform("a file, a socket or a process")),
        ],
    ),
    ("the end of the process", "", [("sys.exit", Platform("the end of the process")), NONE, NONE]),
    (
        "a module",
        "",
        [
            ("import", Platform("a module that was not imported when the plugin was built")),
            ("Buffer", Platform("a global of Node.js or of browsers")),
            NONE,
        ],
    ),
];

/// Requests that are variants of those in the table.
const FURTHER: [&[Cell]; 3] = [
    &[
        ("datetime.strptime", Works),
        ("secrets", Works),
        ("uuid.uuid1", Works),
        ("hash", Works),
        ("os.path.exists", Works),
        ("threading.Lock", Works),
        ("Event.wait", Works),
        ("threads", Platform("a thread")),
        ("open for writing", Platform("a file, a socket or a process")),
        ("tempfile", Platform("a file, a socket or a process")),
        ("input", Platform("input")),
    ],
    &[
        ("library", Works),
        ("setInterval", Platform("a timer")),
        ("WebSocket", Platform("a socket")),
        ("AbortController", Platform("a global of Node.js or of browsers")),
    ],
    &[("os.Create", Platform("a file, a socket or a process"))],
];

#[test]
fn a_request_works_or_is_an_error_of_the_platform_by_name() {
    for (nth, (language, guest, sdk)) in LANGUAGES.into_iter().enumerate() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let Some(component) = guest_of(guest, sdk, place.path()) else { continue };
        let plugin = load(&component, SandboxConfig::default());
        let mut machine = plugin.machine().expect("an instance");
        machine.keep_log(true);
        let of_table = TABLE.iter().map(|(_, _, cells)| cells[nth]);
        for (request, answer) in of_table.chain(FURTHER[nth].iter().copied()) {
            match answer {
                Absent => {}
                Works => {
                    let [once, again] = [(); 2].map(|()| asked(&mut *machine, request));
                    let once = once.unwrap_or_else(|why| panic!("{language}, {request}: {why}"));
                    assert_eq!(Ok(&once), again.as_ref(), "{language}, {request}");
                    let is_output = TABLE[..2].iter().any(|(_, _, cells)| cells[nth].0 == request);
                    assert_eq!(!once.1.is_empty(), is_output, "{language}, {request}: {:?}", once.1);
                }
                Platform(words) => {
                    let why = asked(&mut *machine, request).expect_err(request);
                    let expected = format!("Platform: `handle-local` asks for {words}");
                    assert!(why.starts_with(&expected), "{language}, {request}: {why}");
                    assert!(why.contains(", which no plugin has; "), "{language}, {request}: {why}");
                }
            }
        }
    }
}

/// The runtime of Go waits for ever without further memory; this wait is reported as the memory limit, not as a wait of the plugin.
#[test]
fn a_guest_in_go_without_memory_ends_with_its_reason() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (_, guest, sdk) = LANGUAGES[2];
    let Some(component) = guest_of(guest, sdk, place.path()) else { return };
    let plugin = load(&component, SandboxConfig::default());
    let mut machine = plugin.machine().expect("an instance");
    let why = asked(&mut *machine, "memory").expect_err("there is an end");
    assert!(why.contains("`handle-local` wants more memory than the limit of"), "{why}");
    assert!(why.contains("`--limit memory=N`"), "{why}");
}

/// The guest of a language; in a folder of its own with the SDK if it does not have one.
fn guest_of(guest: &str, sdk: Option<&str>, place: &Path) -> Option<Vec<u8>> {
    let here: PathBuf = folder("../tests/platform").join(guest);
    let Some(sdk) = sdk else { return built(guest, &here, all_languages()) };
    copy(&here, place);
    let host = place.join("host");
    std::fs::create_dir(&host).expect("a new folder");
    copy(&folder(sdk).join("host"), &host);
    std::fs::write(place.join("go.mod"), "module asks\n\ngo 1.24\n").expect("a new file");
    built(guest, place, true)
}

/// The state of a node after it has asked twice, and the lines that it has logged; or the reason why it failed.
fn asked(machine: &mut dyn Machine, request: &str) -> Result<(String, Vec<String>), String> {
    machine.restore(None).expect("an instance");
    let mut effects = Effects::default();
    let config = format!("for={request}\n");
    let init = Input::Init { node: 0, nodes: 2, config: &config, durable: None };
    machine.handle(init, &[], &mut effects).unwrap_or_else(|fault| panic!("{request}: {fault}"));
    let mut lines = Vec::new();
    for _ in 0..2 {
        let event = machine.local_events().map_err(|fault| fault.to_string())?.remove(0);
        machine.handle(Input::Local(&event), &[], &mut effects).map_err(|fault| {
            let kind = if fault.kind == FaultKind::Platform { "Platform" } else { "no error of the platform" };
            format!("{kind}: {}", fault.message)
        })?;
        lines.append(&mut effects.log);
    }
    let state = machine.serialize().map_err(|fault| fault.to_string())?;
    Ok((String::from_utf8_lossy(&state).into_owned(), lines))
}

/// The rows of the document.
fn table() -> String {
    let mut text =
        String::from("| asked for | Python | TypeScript | Go | stands in, if it works |\n|---|---|---|---|---|\n");
    for (what, stands_in, cells) in TABLE {
        let _ = write!(text, "| {what} ");
        for (request, answer) in cells {
            let _ = match answer {
                Works => write!(text, "| `{request}`: works "),
                Platform(words) => write!(text, "| `{request}`: error, \"{words}\" "),
                Absent => write!(text, "| – "),
            };
        }
        let _ = writeln!(text, "|{}{stands_in} |", if stands_in.is_empty() { "" } else { " " });
    }
    text
}

#[test]
fn the_document_has_the_table() {
    let document = include_str!("../docs/languages.md");
    let table = table();
    assert!(document.contains(&table), "docs/languages.md lacks this table:\n{table}");
}
