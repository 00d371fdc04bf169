//! Round trips through the formats of other tools.
//!
//! | module | what it holds |
//! |---|---|
//! | `walks` | ways through random systems |

mod walks;

use std::collections::BTreeMap;
use std::sync::Arc;

use host_inspect::exchange::{self, from_itf, shiviz};
use host_inspect::graph::{arrows, clocks};
use host_inspect::recording::Recording;
use host_model::contract::LocalKind;
use host_model::scenario::{FaultEvent, FaultState, Faults};
use host_model::toys::Toy;
use host_model::trace::{Hex, Received, TraceEvent};

use serde_json::json;

/// The part of a state that a reader of ITF needs.
#[derive(serde::Deserialize)]
struct Seen {
    #[serde(rename = "mbt::actionTaken")]
    action: String,
    in_flight: Vec<Flying>,
}

#[derive(serde::Deserialize)]
struct Flying {
    message: String,
}

fn recording(seed: u64) -> Recording {
    let toy = Arc::new(Toy::random(seed, 3));
    walks::executed(&toy, &walks::trace(&toy, seed))
}

/// A document as read from a file.
fn read(document: &serde_json::Value) -> exchange::Document {
    serde_json::from_str(&document.to_string()).expect("a document")
}

#[test]
fn a_trace_comes_back_from_itf_as_it_was() {
    let (mut steps, mut losses) = (0, 0);
    for seed in 0..300 {
        let recording = recording(seed);
        let document = exchange::itf(&recording).expect("a short trace");
        assert_eq!(from_itf(&read(&document)), Ok(recording.trace.clone()), "seed {seed}");
        steps += recording.steps.len();
        losses += recording.trace.steps.iter().filter(|step| matches!(step.event, TraceEvent::Lose { .. })).count();
        // Another implementation reads it, with the same number of states and the actions.
        let text = document.to_string();
        let read: ::itf::Trace<Seen> = ::itf::trace_from_str(&text).expect("it is ITF");
        let actions: Vec<&str> = read.states.iter().map(|state| state.value.action.as_str()).collect();
        let expected = recording.trace.steps.iter().map(|step| match &step.event {
            TraceEvent::Deliver { .. } => "deliver",
            TraceEvent::Quorum { .. } => "quorum",
            TraceEvent::Local { name, .. } => name,
            TraceEvent::Lose { .. } => "lose",
            TraceEvent::Fault { event, .. } => event.kind(),
            TraceEvent::TransportError { .. } => "transport-error",
        });
        assert_eq!(actions, std::iter::once("init").chain(expected).collect::<Vec<_>>());
        assert!(read.states.iter().all(|state| state.value.in_flight.iter().all(|flying| flying.message.len() == 2)));
        assert_eq!(read.vars, ["nodes", "in_flight", "mbt::actionTaken", "mbt::nondetPicks"]);
    }
    assert!(steps > 1000 && losses > 50, "{steps} steps and {losses} losses in 300 systems test nothing");
}

#[test]
fn what_host_did_not_write_is_refused() {
    let mut document = exchange::itf(&recording(1)).expect("a short trace");
    document["states"][1]["mbt::nondetPicks"]["node"]["value"] = "x".into();
    assert!(from_itf(&read(&document)).is_err_and(|why| why.starts_with("`node` of state 1 is wrong")));
    document["#meta"] = serde_json::json!({});
    assert!(from_itf(&read(&document)).is_err_and(|why| why.contains("was not written by `host`")));
}

