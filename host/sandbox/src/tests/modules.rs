//! The stored facts about a module equal the results of reading, checking and rewriting it.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use super::cache::files;
use crate::cache::{Cache, Modules};
use crate::contract::error::LoadError;
use crate::fixtures;
use crate::rewrite::{CodeFacts, Known, Rewritten, rewrite};
use crate::{Plugin, Sandbox, SandboxConfig};

fn with(cache: &Path) -> Sandbox {
    Sandbox::new(SandboxConfig::default(), Some(cache.to_owned())).expect("an engine")
}

/// Counts the known modules.
struct Counting<'a> {
    modules: Modules<'a>,
    codes: Cell<u32>,
    rewritten: Cell<u32>,
}

impl Known for Counting<'_> {
    fn code(&self, module: &[u8]) -> Option<Rc<CodeFacts>> {
        let code = self.modules.code(module)?;
        self.codes.set(self.codes.get() + 1);
        Some(code)
    }

    fn rewritten(&self, module: &[u8], request: blake3::Hash) -> Option<Vec<u8>> {
        let rewritten = self.modules.rewritten(module, request)?;
        self.rewritten.set(self.rewritten.get() + 1);
        Some(rewritten)
    }

    fn keep(&self, module: &[u8], code: &CodeFacts, request: blake3::Hash, rewritten: &[u8]) {
        self.modules.keep(module, code, request, rewritten);
    }
}

/// Rewrites with the files of a folder, and returns the number of modules with known code and with a known result.
fn rewritten(folder: &Path, bytes: &[u8]) -> (Rewritten, (u32, u32)) {
    let (sandbox, cache) = (with(folder), Cache::new(folder.to_owned()));
    let modules = Modules::of(&sandbox.shared.engine, Some(&cache));
    let known = Counting { modules, codes: Cell::new(0), rewritten: Cell::new(0) };
    let rewritten = rewrite(bytes, &SandboxConfig::default(), &known).expect("a component");
    (rewritten, (known.codes.get(), known.rewritten.get()))
}

#[track_caller]
fn assert_same(one: &Rewritten, other: &Rewritten) {
    assert!(one.bytes == other.bytes && one.libraries == other.libraries);
    // Not `assert_eq`: the facts are long.
    assert!(format!("{:?}", one.modules) == format!("{:?}", other.modules), "the facts differ");
    assert_eq!((&one.memories, &one.syncs), (&other.memories, &other.syncs));
}

fn uncached(bytes: &[u8]) -> Rewritten {
    rewrite(bytes, &SandboxConfig::default(), &()).expect("a component")
}

#[test]
fn what_is_known_of_a_library_is_what_reading_it_says() {
    let dir = tempfile::tempdir().expect("a directory");
    for (program, expected) in [(1, (0, 0)), (1, (1, 1)), (2, (1, 1))] {
        let bytes = fixtures::interpreted(program);
        let (found, known) = rewritten(dir.path(), &bytes);
        assert_same(&found, &uncached(&bytes));
        assert_eq!(known, expected, "program {program}");
    }
    // A small module, or one with its own memory, is read again.
    assert_eq!(files(dir.path(), "module").len(), 1);
}

/// A module with a global that belongs to the state only if another module changes it after the start.
fn shared_global(is_changed: bool) -> Vec<u8> {
    let functions: String = (0..4_000).map(|n| format!("(func (result i32) (i32.const {}))", 1_000_000 + n)).collect();
    let set = if is_changed { "(func (export \"set\") (global.set 0 (i32.const 5)))" } else { "" };
    let text = format!(
        r#"(component
          (core module $m (memory (export "memory") 1))
          (core module $large (import "m" "memory" (memory 1)) (global (export "g") (mut i32) (i32.const 1))
            (func (export "write") (i32.store (i32.const 8) (i32.const 9))) {functions})
          (core module $other (import "l" "g" (global (mut i32))) {set})
          (core instance $i (instantiate $m))
          (core instance $l (instantiate $large (with "m" (instance $i))))
          (core instance (instantiate $other (with "l" (instance $l)))))"#
    );
    wat::parse_str(text).expect("valid text")
}

