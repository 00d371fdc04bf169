//! The sandbox on guests that behave and guests that do not.
//!
//! | module | what it holds |
//! |---|---|
//! | `contract` | the table of the contract is the document, and its optional interfaces are aspects |
//! | `cache` | compiled code from the cache is what the compiler makes |
//! | `modules` | what is known of large modules |
//! | `load` | files that load, and the messages for files that do not |
//! | `snapshots` | restoring a state and continuing is the same as starting again |
//! | `memory_identity` | states that the whole memory tells apart |
//! | `portable` | a state that was exported and imported is the state that it was |
//! | `faults` | each kind of misbehaviour ends in a fault |
//! | `initialised` | a component that begins where another one is after `init` |
//! | `outside` | specifications from outside: what they remember, and how they fail |
//! | `running` | durations, requests and answers of a running node |
//! | `resistance` | the rows of the resistance table in docs/security.md |

mod cache;
mod contract;
mod faults;
mod initialised;
mod load;
mod memory_identity;
mod modules;
mod outside;
mod portable;
mod resistance;
mod running;
mod snapshots;

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
