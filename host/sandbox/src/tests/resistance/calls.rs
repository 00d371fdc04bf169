//! The attempts of a plugin that is called.

use super::*;

// Traps.

#[test]
fn every_kind_of_trap_is_a_finding() {
    let sandbox = sandbox(|_| {});
    for (way, words) in [
        ("unreachable", "`unreachable` instruction executed"),
        ("divide by zero", "integer divide by zero"),
        ("integer overflow", "integer overflow"),
        ("invalid conversion to integer", "invalid conversion to integer"),
        ("out of bounds memory access", "out of bounds memory access"),
        ("out of bounds memory fill", "out of bounds memory access"),
        ("undefined element", "undefined element"),
        ("uninitialized element", "uninitialized element"),
        ("indirect call type mismatch", "indirect call type mismatch"),
        ("out of bounds table access", "undefined element: out of bounds table access"),
    ] {
        is(&fault(&sandbox, &fixtures::traps_by(way), local), FaultKind::Trap, words);
    }
}

#[test]
fn recursion_ends_at_the_limit_of_the_stack() {
    let sandbox = sandbox(|limits| limits.stack_bytes = 64 << 10);
    let words = "call stack exhausted, more than the limit of 65536 bytes";
    is(&fault(&sandbox, &fixtures::deep_recursion(), local), FaultKind::Trap, words);
    // One call that needs 640 KB for its locals.
    is(&fault(&sandbox, &fixtures::huge_frame(), local), FaultKind::Trap, words);
}

#[test]
fn a_panic_of_any_length_is_quoted_in_part() {
    let fault = fault(&sandbox(|_| {}), &fixtures::panics_at_length(), local);
    is(&fault, FaultKind::Trap, "(panic: aaa");
    is(&fault, FaultKind::Trap, "... (cut: 1048576 bytes)");
    assert!(fault.message.len() < 5_000, "{} bytes", fault.message.len());
}

#[test]
fn the_name_of_a_function_is_quoted_in_part() {
    let fault = fault(&sandbox(|_| {}), &fixtures::traps_in_a_long_name(), local);
    is(&fault, FaultKind::Trap, "nnn... (cut: 50005 bytes)");
    assert!(fault.message.len() < 500, "{} bytes", fault.message.len());
}

#[test]
fn explanations_are_cut() {
    let plugin = Plugin::load(&sandbox(|_| {}), &fixtures::explains_at_length()).expect("a plugin");
    let mut machine = plugin.machine().expect("an instance");
    let why = machine.invariant(0, &[]).expect("no fault").expect_err("it does not hold");
    assert!(why.ends_with("aaa... (cut: 100000 bytes)") && why.len() < 5_000, "{} bytes", why.len());
    machine.restore(None).expect("an instance");
    let fault = run(&mut *machine, init(0)).expect_err("refused");
    is(&fault, FaultKind::Refused, "aaa... (cut: 100000 bytes)");
    assert!(fault.message.len() < 5_000, "{} bytes", fault.message.len());
}

// Time.

#[test]
fn work_without_end_in_any_export_ends() {
    let sandbox = sandbox(|limits| limits.fuel_per_call = 1_000_000);
    type Call = fn(&mut dyn Machine) -> Result<(), Fault>;
    let calls: [(&str, Call); 7] = [
        ("handle-message", message),
        ("local-events", events),
        ("handle-local", local),
        ("serialize", serialize),
        ("properties", |machine| machine.properties().map(drop)),
        ("view", |machine| machine.view(0).map(drop)),
        ("invariant", |machine| machine.invariant(0, &[]).map(drop)),
    ];
    for (function, call) in calls {
        let words = format!("`{function}` does not end within 1000000 units of fuel");
        is(&fault(&sandbox, &fixtures::loops_in(function), call), FaultKind::Divergence, &words);
    }
}

/// One instruction can move 100 MB: 10 million units of fuel do not suffice for one of them.
#[test]
fn moving_bytes_costs_fuel_for_each_byte() {
    let sandbox = sandbox(|limits| limits.fuel_per_call = 10_000_000);
    for bytes in [fixtures::fills_memory_for_ever(), fixtures::copies_memory_for_ever()] {
        is(&fault(&sandbox, &bytes, local), FaultKind::Divergence, "does not end within 10000000 units");
    }
}

