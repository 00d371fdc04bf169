//! Traces that begin in states from elsewhere: a search from them, and what is written, executed again, made short and exported.

use host_model::lts::{Lts, Stepper};
use host_model::trace::{Trace, start};
use host_sandbox::{Plugin, Sandbox, SandboxConfig};
use serde_json::Value;

use super::golden::repository;
use super::{bundled, schema};

/// The state after the first steps of a trace, exported, as a trace that begins there.
fn exported(trace: &Trace, steps: usize) -> Trace {
    let bytes = std::fs::read(bundled("paxos")).expect("it is built");
    let sandbox = Sandbox::new(SandboxConfig::default(), None).expect("an engine");
    let plugin = Plugin::load(&sandbox, &bytes).expect("a plugin");
    let lts = Lts::new(&plugin, trace.scenario.clone()).expect("an instance");
    let mut stepper = Stepper::new(&lts).expect("an instance");
    let path = Trace { steps: trace.steps[..steps].to_vec(), ..trace.clone() };
    let end = start::follow(&mut stepper, &path).expect("it was recorded");
    let beginning = start::export(&mut stepper, &end).expect("states of plugins can leave");
    Trace { beginning: Some(beginning), init_choices: Vec::new(), finding: None, steps: Vec::new(), ..trace.clone() }
        .with_version()
}

#[test]
fn a_search_from_exported_states_is_told_like_any_other() {
    let place = repository();
    place
        .host(&["run", bundled("paxos"), "--set", "bug=last-response", "--algo", "unfold", "--out", "o/one"])
        .exits(12);
    let text = std::fs::read_to_string(place.path("o/one/trace.json")).expect("the trace is there");
    let whole: Trace = serde_json::from_str(&text).expect("a trace");
    assert_eq!(whole.trace_version, 1);
    let live = exported(&whole, whole.steps.len() / 2);
    assert_eq!(live.trace_version, 2);
    place.put("o/live.json", serde_json::to_string(&live).expect("a document"));

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
    let place = repository();
    place
        .host(&["run", bundled("paxos"), "--set", "bug=last-response", "--algo", "unfold", "--out", "o/one"])
        .exits(12);
    let text = std::fs::read_to_string(place.path("o/one/trace.json")).expect("the trace is there");
    let live = exported(&serde_json::from_str(&text).expect("a trace"), 2);
    let check = |change: &dyn Fn(&mut Trace), words: &str| {
        let mut changed = live.clone();
        change(&mut changed);
        place.put("o/changed.json", serde_json::to_string(&changed).expect("a document"));
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
}
