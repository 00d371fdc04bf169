//! Files that load, and the errors for the others.

use host_model::contract::{Input, MachineFactory};

use crate::fixtures;
use crate::{LoadError, Plugin, Sandbox, SandboxConfig};

use super::cache::files;
use super::{go, init, plugin, run, sandbox};

fn error(bytes: &[u8]) -> String {
    Plugin::load(&sandbox(), bytes).expect_err("no plugin").to_string()
}

#[test]
fn each_file_that_is_no_plugin_is_named_for_what_it_is() {
    let cases: [(&str, Vec<u8>, &str); 26] = [
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
        ("64-bit memory", fixtures::memory64(), "uses 64-bit memories, which no plugin may"),
        (
            "table",
            fixtures::writes_table(),
            "(`table.set` in `host:protocol/node@0.1.0#handle-local`), which no plugin may",
        ),
        ("data", fixtures::drops_data(), "`data.drop` in "),
        ("reference", fixtures::writes_reference_global(), "`global.set of a reference` in "),
        ("nested module", fixtures::nested_module(), "does not export `host:protocol/node@0.1.0#init`"),
        ("nested foreign module", fixtures::nested_foreign_module(), "gets core modules or components from outside"),
        (
            "handles",
            fixtures::makes_handles(),
            "uses resources of the component model that the plugin makes, which no plugin may",
        ),
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

/// Only the global that no code but a start function sets is no state, although others could reach it. The walks of the tests of snapshots
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
    let entries = files(dir.path(), "cwasm");
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

/// Compiled code is machine code: it is read only from regular files that belong to this user alone.
#[test]
fn code_that_others_could_have_written_is_not_loaded() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().expect("a directory");
    let cache = dir.path().join("compiled");
    let load = || {
        let sandbox = Sandbox::new(SandboxConfig::default(), Some(cache.clone())).expect("an engine");
        Plugin::load(&sandbox, &fixtures::ping_pong()).expect("a plugin").load_times().cached
    };
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let set_mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    assert!(!load() && load());
    let [entry] = &files(&cache, "cwasm")[..] else { panic!("one component") };
    assert_eq!((mode(&cache), mode(entry)), (0o700, 0o600));

    // An entry or a folder that others can write to. The entry is replaced by one that only its owner can write.
    for others in [0o620, 0o602, 0o666] {
        set_mode(entry, others);
        assert!(!load(), "{others:o}");
        assert!(load() && mode(entry) == 0o600);
    }
    for others in [0o770, 0o703, 0o777] {
        set_mode(&cache, others);
        assert!(!load() && !load(), "{others:o}");
    }
    set_mode(&cache, 0o700);
    assert!(load());

    // Files that are not regular, or not of a sensible size.
    let aside = dir.path().join("aside");
    std::fs::rename(entry, &aside).expect("ours");
    symlink(&aside, entry).expect("ours");
    assert!(!load(), "a link");
    assert!(load());
    std::fs::OpenOptions::new().write(true).open(entry).and_then(|file| file.set_len(100 << 30)).expect("sparse");
    assert!(!load(), "100 GiB without content");
    assert!(load());
    std::fs::remove_file(entry).expect("ours");
    let made = std::process::Command::new("mkfifo").arg(entry).status();
    assert!(made.expect("a command of every system").success());
    assert!(!load(), "a pipe without a writer");
    assert!(load());
    std::fs::remove_file(entry).expect("ours");
    symlink("/dev/zero", entry).expect("ours");
    assert!(!load(), "a device without end");
}

#[test]
fn a_bad_plugin_leaves_the_sandbox_usable() {
    let sandbox = sandbox();
    assert!(matches!(Plugin::load(&sandbox, &fixtures::loops_at_start()), Err(LoadError::Start { .. })));
    assert!(Plugin::load(&sandbox, &fixtures::ping_pong()).is_ok());
}

/// Additions of the rewriting count against the limits of WebAssembly; errors state the rest of these limits in the guest's numbers.
#[test]
fn limits_are_reported_in_the_numbers_of_the_guest() {
    let cases: [(Vec<u8>, &str); 6] = [
        (fixtures::counted_memories(50), "one of its modules has 50 memories, and the host can follow 49; use fewer"),
        (
            fixtures::counted_locals(49_994),
            "one of its functions has 49994 parameters and locals, and the host, which needs some, can follow 49993",
        ),
        (
            fixtures::counted_vectors(4_090),
            "has 4090 mutable globals that take 65440 bytes, 16 for each vector and 8 for each other; \
             the host can capture 65280 bytes of them; keep such state in linear memory",
        ),
        (fixtures::takes_a_name("module"), "it exports `memory\\u{1}marks`, a name that the host keeps for itself"),
        (fixtures::takes_a_name("bag"), "it exports `m\\u{1}marks`, a name that the host keeps for itself"),
        (fixtures::takes_a_name("component"), "it exports `host-sync-0`, a name that the host keeps for itself"),
    ];
    for (bytes, expected) in cases {
        let error = error(&bytes);
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("offset") && !error.contains("0x"), "{error}");
    }
    let error = error(&fixtures::counted_code(5_000_000));
    assert!(error.contains("bytes of code, too many for the host to follow its writes; split the function"), "{error}");
    for bytes in [fixtures::counted_memories(49), fixtures::counted_locals(49_993), fixtures::counted_vectors(4_080)] {
        Plugin::load(&sandbox(), &bytes).expect("just within the limits");
    }
}

