//! Damaged components, valid ones with random code, and valid ones with state in random places.

use std::fmt::Write;
use std::sync::OnceLock;

use host_model::contract::{Effects, Fault, Input, LocalEvent, LocalKind, Machine, MachineFactory};
use host_sandbox::fixtures::{self, Guest};
use host_sandbox::{Addresses, GuestLimits, Plugin, Sandbox, SandboxConfig};

use super::mutate::{damage, flip};
use super::{Dice, Fate};

/// Small limits, so that many cases run in a second; every capture is compared with the whole memory.
fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| {
        let limits = GuestLimits {
            fuel_per_call: 300_000,
            memory_bytes: 4 << 20,
            table_elements: 10_000,
            output_bytes: 1 << 20,
            ..GuestLimits::default()
        };
        let config =
            SandboxConfig { limits, verify_capture: true, addresses: Addresses::All, ..SandboxConfig::default() };
        Sandbox::new(config, None).expect("an engine")
    })
}

/// The corpus: the components of the sandbox.
fn corpus() -> &'static [Vec<u8>] {
    static CORPUS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        vec![
            fixtures::ping_pong(),
            fixtures::global_counter(),
            fixtures::growing(),
            fixtures::two_memories(),
            fixtures::every_store(),
            fixtures::chooser(),
            fixtures::table_at_start(),
            fixtures::shared_globals(),
            fixtures::close_stores(),
            fixtures::enters_itself(),
            fixtures::afterwards("change"),
            fixtures::reallocates("in new memory"),
            fixtures::drops_data(),
        ]
    })
}

/// Components composed of several: results of each kind, with and without another component between. Nearly all damage
/// makes them invalid, so they come less often.
fn composed() -> &'static [Vec<u8>] {
    static COMPOSED: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    COMPOSED.get_or_init(|| {
        let returned = |name| [false, true].map(|relayed| fixtures::returned(name, relayed));
        fixtures::results().flat_map(returned).collect()
    })
}

/// A damaged copy of a valid component.
pub fn components(seed: u64) -> Fate {
    let mut dice = Dice::new(seed);
    let valid = if dice.below(8) == 0 { composed() } else { corpus() };
    let (mut bytes, other) = (dice.pick(valid).clone(), dice.pick(valid).clone());
    match dice.below(2) {
        0 => damage(&mut bytes, &other, &mut dice),
        _ => flip(&mut bytes, &mut dice),
    }
    match Plugin::load(sandbox(), &bytes) {
        Ok(plugin) => exercise(&plugin, &mut dice, seed),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            Fate::Refused
        }
    }
}

/// A valid component with random code in its handlers.
pub fn guests(seed: u64) -> Fate {
    let mut dice = Dice::new(seed);
    let mut guest = Guest {
        memory: (*dice.pick(&["1", "1 8", "2", "40"])).into(),
        fields: r#"
            (global $g (mut i32) (i32.const 7)) (global $h (mut i64) (i64.const -1)) (memory $second 1)
            (table $t 4 funcref) (elem (i32.const 1) $reset) (data $passive "passive data")
            (func $write_late (param i32) (table.set $t (local.get 0) (ref.null func)))
            (func $drop_late (param i32) (data.drop $passive))
            (table $late 2 funcref) (elem (table $late) (i32.const 0) func $write_late $drop_late)"#
            .into(),
        ..Guest::default()
    };
    let defaults = guest.clone();
    let tail = |default: &str, dice: &mut Dice| {
        let code = code(dice, 1 + dice.clone().below(12), 0);
        let result = if dice.below(4) == 0 {
            format!("(call $list {} {})", value(dice, 0), value(dice, 0))
        } else {
            default.into()
        };
        format!("(local $i i32) (local $j i32) (local $k i64) {code} {result}")
    };
    guest.message = tail(&defaults.message, &mut dice);
    guest.local = tail(&defaults.local, &mut dice);
    if dice.below(3) == 0 {
        guest.serialize = tail(&defaults.serialize, &mut dice);
    }
    match Plugin::load(sandbox(), &guest.component()) {
        Ok(plugin) => exercise(&plugin, &mut dice, seed),
        Err(error) => panic!("guest {seed} is valid, but: {error}"),
    }
}

