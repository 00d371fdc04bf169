//! Builds real packages, as far as this machine has a toolchain, and refuses wrong folders.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use host_build::{BuildError, Built, Options, build, componentize};

/// The installed toolchain only: a test does not change the machine.
fn options() -> Options {
    Options { install: false, ..Options::default() }
}

fn silent(folder: &Path) -> Result<Built, BuildError> {
    build(folder, &options(), &mut |_| ())
}

fn plugin(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins").join(name)
}

/// A package outside of any workspace.
fn package(manifest: &str, source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("src")).expect("a new folder");
    fs::write(folder.path().join("Cargo.toml"), manifest).expect("a new file");
    fs::write(folder.path().join("src/lib.rs"), source).expect("a new file");
    folder
}

const MANIFEST: &str = "[package]\nname = \"odd-one\"\nedition = \"2024\"\n[workspace]\n";

/// Whether a build failed for want of a toolchain; prints a note, since the test then shows nothing.
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
fn lacks_toolchain(result: &Result<Built, BuildError>) -> bool {
    let lacks = matches!(result, Err(BuildError::NoToolchain { .. }));
    if lacks {
        eprintln!("skipped: no toolchain for wasm32-unknown-unknown");
    }
    lacks
}

#[test]
fn folders_that_hold_no_package_are_refused() {
    let empty = tempfile::tempdir().expect("a temporary folder");
    let message = |folder: &Path| silent(folder).expect_err("nothing to build").to_string();
    assert_eq!(message(Path::new("no/such/folder")), "there is no folder or file no/such/folder");
    let message = message(empty.path());
    assert!(message.starts_with(&format!("nothing to build in {}", empty.path().display())), "{message}");
    assert!(message.contains("Cargo.toml (Rust)") && message.contains("host.toml"), "{message}");
}

/// Runs in its own process with only a rustup without network on the path.
#[test]
#[ignore = "needs the environment that the next test prepares"]
fn child_without_tools() {
    let mut steps = Vec::new();
    let result = build(&plugin("tree"), &Options::default(), &mut |step| steps.push(step.to_owned()));
    let message = result.expect_err("there is no compiler").to_string();
    assert_eq!(steps, ["adding the target: rustup target add wasm32-unknown-unknown"]);
    let tried = "no Rust toolchain for wasm32-unknown-unknown: there is no rustc on the path; rustup cannot add it (no network); ";
    assert!(message.starts_with(tried), "{message}");
    assert!(message.contains("there is no apt-get to install it"), "{message}");
    let remedy = "; run `rustup target add wasm32-unknown-unknown`, or on Debian \
                  `apt-get install rustc-web cargo-web rust-web-src lld-22`";
    assert!(message.ends_with(remedy), "{message}");
}

#[test]
fn without_a_toolchain_the_error_says_what_to_install() {
    let tools = tempfile::tempdir().expect("a temporary folder");
    let rustup = tools.path().join("rustup");
    fs::write(&rustup, "#!/bin/sh\necho 'info: trying' >&2\necho 'error: no network' >&2\nexit 1\n")
        .expect("a new file");
    fs::set_permissions(&rustup, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "--ignored", "child_without_tools"])
        .env("PATH", tools.path())
        .output()
        .expect("this test starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn an_unchanged_plugin_is_up_to_date() {
    let first = silent(&plugin("fanout"));
    if lacks_toolchain(&first) {
        return;
    }
    let first = first.expect("the plugin builds");
    let again = silent(&plugin("fanout")).expect("the plugin builds again");
    assert_eq!((again.wasm.clone(), again.rebuilt), (first.wasm.clone(), false));
    assert_eq!(again.steps.last().map(String::as_str), Some("fanout is up to date"));
    assert!(first.wasm.ends_with("plugins/fanout.wasm"));

    let whole = fs::read(&first.wasm).expect("the component");
    assert_eq!(&whole[..8], b"\0asm\x0d\0\x01\0", "a component's preamble");
    assert!(whole.len() < 200_000, "{} bytes", whole.len());
}

/// A library that is a plugin as well has other features as either.
#[test]
fn what_a_plugin_shares_with_another_is_not_compiled_again_for_each() {
    let both = ["mace-transport", "rand-tree"];
    for name in both {
        let built = silent(&plugin(name));
        if lacks_toolchain(&built) {
            return;
        }
        built.expect("the plugin builds");
    }
    for name in both {
        let again = silent(&plugin(name)).expect("the plugin builds again");
        // Another build may hold cargo's lock.
        let steps: Vec<_> = again.steps.iter().filter(|step| !step.starts_with("Blocking waiting for")).collect();
        assert_eq!(steps, [&format!("{name} is up to date")]);
    }
}

