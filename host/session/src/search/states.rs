//! The graph of the reachable states of a cluster in words, for a drawing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use host_inspect::draw::{DrawnEdge, DrawnState, StateGraph};
use host_inspect::words;
use host_model::contract::{MachineError, NodeId};
use host_model::lts::{LocalStateId, Lts, MessageId, Step};
use host_model::scenario::NodeNames;
use host_search::graph::{self, Discovery, Expanded, GraphEdge, GraphSink, GraphState};
use host_search::kernel::{EndCondition, Search, SearchBounds};

use crate::base::text::count;
use crate::base::{Context, Failure};
use crate::cluster::{Cluster, numbered};
use crate::search::monitor::Watch;
use crate::search::run::{failure, pool, starts};
use crate::search::telling::{LocalStep, Teller};
use crate::spec::RunSpec;

/// The states that a drawing shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The states of the whole cluster.
    Global,
    /// The local states of each node, or of this node alone, as far as they are part of a global state that was reached.
    Local(Option<NodeId>),
}

/// Explores a limited number of states of a cluster, and describes them. The bounds on depth and local events and the search for
/// deadlocks apply; the strategy has no effect.
///
/// # Errors
///
/// The request does not fit the cluster, or the host cannot provide an instance.
pub fn states(
    spec: &RunSpec,
    cluster: &Cluster,
    lts: &Lts<'_>,
    shown: Shown,
    states_max: u64,
    context: &mut Context<'_>,
) -> Result<StateGraph, Failure> {
    if let Shown::Local(Some(node)) = shown {
        let nodes = cluster.scenario.nodes;
        if node >= nodes {
            let what = format_args!("`--node {node}`: there is no node {node} in a cluster of {nodes}");
            let there = numbered::with_names_of(&cluster.plugin, nodes, &cluster.scenario.parameters);
            return Err(Failure::configuration(what).help(there));
        }
    }
    let mut seen = Seen::default();
    let end = explore(spec, cluster, lts, &mut seen, states_max, context)?;
    let start = seen.states.first().map_or(&[][..], |state| &state.locals);
    let mut drawing = Drawing { teller: Teller::new(cluster, lts, start)?, room: Room::new() };
    let mut graph = match shown {
        Shown::Global => drawing.global(&seen)?,
        Shown::Local(node) => drawing.local(&seen, node)?,
    };
    graph.title = title(cluster, shown, &drawing.teller.names);
    let left_out = [
        (end != EndCondition::SpaceExhausted).then(|| {
            let open = seen.states.len() - seen.expanded.iter().filter(|left_out| left_out.is_none()).count();
            let states = count(open as u64, "state");
            format!("{}: what follows {states} is not drawn in full, if anything does", why(end))
        }),
        drawing.room.left_out(),
    ];
    graph.left_out = left_out.into_iter().flatten().reduce(|first, second| format!("{first}; {second}"));
    Ok(graph)
}

/// Explores at most a number of states of a cluster, level by level, and passes them to a sink. Returns the end of the exploration.
///
/// # Errors
///
/// As for [`states`].
pub(super) fn explore(
    spec: &RunSpec,
    cluster: &Cluster,
    lts: &Lts<'_>,
    sink: &mut (dyn GraphSink + Send),
    states_max: u64,
    context: &mut Context<'_>,
) -> Result<EndCondition, Failure> {
    let clock = &cluster.plugin.bounds;
    clock.search(spec.process.time, spec.process.memory);
    let starts = starts(lts, cluster, spec)?;
    let bounds = SearchBounds {
        depth: spec.search.depth,
        local_events: spec.search.local_events,
        states: Some(spec.search.states.unwrap_or(states_max).min(states_max)),
        deadlock: spec.search.deadlock,
        violations: Some(u64::MAX),
        ..SearchBounds::default()
    };
    let watch = Watch::new(clock, &mut *context.log, None);
    let search = Search { lts, starts: &starts, bounds, monitor: &watch, collect_system_states: false };
    let report = pool(spec)?.install(|| graph::explore(&search, sink));
    Ok(report.map_err(|error| failure(error, || None))?.end)
}

/// The reason why the exploration is incomplete.
pub(super) fn why(end: EndCondition) -> &'static str {
    match end {
        EndCondition::StateBound => "the bound on states was reached",
        EndCondition::DepthBound => "--depth cuts off longer paths",
        EndCondition::LocalEventBound => "--local-events leaves events out",
        EndCondition::TimeBound => "the time is up",
        EndCondition::MemoryBound => "the memory is used up",
        _ => "the exploration was ended early",
    }
}

