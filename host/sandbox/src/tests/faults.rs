//! Each kind of misbehaviour ends in a fault that names it, and leaves machine and process usable.

use host_model::contract::{
    Choice, Effects, Fault, FaultKind, Input, Likelihood, Machine, MachineError, MachineFactory,
};
use host_model::lts::{Lts, Stepper, Trigger};
use host_model::scenario::Scenario;

use crate::fixtures;
use crate::{LoadError, Plugin, Sabotage, Sandbox, SandboxConfig};

use super::{go, init, machine, plugin, run};

/// The fault of `go` from the state after `init`.
fn fault_of_go(bytes: &[u8]) -> Fault {
    let mut machine = machine(bytes);
    run(&mut *machine, init(0)).expect("init is fine");
    let before = machine.capture();
    let bytes_before = machine.serialize().ok();
    machine.restore(Some(&before)).expect("an instance");
    let fault = run(&mut *machine, Input::Local(&go())).expect_err("a fault");
    // The machine continues, in any state, and the same input gives the same fault.
    machine.restore(Some(&before)).expect("an instance");
    assert_eq!(machine.serialize().ok(), bytes_before);
    machine.restore(Some(&before)).expect("an instance");
    assert_eq!(run(&mut *machine, Input::Local(&go())).expect_err("a fault"), fault);
    machine.restore(None).expect("an instance");
    run(&mut *machine, init(1)).expect("init is fine");
    fault
}

#[test]
fn handlers_that_misbehave() {
    use FaultKind::{Choose, Divergence, Malformed, MemoryLimit, OutputLimit, Platform, Trap};
    let cases: [(&str, Vec<u8>, FaultKind, &str); 22] = [
        ("trap", fixtures::traps(), Trap, "`handle-local` trapped: wasm `unreachable` instruction executed"),
        ("panic", fixtures::panics(), Trap, "(panic: index out of range)"),
        ("read", fixtures::reads_past_the_end(), Trap, "out of bounds memory access"),
        ("write", fixtures::writes_past_the_end(), Trap, "out of bounds memory access"),
        (
            "loop",
            fixtures::loops(),
            Divergence,
            "does not end within 200000000 units of fuel; if it is only slow, `--limit fuel=N`",
        ),
        ("bomb", fixtures::memory_bomb(), MemoryLimit, "wants more memory than the limit of 268435456 bytes"),
        (
            "recursion",
            fixtures::deep_recursion(),
            Trap,
            "call stack exhausted, more than the limit of 524288 bytes in `guest::deeper`; `--limit stack=N` allows more",
        ),
        ("mutual recursion", fixtures::mutual_recursion(), Trap, "more than the limit of 524288 bytes in `"),
        (
            "recursion in memory",
            fixtures::deep_recursion_in_memory(),
            Trap,
            "out of bounds memory access in `zero`: `walk` calls itself, and its stack may have overflowed",
        ),
        ("amplified", fixtures::amplified_output(), OutputLimit, "more than the limit of 16777216 bytes"),
        ("many", fixtures::many_messages(), OutputLimit, "returns 100000 messages from one call, more than the limit"),
        ("node", fixtures::wrong_node(), Malformed, "sends a message to node 7 of a cluster of 2"),
        ("choose 0", fixtures::chooses_from_nothing(), Choose, "calls `choose` with no alternative"),
        ("choose on", fixtures::chooses_for_ever(), Choose, "calls `choose` more often than the limit of 64"),
        ("choose 2^32", fixtures::chooses_from_too_many(), Choose, "with 4294967295 alternatives"),
        ("no weights", fixtures::weighted_chooser(&[]), Choose, "calls `choose-weighted` with no alternative"),
        ("weights 0", fixtures::weighted_chooser(&[0, 0]), Choose, "with weights that are all 0"),
        (
            "weights",
            fixtures::weighted_chooser(&[1; 5_000]),
            Choose,
            "calls `choose-weighted` with 5000 alternatives, more than the limit of 4096; `--limit alternatives=N`",
        ),
        ("table", fixtures::writes_table_by_table(), Platform, "`handle-local` ran `table.set` after start-up"),
        ("wait", fixtures::waits_without_memory(), MemoryLimit, "limit of 268435456 bytes for one instance; `--limit"),
        ("loop in handler", fixtures::loops_in("handle-local"), Divergence, "`handle-local` does not end"),
        ("log", fixtures::logs_malformed_text(), Malformed, "utf-8"),
    ];
    for (name, bytes, kind, expected) in cases {
        let fault = fault_of_go(&bytes);
        assert_eq!(fault.kind, kind, "{name}: {fault}");
        assert!(fault.message.contains(expected), "{name}: {fault}");
        let limit = match name {
            "loop" | "loop in handler" => Some("fuel"),
            "bomb" | "wait" => Some("memory"),
            "recursion" | "mutual recursion" => Some("stack"),
            "amplified" => Some("output"),
            "many" => Some("items"),
            "choose on" => Some("choices"),
            "choose 2^32" | "weights" => Some("alternatives"),
            _ => None,
        };
        assert_eq!(fault.limit(), limit, "{name}: {fault}");
    }
}

