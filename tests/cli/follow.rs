//! `host follow`: logs of running clusters that are explained, refused, undecided or wrong.
//!
//! Verdicts are compared with a naive reference in `tests/agreement/following`.

use serde_json::{Value, json};

use super::{Place, bundled};

/// The options of a cluster with a mistake.
const MISTAKE: [&str; 5] = ["--", "--set", "bug=last-response", "--set", "proposers=2"];
const CORRECT: [&str; 3] = ["--", "--set", "proposers=2"];

/// A place with the log of a violation of Paxos in `log.ndjson`; and its lines.
fn logged() -> (Place, String, Vec<Value>) {
    let place = Place::new();
    let paxos = bundled("paxos").to_owned();
    place.host(&["run", &paxos, "--set", "bug=last-response", "--set", "proposers=2", "--out", "found"]).exits(12);
    place.host(&["export", "found/trace.json", "--plugin", &paxos, "--format", "log", "--out", "log.ndjson"]).exits(0);
    let text = std::fs::read_to_string(place.path("log.ndjson")).expect("it was written");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    (place, paxos, lines)
}

fn put(place: &Place, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    place.put("log.ndjson", text);
}

fn follow<'w>(paxos: &'w str, options: &[&'w str], cluster: &[&'w str]) -> Vec<&'w str> {
    [&["follow", "log.ndjson", "--against", paxos][..], options, cluster].concat()
}

/// A whole log is explained by its own execution, and one with holes by some execution, which replays; the build without the mistake has
/// none.
#[test]
fn a_log_is_explained_by_the_build_that_wrote_it_and_by_no_other() {
    let (place, paxos, lines) = logged();
    let ran = place.host(&follow(&paxos, &["--missing", "0", "--out", "whole.json"], &MISTAKE)).exits(12);
    assert!(ran.out.starts_with("log.ndjson: explained\n"), "{ran:?}");
    assert!(ran.out.contains("0 of them hidden") && ran.out.contains("this execution violates agreement"), "{ran:?}");
    let printed = ran.out.lines().last().expect("it has a line").trim().to_owned();
    let words: Vec<&str> = printed.split(' ').skip(1).collect();
    let replayed = place.host(&words).exits(12);
    assert!(replayed.out.contains("replayed: agreement is violated"), "{replayed:?}");
    // Every third line and all messages are lost.
    let holes: Vec<Value> =
        lines.iter().enumerate().filter(|(index, _)| index % 3 > 0).map(|(_, line)| line.clone()).collect();
    let holes: Vec<Value> = holes
        .into_iter()
        .map(|mut line| {
            let fields = line.as_object_mut().expect("a line is an object");
            fields.remove("message");
            fields.remove("sent");
            line
        })
        .collect();
    put(&place, &holes);
    let json = place.host(&follow(&paxos, &["--missing", "2", "--json", "--out", "holes.json"], &MISTAKE)).json();
    assert_eq!((&json["result"], &json["explained"]), (&json!("explained"), &json!(holes.len())), "{json}");
    let steps = json["steps"].as_array().expect("a list");
    assert!(steps.iter().any(|step| step["hidden"] == json!(true)), "{json}");
    let told: usize = steps.iter().map(|step| step["lines"].as_array().map_or(0, Vec::len)).sum();
    assert!(told <= holes.len() && told + 6 > holes.len(), "{json}");
    put(&place, &lines);
    let ran = place.host(&follow(&paxos, &["--missing", "0"], &CORRECT)).exits(12);
    assert!(ran.out.starts_with("log.ndjson: refused\n") && ran.out.contains("no execution explains line "), "{ran:?}");
}

/// A field that is wrong is named with its line and its value in the execution, whichever line it is in.
#[test]
fn a_wrong_field_is_refused_at_its_line() {
    let (place, paxos, lines) = logged();
    let mut tried = 0;
    for (number, line) in (1..).zip(&lines).filter(|(_, line)| line["event"] == "deliver") {
        let Some(field) = line["state"].as_object().and_then(|state| state.keys().next()).cloned() else { continue };
        let mut wrong = lines.clone();
        wrong[number - 1]["state"][&field] = json!("wrong");
        put(&place, &wrong);
        let json = place.host(&follow(&paxos, &["--missing", "0", "--json"], &MISTAKE)).exits(12).json();
        assert_eq!((&json["result"], &json["exit_code"]), (&json!("refused"), &json!(12)), "{json}");
        let blocked = &json["blocked"][0];
        assert_eq!(blocked["line"]["line"], json!(number), "{json}");
        let difference = &blocked["possible"][0]["difference"];
        assert_eq!(difference["field"], json!(format!("state.{field}")), "{json}");
        assert_eq!(difference["line"], json!("\"wrong\""), "{json}");
        tried += 1;
    }
    assert!(tried > 5, "{tried} fields");
}

#[test]
fn a_bound_leaves_a_log_undecided_and_says_so() {
    let (place, paxos, lines) = logged();
    put(&place, &lines[lines.len() - 1..]);
    let ran = place.host(&follow(&paxos, &["--hidden", "1"], &MISTAKE)).exits(130);
    assert!(ran.out.starts_with("log.ndjson: undecided: no execution with at most 1 hidden events"), "{ran:?}");
    // A log without end, from a pipe.
    let endless = format!("{}\n", lines[3]).repeat(20_000);
    let words = ["follow", "-", "--against", &paxos, "--memory", "1MiB", "--json", "--", "--set", "proposers=2"];
    let json = place.host_reading(&words, &endless).exits(130).json();
    assert_eq!((&json["result"], &json["bound"]), (&json!("undecided"), &json!("memory")), "{json}");
}

#[test]
fn a_wrong_log_is_named_with_its_place_and_a_remedy() {
    let (place, paxos, lines) = logged();
    let first = format!("{}\n", lines[0]);
    for (text, parts) in [
        (first.clone() + "{\"node\": 0, \"ev", ["log.ndjson, line 2, column ", "the line is torn"]),
        (
            "{\"node\": 77}".to_owned(),
            ["line 1, column 2: there is no node 77 in a cluster of ", "use a number from 0"],
        ),
        ("{\"node\": 0, \"term\": 3}".to_owned(), ["`term` is no field of a line", "\"note\""]),
        (String::new(), ["it has no lines", "at least one line"]),
    ] {
        place.put("log.ndjson", &text);
        place.host(&follow(&paxos, &[], &CORRECT)).exits(151).says(&parts);
    }
    place.host(&["follow", "nowhere", "--against", &paxos]).exits(153).says(&["cannot read nowhere"]);
    std::fs::create_dir(place.path("folder")).expect("writable");
    place.host(&["follow", "folder", "--against", &paxos]).exits(153).says(&["it is a folder"]);
    for (words, part) in [
        (vec!["follow", "log.ndjson"], "--against"),
        (vec!["follow", "log.ndjson", "--against", &paxos, "--missing", "-1"], "--missing"),
    ] {
        let ran = place.host(&words).exits(2);
        assert!(ran.err.starts_with("error: ") && ran.err.contains(part), "{ran:?}");
    }
}
