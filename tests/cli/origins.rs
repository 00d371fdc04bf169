//! Traces that begin in given states: a search from them, and its traces, executed again, minimised and exported.

use std::collections::BTreeSet;

use host_model::trace::{Flight, Trace, TraceEvent, TraceStep};
use host_tests::live;
use serde_json::{Value, json};

use super::golden::repository;
use super::{Place, Ran, bundled, schema};

/// The state after the first steps of a trace of Paxos, exported, as a trace that begins there.
pub(super) fn exported(trace: &Trace, steps: usize) -> Trace {
    live::exported(&std::fs::read(bundled("paxos")).expect("it is built"), trace, steps)
}

/// A place with the counterexample of a known mistake in Paxos, and the trace.
pub(super) fn counterexample() -> (Place, Trace) {
    let place = repository();
    place.host(&["run", bundled("paxos"), "--set", "bug=last-response", "--out", "o/one"]).exits(12);
    let trace = read(&place, "o/one/trace.json");
    (place, trace)
}

fn read(place: &Place, path: &str) -> Trace {
    let text = std::fs::read_to_string(place.path(path)).expect("the trace is there");
    serde_json::from_str(&text).expect("a trace")
}

pub(super) fn put(place: &Place, path: &str, trace: &Trace) {
    place.put(path, serde_json::to_string(trace).expect("a document"));
}

/// A command on a trace of Paxos.
fn of(place: &Place, command: &str, trace: &str, options: &[&str]) -> Ran {
    place.host(&[&[command, trace, "--plugin", bundled("paxos"), "--quiet"], options].concat())
}

fn loss(flight: &Flight) -> TraceStep {
    let event = TraceEvent::Lose { from: flight.from, payload: flight.payload.clone() };
    TraceStep { node: flight.to, event, choices: Vec::new(), sent: None, state: None }
}

#[test]
fn a_search_from_exported_states_is_reported_like_any_other() {
    let (place, whole) = counterexample();
    assert_eq!(whole.trace_version, 1);
    let live = exported(&whole, whole.steps.len() / 2);
    assert_eq!(live.trace_version, 2);
    put(&place, "o/live.json", &live);

    place.host(&["run", bundled("paxos"), "--algo", "unfold", "--prefix", "o/live.json", "--out", "o/two"]).exits(12);
    let text = std::fs::read_to_string(place.path("o/two/trace.json")).expect("the trace is there");
    let found: Trace = serde_json::from_str(&text).expect("a trace");
    assert_eq!((found.trace_version, &found.beginning), (2, &live.beginning));
    assert!(found.steps.len() <= whole.steps.len() - whole.steps.len() / 2, "{} steps", found.steps.len());
    let saved = ["o/two/trace.json", "--plugin", bundled("paxos")];
    place.host(&[&["replay"], &saved[..]].concat()).exits(12);
    place.host(&[&["minimize"], &saved[..], &["--out", "o/short.json"]].concat()).exits(0);
    for format in ["itf", "shiviz"] {
        place
            .host(&[&["export"], &saved[..], &["--format", format, "--out", &format!("o/{format}")]].concat())
            .exits(0);
    }
    let json = place.host(&[&["export"], &saved[..], &["--format", "json"]].concat()).exits(0);
    assert_eq!(json.out, text);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(schema::misfits(&document), [""; 0]);
}

