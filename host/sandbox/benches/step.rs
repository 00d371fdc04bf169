//! One sandboxed step against the bare calls.
//!
//! A step restores a local state, handles a message, gets the local events and the serialised state, and captures. The
//! bare calls are the three in the middle, on the unmodified component. Both handle the same message in the same state
//! again and again, in batches that take turns, so that other load on the machine hits both. Judging a state whose property takes
//! more memory each time has a row of its own, on a fixture.
//!
//! `cargo bench -p host-sandbox --features fixtures -- plugin.wasm` measures a plugin; without a path, a fixture.
#![allow(clippy::print_stdout, reason = "the table is what a bench is for")]

use std::hint::black_box;
use std::time::Instant;

use host_model::contract::{Effects, Input, Machine, MachineFactory, Snapshot};
use host_sandbox::bare_instance::BareInstance;
use host_sandbox::{Plugin, Sandbox, SandboxConfig, fixtures};

const BATCHES: usize = 301;
const STEPS: usize = 1000;

fn main() {
    let path = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let bytes = match &path {
        Some(path) => std::fs::read(path).expect("a readable file"),
        None => fixtures::ping_pong(),
    };
    let sandbox = Sandbox::new(SandboxConfig::default(), None).expect("an engine");
    let plugin = Plugin::load(&sandbox, &bytes).expect("a plugin");
    println!("{} ({} bytes)", path.as_deref().unwrap_or("fixture ping-pong"), bytes.len());
    loading(&bytes, &plugin);

    for module in &plugin.inspect().modules {
        println!("module: {:?} {:?}", module.memories, module.globals);
    }
    let nodes = plugin.about().map_or(2, |about| about.nodes);
    let config = config(&plugin);
    let mut machine = plugin.machine().expect("an instance");
    let (node, src, payload) = first_message(&mut *machine, nodes, &config);
    let init = Input::Init { node, nodes, config: &config, durable: None };
    let mut effects = Effects::default();
    machine.restore(None).expect("an instance");
    machine.handle(init, &[], &mut effects).expect("no fault");
    // Handled once before, as in the bare instance: from here on both take the same path.
    machine.handle(Input::Message { src, payload: &payload }, &[], &mut effects).expect("no fault");
    machine.local_events().expect("no fault");
    machine.serialize().expect("no fault");
    let state = machine.capture();

    let mut bares = [BareInstance::start(&sandbox, &bytes), BareInstance::start_rewritten(&sandbox, &bytes)];
    let expected = machine.serialize().expect("no fault");
    for bare in &mut bares {
        bare.init(node, nodes, &config);
        bare.set_message(&payload);
        bare.handle_message(src);
        assert_eq!(bare.serialize(), expected);
    }
    report(&mut *machine, &mut bares, &state, src, &payload);
    judging(&sandbox);
}

/// A property whose evaluation takes more memory each time: the view of a state and the invariant over it, as in a search.
/// Its memory is freed without another instance; the comparison is the cost of another instance per judgement.
fn judging(sandbox: &Sandbox) {
    let plugin = Plugin::load(sandbox, &fixtures::grows_to_judge()).expect("a plugin");
    let mut machine = plugin.machine().expect("an instance");
    let init = Input::Init { node: 0, nodes: 2, config: "", durable: None };
    machine.restore(None).expect("an instance");
    machine.handle(init, &[], &mut Effects::default()).expect("no fault");
    let state = machine.capture();
    let mut rows = Vec::new();
    for _ in 0..BATCHES / 10 {
        batch(&mut rows, "judge: restore, view, restore, invariant", || {
            machine.restore(Some(&state)).expect("an instance");
            let view = machine.view(0).expect("no fault");
            machine.restore(None).expect("an instance");
            black_box(machine.invariant(0, &[view.as_deref(), None]).expect("no fault")).expect("it holds");
        });
        batch(&mut rows, "judge: another instance each time", || {
            let mut machine = plugin.machine().expect("an instance");
            machine.restore(Some(&state)).expect("an instance");
            let view = machine.view(0).expect("no fault");
            machine.restore(None).expect("an instance");
            black_box(machine.invariant(0, &[view.as_deref(), None]).expect("no fault")).expect("it holds");
        });
    }
    for (name, times) in &mut rows {
        println!("{name:<42} {:>10.3} µs", median(times) * 1e6);
    }
}

