//! Damaged and made-up input, by the thousand: nothing of it may crash, hang or leak the host.
//!
//! Each case is made from a number, so that a failure repeats. The targets:
//!
//! | target | makes | and |
//! |---|---|---|
//! | `components` | damaged copies of valid components | loads them and calls all functions of those that load |
//! | `guests` | valid components with random code in their handlers | runs each path twice, comparing whole memories |
//! | `stores` | valid components that keep state in random places, composed and not | likewise |
//! | `traces` | damaged traces | replays them, and searches after them |
//! | `scenarios` | damaged scenarios | runs them |
//! | `checkpoints` | damaged checkpoints | continues from them |
//!
//! | module | what it holds |
//! |---|---|
//! | `mutate` | random changes of bytes |
//! | `components` | damaged components, valid ones with random code, and valid ones with state in random places |
//! | `files` | damaged traces, scenarios and checkpoints |

mod components;
mod files;
mod mutate;

pub use components::{components, guests, stores};
pub use files::{checkpoints, scenarios, traces};
pub use mutate::Dice;

/// The result of a case, for statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Refused with an error.
    Refused,
    /// A fault of the guest, or a finding.
    Faulty,
    /// Nothing wrong with it.
    Fine,
}

/// A target: runs the case of a number. Panics if the host misbehaves.
pub type Target = fn(u64) -> Fate;

/// The targets by name.
pub const TARGETS: [(&str, Target); 6] = [
    ("components", components),
    ("guests", guests),
    ("stores", stores),
    ("traces", traces),
    ("scenarios", scenarios),
    ("checkpoints", checkpoints),
];
