//! Other programs, without the environment of an outer cargo.

use std::cell::RefCell;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::{BuildError, Stop};

/// The output of a program that ended.
pub(crate) struct Output {
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// Its complete output.
    pub fn both(&self) -> String {
        format!("{}{}", self.stdout, self.stderr).trim_end().to_owned()
    }

    /// The last line of a failed program's errors, which usually names the reason.
    pub fn last_line(&self) -> &str {
        let line = self.stderr.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no reason given");
        ["error: ", "E: "].iter().find_map(|prefix| line.strip_prefix(prefix)).unwrap_or(line)
    }
}

/// A program that was found, with its arguments.
pub(crate) struct Tool {
    /// The program and the words before its own arguments.
    words: Vec<OsString>,
    /// Variables that it needs.
    variables: Vec<(&'static str, OsString)>,
    /// The identity of its inputs other than the sources of the plugin.
    inputs: String,
    /// The program and where it was found, for people.
    pub found: String,
}

impl Tool {
    /// The path of the program, or its name.
    pub fn path(&self) -> &OsStr {
        &self.words[0]
    }

    /// A program.
    pub fn program(program: &Path, found: &str) -> Self {
        Self { words: vec![program.into()], variables: Vec::new(), inputs: String::new(), found: found.to_owned() }
    }

    /// No program at all.
    pub fn none(found: &str) -> Self {
        Self { words: Vec::new(), variables: Vec::new(), inputs: String::new(), found: found.to_owned() }
    }

    /// Adds words before the arguments.
    pub fn with_words(mut self, words: &[&str]) -> Self {
        self.words.extend(words.iter().map(OsString::from));
        self
    }

    /// Adds a variable.
    pub fn with_variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Sets the identity of its inputs other than the sources of the plugin; the text differs if they change.
    pub fn with_inputs(mut self, inputs: String) -> Self {
        self.inputs = inputs;
        self
    }

    /// The command, without arguments, to run in a folder.
    pub fn command(&self, folder: &Path) -> Command {
        let mut words = self.words.iter();
        let mut command = tool(words.next().expect("a tool that is run is a program"), folder);
        command.args(words).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// An identity that changes with the program, or with its inputs other than the sources; cheaper than asking for its version.
    pub fn identity(&self) -> String {
        let mut identity = format!("{}{}", self.found, self.inputs);
        for word in &self.words {
            identity.push_str(&format!(" {}", word.display()));
        }
        if let Some(metadata) = self.words.first().and_then(|program| std::fs::metadata(program).ok()) {
            let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            identity.push_str(&format!(" {} {:?}", metadata.len(), modified));
        }
        identity
    }
}

/// A program to run in a folder, in a clean environment.
pub(crate) fn tool(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    let inside_cargo = env::var_os("CARGO_MANIFEST_DIR").is_some();
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|name| is_in_the_way(name, inside_cargo)) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether a variable would make a build of a guest depend on how the host was started.
///
/// `cargo run` and `cargo test` describe the package that they run, and set the toolchain that they came from; flags
/// meant for native code do not fit guests. Variables for cargo's folders and registries stay.
fn is_in_the_way(name: &str, inside_cargo: bool) -> bool {
    const KEPT: [&str; 7] = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_NET_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "CARGO_TARGET_DIR",
        "CARGO_UNSTABLE_GITOXIDE",
    ];
    match name {
        "RUSTFLAGS" | "RUSTDOCFLAGS" | "RUST_RECURSION_COUNT" | "RUSTC_BOOTSTRAP" | "CARGO" => true,
        "RUSTUP_TOOLCHAIN" | "LD_LIBRARY_PATH" | "DYLD_LIBRARY_PATH" | "DYLD_FALLBACK_LIBRARY_PATH" => inside_cargo,
        _ if name == "RUSTC" || name.starts_with("RUSTC_") || name.starts_with("RUSTDOC") => true,
        _ => name.starts_with("CARGO_") && !KEPT.iter().any(|kept| name.starts_with(kept)),
    }
}

/// Runs a program to its end.
pub(crate) fn finish(command: Command) -> Result<Output, BuildError> {
    follow(command, &mut |_| ())
}

/// Runs a program to its end, in its own process group, which is killed if the build is stopped. `each` receives each line of its
/// standard error as it comes.
pub(crate) fn follow(mut command: Command, each: &mut dyn FnMut(&str)) -> Result<Output, BuildError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let start = |source| BuildError::Start { program: program.clone(), source };
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn();
    let mut child = child.map_err(start)?;
    let watch = Watch::new(&child);
    let mut stdout = child.stdout.take().expect("the command pipes it, and it is taken once");
    let mut errors = BufReader::new(child.stderr.take().expect("the command pipes it, and it is taken once"));
    // Both streams are read concurrently, since a program blocks when either is full.
    let output = thread::spawn(move || {
        let mut output = Vec::new();
        stdout.read_to_end(&mut output).map(|_| output)
    });
    let (mut line, mut stderr) = (Vec::new(), String::new());
    while errors.read_until(b'\n', &mut line).map_err(start)? > 0 {
        let text = String::from_utf8_lossy(&line);
        each(text.strip_suffix('\n').unwrap_or(&text));
        stderr.push_str(&text);
        line.clear();
    }
    let output = output.join().expect("the thread reads and returns errors, and does not panic");
    watch.end()?;
    let success = child.wait().map_err(start)?.success();
    Ok(Output { success, stdout: String::from_utf8_lossy(&output.map_err(start)?).into_owned(), stderr })
}

