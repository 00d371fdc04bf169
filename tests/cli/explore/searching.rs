//! Searches from a moment, random seeds, different ends.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Page;
use crate::cli::golden::repository;

/// Twelve random walks are as many runs of `host run` with one walk each.
#[test]
fn seeds_from_a_moment_are_the_walks_of_these_seeds() {
    let place = repository();
    let Some(page) = Page::of(&place, &["plugins/register", "--quiet", "--", "--set", "bug=one-ack"]) else { return };
    let seeds = 12;
    let progress = page.searched(0, &json!({ "strategy": "walk", "seeds": seeds, "seconds": 600, "depth": 60 }));
    assert_eq!(progress["state"], "done", "{progress}");
    let mut violating = 0;
    for seed in 1..=seeds {
        let seed = seed.to_string();
        let walk = ["run", "plugins/register", "--quiet", "--json", "--algo", "walk", "--walks", "1", "--seed", &seed];
        let ran = place.host(&[&walk[..], &["--depth", "60", "--no-minimize", "--set", "bug=one-ack"]].concat()).json();
        violating += u64::from(ran["result"] == "violation");
    }
    assert_eq!(progress["seeds"], json!({ "asked": seeds, "done": seeds, "violating": violating }));
    assert!(violating > 0 && violating < seeds, "{violating} of {seeds} say little");
    let findings = progress["findings"].as_array().expect("a list");
    let told: u64 = findings.iter().filter_map(|finding| finding["seeds"].as_u64()).sum();
    assert_eq!(told, violating, "each seed counts once: {findings:?}");
    for finding in findings {
        let state = page.get(&format!("places/{}", finding["place"]));
        let is_violated = state["standings"].as_array().expect("a list").iter().any(|it| it["standing"] == "violated");
        assert!(is_violated, "{finding}");
    }
    for (wanted, status) in [(json!({ "strategy": "walk", "seeds": 0 }), 400), (json!({ "strategy": "none" }), 400)] {
        assert_eq!(page.ask("POST", "places/0/search", &wanted).0, status, "{wanted}");
    }
    page.ends();
}

/// Findings of one strategy are branches while it continues, and the minimised ones take their place at its end.
#[test]
fn findings_of_a_strategy_appear_while_it_runs() {
    let place = repository();
    let behind = ["--set", "bug=one-ack", "--nodes", "5", "--continue"];
    for strategy in ["bdfs", "dpor", "auto", "unfold"] {
        let words = ["plugins/register", "--quiet", "--"].into_iter().chain(behind);
        let Some(page) = Page::of(&place, &words.collect::<Vec<_>>()) else { return };
        let wanted = json!({ "strategy": strategy, "seconds": 3_600 });
        let search = page.post("places/0/search", &wanted)["search"].clone();
        // It would take long: the findings are there before, each a branch at whose end the property is violated.
        let early = loop {
            let progress = page.get(&format!("searches/{search}"));
            assert_eq!(
                progress["state"], "running",
                "{strategy}: the search ends too early to say anything: {progress}"
            );
            if progress["findings"].as_array().is_some_and(|findings| !findings.is_empty()) {
                break progress["findings"].clone();
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        for finding in early.as_array().expect("a list") {
            let state = page.get(&format!("places/{}", finding["place"]));
            let standings = state["standings"].as_array().expect("a list");
            assert!(standings.iter().any(|it| it["standing"] == "violated"), "{strategy}: {finding}");
            assert!(finding["marks"].as_array().is_some_and(|marks| !marks.is_empty()), "{strategy}: {finding}");
        }
        page.ask("DELETE", &format!("searches/{search}"), &Value::Null);
        let end = loop {
            let progress = page.get(&format!("searches/{search}"));
            if progress["state"] != "running" {
                break progress;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        assert_eq!(end["state"], "stopped", "{strategy}: {end}");
        assert!(end["findings"].as_array().is_some_and(|findings| !findings.is_empty()), "{strategy}: {end}");
        page.ends();
    }
}

/// The page offers every strategy that `host list` names.
#[test]
fn every_strategy_is_offered() {
    let place = crate::cli::Place::new();
    place.put("guest.wasm", host_sandbox::fixtures::ping_pong());
    let Some(page) = Page::of(&place, &["guest.wasm", "--quiet", "--", "--nodes", "2"]) else { return };
    let offered: Vec<String> = serde_json::from_value(page.get("session")["strategies"].clone()).expect("names");
    let listed = place.host(&["list"]).exits(0).out;
    for name in &offered {
        assert!(listed.contains(name.as_str()), "{name} of {listed}");
        // The cluster has no end: the search begins, and is stopped.
        let search = page.post("places/0/search", &json!({ "strategy": name, "seconds": 3_600 }))["search"].clone();
        page.ask("DELETE", &format!("searches/{search}"), &Value::Null);
        let end = loop {
            let progress = page.get(&format!("searches/{search}"));
            if progress["state"] != "running" {
                break progress;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        assert!(["done", "stopped"].iter().any(|state| end["state"] == *state), "{name}: {end}");
    }
    let distinct: BTreeSet<&String> = offered.iter().collect();
    let hidden = ["lmc-gen", "dpor-ds", "dpor-ds-tree"];
    let all = host_search::strategy::STRATEGIES.iter().map(|row| row.name).filter(|name| !hidden.contains(name));
    assert_eq!((distinct.len(), &offered[0][..]), (all.count(), "auto"));
    page.ends();
}

/// A search that finds nothing shows a few ways with different ends, each a branch.
#[test]
fn where_nothing_is_found_ways_with_different_ends_are_shown() {
    let place = repository();
    let Some(page) = Page::of(&place, &["plugins/paxos", "--quiet", "--", "--set", "proposers=2"]) else { return };
    let from = page.take(0, 0);
    let wanted = json!({ "strategy": "bdfs", "depth": 3, "seconds": 600 });
    let progress = page.searched(from, &wanted);
    assert_eq!((&progress["state"], &progress["findings"]), (&json!("done"), &json!([])), "{progress}");
    assert!(progress["representatives"].as_array().is_some_and(|ways| !ways.is_empty()), "{progress}");
    let progress = page.searched(from, &json!({ "strategy": "walk", "seeds": 3, "depth": 200, "seconds": 600 }));
    let ways = progress["representatives"].as_array().expect("a list");
    assert!(ways.len() > 1 && ways.len() <= 10, "{progress}");
    let mut ends = BTreeSet::new();
    for way in ways {
        let line: Vec<u64> = serde_json::from_value(way["line"].clone()).expect("places");
        assert_eq!(line[1], from, "it begins with the steps so far");
        assert!(way["text"].as_str().is_some_and(|text| !text.is_empty()) && way["seeds"].as_u64().is_some());
        let state = page.get(&format!("places/{}", way["place"]));
        let nodes = state["nodes"].as_array().expect("a list");
        let values = |rows: &Value| {
            let rows = rows.as_array().expect("a list").iter().filter(|row| row["mark"] != "gone");
            rows.map(|row| format!("{} {}", row["name"], row["value"])).collect::<Vec<_>>()
        };
        ends.insert(nodes.iter().map(|node| values(&node["rows"])).collect::<Vec<_>>());
    }
    assert_eq!(ends.len(), ways.len(), "no two end alike");
    page.ends();
}