#[test]
fn states_that_do_not_fit_are_refused_in_plain_words() {
    let (place, whole) = counterexample();
    let live = exported(&whole, 2);
    let check = |change: &dyn Fn(&mut Trace), words: &str| {
        let mut changed = live.clone();
        change(&mut changed);
        put(&place, "o/changed.json", &changed);
        for command in [vec!["run", bundled("paxos"), "--prefix"], vec!["replay", "--plugin", bundled("paxos")]] {
            let told = place.host(&[&command[..], &["o/changed.json"]].concat()).exits(151);
            assert!(told.err.contains(words), "{words} in {}", told.err);
        }
    };
    let state = |trace: &mut Trace, change: &dyn Fn(&mut Vec<u8>)| {
        let beginning = trace.beginning.as_mut().expect("it has one");
        change(&mut beginning.states[1].exported.0);
    };
    check(&|trace| state(trace, &|bytes| bytes[200] ^= 1), "the state of node 1: the exported state is damaged");
    check(&|trace| state(trace, &|bytes| bytes.truncate(40)), "the state of node 1: the exported state");
    check(&|trace| state(trace, &|bytes| bytes[8] = 9), "an exported state of version 9");
    check(&|trace| state(trace, &Vec::clear), "these bytes are no exported state");
    let swap = |trace: &mut Trace| {
        let [one, other, _] = &mut trace.beginning.as_mut().expect("it has one").states[..] else {
            panic!("three nodes")
        };
        std::mem::swap(&mut one.exported, &mut other.exported);
    };
    check(&swap, "the state of node 0: it is a state of node 1");
    let reset = |trace: &mut Trace| {
        trace.scenario.parameters.insert("bug".to_owned(), "none".to_owned());
    };
    check(&reset, "the state of node 0: it was exported with other parameters");
}

/// An adversary has a state like any other node, and messages to it and from it can be lost.
#[test]
fn an_adversary_begins_in_an_exported_state() {
    let place = repository();
    let adversary = format!("1={}", bundled("paxos"));
    let run = |options: &[&str]| {
        place.host(&[&["run", bundled("paxos"), "--adversary", &adversary, "--quiet"], options].concat())
    };
    run(&["--set", "bug=last-response", "--set", "proposers=2", "--out", "o/one"]).exits(12);
    let whole = read(&place, "o/one/trace.json");
    assert!(whole.placements.iter().any(|placement| placement.adversary), "{:?}", whole.placements);
    let steps = whole.steps.len() - 3;
    let path = Trace { steps: whole.steps[..steps].to_vec(), finding: None, ..whole.clone() };
    let live = exported(&whole, steps);
    let mut silent = live.clone();
    let in_flight = std::mem::take(&mut silent.beginning.as_mut().expect("it has one").in_flight);
    assert!(in_flight.iter().any(|flight| flight.to == 1 || flight.from == 1), "{in_flight:?}");
    let mut lossy = path.clone();
    lossy.steps.extend(in_flight.iter().map(loss));
    for (after, from, is_found) in [(path, live, true), (lossy.with_version(), silent, false)] {
        put(&place, "o/after.json", &after);
        put(&place, "o/from.json", &from);
        for algo in ["bdfs", "consequence", "unfold", "dpor"] {
            let [one, other] = ["o/after.json", "o/from.json"].map(|prefix| {
                let search = ["--algo", algo, "--depth", "3", "--continue", "--no-minimize", "--json"];
                let ran = run(&[&["--prefix", prefix], &search[..]].concat()).json();
                let number = |found: &Value, key: &str| found[key].as_u64().expect("a number");
                let finding = |found: &Value| {
                    let length = number(found, "length") - number(found, "prefix_length");
                    (found["message"].to_string(), length)
                };
                let found: BTreeSet<(String, u64)> =
                    ran["violations"].as_array().expect("a list").iter().map(finding).collect();
                let counts = ["global_states", "transitions", "events", "executions", "system_states"];
                (ran["end"].clone(), found, counts.map(|count| ran["counts"][count].clone()))
            });
            assert_eq!(one, other, "{algo}");
            assert_eq!(!one.1.is_empty(), is_found, "{algo}: {one:?}");
        }
    }
}

