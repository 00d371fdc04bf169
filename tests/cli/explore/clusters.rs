//! Clusters of all kinds: nodes that differ, specifications and prefixes, long traces.

use host_sandbox::fixtures::{self, Guest};
use serde_json::{Value, json};

use super::Page;
use crate::cli::golden::repository;
use crate::cli::origins::{counterexample, exported, put};
use crate::cli::{Place, bundled, folder};

/// Each option that makes nodes differ, or begins a search elsewhere: the session steps, searches, and its traces are sessions again.
#[test]
fn sessions_of_clusters_that_differ_step_search_and_are_saved() {
    let place = repository();
    // Another component with the same properties: the same one under another name.
    std::fs::copy(bundled("paxos"), place.path("other.wasm")).expect("it can be copied");
    let cases: [(&str, &[&str]); 6] = [
        ("plugins/paxos", &["--set", "proposers=2", "--twin", "1"]),
        ("plugins/paxos", &["--adversary", "1=plugins/fanout"]),
        ("plugins/paxos", &["--node", "1=other.wasm"]),
        ("plugins/paxos", &["--set-on", "1:bug=last-response", "--set", "proposers=2"]),
        ("plugins/paxos", &["--spec", "plugins/paxos-spec"]),
        ("plugins/paxos", &["--prefix", "plugins/paxos/scenarios/live-state.json"]),
    ];
    for (number, (plugin, options)) in cases.into_iter().enumerate() {
        let Some(page) = Page::of(&place, &[&[plugin, "--quiet", "--"], options].concat()) else { return };
        let line = page.get("session")["line"].clone();
        let mut at = line.as_array().and_then(|line| line.last()).and_then(Value::as_u64).expect("an end");
        for _ in 0..2 {
            at = page.take(at, 0);
        }
        let wanted = json!({ "strategy": "bdfs", "depth": 2, "seconds": 600 });
        let progress = page.searched(at, &wanted);
        assert_eq!(progress["state"], "done", "{options:?}: {progress}");
        // Expressions read every node, whatever component it runs.
        let probe = page.post("probes", &json!({ "expression": "size(nodes)" }));
        let values = page.get(&format!("probes/{}?to={at}", probe["probe"]));
        let nodes = page.get("session")["nodes"].as_array().map(Vec::len).expect("a list");
        assert_eq!(
            values["values"].as_array().and_then(|all| all.last()),
            Some(&json!(nodes.to_string())),
            "{options:?}"
        );
        let state = page.get(&format!("places/{at}"));
        let file = format!("saved-{number}.json");
        page.post(&format!("places/{at}/save"), &json!({ "path": file }));
        page.ends();
        let mut again = vec![file.as_str(), "--quiet", "--plugin", plugin];
        if let Some(other) = options.iter().find(|it| it.starts_with("1=")) {
            again.extend(["--node", other]);
        }
        if options[0] == "--spec" {
            again.extend(["--spec", options[1]]);
        }
        let Some(page) = Page::of(&place, &again) else { return };
        let line = page.get("session")["line"].clone();
        let end = line.as_array().and_then(|line| line.last()).and_then(Value::as_u64).expect("an end");
        let reopened = page.get(&format!("places/{end}"));
        for part in ["nodes", "flight", "standings", "enabled"] {
            let texts = |state: &Value| without_places(&state[part]);
            assert_eq!(texts(&reopened), texts(&state), "{options:?}: {part}");
        }
        let progress = page.searched(end, &wanted);
        assert_eq!(progress["state"], "done", "{options:?}, from its trace: {progress}");
        page.ends();
    }
}

/// A part of a state without the numbers of places, which differ from session to session.
fn without_places(part: &Value) -> Value {
    match part {
        Value::Array(items) => items.iter().map(without_places).collect(),
        Value::Object(fields) => {
            let fields =
                fields.iter().filter(|(name, _)| !["sent", "child", "place", "parent"].contains(&name.as_str()));
            Value::Object(fields.map(|(name, value)| (name.clone(), without_places(value))).collect())
        }
        other => other.clone(),
    }
}