fn loading(bytes: &[u8], plugin: &Plugin) {
    let times = plugin.load_times();
    println!("load, uncached: rewrite {:?}, compile {:?}, start {:?}", times.rewrite, times.compile, times.start);
    let dir = tempfile::tempdir().expect("a directory");
    let load = || {
        let sandbox = Sandbox::new(SandboxConfig::default(), Some(dir.path().into())).expect("an engine");
        let began = Instant::now();
        let plugin = Plugin::load(&sandbox, bytes).expect("a plugin");
        (began.elapsed(), plugin.load_times())
    };
    load();
    let (elapsed, times) = load();
    assert!(times.cached);
    println!(
        "load, cached: {elapsed:?} (rewrite {:?}, code {:?}, start {:?})",
        times.rewrite, times.compile, times.start
    );
    let began = Instant::now();
    for _ in 0..20 {
        black_box(plugin.machine().expect("an instance"));
    }
    println!("another machine: {:?}", began.elapsed() / 20);
}

/// The parameters at their defaults.
fn config(plugin: &Plugin) -> String {
    let parameters = plugin.about().map(|about| about.parameters.clone()).unwrap_or_default();
    let mut lines: Vec<String> = parameters.iter().map(|p| format!("{}={}", p.name, p.default_value)).collect();
    lines.sort();
    lines.join("\n")
}

/// A message that some node sends first, in `init` or at a local event.
fn first_message(machine: &mut dyn Machine, nodes: u32, config: &str) -> (u32, u32, Vec<u8>) {
    let mut effects = Effects::default();
    for node in 0..nodes {
        let init = Input::Init { node, nodes, config, durable: None };
        machine.restore(None).expect("an instance");
        machine.handle(init, &[], &mut effects).expect("no fault");
        let state = machine.capture();
        let mut sent = std::mem::take(&mut effects.sent);
        for event in machine.local_events().expect("no fault") {
            machine.restore(Some(&state)).expect("an instance");
            machine.handle(Input::Local(&event), &[], &mut effects).expect("no fault");
            sent.append(&mut effects.sent);
        }
        // To another node if there is a choice: a node that talks to itself knows the answer.
        if let Some(envelope) = sent.iter().find(|envelope| envelope.to != node).or(sent.first()) {
            return (envelope.to, node, envelope.payload.clone());
        }
    }
    panic!("no node sends a message after `init` or at its first local event");
}

fn report(machine: &mut dyn Machine, bares: &mut [BareInstance; 2], state: &Snapshot, src: u32, payload: &[u8]) {
    let input = Input::Message { src, payload };
    let mut effects = Effects::default();
    let mut rows: Vec<(&str, Vec<f64>)> = Vec::new();
    for _ in 0..BATCHES {
        for (bare, name) in
            bares.iter_mut().zip(["bare: message, local-events, serialize", "bare, rewritten component"])
        {
            batch(&mut rows, name, || {
                black_box(bare.handle_message(src));
                black_box(bare.local_events());
                black_box(bare.serialize());
            });
        }
        batch(&mut rows, "step: restore, the same, capture", || {
            machine.restore(Some(state)).expect("an instance");
            machine.handle(input, &[], &mut effects).expect("no fault");
            black_box(machine.local_events().expect("no fault"));
            black_box(machine.serialize().expect("no fault"));
            black_box(machine.capture());
        });
        batch(&mut rows, "step without capture", || {
            machine.restore(Some(state)).expect("an instance");
            machine.handle(input, &[], &mut effects).expect("no fault");
            black_box(machine.local_events().expect("no fault"));
            black_box(machine.serialize().expect("no fault"));
        });
        batch(&mut rows, "the three calls, no restore", || {
            machine.handle(input, &[], &mut effects).expect("no fault");
            black_box(machine.local_events().expect("no fault"));
            black_box(machine.serialize().expect("no fault"));
        });
    }
    println!("snapshot: {} bytes", state.bytes());
    let base = median(&mut rows[0].1);
    println!("{:<42} {:>10} {:>7}", "", "median µs", "ratio");
    for (name, times) in &mut rows {
        let median = median(times);
        println!("{name:<42} {:>10.3} {:>7.2}", median * 1e6, median / base);
    }
}

fn batch(rows: &mut Vec<(&'static str, Vec<f64>)>, name: &'static str, mut step: impl FnMut()) {
    let began = Instant::now();
    for _ in 0..STEPS {
        step();
    }
    let each = began.elapsed().as_secs_f64() / STEPS as f64;
    match rows.iter_mut().find(|(known, _)| *known == name) {
        Some((_, times)) => times.push(each),
        None => rows.push((name, vec![each])),
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