fn title(cluster: &Cluster, shown: Shown, names: &NodeNames) -> String {
    let scenario = &cluster.scenario;
    let what = match shown {
        Shown::Global => "global states".to_owned(),
        Shown::Local(None) => "local states of each node".to_owned(),
        Shown::Local(Some(node)) => format!("local states of {}", names.of(node)),
    };
    let name = &cluster.plugin.reference.name;
    let mut title = format!("{name}, {what}, {} nodes, network {}", scenario.nodes, words::network(scenario));
    title.extend(scenario.parameters.iter().map(|(key, value)| format!(", {key}={value}")));
    title
}

/// The data of an exploration.
#[derive(Default)]
struct Seen {
    states: Vec<SeenState>,
    edges: Vec<(u32, Step, LocalStateId, u32)>,
    /// For each expanded state, the bound that left events out, if one did.
    expanded: Vec<Option<EndCondition>>,
}

struct SeenState {
    locals: Vec<LocalStateId>,
    in_flight: Vec<MessageId>,
    depth: u32,
    is_start: bool,
    is_bad: bool,
}

impl GraphSink for Seen {
    fn state(&mut self, state: &GraphState<'_>) {
        self.states.push(SeenState {
            locals: state.locals.to_vec(),
            in_flight: state.in_flight.to_vec(),
            depth: state.depth,
            is_start: matches!(state.discovery, Discovery::Start(_)),
            is_bad: state.is_bad,
        });
    }

    fn edge(&mut self, edge: &GraphEdge<'_>) {
        self.edges.push((edge.from, edge.step, edge.local, edge.to));
    }

    fn expanded(&mut self, expanded: &Expanded<'_>) {
        self.expanded.push(expanded.left_out);
    }

    fn bytes(&self) -> u64 {
        let state = |state: &SeenState| size_of_val(&*state.locals) + size_of_val(&*state.in_flight);
        let states: usize = self.states.iter().map(|it| size_of_val(it) + state(it)).sum();
        (states + size_of_val(&*self.edges) + size_of_val(&*self.expanded)) as u64
    }
}

/// Maximum text of a drawing, in bytes.
const TEXT_MAX: usize = 64 << 20;

/// Overhead of a line in addition to its text, in bytes.
const LINE: usize = size_of::<String>();

/// The room for text in a drawing.
struct Room {
    left: usize,
    states_left_out: u64,
    steps_left_out: u64,
}

impl Room {
    fn new() -> Self {
        Self { left: TEXT_MAX, states_left_out: 0, steps_left_out: 0 }
    }

    /// Takes the room for this text; false if there is too little.
    fn take<'a>(&mut self, lines: impl IntoIterator<Item = &'a String>) -> bool {
        let bytes: usize = lines.into_iter().map(|line| LINE + line.len()).sum();
        let left = self.left.checked_sub(bytes);
        // A drawing ends where it is full: later text is not drawn, even if it is shorter.
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    fn left_out(&self) -> Option<String> {
        let (states, steps) = (count(self.states_left_out, "state"), count(self.steps_left_out, "step"));
        let is_full = self.states_left_out > 0 || self.steps_left_out > 0;
        is_full.then(|| format!("the drawing is full: {states} and {steps} are not drawn"))
    }
}

/// Draws the data of an exploration.
struct Drawing<'l> {
    teller: Teller<'l>,
    room: Room,
}

