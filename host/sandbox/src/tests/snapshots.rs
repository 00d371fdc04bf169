//! Continuing from a restored state is the same as starting again.

use host_model::contract::{Input, LocalEvent, Machine, MachineFactory, Snapshot};

use crate::fixtures::{self, Dice};
use crate::{Addresses, Plugin, Sabotage, Sandbox, SandboxConfig};

use super::{go, init, machine, plugin, run};

/// The number of random guests that a test tries; `HOST_FUZZ_GUESTS` asks for more.
fn guests(count: u64) -> u64 {
    std::env::var("HOST_FUZZ_GUESTS").ok().and_then(|count| count.parse().ok()).unwrap_or(count)
}

/// A handler call that can be repeated.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Message(u32, Vec<u8>),
    Local(LocalEvent),
    Read,
}

impl Step {
    pub(super) fn any(random: &mut Dice) -> Self {
        match random.below(8) {
            0..3 => Self::Local(go()),
            3 => Self::Read,
            _ => Self::Message(random.below(2) as u32, vec![random.below(256) as u8; 1 + random.below(600)]),
        }
    }
}

pub(super) fn apply(machine: &mut dyn Machine, step: &Step) -> String {
    match step {
        Step::Message(src, payload) => format!("{:?}", run(machine, Input::Message { src: *src, payload })),
        Step::Local(event) => format!("{:?}", run(machine, Input::Local(event))),
        Step::Read => format!("{:?} {:?}", machine.local_events(), machine.view(0)),
    }
}

/// Evaluates a property in the state for judging, with the same result as in the pristine state.
fn judge(machine: &mut dyn Machine) -> Result<(), String> {
    let view = machine.view(0).expect("a view is fine");
    machine.restore_to_judge().expect("an instance");
    let judged = machine.invariant(0, &[view.as_deref(), None]);
    machine.restore(None).expect("an instance");
    let expected = machine.invariant(0, &[view.as_deref(), None]);
    if judged == expected { Ok(()) } else { Err(format!("{judged:?}, and before anything has happened {expected:?}")) }
}

/// Walks at random over captured states and compares each with a fresh instance that replays the path to it.
/// Returns the first difference.
fn walk(plugin: &Plugin, seed: u64, steps: usize) -> Result<(), String> {
    let mut random = Dice::new(seed);
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(1)).expect("init is fine");
    let mut states: Vec<(Snapshot, Vec<Step>)> = vec![(machine.capture(), Vec::new())];
    for _ in 0..steps {
        let (snapshot, mut path) = states[random.below(states.len())].clone();
        machine.restore(Some(&snapshot)).expect("an instance");
        if random.below(2) == 0 {
            // A step that is not captured must leave no changes.
            apply(&mut *machine, &Step::any(&mut random));
            machine.restore(Some(&snapshot)).expect("an instance");
        }
        if random.below(3) == 0 {
            judge(&mut *machine)?;
            machine.restore(Some(&snapshot)).expect("an instance");
        }
        let step = Step::any(&mut random);
        let seen = apply(&mut *machine, &step);
        assert!(!seen.contains("Err("), "{step:?}: {seen}");
        path.push(step);
        // Captures between the calls must not disturb anything.
        if random.below(3) == 0 {
            machine.capture();
        }
        let state = machine.serialize().expect("serialize is fine");
        let after = machine.capture();

        let mut fresh = plugin.machine().expect("an instance");
        run(&mut *fresh, init(1)).expect("init is fine");
        let mut replayed = String::new();
        for step in &path {
            replayed = apply(&mut *fresh, step);
        }
        let expected = fresh.serialize().expect("serialize is fine");
        if seen != replayed || state != expected {
            return Err(format!("after {path:?}: {seen} and {state:?}, fresh: {replayed} and {expected:?}"));
        }
        // The whole memory agrees, too, if reading between the steps left the same traces.
        let fresh_after = fresh.capture();
        if after.words() != fresh_after.words() {
            let words = (after.words(), fresh_after.words());
            return Err(format!("after {path:?}: memories differ: {words:x?}"));
        }
        if path.len() < 12 {
            states.push((after, path));
        }
    }
    Ok(())
}

