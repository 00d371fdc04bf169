//! `cargo run --release -p host-tests --bin told-apart -- [SECONDS] [NAME ...]`: each way to tell states apart beside `serialize`, on the
//! bundled protocols with their defaults. Prints a table in Markdown for those in Rust and one for the register in other languages: local
//! and global states and seconds of a complete search of global states by one worker, and whether it says the same. Where a search does not
//! end in time, a second row has the searches to a depth. With names, only these protocols.
//!
//! The first run builds a component for each protocol and way, which takes some ten seconds each. A difference ends it with exit code 1.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::path::PathBuf;
use std::process::ExitCode;

use host_tests::told_apart::{Searched, WAYS, WAYS_ELSEWHERE, Way, component, protocols, searched};

/// Searches to a depth, a power of two, have at least so many global states by `serialize`, unless there are fewer.
const ENOUGH: u64 = 1_000;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let seconds: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(20);
    let wanted: Vec<String> = words.collect();
    let is_wanted = |protocol: &&String| wanted.is_empty() || wanted.contains(protocol);
    let mut differ = 0;
    for (names, ways) in protocols().iter().zip([&WAYS[..], &WAYS_ELSEWHERE]) {
        let header: Vec<&str> = ways.iter().map(|way| way.name).collect();
        println!("| protocol | depth | {} | verdict |", header.join(" | "));
        println!("|---|---{}|---|", "|---".repeat(ways.len()));
        for protocol in names.iter().filter(is_wanted) {
            match table(protocol, ways, seconds) {
                Ok(different) => differ += different,
                Err(trouble) => eprintln!("left out: {trouble}"),
            }
        }
        println!();
    }
    ExitCode::from(u8::from(differ > 0))
}

/// Prints the rows of a protocol; returns how many ways say something else than the first one.
fn table(protocol: &str, ways: &[Way], seconds: u64) -> Result<usize, String> {
    let components: Vec<PathBuf> = ways.iter().map(|way| component(protocol, *way)).collect::<Result<_, _>>()?;
    let whole = row((protocol, "any"), ways, &components, (seconds, &[]))?;
    if whole.have_ended {
        return Ok(whole.differ);
    }
    let mut depth: u32 = 4;
    loop {
        let result = searched(&components[0], seconds, &["--depth", &depth.to_string()])?;
        if result.states[1] >= ENOUGH || !result.has_ended {
            break;
        }
        if result.result != "incomplete" {
            // Where nothing is cut off by `serialize`, something can be where there are more states, and the answers are not of the same.
            depth /= 2;
            break;
        }
        depth *= 2;
    }
    let depth = depth.to_string();
    Ok(whole.differ + row((protocol, &depth), ways, &components, (seconds, &["--depth", &depth]))?.differ)
}

/// What came of a row.
struct Row {
    /// Whether all searches have.
    have_ended: bool,
    /// How many ways say something else than the first one.
    differ: usize,
}

fn row(
    (protocol, depth): (&str, &str),
    ways: &[Way],
    components: &[PathBuf],
    (seconds, options): (u64, &[&str]),
) -> Result<Row, String> {
    let results: Vec<Result<Searched, String>> =
        components.iter().map(|component| searched(component, seconds, options)).collect();
    let first = results[0].clone()?;
    let mut row = Row { have_ended: true, differ: 0 };
    let mut cells = Vec::new();
    for (way, result) in ways.iter().zip(&results) {
        cells.push(match result {
            Err(trouble) => {
                eprintln!("{protocol}, {}: {trouble}", way.name);
                "refused".to_owned()
            }
            Ok(result) if !result.has_ended => {
                row.have_ended = false;
                "no".to_owned()
            }
            Ok(result) => {
                let is_other = first.has_ended && result.said != first.said;
                if is_other {
                    eprintln!("{protocol}, {}: {} instead of {}", way.name, result.said, first.said);
                }
                row.differ += usize::from(is_other);
                let [local, global] = result.states.map(grouped);
                format!("{local} / {global}, {:.1} s{}", result.seconds, if is_other { " **other**" } else { "" })
            }
        });
    }
    let verdict = if first.has_ended { &first.result } else { "" };
    println!("| {protocol} | {depth} | {} | {verdict} |", cells.join(" | "));
    Ok(row)
}

/// With a comma between thousands.
fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1_000), number % 1_000),
    }
}
