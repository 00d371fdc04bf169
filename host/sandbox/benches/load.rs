//! The processor time of loading: components one after the other, with one cache that is empty before the first.
//!
//! `cargo bench -p host-sandbox --bench load -- /a/before.wasm /a/after.wasm` shows the cost of an edit. The paths must be absolute.
#![allow(clippy::print_stdout, reason = "it prints what it measures")]

use host_sandbox::{Plugin, Sandbox, SandboxConfig};
use rustix::time::{ClockId, clock_gettime};

fn main() {
    let cache = tempfile::tempdir().expect("a temporary folder");
    // Cargo adds its own options.
    for path in std::env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let sandbox = Sandbox::new(SandboxConfig::default(), Some(cache.path().to_owned())).expect("an engine");
        let began = processor_seconds();
        let plugin = Plugin::load(&sandbox, &bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
        let (seconds, times) = (processor_seconds() - began, plugin.load_times());
        let (rewrite, compile, start) = (times.rewrite, times.compile, times.start);
        println!("{seconds:6.2} s {path}: rewrite {rewrite:?}, code {compile:?}, start {start:?}");
    }
}

/// The processor time of all threads.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
