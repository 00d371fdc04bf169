//! What the tests share.
//!
//! | module | what it holds |
//! |---|---|
//! | `fuzz` | the targets of fuzzing: from a number to a case |
//! | `told_apart` | the bundled protocols with their states told apart in each way |
//! | `live` | states of a plugin, exported as a running system would export them |

pub mod fuzz;
pub mod live;
pub mod told_apart;

/// Memory of this process in KiB; 0 where the system does not tell.
pub fn memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