/// Each call into the host costs at least 200 units: 10 million suffice for 50,000 of them.
#[test]
fn calls_into_the_host_cost_fuel() {
    let sandbox = sandbox(|limits| limits.fuel_per_call = 10_000_000);
    let wordy = [fixtures::logs_for_ever(), fixtures::logs_nothing_for_ever(), fixtures::grows_in_vain()];
    for bytes in wordy {
        is(&fault(&sandbox, &bytes, local), FaultKind::Divergence, "does not end within 10000000 units");
    }
}

#[test]
fn the_log_of_a_call_is_cut() {
    let plugin = Plugin::load(&sandbox(|_| {}), &fixtures::logs_much()).expect("a plugin");
    let mut machine = plugin.machine().expect("an instance");
    machine.keep_log(true);
    run(&mut *machine, init(0)).expect("init is fine");
    let log = run(&mut *machine, Input::Local(&go())).expect("no fault").log;
    assert_eq!(log, ["(log cut off here: more than 262144 bytes in one call; `--limit log=N` allows more)"]);
}

// Memory and output.

#[test]
fn memory_and_output_have_limits_that_say_how_to_raise_them() {
    let narrow = sandbox(|limits| {
        limits.memory_bytes = 64 << 20;
        limits.output_bytes = 1 << 20;
    });
    let short = sandbox(|limits| {
        limits.message_bytes = 100_000;
        limits.items_per_call = 100;
        limits.text_bytes = 1_000;
        limits.properties = 10;
    });
    type Call = fn(&mut dyn Machine) -> Result<(), Fault>;
    let properties: Call = |machine| machine.properties().map(drop);
    let cases: [(Vec<u8>, Call, FaultKind, &str); 10] = [
        (fixtures::memory_bomb(), local, FaultKind::MemoryLimit, "67108864 bytes for one instance; `--limit memory=N`"),
        (fixtures::huge_output(), serialize, FaultKind::OutputLimit, "1048576 bytes to the host; `--limit output=N`"),
        (fixtures::amplified_output(), local, FaultKind::OutputLimit, "`--limit output=N` allows more"),
        (fixtures::sends_bytes(1 << 21), local, FaultKind::OutputLimit, "`--limit output=N` allows more"),
        (fixtures::sends_bytes(100_001), local, FaultKind::OutputLimit, "100001 bytes, more than the limit of 100000"),
        (
            fixtures::many_messages(),
            local,
            FaultKind::OutputLimit,
            "100000 messages from one call, more than the limit of 100; `--limit items=N`",
        ),
        (fixtures::many_events(101), events, FaultKind::OutputLimit, "returns 101 local events from one call, more"),
        (fixtures::long_event_name(1_001), events, FaultKind::OutputLimit, "a name of 1001 bytes, more than the limit"),
        (fixtures::many_properties(11, 1), properties, FaultKind::OutputLimit, "has 11 properties, more than the"),
        (fixtures::many_properties(1, 1_001), properties, FaultKind::OutputLimit, "a property a name of 1001 bytes"),
    ];
    for (bytes, call, kind, words) in cases {
        let is_size = words.contains("memory=N") || words.contains("output=N");
        let fault = fault(if is_size { &narrow } else { &short }, &bytes, call);
        is(&fault, kind, words);
        let name = fault.limit().expect("it says which limit");
        assert!(crate::contract::limits::Limit::find(name).is_some(), "{name}");
    }
    let fits = Plugin::load(&short, &fixtures::sends_bytes(100_000)).expect("a plugin");
    let mut machine = fits.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    let sent = run(&mut *machine, Input::Local(&go())).expect("a message of exactly the limit").sent;
    assert_eq!(sent[0].payload.len(), 100_000);
}

// Malformed results.

