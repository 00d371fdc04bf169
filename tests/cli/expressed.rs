//! Properties from outside: the verdicts of those of the plugin, traces, and what is refused.

use serde_json::Value;

use super::{Place, bundled};

/// What `agreement` of paxos says, over the states that it describes.
const AGREEMENT: &str = "outside=size(unique(flatten(nodes.map(n, n.Running.learner.chosen)))) <= 1";

fn found(place: &Place, options: &[&str], property: &[&str]) -> [Value; 3] {
    let run = place.run_json("paxos", &[options, property].concat());
    let steps = run["violations"].as_array().map(|all| all.iter().map(|it| it["length"].clone()).collect());
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
    let wrong = ["--algo", "unfold", "--set", "proposers=2", "--set", "bug=last-response"];
    compare(&wrong);
    compare(&[&wrong[..], &["--max-violations", "3"]].concat());
    let reduced = ["--algo", "bdfs", "--reduce", "--set", "proposers=2", "--set", "bug=last-response", "--continue"];
    compare(&reduced);
    assert_eq!(violated, 3);
}

/// What `served` of lock says: a client does not wait.
const SERVED: &str =
    "outside=has(node.Server)||node.Client=='Idle'||node.Client=='Holding'||has(node.Client.Releasing)";

#[test]
fn a_promise_from_outside_has_the_class_and_the_critical_step_of_that_of_the_plugin() {
    let place = Place::new();
    let mut classes = Vec::new();
    let cases: [&[&str]; 5] = [
        &["--nodes", "2"],
        &["--nodes", "3", "--set", "locked=deny", "--set", "retry=timer"],
        &["--nodes", "3", "--set", "locked=queue"],
        &["--nodes", "3", "--set", "locked=queue", "--fairness", "none"],
        &["--nodes", "3", "--set", "locked=deny", "--set", "retry=timer", "--timers", "late"],
    ];
    for case in cases {
        let run = |property: &[&str]| {
            let run = place.run_json("lock", &[&["--algo", "bdfs"], case, property].concat());
            let found = &run["violations"][0];
            [run["result"].clone(), found["class"].clone(), found["critical"].clone(), found["length"].clone()]
        };
        let own = run(&["--property", "served"]);
        assert_eq!(own, run(&["--property", "outside", "--eventually", SERVED]), "{case:?}");
        classes.push(own[1].to_string());
    }
    classes.sort();
    classes.dedup();
    assert!(classes.len() >= 3, "dead, a lasso and none: {classes:?}");
}

/// Nodes 1 and 2 are interchangeable, and each of these two names them: one would be missed if only one of two mirrored states were
/// judged.
#[test]
fn a_property_that_names_nodes_is_judged_as_without_symmetry() {
    let place = Place::new();
    for (has, lacks) in [(1, 2), (2, 1)] {
        let expression = format!(
            "outside=size(nodes[{has}].Running.learner.chosen)==0||size(nodes[{lacks}].Running.learner.chosen)>0"
        );
        let result = |options: &[&str]| {
            let property = ["--property", "outside", "--always", &expression];
            place.run_json("paxos", &[&["--algo", "bdfs"], options, &property].concat())["result"].clone()
        };
        assert_eq!(result(&[]), "violation");
        assert_eq!(result(&["--reduce"]), "violation");
    }
}

#[test]
fn a_prefix_may_have_been_recorded_with_other_expressions() {
    let place = Place::new();
    let never = "quiet=nodes.all(n, size(n.Running.learner.chosen) == 0)";
    place.host(&["run", bundled("paxos"), "--algo", "bdfs", "--always", never, "--out", "o"]).exits(12);
    let behind = ["--algo", "bdfs", "--prefix", "o/trace.json"];
    let own = found(&place, &behind, &["--property", "agreement"]);
    assert_eq!(own, found(&place, &behind, &["--property", "outside", "--always", AGREEMENT]));
    assert_eq!(own[0], "ok");
}

#[test]
fn what_is_ignored_is_not_judged() {
    let place = Place::new();
    let never = "quiet=nodes.all(n, size(n.Running.learner.chosen) == 0)";
    let run = place.run_json("paxos", &["--algo", "bdfs", "--always", never, "--ignore", "quiet"]);
    assert_eq!(run["result"], "ok");
    let without = place.run_json("paxos", &["--algo", "bdfs"]);
    assert_eq!(run["counts"], without["counts"]);
}

#[test]
fn a_checkpoint_belongs_to_its_expressions() {
    let mut place = Place::new();
    let search = ["--algo", "bdfs", "--property", "outside", "--always", AGREEMENT];
    let whole = place.run_json("paxos", &search);
    let run = [&["run", bundled("paxos"), "--json"], &search[..]].concat();
    place.goes_on_to_the_same(&run, &whole);
    place.interrupted = Some(20);
    assert_eq!(place.host(&[&run[..], &["--checkpoint", "kept"]].concat()).json()["end"], "interrupted");
    place.interrupted = None;
    let other = "outside=size(unique(flatten(nodes.map(n, n.Running.learner.chosen)))) <= 2";
    let refused = place.host(&["run", "--resume", "kept", "--always", other]).exits(151).err;
    assert!(refused.contains("the property outside"), "{refused}");
    place.host(&["run", "--resume", "kept", "--always", AGREEMENT]).exits(0);
}

#[test]
fn what_differs_from_the_component_is_refused() {
    let place = Place::new();
    let other = format!("1={}", bundled("paxos"));
    for option in [["--twin", "1"], ["--adversary", &other]] {
        let always = ["--always", "a=node.Running.acceptor.promised >= 0"];
        let ran = place.host(&[&["run", bundled("paxos")], &option[..], &always].concat()).exits(151);
        assert!(ran.err.contains("not with adversaries, twins"), "{}", ran.err);
    }
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
