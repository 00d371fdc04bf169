//! The possible outcomes of each state of a graph: computed from that state alone, and compared with the graph.

use std::collections::HashMap;
use std::sync::Arc;

use host_agreement::effort::{systems, telling};
use host_agreement::reference::System;
use host_model::lts::{LocalStateId, Lts, Step, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::start::{self, Start};
use host_search::graph::{self, Expanded, GraphEdge, GraphSink, GraphState};
use host_search::kernel::rules::{Recovery, Rules};
use host_search::kernel::{EndCondition, Progress, Search, SearchBounds, Unmonitored};
use host_search::liveness::{FAR, Recorder, Watch, distances};
use host_search::outlook::certificate::certify;
use host_search::outlook::guided::search_guided;
use host_search::outlook::nearby::look_around;
use host_search::outlook::{Outlook, is_fault, is_owed};

use super::toys::{STATES_MAX, random};

/// Records a graph with its states and steps.
struct States<'l> {
    recorder: Recorder<'l>,
    states: Vec<Start>,
    steps: Vec<(u32, Step, LocalStateId, u32)>,
}

impl GraphSink for States<'_> {
    fn state(&mut self, state: &GraphState<'_>) {
        let (locals, in_flight) = (state.locals.to_vec(), state.in_flight.to_vec().into());
        self.states.push(Start { locals, in_flight, ..Start::default() });
        self.recorder.state(state);
    }

    fn edge(&mut self, edge: &GraphEdge<'_>) {
        self.steps.push((edge.from, edge.step, edge.local, edge.to));
        self.recorder.edge(edge);
    }

    fn expanded(&mut self, expanded: &Expanded<'_>) {
        self.recorder.expanded(expanded);
    }

    fn bytes(&self) -> u64 {
        self.recorder.bytes()
    }
}

/// Counts over many systems.
#[derive(Debug, Default)]
struct Seen {
    states: u64,
    alive: u64,
    dead: u64,
    certified: u64,
    /// Ways of guided searches that are no longer than any other.
    shortest: u64,
    /// Refused messages that lead back from the dead.
    back_by_refusal: u64,
}