/// A valid guest that keeps state in every kind of place and never faults, alone or composed of several components.
pub fn stores(seed: u64) -> Fate {
    static ROOMY: OnceLock<Sandbox> = OnceLock::new();
    // Each call digests all memories, which takes more than the small limits.
    let roomy = ROOMY.get_or_init(|| {
        let config = SandboxConfig { verify_capture: true, addresses: Addresses::All, ..SandboxConfig::default() };
        Sandbox::new(config, None).expect("an engine")
    });
    match Plugin::load(roomy, &fixtures::random(seed)) {
        Ok(plugin) => exercise(&plugin, &mut Dice::new(seed), seed),
        Err(error) => panic!("guest {seed} is valid, but: {error}"),
    }
}

/// Some statements.
fn code(dice: &mut Dice, count: usize, depth: usize) -> String {
    let mut code = String::new();
    for _ in 0..count {
        let (a, b, c) = (value(dice, 0), value(dice, 0), value(dice, 0));
        let offset = *dice.pick(&[0, 1, 60, 64, 255, 256, 4_000, 65_535, 4_294_967_290_u64]);
        let _ = match dice.below(if depth < 3 { 22 } else { 18 }) {
            0 => write!(code, "(i32.store offset={offset} {a} {b}) "),
            1 => write!(code, "(i32.store8 offset={offset} {a} {b}) "),
            2 => write!(code, "(i64.store offset={offset} {a} (i64.extend_i32_u {b})) "),
            3 => write!(code, "(v128.store offset={offset} {a} (i32x4.splat {b})) "),
            4 => write!(code, "(memory.fill {a} {b} (i32.and {c} (i32.const 2047))) "),
            5 => write!(code, "(memory.copy {a} {b} (i32.and {c} (i32.const 2047))) "),
            6 => write!(code, "(memory.init $passive {a} (i32.const 1) (i32.and {c} (i32.const 15))) "),
            7 => write!(code, "(memory.copy $second $memory {a} {b} (i32.and {c} (i32.const 511))) "),
            8 => write!(code, "(i32.store $second offset={offset} {a} {b}) "),
            9 => write!(code, "(global.set $g {a}) "),
            10 => write!(code, "(global.set $h (i64.extend_i32_s {a})) "),
            11 => write!(code, "(local.set $i {a}) "),
            12 => write!(code, "(local.set $j {a}) "),
            13 => write!(code, "(drop (memory.grow (i32.and {a} (i32.const 3)))) "),
            14 => write!(code, "(call $log {a} (i32.and {b} (i32.const 1023))) "),
            15 => write!(code, "(drop (call $choose (i32.and {a} (i32.const 7)))) "),
            16 => write!(code, "(local.set $j (local.tee $i {a})) (i32.store offset=8 (local.get $i) {b}) "),
            17 => match dice.below(12) {
                0 => write!(code, "(call_indirect $late (param i32) {a} (i32.const 0)) "),
                1 => write!(code, "(call_indirect $t {a}) "),
                2 => write!(code, "(call_indirect $late (param i32) {a} (i32.const 1)) "),
                3 => write!(code, "(unreachable) "),
                _ => write!(code, "(local.set $i (i32.add (local.get $i) (i32.const 256))) "),
            },
            18 => write!(code, "(if {a} (then {})) ", self::code(dice, 3, depth + 1)),
            19 => write!(
                code,
                "(if {a} (then {}) (else {})) ",
                self::code(dice, 2, depth + 1),
                self::code(dice, 2, depth + 1)
            ),
            20 => write!(
                code,
                "(loop $l{depth} {} (local.set $k (i64.add (local.get $k) (i64.const 1))) (br_if $l{depth} (i64.lt_u (local.get $k) (i64.const 20)))) ",
                self::code(dice, 2, depth + 1)
            ),
            _ => write!(
                code,
                "(block $b{depth} {} (br_if $b{depth} {a}) {}) ",
                self::code(dice, 2, depth + 1),
                self::code(dice, 2, depth + 1)
            ),
        };
    }
    code
}

