//! The command line, run in this process with streams and a folder of its own.
//!
//! | module | what it holds |
//! |---|---|
//! | `any_language` | a language without a template |
//! | `assumptions` | consistency of faults, progress and gaps in each report |
//! | `asynchronous` | nodes that are asynchronous programs |
//! | `results` | verdicts and counts on the bundled plugins |
//! | `by_memory` | states distinguished by the memory of a component |
//! | `explore` | the API of `host explore` over HTTP |
//! | `expressed` | properties from outside |
//! | `faults` | guests that misbehave |
//! | `scenarios` | scenarios in files, and `host test` |
//! | `mixed` | clusters whose nodes run different components; adversaries and twins |
//! | `new` | folders that `host new` makes: they build, run, and give the expected results |
//! | `follow` | logs of running clusters: explained, refused, undecided, wrong |
//! | `linearizable` | histories of clients, of any system |
//! | `links` | networks that differ from link to link: reports, traces, scenarios, errors |
//! | `losses` | lost messages: reports, traces, refusals, checkpoints |
//! | `install` | completions and manual pages |
//! | `journals` | the durable map in each SDK |
//! | `languages` | one protocol in several languages, side by side |
//! | `audits` | promises that plugins keep or break |
//! | `counterexamples` | minimised traces and their text |
//! | `findings` | judged properties, merged findings, witnesses |
//! | `graphs` | the states of small clusters, drawn |
//! | `guided` | guided walks: goals, audits, mixed clusters, descriptions that fail |
//! | `grow` | runs in scopes of growing size |
//! | `growth` | states that become longer and longer |
//! | `simulate` | whole runs from seeds |
//! | `specs` | specifications from outside |
//! | `promises` | promises: reports, traces with loops, and gaps of the check |
//! | `live` | a cluster that runs the bundled key-value store, killed and cut off, under clients |
//! | `cache` | the cache between runs, and how it is cleared |
//! | `golden` | the report on each seeded bug, word for word |
//! | `ends` | deadlocks, refused messages, goals that are never reached |
//! | `debugging` | the debugger at a terminal and as a script |
//! | `machines` | machines without memory, and without a private cache |
//! | `printed` | every command line that a command prints |
//! | `ready_made` | ready-made properties in each SDK and as expressions, and names of nodes |
//! | `refine` | components compared by their sequences of views |
//! | `refusals` | every combination of options that is refused |
//! | `breaks` | promises and connections that break, compared with a naive model |
//! | `bounds` | time, memory and interrupts in every phase of every command |
//! | `book` | every command of the README and of the book in `docs` |
//! | `outages` | simulated kills that lose what a node has not synced |
//! | `origins` | traces that begin in given states |
//! | `platform` | system calls of libraries |
//! | `pairs` | pairs of options and of features that meet in no other test |
//! | `peaks` | the memory of the whole process under `--memory`, as the system measures it |
//! | `schema` | traces and results of runs against their schemas, and back from other formats |
//! | `builds` | a trace in another build of its plugin: every command that takes one |
//! | `traces` | from a violation to its replay, and searches that begin after a trace |
//! | `swarm` | many seeds in many processes, with one report |
//! | `tables` | the first runs of the tables of docs/steering.md |
//! | `tips` | tips in errors lead to a command line that is understood |
//! | `bad_input` | every wrong file, option and trace: exit code and sentence |
//! | `checkpoints` | checkpoints: the search that each belongs to, and its limits |
//! | `hostile_text` | text that a terminal, a log or a parser would obey; outputs much longer than inputs |
//! | `verdicts` | one verdict in every report of a run |
//! | `identities` | the ways to distinguish states, on bundled protocols |
//! | `stored` | the durable map: protocols whose durable state is in it |
//! | `yardsticks` | a small part of the table of mistakes far from the start |
//! | `why_different` | states that look the same but count as different |
//! | `hostile_files` | pipes, devices and files without end in every place that takes a file |

mod any_language;
mod assumptions;
mod asynchronous;
mod audits;
mod bad_input;
mod book;
mod bounds;
mod breaks;
mod builds;
mod by_memory;
mod cache;
mod checkpoints;
mod counterexamples;
mod debugging;
mod ends;
mod explore;
mod expressed;
mod faults;
mod findings;
mod follow;
mod golden;
mod graphs;
mod grow;
mod growth;
mod guided;
#[cfg(unix)]
mod hostile_files;
mod hostile_text;
mod identities;
mod install;
mod journals;
mod languages;
mod linearizable;
mod links;
#[cfg(unix)]
mod live;
mod losses;
#[cfg(unix)]
mod machines;
mod mixed;
mod new;
mod origins;
mod outages;
#[cfg(target_os = "linux")]
mod pairs;
mod peaks;
mod platform;
#[cfg(unix)]
mod printed;
mod promises;
mod ready_made;
mod refine;
mod refusals;
mod results;
mod scenarios;
mod schema;
mod simulate;
mod specs;
mod stored;
#[cfg(unix)]
mod swarm;
mod tables;
mod tips;
mod traces;
mod verdicts;
mod why_different;
mod yardsticks;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use host::Environment;
use host_session::base::context::Builds;
use serde_json::Value;
use tempfile::TempDir;