/// Computes the outlook of each state of a system for each of its promises.
fn ask_everywhere(system: &System, recovery: Recovery, seen: &mut Seen) {
    let factory = Arc::new(system.toy.clone());
    let lts = Lts::new(&factory, system.scenario()).expect("a toy lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
    let bounds =
        SearchBounds { states: Some(STATES_MAX as u64), violations: Some(u64::MAX), ..SearchBounds::default() };
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    let mut sink = States { recorder: Recorder::new(&lts), states: Vec::new(), steps: Vec::new() };
    let report = graph::explore(&search, &mut sink).expect("a toy has no host faults");
    if report.end != EndCondition::SpaceExhausted {
        return;
    }
    let recorded = sink.recorder.finish();
    let rules = Rules { recovery, ..Rules::default() };
    let mut stepper = Stepper::new(&lts).expect("a machine");
    let edges: HashMap<(u32, Step), (LocalStateId, u32)> =
        sink.steps.iter().map(|(from, step, before, to)| ((*from, *step), (*before, *to))).collect();
    for (index, promise) in lts.promises().into_iter().enumerate() {
        let watch = &mut Watch::new(&Unmonitored, Progress::default());
        let distances = distances(&recorded.graph, index, recovery, watch).expect("nothing ends it");
        for (from, step, before, to) in &sink.steps {
            let is_back = distances[*from as usize] == FAR && distances[*to as usize] < FAR;
            let is_fault = is_fault(&mut stepper, *before, *step, recovery).expect("a machine");
            assert!(is_fault || !is_back, "{step:?} of {from} leads back from the dead: {system:#?}");
            let is_refusal = step.trigger.is_delivery() || step.trigger.local_event().is_some();
            seen.back_by_refusal += u64::from(is_back && is_refusal);
        }
        for (from, (state, distance)) in sink.states.iter().zip(&distances).enumerate() {
            let distance = *distance;
            let context = || format!("{promise:?}, {recovery:?}, {state:?}, {system:#?}");
            let is_dead = distance == FAR;
            assert_eq!(is_owed(&mut stepper, &state.locals, promise), Ok(distance > 0), "{}", context());
            let owing = stepper.owing(promise.property, promise.node, &state.locals).expect("a machine");
            assert_eq!(owing.is_some(), distance > 0, "{}", context());
            let (outlook, _) = look_around(&search, state, index, rules, &Progress::default()).expect("no host faults");
            match outlook {
                Outlook::Alive(way) => assert_eq!(way.len(), distance as usize, "{}", context()),
                Outlook::Dead => assert!(is_dead, "{}", context()),
                Outlook::Open => panic!("everything is close by: {}", context()),
            }
            let certified = certify(&mut stepper, state, promise, recovery, &mut |_| None).expect("no host faults");
            assert!(is_dead || !certified.is_dead, "{}", context());
            let (guided, _) =
                search_guided(&mut stepper, state, promise, recovery, &mut |_| None).expect("no host faults");
            match guided {
                Outlook::Alive(way) => {
                    let mut at = from as u32;
                    for step in &way {
                        let (before, to) = edges[&(at, *step)];
                        let is_fault = is_fault(&mut stepper, before, *step, recovery).expect("a machine");
                        assert!(!is_fault, "{step:?} of {way:?}, {}", context());
                        at = to;
                    }
                    assert_eq!(distances[at as usize], 0, "{way:?}, {}", context());
                    assert!(way.len() >= distance as usize, "{way:?}, {}", context());
                    seen.shortest += u64::from(distance > 0 && way.len() == distance as usize);
                }
                Outlook::Dead => assert!(is_dead, "{}", context()),
                Outlook::Open => panic!("everything is close by: {}", context()),
            }
            seen.states += 1;
            seen.alive += u64::from(!is_dead && distance > 0);
            seen.dead += u64::from(is_dead);
            seen.certified += u64::from(certified.is_dead);
        }
    }
}

#[test]
fn the_outlook_of_a_state_is_what_the_graph_says() {
    for recovery in Recovery::ALL {
        let mut seen = Seen::default();
        for seed in 0..systems(1_000) {
            ask_everywhere(&random(seed), recovery, &mut seen);
        }
        // The design requires that nine in ten dead states are proven.
        let enough = seen.alive > 1_000 && seen.dead > 1_000 && seen.certified * 10 > seen.dead * 9;
        let enough = enough && seen.shortest * 10 > seen.alive * 9 && seen.back_by_refusal > 0;
        telling(enough, format_args!("{recovery:?}: {seen:?}"));
    }
}

/// A guided search heads for 64 combinations of views, those of the first of 70 choices, and none of them is reached: a reply to one of
/// these takes a node that was asked before, and no node asks twice. The replies to the other choices go the long way round, so that in
/// the local states of the nodes they are found last.
#[test]
fn what_is_not_headed_for_is_not_left_out() {
    const CHOICES: u8 = 70;
    const LAST: u32 = 6;
    let message = ToyTrigger::Message;
    let mut toy = Toy::new(LAST + 1);
    let mut kept = Vec::new();
    for choice in 1..=CHOICES {
        toy = toy.rule(0, 0, ToyTrigger::Local(choice), choice, &[(1, choice)]);
        let (replier, sent) = if choice > 64 { (2, (LAST, choice)) } else { (1, (0, choice)) };
        let first = if choice > 64 { vec![sent] } else { Vec::new() };
        toy = toy.rule(1, 0, message(0, choice), 1, &first).rule(1, 1, message(0, choice), 1, &[sent]);
        for relay in 2..=LAST {
            let from = if relay == LAST { 1 } else { relay + 1 };
            let to = if relay == 2 { 0 } else { relay - 1 };
            toy = toy.rule(relay, 0, message(from, choice), 0, &[(to, choice)]);
        }
        toy = toy.rule(0, choice, message(replier, choice), 100 + choice, &[]);
        let others = [None; LAST as usize];
        kept.push(std::iter::once(Some(100 + choice)).chain(others).collect::<Vec<_>>());
    }
    let kept: Vec<&[Option<u8>]> = kept.iter().map(Vec::as_slice).collect();
    let factory = Arc::new(toy.promise("answered", &kept));
    let lts = Lts::new(&factory, Scenario::new(LAST + 1)).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a machine");
    let starts = start::initial(&mut stepper).expect("a toy starts");
    let (promise, recovery) = (lts.promises()[0], Recovery::Events);
    let (outlook, _) =
        search_guided(&mut stepper, &starts[0], promise, recovery, &mut |_| None).expect("no host faults");
    // The choice, five relays and two more deliveries.
    let Outlook::Alive(way) = outlook else { panic!("{outlook:?}") };
    assert_eq!(way.len(), 8);
}

/// A node in one of 20 states takes 20 messages in any order: more pairs than a certificate may examine, and no state keeps the
/// promise. The guided search may examine all of them.
#[test]
fn what_takes_more_work_than_a_certificate_has_is_left_to_the_guided_search() {
    const MANY: u8 = 20;
    let sent: Vec<(u32, u8)> = (0..MANY).map(|message| (1, message)).collect();
    let mut toy = Toy::new(2).rule(0, 0, ToyTrigger::Local(1), 1, &sent);
    for (state, message) in (0..MANY).flat_map(|state| (0..MANY).map(move |message| (state, message))) {
        toy = toy.rule(1, state, ToyTrigger::Message(0, message), (state + message) % MANY, &[]);
    }
    let factory = Arc::new(toy.promise("kept nowhere", &[&[Some(2), None]]));
    let lts = Lts::new(&factory, Scenario::new(2)).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a machine");
    let starts = start::initial(&mut stepper).expect("a toy starts");
    let (promise, recovery) = (lts.promises()[0], Recovery::Events);
    let certified = certify(&mut stepper, &starts[0], promise, recovery, &mut |_| None).expect("no host faults");
    assert!(!certified.is_dead);
    // The work limit of a certificate, with the combinations of the last few states.
    assert!((200..250).contains(&certified.work), "{certified:?}");
    let (outlook, work) =
        search_guided(&mut stepper, &starts[0], promise, recovery, &mut |_| None).expect("no host faults");
    assert_eq!(outlook, Outlook::Dead);
    assert!(work >= u64::from(MANY) * u64::from(MANY) / 2, "{work}");
}
