//! `cargo run --release -p host-tests --bin identities -- [SECONDS] [NAME ...]`: each way to distinguish states compared with `serialize`,
//! on the bundled protocols with their defaults. Prints a table in Markdown for the protocols in Rust and one for the register in other
//! languages: local states, global states and seconds of a complete search of global states by one worker, and whether it has the same
//! result. If a search does not end within its time or a number of states, a second row has the searches to a depth. The reasons of refused
//! components follow the table. With names, only these protocols.
//!
//! The first run builds a component for each protocol and way, which takes about ten seconds each. A difference ends it with exit code 1.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use host_tests::identities::{Searched, WAYS, WAYS_ELSEWHERE, Way, component, protocols, searched};

/// Searches to a depth, a power of two, have at least this many global states by `serialize`, unless there are fewer.
const ENOUGH: u64 = 1_000;

/// A search ends at this many global states.
const STATES_MAX: &str = "2000000";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let seconds: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(20);
    let wanted: Vec<String> = words.collect();
    let is_wanted = |protocol: &&String| wanted.is_empty() || wanted.contains(protocol);
    let mut differ = 0;
    for (names, ways) in protocols().iter().zip([&WAYS[..], &WAYS_ELSEWHERE]) {
        let mut table = Table { ways, seconds, differ: 0, refused: BTreeMap::new() };
        let header: Vec<&str> = ways.iter().map(|way| way.name).collect();
        println!("| plugin | depth | {} | verdict |", header.join(" | "));
        println!("|---|---{}|---|", "|---".repeat(ways.len()));
        names.iter().filter(is_wanted).for_each(|protocol| table.rows(protocol));
        println!();
        for (why, which) in &table.refused {
            println!("- Refused: {}: {why}.", which.iter().cloned().collect::<Vec<_>>().join("; "));
        }
        println!();
        differ += table.differ;
    }
    ExitCode::from(u8::from(differ > 0))
}

/// A component or the results of its search, or the reason of a refusal.
type Known<T> = Result<T, String>;

/// A table while it is printed.
struct Table<'a> {
    ways: &'a [Way],
    /// The time limit of each search.
    seconds: u64,
    /// The number of results that differ from those of the first way.
    differ: usize,
    /// The protocols and ways without a search, by the reason of the refusal.
    refused: BTreeMap<String, BTreeSet<String>>,
}

impl Table<'_> {
    /// Prints the rows of a protocol.
    fn rows(&mut self, protocol: &str) {
        let components: Vec<Known<PathBuf>> = self.ways.iter().map(|way| component(protocol, *way)).collect();
        let have_ended = self.row((protocol, "any"), &components, &[]);
        if let (false, Ok(first)) = (have_ended, &components[0]) {
            let depth = depth(first, self.seconds).to_string();
            self.row((protocol, &depth), &components, &["--depth", &depth]);
        }
    }

    /// Prints a row; returns whether all its searches have ended.
    fn row(&mut self, (protocol, depth): (&str, &str), components: &[Known<PathBuf>], options: &[&str]) -> bool {
        let options = [&["--states", STATES_MAX], options].concat();
        let search =
            |component: &Known<PathBuf>| searched(component.as_ref().map_err(String::clone)?, self.seconds, &options);
        let results: Vec<Known<Searched>> = components.iter().map(search).collect();
        let first = results[0].as_ref().ok().filter(|first| first.stopped_by.is_none());
        let cells = self.ways.iter().zip(&results).map(|(way, result)| match result {
            Err(why) => {
                let which = format!("{protocol}, {}", way.name);
                self.refused.entry(why.clone()).or_default().insert(which);
                "refused".to_owned()
            }
            Ok(Searched { stopped_by: Some(bound), .. }) => format!("*{bound}*"),
            Ok(result) => {
                let is_other = first.is_some_and(|first| first.said != result.said);
                if is_other {
                    eprintln!("{protocol}, {}: {} instead of {}", way.name, result.said, first.expect("seen").said);
                }
                self.differ += usize::from(is_other);
                let [local, global] = result.states.map(grouped);
                format!("{local} / {global}, {:.1} s{}", result.seconds, if is_other { " **other**" } else { "" })
            }
        });
        let cells: Vec<String> = cells.collect();
        let verdict = first.map_or("", |first| &first.result);
        println!("| {protocol} | {depth} | {} | {verdict} |", cells.join(" | "));
        results.iter().flatten().all(|result| result.stopped_by.is_none())
    }
}

/// The first power of two as a depth at which a search of a component has enough states, or does not end.
fn depth(component: &Path, seconds: u64) -> u32 {
    let mut depth: u32 = 4;
    while let Ok(result) = searched(component, seconds, &["--depth", &depth.to_string()]) {
        if result.states[1] >= ENOUGH || result.stopped_by.is_some() {
            break;
        }
        if result.result != "incomplete" {
            // A search by `serialize` may be complete at a depth that cuts off the search by a finer identity; their results would differ.
            return depth / 2;
        }
        depth *= 2;
    }
    depth
}

/// With a comma between thousands.
fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1_000), number % 1_000),
    }
}
