//! The sandbox with well-behaved and ill-behaved guests.
//!
//! | module | what it holds |
//! |---|---|
//! | `contract` | the table of the contract equals the document, and its optional interfaces are aspects |
//! | `cache` | compiled code from the cache equals the compiler's output |
//! | `modules` | facts about large modules |
//! | `load` | files that load, and the messages for files that do not |
//! | `snapshots` | continuing from a restored state is the same as starting again |
//! | `memory_identity` | states that are identified by the whole memory |
//! | `portable` | a state that was exported and imported is the same state |
//! | `faults` | each kind of misbehaviour ends in a fault |
//! | `initialised` | a component that begins with the memory of another one after `init` |
//! | `outside` | specifications from outside: their memory, and their failures |
//! | `running` | durations, requests and answers of a running node |
//! | `following` | machines that follow a node, compared with others |
//! | `stored` | the durable map: writes against a naive map, forbidden calls, limits |
//! | `resistance` | the rows of the resistance table in docs/security.md |

mod cache;
mod contract;
mod faults;
mod following;
mod initialised;
mod load;
mod memory_identity;
mod modules;
mod outside;
mod portable;
mod resistance;
mod running;
mod snapshots;
mod stored;

use host_model::contract::{Effects, Fault, Input, LocalEvent, LocalKind, Machine, MachineFactory};

use crate::{Plugin, Sandbox, SandboxConfig};

/// A sandbox that checks every capture against the whole memory.
fn sandbox() -> Sandbox {
    Sandbox::new(SandboxConfig { verify_capture: true, ..SandboxConfig::default() }, None).expect("an engine")
}

fn plugin(bytes: &[u8]) -> Plugin {
    Plugin::load(&sandbox(), bytes).expect("a plugin")
}

fn machine(bytes: &[u8]) -> Box<dyn Machine> {
    plugin(bytes).machine().expect("an instance")
}

fn init(node: u32) -> Input<'static> {
    Input::Init { node, nodes: 2, config: "", durable: None }
}

fn go() -> LocalEvent {
    LocalEvent { name: "go".into(), kind: LocalKind::Internal, payload: Vec::new() }
}

/// Runs a handler without choices.
fn run(machine: &mut dyn Machine, input: Input<'_>) -> Result<Effects, Fault> {
    let mut effects = Effects::default();
    machine.handle(input, &[], &mut effects).map(|()| effects)
}
