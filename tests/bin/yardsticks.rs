//! `cargo run --release -p host-tests --bin yardsticks`: how often, with how much work and in what time each way to search finds mistakes
//! that are far from the start, as a table in Markdown; `--help` has the options. docs/benchmarks.md explains the table.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;
use clap::builder::PossibleValuesParser;
use host_tests::yardsticks::{Choice, Finished, Kept, MISTAKES, WAYS, in_this_process, processor_clock, table};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// The first word of a process that is one run.
const RUN: &str = "one-run";

/// Success rate, steps and time of each way to search for mistakes far from the start: prints a table in Markdown, and continues an
/// earlier run.
#[derive(Parser)]
struct Arguments {
    /// Only these mistakes [default: all]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(MISTAKES.map(|mistake| mistake.name)))]
    rows: Vec<String>,
    /// Only these ways to search [default: all]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(WAYS.map(|way| way.name)))]
    columns: Vec<String>,
    /// The number of seeds, from 0 on
    #[arg(long, value_name = "N", default_value_t = 20)]
    seeds: u64,
    /// Limit of the processor time of a run, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    seconds: u64,
    /// The file with the runs that were done, as JSON lines [default: target/yardsticks.jsonl]
    #[arg(long, value_name = "PATH")]
    kept: Option<PathBuf>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == RUN) {
        print!("{}", in_this_process(&words[1..], processor_clock()).output);
        return ExitCode::SUCCESS;
    }
    match print_table(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print_table(arguments: &Arguments) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let bytes = std::fs::read(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    let is_wanted = |name: &str, wanted: &[String]| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let choice = Choice {
        mistakes: MISTAKES.iter().filter(|mistake| is_wanted(mistake.name, &arguments.rows)).collect(),
        ways: WAYS.iter().filter(|way| is_wanted(way.name, &arguments.columns)).collect(),
        seeds: arguments.seeds,
        seconds: arguments.seconds,
        build: blake3::hash(&bytes).to_hex()[..16].to_owned(),
    };
    let kept = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/yardsticks.jsonl");
    let mut kept = Kept::open(arguments.kept.clone().unwrap_or_else(kept))?;
    print!("{}", table(&choice, &mut kept, &|words| in_another_process(&program, words))?);
    Ok(())
}

/// A run in a process of its own, whose memory is free when it ends.
fn in_another_process(program: &Path, words: &[String]) -> Result<Finished, String> {
    eprintln!("{}", words.join(" "));
    let failed = |error: std::io::Error| format!("{}: {error}", program.display());
    let began = seconds_of_others()?;
    let done = Command::new(program).arg(RUN).args(words).stderr(Stdio::inherit()).output().map_err(failed)?;
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    Ok(Finished { output, seconds: seconds_of_others()? - began })
}

/// Seconds of processor time of all processes that this one has waited for.
fn seconds_of_others() -> Result<f64, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| format!("the resource usage: {error}"))?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6)
}
