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
    // Elsewhere there is no `plugins/paxos`: the scenario names what was explored.
    let elsewhere = crate::cli::Place::new();
    elsewhere.host(&["test", &place.path("kept/lost-memory.toml").to_string_lossy()]).exits(0);
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

/// No state shows that a promise is broken: the trace says so, and the test follows it.
#[test]
fn a_broken_promise_becomes_a_test_that_runs_from_anywhere() {
    let place = repository();
    let Some(page) = Page::of(&place, &["plugins/query/scenarios/busy.toml", "--quiet"]) else { return };
    let progress = page.searched(0, &json!({ "strategy": "bdfs", "seconds": 600 }));
    let end = progress["findings"][0]["place"].as_u64().unwrap_or_else(|| panic!("a promise is broken: {progress}"));
    for at in [0, end] {
        let standings = page.get(&format!("places/{at}"))["standings"].clone();
        let all = standings.as_array().expect("a list");
        assert!(all.iter().all(|it| it["standing"] != "violated"), "no state shows it: {standings}");
    }
    assert_eq!(page.ask("POST", "places/0/scenario", &json!({ "path": "kept/early.toml" })).0, 409);
    let saved = page.post(&format!("places/{end}/scenario"), &json!({ "path": "kept/promise.toml" }));
    assert!(saved["text"].as_str().is_some_and(|text| text.contains("host test kept/promise.toml")), "{saved}");
    page.post(&format!("places/{end}/save"), &json!({ "path": "promise.json" }));
    page.ends();
    let replayed = place.host(&["replay", "promise.json", "--plugin", "plugins/query", "--quiet"]);
    assert!(replayed.out.contains("replayed: ") && replayed.out.contains("answered"), "{replayed:?}");
    // From where it was saved, and from a folder in which nothing is.
    place.host(&["test", "kept/promise.toml"]).exits(0);
    let elsewhere = crate::cli::Place::new();
    let given = place.path("kept/promise.toml").to_string_lossy().into_owned();
    let tested = elsewhere.host(&["test", &given]).exits(0);
    assert!(tested.out.contains("1 passed, 0 failed"), "{tested:?}");
    // In another build without the mistake the promise is kept: the test fails, unless that is what it expects.
    let trace = std::fs::read_to_string(place.path("kept/promise.json")).expect("it was written");
    let mut trace: Value = serde_json::from_str(&trace).expect("JSON");
    assert_eq!(trace["scenario"]["parameters"]["bug"], "busy");
    trace["scenario"]["parameters"]["bug"] = json!("none");
    trace["plugin"]["digest"] = json!(format!("blake3:{}", "00".repeat(32)));
    place.put("kept/promise.json", trace.to_string());
    let mended = elsewhere.host(&["test", &given]);
    assert_ne!(mended.code, 0, "{mended:?}");
    let test = std::fs::read_to_string(place.path("kept/promise.toml")).expect("it was written");
    place.put("kept/promise.toml", test.replace("\"violated\"", "\"gone\""));
    elsewhere.host(&["test", &given]).exits(0);
    // A test names a component: it builds no folder.
    let folder = place.path("plugins/query").canonicalize().expect("it is there");
    place.put("kept/promise.toml", format!("trace = \"promise.json\"\nplugin = {:?}\n", folder.display().to_string()));
    let refused = elsewhere.host(&["test", &given]);
    assert_ne!(refused.code, 0);
    assert!(refused.out.contains("would have to be built"), "{refused:?}");
}

/// With a build folder of the user, the component lies there: a scenario names it, and is tested by a process that does not know the folder.
#[test]
fn a_scenario_names_the_component_in_the_build_folder_of_the_user() {
    let place = repository();
    let target = place.path("my builds");
    let options = ["plugins/register", "--quiet", "--", "--set", "bug=one-ack"];
    let Some(page) = Page::building_into(&place, &options, Some(&target)) else { return };
    let progress = page.searched(0, &json!({ "strategy": "unfold", "seconds": 600 }));
    let end = progress["findings"][0]["place"].as_u64().unwrap_or_else(|| panic!("{progress}"));
    page.post(&format!("places/{end}/scenario"), &json!({ "path": "kept/built.toml" }));
    page.ends();
    let text = std::fs::read_to_string(place.path("kept/built.toml")).expect("it was written");
    assert!(text.contains("plugin = \"../my builds/"), "{text}");
    let given = place.path("kept/built.toml").to_string_lossy().into_owned();
    for tested in [place.host(&["test", "kept/built.toml"]), crate::cli::Place::new().host(&["test", &given])] {
        assert!(tested.code == 0 && tested.out.contains("1 passed, 0 failed"), "{tested:?}");
    }
}

