//! Guided walks on the command line: goals, audits, mixed clusters, and descriptions that fail.

use host_sandbox::fixtures;
use serde_json::{Value, json};

use super::{Place, bundled};

const GUIDED: [&str; 6] = ["--algo", "guided", "--safety-only", "--json", "--walks", "400"];

/// Guided walks over the two proposals of Paxos, with more options.
fn paxos(place: &Place, options: &[&str]) -> super::Ran {
    place.host(&[&["run", bundled("paxos"), "--set", "proposers=2"], &GUIDED[..], options].concat())
}

#[test]
fn goals_guide_walks_and_are_in_the_report() {
    let place = Place::new();
    let counts = |found: &Value| found["counts"].clone();
    let plain = paxos(&place, &[]).exits(0).json();
    let led = paxos(&place, &["--goal", "chosen"]).exits(0).json();
    assert_eq!(led["assumed"]["bounds"]["goal"], json!(["chosen"]));
    assert_ne!(counts(&plain), counts(&led));
    // Walks end where a value is chosen.
    let away = paxos(&place, &["--avoid", "chosen"]).exits(0).json();
    assert_eq!(away["assumed"]["bounds"]["avoid"], json!(["chosen"]));
    let transitions = |found: &Value| found["counts"]["transitions"].as_u64().expect("a number");
    assert!(transitions(&away) < transitions(&plain), "{away} and {plain}");
    let stated = ["--sometimes", "learnt=nodes.exists(n, size(n.Running.learner.chosen) > 0)"];
    let stated = paxos(&place, &[&stated[..], &["--goal", "learnt", "--goal", "chosen"]].concat()).exits(0).json();
    assert_eq!(stated["assumed"]["bounds"]["goal"], json!(["learnt", "chosen"]));
    place.put(
        "led.scenario.toml",
        format!(
            "plugin = \"{}\"\ngoal = [\"chosen\"]\n[parameters]\nproposers = 2\n\
             [strategy]\nalgo = \"guided\"\nwalks = 400\nsafety-only = true\n",
            bundled("paxos")
        ),
    );
    let of_scenario = place.host(&["run", "led.scenario.toml", "--json"]).exits(0).json();
    assert_eq!(counts(&of_scenario), counts(&led));
}

#[test]
fn names_that_are_no_goals_are_refused() {
    let place = Place::new();
    for (options, words) in [
        (["--goal", "agreement"].as_slice(), "`--goal agreement`: it is of kind `always`"),
        (&["--avoid", "decided"], "`--avoid decided`: it is of kind `eventually`"),
        (&["--goal", "nothing"], "`--goal nothing`: no judged property has this name"),
        (&["--goal", "chosen", "--ignore", "chosen"], "`--goal chosen`: no judged property has this name"),
        (&["--goal", "chosen", "--avoid", "chosen"], "`--avoid chosen` contradicts `--goal chosen`"),
    ] {
        paxos(&place, options).exits(151).says(&[words]);
    }
    let run = ["run", bundled("paxos"), "--goal", "chosen"];
    for algo in ["walk", "bdfs", "prefix"] {
        let ran = place.host(&[&run[..], &["--algo", algo]].concat()).exits(151);
        ran.says(&["has no option `--goal`", "use one that has: auto, guided"]);
    }
    for collects in [&["--states", "9"][..], &["--continue"]] {
        place.host(&[&run[..], collects].concat()).exits(151).says(&["`--goal`: auto makes no walks here"]);
    }
    let avoid = ["run", bundled("paxos"), "--avoid", "chosen"];
    place.host(&avoid).exits(151).says(&["has no option `--avoid`", "use one that has: guided"]);
}

/// In `auto` goals lead one member: they change no answer of the others, and the report names them.
#[test]
fn the_default_takes_goals_and_has_the_same_answer() {
    let place = Place::new();
    for (options, code) in [(&["--ignore", "decided"][..], 0), (&["--set", "bug=last-response", "--no-minimize"], 12)] {
        let run = |more: &[&str]| {
            let run = ["run", bundled("paxos"), "--set", "proposers=2", "--safety-only", "--json", "--seed", "2"];
            let ran = place.host(&[&run[..], options, more].concat()).exits(code).json();
            let of_violation = |what: &str| ran["violations"][0][what].clone();
            let answer = [ran["decided_by"].clone(), of_violation("property"), of_violation("found_length")];
            (ran["assumed"]["bounds"]["goal"].clone(), answer)
        };
        let (led, plain) = (run(&["--goal", "chosen"]), run(&[]));
        assert_eq!((led.0, plain.0), (json!(["chosen"]), Value::Null));
        assert_eq!(led.1, plain.1);
        assert!(led.1[0].is_string(), "a member has the answer: {:?}", led.1);
    }
}

/// An audit repeats handlers, and changes nothing; neither does the number of workers.
#[test]
fn an_audit_in_full_changes_no_guided_walk() {
    let place = Place::new();
    let run = |options: &[&str]| {
        let found = paxos(&place, &[options, &["--seed", "3"]].concat()).exits(0).json();
        ["transitions", "local_states", "outcomes", "walks_ended"].map(|count| found["counts"][count].clone())
    };
    let plain = run(&["--workers", "1"]);
    assert_eq!(run(&["--workers", "1", "--audit", "full"]), plain);
    assert_eq!(run(&["--workers", "4", "--audit", "full"]), plain);
}

/// Each node describes its state itself, in any component.
#[test]
fn guided_walks_go_through_mixed_clusters() {
    let place = Place::new();
    let text = format!("2={}", bundled("register-text"));
    let run = |bug: &str, workers: &str| {
        let run = ["run", bundled("register"), "--node", &text, "--set", bug, "--workers", workers, "--out", "found"];
        place.host(&[&run[..], &GUIDED[..]].concat())
    };
    let found = run("bug=no-write-back", "1").exits(12).json();
    assert_eq!(found["violations"][0]["property"], "monotone");
    assert_eq!(run("bug=no-write-back", "4").exits(12).json()["counts"], found["counts"]);
    let replay = ["replay", "found/trace.json", "--plugin", bundled("register"), "--node", &text];
    place.host(&replay).exits(12);
    run("bug=none", "1").exits(0);
}

/// Walks of a guest whose descriptions are too long are guided by views, and only its handlers are to blame.
#[test]
fn descriptions_that_fail_are_no_findings() {
    let place = Place::new();
    let run = |bytes: u32, algo: &str| {
        place.put("guest.wasm", fixtures::describes_trouble(bytes));
        let run = ["run", "guest.wasm", "--nodes", "2", "--algo", algo, "--walks", "400", "--json"];
        let ran = place.host(&run);
        let violation = ran.json()["violations"][0].clone();
        (ran.code, violation["message"].clone(), violation["length"].clone())
    };
    let by_walks = run(100, "walk");
    assert_ne!(by_walks.0, 0);
    for bytes in [100, 600_000] {
        assert_eq!(run(bytes, "guided"), by_walks, "{bytes}");
    }
}