thread_local! {
    /// The stop flag of the build on this thread.
    static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// Runs a build whose programs are killed once it is stopped.
pub(crate) fn stoppable<R>(stop: Option<Stop>, build: impl FnOnce() -> R) -> R {
    let before = STOP.replace(stop);
    let result = build();
    STOP.set(before);
    result
}

/// Checks the stop flag of the build on this thread.
///
/// # Errors
///
/// The build is stopped.
pub(crate) fn check() -> Result<(), BuildError> {
    let is_stopped = STOP.with_borrow(|stop| stop.as_ref().is_some_and(Stop::is_stopped));
    if is_stopped { Err(BuildError::Stopped) } else { Ok(()) }
}

/// Runs work that does not poll the stop flag, such as reading a text of megabytes, on another thread, which is abandoned if the build of
/// this thread is stopped.
///
/// # Errors
///
/// The build is stopped.
pub(crate) fn unless_stopped<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, BuildError> {
    if STOP.with_borrow(Option::is_none) {
        return Ok(work());
    }
    check()?;
    let (sender, receiver) = channel();
    let start = |source| BuildError::Start { program: "a thread of this build".to_owned(), source };
    // The receiver is dropped if the build has stopped.
    let sends = move || drop(sender.send(work()));
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(sends).map_err(start)?;
    loop {
        match receiver.recv_timeout(INTERVAL) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => check()?,
            Err(RecvTimeoutError::Disconnected) => {
                let panic = thread.join().expect_err("a thread that sends nothing has panicked");
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// Creates a file and locks it shared, until the result is dropped; waits for an exclusive lock, unless this build is stopped.
pub(crate) fn lock_shared(path: &Path) -> Result<File, BuildError> {
    let file = File::create(path).map_err(BuildError::io("lock", path))?;
    until_locked(path, || file.try_lock_shared())?;
    Ok(file)
}

/// Creates a file and locks it exclusively to order builds, until the result is dropped. Waits for another build, unless this one is
/// stopped.
pub(crate) fn lock(path: &Path) -> Result<File, BuildError> {
    let file = File::create(path).map_err(BuildError::io("lock", path))?;
    until_locked(path, || file.try_lock())?;
    Ok(file)
}

fn until_locked(path: &Path, try_lock: impl Fn() -> Result<(), TryLockError>) -> Result<(), BuildError> {
    loop {
        match try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => check()?,
            Err(TryLockError::Error(error)) => return Err(BuildError::io("lock", path)(error)),
        }
        thread::sleep(INTERVAL);
    }
}

/// The stack of a thread for work of this process: as large as a main thread's, as parsers expect.
const STACK_BYTES: usize = 8 << 20;

/// The interval between polls of the stop flag.
const INTERVAL: Duration = Duration::from_millis(20);

/// Kills a program, and all its children, if the build is stopped.
struct Watch {
    is_over: Arc<AtomicBool>,
    /// Returns whether it was killed.
    thread: Option<JoinHandle<bool>>,
}

impl Watch {
    fn new(child: &Child) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = STOP.with_borrow(Clone::clone).map(|stop| {
            let (is_over, group) = (Arc::clone(&is_over), Pid::from_raw(child.id().cast_signed()));
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    if stop.is_stopped() {
                        // It may have ended already.
                        let _ = killpg(group, Signal::SIGKILL);
                        return true;
                    }
                    thread::park_timeout(INTERVAL);
                }
                false
            })
        });
        Self { is_over, thread }
    }

    /// The program has closed its streams but is not reaped yet, so its process number is not reused.
    ///
    /// # Errors
    ///
    /// It was killed.
    fn end(mut self) -> Result<(), BuildError> {
        self.is_over.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.thread().unpark();
        match thread.join() {
            Ok(false) => Ok(()),
            _ => Err(BuildError::Stopped),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// The first program of these names on the path.
pub(crate) fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    names.iter().find_map(|name| env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// A shell that would sleep for an hour, and so would its child.
    #[test]
    fn what_runs_is_killed_when_the_build_is_to_stop() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 3600 & sleep 3600"]);
        let (asked, stop_at) = (Arc::new(AtomicUsize::new(0)), 3);
        let stop = Stop::new(move || asked.fetch_add(1, Ordering::Relaxed) >= stop_at);
        let result = stoppable(Some(stop), || finish(command));
        assert!(matches!(result, Err(BuildError::Stopped)), "it ended by itself");
    }

    /// The lock is another build's, for as long as the test lasts.
    /// Work that ends only after this test has seen that the build does not wait for it.
    #[test]
    fn work_of_this_process_is_left_behind_when_the_build_is_to_stop() {
        let (asked, stop_at) = (Arc::new(AtomicUsize::new(0)), 3);
        let stop = Stop::new(move || asked.fetch_add(1, Ordering::Relaxed) >= stop_at);
        let (end, ended) = channel::<()>();
        let result = stoppable(Some(stop), || unless_stopped(move || ended.recv()));
        assert!(matches!(result, Err(BuildError::Stopped)), "{result:?}");
        drop(end);
        let stop = Stop::new(|| false);
        assert_eq!(stoppable(Some(stop), || unless_stopped(|| 7)).expect("it is not stopped"), 7);
    }

    #[test]
    fn a_build_does_not_wait_for_another_one_when_it_is_to_stop() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("lock");
        let other = lock(&path).expect("it is free");
        let (asked, stop_at) = (Arc::new(AtomicUsize::new(0)), 2);
        let stop = Stop::new(move || asked.fetch_add(1, Ordering::Relaxed) >= stop_at);
        assert!(matches!(stoppable(Some(stop), || lock(&path)), Err(BuildError::Stopped)));
        drop(other);
        assert!(stoppable(Some(Stop::new(|| true)), || lock(&path)).is_ok(), "there is nothing to wait for");
    }

    #[test]
    fn what_ends_by_itself_is_not_killed() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let output = stoppable(Some(Stop::new(|| false)), || finish(command)).expect("there is a shell");
        assert_eq!((output.success, &*output.stdout, &*output.stderr), (false, "out\n", "err\n"));
    }

    #[test]
    fn an_outer_cargo_does_not_show() {
        for name in ["RUSTC", "RUSTFLAGS", "CARGO", "CARGO_PKG_NAME", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER"] {
            assert!(is_in_the_way(name, false), "{name}");
        }
        for name in ["PATH", "HOME", "CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_NET_OFFLINE", "RUSTUP_HOME"] {
            assert!(!is_in_the_way(name, true), "{name}");
        }
    }

    #[test]
    fn a_toolchain_chosen_by_the_user_is_respected() {
        assert!(!is_in_the_way("RUSTUP_TOOLCHAIN", false));
        assert!(is_in_the_way("RUSTUP_TOOLCHAIN", true));
    }
}
