//! The rows of the resistance table in docs/security.md: the attempts of a component, and their results.
//!
//! After each attempt a well-behaved plugin runs in the same sandbox. If an attempt would cost time or memory, the
//! limits here are small: if the call returns at all, the limit ended it.
//!
//! | module | what it holds |
//! |---|---|
//! | `load` | attempts in the file, in the compiler, and at the start |
//! | `calls` | attempts of a plugin that is called |

mod calls;
mod load;

use host_model::contract::{Effects, Fault, FaultKind, Input, Machine, MachineFactory};

use crate::fixtures::{self, Guest};
use crate::{GuestLimits, LoadError, Plugin, Sandbox, SandboxConfig};

use super::{go, init, run};

/// A sandbox that compares each capture with the whole memory; `change` sets its limits.
fn sandbox(change: impl FnOnce(&mut GuestLimits)) -> Sandbox {
    let mut config = SandboxConfig { verify_capture: true, ..SandboxConfig::default() };
    change(&mut config.limits);
    Sandbox::new(config, None).expect("an engine")
}

/// Asserts that a plugin works in this sandbox, whatever was tried before.
#[track_caller]
fn lives_on(sandbox: &Sandbox) {
    let plugin = Plugin::load(sandbox, &fixtures::ping_pong()).expect("a plugin");
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    run(&mut *machine, Input::Local(&go())).expect("a step is fine");
    assert_eq!(machine.serialize().expect("fine"), [0, 1]);
}

/// The error of loading, after which another plugin runs.
#[track_caller]
fn refusal(sandbox: &Sandbox, bytes: &[u8]) -> String {
    let error = Plugin::load(sandbox, bytes).expect_err("no plugin").to_string();
    assert!(error.starts_with(char::is_lowercase), "{error}");
    lives_on(sandbox);
    error
}

/// The fault of a call after `init`, the same a second time, after which the machine and another plugin run.
#[track_caller]
fn fault(sandbox: &Sandbox, bytes: &[u8], call: impl Fn(&mut dyn Machine) -> Result<(), Fault>) -> Fault {
    let plugin = Plugin::load(sandbox, bytes).expect("a plugin");
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    let state = machine.capture();
    let fault = call(&mut *machine).expect_err("a fault");
    machine.restore(Some(&state)).expect("an instance");
    assert_eq!(call(&mut *machine).expect_err("a fault"), fault);
    machine.restore(None).expect("an instance");
    run(&mut *machine, init(1)).expect("init is fine");
    lives_on(sandbox);
    fault
}

fn local(machine: &mut dyn Machine) -> Result<(), Fault> {
    run(machine, Input::Local(&go())).map(drop)
}

fn message(machine: &mut dyn Machine) -> Result<(), Fault> {
    run(machine, Input::Message { src: 1, payload: &[7; 100] }).map(drop)
}

fn serialize(machine: &mut dyn Machine) -> Result<(), Fault> {
    machine.serialize().map(drop)
}

fn events(machine: &mut dyn Machine) -> Result<(), Fault> {
    machine.local_events().map(drop)
}

#[track_caller]
fn is(fault: &Fault, kind: FaultKind, words: &str) {
    assert_eq!(fault.kind, kind, "{fault}");
    assert!(fault.message.contains(words), "no {words:?} in {fault}");
}