#[test]
fn a_result_that_is_no_value_of_the_contract_is_a_finding() {
    let sandbox = sandbox(|_| {});
    type Call = fn(&mut dyn Machine) -> Result<(), Fault>;
    let properties: Call = |machine| machine.properties().map(drop);
    let view: Call = |machine| machine.view(0).map(drop);
    let invariant: Call = |machine| machine.invariant(0, &[Some(&[1]), None]).map(drop);
    let cases: [(&str, Call, &str); 12] = [
        ("messages: list", local, "out of bounds"),
        ("messages: length", local, "out of bounds"),
        ("messages: address", local, "not aligned"),
        ("messages: result", local, "not aligned"),
        ("messages: content", local, "out of bounds"),
        ("properties: kind", properties, "unexpected discriminant: 3"),
        ("properties: scope", properties, "unexpected discriminant: 2"),
        ("properties: text", properties, "utf-8"),
        ("view: tag", view, "invalid"),
        ("view: content", view, "out of bounds"),
        ("invariant: tag", invariant, "invalid"),
        ("invariant: text", invariant, "utf-8"),
    ];
    for (way, call, words) in cases {
        is(&fault(&sandbox, &fixtures::malformed(way), call), FaultKind::Malformed, words);
    }
    for (way, words) in [("init: tag", "invalid"), ("init: text", "utf-8"), ("init: result", "out of bounds")] {
        let plugin = Plugin::load(&sandbox, &fixtures::malformed(way)).expect("a plugin");
        let fault = run(&mut *plugin.machine().expect("an instance"), init(0)).expect_err("a fault");
        is(&fault, FaultKind::Malformed, words);
        lives_on(&sandbox);
    }
    is(&fault(&sandbox, &fixtures::malformed_string(), events), FaultKind::Malformed, "utf-8");
    is(&fault(&sandbox, &fixtures::malformed_enum(), events), FaultKind::Malformed, "unexpected discriminant: 9");
    is(&fault(&sandbox, &fixtures::wrong_node(), local), FaultKind::Malformed, "node 7 of a cluster of 2");
    is(&fault(&sandbox, &fixtures::logs_malformed_text(), local), FaultKind::Malformed, "utf-8");
}

// Freedoms of the component model.

#[test]
fn room_for_arguments_that_is_none_is_a_finding() {
    let sandbox = sandbox(|limits| limits.fuel_per_call = 1_000_000);
    for (way, kind, words) in [
        ("out of bounds", FaultKind::Malformed, "beyond end of memory"),
        ("at the end of the address space", FaultKind::Malformed, "beyond end of memory"),
        ("never", FaultKind::Divergence, "does not end within 1000000 units"),
        ("trap", FaultKind::Trap, "unreachable"),
        ("choose", FaultKind::Trap, "cannot leave component instance"),
        ("log", FaultKind::Trap, "cannot leave component instance"),
    ] {
        let plugin = Plugin::load(&sandbox, &fixtures::reallocates(way)).expect("a plugin");
        let mut machine = plugin.machine().expect("an instance");
        let input = Input::Init { node: 0, nodes: 2, config: "a=b\n", durable: None };
        let fault = machine.handle(input, &[], &mut Effects::default()).expect_err("a fault");
        is(&fault, kind, words);
        lives_on(&sandbox);
    }
}

/// Bytes that the host writes for the guest are part of the state like all others, wherever the guest wants them.
#[test]
fn room_for_arguments_in_odd_places_is_captured() {
    let sandbox = sandbox(|_| {});
    for way in ["misaligned", "over its own state", "in new memory"] {
        let plugin = Plugin::load(&sandbox, &fixtures::reallocates(way)).expect("a plugin");
        let mut machine = plugin.machine().expect("an instance");
        run(&mut *machine, init(0)).expect("init is fine");
        let before = machine.capture();
        let state = machine.serialize().expect("fine");
        message(&mut *machine).expect("fine");
        let (after, changed) = (machine.capture(), machine.serialize().expect("fine"));
        assert_eq!(changed != state, way == "over its own state");
        for (snapshot, expected) in [(&before, &state), (&after, &changed), (&before, &state)] {
            machine.restore(Some(snapshot)).expect("an instance");
            assert_eq!(machine.serialize().expect("fine"), *expected, "{way}");
        }
    }
    lives_on(&sandbox);
}

#[test]
fn what_a_guest_does_after_its_result_is_limited_too() {
    let sandbox = sandbox(|limits| limits.fuel_per_call = 1_000_000);
    for (what, kind, words) in [
        ("trap", FaultKind::Trap, "unreachable"),
        ("loop", FaultKind::Divergence, "does not end within 1000000 units"),
        ("choose", FaultKind::Trap, "cannot leave component instance"),
        ("log", FaultKind::Trap, "cannot leave component instance"),
    ] {
        is(&fault(&sandbox, &fixtures::afterwards(what), serialize), kind, words);
    }
    for what in ["nothing", "change"] {
        let plugin = Plugin::load(&sandbox, &fixtures::afterwards(what)).expect("a plugin");
        let mut machine = plugin.machine().expect("an instance");
        run(&mut *machine, init(0)).expect("init is fine");
        let state = machine.capture();
        let first = machine.serialize().expect("fine");
        assert_eq!(machine.serialize().expect("fine") != first, what == "change");
        machine.restore(Some(&state)).expect("an instance");
        assert_eq!(machine.serialize().expect("fine"), first, "restoring undoes it");
    }
}

