//! Checking, rewriting and compiling a component, in other threads than the caller's.
//!
//! The time of a compiler is not bounded by the size of its input: 300 KB of nested blocks take half a minute,
//! and some 80 KB take gigabytes. So this runs in threads of its own that are abandoned when they take too much. Unlike all
//! other limits these two depend on the machine; they can only decide that a plugin is not loaded. Time is processor time of
//! these threads: other load on the machine is no property of a component. Functions that are compiled by then stay in the cache.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};
use wasmparser::Validator;

use crate::cache::{self, Code, Modules, Progress};
use crate::check::{self, Interfaces, Names, World};
use crate::contract::error::LoadError;
use crate::contract::limits::GuestLimits;
use crate::engine::compiler_panic;
use crate::engine::memory::process_bytes;
use crate::engine::processor::Threads;
use crate::engine::sandbox::{Sandbox, SandboxParts};
use crate::rewrite::{Known, Rewritten, rewrite};

/// Native stack of the thread: the parser reads types in types by recursion, and
/// [`TYPE_BYTES_MAX`](check::TYPE_BYTES_MAX) bytes of them take about 90 MiB. Only the used part becomes memory.
pub(crate) const STACK_BYTES: usize = 512 << 20;

/// The interval between two checks of the process's memory, and of a request to stop.
const INTERVAL: Duration = Duration::from_millis(50);

/// A component that can be instantiated.
pub(crate) struct Compiled {
    pub interfaces: Interfaces,
    pub names: Names,
    pub rewritten: Rewritten,
    pub code: Code,
    pub rewrite_time: Duration,
    pub compile_time: Duration,
}

/// The progress of a compiler thread.
#[derive(Default)]
struct Stage {
    /// The time when compilation began, here or in another host.
    compiles_since: OnceLock<Instant>,
    /// Nanoseconds spent waiting for another host, which do not count as compile time.
    waited: AtomicU64,
    threads: Threads,
}

impl Stage {
    fn compiles(&self) {
        let _ = self.compiles_since.set(Instant::now());
    }

    /// The processor time, or the wall-clock time if the system does not report that of threads.
    fn spent(&self, wall: &dyn Fn() -> Duration) -> Duration {
        let waited = || Duration::from_nanos(self.waited.load(Ordering::Relaxed));
        self.threads.spent().unwrap_or_else(|| wall().saturating_sub(waited()))
    }
}

/// Reports the stage of the thread that compiles, and provides helpers for it as soon as they are needed.
struct Told {
    stage: Arc<Stage>,
    helpers: Option<ThreadPool>,
}

impl Progress for Told {
    fn misses(&mut self) {
        self.stage.compiles();
        if self.helpers.is_none() {
            self.helpers = helpers(&self.stage);
        }
    }

