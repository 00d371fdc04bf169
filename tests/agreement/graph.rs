//! The graph of the global states, edge by edge: the same as that of the reference, and in the same order for any number of
//! workers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use host_agreement::reference::System;
use host_agreement::reference::graph::{self as naive, Content, Flying, Graph};
use host_agreement::toys;
use host_model::lts::{LocalStateId, Lts, MessageId, Step, Stepper};
use host_model::scenario::{Faults, Network};
use host_model::toys::Toy;
use host_model::trace::start;
use host_search::graph::{self, Discovery, Expanded, GraphEdge, GraphSink, GraphState};
use host_search::kernel::{EndCondition, Report, Search, SearchBounds, Unmonitored};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The maximum number of global states: the reference is slow.
const STATES_MAX: usize = 600;

/// Keeps all events of the search.
#[derive(Default, PartialEq, Eq, Debug)]
struct Recorder {
    levels: Vec<Range<u32>>,
    states: Vec<(Vec<LocalStateId>, Vec<MessageId>, u32, bool)>,
    discoveries: Vec<Discovery>,
    edges: Vec<(u32, Step, u32)>,
    reached: BTreeSet<u32>,
    expanded: Vec<Option<EndCondition>>,
}

impl GraphSink for Recorder {
    fn level(&mut self, depth: u32, states: Range<u32>) {
        assert_eq!(
            (depth as usize, states.end as usize),
            (self.levels.len(), self.states.len()),
            "no level is left out"
        );
        assert_eq!(states.start as usize, self.expanded.len(), "all before it are expanded");
        self.levels.push(states);
    }

    fn state(&mut self, state: &GraphState<'_>) {
        assert_eq!(state.number as usize, self.states.len(), "numbers are dense");
        self.states.push((state.locals.to_vec(), state.in_flight.to_vec(), state.depth, state.is_bad));
        self.discoveries.push(state.discovery);
    }

    fn edge(&mut self, edge: &GraphEdge<'_>) {
        let GraphEdge { from, step, to, .. } = *edge;
        assert_eq!(edge.known.row(edge.local, step.trigger), Some(edge.row), "the row is that of the step");
        assert_eq!(self.states[from as usize].0[step.node as usize], edge.local, "the local state is that of the node");
        assert_eq!(from as usize, self.expanded.len(), "edges come state by state");
        if self.reached.insert(to) && matches!(self.discoveries[to as usize], Discovery::Step(..)) {
            assert_eq!(
                self.discoveries[to as usize],
                Discovery::Step(from, step),
                "the first edge to a state is its discovery"
            );
        }
        self.edges.push((from, step, to));
    }

    fn expanded(&mut self, expanded: &Expanded<'_>) {
        let Expanded { state, left_out, .. } = *expanded;
        assert_eq!(state as usize, self.expanded.len(), "states are expanded one after the other");
        self.expanded.push(left_out);
    }
}