#[test]
fn a_damaged_component_is_made_again() {
    let built = silent(&plugin("query"));
    if lacks_toolchain(&built) {
        return;
    }
    let wasm = built.expect("the plugin builds").wasm;
    let whole = fs::read(&wasm).expect("the component");
    fs::write(&wasm, &whole[..100]).expect("a shorter file");
    assert!(silent(&plugin("query")).expect("the plugin builds").rebuilt);
    assert_eq!(fs::read(&wasm).expect("the component"), whole);
}

#[test]
fn builds_of_one_folder_may_run_at_once() {
    let results: Vec<_> = std::thread::scope(|scope| {
        let builds: Vec<_> = (0..3).map(|_| scope.spawn(|| silent(&plugin("tree")))).collect();
        builds.into_iter().map(|build| build.join().expect("no panic")).collect()
    });
    if lacks_toolchain(&results[0]) {
        return;
    }
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

#[test]
fn what_the_compiler_says_is_shown() {
    let folder = package(MANIFEST, "pub fn wrong() -> u32 { \"text\" }");
    let result = silent(folder.path());
    if lacks_toolchain(&result) {
        return;
    }
    let message = result.expect_err("a type error").to_string();
    assert!(message.starts_with("odd-one does not compile:\n"), "{message}");
    assert!(message.contains("mismatched types") && message.contains("src/lib.rs:1"), "{message}");
}

#[test]
fn a_library_that_exports_no_protocol_is_refused() {
    let folder = package(MANIFEST, "");
    let result = silent(folder.path());
    if lacks_toolchain(&result) {
        return;
    }
    let message = result.expect_err("nothing is exported").to_string();
    assert!(message.starts_with("odd-one compiles but is no plugin: "), "{message}");
    assert!(message.contains("host:protocol/node@0.1.0"), "{message}");
    assert!(!folder.path().join("target/plugins/odd-one.wasm").exists());
}

#[test]
fn a_package_without_a_library_is_refused() {
    let folder = package(MANIFEST, "");
    let rename = |from: &str, to: &str| fs::rename(folder.path().join(from), folder.path().join(to));
    rename("src/lib.rs", "src/main.rs").expect("the package has a library");
    let result = silent(folder.path());
    if lacks_toolchain(&result) {
        return;
    }
    let message = result.expect_err("no library").to_string();
    assert!(message.starts_with("package odd-one is no plugin: it has no library"), "{message}");
}

#[test]
fn what_cargo_says_about_a_manifest_is_shown() {
    let folder = package("[package]\nname = 3\n", "");
    let result = silent(folder.path());
    if lacks_toolchain(&result) {
        return;
    }
    let message = result.expect_err("no name").to_string();
    assert!(message.starts_with("cargo cannot read ") && message.contains("name = 3"), "{message}");
}

#[test]
fn a_workspace_without_a_package_is_refused() {
    let folder = package("[workspace]\n", "");
    let result = silent(folder.path());
    if lacks_toolchain(&result) {
        return;
    }
    assert!(matches!(result, Err(BuildError::NoPackage { .. })), "{result:?}");
}

/// A module that exports the required functions by their plain names, and prints through WASI.
const PLAIN: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func (export "init") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 64)))
    (i32.const 0))
  (func (export "handleMessage") (param i32 i32 i32) (result i32) (i32.const 0))
  (func (export "cabi_post_handleMessage") (param i32))
  (func (export "local_events") (result i32) (i32.const 0))
  (func (export "handle_local") (param i32 i32 i32 i32 i32) (result i32) (i32.const 0))
  (func (export "serialize") (result i32) (i32.const 0))
  (func (export "properties") (result i32) (i32.const 0))
  (func (export "view") (param i32) (result i32) (i32.const 0))
  (func (export "invariant") (param i32 i32 i32) (result i32) (i32.const 0)))"#;