/// The result of a command.
#[derive(Debug)]
struct Ran {
    code: u8,
    out: String,
    err: String,
}

impl Ran {
    /// The one JSON object on standard output.
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Asserts the exit code; returns itself for more.
    #[track_caller]
    fn exits(self, code: u8) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// Asserts that standard error is one sentence with these words, and at most one line of help.
    #[track_caller]
    fn says(self, words: &[&str]) -> Self {
        let lines: Vec<&str> = self.err.lines().collect();
        assert!(lines.first().is_some_and(|line| line.starts_with("error: ")), "{self:?}");
        assert!(lines.iter().skip(1).all(|line| line.starts_with("help: ")) && lines.len() <= 2, "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "no {word:?} in {self:?}");
        }
        self
    }
}

/// A folder to run commands in, empty at first.
struct Place {
    folder: TempDir,
    /// The number of polls after which the user interrupts a command; there is about one poll per call of a guest.
    interrupted: Option<u64>,
    /// The number of polls of the last command, counted if `interrupted` is set.
    asked: Arc<AtomicU64>,
    /// The folder for compiled code.
    cache: Option<PathBuf>,
    /// The builds of earlier commands, for folders that no test changes; none if each command builds for itself.
    builds: Option<RefCell<Builds>>,
    /// The folder in it where commands run; the place itself if empty.
    standing: &'static str,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        Self {
            folder,
            interrupted: None,
            asked: Arc::default(),
            cache: host::default_cache(),
            builds: None,
            standing: "",
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a file there.
    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.path(name), content).expect("a temporary folder can be written");
        self
    }

    /// A clock on which each poll takes 10 ms, and which interrupts the command after `interrupted` polls.
    fn clock(&self, interrupted: &Arc<AtomicBool>) -> host::Clock {
        let Some(after) = self.interrupted else { return host::system_clock() };
        let (asked, interrupted) = (Arc::clone(&self.asked), Arc::clone(interrupted));
        asked.store(0, Ordering::Relaxed);
        Arc::new(move || {
            let asked = asked.fetch_add(1, Ordering::Relaxed);
            if asked >= after {
                interrupted.store(true, Ordering::Relaxed);
            }
            Duration::from_millis(10 * asked)
        })
    }

    /// Runs one command line without the name of the program.
    fn host<S: AsRef<str>>(&self, arguments: &[S]) -> Ran {
        self.host_reading(arguments, "")
    }

    /// The same with something on standard input.
    fn host_reading<S: AsRef<str>>(&self, arguments: &[S], input: &str) -> Ran {
        let interrupted = Arc::new(AtomicBool::new(false));
        let mut out = Vec::new();
        let mut err =
            Overheard { text: Vec::new(), interrupted: self.interrupted.is_none().then(|| interrupted.clone()) };
        let mut environment = Environment {
            stdout: &mut out,
            stderr: &mut err,
            stdin: &mut input.as_bytes(),
            stdin_is_terminal: false,
            colours: false,
            stderr_columns: None,
            directory: self.path(self.standing),
            cache: self.cache.clone(),
            clock: self.clock(&interrupted),
            builds: self.builds.as_ref().map(RefCell::take).unwrap_or_default(),
            interrupted,
        };
        let words = std::iter::once("host").chain(arguments.iter().map(AsRef::as_ref));
        let code = host::run(words.map(OsString::from), &mut environment);
        if let Some(builds) = &self.builds {
            builds.replace(environment.builds);
        }
        let text = |bytes| String::from_utf8(bytes).expect("output is text");
        let ran = Ran { code, out: text(out), err: text(err.text) };
        let words: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        if words.first() == Some(&"run") && words.contains(&"--json") {
            schema::check_result(&ran.out, &words);
        }
        ran
    }

    /// The same by the built program; none if it is not built.
    fn by_program(&self, arguments: &[&str]) -> Option<Ran> {
        let mut command = Command::new(program()?);
        command.args(arguments).current_dir(self.path(self.standing)).stdin(Stdio::null());
        let output = command.output().expect("the program starts");
        let code = output.status.code().expect("it ends by itself");
        let text = |bytes| String::from_utf8(bytes).expect("output is text");
        Some(Ran { code: code as u8, out: text(output.stdout), err: text(output.stderr) })
    }

    /// `host run` of a bundled plugin with `--json`.
    #[track_caller]
    fn run_json(&self, plugin: &str, options: &[&str]) -> Value {
        let ran = self.host(&[&["run", bundled(plugin), "--json"], options].concat());
        let json = ran.json();
        assert_eq!(json["exit_code"], ran.code, "{ran:?}");
        json
    }

    /// Checks that a run that keeps a checkpoint, stopped and resumed three times, has the same result as the uninterrupted run, given as
    /// JSON.
    #[track_caller]
    fn resumes_to_the_same(&mut self, run: &[&str], whole: &Value) {
        let mut command = [run, &["--checkpoint", "kept"]].concat();
        // A resumed search first repeats the events before its checkpoint, in larger batches, so it polls less often. The audit follows
        // the search, and polls too.
        self.interrupted = Some(u64::MAX);
        self.host(&[run, &["--audit", "off"]].concat()).exits(0);
        let asked = self.asked.load(Ordering::Relaxed);
        for eighth in 1..=3 {
            self.interrupted = Some(asked * eighth / 8);
            let stopped = self.host(&command).exits(130).json();
            assert_eq!(stopped["end"], "interrupted", "{run:?}");
            command = vec!["run", "--resume", "kept", "--json", "--workers", "2"];
        }
        self.interrupted = None;
        let resumed = self.host(&command).exits(0).json();
        for what in ["result", "end", "counts", "depth"] {
            assert_eq!(resumed[what], whole[what], "{run:?}: {what}");
        }
        std::fs::remove_dir_all(self.path("kept")).expect("it is no longer of use");
    }

    /// Gives a folder in Rust the `Cargo.lock` of this repository, so that no version is looked up, and a build folder for dependencies
    /// that all such folders of the tests share.
    fn shares_what_is_compiled(&self, name: &str) {
        let lock = self.path(name).join("Cargo.lock");
        std::fs::copy(folder("../Cargo.lock"), lock).expect("a file can be copied");
        self.shares_builds();
    }

    fn shares_builds(&self) {
        let config = format!("[build]\nbuild-dir = {:?}\n", concat!(env!("CARGO_TARGET_TMPDIR"), "/compiled"));
        std::fs::create_dir_all(self.path(".cargo")).expect("a temporary folder can be written");
        self.put(".cargo/config.toml", config);
    }

    /// The names of the files and folders in it.
    fn list(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("the folder is there");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// Standard error of a command in this process. A session that waits for Ctrl-C says so, and has it at once: a test that starts one by
/// mistake fails by its exit code, and does not wait for ever.
struct Overheard {
    text: Vec<u8>,
    /// None if the test interrupts by itself.
    interrupted: Option<Arc<AtomicBool>>,
}

impl Write for Overheard {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.text.extend(bytes);
        if let Some(interrupted) =
            self.interrupted.take_if(|_| String::from_utf8_lossy(&self.text).contains("Ctrl-C ends"))
        {
            interrupted.store(true, Ordering::Relaxed);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The program, built together with the tests by `cargo test --workspace`; without it, prints that the test is skipped.
fn program() -> Option<PathBuf> {
    let built = || std::env::current_exe().expect("a path").ancestors().nth(2).expect("target/debug/deps").join("host");
    let program = std::env::var_os("CARGO_BIN_EXE_host").map_or_else(built, Into::into);
    if !program.exists() {
        let _ = writeln!(std::io::stderr(), "skipped: {} is not built; cargo build --bin host", program.display());
        return None;
    }
    Some(program)
}

/// The folder of a bundled plugin.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins").join(name)
}

/// The component of a bundled plugin; the first request builds all.
fn bundled(name: &str) -> &'static str {
    static BUILT: OnceLock<BTreeMap<&'static str, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let build = |name| {
            let built = host_build::build(&folder(name), &host_build::Options::default(), &mut |_| {});
            let wasm = built.unwrap_or_else(|error| panic!("cannot build {name}: {error}")).wasm;
            (name, wasm.to_str().expect("the path of this repository is text").to_owned())
        };
        [
            "async-election",
            "async-ledger",
            "chord",
            "fanout",
            "linearizable-register",
            "lock",
            "paxos",
            "paxos-spec",
            "query",
            "raft-kv",
            "register",
            "register-text",
            "regular-storage",
            "retransmission",
            "shadow-map",
            "tree",
            "two-phase-commit",
        ]
        .map(build)
        .into()
    });
    &built[name]
}
