//! Makes each mistake of the table in a copy of the tree, and runs the tests that must notice it.
//!
//! `cargo run -p host-structure --bin mutants [WORD]` takes those whose words or files contain a word. The copy and what is compiled of it stay
//! in `target/mutants`, so that the next run compiles only what has changed.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use host_structure::mutants::{Mutant, misplaced, mutants};
use host_structure::tree::{files, root};

/// The end of a run of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// The output.
    Failed(String),
    /// It did not run: what was printed.
    NotRun(String),
}

fn main() -> ExitCode {
    let word = std::env::args().nth(1).unwrap_or_default();
    let wanted: Vec<&Mutant> =
        mutants().filter(|mutant| mutant.what.contains(&word) || mutant.file.contains(&word)).collect();
    let folder = root().join("target/mutants");
    let tree = folder.join("tree");
    copy_tree(&tree);
    let mut findings = Vec::new();
    if wanted.is_empty() {
        findings.push(format!("no mistake has the word {word}"));
    }
    // A test that fails anyway would notice nothing.
    let tests: BTreeSet<(&str, &str)> =
        wanted.iter().flat_map(|mutant| mutant.tests.iter().map(|test| (mutant.package, *test))).collect();
    for (package, test) in tests {
        println!("without a mistake: {test}");
        match run(&tree, &folder, package, test) {
            Outcome::Passed => {}
            other => findings.push(format!("{test} of {package}, without a mistake: {other:?}")),
        }
    }
    for mutant in &wanted {
        println!("{}: {}", mutant.file, mutant.what);
        findings.extend(survives(mutant, &tree, &folder));
    }
    findings.iter().for_each(|finding| println!("{finding}"));
    let tests: usize = wanted.iter().map(|mutant| mutant.tests.len()).sum();
    println!("\n{} mistakes for {tests} tests: {} findings", wanted.len(), findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes a mistake, runs its tests, and takes it back; a finding for each test that does not fail.
fn survives(mutant: &Mutant, tree: &Path, folder: &Path) -> Vec<String> {
    let path = tree.join(mutant.file);
    let source = std::fs::read_to_string(&path).expect("the tree was copied");
    if let Some(misplaced) = misplaced(mutant, &source) {
        return vec![misplaced];
    }
    std::fs::write(&path, source.replace(mutant.from, mutant.to)).expect("the copy can be written");
    let survived = |test: &&str| match run(tree, folder, mutant.package, test) {
        Outcome::Failed(said) if said.contains(mutant.says) => None,
        Outcome::Failed(said) => Some(format!("{test} notices something else than \"{}\":\n{said}", mutant.what)),
        Outcome::Passed => Some(format!("{test} does not notice: {}", mutant.what)),
        Outcome::NotRun(why) => Some(format!("{test} did not run with \"{}\":\n{why}", mutant.what)),
    };
    let findings = mutant.tests.iter().filter_map(survived).collect();
    std::fs::write(&path, source).expect("the copy can be written");
    findings
}

/// Copies what differs, and removes what is no longer there, so that cargo compiles no more than it must.
fn copy_tree(tree: &Path) {
    let files: BTreeSet<String> = files().into_iter().collect();
    for file in &files {
        let (from, to) = (root().join(file), tree.join(file));
        let content = std::fs::read(&from).expect("a file of the tree");
        if std::fs::read(&to).is_ok_and(|there| there == content) {
            continue;
        }
        std::fs::create_dir_all(to.parent().expect("a file lies in a folder")).expect("the copy can be written");
        std::fs::write(to, content).expect("the copy can be written");
    }
    let mut open = vec![tree.to_owned()];
    while let Some(folder) = open.pop() {
        let entries =
            std::fs::read_dir(folder).expect("the copy is there").map(|entry| entry.expect("readable").path());
        for path in entries {
            let name = path.strip_prefix(tree).expect("it lies there").display().to_string();
            if path.is_dir() {
                open.push(path);
            } else if !files.contains(&name) {
                std::fs::remove_file(&path).expect("the copy can be written");
            }
        }
    }
}

fn run(tree: &Path, folder: &Path, package: &str, test: &str) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target: PathBuf = folder.join("target");
    let mut command = Command::new(cargo);
    command.args(["test", "--locked", "-p", package, test]).current_dir(tree).env("CARGO_TARGET_DIR", target);
    let output = command.output().expect("cargo runs");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let has_failed = said[0].contains("test result: FAILED");
    let ran = said[0].lines().filter_map(|line| line.strip_prefix("test ")).any(|line| line.contains(test));
    match output.status.success() {
        true if ran => Outcome::Passed,
        false if has_failed => Outcome::Failed(said.concat()),
        _ => Outcome::NotRun(said.concat()),
    }
}
