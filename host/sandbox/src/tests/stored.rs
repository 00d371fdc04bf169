//! The durable map of a guest: random operations against a naive map, resets, forbidden calls, and limits.

use std::collections::BTreeMap;

use host_model::contract::{
    DurableMap, DurableState, Envelope, FaultKind, Input, Machine, MachineFactory, Snapshot, StateOwner, Synced,
};

use super::{go, init, machine, plugin, run, sandbox};
use crate::fixtures::{self, Dice, MapOperation};
use crate::{Plugin, Sandbox, SandboxConfig};

type Naive = BTreeMap<Vec<u8>, Vec<u8>>;

fn map(machine: &mut dyn Machine) -> DurableMap {
    machine.storage().expect("it has one").map()
}

/// Few and short keys, the key `a` among them.
fn key(dice: &mut Dice) -> Vec<u8> {
    (0..dice.below(3)).map(|_| b'a' + dice.below(2) as u8).collect()
}

fn operation(dice: &mut Dice) -> MapOperation {
    let (one, other) = (key(dice), key(dice));
    match dice.below(10) {
        0..4 => MapOperation::Put(one, vec![dice.below(3) as u8; dice.below(4)]),
        4..6 => MapOperation::Delete(one),
        6 => MapOperation::DeleteRange(one, Some(other)),
        7 => MapOperation::DeleteRange(one, None),
        8 => MapOperation::PutAndTrap(one, other),
        _ => MapOperation::Send(one, other, dice.below(2) > 0),
    }
}

fn is_within(key: &[u8], start: &[u8], end: Option<&[u8]>) -> bool {
    key >= start && end.is_none_or(|end| key < end)
}

/// The effect of an operation on a naive map; the values that it sends.
fn naively(naive: &mut Naive, operation: &MapOperation) -> Vec<Vec<u8>> {
    match operation {
        MapOperation::Put(key, value) | MapOperation::PutAndSync(key, value) | MapOperation::SyncAndPut(key, value) => {
            drop(naive.insert(key.clone(), value.clone()));
        }
        MapOperation::Delete(key) => drop(naive.remove(key)),
        MapOperation::DeleteRange(start, end) => naive.retain(|key, _| !is_within(key, start, end.as_deref())),
        MapOperation::PutAndTrap(..) => {}
        MapOperation::Send(start, end, is_descending) => {
            let within = naive.iter().filter(|(key, _)| is_within(key, start, Some(end)));
            let mut values: Vec<Vec<u8>> = within.map(|(_, value)| value.clone()).collect();
            if *is_descending {
                values.reverse();
            }
            values.truncate(3);
            return values;
        }
    }
    Vec::new()
}

fn start(machine: &mut dyn Machine, durable: Option<&DurableState>) {
    machine.restore(None).expect("an instance");
    run(machine, Input::Init { node: 0, nodes: 2, config: "", durable }).expect("init is fine");
}

