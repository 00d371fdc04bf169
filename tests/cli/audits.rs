//! Audits: each finds a guest that breaks the contract, and none complains about a plugin that keeps it.

use host_model::audit::{Audited, AuditedFactory, Mode};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::trace::start;
use host_sandbox::fixtures::{self, Guest};
use host_sandbox::{Plugin, Sabotage, Sandbox, SandboxConfig};
use host_search::kernel::{Search, SearchBounds, Unmonitored};
use serde_json::{Value, json};

use super::Place;

/// Runs a guest under a full audit; it breaks this promise in this function. Without an audit it is fine.
#[track_caller]
fn breaks(guest: &Guest, promise: &str, function: &str, words: &[&str]) {
    component_breaks(&guest.component(), promise, function, words);
}

/// The same of a component.
#[track_caller]
fn component_breaks(guest: &[u8], promise: &str, function: &str, words: &[&str]) {
    let place = Place::new();
    place.put("guest.wasm", guest);
    for algo in ["bdfs", "unfold", "lmc"] {
        let run = ["run", "guest.wasm", "--nodes", "1", "--algo", algo];
        let result = place.host(&[&run[..], &["--audit", "off", "--json"]].concat()).exits(0).json();
        assert_eq!((&result["result"], &result["audit"]), (&json!("ok"), &Value::Null));
        let result = place.host(&[&run[..], &["--audit", "full", "--json"]].concat()).exits(14).json();
        let broken = &result["audit"]["broken"][0];
        assert_eq!((&result["result"], &broken["promise"]), (&json!("error"), &json!(promise)), "{algo}: {result:#}");
        assert_eq!(broken["function"], function, "{algo}: {result:#}");
        let ran = place.host(&[&run[..], &["--audit", "full"]].concat()).exits(14);
        assert!(ran.out.starts_with("error: the plugin breaks its contract: "), "{ran:?}");
        for word in words {
            assert!(ran.out.contains(word), "no {word:?} in {}", ran.out);
        }
        // The result does not depend on the number of workers.
        let other = place.host(&[&run[..], &["--audit", "full", "--json", "--workers", "2"]].concat()).exits(14).json();
        assert_eq!(other["audit"], result["audit"], "{algo}");
    }
}

/// Receives 1 and 2 in any order and remembers the last one at 1044, which `serialize` leaves out; then `go` can happen.
fn remembers(guest: Guest) -> Guest {
    Guest {
        init: "
            (i32.store (i32.const 2204) (i32.const 2240)) (i32.store (i32.const 2208) (i32.const 1))
            (i32.store (i32.const 2216) (i32.const 2241)) (i32.store (i32.const 2220) (i32.const 1))
            (i32.store8 (i32.const 2240) (i32.const 1)) (i32.store8 (i32.const 2241) (i32.const 2))
            (call $tagged (i32.const 0) (i32.const 2200) (i32.const 2))"
            .into(),
        message: "
            (i32.store8 (i32.const 1044) (i32.load8_u (local.get $at)))
            (i32.store8 (i32.const 1040) (i32.add (i32.load8_u (i32.const 1040)) (i32.const 1)))
            (call $list (i32.const 0) (i32.const 0))"
            .into(),
        events: format!(
            "(if (result i32) (i32.eq (i32.load8_u (i32.const 1040)) (i32.const 2))
               (then {}) (else (call $list (i32.const 0) (i32.const 0))))",
            fixtures::EVENT_GO
        ),
        serialize: "(call $list (i32.const 1040) (i32.const 1))".into(),
        ..guest
    }
}

/// It sends the last message.
pub(super) fn leaves_state_out() -> Guest {
    remembers(Guest {
        local: "
            (i32.store8 (i32.const 1040) (i32.const 3))
            (call $send (i32.const 0) (i32.load8_u (i32.const 1044)))"
            .into(),
        ..Guest::default()
    })
}