impl Drawing<'_> {
    /// The graph of the global states.
    fn global(&mut self, seen: &Seen) -> Result<StateGraph, MachineError> {
        let mut graph = StateGraph::default();
        let has_events: BTreeSet<u32> = seen.edges.iter().map(|(from, ..)| *from).collect();
        for (number, state) in (0u32..).zip(&seen.states) {
            let lines = (0..).zip(&state.locals).map(|(node, local)| self.teller.local_state(node, *local));
            let lines = lines.collect::<Result<Vec<_>, _>>()?;
            let details = state.in_flight.iter().map(|message| self.teller.in_flight(*message));
            let details = details.collect::<Result<Vec<_>, _>>()?;
            if !self.room.take(lines.iter().chain(&details)) {
                self.room.states_left_out = seen.states.len() as u64 - u64::from(number);
                break;
            }
            let is_explored = matches!(seen.expanded.get(number as usize), Some(None));
            graph.states.push(DrawnState {
                depth: state.depth,
                part: 0,
                lines,
                details,
                is_start: state.is_start,
                is_violating: state.is_bad,
                is_terminal: is_explored && !has_events.contains(&number),
                is_open: !is_explored,
            });
        }
        for (from, step, local, to) in &seen.edges {
            let (from, to) = (*from as usize, *to as usize);
            let mut event = None;
            if from.max(to) < graph.states.len() && self.room.left > 0 {
                let said = self.teller.event(step.node, of_node(step, *local))?;
                event = self.room.take([&said]).then_some(said);
            }
            self.draw(&mut graph, (Some(from), Some(to)), event);
        }
        Ok(graph)
    }

    /// Draws a step between two drawn states if there was room for its words.
    fn draw(&mut self, graph: &mut StateGraph, ends: (Option<usize>, Option<usize>), event: Option<String>) {
        match (ends, event) {
            ((Some(from), Some(to)), Some(event)) => graph.edges.push(DrawnEdge { from, to, event }),
            ((from, _), _) => {
                if let Some(state) = from.and_then(|from| graph.states.get_mut(from)) {
                    state.is_open = true;
                }
                self.room.steps_left_out += 1;
            }
        }
    }

    /// The graphs of the local states of each node, or of one node, next to each other.
    fn local(&mut self, seen: &Seen, only: Option<NodeId>) -> Result<StateGraph, MachineError> {
        let mut graph = StateGraph::default();
        let nodes = seen.states.first().map_or(0, |state| state.locals.len());
        for node in (0..nodes).filter(|node| only.is_none_or(|only| only as usize == *node)) {
            let starts: BTreeSet<LocalStateId> =
                seen.states.iter().filter(|state| state.is_start).map(|state| state.locals[node]).collect();
            let own = seen.edges.iter().filter(|(_, step, ..)| step.node as usize == node);
            let steps: BTreeSet<LocalStep> = own.map(|(_, step, local, _)| of_node(step, *local)).collect();
            let open = (0..).zip(&seen.states).filter(|(number, _)| !matches!(seen.expanded.get(*number), Some(None)));
            let open: BTreeSet<LocalStateId> = open.map(|(_, state)| state.locals[node]).collect();
            self.part(&mut graph, node as NodeId, &starts, &steps, &open)?;
        }
        Ok(graph)
    }

    /// The graph of the local states of one node.
    fn part(
        &mut self,
        graph: &mut StateGraph,
        node: NodeId,
        starts: &BTreeSet<LocalStateId>,
        steps: &BTreeSet<LocalStep>,
        open: &BTreeSet<LocalStateId>,
    ) -> Result<(), MachineError> {
        let mut next = BTreeMap::<LocalStateId, Vec<(LocalStateId, LocalStep)>>::new();
        for step in steps {
            let LocalStep { local, trigger, outcome } = *step;
            let row = self.teller.stepper.step(local, trigger)?;
            let to = self.teller.stepper.outcomes(row)[outcome as usize].next;
            next.entry(local).or_default().push((to, *step));
        }
        let mut places = BTreeMap::<LocalStateId, usize>::new();
        let mut queue: VecDeque<(LocalStateId, u32)> = starts.iter().map(|start| (*start, 0)).collect();
        while let Some((local, depth)) = queue.pop_front() {
            if places.contains_key(&local) {
                continue;
            }
            let lines = vec![self.teller.local_state(node, local)?];
            if !self.room.take(&lines) {
                self.room.states_left_out += 1;
                continue;
            }
            places.insert(local, graph.states.len());
            let following = next.get(&local).map_or(&[][..], Vec::as_slice);
            let state = self.teller.stepper.state(local);
            graph.states.push(DrawnState {
                depth,
                part: node,
                is_start: starts.contains(&local),
                is_violating: state.protocol.judgements.iter().any(host_model::contract::Judgement::is_bad),
                is_terminal: following.is_empty() && !open.contains(&local),
                is_open: open.contains(&local),
                lines,
                details: Vec::new(),
            });
            queue.extend(following.iter().map(|(to, _)| (*to, depth + 1)));
        }
        for (to, step) in next.into_values().flatten() {
            let ends = (places.get(&step.local).copied(), places.get(&to).copied());
            let event = self.teller.event(node, step)?;
            let event = self.room.take([&event]).then_some(event);
            self.draw(graph, ends, event);
        }
        Ok(())
    }
}

/// A step of a node, from this local state.
fn of_node(step: &Step, local: LocalStateId) -> LocalStep {
    LocalStep { local, trigger: step.trigger, outcome: step.outcome }
}
