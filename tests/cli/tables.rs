//! The tables of docs/steering.md: the first runs of each row give the figures in `tests/tables/steering.txt`.
//!
//! The rows themselves take hours. If a change moves the figures of their first runs, `HOST_BLESS=1` writes the new ones: then the rows of
//! the page have to be measured again, too.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

use super::book::words;
use super::folder;
use super::golden::{compare_file, repository};

/// The figures of a command that simulates: the digest of its runs, and the counts that are not 0.
fn figures(said: &Value) -> String {
    let mut line = format!("    {}", said["digest"].as_str().expect("a digest"));
    for of in [said, &said["checkers"]] {
        for (name, value) in of.as_object().into_iter().flatten() {
            if let Some(count) = value.as_u64().filter(|count| *count > 0 && !["seed", "exit_code"].contains(&&**name))
            {
                write!(line, ", {name} {count}").expect("a string takes every word");
            }
        }
    }
    line
}

/// The commands of a page in its sentences.
fn commands(page: &str) -> impl Iterator<Item = &str> {
    page.split('`').filter(|span| span.starts_with("host simulate "))
}

/// The plugin of a command, and each option with the word behind it, except for the number and the length of its runs.
fn row(command: &str) -> BTreeSet<[String; 2]> {
    let words = words(command).unwrap_or_else(|wrong| panic!("`{command}`: {wrong}"));
    let is_kept = |pair: &&[String]| {
        let option = pair[0].as_str();
        option == "simulate" || (option.starts_with("--") && !["--runs", "--time"].contains(&option))
    };
    words.windows(2).filter(is_kept).map(|pair| [pair[0].clone(), pair[1].clone()]).collect()
}

#[test]
fn the_first_runs_of_the_tables_on_steering_have_their_figures() {
    let file = folder("../tests/tables/steering.txt");
    let kept = std::fs::read_to_string(&file).expect("the figures are in the tree");
    let place = repository();
    let (mut found, mut rows) = (String::new(), BTreeSet::new());
    for command in kept.lines().filter(|line| line.starts_with("host simulate ")) {
        let words = words(command).unwrap_or_else(|wrong| panic!("`{command}`: {wrong}"));
        let end = words.iter().position(|word| word == "--").expect("the cluster is described");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = place.host(&[&words[1..end], &["--json", "--out", "found"], &words[end..]].concat());
        assert!([0, 12].contains(&ran.code), "`{command}`: {ran:?}");
        write!(found, "{command}\n{}\n", figures(&ran.json())).expect("a string takes every word");
        assert!(rows.insert(row(command)), "`{command}` is there twice");
    }
    compare_file(&file, &found);
    let page = std::fs::read_to_string(folder("../docs/steering.md")).expect("the page is there");
    for command in commands(&page) {
        assert!(rows.contains(&row(command)), "tests/tables/steering.txt has no figures of `{command}`");
    }
    assert!(commands(&page).count() > 5);
}
