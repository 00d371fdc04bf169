//! Properties from outside: the same verdicts as those of the plugin, traces, and refusals. `specs` compares those of `agreement` of paxos
//! by all strategies, and a specification.

use serde_json::{Value, json};

use super::{Place, bundled};

/// The property `agreement` of paxos, over the states that it describes.
const AGREEMENT: &str = "outside=size(unique(flatten(nodes.map(n, n.Running.learner.chosen)))) <= 1";

/// The property `chosen` of paxos.
const CHOSEN: &str = "outside=size(node.Running.learner.chosen) > 0";

/// The property `decided` of paxos, if all nodes play all roles.
const DECIDED: &str = "outside=size(node.Running.learner.chosen) > 0 || \
    node.Running.acceptor.promised == 0 && node.Running.proposer in ['Ready', 'Done']";

fn found(place: &Place, options: &[&str], property: &[&str]) -> [Value; 3] {
    let run = place.run_json("paxos", &[options, property].concat());
    let steps = run["violations"].as_array().map(|all| all.iter().map(|it| it["length"].clone()).collect());
    [run["result"].clone(), run["counts"].clone(), steps.unwrap_or_default()]
}

/// The property `served` of lock: a client does not wait.
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
    place.resumes_to_the_same(&run, &whole);
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
    assert!(missing.contains("at character 6: there is no field `nope`; it has read {}; it has: "), "{missing}");
    // The existing fields are reported although nothing of them was read.
    let misspelt = run(&["--always", "a=nodes.all(n, size(n.Runing.learner.chosen) == 0)"]).exits(75).out;
    let first = misspelt.lines().next().expect("a verdict");
    assert!(first.ends_with("; it has read of node 0 {}, of node 1 {}, of node 2 {}; it has: Running"), "{misspelt}");
}

/// The property `atomicity` of two-phase-commit: no two decisions differ.
const ATOMICITY: &str = "outside=size(unique(flatten(nodes.map(n, has(n.Coordinator) \
    ? (n.Coordinator in ['Idle', 'Stopped'] || !has(n.Coordinator.Decided) ? [] : [n.Coordinator.Decided]) \
    : (n.Participant in ['Working', 'Prepared', 'Stopped'] ? [] : [n.Participant.Ended]))))) <= 1";

/// The property `ended` of two-phase-commit: no node waits for votes or for a decision.
const ENDED: &str = "outside=has(node.Participant) ? node.Participant != 'Prepared' \
    : node.Coordinator == 'Idle' || node.Coordinator == 'Stopped' || has(node.Coordinator.Decided)";

/// The result of a run without the words of a property, whose name is `own` or `outside`, and without the numbers of merged findings.
fn told(place: &Place, plugin: &str, options: &[&str], (own, name): (&str, &str)) -> Value {
    let ran = place.host(&[&["run", bundled(plugin), "--json"], options].concat());
    assert!([0, 11, 12, 13, 15].contains(&ran.code), "{options:?}: {ran:?}");
    let run = ran.json();
    let found = run["violations"].as_array().cloned().unwrap_or_default();
    let of = |it: &Value| {
        let property = if it["property"] == own { "outside".into() } else { it["property"].clone() };
        json!([property, it["kind"], it["class"], it["critical"], it["length"]])
    };
    let properties = run["properties"].as_array().expect("a list");
    let judged = properties.iter().find(|it| it["name"] == name).expect("it is judged");
    json!([
        run["result"],
        run["end"],
        judged["status"],
        run["exit_code"],
        run["counts"],
        run["depth"],
        found.iter().map(of).collect::<Vec<_>>()
    ])
}

/// Asserts that a property of a plugin and one from outside agree; returns whether the result is anything but ok.
#[track_caller]
fn agree(place: &Place, plugin: &str, options: &[&str], (own, kind, expression): (&str, &str, &str)) -> bool {
    let one = told(place, plugin, &[options, &["--property", own]].concat(), (own, own));
    let outside = [options, &["--property", "outside", kind, expression]].concat();
    let other = told(place, plugin, &outside, (own, "outside"));
    assert_eq!(one, other, "{plugin} {options:?}");
    one[0] != "ok"
}