#[test]
fn a_component_cannot_enter_itself() {
    let fault = fault(&sandbox(|_| {}), &fixtures::enters_itself(), local);
    is(&fault, FaultKind::Trap, "cannot enter component instance");
}

#[test]
fn choices_out_of_turn_are_findings() {
    let sandbox = sandbox(|_| {});
    is(&fault(&sandbox, &fixtures::chooses_from_nothing(), local), FaultKind::Choose, "with no alternative");
    let words = "more often than the limit of 64 in one handler; `--limit choices=N` allows more";
    is(&fault(&sandbox, &fixtures::chooses_for_ever(), local), FaultKind::Choose, words);
    let words = "more than the limit of 4096; `--limit alternatives=N` allows more";
    is(&fault(&sandbox, &fixtures::chooses_from_too_many(), local), FaultKind::Choose, words);
    is(&fault(&sandbox, &fixtures::chooses_in_serialize(), serialize), FaultKind::Choose, "in `serialize`");
}

// Optional functions.

#[test]
fn functions_that_may_be_left_out_are_limited_like_the_others() {
    let sandbox = sandbox(|limits| {
        limits.fuel_per_call = 1_000_000;
        limits.output_bytes = 1 << 20;
    });
    let call = |machine: &mut dyn Machine, function: &str| -> Result<(), Fault> {
        let messages = [(0, vec![1]), (1, vec![2])];
        match function {
            "is-used" => machine.takes_quorums().map(drop),
            "role-of" => machine.role(1, &[7]).map(drop),
            "handle-quorum" => run(machine, Input::Quorum { name: "n", messages: &messages }).map(drop),
            "handle-transport-error" => run(machine, Input::TransportError { peer: 1 }).map(drop),
            "is-done" => machine.is_done().map(drop),
            "persist" => machine.persist().map(drop),
            "describe" => machine.describe_state().map(drop),
            "describe-view" => machine.describe_view(0, &[7]).map(drop),
            "describe-local" => machine.describe_local(&go()).map(drop),
            "node-name" => machine.node_name().map(drop),
            "handle-local" => local(machine),
            other => panic!("no function `{other}`"),
        }
    };
    // Faults that can happen anywhere; handlers may choose and call the host, so those ways end in the trap after it.
    let anywhere = [
        "is-used",
        "role-of",
        "handle-quorum",
        "handle-transport-error",
        "is-done",
        "persist",
        "describe",
        "describe-view",
        "describe-local",
        "node-name",
    ];
    for function in anywhere {
        let is_handler = function.starts_with("handle");
        for (way, kind, words) in [
            ("trap", FaultKind::Trap, "unreachable"),
            ("loop", FaultKind::Divergence, "does not end within 1000000 units"),
            ("choose", if is_handler { FaultKind::Trap } else { FaultKind::Choose }, ""),
            ("ask", if is_handler { FaultKind::Trap } else { FaultKind::Choose }, ""),
        ] {
            let bytes = fixtures::optional(&format!("{function}: {way}"));
            is(&fault(&sandbox, &bytes, |machine| call(machine, function)), kind, words);
        }
    }
    let malformed = [
        ("role-of: result", "out of bounds"),
        ("role-of: tag", "discriminant: 3"),
        ("role-of: text", "utf-8"),
        ("role-of: name", "out of bounds"),
        ("role-of: no messages", "has a quorum `n` of no messages"),
        ("handle-quorum: result", "out of bounds"),
        ("handle-quorum: tag", "invalid"),
        ("handle-quorum: list", "out of bounds"),
        ("handle-transport-error: result", "out of bounds"),
        ("handle-transport-error: node", "node 7 of a cluster of 2"),
        ("persist: result", "out of bounds"),
        ("persist: tag", "invalid"),
        ("persist: list", "out of bounds"),
        ("describe: result", "out of bounds"),
        ("describe: text", "utf-8"),
        ("describe-view: result", "out of bounds"),
        ("describe-view: text", "utf-8"),
        ("node-name: result", "out of bounds"),
        ("node-name: tag", "invalid"),
        ("node-name: list", "out of bounds"),
        ("node-name: text", "utf-8"),
        ("handle-local: ask about node 7", "calls `can-send` for node 7 of a cluster of 2"),
    ];
    for (what, words) in malformed {
        let (function, _) = what.split_once(": ").expect("a function and a way");
        is(&fault(&sandbox, &fixtures::optional(what), |machine| call(machine, function)), FaultKind::Malformed, words);
    }
    for (what, kind, words) in [
        ("role-of: long name", FaultKind::OutputLimit, "`--limit text=N` allows more"),
        ("persist: huge", FaultKind::OutputLimit, "`--limit output=N` allows more"),
        ("describe-view: huge", FaultKind::OutputLimit, "`--limit output=N` allows more"),
        ("node-name: huge", FaultKind::OutputLimit, "`--limit output=N` allows more"),
        ("describe: huge", FaultKind::OutputLimit, "`--limit output=N` allows more"),
        ("handle-local: ask for ever", FaultKind::Choose, "`--limit choices=N` allows more"),
    ] {
        let (function, _) = what.split_once(": ").expect("a function and a way");
        is(&fault(&sandbox, &fixtures::optional(what), |machine| call(machine, function)), kind, words);
    }
}