/// Every option of a search after a trace works from exported states, or is refused with a reason.
#[test]
fn options_fit_exported_states_or_are_refused() {
    let (place, whole) = counterexample();
    let live = exported(&whole, whole.steps.len() - 4);
    put(&place, "o/live.json", &live);
    let run = |options: &[&str]| {
        place.host(&[&["run", bundled("paxos"), "--prefix", "o/live.json", "--quiet"], options].concat())
    };
    // It is close to the violation, so each strategy finds it, at the same distance if it is a shortest one.
    let shortest = run(&["--algo", "bdfs", "--json"]).exits(12).json()["violations"][0]["length"].clone();
    assert!(shortest.as_u64().is_some_and(|length| (1..=4).contains(&length)), "{shortest}");
    for algo in ["bdfs", "unfold", "lmc", "lmc-opt", "lmc-gen", "consequence", "dpor", "walk"] {
        let found = run(&["--algo", algo, "--json", "--out", "o/two"]).exits(12).json();
        let violation = &found["violations"][0];
        assert!(violation["confirmed"] == true && violation["prefix_length"] == 0, "{algo}: {violation}");
        assert!(violation["shortest"] == false || violation["length"] == shortest, "{algo}: {violation}");
        assert_eq!(read(&place, "o/two/trace.json").beginning, live.beginning, "{algo}");
        assert_eq!(found["assumed"]["prefix"], json!({ "trace": "o/live.json", "steps": 0, "from_states": true }));
    }
    let told = run(&["--algo", "bdfs"]).exits(12).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("start in the exported states of o/live.json;"), "{told}");
    assert!(told.contains("no shorter way from there exists"), "{told}");
    for options in [
        &["--algo", "bdfs", "--reduce"][..],
        &["--algo", "bdfs", "--workers", "3"],
        &["--deadlock", "--algo", "unfold"],
    ] {
        run(options).exits(12);
    }
    // Options of other states.
    let refused: [(&[&str], &str); 6] = [
        (&["--set", "bug=none"], "`--set bug=none` contradicts the prefix, which has bug=last-response"),
        (&["--nodes", "4"], "`--nodes 4` contradicts the prefix, which has 3"),
        (&["--twin", "0"], "was recorded with another node 2"),
        (&["--set-on", "1:bug=none"], "was recorded with another node 1"),
        (&["--network", "ordered"], "contradicts the prefix"),
        (&["--duplicates", "1"], "never delivers a message twice"),
    ];
    for (options, words) in refused {
        let ran = run(options).exits(151);
        assert!(ran.err.contains(words), "{words} in {}", ran.err);
    }
    let other = place.host(&["run", bundled("register"), "--prefix", "o/live.json", "--any-plugin"]).exits(151);
    assert!(other.err.contains("parameter") || other.err.contains("of the component"), "{}", other.err);
}

/// Budgets under which the states would have been exported in another way are refused, others are as valid as in the trace.
#[test]
fn budgets_fit_what_was_exported() {
    let place = repository();
    let walk = ["run", bundled("query"), "--algo", "walk", "--walks", "1", "--quiet", "--safety-only"];
    let cases: [(&[&str], &[&str], &str); 4] = [
        (
            &["--network", "unordered-duplicating"],
            &["--duplicates", "2"],
            "`--duplicates 2` contradicts the prefix, which begins with messages in flight that were exported with 1 duplicate each",
        ),
        (
            &["--network", "ordered"],
            &["--resets", "1"],
            "`--resets 1` contradicts the prefix, which begins in states that were exported with other connections",
        ),
        (
            &["--network", "ordered", "--breaks", "1"],
            &["--breaks", "0"],
            "`--breaks 0` contradicts the prefix, which begins in states that were exported with other connections",
        ),
        (&["--resets", "1"], &["--resets", "0"], "node 0 has used 1 of its resets, and its budget is 0"),
    ];
    let bytes = std::fs::read(bundled("query")).expect("it is built");
    for (cluster, budget, words) in cases {
        // A debugger writes a path down.
        let debug = [&["debug", bundled("query"), "--quiet", "--"], cluster].concat();
        let lines = if cluster[0] == "--resets" { "take 0\n" } else { "" };
        let enabled = place.host_reading(&debug, &format!("{lines}enabled\n"));
        let reset = enabled.out.lines().find_map(|line| line.strip_suffix(". node 0: reset").map(str::trim));
        let take = reset.map_or(String::new(), |index| format!("take {index}\n"));
        place.host_reading(&debug, &format!("take 0\n{take}save o.json\n")).exits(0);
        let path = read(&place, "o.json");
        put(&place, "live.json", &live::exported(&bytes, &path, path.steps.len()));
        let run = [&walk[..], &["--prefix", "live.json"]].concat();
        // A reset violates a property.
        for options in [&[][..], &["--crashes", "1"]] {
            let ran = place.host(&[&run[..], options].concat());
            assert!([0, 12].contains(&ran.code), "{ran:?}");
        }
        let refused = place.host(&[&run[..], budget].concat()).exits(151);
        assert!(refused.err.contains(words), "{words} in {}", refused.err);
    }
}