/// A value of 32 bits; addresses near granules, pages and the state are likely.
fn value(dice: &mut Dice, depth: usize) -> String {
    match dice.below(if depth < 3 { 12 } else { 6 }) {
        0 => "(local.get $i)".into(),
        1 => "(local.get $j)".into(),
        2 => "(global.get $g)".into(),
        3 => format!("(i32.const {})", dice.below(8)),
        4 => format!("(i32.const {})", 1024 + dice.below(64)),
        5 => format!("(i32.const {})", [256, 512, 8_192, 65_536, 131_072][dice.below(5)] - dice.below(20)),
        6 => format!("(i32.load (i32.and {} (i32.const 65532)))", value(dice, depth + 1)),
        7 => format!("(i32.add {} {})", value(dice, depth + 1), value(dice, depth + 1)),
        8 => format!("(i32.sub {} {})", value(dice, depth + 1), value(dice, depth + 1)),
        9 => "(memory.size)".into(),
        10 => format!("(i32.load8_u offset={} (i32.const 1024))", dice.below(64)),
        _ => format!("(i32.and {} (i32.const 65535))", value(dice, depth + 1)),
    }
}

/// Calls everything, along a random path over captured states; each step is taken twice, the second time after going
/// elsewhere, and must give the same.
fn exercise(plugin: &Plugin, dice: &mut Dice, seed: u64) -> Fate {
    let mut machine = plugin.machine().expect("an instance");
    let mut is_faulty = machine.properties().is_err();
    machine.restore(None).expect("an instance");
    is_faulty |= machine.invariant(0, &[Some(b"view"), None]).is_err();
    machine.restore(None).expect("an instance");
    let init = Input::Init { node: 0, nodes: 2, config: "key=value\n", durable: None };
    if machine.handle(init, &[], &mut Effects::default()).is_err() {
        return Fate::Faulty;
    }
    let mut states = vec![machine.capture()];
    for _ in 0..6 {
        let state = dice.pick(&states).clone();
        let payload = [dice.number() as u8; 9];
        let local = LocalEvent { name: "go".into(), kind: LocalKind::Internal, payload: payload.to_vec() };
        let input =
            if dice.below(2) == 0 { Input::Message { src: 1, payload: &payload } } else { Input::Local(&local) };
        let script = [dice.below(2) as u32, dice.below(3) as u32];
        machine.restore(Some(&state)).expect("an instance");
        let first = look(&mut *machine, input, &script);
        let captured = first.is_ok().then(|| machine.capture());
        machine.restore(Some(dice.pick(&states))).expect("an instance");
        let _ = look(&mut *machine, Input::Message { src: 0, payload: b"elsewhere" }, &[]);
        machine.restore(Some(&state)).expect("an instance");
        let second = look(&mut *machine, input, &script);
        assert_eq!(first, second, "case {seed} is not the same a second time");
        is_faulty |= first.is_err();
        if let Some(captured) = captured {
            let again = machine.capture();
            assert_eq!(captured.words(), again.words(), "case {seed} leaves another memory a second time");
            states.push(captured);
        }
    }
    if is_faulty { Fate::Faulty } else { Fate::Fine }
}

/// Runs a handler and all that reads its state.
fn look(machine: &mut dyn Machine, input: Input<'_>, script: &[u32]) -> Result<String, Fault> {
    let mut effects = Effects::default();
    machine.handle(input, script, &mut effects)?;
    let events = machine.local_events()?;
    let (view, state) = (machine.view(0)?, machine.serialize()?);
    let described = machine.describe_state()?;
    let (viewed, name) = (machine.describe_view(0, view.as_deref().unwrap_or_default())?, machine.node_name()?);
    Ok(format!("{effects:?} {events:?} {view:?} {state:?} {described:?} {viewed:?} {name:?}"))
}