/// Querying the role of a message must not change the state, and does not, whatever the guest does.
#[test]
fn asking_for_a_role_leaves_no_trace() {
    let sandbox = sandbox(|_| {});
    let plugin = Plugin::load(&sandbox, &fixtures::optional("role-of: change")).expect("a plugin");
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    let (state, before) = (machine.capture(), machine.serialize().expect("fine"));
    machine.role(1, &[7]).expect("a role");
    machine.restore(Some(&state)).expect("an instance");
    assert_eq!(machine.serialize().expect("fine"), before);
    lives_on(&sandbox);
}

// State.

/// A guest that counts its calls answers the same after `restore`, because its counter is restored as well.
#[test]
fn a_guest_cannot_remember_what_was_undone() {
    let sandbox = sandbox(|_| {});
    let plugin = Plugin::load(&sandbox, &fixtures::never_the_same()).expect("a plugin");
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    let state = machine.capture();
    let mut answers = Vec::new();
    for _ in 0..3 {
        machine.restore(Some(&state)).expect("an instance");
        message(&mut *machine).expect("fine");
        answers.push((machine.serialize().expect("fine"), machine.view(0).expect("fine")));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[1], answers[2]);
    assert_ne!(machine.serialize().expect("fine"), answers[0].0, "without `restore` it counts on");
    lives_on(&sandbox);
}

#[test]
fn state_that_snapshots_cannot_hold_is_refused_and_no_finding() {
    let sandbox = sandbox(|_| {});
    for bytes in [fixtures::writes_table(), fixtures::drops_data(), fixtures::writes_reference_global()] {
        assert!(refusal(&sandbox, &bytes).contains("after the start (`"));
    }
    let late = fault(&sandbox, &fixtures::writes_table_by_table(), local);
    is(&late, FaultKind::Platform, "after start-up, whose effect snapshots cannot hold");
    assert!(refusal(&sandbox, &fixtures::memory64()).contains("64-bit memories"));
}

/// Faults drop their store, so memory could leak with each of them.
#[test]
fn many_faults_leave_nothing_behind() {
    let sandbox = sandbox(|_| {});
    let plugin = Plugin::load(&sandbox, &fixtures::traps()).expect("a plugin");
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    let state = machine.capture();
    let mut mappings = Vec::new();
    for _ in 0..4 {
        for _ in 0..50 {
            local(&mut *machine).expect_err("a fault");
            machine.restore(Some(&state)).expect("an instance");
        }
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        // Reservations of 4 GiB, as for memories: other tests in this process have some as well.
        mappings.push(maps.lines().count());
    }
    // 200 stores that stay would be 400 mappings or more.
    assert!(mappings[3] < mappings[0] + 200, "{mappings:?}");
}

#[test]
fn small_limits_do_not_break_the_host() {
    let sandbox = sandbox(|limits| limits.fuel_per_call = 10_000);
    let bytes = Guest { memory: "1 8".into(), ..Guest::default() }.component();
    let plugin = Plugin::load(&sandbox, &bytes).expect("a plugin");
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    let shared = Plugin::load(&sandbox, &fixtures::shared_globals()).expect("a plugin");
    let mut machine = shared.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    let state = machine.capture();
    machine.restore(Some(&state)).expect("an instance");
}
