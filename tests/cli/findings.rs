//! Judged properties, merged findings, and traces to states in which a property is reached.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Place, bundled};

/// The register whose writer does not wait for a majority: `monotone` and `stored-by-majority` are violated.
const ONE_ACK: [&str; 4] = ["--set", "bug=one-ack", "--set", "reads=1"];

/// The status of each property of a run, and why it is not checked.
fn statuses(run: &Value) -> Vec<(String, String, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let status = |it: &Value| (text(&it["name"]).unwrap(), text(&it["status"]).unwrap(), text(&it["not_checked"]));
    run["properties"].as_array().expect("a list").iter().map(status).collect()
}

fn violated(run: &Value) -> BTreeSet<String> {
    let violations = run["violations"].as_array().expect("a list").iter();
    violations.map(|violation| violation["property"].as_str().expect("no faults").to_owned()).collect()
}

/// The strategies that decide the register, with the options that change their exploration.
const COMPLETE: [&[&str]; 5] = [
    &["--algo", "bdfs"],
    &["--algo", "bdfs", "--reduce"],
    &["--algo", "unfold"],
    &["--algo", "lmc"],
    &["--algo", "auto"],
];

#[test]
fn what_is_ignored_hides_nothing_and_does_not_hold() {
    let place = Place::new();
    for algo in COMPLETE {
        let run = |options: &[&str], code: u8| {
            let words = [&["run", bundled("register"), "--json"][..], &ONE_ACK, algo, options].concat();
            place.host(&words).exits(code).json()
        };
        let both = ["--ignore", "stored-by-majority", "--ignore", "monotone"];
        let found = run(&["--ignore", "stored-by-majority"], 0);
        assert_eq!(found["result"], "ok", "{algo:?}");
        let expected = [
            ("monotone", "holds", None),
            ("stored-by-majority", "not-checked", Some("--ignore leaves it out")),
            ("write-is-read", "reached", None),
        ];
        let owned = expected.map(|(name, status, why)| (name.to_owned(), status.to_owned(), why.map(str::to_owned)));
        assert_eq!(statuses(&found), owned, "{algo:?}");
        assert_eq!(violated(&run(&["--property", "stored-by-majority"], 12)), ["stored-by-majority".to_owned()].into());
        assert_eq!(run(&["--property", "monotone"], 0)["properties"][2]["not_checked"], "--property names others");
        assert_eq!(run(&["--property", "monotone", "--ignore", "write-is-read"], 0)["result"], "ok");
        assert_eq!(run(&both, 0)["properties"][0]["status"], "not-checked");
    }
    let text = place.host(&[&["run", bundled("register"), "--ignore", "stored-by-majority"][..], &ONE_ACK].concat());
    let text = text.exits(0).out;
    let first = text.lines().next().expect("a verdict");
    assert!(first.ends_with("no property is violated; not checked: stored-by-majority"), "{text}");
    assert!(text.contains("stored-by-majority  always      not checked: --ignore leaves it out"), "{text}");
}

/// After a violation the search can continue, and then it decides the other properties like a search without findings.
#[test]
fn a_search_that_continues_decides_the_other_properties() {
    let place = Place::new();
    let status = |run: &Value| statuses(run).into_iter().map(|(name, status, _)| (name, status)).collect::<Vec<_>>();
    let owned = |expected: [(&str, &str); 3]| expected.map(|(name, status)| (name.to_owned(), status.to_owned()));
    for algo in COMPLETE {
        let run = [&["run", bundled("register")][..], &ONE_ACK, algo].concat();
        let whole = place.host(&[&run[..], &["--continue", "--json"]].concat()).exits(12).json();
        assert_eq!((&whole["result"], &whole["end"]), (&json!("violation"), &json!("space-exhausted")), "{algo:?}");
        // `monotone` holds, as the run above that ignores the other one shows.
        let expected = [("monotone", "holds"), ("stored-by-majority", "violated"), ("write-is-read", "reached")];
        assert_eq!(status(&whole), owned(expected), "{algo:?}");
        let text = place.host(&[&run[..], &["--continue"]].concat()).exits(12).out;
        assert!(!text.contains("not decided") && !text.contains("did not explore everything"), "{text}");

        let cut = place.host(&[&run[..], &["--json"]].concat()).exits(12).json();
        assert_eq!(cut["end"], "violation", "{algo:?}");
        assert_eq!(
            status(&cut)[..2],
            owned([("monotone", "unknown"), ("stored-by-majority", "violated"), ("", "")])[..2]
        );
        let text = place.host(&run).exits(12).out;
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("not decided: the search ended with the violation, try --continue"), "{text}");
    }
}