/// A guest writes, reads, traps, is reset, is captured and restored: its map is always the naive one, and its states differ if their maps do.
#[test]
fn the_map_is_what_was_written_at_any_point() {
    let plugin = plugin(&fixtures::stores("well"));
    let mut encodings: BTreeMap<(Vec<u8>, Option<usize>), Naive> = BTreeMap::new();
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let mut machine = plugin.machine().expect("an instance");
        let (mut naive, mut found) = (Naive::new(), None);
        start(&mut *machine, None);
        let mut kept: Vec<(Snapshot, Naive, Option<usize>)> = Vec::new();
        for _ in 0..60 {
            let operation = operation(&mut dice);
            let before = machine.capture();
            let payload = operation.payload();
            let result = run(&mut *machine, Input::Message { src: 0, payload: &payload });
            let sent = naively(&mut naive, &operation);
            match result {
                Ok(effects) => {
                    let sent: Vec<Envelope> = sent.into_iter().map(|payload| Envelope { to: 0, payload }).collect();
                    assert_eq!(effects.sent, sent, "{operation:?}");
                }
                Err(fault) => {
                    assert!(matches!(operation, MapOperation::PutAndTrap(..)), "{operation:?}: {fault}");
                    machine.restore(Some(&before)).expect("an instance");
                }
            }
            match dice.below(8) {
                0 => kept.push((machine.capture(), naive.clone(), found)),
                1 if !kept.is_empty() => {
                    let (snapshot, then, was_found) = &kept[dice.below(kept.len())];
                    machine.restore(Some(snapshot)).expect("an instance");
                    (naive, found) = (then.clone(), *was_found);
                }
                2 => {
                    let durable = machine.durable_state().expect("it has one");
                    assert_eq!(durable.is_none(), naive.is_empty());
                    start(&mut *machine, durable.as_ref());
                    found = naive.get(&b"a"[..]).map(Vec::len);
                }
                3 => {
                    let owner = StateOwner { node: 0, nodes: 2, config: "" };
                    let snapshot_here = machine.capture();
                    let bytes = machine.export(&snapshot_here, owner).expect("states can leave");
                    let mut other = plugin.again().machine().expect("an instance");
                    let snapshot = other.import(&bytes, owner).expect("states can enter");
                    other.restore(Some(&snapshot)).expect("an instance");
                    assert_eq!(map(&mut *other), map(&mut *machine));
                    machine.restore(Some(&snapshot_here)).expect("an instance");
                }
                _ => {}
            }
            let entries = map(&mut *machine);
            assert!(entries.iter().eq(naive.iter().map(|(key, value)| (&**key, &**value))));
            assert_eq!(machine.view(0), Ok(naive.get(&b"a"[..]).cloned()));
            let encoding = machine.serialize().expect("an encoding");
            assert_eq!(encodings.entry((encoding, found)).or_insert_with(|| naive.clone()), &naive);
        }
    }
    assert!(encodings.len() > 200, "{} states", encodings.len());
}