/// Explores a graph and returns it by content.
fn explore(system: &System, bounds: SearchBounds, pool: &ThreadPool) -> (Report, Recorder, Graph) {
    let factory = Arc::new(system.toy.clone());
    let lts = Lts::new(&factory, system.scenario()).expect("a toy lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    let mut recorder = Recorder::default();
    let report = pool.install(|| graph::explore(&search, &mut recorder)).expect("a toy has no host faults");
    let contents: Vec<Content> =
        recorder.states.iter().map(|(locals, in_flight, ..)| content(system, &lts, locals, in_flight)).collect();
    let mut graph = Graph::default();
    for ((.., depth, is_bad), content) in recorder.states.iter().zip(&contents) {
        *graph.states.entry((content.clone(), *depth, *is_bad)).or_default() += 1;
    }
    for (from, step, to) in &recorder.edges {
        let (from, to) = (contents[*from as usize].clone(), contents[*to as usize].clone());
        *graph.edges.entry((from, step.node, to)).or_default() += 1;
    }
    (report, recorder, graph)
}

fn content(system: &System, lts: &Lts<'_>, locals: &[LocalStateId], messages: &[MessageId]) -> Content {
    let mut in_flight: BTreeMap<_, Vec<Flying>> = BTreeMap::new();
    for message in messages {
        let message = lts.message(*message);
        let content = (!message.is_notice).then(|| message.payload[0]);
        in_flight.entry((message.from, message.to)).or_default().push((content, message.incarnation));
    }
    for (channel, items) in &mut in_flight {
        if !system.is_ordered(*channel) {
            items.sort_unstable();
        }
    }
    Content { locals: locals.iter().map(|local| toys::local(lts, *local)).collect(), in_flight }
}

/// Both networks, each with its possible faults; one of three systems has several start states.
fn random(seed: u64) -> System {
    let toy = Toy::random(seed, 2 + seed as u32 % 2);
    let toy = if seed.is_multiple_of(3) { toy.with_random_starts(seed) } else { toy };
    let is_ordered = (seed / 2).is_multiple_of(2);
    let none = Faults::default();
    let (toy, faults) = match (seed / 4 % 4, is_ordered) {
        (0, _) => (toy, none),
        (1, true) => (toy.with_random_errors(seed).with_random_durable(seed), Faults { breaks: 1, ..none }),
        (1, false) => (toy.with_random_quorums(seed), none),
        (2, _) => (toy.with_random_errors(seed).with_random_durable(seed), Faults { resets: 1, ..none }),
        (_, _) => (toy.with_random_refusals(seed).with_random_traps(seed), Faults { refusals: 1, ..none }),
    };
    let network = if is_ordered { Network::Ordered } else { Network::Unordered };
    System { network, faults, ..System::new(toy) }
}

/// The number of states at each distance from the start.
fn sizes(graph: &Graph) -> Vec<u64> {
    let mut sizes = Vec::new();
    for ((_, depth, _), number) in &graph.states {
        let depth = *depth as usize;
        sizes.resize(sizes.len().max(depth + 1), 0);
        sizes[depth] += u64::from(*number);
    }
    sizes
}

#[test]
fn graphs_are_those_of_the_reference_edge_by_edge() {
    let pools = [1, 4].map(|workers| ThreadPoolBuilder::new().num_threads(workers).build().expect("threads"));
    let (mut tried, mut bad, mut cut, mut early) = (0, 0, 0, 0);
    for seed in 0.. {
        let system = random(seed);
        let (depth, local_events) = [(None, None), (Some(4), None), (None, Some(1))][seed as usize / 16 % 3];
        let Some(expected) = naive::graph(&system, depth, local_events, STATES_MAX) else { continue };
        if expected.states.len() < 20 {
            continue;
        }
        let bounds = SearchBounds { depth, local_events, violations: Some(u64::MAX), ..SearchBounds::default() };
        let (report, recorder, graph) = explore(&system, bounds, &pools[0]);
        let context = format!("seed {seed}, {:?}, {:?}, {depth:?}, {local_events:?}", system.network, system.faults);
        assert!(graph.states == expected.states, "{context}: {} states", expected.states.len());
        assert!(graph.edges == expected.edges, "{context}: {} edges", expected.edges.len());
        assert_eq!(recorder.levels.len() as u32, report.depth + 1, "{context}");
        assert_eq!(recorder.expanded.len(), recorder.states.len(), "{context}");
        let left_out = recorder.expanded.iter().flatten().max().copied();
        assert_eq!(left_out.unwrap_or(EndCondition::SpaceExhausted), report.end, "{context}");
        assert_eq!(report.counts.transitions, Some(recorder.edges.len() as u64), "{context}");
        let levels = sizes(&expected);
        assert_eq!(report.levels.complete(), levels, "{context}");
        let half = Some(recorder.states.len() as u64 / 2);
        let (stopped, ..) = explore(&system, SearchBounds { states: half, ..bounds }, &pools[0]);
        assert_eq!(stopped.end, EndCondition::StateBound, "{context}");
        let begun = stopped.levels.complete();
        assert!(levels.starts_with(begun) && begun.len() < levels.len(), "{context}: {begun:?} of {levels:?}");
        early += u64::from(begun.len() > 1);
        let (_, other, _) = explore(&system, bounds, &pools[1]);
        assert!(recorder == other, "{context}: other workers tell another story");
        tried += 1;
        bad += u64::from(expected.states.keys().any(|(.., is_bad)| *is_bad));
        cut += u64::from(left_out.is_some());
        if tried == 250 {
            break;
        }
    }
    assert!(bad * 3 > tried && cut * 5 > tried, "{bad} and {cut} of {tried}: the test says little");
    assert!(early * 2 > tried, "{early} of {tried} were stopped after two levels: the test says little");
}
