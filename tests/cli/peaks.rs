//! The memory of the whole process under `--memory`, as the system measures it.
//!
//! The program runs as a child of a child: the system reports the peak of the largest child, and the tests have compilers as children, too.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use host_sandbox::fixtures;
use nix::sys::resource::{UsageWho, getrusage};

use super::{Place, program};

/// The memory of a process above its bound, see `docs/limits.md`. During the search: 16 MiB of outcomes that are not yet processed;
/// for each of two workers one call of a guest and its outcomes, whose memory and output are below 8 MiB together in these fixtures; and
/// 32 MiB for allocations within 10 ms and the reserve of the allocator. After it: 64 MiB.
const ABOVE: u64 = 64 << 20;

/// The variable with the child's command: the words of a command line, one per line.
const WORDS: &str = "HOST_TESTS_PEAK_OF";

/// The start of the line with the peak.
const PEAK: &str = "peak of ";

/// Runs a command and prints the peak of its memory. It does nothing without the variable.
#[test]
fn a_child_tells_the_peak_of_its_child() {
    let Ok(words) = std::env::var(WORDS) else { return };
    let mut words = words.lines();
    let mut command = Command::new(words.next().expect("a program"));
    let output = command.args(words).env_remove(WORDS).output().expect("it runs");
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system tells").max_rss() as u64 * 1024;
    let (code, text) = (output.status.code(), String::from_utf8_lossy(&output.stdout).replace('\n', " "));
    let told = String::from_utf8_lossy(&output.stderr);
    writeln!(std::io::stdout(), "{PEAK}{peak} {code:?} {text} {told}").expect("the test reads it");
}

/// The peak of a command line in bytes, and its output.
fn peak(program: &Path, place: &Place, words: &[&str]) -> (u64, String) {
    let lines = [&[program.to_str().expect("a path that is text")], words].concat().join("\n");
    let test = ["cli::peaks::a_child_tells_the_peak_of_its_child", "--exact", "--nocapture"];
    let output = Command::new(std::env::current_exe().expect("a path"))
        .args(test)
        .env(WORDS, lines)
        .env("XDG_CACHE_HOME", place.path("cache"))
        .current_dir(place.path("."))
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = text.lines().find_map(|line| line.split_once(PEAK)).unwrap_or_else(|| panic!("{output:?}"));
    let (peak, rest) = told.1.split_once(' ').expect("a number and more");
    (peak.parse().expect("a number"), rest.to_owned())
}

#[test]
fn a_flood_stays_near_the_bound() {
    let Some(program) = program() else { return };
    let place = Place::new();
    place.put("floods.wasm", fixtures::floods(4096, 1000)).put("branches.wasm", fixtures::branches(4096));
    place.put("counts.wasm", fixtures::counts());
    let peak = |guest: &str, nodes: &str, algo: &str, megabytes: u64| {
        let run = ["--nodes", nodes, "--algo", algo];
        peak_of_run(&program, &place, guest, &run, megabytes)
    };
    // The bound keeps it small.
    assert!(peak("counts.wasm", "1000", "unfold", 200) > 100_000_000 + ABOVE, "there is too little to keep");
    let cases: [(&str, &str, &[&str], u64); 4] = [
        // More memory takes them much more time: nearly all messages of a handler are known already.
        ("floods.wasm", "2", &["bdfs", "unfold"], 55),
        ("branches.wasm", "2", &["bdfs"], 60),
        ("counts.wasm", "1000", &["bdfs", "consequence", "unfold", "lmc-opt"], 100),
        ("counts.wasm", "256", &["dpor"], 100),
    ];
    for (guest, nodes, strategies, megabytes) in cases {
        for algo in strategies {
            let peak = peak(guest, nodes, algo, megabytes);
            assert!(peak <= megabytes * 1_000_000 + ABOVE, "{guest} by {algo}: {peak} bytes");
        }
    }
}

/// Strategies that run for long at the bound, within some seconds.
#[test]
fn long_searches_stay_near_the_bound() {
    let Some(program) = program() else { return };
    let place = Place::new();
    place.put("counts.wasm", fixtures::counts());
    for algo in ["auto", "lmc-gen", "walk"] {
        let run =
            ["run", "counts.wasm", "--nodes", "1000", "--algo", algo, "--memory", "100MB", "--time", "6s", "--json"];
        let (peak, told) = peak(&program, &place, &run);
        assert!(
            peak <= 100_000_000 + ABOVE && told.contains("\"result\": \"incomplete\""),
            "{run:?}: {peak} bytes: {told}"
        );
    }
}

/// Two of the nodes may have crashed: one execution of some hundred events has tens of thousands of ends, and none is kept.
#[test]
fn the_ends_of_an_execution_are_not_kept() {
    let Some(program) = program() else { return };
    let place = Place::new();
    place.put("counts.wasm", fixtures::counts());
    let ends = ["--algo", "dpor", "--depth", "400", "--deadlock", "--crashes", "2"];
    let bounds = ["--nodes", "3", "--time", "5s", "--memory", "60MB", "--json"];
    let (peak, told) = peak(&program, &place, &[&["run", "counts.wasm"], &ends[..], &bounds].concat());
    assert!(told.contains("\"end\": \"time-bound\"") && peak <= 60_000_000 + ABOVE, "{peak} bytes: {told}");
}

/// The peak of a run that ends at its bound on memory.
fn peak_of_run(program: &Path, place: &Place, guest: &str, options: &[&str], megabytes: u64) -> u64 {
    let memory = format!("{megabytes}MB");
    let run = [&["run", guest, "--memory", &memory, "--workers", "2", "--json"], options].concat();
    let (peak, told) = peak(program, place, &run);
    assert!(told.contains("\"end\": \"memory-bound\""), "{run:?}: {told}");
    peak
}