/// A guest with `sync` says what is durable: the map at its last call in the handler. One without it has all of it at the end.
#[test]
fn what_is_durable_is_what_was_written_before_the_last_sync() {
    let naive_map = |naive: &Naive| -> DurableMap { naive.iter().map(|(key, value)| (&**key, &**value)).collect() };
    let (mut synced, mut unsynced) = (0, 0);
    for (guest, has_sync) in [(fixtures::syncs("well"), true), (fixtures::stores("well"), false)] {
        let plugin = plugin(&guest);
        for seed in 0..20 {
            let mut dice = Dice::new(seed);
            let mut machine = plugin.machine().expect("an instance");
            start(&mut *machine, None);
            let (mut naive, mut kept) = (Naive::new(), machine.capture());
            let mut naive_then = naive.clone();
            for _ in 0..40 {
                let operation = match (operation(&mut dice), dice.below(3)) {
                    (MapOperation::Put(key, value), 0) => MapOperation::PutAndSync(key, value),
                    (MapOperation::Put(key, value), 1) => MapOperation::SyncAndPut(key, value),
                    (MapOperation::PutAndTrap(..), _) => continue,
                    (other, _) => other,
                };
                let before = naive_map(&naive);
                let payload = operation.payload();
                let effects = run(&mut *machine, Input::Message { src: 0, payload: &payload }).expect("no fault");
                naively(&mut naive, &operation);
                let expected = match operation {
                    _ if !has_sync => Synced::AtTheEnd,
                    MapOperation::PutAndSync(..) => Synced::UpTo(naive_map(&naive)),
                    MapOperation::SyncAndPut(..) => Synced::UpTo(before),
                    _ => Synced::Nothing,
                };
                assert_eq!(effects.synced, expected, "{operation:?}");
                synced += u32::from(matches!(expected, Synced::UpTo(_)));
                unsynced += u32::from(expected == Synced::Nothing);
                match dice.below(6) {
                    0 => (kept, naive_then) = (machine.capture(), naive.clone()),
                    1 => {
                        machine.restore(Some(&kept)).expect("an instance");
                        naive = naive_then.clone();
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(synced > 100 && unsynced > 100, "{synced} and {unsynced}: the test says little");
}

/// A node that has written its map over many calls reads it in one, under the limit of fuel of a call; another call has no more fuel than
/// before.
#[test]
fn a_start_has_fuel_for_what_it_restores() {
    let mut config = SandboxConfig::default();
    // Enough for a thousand entries, which cost two thousand units and two per byte each; the maps below have three thousand.
    config.limits.fuel_per_call = 5_000_000;
    let sandbox = Sandbox::new(config, None).expect("an engine");
    let map: DurableMap = (0..3_000_u32).map(|key| (key.to_be_bytes(), [1; 1000])).collect();
    let durable = DurableState::of(None, map).expect("it is not empty");
    let reads_all = |function: &str| {
        let plugin = Plugin::load(&sandbox, &fixtures::stores(&format!("{function}: read all"))).expect("a plugin");
        let mut machine = plugin.machine().expect("an instance");
        machine.restore(None).expect("an instance");
        let init = Input::Init { node: 0, nodes: 2, config: "", durable: Some(&durable) };
        run(&mut *machine, init)?;
        run(&mut *machine, Input::Local(&go())).map(drop)
    };
    assert_eq!(reads_all("init"), Ok(()));
    let fault = reads_all("handle-local").expect_err("it reads too much for a call");
    assert!(fault.message.contains("does not end within 5000000 units of fuel"), "{fault}");
    // A start that never ends is still found, and its words name the fuel that it had: 10,000 per entry, 100 per byte.
    let plugin = Plugin::load(&sandbox, &fixtures::stores("init: for ever")).expect("a plugin");
    let mut machine = plugin.machine().expect("an instance");
    machine.restore(None).expect("an instance");
    let init = Input::Init { node: 0, nodes: 2, config: "", durable: Some(&durable) };
    let fault = run(&mut *machine, init).expect_err("it does not end");
    let fuel = 5_000_000 + 3_000 * (10_000 + 1_004 * 100);
    assert!(fault.message.contains(&format!("within {fuel} units of fuel")), "{fault}");
}

/// Two histories with one map are one state; one more entry is another one, though the memory is the same.
#[test]
fn states_differ_in_the_map_alone() {
    let plugin = plugin(&fixtures::stores("well"));
    let after = |operations: &[MapOperation]| {
        let mut machine = plugin.machine().expect("an instance");
        start(&mut *machine, None);
        for operation in operations {
            run(&mut *machine, Input::Message { src: 0, payload: &operation.payload() }).expect("no fault");
        }
        machine.serialize().expect("an encoding")
    };
    let put = |key: &str, value: &str| MapOperation::Put(key.into(), value.into());
    let one = after(&[put("a", "1"), put("b", "2")]);
    assert_eq!(
        one,
        after(&[put("b", "3"), put("a", "1"), put("c", ""), put("b", "2"), MapOperation::Delete("c".into())])
    );
    assert_ne!(one, after(&[put("a", "1"), put("b", "3")]));
    assert_ne!(one, after(&[put("a", "1")]));
}

/// Reads are allowed in every function of a node, writes in handlers alone; each is a fault by name elsewhere.
#[test]
fn forbidden_calls_are_faults() {
    let no_node = |function: &str, call: &str| {
        format!("calls `storage.{call}` in `{function}`, where there is no node whose map it could read")
    };
    let only_handlers = |function: &str, call: &str| {
        let interface = if call == "sync" { "durability" } else { "storage" };
        format!("calls `{interface}.{call}` in `{function}`; only handlers may")
    };
    for call in ["get", "range", "put", "delete", "delete-range", "sync"] {
        let guest = if call == "sync" { fixtures::syncs } else { fixtures::stores };
        let is_read = ["get", "range"].contains(&call);
        for function in
            ["serialize", "local-events", "view", "persist", "describe", "invariant", "properties", "describe.message"]
        {
            // They work before `init`, so their answers must not depend on a node.
            let is_pure = ["invariant", "properties", "describe.message"].contains(&function);
            let mut machine = machine(&guest(&format!("{function}: {call}")));
            run(&mut *machine, init(0)).expect("init is fine");
            let result = match function {
                "serialize" => machine.serialize().map(drop),
                "local-events" => machine.local_events().map(drop),
                "view" => machine.view(0).map(drop),
                "persist" => machine.persist().map(drop),
                "describe" => machine.describe_state().map(drop),
                "invariant" => machine.invariant(0, &[None]).map(drop),
                "properties" => machine.properties().map(drop),
                _ => machine.describe_message(b"").map(drop),
            };
            let named = if function == "describe" { "describe.state" } else { function };
            let expected = match (is_read, is_pure) {
                (true, false) => None,
                (true, true) => Some(no_node(named, call)),
                (false, _) => Some(only_handlers(named, call)),
            };
            let fault = result.err().map(|fault| (fault.kind, fault.message));
            assert_eq!(fault, expected.map(|words| (FaultKind::Malformed, words)), "{function}: {call}");
        }
        for function in ["init", "handle-local"] {
            let mut machine = machine(&guest(&format!("{function}: {call}")));
            run(&mut *machine, init(0)).expect("handlers may");
            run(&mut *machine, Input::Local(&go())).expect("handlers may");
        }
        let error = Plugin::load(&sandbox(), &guest(&format!("start: {call}"))).expect_err("it starts badly");
        assert!(error.to_string().contains("fails while it starts"), "{error}");
    }
    // Before `init` there is no node, whatever the function.
    let mut machine = machine(&fixtures::stores("view: get"));
    let fault = machine.view(0).expect_err("there is no node");
    assert!(fault.message.contains("calls `storage.get` before `init`"), "{fault}");
}

#[test]
fn limits_are_faults_that_name_them() {
    type Set = fn(&mut SandboxConfig);
    let limited = |what: &str, set: Set| {
        let mut config = SandboxConfig { verify_capture: true, ..SandboxConfig::default() };
        set(&mut config);
        let sandbox = Sandbox::new(config, None).expect("an engine");
        let plugin = Plugin::load(&sandbox, &fixtures::stores(what)).expect("a plugin");
        let mut machine = plugin.machine().expect("an instance");
        run(&mut *machine, init(0)).expect("init is fine");
        run(&mut *machine, Input::Local(&go())).map(drop)
    };
    let cases: [(&str, Set, &str, FaultKind); 7] = [
        (
            "long",
            |it| it.limits.storage_key_bytes = 999,
            "`storage.put` with a key of 1000 bytes",
            FaultKind::OutputLimit,
        ),
        (
            "long",
            |it| it.limits.storage_value_bytes = 999,
            "`storage.put` with a value of 1000 bytes",
            FaultKind::OutputLimit,
        ),
        ("wide", |it| it.limits.storage_entries = 999, "puts 1000 entries into its map", FaultKind::OutputLimit),
        ("wide", |it| it.limits.storage_bytes = 1_003_999, "puts 1004000 bytes into its map", FaultKind::OutputLimit),
        ("range of too many", |_| {}, "`storage.range` for up to 4097 entries", FaultKind::OutputLimit),
        ("wide", |it| it.limits.fuel_per_call = 1_000_000, "does not end", FaultKind::Divergence),
        ("for ever", |it| it.limits.fuel_per_call = 1_000_000, "does not end", FaultKind::Divergence),
    ];
    for (what, set, words, kind) in cases {
        let fault = limited(&format!("handle-local: {what}"), set).expect_err(words);
        assert!(fault.kind == kind && fault.message.contains(words), "{what}: {fault}");
    }
    for (what, set) in [
        ("long", (|it| it.limits.storage_key_bytes = 1000) as fn(&mut SandboxConfig)),
        ("wide", |it| (it.limits.storage_entries, it.limits.storage_bytes) = (1000, 1_004_000)),
    ] {
        limited(&format!("handle-local: {what}"), set).expect("it is within the limit");
    }
}

/// A component without the interface has no map, and the same encodings as ever.
#[test]
fn a_component_without_a_map_has_none() {
    let plugin = plugin(&fixtures::ping_pong());
    assert!(!plugin.stores());
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    assert!(machine.storage().is_none() && machine.capture().map().is_none());
}