/// A search from exported states is interrupted and resumed; with other states, resuming is refused.
#[test]
fn checkpoints_belong_to_the_exported_states() {
    let (mut place, whole) = counterexample();
    let harmless = Trace { finding: None, ..whole.clone() };
    put(&place, "o/live.json", &exported(&harmless, 2));
    let search = ["run", bundled("paxos"), "--prefix", "o/live.json", "--algo", "bdfs", "--depth", "6", "--json"];
    let end = place.host(&search).exits(0).json();
    place.resumes_to_the_same(&search, &end);
    place.interrupted = Some(20);
    let kept = [&search[..], &["--checkpoint", "kept"]].concat();
    assert_eq!(place.host(&kept).json()["end"], "interrupted");
    place.interrupted = None;
    put(&place, "o/live.json", &exported(&harmless, 3));
    let refused = place.host(&["run", "--resume", "kept"]).exits(151);
    assert!(refused.err.contains("start states"), "{}", refused.err);
}

/// Every text and drawing distinguishes a lost message from one that was never delivered.
#[test]
fn a_loss_is_in_every_report() {
    let (place, whole) = counterexample();
    let live = exported(&whole, 4);
    let flights = live.beginning.clone().expect("it begins there").in_flight;
    // The last one of several, so that nothing after it takes it.
    let lossy = Trace { steps: flights.iter().map(loss).collect(), ..live }.with_version();
    put(&place, "o/lossy.json", &lossy);
    let count = flights.len();
    assert!(count > 1, "{count} messages in flight say little");
    let replayed = of(&place, "replay", "o/lossy.json", &[]).exits(0);
    assert_eq!(replayed.out.matches("is lost: ").count(), count, "{}", replayed.out);
    assert!(replayed.out.contains("start in states from elsewhere\n"), "{}", replayed.out);
    let steps = of(&place, "replay", "o/lossy.json", &["--json"]).exits(0).json()["steps"].clone();
    assert!(steps.as_array().expect("a list").iter().all(|step| step["message"].is_object()), "{steps}");
    let out = ["o/l.svg", "o/l.mmd", "o/l.dot"];
    of(&place, "draw", "o/lossy.json", &["--out", out[0], "--out", out[1], "--out", out[2]]).exits(0);
    for path in out {
        let drawing = std::fs::read_to_string(place.path(path)).expect("it was drawn");
        assert!(!drawing.contains("never delivered"), "{drawing}");
        for step in 1..=count {
            assert!(drawing.contains(&format!("lost in step {step}")), "{path}, step {step}: {drawing}");
        }
    }
    let log = of(&place, "export", "o/lossy.json", &["--format", "shiviz"]).exits(0).out;
    assert_eq!(log.matches("is lost: ").count(), count, "{log}");
    let itf = of(&place, "export", "o/lossy.json", &["--format", "itf", "--out", "o/l.itf.json"]);
    itf.exits(0);
    let document: Value =
        serde_json::from_slice(&std::fs::read(place.path("o/l.itf.json")).expect("it was written")).expect("JSON");
    for (step, state) in document["states"].as_array().expect("a list").iter().enumerate() {
        assert_eq!(state["in_flight"].as_array().expect("a list").len(), count - step);
    }
    let back = of(&place, "replay", "o/l.itf.json", &[]).exits(0);
    assert_eq!(back.out, replayed.out, "the same trace");
    // A message lost first blocks no other.
    let longer = [lossy.steps.clone(), vec![]].concat();
    let unfinding = Trace { steps: longer, ..lossy };
    put(&place, "o/prefix.json", &unfinding);
    let after = ["run", bundled("paxos"), "--prefix", "o/prefix.json", "--algo", "bdfs", "--depth", "2", "--json"];
    let after = place.host(&[&after[..], &["--safety-only"]].concat());
    // With these messages lost, no value is chosen.
    assert_eq!(after.exits(15).json()["assumed"]["prefix"]["steps"], count);
}

