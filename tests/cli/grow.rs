//! `--grow`: the same run in scopes of growing size.

use serde_json::{Value, json};

use super::{Place, bundled};

/// Each scope of the report, with the result of the same run by itself in place of that in the report.
fn alone(place: &Place, options: &[&str], found: &Value) -> Vec<Value> {
    let scopes = found["scopes"].as_array().expect("a list");
    let alone = |scope: &Value| {
        let values = scope["scope"].as_str().expect("a text").split(", ").flat_map(|value| {
            let (name, number) = value.split_once('=').expect("a name and a number");
            match name {
                "losses" => [format!("--{name}"), number.to_owned()],
                parameter => ["--set".to_owned(), format!("{parameter}={number}")],
            }
        });
        let values: Vec<String> = values.collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let run = place.host(&[&["run"], options, &values].concat()).json();
        json!({
            "scope": scope["scope"], "searches": scope["searches"], "result": run["result"], "end": run["end"],
            "global_states": run["counts"]["global_states"],
        })
    };
    scopes.iter().map(alone).collect()
}

#[test]
fn each_scope_is_the_run_by_itself() {
    let place = Place::new();
    let options = [bundled("register"), "--algo", "bdfs", "--nodes", "2", "--json"];
    let grow = ["--grow", "writes=1..2,reads=1..2", "--grow", "losses=0..1"];
    let ran = place.host(&[&["run"], &options[..], &grow].concat());
    let found = ran.json();
    let ran = ran.exits(0);
    assert_eq!(found["result"], "ok", "{found}");
    assert_eq!(found["scopes"].as_array().map(Vec::len), Some(8));
    assert_eq!(found["scopes"], Value::from(alone(&place, &options, &found)));
    // The report itself is that of the largest scope.
    assert_eq!(found["scenario"]["parameters"]["writes"], "2");
    assert_eq!(found["scopes"][7]["scope"], "writes=2, reads=2, losses=1");
    assert_eq!(found["scopes"][7]["global_states"], found["counts"]["global_states"]);
    assert!(ran.err.contains("grow: writes=1, reads=1, losses=0, for 1.0 s"), "{ran:?}");
}

#[test]
fn the_smallest_scope_with_a_finding_is_reported() {
    let place = Place::new();
    let run = ["run", bundled("paxos"), "--set", "bug=last-response", "--safety-only"];
    let ran = place.host(&[&run[..], &["--grow", "proposers=1..3"]].concat()).exits(12);
    let text = &ran.out;
    assert!(text.starts_with("violation: ") && text.contains("\nscopes\n"), "{text}");
    let row = |scope: &str| text.lines().find_map(|line| line.trim().strip_prefix(scope)).map(str::trim);
    assert!(row("proposers=1").is_some_and(|outcome| outcome.starts_with("ok")), "{text}");
    assert!(row("proposers=2").is_some_and(|outcome| outcome.starts_with("violation")), "{text}");
    // Its trace was recorded in its scope.
    let trace = text.lines().find_map(|line| line.strip_prefix("trace in ")).expect("a trace");
    let trace = trace.split([',', ';']).next().expect("a path");
    let written = std::fs::read_to_string(place.path(trace)).expect("a trace");
    assert!(written.contains("\"proposers\": \"2\"") || written.contains("\"proposers\":\"2\""), "{written}");
    place.host(&["replay", trace, "--plugin", bundled("paxos")]).exits(12);
}

#[test]
fn a_property_that_needs_a_large_scope_is_reached_in_one() {
    let place = Place::new();
    let run = ["run", bundled("register"), "--algo", "bdfs", "--json"];
    let deep = ["--set", "reads=1", "--sometimes", "crowd=size(nodes) > 2"];
    let found = place.host(&[&run[..], &deep, &["--grow", "nodes=2..3"]].concat()).exits(0).json();
    let results: Vec<&Value> =
        found["scopes"].as_array().expect("a list").iter().map(|scope| &scope["result"]).collect();
    assert_eq!(results, ["never-reached", "ok"], "{found}");
    let found = place.host(&[&run[..], &deep, &["--grow", "nodes=1..2"]].concat()).exits(15).json();
    assert_eq!(found["result"], "never-reached");
}

#[test]
fn a_bound_that_is_hit_in_some_scope_leaves_the_run_incomplete() {
    let place = Place::new();
    let run = ["run", bundled("register"), "--algo", "bdfs", "--json", "--grow", "reads=1..3"];
    let found = place.host(&[&run[..], &["--states", "200"]].concat()).exits(0).json();
    assert_eq!((&found["result"], &found["end"]), (&json!("incomplete"), &json!("state-bound")), "{found}");
    let searches: Vec<&Value> =
        found["scopes"].as_array().expect("a list").iter().map(|scope| &scope["searches"]).collect();
    assert_eq!(searches, [1, 1, 1], "more time finds nothing more");
    place.host(&[&run[..], &["--states", "200", "--require-complete"]].concat()).exits(152);
}

#[test]
fn what_does_not_grow_is_refused_with_the_remedy() {
    let place = Place::new();
    let run = ["run", bundled("register")];
    for (options, code, words) in [
        (&["--grow", "reads"][..], 2, "expected KEY=FROM..TO with whole numbers"),
        (&["--grow", "reads=2..1"], 2, "the smaller one first"),
        (&["--grow", "reads=1..2", "--grow", "reads=1..2"], 151, "the range is given twice"),
        (&["--grow", "reads=1..2", "--set", "reads=1"], 151, "`--grow reads`: another option gives it one value"),
        (&["--grow", "nodes=2..3", "--nodes", "3"], 151, "`--grow nodes`: another option gives it one value"),
        (&["--grow", "reads=1..2000"], 151, "these are more than 1,000 scopes"),
        (&["--grow", "reeds=1..2"], 151, "reeds"),
        (&["--grow", "nodes=0..1"], 151, "a cluster has between 1 and 1024 nodes"),
        (&["--grow", "reads=1..2", "--out", "found"], 2, "cannot be used with"),
        (&["--grow", "reads=1..2", "--checkpoint", "kept"], 2, "cannot be used with"),
        (&["--grow", "reads=1..2", "--prefix", "trace.json"], 151, "a prefix belongs to the scope"),
    ] {
        let ran = place.host(&[&run[..], options].concat()).exits(code);
        assert!(ran.err.contains("error: ") && ran.err.contains(words), "{ran:?}");
    }
    let scenario = format!("plugin = \"{}\"\n[expect]\nresult = \"ok\"\n", bundled("register"));
    place.put("s.toml", scenario);
    let ran = place.host(&["run", "s.toml", "--grow", "reads=1..2"]).exits(151);
    ran.says(&["the scenario expects a result of one scope", "take [expect] out"]);
}