#[test]
fn text_becomes_a_component_without_any_tool() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("plain.wat");
    fs::write(&file, PLAIN).expect("a new file");
    let built = silent(&file).expect("the text is a plugin");
    assert_eq!((built.rebuilt, built.toolchain), (true, "text"));
    assert!(built.wasm.ends_with("target/plugins/plain.wasm"));
    let component = fs::read(&built.wasm).expect("the component");
    let text = String::from_utf8_lossy(&component).into_owned();
    // Plain names are now full ones, and the imports from WASI come from the adapter.
    assert!(text.contains("cabi_post_host:protocol/node@0.1.0#handle-message"));
    assert!(text.contains("host:protocol/environment@0.1.0"));
    assert!(!silent(&file).expect("the text is a plugin still").rebuilt);
    // The folder is equivalent to its only file.
    assert_eq!(silent(folder.path()).expect("the folder holds a plugin").toolchain, "text");
    fs::write(&file, PLAIN.replace("\"view\"", "\"vew\"")).expect("a changed file");
    let message = silent(&file).expect_err("a function is missing").to_string();
    assert!(message.contains("`host:protocol/specification@0.1.0` function `view`"), "{message}");
    fs::write(&file, "(module (func").expect("a changed file");
    let message = silent(&file).expect_err("no text of a module").to_string();
    assert!(message.starts_with("plain does not compile") && message.contains("plain.wat:1"), "{message}");
}

#[test]
fn a_folder_can_have_a_command_of_its_own() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let put = |name: &str, content: &str| fs::write(folder.path().join(name), content).expect("a new file");
    put("plain.txt", PLAIN);
    put("host.toml", "[build]\ncommand = \"cp plain.txt made.bin\"\noutput = \"made.bin\"\n");
    assert_eq!(silent(folder.path()).expect("the command works").toolchain, "command");
    put("host.toml", "[build]\ncommand = \"echo no such luck >&2; exit 3\"\noutput = \"made.bin\"\n");
    let message = silent(folder.path()).expect_err("the command fails").to_string();
    assert!(message.contains("no such luck"), "{message}");
}

/// Copies are there before a command runs. An edit of the original is built again; one of the copy is not, and does not last.
#[test]
fn a_command_finds_copies_of_other_folders() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| place.path().join(name);
    let put = |name: &str, content: &str| fs::write(path(name), content).expect("a new file");
    fs::create_dir(path("plugin")).and_then(|()| fs::create_dir(path("sdk"))).expect("new folders");
    put("sdk/plain.txt", PLAIN);
    let command = "command = \"cp host/plain.txt made.bin\"\noutput = \"made.bin\"\n";
    put("plugin/host.toml", &format!("[build]\n{command}[build.copies]\n\"host\" = \"../sdk\"\n"));
    let built = || silent(&path("plugin")).expect("the command works");
    let first = built();
    assert_eq!((first.toolchain, first.rebuilt, built().rebuilt), ("command", true, false));
    let component = fs::read(&first.wasm).expect("the component");
    put("plugin/host/plain.txt", "mine");
    assert!(!built().rebuilt);
    assert_eq!(fs::read_to_string(path("plugin/host/plain.txt")).expect("the copy"), PLAIN);
    put("sdk/plain.txt", &format!("{PLAIN}\n;; another line\n"));
    assert!(built().rebuilt && !built().rebuilt);
    assert_eq!(fs::read(&first.wasm).expect("the component"), component);
    put("sdk/plain.txt", "(module (func");
    assert!(silent(&path("plugin")).is_err());
}

/// Runs in its own process with an empty path.
#[test]
#[ignore = "needs the environment that the next test prepares"]
fn child_without_compilers() {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let options = Options { install: false, cache: Some(cache.path().to_owned()), ..Options::default() };
    let message = |name: &str| build(&plugin(name), &options, &mut |_| ()).expect_err("no tool").to_string();
    assert_eq!(
        message("register-c"),
        "no C compiler for WebAssembly: installing is switched off; install it with \
         `apt-get install clang-22 lld-22 wasi-libc libclang-rt-22-dev-wasm32`"
    );
    assert_eq!(
        message("register-assemblyscript"),
        "no Node.js: there is no `node` on the path; install it with `apt-get install nodejs npm`"
    );
}

#[test]
fn without_a_tool_the_error_has_the_line_that_installs_it() {
    let tools = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "--ignored", "child_without_compilers"])
        .env("PATH", tools.path())
        .env_remove("WASI_SDK_PATH")
        .output()
        .expect("this test starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn what_is_no_module_does_not_become_a_component() {
    for bytes in [&b""[..], b"text", b"\0asm\x0d\0\x01\0", b"\0asm\x01\0\0"] {
        let message = componentize(bytes).expect_err("no module").to_string();
        assert!(message.starts_with("it is no WebAssembly module"), "{message}");
    }
}

