//! Properties from outside: the verdicts of those of the plugin, traces, and what is refused.

use serde_json::Value;

use super::{Place, bundled};

/// What `agreement` of paxos says, over the states that it describes.
const AGREEMENT: &str = "outside=size(unique(flatten(nodes.map(n, n.Running.learner.chosen)))) <= 1";

fn found(place: &Place, options: &[&str], property: &[&str]) -> [Value; 3] {
    let run = place.run_json("paxos", &[options, property].concat());
    let steps = run["violations"].as_array().map(|all| all.iter().map(|it| it["steps"].clone()).collect());
    [run["result"].clone(), run["counts"].clone(), steps.unwrap_or_default()]
}

/// Both read the same of each state, so all counts are equal.
#[test]
fn an_expression_has_the_verdict_the_counts_and_the_path_of_the_property_of_the_plugin() {
    let place = Place::new();
    let mut violated = 0;
    let mut compare = |options: &[&str]| {
        let own = found(&place, options, &["--property", "agreement"]);
        assert_eq!(own, found(&place, options, &["--property", "outside", "--always", AGREEMENT]), "{options:?}");
        violated += usize::from(own[0] == "violation");
    };
    for algo in ["bdfs", "lmc-gen", "lmc", "unfold", "consequence", "walk"] {
        compare(&["--algo", algo]);
    }
    compare(&["--algo", "bdfs", "--reduce"]);
    compare(&["--algo", "unfold", "--set", "proposers=2", "--set", "bug=last-response"]);
    assert_eq!(violated, 1);
}

#[test]
fn a_trace_brings_its_expression_along() {
    let place = Place::new();
    let never = "quiet=nodes.all(n, size(n.Running.learner.chosen) == 0)";
    place.host(&["run", bundled("paxos"), "--algo", "bdfs", "--always", never, "--out", "o"]).exits(12);
    let replayed = place.host(&["replay", "o/trace.json", "--plugin", bundled("paxos")]).exits(12).out;
    assert!(replayed.contains("quiet is violated: not for n = node 0"), "{replayed}");
}

#[test]
fn what_is_no_expression_is_refused_and_what_cannot_be_evaluated_is_a_finding() {
    let place = Place::new();
    let run = |options: &[&str]| place.host(&[&["run", bundled("paxos")], options].concat());
    let refused = [
        (["--always", "a=nodes.all(n, n.x == )"], "`--always a`: at character 21: expected a value"),
        (["--sometimes", "b=1 == 1"], "`--sometimes b`: at character 1: it reads no state"),
        (["--always", "agreement=size(nodes) == 3"], "paxos has a property of this name"),
    ];
    for (options, words) in refused {
        let ran = run(&options).exits(151);
        assert!(ran.err.contains(words), "{}", ran.err);
    }
    assert!(run(&["--always", "a=node == 1", "--always", "a=node == 2"]).exits(151).err.contains("given twice"));
    let missing = run(&["--always", "a=node.nope == 1"]).exits(75).out;
    assert!(missing.contains("at character 6: there is no field `nope`"), "{missing}");
}