/// Each command that docs/explore.md shows starts a session.
#[test]
fn the_commands_of_the_book_start_sessions() {
    let place = repository();
    let docs = std::fs::read_to_string(folder("../docs").join("explore.md")).expect("the page is there");
    let commands: Vec<&str> = docs.lines().filter_map(|line| line.strip_prefix("host explore ")).collect();
    assert!(commands.len() >= 3, "{commands:?}");
    let run = ["run", "plugins/paxos", "--set", "bug=last-response", "--set", "proposers=2", "--algo", "unfold"];
    place.host(&[&run[..], &["--out", "found"]].concat()).exits(12);
    for command in commands {
        let (before, behind) = command.split_once(" -- ").unwrap_or((command, ""));
        let mut words: Vec<&str> = before.split(' ').chain(["--quiet"]).collect();
        if !behind.is_empty() {
            words.extend(std::iter::once("--").chain(behind.split(' ')));
        }
        let Some(page) = Page::of(&place, &words) else { return };
        assert_eq!(page.get("session")["nodes"].as_array().map(Vec::len), Some(3), "{command}");
        page.ends();
    }
}

/// An absent node has no state: it is shown as such, and expressions pass over it along the branch.
#[test]
fn probes_pass_over_an_absent_node() {
    let (place, whole) = counterexample();
    let mut live = exported(&whole, 4);
    let beginning = live.beginning.as_mut().expect("it begins there");
    beginning.states.truncate(2);
    beginning.in_flight.retain(|flight| flight.to != 2);
    live.scenario.absent.insert(2);
    put(&place, "o/live.json", &live);
    let Some(page) = Page::of(&place, &["o/live.json", "--plugin", bundled("paxos"), "--quiet"]) else { return };
    let line = page.get("session")["line"].clone();
    let mut at = line.as_array().and_then(|line| line.last()).and_then(Value::as_u64).expect("an end");
    let mut wanted = Vec::new();
    // Until no event is left: the other two nodes have decided, or wait for the absent one.
    for step in 0_u64.. {
        let state = page.get(&format!("places/{at}"));
        let nodes = state["nodes"].as_array().expect("a list");
        assert_eq!(nodes[2]["rows"][0]["value"], "absent", "{}", nodes[2]);
        let promised = |node: &Value| {
            // A row of its own where it has changed, and otherwise the first field of the acceptor.
            let rows = node["rows"].as_array().expect("a list");
            let value = |name: &str| rows.iter().find(|row| row["name"] == name).and_then(|row| row["value"].as_str());
            let whole = || value("acceptor")?.strip_prefix("{promised: ")?.split(',').next();
            value("promised").or_else(whole).unwrap_or_else(|| panic!("{node}")).to_owned()
        };
        wanted.push(format!("[{}, {}]", promised(&nodes[0]), promised(&nodes[1])));
        let enabled = state["enabled"].as_array().expect("a list");
        assert!(enabled.iter().all(|event| event["node"] != 2), "an absent node takes no step: {enabled:?}");
        if enabled.is_empty() || step == 8 {
            break;
        }
        at = page.take(at, step % enabled.len() as u64);
    }
    assert!(wanted.len() > 3, "some steps lead on: {wanted:?}");
    let probe = page.post("probes", &json!({ "expression": "nodes.map(n, n.Running.acceptor.promised)" }));
    let values = page.get(&format!("probes/{}?to={at}", probe["probe"]));
    let values = values["values"].as_array().expect("a list");
    assert_eq!(values[values.len() - wanted.len()..], wanted.iter().map(|it| json!(it)).collect::<Vec<_>>());
    let size = page.post("probes", &json!({ "expression": "size(nodes)" }));
    assert_eq!(page.get(&format!("probes/{}?to=0", size["probe"]))["values"], json!(["2"]));
    page.ends();
}

/// Steps of a long trace.
pub(super) const STEPS: usize = 100_000;

/// A trace in which a node sends itself a message and receives it, again and again: as many messages in flight as steps would be too many
/// for a session. None if the program is not built.
pub(super) fn long_trace(place: &Place) -> Option<Value> {
    place.put("guest.wasm", fixtures::counts());
    let page = Page::of(place, &["guest.wasm", "--quiet", "--", "--nodes", "1"])?;
    let at = page.take(0, 0);
    let state = page.get(&format!("places/{at}"));
    let enabled = state["enabled"].as_array().expect("a list");
    let deliver = enabled.iter().find(|event| event["kind"] == "deliver").expect("its message is in flight");
    let end = page.take(at, deliver["action"].as_u64().expect("a number"));
    let mut trace = page.get(&format!("places/{end}/trace"));
    page.ends();
    let steps = trace["steps"].as_array_mut().expect("a list");
    for step in steps.iter_mut() {
        let fields = step.as_object_mut().expect("a step");
        fields.remove("sent");
        fields.remove("state");
    }
    *steps = steps.iter().cloned().cycle().take(STEPS).collect();
    Some(trace)
}