/// The minimiser leaves out losses that the finding does not need, and begins where the trace begins.
#[test]
fn losses_that_do_not_matter_are_left_out() {
    let (place, whole) = counterexample();
    let half = whole.steps.len() / 2;
    let live = exported(&whole, half);
    let rest = &whole.steps[half..];
    let flights = live.beginning.clone().expect("it begins there").in_flight;
    let is_taken = |flight: &&Flight| {
        let takes = |step: &TraceStep| {
            step.node == flight.to && step.event.received().contains(&(flight.from, &flight.payload.0[..]))
        };
        rest.iter().any(takes)
    };
    let mut steps: Vec<TraceStep> = flights.iter().filter(|flight| !is_taken(flight)).map(loss).collect();
    assert!(!steps.is_empty(), "nothing can be lost");
    steps.extend(rest.iter().cloned());
    let found = Trace { finding: whole.finding.clone(), steps, ..live };
    put(&place, "o/found.json", &found);
    of(&place, "replay", "o/found.json", &[]).exits(12);
    of(&place, "minimize", "o/found.json", &["--out", "o/short.json"]).exits(0);
    let short = read(&place, "o/short.json");
    assert_eq!((&short.beginning, short.trace_version), (&found.beginning, 2));
    assert!(short.steps.iter().all(|step| !matches!(step.event, TraceEvent::Lose { .. })), "{short:?}");
    of(&place, "replay", "o/short.json", &[]).exits(12);
}

/// The debugger begins where the trace does, shows and takes losses, and knows of absent nodes.
#[test]
fn the_debugger_begins_in_exported_states() {
    let (place, whole) = counterexample();
    let mut live = exported(&whole, 4);
    let beginning = live.beginning.as_mut().expect("it begins there");
    let flight = beginning.in_flight.iter().find(|flight| flight.to != 2).expect("one is left").clone();
    beginning.states.truncate(2);
    beginning.in_flight.retain(|flight| flight.to != 2);
    let in_flight = beginning.in_flight.len();
    live.scenario.absent.insert(2);
    put(&place, "o/live.json", &live);
    let debug = |lines: &str| {
        let words = ["debug", "o/live.json", "--plugin", bundled("paxos"), "--quiet"];
        place.host_reading(&words, lines).exits(0).out
    };
    let out = debug("state\nmessages\n");
    assert!(out.contains("3 nodes, node 2 absent, network unordered"), "{out}");
    assert!(out.contains("\nnode 2: absent\n"), "{out}");
    let graph = ["graph", bundled("paxos"), "--states", "20", "--out", "o/g.dot", "--", "--prefix", "o/live.json"];
    place.host(&graph).exits(0);
    let drawn = std::fs::read_to_string(place.path("o/g.dot")).expect("it is there");
    assert!(drawn.contains("node 2: absent"), "{drawn}");
    assert_eq!(out.matches(" -> node ").count(), in_flight, "{out}");
    let lost = debug(&format!("lose {} .\nmessages\nwhy {} .\nsave o/lost.json\n", flight.to, flight.to));
    assert!(lost.contains("is lost: ") && lost.contains("lost in step 1"), "{lost}");
    let saved = read(&place, "o/lost.json");
    assert!(matches!(saved.steps[..], [TraceStep { event: TraceEvent::Lose { .. }, .. }]), "{saved:?}");
    assert_eq!((saved.trace_version, &saved.beginning), (2, &live.beginning));
    assert!(debug("open o/lost.json\nn\n").contains("is lost: "));
    // Another beginning is another cluster.
    let elsewhere = Trace { beginning: exported(&whole, 5).beginning, ..live.clone() };
    let mut elsewhere = elsewhere;
    let other = elsewhere.beginning.as_mut().expect("it begins there");
    other.states.truncate(2);
    other.in_flight.retain(|flight| flight.to != 2);
    put(&place, "o/other.json", &elsewhere);
    let words = ["debug", "o/live.json", "--plugin", bundled("paxos"), "--quiet"];
    let refused = place.host_reading(&words, "open o/other.json\n").exits(1).out;
    assert!(refused.contains("it begins in another state than this session"), "{refused}");
    // Nothing else fails for want of the node.
    of(&place, "draw", "o/lost.json", &["--out", "o/a.svg", "--out", "o/a.mmd", "--out", "o/a.dot"]).exits(0);
    for format in ["itf", "shiviz", "json"] {
        let text = of(&place, "export", "o/lost.json", &["--format", format]).exits(0).out;
        assert!(text.contains("absent"), "{format}: {text}");
    }
    let bounded = ["--algo", "bdfs", "--deadlock", "--crashes", "1", "--safety-only", "--depth", "4"];
    for options in [&["--algo", "unfold"][..], &["--algo", "bdfs", "--reduce"], &bounded] {
        let run = [&["run", bundled("paxos"), "--prefix", "o/lost.json", "--json"], options].concat();
        assert_eq!(place.host(&run).json()["assumed"]["absent"], json!([2]), "{run:?}");
    }
    let shown = place.host(&["run", bundled("paxos"), "--prefix", "o/lost.json", "--algo", "unfold"]);
    assert!(shown.out.contains("3, node 2 absent"), "{}", shown.out);
}

