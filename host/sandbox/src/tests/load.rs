//! What can be loaded, and what is said about the rest.

use host_model::machine::{Input, MachineFactory};

use crate::fixtures;
use crate::{LoadError, Plugin, Sandbox, SandboxConfig};

use super::{go, init, plugin, run, sandbox};

fn error(bytes: &[u8]) -> String {
    Plugin::load(&sandbox(), bytes).expect_err("no plugin").to_string()
}

#[test]
fn each_file_that_is_no_plugin_is_named_for_what_it_is() {
    let cases: [(&str, Vec<u8>, &str); 23] = [
        ("empty", fixtures::empty_file(), "the file is empty"),
        ("text", fixtures::text_file(), "is text, not webassembly"),
        ("elf", fixtures::not_wasm(), "is not webassembly"),
        ("truncated", fixtures::truncated(), "is cut off"),
        ("truncated module", fixtures::truncated_module(), "is cut off"),
        ("three bytes", b"\0as".to_vec(), "is cut off"),
        ("core module", fixtures::core_module(), "is a core module, not a component; build it"),
        ("no exports", fixtures::no_exports(), "does not export `host:protocol/node@0.1.0`"),
        ("wasi", fixtures::imports_wasi(), "imports `wasi:clocks/monotonic-clock@0.2.0`"),
        ("unknown import", fixtures::imports_unknown(), "imports `acme:tools/dice@1.0.0`"),
        ("version", fixtures::wrong_version(), "@0.2.0`, this host speaks `host:protocol/"),
        ("wrong type", fixtures::wrong_type(), "`host:protocol/node@0.1.0#serialize` has another type"),
        ("missing function", fixtures::missing_function(), "does not export `host:protocol/node@0.1.0#serialize`"),
        ("start traps", fixtures::traps_at_start(), "fails while it starts: `instantiation` trapped"),
        ("start loops", fixtures::loops_at_start(), "does not end within 200000000 units of fuel"),
        ("start chooses", fixtures::chooses_at_start(), "calls `choose` while it starts"),
        ("start bomb", fixtures::memory_bomb_at_start(), "wants more memory than the limit"),
        ("huge memory", fixtures::huge_memory(), "wants more memory than the limit"),
        ("huge table", fixtures::huge_table(), "wants tables of more than the limit"),
        ("64-bit memory", fixtures::memory64(), "64-bit memory"),
        ("nested module", fixtures::nested_module(), "does not export `host:protocol/node@0.1.0#init`"),
        ("nested foreign module", fixtures::nested_foreign_module(), "gets core modules or components from outside"),
        ("handles", fixtures::makes_handles(), "it makes handles of resources"),
    ];
    for (name, bytes, expected) in cases {
        let error = error(&bytes);
        assert!(error.contains(expected), "{name}: {error}");
        assert!(error.starts_with(char::is_lowercase), "{name}: {error}");
    }
}

#[test]
fn a_random_cut_or_flip_never_panics() {
    let bytes = fixtures::ping_pong();
    let sandbox = Sandbox::new(SandboxConfig::default(), None).expect("an engine");
    for step in 1..60 {
        let cut = bytes.len() * step / 60;
        assert!(Plugin::load(&sandbox, &bytes[..cut]).is_err(), "cut at {cut}");
        let mut flipped = bytes.clone();
        flipped[cut] ^= 1 << (step % 8);
        // Some flips are harmless; none may panic.
        let _ = Plugin::load(&sandbox, &flipped);
    }
}

#[test]
fn a_plugin_says_what_it_consists_of() {
    let plugin = plugin(&fixtures::global_counter());
    assert!(plugin.digest().starts_with("blake3:"));
    assert_eq!(plugin.digest().len(), 7 + 64);
    assert_eq!(plugin.about(), None);
    let inspection = plugin.inspect();
    assert_eq!(inspection.imports, ["host:protocol/environment@0.1.0", "host:protocol/types@0.1.0"]);
    assert!(inspection.optional.is_empty());
    let globals: Vec<_> =
        inspection.modules.iter().flat_map(|module| &module.globals).map(|g| (g.ty.as_str(), g.captured)).collect();
    assert_eq!(globals, [("i32", true), ("i64", true), ("f64", true)]);
}

/// Only the global that a start function alone sets is no state, although others could reach it. The walks of the tests of snapshots
/// would notice if one of the others were left out.
#[test]
fn globals_that_are_set_by_a_start_function_alone_are_no_state() {
    let plugin = plugin(&fixtures::linked_globals());
    let captured: Vec<bool> =
        plugin.inspect().modules.iter().flat_map(|module| &module.globals).map(|global| global.captured).collect();
    // In the order of `linked_globals`: early, direct, passed, bagged, own.
    assert_eq!(captured, [false, true, true, true, true]);
    assert_eq!(plugin.inspect().shared_globals, 4);
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    let before = machine.serialize().expect("fine");
    assert_eq!(before, [&9_u32.to_le_bytes()[..], &[0; 20]].concat(), "what the start function did is there");
    let state = machine.capture();
    run(&mut *machine, Input::Message { src: 0, payload: &[] }).expect("fine");
    run(&mut *machine, Input::Message { src: 1, payload: &[] }).expect("fine");
    run(&mut *machine, Input::Local(&go())).expect("fine");
    let numbers = [9, 1, 2, 3, 0, 1].map(u32::to_le_bytes).concat();
    assert_eq!(machine.serialize().expect("fine"), numbers);
    machine.restore(Some(&state)).expect("an instance");
    assert_eq!(machine.serialize().expect("fine"), before);
}

#[test]
fn compiled_code_is_cached_and_a_damaged_entry_is_rebuilt() {
    let dir = tempfile::tempdir().expect("a directory");
    let load = || {
        let sandbox = Sandbox::new(SandboxConfig::default(), Some(dir.path().into())).expect("an engine");
        Plugin::load(&sandbox, &fixtures::ping_pong()).expect("a plugin").load_times().cached
    };
    assert!(!load());
    assert!(load());
    let entries: Vec<_> =
        std::fs::read_dir(dir.path()).expect("readable").map(|e| e.expect("an entry").path()).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    let mut file = std::fs::read(&entries[0]).expect("readable");
    let last = file.len() - 1;
    file[last] ^= 1;
    std::fs::write(&entries[0], file).expect("writable");
    assert!(!load(), "a damaged entry must not be used");
    assert!(load());
    std::fs::write(&entries[0], b"short").expect("writable");
    assert!(!load());
}

#[test]
fn a_bad_plugin_leaves_the_sandbox_usable() {
    let sandbox = sandbox();
    assert!(matches!(Plugin::load(&sandbox, &fixtures::loops_at_start()), Err(LoadError::Start { .. })));
    assert!(Plugin::load(&sandbox, &fixtures::ping_pong()).is_ok());
}