/// A deadlock is no state of a property: the trace shows it, and the test follows it in this build and in another one.
#[test]
fn a_deadlock_becomes_a_test() {
    let place = repository();
    let options = ["plugins/two-phase-commit", "--quiet", "--", "--nodes", "2", "--set", "stops=coordinator"];
    let Some(page) = Page::of(&place, &[&options[..], &["--deadlock"]].concat()) else { return };
    let progress = page.searched(0, &json!({ "strategy": "bdfs", "seconds": 600 }));
    let finding = &progress["findings"][0];
    let end = finding["place"].as_u64().unwrap_or_else(|| panic!("a deadlock is found: {progress}"));
    assert!(finding["text"].as_str().is_some_and(|text| text.starts_with("deadlock")), "{finding}");
    let state = page.get(&format!("places/{end}"));
    assert_eq!(state["enabled"], json!([]));
    assert!(state["standings"].as_array().expect("a list").iter().all(|it| it["standing"] != "violated"), "{state}");
    page.post(&format!("places/{end}/scenario"), &json!({ "path": "kept/deadlock.toml" }));
    page.ends();
    // Without the option no search looks for one.
    let Some(page) = Page::of(&place, &options) else { return };
    let progress = page.searched(0, &json!({ "strategy": "bdfs", "seconds": 600 }));
    let findings = progress["findings"].as_array().expect("a list");
    assert!(findings.iter().all(|it| !it["text"].as_str().unwrap_or_default().starts_with("deadlock")), "{progress}");
    page.ends();
    let elsewhere = crate::cli::Place::new();
    let given = place.path("kept/deadlock.toml").to_string_lossy().into_owned();
    for tested in [place.host(&["test", "kept/deadlock.toml"]), elsewhere.host(&["test", &given])] {
        assert!(tested.code == 0 && tested.out.contains("1 passed, 0 failed"), "{tested:?}");
    }
    // A build without the mistake continues: the test fails.
    let trace = std::fs::read_to_string(place.path("kept/deadlock.json")).expect("it was written");
    let mut trace: Value = serde_json::from_str(&trace).expect("JSON");
    assert_eq!(trace["scenario"]["parameters"]["stops"], "coordinator");
    trace["scenario"]["parameters"]["stops"] = json!("none");
    trace["plugin"]["digest"] = json!(format!("blake3:{}", "00".repeat(32)));
    place.put("kept/deadlock.json", trace.to_string());
    assert_ne!(elsewhere.host(&["test", &given]).code, 0);
}

/// A promise that is broken in a cluster with another component at a node: the test names both components.
#[test]
fn a_broken_promise_of_a_mixed_cluster_becomes_a_test() {
    let place = repository();
    // The same component under another name, with another digest.
    let mut other = std::fs::read(crate::cli::bundled("query")).expect("it is built");
    other.extend([0, 5, 4, b'n', b'o', b't', b'e']);
    place.put("other.wasm", other);
    let options = ["plugins/query/scenarios/busy.toml", "--quiet", "--", "--node", "1=other.wasm"];
    let Some(page) = Page::of(&place, &options) else { return };
    let progress = page.searched(0, &json!({ "strategy": "bdfs", "seconds": 600 }));
    let end = progress["findings"][0]["place"].as_u64().unwrap_or_else(|| panic!("a promise is broken: {progress}"));
    page.post(&format!("places/{end}/scenario"), &json!({ "path": "kept/mixed.toml" }));
    page.ends();
    let text = std::fs::read_to_string(place.path("kept/mixed.toml")).expect("it was written");
    assert!(text.contains("[[node]]\nid = 1\nplugin = \"../other.wasm\"\n"), "{text}");
    let given = place.path("kept/mixed.toml").to_string_lossy().into_owned();
    for tested in [place.host(&["test", "kept/mixed.toml"]), crate::cli::Place::new().host(&["test", &given])] {
        assert!(tested.code == 0 && tested.out.contains("1 passed, 0 failed"), "{tested:?}");
    }
    // A component that is not there is missed, and a folder is not built.
    for wrong in ["../missing.wasm", "../plugins/query"] {
        place.put("kept/wrong.toml", text.replace("../other.wasm", wrong));
        assert_ne!(place.host(&["test", "kept/wrong.toml"]).code, 0);
    }
}

/// A scenario saved from the folder of a plugin is tested from there and from elsewhere; among the scenarios of the plugin it is one of them.
#[test]
fn a_scenario_of_a_folder_runs_where_it_was_saved_and_elsewhere() {
    let place = crate::cli::Place::new();
    let text = std::fs::read_to_string(crate::cli::folder("register-text").join("register.wat")).expect("it is there");
    std::fs::create_dir_all(place.path("own/scenarios")).expect("a temporary folder can be written");
    place.put("own/register.wat", text);
    let inside = crate::cli::Place { standing: "own", ..place };
    for given in [".", "./register.wat"] {
        let options = [given, "--quiet", "--", "--set", "bug=one-ack", "--set", "reads=0"];
        let Some(page) = Page::of(&inside, &options) else { return };
        let progress = page.searched(0, &json!({ "strategy": "bdfs", "seconds": 600 }));
        let end = progress["findings"][0]["place"].as_u64().unwrap_or_else(|| panic!("{progress}"));
        let name = if given == "." { "folder" } else { "file" };
        for path in [format!("scenarios/{name}.toml"), format!("kept/{name}.toml")] {
            page.post(&format!("places/{end}/scenario"), &json!({ "path": path }));
            inside.host(&["test", &path]).exits(0);
            let elsewhere = crate::cli::Place::new();
            elsewhere.host(&["test", &inside.path(&format!("own/{path}")).to_string_lossy()]).exits(0);
        }
        page.ends();
    }
}