pub(super) fn audited(sabotage: Sabotage, bytes: &[u8]) -> Plugin {
    let config =
        SandboxConfig { verify_capture: true, sabotage, addresses: Addresses::All, ..SandboxConfig::default() };
    Plugin::load(&Sandbox::new(config, None).expect("an engine"), bytes).expect("a plugin")
}

/// Guests that keep state in memories and globals, alone and composed.
pub(super) fn well_behaved() -> [(&'static str, Vec<u8>); 11] {
    [
        ("ping-pong", fixtures::ping_pong()),
        ("global counter", fixtures::global_counter()),
        ("growing", fixtures::growing()),
        ("two memories", fixtures::two_memories()),
        ("every store", fixtures::every_store()),
        ("shared globals", fixtures::shared_globals()),
        ("linked globals", fixtures::linked_globals()),
        ("table at start", fixtures::table_at_start()),
        ("chooser", fixtures::chooser()),
        ("close stores", fixtures::close_stores()),
        ("keeps arguments", fixtures::keeps_arguments()),
    ]
}

#[test]
fn random_walks_agree_with_replays() {
    for (name, bytes) in well_behaved() {
        let plugin = audited(Sabotage::None, &bytes);
        for seed in 1..4 {
            walk(&plugin, seed * 0x9e37_79b9, 60).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

/// The walks above would notice if globals or sizes were left out of snapshots.
#[test]
fn canary_holes_in_snapshots_are_noticed() {
    for (sabotage, bytes) in [
        (Sabotage::SkipGlobals, fixtures::global_counter()),
        (Sabotage::SkipGlobals, fixtures::shared_globals()),
        (Sabotage::SkipGlobals, fixtures::linked_globals()),
        (Sabotage::SkipSizes, fixtures::growing()),
    ] {
        let plugin = audited(sabotage, &bytes);
        let found = (1..4).any(|seed| walk(&plugin, seed * 0x9e37_79b9, 60).is_err());
        assert!(found, "{sabotage:?} went unnoticed");
    }
}

/// The result that one component inside the plugin returns to another is state of the caller, wherever it lies.
#[test]
fn results_between_components_are_captured() {
    for (name, relayed) in fixtures::results().flat_map(|name| [(name, false), (name, true)]) {
        let plugin = audited(Sabotage::None, &fixtures::returned(name, relayed));
        for seed in 1..4 {
            walk(&plugin, seed * 0x9e37_79b9, 30).unwrap_or_else(|error| panic!("{name}, {relayed}: {error}"));
        }
    }
}

/// Guests that keep state in every possible place: switching between their states is the same as never restoring.
#[test]
fn random_guests_agree_with_runs_that_never_restore() {
    for seed in 0..guests(60) {
        let plugin = audited(Sabotage::None, &fixtures::random(seed));
        walk(&plugin, seed * 0x9e37_79b9 + 1, 24).unwrap_or_else(|error| panic!("guest {seed}: {error}"));
    }
}

/// The generator of guests would find each hole, also if captures are not compared with the whole memory.
#[test]
fn canary_random_guests_notice_holes() {
    for sabotage in [Sabotage::SkipGlobals, Sabotage::SkipSizes, Sabotage::SkipResults] {
        let config = SandboxConfig { sabotage, ..SandboxConfig::default() };
        let sandbox = Sandbox::new(config, None).expect("an engine");
        let noticed = |seed: &u64| {
            let plugin = Plugin::load(&sandbox, &fixtures::random(*seed)).expect("a plugin");
            walk(&plugin, seed * 0x9e37_79b9 + 1, 24).is_err()
        };
        assert!((0..30).any(|seed| noticed(&seed)), "{sabotage:?} went unnoticed");
    }
}

/// Each kind of result would be missed if the engine's writes were not marked.
#[test]
fn canary_results_between_components_are_noticed() {
    let config = SandboxConfig { sabotage: Sabotage::SkipResults, ..SandboxConfig::default() };
    let sandbox = Sandbox::new(config, None).expect("an engine");
    for name in fixtures::results().filter(|name| *name != "number") {
        let plugin = Plugin::load(&sandbox, &fixtures::returned(name, false)).expect("a plugin");
        let found = (1..4).any(|seed| walk(&plugin, seed * 0x9e37_79b9, 30).is_err());
        assert!(found, "{name} went unnoticed");
    }
}

/// States with memories of eight sizes take turns on one instance, whose memory grows and shrinks.
#[test]
fn states_of_different_sizes_share_an_instance() {
    let plugin = audited(Sabotage::None, &fixtures::growing());
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    let mut states = vec![(machine.capture(), machine.serialize().expect("fine"))];
    for _ in 0..7 {
        run(&mut *machine, Input::Local(&go())).expect("fine");
        states.push((machine.capture(), machine.serialize().expect("fine")));
    }
    let mut random = Dice::new(0x9e37_79b9);
    for _ in 0..400 {
        let (state, encoding) = &states[random.below(states.len())];
        machine.restore(Some(state)).expect("an instance");
        assert_eq!(machine.serialize().as_ref(), Ok(encoding));
        run(&mut *machine, Input::Message { src: 1, payload: &[1] }).expect("fine");
    }
    // One to load the plugin, and one for the machine.
    assert_eq!(plugin.instances_started(), 1 + 1);
}

/// A plugin made with `again` has its own instances, and the same states.
#[test]
fn a_plugin_again_shares_no_instance() {
    let plugin = audited(Sabotage::None, &fixtures::growing());
    let states = |plugin: &Plugin| {
        let mut machine = plugin.machine().expect("an instance");
        run(&mut *machine, init(0)).expect("init is fine");
        let states = (0..3).map(|_| {
            run(&mut *machine, Input::Local(&go())).expect("fine");
            let state = machine.capture();
            machine.restore(Some(&state)).expect("an instance");
            machine.serialize().expect("fine")
        });
        states.collect::<Vec<_>>()
    };
    let expected = states(&plugin);
    assert_eq!(plugin.instances_started(), 1 + 1);
    let again = plugin.again();
    assert_eq!((again.instances_started(), again.digest()), (0, plugin.digest()));
    assert_eq!(states(&again), expected);
    assert_eq!((again.instances_started(), plugin.instances_started()), (1, 1 + 1));
}

/// Reading a view and judging it makes no instance, although the memory grows each time.
#[test]
fn evaluating_a_property_starts_no_instance() {
    let plugin = audited(Sabotage::None, &fixtures::grows_to_judge());
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    let mut state = machine.capture();
    for n in 1..=200_u32 {
        machine.restore(Some(&state)).expect("an instance");
        run(&mut *machine, Input::Message { src: 1, payload: &[1] }).expect("fine");
        assert_eq!(machine.serialize().expect("fine"), [n, 1].map(u32::to_le_bytes).concat(), "one page");
        state = machine.capture();
        let view = machine.view(0).expect("fine");
        assert_eq!(machine.serialize().expect("fine"), [n, 2].map(u32::to_le_bytes).concat(), "two pages");
        machine.restore_to_judge().expect("an instance");
        assert_eq!(machine.invariant(0, &[view.as_deref()]).expect("fine"), Ok(()));
    }
    assert_eq!(plugin.instances_started(), 1 + 1);
}

/// Two states that fit the limit, in turns: on the way from one to the other, the memories together exceed the limit.
#[test]
fn memories_trade_places_within_the_limit() {
    let mut config = SandboxConfig { verify_capture: true, ..SandboxConfig::default() };
    config.limits.memory_bytes = 10 << 16;
    let plugin = Plugin::load(&Sandbox::new(config, None).expect("an engine"), &fixtures::trades_memory());
    let mut machine = plugin.expect("a plugin").machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    let start = machine.capture();
    run(&mut *machine, Input::Local(&go())).expect("fine");
    let one = machine.capture();
    machine.restore(Some(&start)).expect("an instance");
    run(&mut *machine, Input::Message { src: 1, payload: &[1] }).expect("fine");
    let other = machine.capture();
    for _ in 0..3 {
        for (state, sizes) in [(&one, [7_u32, 1]), (&other, [1, 7]), (&start, [1, 1])] {
            machine.restore(Some(state)).expect("an instance");
            assert_eq!(machine.serialize().expect("fine"), sizes.map(u32::to_le_bytes).concat());
        }
        // The limit holds for the guest as before.
        machine.restore(Some(&one)).expect("an instance");
        run(&mut *machine, Input::Message { src: 1, payload: &[1] }).expect("fine");
        assert_eq!(machine.serialize().expect("fine"), [7_u32, 1].map(u32::to_le_bytes).concat());
    }
}

/// Where a memory was larger before, its current end holds: for single instructions, and for those that the engine executes.
#[test]
fn a_memory_that_has_shrunk_ends_earlier() {
    let plugin = audited(Sabotage::None, &fixtures::grows_to_judge());
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    let state = machine.capture();
    for property in [1, 2] {
        machine.view(0).expect("fine");
        machine.restore(Some(&state)).expect("an instance");
        let fault = machine.view(property).expect_err("a fault");
        assert!(fault.message.contains("trapped: out of bounds memory access"), "{fault}");
        machine.restore(Some(&state)).expect("an instance");
    }
}

#[test]
fn ping_pong_has_the_states_it_says() {
    let mut machine = machine(&fixtures::ping_pong());
    let mut nodes = Vec::new();
    for node in 0..2 {
        machine.restore(None).expect("an instance");
        run(&mut *machine, init(node)).expect("init is fine");
        nodes.push(machine.capture());
    }
    machine.restore(Some(&nodes[0])).expect("an instance");
    let events = machine.local_events().expect("fine");
    assert_eq!(events, [go()]);
    let mut sent = run(&mut *machine, Input::Local(&events[0])).expect("fine").sent;
    nodes[0] = machine.capture();
    let mut src = 0;
    let mut numbers = vec![machine.serialize().expect("fine")];
    while let Some(envelope) = sent.pop() {
        assert!(sent.is_empty());
        let to = envelope.to as usize;
        machine.restore(Some(&nodes[to])).expect("an instance");
        sent = run(&mut *machine, Input::Message { src, payload: &envelope.payload }).expect("fine").sent;
        nodes[to] = machine.capture();
        src = envelope.to;
        numbers.push(machine.serialize().expect("fine"));
    }
    assert_eq!(numbers, [[0, 1], [1, 2], [0, 3], [1, 4]]);
    let properties = machine.properties().expect("fine");
    assert_eq!(properties.len(), 1);
    assert_eq!(properties[0].name, "bounded");
    assert_eq!(machine.invariant(0, &[Some(&[4])]).expect("fine"), Ok(()));
    assert_eq!(machine.invariant(0, &[Some(&[5])]).expect("fine"), Err("too large".to_owned()));
    assert_eq!(machine.view(0).expect("fine"), Some(vec![4]));
}

#[test]
fn snapshots_move_between_machines_and_threads() {
    let plugin = plugin(&fixtures::global_counter());
    let mut one = plugin.machine().expect("an instance");
    run(&mut *one, init(0)).expect("init is fine");
    run(&mut *one, Input::Local(&go())).expect("fine");
    let state = one.capture();
    let expected = one.serialize().expect("fine");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut other = plugin.machine().expect("an instance");
                other.restore(Some(&state)).expect("an instance");
                assert_eq!(other.serialize().expect("fine"), expected);
            });
        }
    });
}

#[test]
fn snapshots_are_small() {
    let mut machine = machine(&fixtures::ping_pong());
    run(&mut *machine, init(0)).expect("init is fine");
    run(&mut *machine, Input::Local(&go())).expect("fine");
    machine.serialize().expect("fine");
    assert!(machine.capture().bytes() <= 1024, "{:?}", machine.capture());
}