#[test]
fn a_module_is_rewritten_as_the_component_around_it_asks() {
    let dir = tempfile::tempdir().expect("a directory");
    let components = [false, true].map(shared_global);
    let [one, other] = components.each_ref().map(|bytes| uncached(bytes));
    assert!(one.libraries != other.libraries, "the components ask for the same");
    for (which, expected) in [(0, (0, 0)), (1, (1, 0)), (1, (1, 1)), (0, (1, 0)), (0, (1, 1))] {
        let (found, known) = rewritten(dir.path(), &components[which]);
        assert_same(&found, &uncached(&components[which]));
        assert_eq!(known, expected, "component {which}");
    }
}

#[test]
fn what_is_damaged_is_not_known() {
    let dir = tempfile::tempdir().expect("a directory");
    let bytes = fixtures::interpreted(1);
    let expected = uncached(&bytes);
    rewritten(dir.path(), &bytes);
    let [path] = &files(dir.path(), "module")[..] else { panic!("one module is kept") };
    let intact = fs::read(path).expect("readable");
    // Magic, hash, request, length of the facts, the facts, the module.
    for at in [0, 8, 40, 72, 80, intact.len() - 1] {
        let mut damaged = intact.clone();
        damaged[at] ^= 1;
        fs::write(path, damaged).expect("writable");
        let (found, known) = rewritten(dir.path(), &bytes);
        assert_same(&found, &expected);
        assert_eq!(known, (0, 0), "{at}");
        assert!(fs::read(path).expect("readable") == intact, "it is kept again");
    }
    for end in [0, 7, 40, 71, 79] {
        fs::write(path, &intact[..end]).expect("writable");
        assert_eq!(rewritten(dir.path(), &bytes).1, (0, 0), "{end}");
    }
}

/// An invalid module never becomes known, not even together with a valid one.
#[test]
fn what_is_not_valid_is_refused_each_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let functions: String = (0..4_000).map(|n| format!("(func (result i32) (i32.const {}))", 1_000_000 + n)).collect();
    let module = |body: &str| format!(r#"(core module (import "m" "memory" (memory 1)) {functions} (func {body}))"#);
    let [valid, invalid] = ["", "i32.add"].map(module);
    let load = |parts: &[&str]| {
        let bytes = wat::parse_str(format!("(component {})", parts.concat())).expect("text");
        Plugin::load(&with(dir.path()), &bytes).expect_err("no plugin").to_string()
    };
    // Valid, and known from here on; it only lacks the exports of a plugin.
    let sandbox = with(dir.path());
    let bytes = wat::parse_str(format!("(component {valid})")).expect("text");
    rewritten(dir.path(), &bytes);
    assert!(matches!(Plugin::load(&sandbox, &bytes), Err(error) if !matches!(error, LoadError::Invalid { .. })));
    for _ in 0..2 {
        for parts in [&[&*invalid][..], &[&valid, &invalid], &[&invalid, &valid]] {
            assert!(load(parts).contains("type mismatch"), "{}", load(parts));
        }
    }
    assert_eq!(files(dir.path(), "module").len(), 1);
}

/// If one of these changes, all stored facts are invalid.
#[test]
fn the_sources_of_the_rewriting_are_all_of_its_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rewrite");
    let entries = fs::read_dir(folder).expect("readable").map(|entry| entry.expect("an entry").path());
    let mut found: Vec<_> = entries.map(|path| fs::read_to_string(path).expect("text")).collect();
    found.sort();
    let mut expected = crate::rewrite::SOURCES.map(str::to_owned);
    expected.sort();
    assert!(found == expected, "SOURCES lacks a file");
}