/// The form of each kind of event in traces of earlier versions.
#[test]
fn events_are_written_as_ever() {
    let payload = || Hex(vec![7]);
    let fault = |kind: &str, peer, lost| TraceEvent::Fault {
        event: FaultEvent::of_kind(kind, peer).expect("there is such a fault"),
        lost,
    };
    let outage = |loss: fn(FaultEvent, u32) -> Option<FaultEvent>, number| {
        let event = FaultEvent::of_kind("outage", None).and_then(|event| loss(event, number));
        TraceEvent::Fault { event: event.expect("it loses writes"), lost: false }
    };
    let received = Received { from: 2, payload: payload() };
    let cases = [
        (TraceEvent::Deliver { from: 1, payload: payload() }, r#"{"kind":"deliver","from":1,"payload":"07"}"#),
        (
            TraceEvent::Quorum { name: "acks".to_owned(), messages: vec![received] },
            r#"{"kind":"quorum","name":"acks","messages":[{"from":2,"payload":"07"}]}"#,
        ),
        (
            TraceEvent::Local { name: "go".to_owned(), cause: LocalKind::Timer, payload: Hex(Vec::new()) },
            r#"{"kind":"local","name":"go","cause":"timer","payload":""}"#,
        ),
        (fault("reset", None, false), r#"{"kind":"reset"}"#),
        (fault("break", Some(1), false), r#"{"kind":"break","peer":1}"#),
        (fault("break", Some(1), true), r#"{"kind":"break","peer":1,"lost":true}"#),
        (outage(FaultEvent::losing, 2), r#"{"kind":"outage","unsynced":2}"#),
        (outage(FaultEvent::leaving, 5), r#"{"kind":"outage","disk":5}"#),
        (TraceEvent::TransportError { peer: 1, lost: true }, r#"{"kind":"transport-error","peer":1,"lost":true}"#),
        (TraceEvent::Lose { from: 1, payload: payload() }, r#"{"kind":"lose","from":1,"payload":"07"}"#),
    ];
    for (event, text) in &cases {
        assert_eq!(serde_json::to_string(event).expect("plain data"), *text);
        assert_eq!(serde_json::from_str::<TraceEvent>(text).expect(text), *event);
        // Each field of it is required or has a default, and fields of other kinds are refused.
        let alien = text.replace('}', r#","wrong":1}"#);
        assert!(serde_json::from_str::<TraceEvent>(&alien).is_err(), "{alien}");
    }
    for wrong in [
        r#"{"kind":"teleport"}"#,
        r#"{"kind":"deliver","from":1}"#,
        r#"{"kind":"deliver","from":1,"payload":"07","peer":1}"#,
        r#"{"kind":"deliver","from":1,"payload":"07","lost":true}"#,
        r#"{"kind":"local","name":"go"}"#,
        r#"{"kind":"reset","peer":1}"#,
        r#"{"kind":"reset","lost":true}"#,
        r#"{"kind":"break"}"#,
        r#"{"kind":"reset","unsynced":1}"#,
        r#"{"kind":"reset","disk":1}"#,
        r#"{"kind":"local","name":"go","cause":"timer","disk":1}"#,
        r#"{"kind":"outage","unsynced":1,"disk":1}"#,
        r#"{"kind":"break","peer":1,"from":1}"#,
        r#"{"kind":"refusals"}"#,
        r#"{"kind":"reset","kind":"reset"}"#,
        r#"{"peer":1}"#,
    ] {
        assert!(serde_json::from_str::<TraceEvent>(wrong).is_err(), "{wrong}");
    }
    assert_eq!(serde_json::from_str::<TraceEvent>(r#"{"kind":"local","name":"go","cause":"timer"}"#).ok(), {
        let (event, _) = &cases[2];
        Some(event.clone())
    });
}

/// Budgets and fault states name only values other than 0, and accept the form of earlier versions.
#[test]
fn numbers_of_faults_are_written_by_name() {
    let faults = Faults { resets: 1, crashes: 2, ..Faults::default() };
    assert_eq!(serde_json::to_value(faults).expect("plain data"), json!({ "resets": 1, "crashes": 2 }));
    assert!(serde_json::from_value::<Faults>(json!({ "fires": 1 })).is_err());
    let old = json!({ "resets": 1, "breaks": 0, "refusals": 0, "ends": [{ "incarnation": 1, "open": true }] });
    let state: FaultState = serde_json::from_value(old).expect("a fault state");
    assert_eq!((state.counts, state.incarnation(0)), (Faults { resets: 1, ..Faults::default() }, 1));
    let new = json!({ "resets": 1, "ends": [{ "incarnation": 1, "open": true }] });
    assert_eq!(serde_json::to_value(&state).expect("plain data"), new);
    assert_eq!(serde_json::from_value::<FaultState>(new).expect("a fault state"), state);
    assert!(serde_json::from_value::<FaultState>(json!({ "fires": 1 })).is_err());
    // Maps in hex: an empty one, and one with the key `a` and the value `b`.
    let unsynced = json!({ "resets": 1, "outages": 1, "ends": [], "unsynced": ["", "01000000610100000062"] });
    let state: FaultState = serde_json::from_value(unsynced.clone()).expect("a fault state");
    assert_eq!(state.unsynced_maps().map(|map| map.len()).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(serde_json::to_value(&state).expect("JSON"), unsynced);
    assert!(serde_json::from_value::<FaultState>(json!({ "unsynced": ["01"] })).is_err());
    // The key `a` can be left without an entry, or with the value `b`.
    let loose = json!({ "ends": [], "loose": [{ "key": "61", "values": [null, "62"] }] });
    let state: FaultState = serde_json::from_value(loose.clone()).expect("a fault state");
    let entries = state.loose_entries().map(|(key, values)| (key, values.collect::<Vec<_>>()));
    assert_eq!(entries.collect::<Vec<_>>(), [(&b"a"[..], vec![None, Some(&b"b"[..])])]);
    assert_eq!(serde_json::to_value(&state).expect("JSON"), loose);
    assert!(serde_json::from_value::<FaultState>(json!({ "loose": [{ "key": "6", "values": [] }] })).is_err());
}

/// Reads a log with ShiViz's defaults: a line with the event, a line with host and clock.
fn read_shiviz(log: &str) -> Vec<(String, BTreeMap<String, u64>)> {
    let lines: Vec<&str> = log.lines().collect();
    let events = lines.chunks(2).map(|pair| {
        let (host, clock) = pair[1].split_once(' ').expect("host and clock");
        (host.to_owned(), serde_json::from_str(clock).expect("a clock is a JSON object"))
    });
    events.collect()
}

#[test]
fn shiviz_sees_the_happens_before_of_the_trace() {
    for seed in 0..100 {
        let recording = recording(seed);
        let log = read_shiviz(&shiviz(&recording).expect("a short trace"));
        let nodes = recording.nodes() as usize;
        assert_eq!(log.len(), nodes + recording.steps.len());
        // The index of the last event of each node, and the clocks by definition: the own entry counts up, all entries
        // are at least those of the previous event and of the event that sent the message.
        let index = |node: u32, step: usize| if step == 0 { node as usize } else { nodes + step - 1 };
        for (number, step) in (1..).zip(&recording.trace.steps) {
            let (host, clock) = &log[index(step.node, number)];
            assert_eq!(*host, format!("node{}", step.node));
            let before = &log[index(step.node, recording.step_before(number, step.node))].1;
            assert_eq!(clock[host], before[host] + 1);
            let sender = arrows(&recording).into_iter().find(|arrow| arrow.delivered() == Some(number));
            let causes = sender.map(|arrow| &log[index(arrow.from, arrow.sent)].1).into_iter().chain([before]);
            for cause in causes {
                assert!(cause.iter().all(|(node, count)| clock.get(node) >= Some(count)), "seed {seed}, step {number}");
            }
        }
        assert_eq!(clocks(&recording).len(), recording.steps.len());
    }
}
