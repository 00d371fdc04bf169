//! Moments that are saved as tests: a scenario and the trace that it begins after.

use serde_json::{Value, json};

use super::Page;
use crate::cli::golden::repository;

/// A reset that is clicked makes an acceptor forget: the events that violate agreement are saved, and `host test` runs them.
#[test]
fn a_fault_inserted_by_click_becomes_a_scenario_that_is_tested() {
    let place = repository();
    let scenario = "plugins/paxos/scenarios/forget-accepted.toml";
    place.host(&["run", scenario, "--quiet", "--out", "found"]).exits(12);
    // The words of the events, as a person would read them.
    let Some(shown) = Page::of(&place, &["found/trace.json", "--plugin", "plugins/paxos", "--quiet"]) else { return };
    let end = shown.get("session")["line"].as_array().expect("a line").last().cloned().expect("an end");
    let line = shown.get(&format!("line?to={end}"));
    let steps: Vec<(String, String)> = line.as_array().expect("a list")[1..]
        .iter()
        .map(|step| {
            let part = |name: &str| step["event"][name].as_str().unwrap_or_default().to_owned();
            (part("text"), part("kind"))
        })
        .collect();
    assert_eq!(steps.iter().filter(|(_, kind)| kind == "fault").count(), 1, "{steps:?}");
    shown.ends();
    let Some(page) = Page::of(&place, &[scenario, "--quiet"]) else { return };
    let too_early = page.ask("POST", "places/0/scenario", &json!({ "path": "kept/early.toml" }));
    assert_eq!(too_early.0, 409, "{too_early:?}");
    assert!(!place.path("kept").exists());
    let mut at = 0;
    for (text, kind) in &steps {
        at = page.click(at, text, Some(kind));
    }
    let violated = page.get(&format!("places/{at}"))["standings"][0].clone();
    assert_eq!(violated["standing"], "violated", "{violated}");
    let saved = page.post(&format!("places/{at}/scenario"), &json!({ "path": "kept/lost-memory.toml" }));
    assert!(saved["text"].as_str().is_some_and(|text| text.contains("host test kept/lost-memory.toml")), "{saved}");
    for (path, status) in [("kept/lost-memory.toml", 409), ("../x.toml", 400), ("x.json", 400), ("", 400)] {
        let refused = page.ask("POST", &format!("places/{at}/scenario"), &json!({ "path": path }));
        assert_eq!(refused.0, status, "{path}: {refused:?}");
    }
    page.ends();
    let tested = place.host(&["test", "kept/lost-memory.toml"]).exits(0);
    // The trace is a list of events: another build of the plugin follows it.
    let prefix: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path("kept/lost-memory.json")).expect("it was written"))
            .expect("JSON");
    assert_eq!((&prefix["plugin"]["digest"], &prefix["steps"][0]["state"]), (&Value::Null, &Value::Null));
    assert!(tested.out.contains("1 passed, 0 failed"), "{tested:?}");
    // It is a scenario like any other: it can be run and explored, from where it was saved.
    let ran = place.host(&["run", "kept/lost-memory.toml", "--quiet", "--json"]).json();
    assert_eq!((&ran["result"], &ran["violations"][0]["length"]), (&json!("violation"), &json!(steps.len())));
    // A scenario with a wrong expectation fails.
    let text = std::fs::read_to_string(place.path("kept/lost-memory.toml")).expect("it was written");
    for (right, wrong) in [("\"violation\"", "\"ok\""), ("\"agreement\"", "\"chosen\"")] {
        assert!(text.contains(right), "{text}");
        place.put("kept/other.toml", text.replace(right, wrong));
        let failed = place.host(&["test", "kept/other.toml"]);
        assert_ne!(failed.code, 0, "{wrong}: {failed:?}");
    }
    // A protocol that keeps its memory does not follow: the events lead elsewhere, and the test reports that.
    place.put("kept/other.toml", format!("{text}\n[parameters]\nbug = \"none\"\n"));
    let mended = place.host(&["test", "kept/other.toml"]);
    assert_ne!(mended.code, 0, "{mended:?}");
}

/// A node that traps is a violation, too.
#[test]
fn a_trap_becomes_a_scenario() {
    let place = crate::cli::Place::new();
    place.put("guest.wasm", host_sandbox::fixtures::traps());
    let Some(page) = Page::of(&place, &["guest.wasm", "--quiet", "--", "--nodes", "1"]) else { return };
    let mut at = 0;
    while page.get(&format!("places/{at}"))["nodes"][0]["stuck"] == Value::Null {
        at = page.take(at, 0);
    }
    page.post(&format!("places/{at}/scenario"), &json!({ "path": "trap.toml" }));
    page.ends();
    place.host(&["test", "trap.toml"]).exits(0);
}
