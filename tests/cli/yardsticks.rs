//! A small part of the table of mistakes far from the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use host_tests::yardsticks::{Choice, Ended, Finished, Kept, MISTAKES, Run, WAYS, in_this_process, table};
use tempfile::TempDir;

/// A run by a clock that advances by 1 ms at each question: its seconds are work, not time, so the result is the same on every machine.
fn clock_of_questions() -> host::Clock {
    let asked = AtomicU64::new(0);
    Arc::new(move || Duration::from_millis(asked.fetch_add(1, Ordering::Relaxed)))
}

/// A run of `host` in this process.
fn run(words: &[String]) -> Result<Finished, String> {
    Ok(in_this_process(words, clock_of_questions()))
}

#[test]
fn a_part_of_the_table_is_made() {
    let place = TempDir::new().expect("a temporary folder");
    let open = |name: &str| Kept::open(place.path().join(name)).expect("a missing file is empty");
    let choice = Choice {
        mistakes: MISTAKES.iter().filter(|it| ["previous-zero", "uncommitted"].contains(&it.name)).collect(),
        ways: WAYS.iter().filter(|it| ["pct:5", "guided", "auto", "unfold"].contains(&it.name)).collect(),
        seeds: 2,
        seconds: 5,
        build: String::new(),
    };
    let text = table(&choice, &mut open("runs.jsonl"), &run).unwrap_or_else(|error| panic!("{error}"));
    let head = "| subject | mistake | shortest | `pct:5` | `guided` | `auto` | `unfold` |";
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows.len() == 4 && rows[0] == head, "{text}");
    assert!(rows[2].starts_with("| raft-compaction | previous-zero |  |"), "{text}");
    assert!(rows[3].starts_with("| one-acceptor | uncommitted | 18 |"), "{text}");
    let runs = std::fs::read_to_string(place.path().join("runs.jsonl")).expect("the runs are kept");
    let runs: Vec<Run> = runs.lines().map(|line| serde_json::from_str(line).expect("a run")).collect();
    // Two seeds in three columns, and none in one.
    assert_eq!(runs.len(), 2 * (2 * 3 + 1));
    for mistake in &choice.mistakes {
        for way in ["pct:5", "guided"] {
            let of = runs.iter().filter(|run| run.mistake == mistake.name && run.way == way);
            let steps: Vec<u64> = of.filter_map(|run| steps(&run.ended)).collect();
            assert!(!steps.is_empty() && steps.first() != steps.get(1), "{way} finds {}: {text}", mistake.name);
        }
    }
    let none = |_: &[String]| -> Result<Finished, String> { panic!("all runs are kept") };
    assert_eq!(table(&choice, &mut open("runs.jsonl"), &none), Ok(text));
    // Work, not time, ends a run.
    let again = Choice { ways: vec![choice.ways[1]], ..choice };
    table(&again, &mut open("again.jsonl"), &run).unwrap_or_else(|error| panic!("{error}"));
    let repeated = std::fs::read_to_string(place.path().join("again.jsonl")).expect("the runs are kept");
    let repeated = repeated.lines().map(|line| serde_json::from_str::<Run>(line).expect("a run").ended);
    let first = runs.iter().filter(|run| run.way == again.ways[0].name).map(|run| run.ended.clone());
    assert_eq!(repeated.collect::<Vec<_>>(), first.collect::<Vec<_>>());
}

/// The steps until a finding.
fn steps(ended: &Ended) -> Option<u64> {
    match ended {
        Ended::Found { steps, .. } => Some(*steps),
        _ => None,
    }
}