#[test]
fn faults_and_deadlocks_are_the_same_for_a_property_from_outside() {
    let place = Place::new();
    let atomicity = ("atomicity", "--always", ATOMICITY);
    let cases: [(&[&str], bool); 9] = [
        (&["--algo", "bdfs", "--deadlock"], false),
        (&["--algo", "unfold", "--deadlock"], false),
        (&["--algo", "bdfs", "--crashes", "1", "--deadlock"], true),
        (&["--algo", "bdfs", "--resets", "1", "--continue"], true),
        (&["--algo", "bdfs", "--losses", "1"], false),
        (&["--algo", "bdfs", "--losses", "unlimited", "--set", "bug=majority"], true),
        (&["--algo", "bdfs", "--network", "ordered", "--breaks", "1", "--set", "bug=impatient"], true),
        (&["--algo", "unfold", "--network", "ordered", "--breaks", "1", "--set", "bug=impatient"], true),
        (&["--algo", "auto", "--resets", "1", "--set", "bug=majority"], true),
    ];
    for (options, is_found) in cases {
        let nodes = if options.contains(&"bug=majority") { "4" } else { "3" };
        let options = [&["--nodes", nodes], options].concat();
        assert_eq!(agree(&place, "two-phase-commit", &options, atomicity), is_found, "{options:?}");
    }
    let ended = ("ended", "--eventually", ENDED);
    let promises: [(&[&str], bool); 4] = [
        (&[], false),
        (&["--losses", "unlimited"], true),
        (&["--losses", "1", "--fairness", "none"], true),
        (&["--set", "stops=coordinator"], true),
    ];
    for (options, is_found) in promises {
        let options = [&["--algo", "bdfs", "--nodes", "3"], options].concat();
        assert_eq!(agree(&place, "two-phase-commit", &options, ended), is_found, "{options:?}");
    }
}

/// The property `committed` of two-phase-commit: a participant has heard of a commit.
const COMMITTED: &str = "outside=has(node.Participant) && !(node.Participant in ['Working', 'Prepared', 'Stopped']) \
    && node.Participant.Ended == 'Commit'";

#[test]
fn resets_are_the_same_for_all_kinds_of_properties_from_outside() {
    let place = Place::new();
    let resets = ["--nodes", "3", "--resets", "1"];
    for algo in ["bdfs", "unfold", "lmc", "consequence", "auto"] {
        let options = [&["--algo", algo], &resets[..]].concat();
        agree(&place, "two-phase-commit", &options, ("committed", "--sometimes", COMMITTED));
        if algo != "lmc" {
            assert!(agree(&place, "two-phase-commit", &options, ("atomicity", "--always", ATOMICITY)), "{algo}");
            continue;
        }
        // The property from outside reads more than the decision, so local model checking has more classes to combine: the counts differ.
        let found = |property: &[&str]| {
            let run = place.run_json("two-phase-commit", &[&options, property].concat());
            let steps = |violation: &Value| violation["length"].clone();
            let steps: Vec<Value> = run["violations"].as_array().expect("a list").iter().map(steps).collect();
            (run["result"].clone(), run["counts"]["local_states"].clone(), steps)
        };
        let own = found(&["--property", "atomicity"]);
        assert_eq!((&own.0, own.2.len()), (&json!("violation"), 1), "{own:?}");
        assert_eq!(own, found(&["--property", "outside", "--always", ATOMICITY]));
    }
    for further in [&[][..], &["--recover-by", "resets"], &["--fairness", "none"]] {
        let options = [&["--algo", "bdfs"], &resets[..], further].concat();
        agree(&place, "two-phase-commit", &options, ("ended", "--eventually", ENDED));
    }
}

/// The property `regular` of regular-storage.
const REGULAR: &str = "outside=!has(node.Reader) || node.Reader.read == null || !has(node.Reader.read.Returned) || \
    node.Reader.read.Returned.value >= node.Reader.read.Returned.floor";

#[test]
fn quorums_are_the_same_for_a_property_from_outside() {
    let place = Place::new();
    let regular = ("regular", "--always", REGULAR);
    let quorum = ["--set", "quorum=on"];
    for algo in ["bdfs", "unfold"] {
        let options = [&["--algo", algo][..], &quorum].concat();
        assert!(!agree(&place, "regular-storage", &options, regular), "{algo}");
        let wrong = [&options[..], &["--set", "bug=one-ack"]].concat();
        assert!(agree(&place, "regular-storage", &wrong, regular), "{algo}");
        assert!(!agree(&place, "paxos", &options, ("agreement", "--always", AGREEMENT)), "{algo}");
    }
}