#[test]
fn state_that_serialize_leaves_out_is_found() {
    let guest = leaves_state_out();
    // The byte that is left out lies at 1044.
    let words = [
        "with the bytes 02, on the local event `go`",
        "sends 01 to node 0",
        "sends 02 to node 0",
        "leaves out",
        "differ at    address 0x414\n",
        "bytes there  01 00 00 00 00 00 00 00 in the first, 02 00 00 00 00 00 00 00 in the second",
    ];
    breaks(&guest, "equal bytes, equal behaviour", "handle-local", &words);
}

/// A guest that describes itself is shown in its words: states, messages and local events. Answers of `serialize` that differ are bytes.
#[test]
fn what_describes_itself_is_shown_in_words() {
    let described = |guest| fixtures::described(guest, "{\"said\":\"in words\"}");
    let said = "{\"said\":\"in words\"}";
    let words = [
        &*format!("in two states with the bytes {said}, on the local event `go` ({said})"),
        &format!("sends {said} to node 0, ends in the state {said}"),
    ];
    component_breaks(&described(leaves_state_out()), "equal bytes, equal behaviour", "handle-local", &words);
    let reads_more = Guest {
        local: "(i32.store8 (i32.const 1040) (i32.const 1)) (call $list (i32.const 0) (i32.const 0))".into(),
        invariant: "(call $tagged (i32.load8_u (i32.const 1040)) (i32.const 512) (i32.const 5))".into(),
        ..claims()
    };
    let at = format!("and in the state {said} of node 0");
    component_breaks(&described(reads_more), "an invariant reads its views alone", "invariant", &[&at]);
    let writes = "(i32.store8 (i32.const 1040) (i32.const 1))";
    let view = Guest { view: format!("{writes} {}", claims().view), ..claims() };
    let words =
        [&*format!("called twice in the state {said}"), &format!("of property 0: {said}; the state is the bytes 00")];
    component_breaks(&described(view), "what reads changes nothing", "view", &words);
}

/// The payload of the event differs late in many bytes.
#[test]
fn a_long_payload_of_state_that_serialize_leaves_out_is_found() {
    let guest = remembers(Guest {
        local: "(i32.store8 (i32.const 1040) (i32.const 3)) (call $list (i32.const 0) (i32.const 0))".into(),
        ..Guest::default()
    });
    let events = guest
        .events
        .replace("(i32.const 2108) (i32.const 0)", "(i32.const 2108) (i32.const 1000)")
        .replace("(i32.const 2112) (i32.const 0)", "(i32.const 2112) (i32.const 48)");
    assert_ne!(events, guest.events);
    let guest = Guest { events, ..guest };
    breaks(&guest, "equal bytes, equal behaviour", "local-events", &["lists `go`", "(48 bytes)"]);
}

/// The function in which a call runs out of fuel is no behaviour.
#[test]
fn endless_loops_are_the_same_wherever_they_are_ended() {
    let guest = remembers(Guest {
        fields: "(func $one (loop (br 0))) (func $two (loop (br 0)))".into(),
        local: "
            (if (i32.eq (i32.load8_u (i32.const 1044)) (i32.const 1)) (then (call $one)) (else (call $two)))
            (call $list (i32.const 0) (i32.const 0))"
            .into(),
        ..Guest::default()
    });
    let place = Place::new();
    place.put("guest.wasm", guest.component());
    for algo in ["bdfs", "unfold", "lmc"] {
        let run = ["run", "guest.wasm", "--nodes", "1", "--algo", algo, "--audit", "full", "--json"];
        let result = place.host(&run).exits(14).json();
        let violation = &result["violations"][0];
        let words = violation["message"].as_str().expect("it has a message");
        assert!(words.contains("in `one`") || words.contains("in `two`"), "{algo}: {words}");
        assert_eq!((&violation["kind"], &violation["confirmed"]), (&json!("divergence"), &json!(true)), "{algo}");
        let audit = &result["audit"];
        assert!(audit["ambiguous_states"].as_u64() > Some(0), "{algo}: {audit:#}");
        assert_eq!(audit["broken"], json!([]), "{algo}: {audit:#}");
    }
}

