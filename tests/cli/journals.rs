//! The durable map in each SDK: one protocol in five languages, with equal results. The guests are in `tests/journal`.

use std::path::PathBuf;

use host_build::{Options, sdk};
use serde_json::{Value, json};

use super::Place;
use crate::languages::{all_languages, built, folder};

/// The guests: language, and their files apart from the SDK.
const GUESTS: [(&str, &[(&str, &str)]); 4] = [
    ("c", &[("journal.c", include_str!("../journal/c/journal.c"))]),
    ("go", &[("main.go", include_str!("../journal/go/main.go")), ("go.mod", "module journal\n\ngo 1.24\n")]),
    ("python", &[("app.py", include_str!("../journal/python/app.py"))]),
    (
        "typescript",
        &[
            ("src/index.ts", include_str!("../journal/typescript/index.ts")),
            ("package.json", "{\"name\": \"journal\"}\n"),
        ],
    ),
];

/// Searches with and without restarts, and with each mistake.
const SEARCHES: [(&[&str], u8); 6] = [
    (&["--algo", "bdfs", "--audit", "full"], 0),
    (&["--algo", "bdfs", "--resets", "1"], 0),
    (&["--algo", "bdfs", "--outages", "1"], 0),
    (&["--algo", "unfold", "--nodes", "3", "--set", "entries=1", "--ignore", "more-after-deleted"], 0),
    (&["--algo", "bdfs", "--outages", "1", "--set", "bug=forget-sync"], 12),
    (&["--algo", "bdfs", "--set", "bug=delete-one-more"], 12),
];

/// A run in which a node has more entries than one call of the host returns, and one with kills.
const RUNS: [&[&str]; 2] = [
    &["--latency", "20s..60s", "--application", "1ms..1s", "--time", "10m", "--", "--set", "entries=9"],
    &["--latency", "1s..9s", "--churn", "6/m", "--time", "3m", "--", "--set", "entries=6"],
];

/// The results of a component, without what depends on the bytes of states and messages.
fn results(place: &Place, component: &str) -> Vec<Value> {
    let mut results = Vec::new();
    for (options, exit) in SEARCHES {
        let run = ["run", component, "--json", "--workers", "1", "--no-install"];
        let report = place.host(&[&run[..], options].concat()).exits(exit).json();
        let properties = report["properties"].as_array().expect("a list").iter();
        let properties: Vec<Value> = properties.map(|it| json!([it["name"], it["status"]])).collect();
        let found = report["violations"].as_array().expect("a list").iter();
        let found: Vec<Value> = found.map(|it| json!([it["finding"], it["length"]])).collect();
        results.push(json!([report["end"], report["counts"], report["depth"], properties, found]));
    }
    for options in RUNS {
        let simulate = ["simulate", component, "--json", "--seed", "1", "--runs", "5"];
        let report = place.host(&[&simulate[..], options].concat()).exits(0).json();
        let counts = ["events", "delivered", "local", "resets", "ends", "witnessed_ms"].map(|key| report[key].clone());
        results.push(json!(counts));
    }
    results
}

#[test]
fn the_durable_map_is_the_same_in_every_sdk() {
    let place = Place::new();
    let rust = host_build::build(&folder("../tests/journal/rust"), &Options::default(), &mut |_| {});
    let rust = rust.expect("Rust is there").wasm;
    let expected = results(&place, rust.to_str().expect("a path in words"));
    assert!(expected[4][4][0][1] == 4 && expected[5][4][0][1] == 7, "the shortest violations: {expected:?}");
    assert!(expected[7][3].as_u64() > Some(5), "nodes are killed: {expected:?}");
    for (language, files) in GUESTS {
        let place = Place::new();
        let own = files.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned()));
        for (path, content) in sdk::files(language).into_iter().chain(own) {
            let path: PathBuf = place.path("journal").join(path);
            std::fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a new folder");
            std::fs::write(path, content).expect("a new file");
        }
        if built(language, &place.path("journal"), all_languages()).is_none() {
            continue;
        }
        for (number, (found, expected)) in results(&place, "journal").iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{language}, {number}");
        }
    }
}
