//! What can still become of each state of a graph: asked of that state alone, against the graph.

use std::sync::Arc;

use host_agreement::effort::{systems, telling};
use host_agreement::reference::System;
use host_model::lts::{LocalStateId, Lts, Step, Stepper};
use host_model::trace::start::{self, Start};
use host_search::graph::{self, Expanded, GraphEdge, GraphSink, GraphState};
use host_search::kernel::rules::{Recovery, Rules};
use host_search::kernel::{EndCondition, Progress, Search, SearchBounds, Unmonitored};
use host_search::liveness::{FAR, Recorder, Watch, distances};
use host_search::outlook::certificate::certify;
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
    /// Refused messages that lead back from the dead.
    back_by_refusal: u64,
}

/// Asks about each state of a system for each of its promises.
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
        for (state, distance) in sink.states.iter().zip(distances) {
            let context = || format!("{promise:?}, {recovery:?}, {state:?}, {system:#?}");
            let is_dead = distance == FAR;
            assert_eq!(is_owed(&mut stepper, &state.locals, promise), Ok(distance > 0), "{}", context());
            let (outlook, _) = look_around(&search, state, (index, rules), &Progress::default()).expect("it is told");
            match outlook {
                Outlook::Alive(way) => assert_eq!(way.len(), distance as usize, "{}", context()),
                Outlook::Dead => assert!(is_dead, "{}", context()),
                Outlook::Open => panic!("everything is close by: {}", context()),
            }
            let certified = certify(&mut stepper, state, (promise, recovery), &mut |_| None).expect("it is told");
            assert!(is_dead || !certified.is_dead, "{}", context());
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
        // The design asks for nine in ten dead states to be proven.
        let enough = seen.alive > 1_000 && seen.dead > 1_000 && seen.certified * 10 > seen.dead * 9;
        let enough = enough && seen.back_by_refusal > 0;
        telling(enough, format_args!("{recovery:?}: {seen:?}"));
    }
}