/// Expressions skip absent nodes, so they agree with the property of the plugin.
#[test]
fn expressions_pass_over_an_absent_node() {
    let agreement = "outside=size(unique(flatten(nodes.map(n, n.Running.learner.chosen)))) <= 1";
    let (place, whole) = counterexample();
    let mut results = BTreeSet::new();
    for absent in 0..3 {
        let mut live = exported(&whole, 8);
        let beginning = live.beginning.as_mut().expect("it begins there");
        beginning.states.retain(|state| state.node != absent);
        beginning.in_flight.retain(|flight| flight.to != absent);
        live.scenario.absent.insert(absent);
        put(&place, "o/live.json", &live);
        let found = |options: &[&str], property: &[&str]| {
            let run = place.run_json("paxos", &[&["--prefix", "o/live.json"], options, property].concat());
            let lengths = run["violations"].as_array().map(|all| all.iter().map(|it| it["length"].clone()).collect());
            [run["result"].clone(), run["counts"].clone(), lengths.unwrap_or_default()]
        };
        for options in [
            "bdfs",
            "bdfs --reduce",
            "bdfs --resets 1 --states 4000",
            "bdfs --crashes 1 --losses 1 --depth 4",
            "unfold",
            "lmc",
            "dpor --depth 6",
            "dpor-ds --depth 4",
            "consequence",
            "consequence --resets 1 --states 4000",
            "walk --walks 100",
        ] {
            let options: Vec<&str> = ["--algo"].into_iter().chain(options.split(' ')).collect();
            let own = found(&options, &["--property", "agreement"]);
            assert_eq!(
                own,
                found(&options, &["--property", "outside", "--always", agreement]),
                "{absent}: {options:?}"
            );
            results.insert(own[0].to_string());
        }
        // Absent nodes are not counted either.
        let two = "outside=size(nodes) == 2 && nodes.all(i, n, i != ABSENT) && nodes[ABSENT] == null";
        let two = two.replace("ABSENT", &absent.to_string());
        assert_eq!(found(&["--algo", "bdfs"], &["--property", "outside", "--always", &two])[0], "ok");
    }
    assert_eq!(results, ["incomplete", "ok", "violation"].map(|result| json!(result).to_string()).into());
}