/// The invariant reads the node's memory: before `init` it holds.
#[test]
fn an_invariant_that_reads_more_than_its_views_is_found() {
    let guest = Guest {
        local: "(i32.store8 (i32.const 1040) (i32.const 1)) (call $list (i32.const 0) (i32.const 0))".into(),
        invariant: "(call $tagged (i32.load8_u (i32.const 1040)) (i32.const 512) (i32.const 5))".into(),
        ..claims()
    };
    let words = ["property `claim`", "it holds", "it does not hold: claim", "`view` must contain"];
    breaks(&guest, "an invariant reads its views alone", "invariant", &words);
}

/// A guest with the property `claim` about node 0, which holds.
fn claims() -> Guest {
    Guest {
        fields: r#"(data (i32.const 512) "claim")"#.into(),
        // Kind `always`, scope `node`.
        properties: "
            (i32.store (i32.const 2192) (i32.const 512)) (i32.store (i32.const 2196) (i32.const 5))
            (i32.store8 (i32.const 2200) (i32.const 0)) (i32.store8 (i32.const 2201) (i32.const 0))
            (call $list (i32.const 2192) (i32.const 1))"
            .into(),
        view: "(call $tagged (i32.const 1) (i32.const 512) (i32.const 1))".into(),
        ..Guest::default()
    }
}

/// Each function that only reads, and on which a search relies, sets a byte of the state that it leaves.
#[test]
fn a_function_that_reads_and_writes_is_found() {
    let writes = "(i32.store8 (i32.const 1040) (i32.const 1))";
    let promise = "what reads changes nothing";
    // When the host has its result, so that two states exist.
    let after =
        |function: &str| format!(r#"(func (export "cabi_post_host:protocol/{function}") (param i32) {writes})"#);
    let serialize = Guest { fields: after("node@0.1.0#serialize"), ..Guest::default() };
    breaks(&serialize, promise, "serialize", &["called twice in the state 00", "move what it changes into a handler"]);
    let events = Guest { events: format!("{writes} {}", fixtures::EVENT_GO), ..Guest::default() };
    breaks(&events, promise, "local-events", &["lists `go`", "; the state is the bytes 00"]);
    let view = Guest { view: format!("{writes} {}", claims().view), ..claims() };
    breaks(&view, promise, "view", &["of property 0: 63"]);
    for (function, words) in [
        ("persist", "nothing; the state is"),
        ("is-done", "true; the state is"),
        ("role-of", "the message is taken alone; the state is"),
    ] {
        component_breaks(&fixtures::optional(&format!("{function}: write")), promise, function, &[words]);
    }
}

/// Its counters grow at every call: in each state, and so for ever. A depth of 2 is enough, and so is a sample.
#[test]
fn a_guest_that_answers_differently_each_time_is_found() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::never_the_same());
    for algo in ["auto", "bdfs", "unfold", "walk"] {
        for mode in ["sampled", "full"] {
            let run = ["run", "guest.wasm", "--nodes", "2", "--depth", "2", "--algo", algo, "--audit", mode, "--json"];
            let result = place.host(&run).exits(14).json();
            let broken = &result["audit"]["broken"][0];
            let promise = (&broken["promise"], &broken["function"]);
            assert_eq!(promise, (&json!("what reads changes nothing"), &json!("serialize")), "{algo} {mode}");
            assert_eq!(result["result"], "error", "{algo} {mode}");
        }
    }
}

/// Each `go` fills this many more bytes and changes nothing else.
fn fills(bytes: u32) -> Guest {
    Guest {
        memory: "160".into(),
        local: format!(
            "(i32.store (i32.const 1100) (i32.add (i32.load (i32.const 1100)) (i32.const {bytes})))
            (memory.fill (i32.add (i32.load (i32.const 1100)) (i32.const 20000)) (i32.const 1) (i32.const {bytes}))
            (call $list (i32.const 0) (i32.const 0))"
        ),
        ..Guest::default()
    }
}