/// Places are functions, not offsets in intermediate files.
#[test]
fn an_invalid_module_is_reported_by_its_function() {
    let plugin = include_str!("../../../plugins/register-text/register.wat");
    let (before, after) = plugin.rsplit_once(')').expect("a module");
    let (mismatch, index) = ("type mismatch: expected i32, found i64", "unknown global: global index out of bounds");
    let cases = [
        (r#"(func $broken (result i32) (i64.const 1))"#, format!("{mismatch}, in `broken`")),
        (r#"(func (export "broken") (result i32) (i64.const 1))"#, format!("{mismatch}, in `broken`")),
        (r#"(func $broken (global.set 99 (i32.const 0)))"#, format!("{index}, in `broken`")),
        (r#"(export "memory" (memory 0))"#, "duplicate export name `memory` already defined".to_owned()),
    ];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("plugin.wat");
    for (added, expected) in cases {
        fs::write(&path, format!("{before}{added}){after}")).expect("a new file");
        let message = build(folder.path(), &options(), &mut |_| ()).expect_err(added).to_string();
        assert!(message.contains("does not compile") && message.ends_with(&expected), "{message}");
        assert!(!message.contains("offset"), "{message}");
    }
    // A function without a name is named by its number, imported ones counted.
    let module = r#"(module (import "a" "b" (func)) (func) (func (result i32)))"#;
    let message = componentize(&wat::parse_str(module).expect("a module")).expect_err("it is not valid").to_string();
    assert!(message.contains("function 2") && !message.contains("offset"), "{message}");
}

/// Plugins that differ only in themselves share a build folder in the cache: their dependencies are compiled once. A plugin with
/// another SDK, and another plugin at the same path with older files, are compiled again.
#[test]
fn what_plugins_depend_on_is_compiled_once() {
    let (place, cache) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let options = Options { cache: Some(cache.path().to_owned()), ..options() };
    let past = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let put = |name: &str, sdk: &str, source: &str| {
        let folder = place.path().join(name);
        let manifest = "[package]\nname = \"mine\"\nedition = \"2021\"\n[workspace]\n[dependencies]\nguest-sdk = { path = \"guest-sdk\" }\n"
            .to_owned();
        let sdk_manifest = "[package]\nname = \"guest-sdk\"\nedition = \"2024\"\n".to_owned();
        for (path, content) in [
            ("Cargo.toml", manifest),
            ("src/lib.rs", source.to_owned()),
            ("guest-sdk/Cargo.toml", sdk_manifest),
            ("guest-sdk/src/lib.rs", sdk.to_owned()),
        ] {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            fs::write(&path, content).expect("writable");
            fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(past)).expect("ours");
        }
        folder
    };
    // Each exports a function that no protocol has, so that the refusal shows which one was compiled.
    let source =
        |number: u32| format!("#[no_mangle] pub extern \"C\" fn mine() -> u32 {{ guest_sdk::number() + {number} }}");
    let sdk = |number: u32| format!("pub fn number() -> u32 {{ std::hint::black_box({number}) }}");
    let module = |folder: &Path| {
        let result = build(folder, &options, &mut |_| ());
        if lacks_toolchain(&result) {
            return None;
        }
        let refused = result.expect_err("it is no plugin").to_string();
        assert!(refused.contains("compiles but is no plugin"), "{refused}");
        Some(fs::read(folder.join("target/guests/wasm32-unknown-unknown/release/mine.wasm")).expect("it was compiled"))
    };
    let libraries = || {
        let mut found: Vec<(PathBuf, std::time::SystemTime)> = Vec::new();
        let mut left = vec![cache.path().join("rust")];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder).expect("readable").map(|entry| entry.expect("readable")) {
                let (path, metadata) = (entry.path(), entry.metadata().expect("it is there"));
                let name = entry.file_name().to_string_lossy().into_owned();
                if metadata.is_dir() {
                    left.push(path);
                } else if name.starts_with("libguest_sdk") && name.ends_with(".rlib") {
                    found.push((path, metadata.modified().expect("a time")));
                }
            }
        }
        found.sort();
        found
    };
    let Some(one) = module(&put("one", &sdk(1), &source(10))) else { return };
    let once = libraries();
    assert_eq!(once.len(), 1, "{once:?}");
    let two = module(&put("two", &sdk(1), &source(20))).expect("a toolchain");
    assert_eq!(libraries(), once, "the SDK was compiled again");
    assert_ne!(one, two);
    let other_sdk = module(&put("three", &sdk(2), &source(10))).expect("a toolchain");
    assert!(libraries().len() == 2 && other_sdk != one);
    // The same names, times and places.
    fs::remove_dir_all(place.path().join("one")).expect("ours");
    assert_eq!(module(&put("one", &sdk(1), &source(20))).expect("a toolchain"), two);
    fs::remove_dir_all(place.path().join("one")).expect("ours");
    assert_eq!(module(&put("one", &sdk(2), &source(10))).expect("a toolchain"), other_sdk);
    assert!(host_build::clear_crates(cache.path()) && libraries().is_empty());
}
