//! Components compared by their sequences of views.

use host_sandbox::fixtures;
use serde_json::{Value, json};

use super::{Place, bundled, folder};
use crate::languages;

/// Compares a component with itself or another one; the words stand before `--`, the options of the cluster behind it.
fn refine(place: &Place, components: [&str; 2], words: &[&str], cluster: &[&str]) -> super::Ran {
    place.host(&[&["refine"][..], &components, &["--json"], words, &["--"], cluster].concat())
}

/// A scenario with a mistake, and the shortest difference from the correct twin in events.
struct Mistake {
    plugin: &'static str,
    scenario: &'static str,
    events: usize,
}

/// The reader of the register asks two others and has two answers after five events, and does not write back. Of the others, most need
/// fewer events than their violation, and none needs more.
const MISTAKES: [Mistake; 6] = [
    Mistake { plugin: "register", scenario: "no-write-back", events: 5 },
    Mistake { plugin: "two-phase-commit", scenario: "impatient", events: 3 },
    Mistake { plugin: "retransmission", scenario: "forget", events: 2 },
    Mistake { plugin: "retransmission", scenario: "last-only", events: 6 },
    Mistake { plugin: "retransmission", scenario: "no-memory", events: 4 },
    Mistake { plugin: "regular-storage", scenario: "forget-value", events: 3 },
];

/// The file of a scenario, the folder of its plugin, and the length of its violation.
fn of_scenario(plugin: &str, scenario: &str) -> (String, String, usize) {
    let folder = folder(plugin);
    let file = folder.join(format!("scenarios/{scenario}.toml"));
    let text = std::fs::read_to_string(&file).expect("it is there");
    let length = text.lines().find_map(|line| line.strip_prefix("length = ")?.parse().ok()).unwrap_or(0);
    (file.display().to_string(), folder.display().to_string(), length)
}

/// Each mistake shows something that the correct twin cannot show, not later than its violation, and the trace of it replays.
#[test]
fn each_mistake_differs_from_its_correct_twin() {
    let place = Place::new();
    for Mistake { plugin, scenario, events } in MISTAKES {
        let (file, old, length) = of_scenario(plugin, scenario);
        let run = |words: &[&str]| {
            let compared = ["refine", &file, &old, "--set-old", "bug=none", "--json", "--quiet"];
            place.host(&[&compared[..], words].concat())
        };
        let found = run(&["--out", "trace.json"]).exits(12).json();
        let steps = found["difference"]["steps"].as_array().expect("a list").len();
        assert_eq!((&found["result"], steps), (&json!("differs"), events), "{plugin} {scenario}: {found}");
        assert!(steps <= length, "{plugin} {scenario}: {length}");
        let replayed = place.host(&["replay", "trace.json", "--plugin", &old, "--quiet"]);
        assert!([0, 12, 13, 14].contains(&replayed.code), "{plugin} {scenario}: {replayed:?}");
        // Up to one event less, there is no difference.
        let less = run(&["--events", &(steps - 1).to_string()]).exits(130).json();
        let less = (&less["result"], &less["bound"], &less["events"]);
        assert_eq!(less, (&json!("undecided"), &json!("events"), &json!(steps - 1)), "{plugin} {scenario}");
    }
}

/// A mistake by which a node does less, and nothing else, shows nothing new.
#[test]
fn a_mistake_that_does_less_refines() {
    let place = Place::new();
    for (plugin, scenario) in [("query", "busy"), ("paxos", "strict-accept")] {
        let (file, old, _) = of_scenario(plugin, scenario);
        place.host(&["refine", &file, &old, "--set-old", "bug=none", "--quiet"]).exits(0);
    }
}

/// The same protocol in two languages shows the same, in all executions.
#[test]
fn components_in_two_languages_refine_each_other() {
    let place = Place::new();
    let Some(component) = languages::component("register-go") else { return };
    place.put("other.wasm", component);
    for [new, old] in [[bundled("register"), "other.wasm"], ["other.wasm", bundled("register")]] {
        let same = refine(&place, [new, old], &[], &["--nodes", "3", "--set", "reads=1"]).exits(0).json();
        assert_eq!((&same["result"], &same["bound"]), (&json!("refines"), &Value::Null), "{same}");
        assert_eq!(same["new_states"], same["old_states"], "{same}");
        assert!(same["new_states"].as_u64() > Some(100), "{same}");
    }
}

/// Text, bounds, and what is refused.
#[test]
fn comparisons_are_reported_and_refused() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    let register = bundled("register");
    let run = |words: &[&str]| place.host(&[&["refine", register, register][..], words].concat());
    let same = run(&["--", "--set", "reads=1"]).exits(0);
    assert!(same.out.contains("each sequence of views is one of the old component"), "{same:?}");
    let undecided = run(&["--events", "2"]).exits(130);
    assert!(undecided.out.contains("undecided: the bound of 2 events was hit"), "{undecided:?}");
    let undecided = run(&["--memory", "64KiB"]).exits(130);
    assert!(undecided.out.contains("memory was hit") || undecided.err.contains("memory is used up"), "{undecided:?}");
    run(&["--fields", "copy.none", "--time", "5s"])
        .exits(151)
        .says(&["no state that was reached has the field `copy.none`"]);
    run(&["--fields", "copy..none"]).exits(2);
    run(&["--", "--algo", "bdfs"]).exits(151).says(&["it takes no strategy, and after `--` no `--algo`"]);
    run(&["--", "--always", "x=true"]).exits(151).says(&["takes no cluster with properties from outside", "--fields"]);
    run(&["--", "--property", "regular"]).exits(151).says(&["takes no cluster with a selection of properties"]);
    run(&["--", "--prefix", "trace.json"]).exits(151).says(&["takes no cluster with a prefix"]);
    run(&["--", "--spec", "spec.wasm"]).exits(151).says(&["takes no cluster with specifications"]);
    run(&["--", "--node", "1=guest.wasm"])
        .exits(151)
        .says(&["takes no cluster with nodes with components of their own"]);
    run(&["--set-old", "nothing=1"]).exits(151).says(&["nothing"]);
    let guests = |old: &str| place.host(&["refine", "guest.wasm", old, "--", "--nodes", "2"]);
    guests("none.wasm").exits(150).says(&["none.wasm"]);
    guests("guest.wasm").exits(151).says(&["describes no state, so it shows no views"]);
}