/// All properties of a plugin, stated again from outside.
#[test]
fn several_expressions_are_judged_at_once() {
    let place = Place::new();
    let states = |wanted: &str| {
        format!(
            "has(node.Participant) && !(node.Participant in ['Working', 'Prepared', 'Stopped']) && node.Participant.Ended == '{wanted}'"
        )
    };
    let (committed, aborted) = (format!("b={}", states("Commit")), format!("c={}", states("Abort")));
    let (atomicity, ended) = (ATOMICITY.replacen("outside", "a", 1), ENDED.replacen("outside", "d", 1));
    let outside = ["--always", &atomicity, "--sometimes", &committed, "--sometimes", &aborted, "--eventually", &ended];
    let names = [("a", "atomicity"), ("b", "committed"), ("c", "aborted"), ("d", "ended")];
    let cases = [
        ["--nodes", "3", "--set", "bug=none"],
        ["--nodes", "3", "--set", "stops=coordinator"],
        ["--nodes", "4", "--set", "bug=majority"],
    ];
    for case in cases {
        let options = [&["--algo", "bdfs", "--continue"][..], &case].concat();
        let own = place.run_json("two-phase-commit", &options);
        let all = place.run_json("two-phase-commit", &[&options[..], &outside].concat());
        assert_eq!((&own["result"], &own["counts"]), (&all["result"], &all["counts"]), "{case:?}");
        let status = |run: &Value, name: &str| {
            let properties = run["properties"].as_array().expect("a list");
            let mut one = properties.iter().find(|it| it["name"] == name).expect("it is judged").clone();
            let fields = one.as_object_mut().expect("an object");
            ["name", "expression"].iter().for_each(|field| drop(fields.remove(*field)));
            one
        };
        for (outside, inside) in names {
            assert_eq!(status(&all, outside), status(&all, inside), "{case:?} {inside}");
            assert_eq!(status(&all, inside), status(&own, inside), "{case:?} {inside}");
        }
    }
}

/// A search from the states of all nodes, exported on the way to a violation.
#[test]
fn a_property_from_outside_is_judged_from_exported_states() {
    let place = Place::new();
    let paxos = bundled("paxos");
    let bug = ["--set", "bug=last-response"];
    place.host(&[&["run", paxos][..], &bug, &["--out", "o"]].concat()).exits(12);
    let text = std::fs::read_to_string(place.path("o/trace.json")).expect("the trace is there");
    let trace: host_model::trace::Trace = serde_json::from_str(&text).expect("a trace");
    let component = std::fs::read(paxos).expect("it is built");
    for steps in [trace.steps.len() * 5 / 6, trace.steps.len() - 1] {
        let live = host_tests::live::exported(&component, &trace, steps);
        place.put("live.json", serde_json::to_string(&live).expect("a document"));
        for algo in ["bdfs", "unfold", "consequence"] {
            let options = ["--algo", algo, "--prefix", "live.json"];
            assert!(agree(&place, "paxos", &options, ("agreement", "--always", AGREEMENT)), "{algo} after {steps}");
            assert!(!agree(&place, "paxos", &options, ("chosen", "--sometimes", CHOSEN)), "{algo} after {steps}");
        }
        let options = ["--algo", "bdfs", "--prefix", "live.json"];
        agree(&place, "paxos", &options, ("decided", "--eventually", DECIDED));
    }
}

/// A violated state is red in a graph, and reported by the debugger, for properties of any origin.
#[test]
fn graphs_and_the_debugger_tell_a_property_from_outside() {
    let place = Place::new();
    let plugin = bundled("two-phase-commit");
    let bug = ["--nodes", "4", "--set", "bug=majority"];
    let own = ["--property", "atomicity"];
    let outside = ["--property", "outside", "--always", ATOMICITY];
    let mut red = Vec::new();
    for property in [&own[..], &outside] {
        let graph = [&["graph", plugin, "--states", "2000", "--out", "g.dot", "--"], &bug[..], property].concat();
        let said = place.host(&graph).exits(0).out;
        let dot = std::fs::read_to_string(place.path("g.dot")).expect("the drawing is there");
        red.push((said, dot.lines().filter(|line| line.contains("ffd6d6")).count()));
    }
    assert_eq!(red[0], red[1]);
    assert!(red[0].1 > 0, "{red:?}");
    let mut checked = Vec::new();
    for (property, name) in [(&own[..], "atomicity"), (&outside, "outside")] {
        let run = [&["run", plugin, "--algo", "bdfs", "--json", "--out", name], &bug[..], property].concat();
        let length = place.host(&run).exits(12).json()["violations"][0]["length"].as_u64().expect("a number");
        let script = format!("{}check\n", "check\nn\n".repeat(length as usize));
        let trace = format!("{name}/trace.json");
        let ran = place.host_reading(&["debug", &trace, "--plugin", plugin, "--quiet"], &script).exits(0);
        let violated = format!("{name} is violated: ");
        let at: Vec<bool> = ran
            .out
            .split("> check\n")
            .skip(1)
            .map(|said| said.lines().any(|line| line.starts_with(&violated)))
            .collect();
        assert_eq!((at.len() as u64, at.last()), (length + 1, Some(&true)), "{}", ran.out);
        checked.push(at);
    }
    assert_eq!(checked[0], checked[1]);
    assert_eq!(checked[0].iter().filter(|is_violated| **is_violated).count(), 1, "the last state alone");
}
