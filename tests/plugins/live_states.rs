//! The live states that come with Paxos and Multi-Paxos: built step by step, and how far their bugs are from there.

use std::collections::BTreeMap;

use host_model::contract::{LocalEvent, NodeId};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{FaultEvent, Scenario};
use host_model::trace::replay::Replay;
use host_model::trace::start;
use host_model::trace::{Hex, Origin, PluginRef, Sent, TRACE_VERSION, Trace, TraceEvent, TraceStep};
use host_search::kernel::SearchBounds;
use host_search::strategy::STRATEGIES;

use super::{hunt, path, plugin, run_from, scenario};

/// The state of section 5.5 of the LMC paper: the first node has proposed its value, the first and the second have
/// accepted it, only the first has learned so.
const LIVE_STATE: &str = "plugins/paxos/scenarios/live-state.json";

/// Builds the live state step by step: the receiver, the kind and the sender of each message.
fn live_state() -> Trace {
    first_round("paxos", scenario(3, &[("proposers", "2"), ("bug", "last-response")]), false)
}

/// A round of Paxos without the third node, and only the first node learns the chosen value; then the second
/// node is reset, if so wanted.
fn first_round(name: &'static str, scenario: Scenario, and_reset: bool) -> Trace {
    let (mut replay, _) = Replay::new(plugin(name), &scenario, &Origin::default()).expect("the cluster starts");
    let mut steps = vec![take(&mut replay, 0, TraceEvent::from_local(&first_local_event(name, &scenario, 0)))];
    for (kind, responses) in [("\"Prepare\"", "\"PrepareResponse\""), ("\"Accept\"", "\"Learn\"")] {
        for node in [0, 1] {
            steps.push(deliver(&mut replay, 0, node, kind));
            steps.push(deliver(&mut replay, node, 0, responses));
        }
    }
    if and_reset {
        let event = FaultEvent::of_kind("reset", None).expect("there are resets");
        steps.push(take(&mut replay, 1, TraceEvent::Fault { event, lost: false }));
    }
    let plugin = PluginRef { name: name.to_owned(), version: None, digest: None };
    Trace {
        trace_version: TRACE_VERSION,
        plugin,
        placements: Vec::new(),
        scenario,
        limits: BTreeMap::new(),
        init_choices: Vec::new(),
        expressed: Vec::new(),
        specs: Vec::new(),
        beginning: None,
        finding: None,
        steps,
    }
}

/// The first local event of a node in the initial state.
fn first_local_event(name: &'static str, scenario: &Scenario, node: usize) -> LocalEvent {
    let lts = Lts::new(plugin(name), scenario.clone()).expect("the plugin lists its properties");
    let mut stepper = Stepper::new(&lts).expect("an instance");
    let start = start::initial(&mut stepper).expect("the plugin starts").remove(0);
    let event = stepper.state(start.locals[node]).protocol.local_events[0];
    (*lts.local_event(event)).clone()
}

fn deliver(replay: &mut Replay, from: NodeId, to: NodeId, kind: &str) -> TraceStep {
    let in_flight: Vec<(NodeId, NodeId, Vec<u8>)> =
        replay.in_flight().map(|(from, to, payload)| (from, to, payload.to_vec())).collect();
    let is_wanted = |(one, other, payload): &&(NodeId, NodeId, Vec<u8>)| {
        (*one, *other) == (from, to) && replay.describe_message(payload).is_some_and(|json| json.contains(kind))
    };
    let (.., payload) = in_flight.iter().find(is_wanted).expect("the message is in flight");
    take(replay, to, TraceEvent::Deliver { from, payload: Hex(payload.clone()) })
}

fn take(replay: &mut Replay, node: NodeId, event: TraceEvent) -> TraceStep {
    let mut step = TraceStep { node, event, choices: Vec::new(), sent: None, state: None };
    let report = replay.step(&step).expect("the step can be taken");
    step.sent = Some(report.effects.sent.iter().map(Sent::from).collect());
    step
}

/// The first rounds of figures 3.8 and 3.9 of the thesis, before which only the bug differs and after which the reset.
fn figures() -> [(&'static str, Trace); 2] {
    let last = scenario(3, &[("bug", "last-response")]);
    let mut forgets = scenario(3, &[("bug", "forget-accepted")]);
    forgets.faults.resets = 1;
    [
        ("plugins/multi-paxos/scenarios/figure-3-8.json", first_round("multi-paxos", last, false)),
        ("plugins/multi-paxos/scenarios/figure-3-9.json", first_round("multi-paxos", forgets, true)),
    ]
}

/// The shipped traces are those built here; `HOST_BLESS=1` writes them.
#[test]
fn the_live_states_are_those_that_are_shipped() {
    is_shipped(LIVE_STATE, &live_state());
    for (file, trace) in figures() {
        is_shipped(file, &trace);
    }
}

fn is_shipped(file: &str, trace: &Trace) {
    let built = serde_json::to_string_pretty(trace).expect("a trace is JSON") + "\n";
    let path = path(file);
    if std::env::var_os("HOST_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("the folder can be made");
        std::fs::write(&path, &built).expect("the trace can be written");
    }
    let shipped = std::fs::read_to_string(&path).expect("the trace is shipped");
    assert_eq!(shipped, built, "HOST_BLESS=1 rewrites it");
}

/// From the live state the bug is nine events away: the second node proposes, it and the third promise, the response
/// without a value comes last, both accept the second value and the second node learns so.
#[test]
fn the_shortest_violation_from_the_live_state_has_nine_events() {
    let trace = live_state();
    let shortest = trace.steps.len() + 1 + 2 + 2 + 2 + 2;
    // A search without a memory does not look for the shortest violation.
    for strategy in STRATEGIES.iter().filter(|strategy| strategy.is_complete && !strategy.name.starts_with("dpor")) {
        let found = hunt(&trace.scenario, strategy.name, Some(&trace));
        // LMC reports the first violation that it verifies, and says whether a shorter one may exist.
        if strategy.name.starts_with("lmc") && !found.shortest {
            assert!(found.path.len() >= shortest, "{}", strategy.name);
        } else {
            assert_eq!(found.path.len(), shortest, "{}", strategy.name);
            assert!(found.shortest, "{}", strategy.name);
        }
    }
}

/// After the rounds of the figures a round among the other two nodes breaks agreement: nine events, as above.
#[test]
fn the_bugs_of_multi_paxos_are_found_from_the_live_states() {
    for (_, trace) in figures() {
        for algo in ["bdfs", "unfold", "lmc-opt"] {
            let (report, _) =
                run_from("multi-paxos", &trace.scenario, algo, Some(&trace), (SearchBounds::default(), false));
            let found = report.violations.first().expect("the bug is found");
            let shortest = trace.steps.len() + 1 + 2 + 2 + 2 + 2;
            assert!(found.path.len() >= shortest, "{algo} {:?}", trace.scenario);
            assert!(!found.shortest || found.path.len() == shortest, "{algo} {:?}", trace.scenario);
        }
    }
}
