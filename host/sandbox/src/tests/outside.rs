//! Specifications from outside: they remember nothing; their failures; and files that are none.

use std::sync::Arc;

use host_model::contract::{Fault, FaultKind, MachineError, Property, PropertyKind, PropertyScope, Stop, Stopped};

use crate::fixtures::{self, Stated};
use crate::{GuestLimits, LoadError, Plugin, Sandbox, SandboxConfig, Spec};

use super::sandbox;

fn load(bytes: &[u8]) -> Result<Spec, LoadError> {
    Spec::load_watched(&sandbox(), bytes, &mut |_| ())
}

fn spec(stated: &Stated) -> Spec {
    load(&stated.component()).expect("a specification")
}

fn view(spec: &Spec, state: &str) -> Result<Option<Vec<u8>>, Fault> {
    spec.view(0, state).expect("no error of the host")
}

fn invariant(spec: &Spec) -> Result<Result<(), String>, Fault> {
    spec.invariant(0, &[Some(b"a"), None]).expect("no error of the host")
}

#[test]
fn a_specification_is_asked_about_what_nodes_show() {
    let spec = spec(&Stated::default());
    let stated = Property { name: "stated".into(), kind: PropertyKind::Always, scope: PropertyScope::System };
    assert_eq!(spec.properties(), [stated]);
    assert_eq!(view(&spec, "{\"a\":1}"), Ok(Some(b"{\"a\":1}".to_vec())));
    assert_eq!(invariant(&spec), Ok(Ok(())));
}

/// It counts its calls in a global and in memory, and would report the count.
#[test]
fn nothing_is_remembered_from_one_call_to_the_next() {
    let spec = load(&fixtures::stated_with_memory()).expect("a specification");
    for _ in 0..3 {
        assert_eq!(view(&spec, "x"), Ok(Some(vec![1, 0, 0, 0])));
        assert_eq!(invariant(&spec), Ok(Ok(())));
    }
}

#[test]
fn each_way_to_fail_is_a_fault_and_the_next_call_is_as_the_first() {
    use FaultKind::{Choose, Divergence, Malformed, Trap};
    let choose = r#"(import "host:protocol/environment@0.1.0" "choose" (func $choose (param i32) (result i32)))"#;
    let explained = "(call $log (i32.const 3000) (i32.const 6)) unreachable";
    let cases = [
        ("", "unreachable", Trap, "trapped: wasm `unreachable` instruction executed"),
        ("", explained, Trap, "trapped: wasm `unreachable` instruction executed"),
        ("", "(loop (br 0)) unreachable", Divergence, "does not end within 100000 units of fuel"),
        ("", "(call $tagged (i32.const 1) (i32.const -16) (i32.const 64))", Malformed, "gives a malformed value"),
        ("", "(call $tagged (i32.const 7) (i32.const 0) (i32.const 0))", Malformed, "gives a malformed value"),
        (choose, "(call $choose (i32.const 2))", Choose, "only handlers may choose"),
    ];
    let limits = GuestLimits { fuel_per_call: 100_000, ..GuestLimits::default() };
    let sandbox = Sandbox::new(SandboxConfig { limits, ..SandboxConfig::default() }, None).expect("an engine");
    for (imports, body, kind, words) in cases {
        for in_view in [true, false] {
            let base = Stated { imports, ..Stated::default() };
            let stated = if in_view { Stated { view: body, ..base } } else { Stated { invariant: body, ..base } };
            let spec = Spec::load_watched(&sandbox, &stated.component(), &mut |_| ()).expect("a specification");
            for _ in 0..2 {
                let (fault, name) = match in_view {
                    true => (view(&spec, "x").expect_err(body), "view"),
                    false => (invariant(&spec).expect_err(body), "invariant"),
                };
                assert_eq!(fault.kind, kind, "{fault}");
                assert!(fault.message.contains(words) && fault.message.contains(&format!("`{name}`")), "{fault}");
                let other = if in_view { invariant(&spec).is_ok() } else { view(&spec, "x").is_ok() };
                assert!(other, "{body}");
            }
        }
    }
    let not_text = "(call $tagged (i32.const 1) (i32.const 3200) (i32.const 2))";
    let fault = invariant(&spec(&Stated { invariant: not_text, ..Stated::default() })).expect_err("no UTF-8");
    assert_eq!((fault.kind, fault.message.contains("utf-8")), (Malformed, true), "{fault}");
}

#[test]
fn plugins_and_specifications_are_distinguished() {
    let error = |bytes: &[u8]| load(bytes).expect_err("no specification").to_string();
    let stated = Stated::default().component();
    assert!(error(&fixtures::ping_pong()).starts_with("the component is a plugin, and no spec"));
    assert!(error(&fixtures::no_exports()).contains("does not export `host:protocol/outside@0.1.0`"));
    assert!(error(&fixtures::no_exports()).contains("the world `host:protocol/spec`"));
    assert!(error(&fixtures::imports_wasi()).contains("imports `wasi:clocks/monotonic-clock@0.2.0`"));
    let as_plugin = Plugin::load(&sandbox(), &stated).expect_err("no plugin");
    assert_eq!(as_plugin, LoadError::IsSpec);
}

struct Interrupted;

impl Stop for Interrupted {
    fn reason(&self) -> Option<Stopped> {
        Some(Stopped::Interrupted)
    }
}

/// During loading nothing takes long enough to be stopped.
#[test]
fn a_call_that_is_to_stop_is_not_made() {
    let sandbox = Sandbox::stoppable(SandboxConfig::default(), None, Arc::new(Interrupted)).expect("an engine");
    let component = Stated { view: "unreachable", ..Stated::default() }.component();
    match Spec::load_watched(&sandbox, &component, &mut |_| ()) {
        Ok(spec) => assert_eq!(spec.view(0, "x"), Err(MachineError::Stopped(Stopped::Interrupted))),
        Err(error) => assert_eq!(error, LoadError::Stopped(Stopped::Interrupted), "compiling took a while"),
    }
}
