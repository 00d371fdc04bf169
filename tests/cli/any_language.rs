//! A language without a template, by the tables of `wit/README.md` alone: the example there builds and runs.

use super::Place;
use crate::languages::{all_languages, skipped};

#[test]
fn the_example_in_d_runs() {
    let document = include_str!("../../wit/README.md");
    let block = |language: &str, after: &str| {
        let (_, rest) = document.split_once(after).expect("the place");
        let rest = rest.split(&format!("```{language}\n")).nth(1).expect("the block");
        rest.split("```").next().expect("its end").to_owned()
    };
    let place = Place::new();
    std::fs::create_dir(place.path("greetings")).expect("a new folder");
    place.put("greetings/plugin.d", block("d", "a language without a template"));
    place.put("greetings/host.toml", block("toml", "names the compiler"));
    if !all_languages() && std::process::Command::new("ldc2").arg("--version").output().is_err() {
        return skipped("the example in D", &"there is no ldc2; .ci/run long languages installs it");
    }
    let ran = place.host(&["run", "greetings", "--nodes", "3", "--algo", "bdfs", "--audit", "full"]).exits(0);
    // Before the greeting there is one state. Afterwards, for each of two others, the greeting or the answer is in flight, or the answer
    // has arrived: 3 * 3 states. The greeting, and 2 * 2 * 3 deliveries.
    assert!(ran.out.contains("explored 10 global states, 13 transitions"), "{ran:?}");
}