    fn waits(&mut self, passed: Duration) {
        self.stage.compiles();
        self.stage.waited.fetch_add(u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// Threads that only work for the calling thread's compilation: their time counts as its time. It is one of them, and belongs to them
/// until it ends. None if the system has no more threads: then it does the work alone.
fn helpers(stage: &Arc<Stage>) -> Option<ThreadPool> {
    let pool =
        |stage: Arc<Stage>| ThreadPoolBuilder::new().use_current_thread().start_handler(move |_| stage.threads.join());
    let alone = || pool(Arc::clone(stage)).num_threads(1).build().ok();
    pool(Arc::clone(stage)).build().ok().or_else(alone)
}

/// The parameters for watching a compilation.
pub(crate) struct Looks<'w> {
    /// The interval between two checks.
    pub every: Duration,
    /// The time since it began, for systems that do not report the processor time of threads.
    pub wall: &'w dyn Fn() -> Duration,
}

/// Checks, rewrites and compiles. During compilation, calls `watch` some twenty times per second with the time so far.
pub(crate) fn compile(
    sandbox: &Sandbox,
    bytes: &[u8],
    world: World,
    watch: &mut dyn FnMut(Duration),
) -> Result<Compiled, LoadError> {
    let began = Instant::now();
    let every = INTERVAL.min(Duration::from_secs(sandbox.config().limits.compile_seconds));
    compile_by(&Looks { every, wall: &|| began.elapsed() }, sandbox, bytes, world, watch)
}

/// The same, with other parameters for watching.
pub(crate) fn compile_by(
    looks: &Looks<'_>,
    sandbox: &Sandbox,
    bytes: &[u8],
    world: World,
    watch: &mut dyn FnMut(Duration),
) -> Result<Compiled, LoadError> {
    let limits = &sandbox.config().limits;
    check::size(bytes, limits)?;
    let (shared, bytes) = (Arc::clone(&sandbox.shared), bytes.to_vec());
    let stage = Arc::new(Stage::default());
    let of_thread = Arc::clone(&stage);
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().name("compile".to_owned()).stack_size(STACK_BYTES);
    let spawned = thread.spawn(move || {
        of_thread.threads.join();
        let panicked = sender.clone();
        let tell = move |detail| drop(panicked.send(Err(LoadError::CompilerPanic { detail })));
        // The receiver is gone if the thread took too long.
        let _ = sender.send(run(&shared, &bytes, world, of_thread, tell));
    });
    let thread = spawned.map_err(|error| LoadError::Host { detail: format!("cannot start a compiler: {error}") })?;
    let before = resident_bytes();
    loop {
        match receiver.recv_timeout(looks.every) {
            // Its thread never ends.
            Ok(Err(error @ LoadError::CompilerPanic { .. })) => return Err(error),
            Ok(result) => {
                // Frees its stack and all its memory before the caller continues.
                let _ = thread.join();
                return result;
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(since) = stage.compiles_since.get() {
                    watch(Instant::elapsed(since));
                }
                let stopped = sandbox.stop.as_ref().and_then(|stop| stop.reason()).map(LoadError::from);
                if let Some(given_up) = stopped.or_else(|| exceeded(limits, stage.spent(looks.wall), before)) {
                    return Err(keeping(sandbox, given_up));
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let panic = thread.join().expect_err("a thread that sends nothing has panicked");
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// The error of an abandoned compilation, after its compiled functions were kept.
fn keeping(sandbox: &Sandbox, given_up: LoadError) -> LoadError {
    let functions = sandbox.shared.cache.as_ref().map_or(0, |cache| cache.functions.keep());
    match given_up {
        LoadError::CompileTime { seconds, .. } => LoadError::CompileTime { seconds, kept: functions > 0 },
        other => other,
    }
}

fn run(
    shared: &SandboxParts,
    bytes: &[u8],
    world: World,
    stage: Arc<Stage>,
    tell: impl FnOnce(String) + 'static,
) -> Result<Compiled, LoadError> {
    let began = Instant::now();
    let known = Modules::of(&shared.engine, shared.cache.as_ref());
    check::preamble(bytes, &|module| known.code(module).is_some())?;
    // Names are checked before the rewriting: for a component of another world, that is the error to report.
    let (interfaces, names) = check::names(bytes, world)?;
    let config = &shared.config;
    let rewritten = rewrite(bytes, config, &known)?;
    let limit = config.limits.instances;
    if rewritten.instances > limit {
        return Err(LoadError::TooManyInstances { count: rewritten.instances, limit });
    }
    let rewrite_time = began.elapsed();
    let began = Instant::now();
    let mut told = Told { stage, helpers: None };
    let compiled = || cache::compile(&shared.engine, shared.cache.as_ref(), &rewritten, &mut told);
    let compiled = compiler_panic::told(tell, compiled).map_err(|detail| LoadError::CompilerPanic { detail })?;
    let code = compiled.map_err(|error| refusal(&rewritten, &error))?;
    check::functions(&shared.engine, &code.component, world)?;
    Ok(Compiled { interfaces, names, rewritten, code, rewrite_time, compile_time: began.elapsed() })
}

/// The reason why a rewritten component does not compile. The original component is valid: if the rewritten one is not, it is too large.
fn refusal(rewritten: &Rewritten, error: &wasmtime::Error) -> LoadError {
    let mut parts = rewritten.libraries.iter().chain([&rewritten.bytes]);
    if parts
        .all(|bytes| Validator::new_with_features(crate::contract::features::features()).validate_all(bytes).is_ok())
    {
        return LoadError::Compile { detail: format!("{error:#}") };
    }
    LoadError::uncapturable(
        "with what the host adds to follow its writes, it exceeds a limit of webassembly",
        "use fewer or smaller modules, functions, memories and names",
    )
}

fn exceeded(limits: &GuestLimits, spent: Duration, before: Option<usize>) -> Option<LoadError> {
    if spent >= Duration::from_secs(limits.compile_seconds) {
        return Some(LoadError::CompileTime { seconds: limits.compile_seconds, kept: false });
    }
    match (before, resident_bytes()) {
        (Some(before), Some(now)) if now.saturating_sub(before) > limits.compile_bytes => {
            Some(LoadError::CompileMemory { bytes: limits.compile_bytes })
        }
        _ => None,
    }
}

/// Bytes of memory that the process has; none if the system does not report it.
fn resident_bytes() -> Option<usize> {
    process_bytes("VmRSS:")?.try_into().ok()
}