#[test]
fn memory_that_grows_without_end_is_found() {
    breaks(
        &fills(1024),
        "memory does not grow without end",
        "handle-local",
        &["times, in a state with the same bytes", "allocates and never frees"],
    );
}

/// A sample repeats some handlers as well.
#[test]
fn memory_that_grows_without_end_is_found_in_a_sample() {
    let place = Place::new();
    place.put("guest.wasm", fills(512).component());
    let result = place.host(&["run", "guest.wasm", "--nodes", "1", "--json"]).exits(14).json();
    assert_eq!(result["audit"]["broken"][0]["promise"], "memory does not grow without end", "{result:#}");
}

/// A loss of 128 bytes per event is no finding: the default limit has room for a million events.
#[test]
fn memory_that_grows_slowly_is_no_finding() {
    let place = Place::new();
    place.put("guest.wasm", fills(128).component());
    let run = ["run", "guest.wasm", "--nodes", "2", "--algo", "bdfs", "--audit", "full"];
    assert!(place.host(&run).exits(0).out.starts_with("ok: "));
}

/// A sandbox that does not restore globals stands for any other cause that makes a handler depend on its history.
#[test]
fn a_handler_that_does_something_else_the_second_time_is_found() {
    let audit = |sabotage| {
        let config = SandboxConfig { sabotage, ..SandboxConfig::default() };
        let sandbox = Sandbox::new(config, None).expect("an engine");
        let plugin = Plugin::load(&sandbox, &fixtures::global_counter()).expect("a plugin");
        audited(&plugin, Mode::Full)
    };
    assert_eq!(audit(Sabotage::None).broken, []);
    let broken = audit(Sabotage::SkipGlobals).broken;
    assert!(broken.iter().any(|broken| broken.promise == "the same again"), "{broken:?}");
}

/// Searches to a depth of 6 under an audit.
fn audited(plugin: &Plugin, mode: Mode) -> Audited {
    let machines = AuditedFactory::new(plugin, mode);
    let lts = Lts::new(&machines, Scenario::new(1)).expect("it lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("an instance")).expect("it starts");
    let limits = SearchBounds { depth: Some(6), ..SearchBounds::default() };
    let search =
        Search { lts: &lts, starts: &starts, bounds: limits, monitor: &Unmonitored, collect_system_states: false };
    host_search::strategy::bdfs::run(&search).expect("no host fault");
    machines.check(lts.properties()).expect("no host fault")
}

#[test]
fn plugins_that_keep_their_promises_pass_a_full_audit() {
    let place = Place::new();
    for plugin in ["fanout", "paxos", "query", "tree"] {
        for algo in ["bdfs", "lmc", "unfold"] {
            let result = place.run_json(plugin, &["--algo", algo, "--audit", "full", "--safety-only"]);
            assert_eq!(
                (&result["result"], &result["audit"]["broken"]),
                (&json!("ok"), &json!([])),
                "{algo} on {plugin}"
            );
            assert!(result["audit"]["states"].as_u64().is_some_and(|states| states > 3), "{algo} on {plugin}");
        }
    }
    // Paths of different lengths lead to equal states of Paxos, and its allocator notices; the protocol does not.
    let result = place.run_json("paxos", &["--audit", "full"]);
    assert!(result["audit"]["ambiguous_states"].as_u64().is_some_and(|states| states > 10), "{:#}", result["audit"]);
}

/// Paxos has 264 local states under LMC, fanout with ten nodes 20: two per node.
#[test]
fn samples_are_small_and_always_the_same() {
    let place = Place::new();
    let audit = |plugin: &str, options: &[&str]| place.run_json(plugin, options)["audit"].clone();
    let sampled = audit("paxos", &["--algo", "lmc"]);
    assert_eq!((&sampled, &sampled["states"]), (&audit("paxos", &["--algo", "lmc", "--workers", "2"]), &json!(128)));
    assert_eq!(audit("fanout", &["--nodes", "10"])["states"], 20);
}