#[test]
fn readers_that_misbehave() {
    use FaultKind::{Choose, Malformed, OutputLimit};
    type Reader = fn(&mut dyn Machine) -> Fault;
    let serialize: Reader = |machine| machine.serialize().expect_err("a fault");
    let events: Reader = |machine| machine.local_events().expect_err("a fault");
    let cases: [(&str, Vec<u8>, Reader, FaultKind, &str); 5] = [
        ("huge", fixtures::huge_output(), serialize, OutputLimit, "hands more than the limit of 16777216 bytes"),
        ("bounds", fixtures::list_out_of_bounds(), serialize, Malformed, "out of bounds"),
        ("choose", fixtures::chooses_in_serialize(), serialize, Choose, "calls `choose` in `serialize`"),
        ("string", fixtures::malformed_string(), events, Malformed, "utf-8"),
        ("enum", fixtures::malformed_enum(), events, Malformed, "unexpected discriminant: 9"),
    ];
    for (name, bytes, reader, kind, expected) in cases {
        let mut machine = machine(&bytes);
        run(&mut *machine, init(0)).expect("init is fine");
        let state = machine.capture();
        let fault = reader(&mut *machine);
        assert_eq!(fault.kind, kind, "{name}: {fault}");
        assert!(fault.message.contains(expected), "{name}: {fault}");
        machine.restore(Some(&state)).expect("an instance");
        assert_eq!(reader(&mut *machine), fault);
    }
}

/// Every required function can loop, and each time the fault names it.
#[test]
fn an_endless_loop_in_any_function_ends() {
    let mut config = SandboxConfig::default();
    config.limits.fuel_per_call = 1_000_000;
    let sandbox = Sandbox::new(config, None).expect("an engine");
    type Call = fn(&mut dyn Machine) -> Result<(), Fault>;
    let calls: [(&str, Call); 8] = [
        ("init", |m| run(m, init(0)).map(drop)),
        ("handle-message", |m| run(m, Input::Message { src: 0, payload: b"x" }).map(drop)),
        ("local-events", |m| m.local_events().map(drop)),
        ("handle-local", |m| run(m, Input::Local(&go())).map(drop)),
        ("serialize", |m| m.serialize().map(drop)),
        ("properties", |m| m.properties().map(drop)),
        ("view", |m| m.view(0).map(drop)),
        ("invariant", |m| m.invariant(0, &[]).map(drop)),
    ];
    for (function, call) in calls {
        let plugin = Plugin::load(&sandbox, &fixtures::loops_in(function)).expect("a plugin");
        let mut machine = plugin.machine().expect("an instance");
        let fault = call(&mut *machine).expect_err("a fault");
        assert_eq!(fault.kind, FaultKind::Divergence);
        assert!(fault.message.starts_with(&format!("`{function}` does not end within 1000000 units")), "{fault}");
    }
}

#[test]
fn a_refused_configuration_is_no_trap() {
    let mut machine = machine(&fixtures::refuses_config());
    let fault = run(&mut *machine, init(0)).expect_err("a fault");
    assert_eq!(fault.kind, FaultKind::Refused);
    assert_eq!(fault.message, "`init` refuses its configuration: no such key");
}

#[test]
fn choices_follow_the_script_and_are_noted() {
    let mut machine = machine(&fixtures::chooser());
    run(&mut *machine, init(0)).expect("init is fine");
    let state = machine.capture();
    machine.keep_log(true);
    let mut effects = Effects::default();
    machine.handle(Input::Local(&go()), &[2, 1], &mut effects).expect("fine");
    let picked: Vec<_> = effects.choices.iter().map(|choice| (choice.picked, choice.alternatives)).collect();
    assert_eq!(picked, [(2, 3), (1, 2)]);
    assert_eq!(effects.log, ["chosen"]);
    assert_eq!(machine.serialize().expect("fine")[16..18], [2, 1]);
    machine.restore(Some(&state)).expect("an instance");
    machine.keep_log(false);
    machine.handle(Input::Local(&go()), &[1], &mut effects).expect("fine");
    assert_eq!(machine.serialize().expect("fine")[16..18], [1, 0]);
    assert!(effects.log.is_empty());
    machine.restore(Some(&state)).expect("an instance");
    let fault = machine.handle(Input::Local(&go()), &[3], &mut effects).expect_err("no such alternative");
    assert_eq!(fault.kind, FaultKind::Choose);
}

