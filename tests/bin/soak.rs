//! `cargo run --release -p host-tests --bin soak -- [STEPS]`: sandboxed steps over ordinary and hostile plugins in turn, in one
//! process, 10 million by default. Prints the memory of the process as it goes: it must not grow.
//!
//! A step restores a state, runs a handler, reads the state and captures it. Every twentieth round ends in a fault, which
//! costs an instance.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::time::Instant;

use host_model::contract::{Effects, Input, LocalEvent, LocalKind, Machine, MachineFactory, Snapshot};
use host_sandbox::fixtures;
use host_sandbox::{GuestLimits, Plugin, Sandbox, SandboxConfig};
use host_tests::memory_kib;

/// Steps of each plugin before the next one is loaded.
const ROUND: u64 = 20_000;

/// The number of faults in a round of a hostile plugin.
const FAULTS: u64 = 200;

fn main() {
    let steps: u64 = std::env::args().nth(1).and_then(|steps| steps.parse().ok()).unwrap_or(10_000_000);
    let limits = GuestLimits { fuel_per_call: 1_000_000, memory_bytes: 16 << 20, ..GuestLimits::default() };
    let sandbox = Sandbox::new(SandboxConfig { limits, ..SandboxConfig::default() }, None).expect("an engine");
    let ordinary = [fixtures::ping_pong(), fixtures::global_counter(), fixtures::growing(), fixtures::shared_globals()];
    let hostile = [
        fixtures::traps(),
        fixtures::panics_at_length(),
        fixtures::loops(),
        fixtures::memory_bomb(),
        fixtures::deep_recursion(),
        fixtures::amplified_output(),
        fixtures::many_messages(),
        fixtures::chooses_for_ever(),
        fixtures::writes_table_by_table(),
        fixtures::enters_itself(),
        fixtures::logs_malformed_text(),
        fixtures::wrong_node(),
    ];
    println!("| steps | plugins loaded | faults | seconds | memory KiB |");
    println!("|---|---|---|---|---|");
    let began = Instant::now();
    let (mut done, mut loaded, mut faults, mut next_row) = (0, 0, 0, 0);
    while done < steps {
        for bytes in ordinary.iter().zip(hostile.iter().cycle().skip(loaded)).flat_map(|(one, other)| [one, other]) {
            let plugin = Plugin::load(&sandbox, bytes).expect("a plugin");
            loaded += 1;
            faults += round(&plugin);
            done += ROUND;
        }
        if done >= next_row || done >= steps {
            next_row += steps / 20;
            println!("| {done} | {loaded} | {faults} | {:.0} | {} |", began.elapsed().as_secs_f64(), memory_kib());
        }
    }
}

/// Takes steps with one plugin; returns the number of faults.
fn round(plugin: &Plugin) -> u64 {
    let mut machine = plugin.machine().expect("an instance");
    let mut effects = Effects::default();
    let init = Input::Init { node: 0, nodes: 2, config: "", durable: None };
    machine.handle(init, &[], &mut effects).expect("init is fine");
    let go = LocalEvent { name: "go".into(), kind: LocalKind::Internal, payload: Vec::new() };
    let start = machine.capture();
    let mut state = start.clone();
    let mut faults = 0;
    for step in 0..ROUND {
        let is_local = step % (ROUND / FAULTS) == 0;
        let input = if is_local { Input::Local(&go) } else { Input::Message { src: 1, payload: &[step as u8] } };
        machine.restore(Some(&state)).expect("an instance");
        match take(&mut *machine, input, &mut effects) {
            Some(next) => state = next,
            None => {
                faults += 1;
                state = start.clone();
            }
        }
        // From the start again occasionally, so that paths stay short.
        if step % 64 == 0 {
            state = start.clone();
        }
    }
    faults
}

fn take(machine: &mut dyn Machine, input: Input<'_>, effects: &mut Effects) -> Option<Snapshot> {
    machine.handle(input, &[], effects).ok()?;
    machine.local_events().ok()?;
    machine.serialize().ok()?;
    Some(machine.capture())
}