/// The instances that the rewriting adds do not count.
#[test]
fn instances_are_counted_as_the_component_has_them() {
    let load = |bytes: &[u8], limit| {
        let mut config = SandboxConfig::default();
        config.limits.instances = limit;
        Plugin::load(&Sandbox::new(config, None).expect("an engine"), bytes)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let own = fixtures::counted_instances(0);
    let count = (1..).find(|limit| load(&own, *limit).is_ok()).expect("few");
    load(&fixtures::counted_instances(20), count + 20).expect("as many as there are");
    let expected = format!(
        "the component has {} core instances, more than the limit of {}; `--limit instances=N` allows more",
        count + 20,
        count + 19
    );
    assert_eq!(load(&fixtures::counted_instances(20), count + 19), Err(expected));
    // A library and the guest: the wrappers around ten results are not theirs.
    let composed = fixtures::returned("tuple", false);
    let error = load(&composed, 1).expect_err("more than one");
    let said: usize = error.split_whitespace().nth(3).and_then(|count| count.parse().ok()).expect("a number");
    load(&composed, said).expect("as many as it says");
    load(&composed, said - 1).expect_err("no fewer");
}

/// A module for each feature of the core language that is refused, with the beginning of the refusal; and one for each that is accepted.
#[test]
fn features_are_accepted_or_refused_by_name() {
    let refused = [
        ("exceptions", "(tag)"),
        ("exceptions", "(func (try_table))"),
        ("garbage collection", "(type (struct))"),
        ("garbage collection", "(type (array i8))"),
        ("garbage collection", "(rec (type (func)) (type (func)))"),
        ("garbage collection", "(func (drop (ref.i31 (i32.const 0))))"),
        ("typed references to functions", "(type $f (func)) (func (param (ref $f)))"),
        ("typed references to functions", "(type $f (func)) (func (call_ref $f (ref.null $f)))"),
        ("threads", "(memory 1 1 shared)"),
        ("threads", "(memory 1) (func (drop (i32.atomic.load (i32.const 0))))"),
        ("64-bit memories", "(memory i64 1)"),
        ("64-bit memories", "(table i64 1 funcref)"),
        ("stack switching", "(type $f (func)) (type $c (cont $f))"),
        (
            "wide arithmetic",
            "(func (param i64 i64 i64 i64) (result i64 i64) (i64.add128 (local.get 0) (local.get 1) (local.get 2) (local.get 3)))",
        ),
        ("memory control", "(memory 1) (func (memory.discard (i32.const 0) (i32.const 0)))"),
        ("custom page sizes", "(memory 1 (pagesize 1))"),
    ];
    let component = |fields: &str| wat::parse_str(format!("(component {fields})")).expect("valid text");
    let of = |fields: &str| error(&component(&format!("(core module {fields})")));
    let by_modules = refused.map(|(name, fields)| (name, "", component(&format!("(core module {fields})"))));
    let late = |instruction| format!(" (`{instruction}` in `host:protocol/node@0.1.0#handle-local`)");
    let [table, data, reference] = ["table.set", "data.drop", "global.set of a reference"].map(late);
    let by_components = [
        ("writes to tables", &*table, fixtures::writes_table()),
        ("writes to tables", &*data, fixtures::drops_data()),
        ("writes to tables", &*reference, fixtures::writes_reference_global()),
        (
            "asynchronous",
            "",
            component(
                "(core module $m (func (export \"f\") (result i32) (i32.const 0))) (core instance $i (instantiate $m)) (func (export \"f\") async (canon lift (core func $i \"f\") async))",
            ),
        ),
        ("asynchronous", "", component("(type $s (stream u8))")),
        ("asynchronous", "", component("(type $s (future u8))")),
        ("asynchronous", "", component("(core func (canon backpressure.inc))")),
        ("resources", "", fixtures::makes_handles()),
        ("start functions", "", component("(import \"f\" (func $f)) (start $f)")),
    ];
    let mut provoked = std::collections::BTreeSet::new();
    for (name, place, bytes) in by_modules.into_iter().chain(by_components) {
        let row = crate::FEATURES.iter().find(|feature| feature.name.starts_with(name)).expect("a row");
        let (why, without) = row.refused.expect("a refused feature");
        let expected = format!(
            "the component uses {}{place}, which no plugin may, since {why}; build it without: {without}",
            row.name
        );
        assert_eq!(error(&bytes), expected, "{name}");
        provoked.insert(row.name);
    }
    let all = crate::FEATURES.iter().filter(|feature| feature.refused.is_some()).map(|feature| feature.name);
    assert_eq!(provoked, all.collect(), "each row that is refused is seen");
    let accepted = [
        "(func (result v128) (i8x16.relaxed_swizzle (v128.const i64x2 0 0) (v128.const i64x2 0 0)))",
        "(func $f (return_call $f))",
        "(memory 1) (memory 1)",
        "(global i32 (i32.add (i32.const 1) (i32.const 2)))",
        "(func (param externref) (result i32 i32) (i32.const 0) (i32.extend8_s (i32.trunc_sat_f32_s (f32.const 0))))",
        "(memory 1) (func (memory.fill (i32.const 0) (i32.const 0) (i32.const 0)))",
    ];
    for fields in accepted {
        assert!(of(fields).contains("does not export"), "{fields}: {}", of(fields));
    }
}