/// The share of the weights that the answer has: 3 of 4, 0 of 4, 1 of 4.
#[test]
fn weights_make_outcomes_likely() {
    let mut machine = machine(&fixtures::weighted_chooser(&[3, 0, 1]));
    run(&mut *machine, init(0)).expect("init is fine");
    let state = machine.capture();
    let mut effects = Effects::default();
    let certain = Likelihood::CERTAIN.parts();
    for (answer, likelihood) in [(0, certain * 3 / 4), (1, 0), (2, certain / 4)] {
        machine.restore(Some(&state)).expect("an instance");
        machine.handle(Input::Local(&go()), &[answer], &mut effects).expect("fine");
        assert_eq!(effects.choices, [Choice::among(3, answer)]);
        assert_eq!(effects.likelihood.parts(), likelihood);
        assert_eq!(u32::from(machine.serialize().expect("fine")[16]), answer);
    }
    // Earlier likelihoods do not matter to the next handler.
    machine.restore(None).expect("an instance");
    machine.handle(init(0), &[], &mut effects).expect("fine");
    assert_eq!(effects.likelihood, Likelihood::CERTAIN);
}

#[test]
fn a_snapshot_of_another_plugin_is_refused() {
    let one = plugin(&fixtures::ping_pong());
    let other = plugin(&fixtures::ping_pong());
    let snapshot = one.machine().expect("an instance").capture();
    let error = other.machine().expect("an instance").restore(Some(&snapshot)).expect_err("another plugin");
    assert_eq!(error.to_string(), "a snapshot of another plugin cannot be restored");
    let error = one.again().machine().expect("an instance").restore(Some(&snapshot)).expect_err("of its own");
    assert_eq!(error.to_string(), "a snapshot of another plugin cannot be restored");
}

/// A resource that this machine does not provide although the limits allow it is the host's error: never a fault of the plugin, and
/// invisible to a guest.
#[test]
fn a_machine_without_memory_is_not_the_guest_s_fault() {
    let load = |sabotage, bytes: &[u8]| {
        let config = SandboxConfig { sabotage, ..SandboxConfig::default() };
        Plugin::load(&Sandbox::new(config, None).expect("an engine"), bytes)
    };
    let error = load(Sabotage::NoRoom, &fixtures::ping_pong()).expect_err("no address space");
    assert!(matches!(error, LoadError::Host { .. }), "{error}");
    assert!(error.to_string().starts_with("this machine cannot reserve"), "{error}");

    // A guest that handles a failed allocation: it must not see this one.
    let plugin = load(Sabotage::NoGrowth, &fixtures::growing()).expect("a plugin");
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    machine.confirm_fault().expect("nothing has failed");
    run(&mut *machine, Input::Local(&go())).expect_err("no memory");
    let is_host_error = |error: MachineError| {
        assert!(matches!(error, MachineError::Host(_)), "{error}");
        assert!(error.to_string().starts_with("this machine cannot make 131072 bytes of memory accessible"), "{error}");
    };
    is_host_error(machine.confirm_fault().expect_err("the host's fault"));
    is_host_error(machine.restore(None).expect_err("the machine is of no use any more"));
    is_host_error(plugin.machine().map(drop).expect_err("nor is another one"));
    let again = plugin.again();
    let mut machine = again.machine().expect("what was missing may be there when the component is needed again");
    machine.confirm_fault().expect("nothing has failed");
    run(&mut *machine, init(0)).expect("init is fine");
    run(&mut *machine, Input::Local(&go())).expect_err("no memory this time either");
    is_host_error(machine.confirm_fault().expect_err("the host's fault"));

    // A search gets no outcome at all.
    let plugin = load(Sabotage::NoGrowth, &fixtures::growing()).expect("a plugin");
    let lts = Lts::new(&plugin, Scenario::new(2)).expect("properties");
    let mut stepper = Stepper::new(&lts).expect("an instance");
    let state = stepper.init(0).expect("init is fine")[0].next;
    let event = stepper.state(state).protocol.local_events[0];
    is_host_error(stepper.step(state, Trigger::local(event)).expect_err("no memory"));

    // A limit of the guest stays its own.
    let mut config = SandboxConfig::default();
    config.limits.memory_bytes = 1 << 16;
    let plugin = Plugin::load(&Sandbox::new(config, None).expect("an engine"), &fixtures::growing()).expect("a plugin");
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    run(&mut *machine, Input::Local(&go())).expect("the guest continues with the memory that it has");
    machine.confirm_fault().expect("nothing has failed");
}
