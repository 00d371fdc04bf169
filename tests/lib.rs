//! Code that the tests share.
//!
//! | module | what it holds |
//! |---|---|
//! | `fuzz` | the targets of fuzzing: from a number to a case |
//! | `identities` | the bundled protocols with their states distinguished in each way |
//! | `live` | states of a plugin, exported as a running system would export them |
//! | `yardsticks` | the rate, the work and the time with which each way to search finds mistakes far from the start |

use std::path::Path;
use std::sync::Arc;

use host_sandbox::process_bytes;
use host_session::Request;
use host_session::base::Context;
use host_session::base::context::system_clock;
use host_session::cluster::Cluster;
use host_session::spec::RunSpec;
use rustix::time::{ClockId, clock_gettime};

pub mod fuzz;
pub mod identities;
pub mod live;
pub mod yardsticks;

/// Memory of this process in KiB; 0 where the system does not tell.
pub fn memory_kib() -> u64 {
    process_bytes("VmRSS:").unwrap_or(0) / 1024
}

/// Seconds of processor time that this process has taken, all threads together.
pub fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The specification of a plugin or scenario, and its cluster.
///
/// # Panics
///
/// If it cannot be opened.
pub fn opened(plugin: &Path, directory: &Path, cache: Option<&Path>) -> (RunSpec, Cluster) {
    let context = &mut Context {
        log: &mut std::io::sink(),
        columns: None,
        directory,
        cache,
        interrupted: &Arc::default(),
        clock: &system_clock(),
        builds: &Default::default(),
    };
    let spec = serde_json::json!({ "cluster": { "plugin": plugin } });
    let request = Request::new(serde_json::from_value(spec).expect("a specification"), context);
    let spec = request.unwrap_or_else(|failure| panic!("{}: {}", plugin.display(), failure.message)).spec;
    let cluster = Cluster::open(&spec, context);
    let cluster = cluster.unwrap_or_else(|failure| panic!("{}: {}", plugin.display(), failure.message));
    (spec, cluster)
}