#[test]
fn names_that_no_property_has_are_refused() {
    let place = Place::new();
    let known = "it has: monotone, stored-by-majority, write-is-read";
    for option in ["--property", "--ignore"] {
        let what = format!("`{option}`: register has no property \"agreement\"");
        place.host(&["run", bundled("register"), option, "agreement"]).exits(151).says(&[&what, known]);
    }
    let both = ["run", bundled("register"), "--property", "monotone", "--ignore", "monotone"];
    place.host(&both).exits(151).says(&["`--ignore monotone` contradicts `--property monotone`"]);
    let left_out = ["run", bundled("lock"), "--property", "served", "--safety-only"];
    place.host(&left_out).exits(151).says(&["`--safety-only` leaves out what `--property served` asks for"]);
    place.put("s.toml", format!("plugin = {:?}\n\nignore = [\"agreement\"]\n", bundled("register")));
    place.host(&["run", "s.toml"]).exits(151).says(&["s.toml:3: `--ignore`: register has no property", known]);
}

#[test]
fn scenarios_say_what_is_judged_and_the_command_line_says_it_better() {
    let place = Place::new();
    let scenario = format!(
        "plugin = {:?}\nignore = [\"stored-by-majority\"]\n[parameters]\nbug = \"one-ack\"\nreads = 1\n[strategy]\nalgo = \"bdfs\"\n\
         [expect]\nresult = \"ok\"\n[expect.properties]\nstored-by-majority = \"not-checked\"\nmonotone = \"holds\"\n",
        bundled("register")
    );
    place.put("s.toml", scenario);
    place.host(&["test", "s.toml"]).exits(0);
    let found = place.host(&["run", "s.toml", "--ignore", "monotone", "--json"]).exits(12).json();
    assert_eq!(found["properties"][0]["status"], "not-checked");
    assert_eq!(violated(&found), ["stored-by-majority".to_owned()].into(), "one list takes the place of the other");
}

#[test]
fn a_checkpoint_knows_what_is_judged() {
    let mut place = Place::new();
    let run = ["run", bundled("register"), "--algo", "bdfs", "--json"];
    let ignored = ["--ignore", "stored-by-majority"];
    place.interrupted = Some(20);
    place.host(&[&run[..], &ONE_ACK, &ignored, &["--checkpoint", "kept"]].concat()).exits(130);
    place.interrupted = None;
    let other = ["run", "--resume", "kept", "--ignore", "monotone"];
    place.host(&other).exits(151).says(&["was made with the judged properties monotone, write-is-read, now"]);
    let resumed = place.host(&["run", "--resume", "kept", "--json"]).exits(0).json();
    let whole = place.host(&[&run[..], &ONE_ACK, &ignored].concat()).exits(0).json();
    assert_eq!((&resumed["result"], &resumed["properties"]), (&json!("ok"), &whole["properties"]));
    assert_eq!(resumed["counts"]["global_states"], whole["counts"]["global_states"]);
}

/// Variants by node and by value are one finding with its count.
#[test]
fn variants_are_one_finding() {
    let place = Place::new();
    let live = super::folder("paxos").join("scenarios/live-state.json");
    let live = live.to_str().expect("the path of this repository is text");
    let run = ["run", bundled("paxos"), "--prefix", live, "--continue", "--json", "--algo", "unfold"];
    let found = place.host(&run).exits(12).json();
    let violations = found["violations"].as_array().expect("a list");
    let shapes: BTreeSet<&str> = violations.iter().map(|it| it["shape"].as_str().expect("digits")).collect();
    assert_eq!(shapes.len(), violations.len(), "each shape is reported once");
    let count = |it: &Value| it["count"].as_u64().expect("a number");
    assert!(violations.iter().all(|it| count(it) == 1 + it["alike"].as_u64().expect("a number")));
    // Some violations differ only in the node that has chosen a value, or learns of it.
    let total: u64 = violations.iter().map(count).sum();
    assert!(total > violations.len() as u64, "{total} violations, {} findings", violations.len());
}