/// A trace of 100,000 steps opens, answers at its end, and grows.
#[test]
fn a_trace_of_a_hundred_thousand_steps_is_a_session() {
    let place = Place::new();
    let Some(mut trace) = long_trace(&place) else { return };
    place.put("long.json", trace.to_string());
    let Some(page) = Page::of(&place, &["long.json", "--plugin", "guest.wasm", "--quiet"]) else { return };
    let line = page.get("session")["line"].clone();
    assert_eq!(line.as_array().map(Vec::len), Some(STEPS + 1));
    let last = page.get(&format!("line?to={STEPS}&from={}", STEPS - 4));
    assert_eq!(last.as_array().map(Vec::len), Some(5));
    let many = page.get(&format!("line?to={STEPS}&from=0"));
    assert_eq!(many.as_array().map(Vec::len), Some(20_000), "an answer has a limit");
    let moved = page.post(&format!("places/{STEPS}/take"), &json!({ "action": 0, "outcome": 0 }));
    let end = STEPS + 1;
    assert_eq!(moved, json!({ "place": end, "line": [STEPS, end] }), "the way before is no part of the answer");
    assert_eq!(page.get(&format!("places/{end}"))["step"]["depth"], STEPS + 1);
    page.ends();
    // Where every step leaves a message in flight, there are too many of them; the other commands read the trace.
    let steps = trace["steps"].as_array_mut().expect("a list");
    let send = steps.iter().find(|step| step["event"]["kind"] != "deliver").expect("a message is sent").clone();
    *steps = std::iter::repeat_n(send, STEPS).collect();
    place.put("piled.json", trace.to_string());
    let refused = place.host(&["explore", "piled.json", "--plugin", "guest.wasm", "--quiet"]).exits(151);
    refused.says(&["100000000 messages in flight, the most that it keeps", "`host replay` prints its steps"]);
    place.host(&["replay", "piled.json", "--plugin", "guest.wasm", "--quiet"]).exits(0);
}

/// The advice for a trace with too many messages in flight, taken: a fault behind 100,000 sent messages is replayed, and made short.
#[test]
fn a_fault_behind_a_hundred_thousand_messages_is_replayed_and_made_short() {
    let place = Place::new();
    let sends = "(call $send (i32.const 0) (i32.const 7))".to_owned();
    let guest = Guest { local: sends, message: "unreachable".into(), ..Guest::default() };
    place.put("guest.wasm", guest.component());
    let run = ["run", "guest.wasm", "--quiet", "--nodes", "1", "--algo", "bdfs", "--depth", "2", "--out", "found"];
    place.host(&run).exits(14);
    let trace = std::fs::read_to_string(place.path("found/trace.json")).expect("it was written");
    let mut trace: Value = serde_json::from_str(&trace).expect("JSON");
    let steps = trace["steps"].as_array_mut().expect("a list");
    assert_eq!(steps.len(), 2, "a message is sent, and its receipt fails");
    steps.iter_mut().for_each(|step| {
        let fields = step.as_object_mut().expect("a step");
        fields.remove("sent");
        fields.remove("state");
    });
    let send = steps[0].clone();
    steps.splice(0..0, std::iter::repeat_n(send, STEPS - 2));
    place.put("piled.json", trace.to_string());
    let given = ["piled.json", "--plugin", "guest.wasm", "--quiet"];
    let refused = place.host(&[&["explore"][..], &given].concat()).exits(151);
    refused.says(&["messages in flight", "`host replay` prints its steps, and `host minimize` shortens it"]);
    let replayed = place.host(&[&["replay"][..], &given].concat()).exits(14);
    assert!(replayed.out.contains(&format!("{STEPS}. node 0 <- node 0")), "{:?}", replayed.out.lines().last());
    place.host(&[&["minimize"][..], &given, &["--out", "short.json"]].concat()).exits(0);
    let short = std::fs::read_to_string(place.path("short.json")).expect("it was written");
    let short: Value = serde_json::from_str(&short).expect("JSON");
    assert_eq!(short["steps"].as_array().map(Vec::len), Some(2));
    // The advised way ends where it should have begun.
    let Some(page) = Page::of(&place, &["short.json", "--plugin", "guest.wasm", "--quiet"]) else { return };
    assert_eq!(page.get("session")["line"], json!([0, 1, 2]));
    page.ends();
}