#[test]
fn what_is_reached_leaves_a_witness_that_replays_and_begins_a_search() {
    for algo in [&["--algo", "walk", "--walks", "50"][..]].into_iter().chain(COMPLETE) {
        let place = Place::new();
        let run = ["run", bundled("register"), "--set", "reads=1", "--out", "found"];
        let text = place.host(&[&run[..], algo].concat()).exits(0).out;
        assert!(text.contains("reached, see found/witness-write-is-read.json"), "{text}");
        let found = place.host(&[&run[..], algo, &["--json"]].concat()).exits(0).json();
        assert_eq!(found["properties"][2]["witness"], "found/witness-write-is-read.json");
        assert!(found["violations"].as_array().expect("a list").is_empty(), "a witness is no violation");
        let witness = "found/witness-write-is-read.json";
        let ran = place.host(&["replay", witness, "--plugin", bundled("register"), "--json"]).exits(0).json();
        assert_eq!(ran["findings"][0]["name"], "write-is-read", "{ran}");
        let trace: Value =
            serde_json::from_str(&std::fs::read_to_string(place.path(witness)).expect("it is there")).unwrap();
        assert_eq!(trace["finding"]["kind"], json!("sometimes"));
        // A write goes to a majority and back, and so do the query of a read and its write-back: with the two local events at
        // least two deliveries each way, three times; the last way back ends the read.
        let steps = trace["steps"].as_array().expect("a list").len();
        assert!((8..=14).contains(&steps), "{steps} steps");
        let after =
            ["run", bundled("register"), "--prefix", witness, "--algo", "bdfs", "--property", "monotone", "--json"];
        let after = place.host(&after).exits(0).json();
        assert_eq!(after["assumed"]["prefix"]["steps"], json!(steps));
        assert_eq!(after["result"], "ok");
    }
}

/// A server without memory that has performed the only request twice reaches `twice`, and violates `at-most-once`.
#[test]
fn a_witness_in_which_something_is_violated_replays_with_the_code_of_the_violation() {
    let place = Place::new();
    let twice = "twice=has(node.Server) && size(node.Server.performed) > 1";
    let run = ["run", bundled("retransmission"), "--set", "bug=no-memory", "--set", "requests=1", "--algo", "bdfs"];
    place.host(&[&run[..], &["--sometimes", twice, "--out", "found"]].concat()).exits(12);
    let replay = ["replay", "found/witness-twice.json", "--plugin", bundled("retransmission")];
    let text = place.host(&replay).exits(12).out;
    let violated = "replayed: at-most-once is violated: request 1 was performed again: [1, 1]";
    assert!(text.contains(&format!("replayed: twice is reached\n{violated}\n")), "{text}");
    let json = place.host(&[&replay[..], &["--json"]].concat()).exits(12).json();
    let named = |place: usize| &json["findings"][place]["name"];
    assert_eq!((&json["exit_code"], named(0), named(1)), (&json!(12), &json!("twice"), &json!("at-most-once")));
    // A trace without a violation stays a success.
    place.host(&["replay", "found/witness-answered.json", "--plugin", bundled("retransmission")]).exits(0);
}

/// The property reads one node alone; the state after the prefix violates it, and so does each one after that.
#[test]
fn a_violation_at_one_node_can_be_a_prefix() {
    let place = Place::new();
    let run = ["run", bundled("retransmission"), "--set", "bug=no-memory"];
    place.host(&[&run[..], &["--algo", "bdfs", "--out", "found"]].concat()).exits(12);
    let after = [&run[..], &["--prefix", "found/trace.json", "--json", "--algo"]].concat();
    let algos: [&[&str]; 10] = [
        &["auto"],
        &["bdfs"],
        &["bdfs", "--safety-only"],
        &["bdfs", "--reduce"],
        &["unfold"],
        &["lmc"],
        &["lmc-gen"],
        &["consequence"],
        &["dpor"],
        &["walk"],
    ];
    for algo in algos {
        let found = place.host(&[&after[..], algo].concat()).exits(12).json();
        let first = &found["violations"][0];
        let facts = ["property", "length", "prefix_length"].map(|key| &first[key]);
        assert_eq!(facts, [&json!("at-most-once"), &json!(4), &json!(4)], "{algo:?}");
        place.host(&[&after[..], algo, &["--ignore", "at-most-once"]].concat()).exits(0);
    }
}

/// A prefix after which the property holds already is a witness itself, up to where it is reached.
#[test]
fn a_witness_can_lie_within_the_prefix() {
    let place = Place::new();
    let live = super::folder("paxos").join("scenarios/live-state.json");
    let live = live.to_str().expect("the path of this repository is text");
    let run =
        ["run", bundled("paxos"), "--prefix", live, "--algo", "unfold", "--ignore", "agreement", "--out", "found"];
    let found = place.host(&[&run[..], &["--json", "--local-events", "0"]].concat()).exits(0).json();
    assert_eq!(found["properties"][2]["witness"], "found/witness-chosen.json", "{found}");
    place.host(&["replay", "found/witness-chosen.json", "--plugin", bundled("paxos")]).exits(0);
    let after = ["run", bundled("paxos"), "--prefix", "found/witness-chosen.json", "--algo", "unfold", "--json"];
    assert_eq!(place.host(&after).exits(12).json()["assumed"]["prefix"]["steps"], json!(9));
}
