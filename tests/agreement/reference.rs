//! A search of the global states of a toy, written straight from the definition: no ids, no fingerprints, no
//! sharing. Every exact strategy is compared with it.
//!
//! | module | what it holds |
//! |---|---|
//! | `events` | the events of a global state and their successors |
//! | `executions` | all executions up to a length, and random ones, with everything that nodes could log |
//! | `faults` | the effect of each fault of a node |
//! | `graph` | the graph of the global states |
//! | `in_flight` | the messages in flight |
//! | `paths` | shortest paths to global states, and traces of them |
//! | `progress` | the graph as promises of progress see it |
//! | `promises` | the outcomes of promises of progress |
//! | `properties` | the judgement of a global state by properties |

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use host_model::contract::{Choice, NodeId};
use host_model::lts::deadlock;
use host_model::scenario::{FaultEvent, Faults, Link, Network, OutageWrites, Scenario};
use host_model::toys::{self, Toy, ToyState};
use rustc_hash::FxHashSet;

mod events;
pub mod executions;
mod faults;
pub mod graph;
mod in_flight;
mod paths;
pub mod progress;
pub mod promises;
mod properties;

use events::{Move, Resolution, happenings, moves, resolution};
use in_flight::InFlight;
pub use paths::{Prefix, configurations_after, search_after};

/// The sender and the destination.
pub type Channel = (NodeId, NodeId);

/// Something in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Item {
    /// A message with this content, which was sent when this many breaks of the connection were known.
    Message { content: u8, breaks: u32 },
    /// The news that the connection is broken, for the n-th time.
    Notice { breaks: u32 },
}

/// A local state: the protocol state, the faults at the node so far, and its ends of the connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Local {
    /// The state of the toy; at a stuck node, the state in which it has trapped.
    pub state: ToyState,
    /// Whether the node has trapped.
    pub is_stuck: bool,
    /// The number of each fault here so far.
    pub counts: Faults,
    /// For each node, how many breaks of the connection to it are known, and whether anything was sent or received over it
    /// since. Empty where connections cannot break.
    pub ends: Vec<(u32, bool)>,
    /// The maps that an outage can leave in place of the present one, the oldest first.
    pub older: Vec<Stored>,
    /// Where an outage can lose any writes: the values that each entry can have after one in place of the present one, by its key; none
    /// for no entry.
    pub loose: BTreeMap<Vec<u8>, BTreeSet<Option<Vec<u8>>>>,
}

/// The durable map of a toy: its durable state, and its state if it has that in the map. An empty map has neither.
pub type Stored = (Option<u8>, Option<ToyState>);

/// The toys' states alone, of nodes that are not stuck.
pub fn states(locals: &[Local]) -> Vec<ToyState> {
    locals.iter().map(|local| local.state).collect()
}

/// The system to explore: a toy, a network, and its faults.
#[derive(Clone, Debug)]
pub struct System {
    /// The protocol.
    pub toy: Toy,
    /// The network of all links without their own.
    pub network: Network,
    /// Links with another network; each one once.
    pub links: Vec<Link>,
    /// The budgets.
    pub faults: Faults,
    /// The unsynced writes that an outage can lose.
    pub outage_writes: OutageWrites,
}

impl System {
    /// The same for the strategies.
    pub fn scenario(&self) -> Scenario {
        Scenario {
            faults: self.faults,
            outage_writes: self.outage_writes,
            network: self.network,
            links: self.links.clone(),
            ..Scenario::new(self.toy.nodes)
        }
    }

    /// A toy without faults, on an unordered network.
    pub fn new(toy: Toy) -> Self {
        let (faults, outage_writes) = (Faults::default(), OutageWrites::default());
        Self { toy, network: Network::Unordered, links: Vec::new(), faults, outage_writes }
    }

    fn network(&self, (from, to): Channel) -> Network {
        let mut links = self.links.iter();
        links.find(|link| (link.from, link.to) == (from, to)).map_or(self.network, |link| link.network)
    }

    /// Whether messages on a channel have an order.
    pub fn is_ordered(&self, channel: Channel) -> bool {
        self.network(channel) == Network::Ordered
    }

    /// Whether some messages have an order.
    fn has_order(&self) -> bool {
        (0..self.toy.nodes).any(|from| (0..self.toy.nodes).any(|to| self.is_ordered((from, to))))
    }
}

/// A global state of a toy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Global {
    locals: Vec<Local>,
    in_flight: InFlight,
    /// Local events so far at each node; all zero without a bound on them.
    local_events: Vec<u32>,
}

impl Global {
    /// Sends an item, unless the destination knows already that it is lost.
    fn send(&mut self, system: &System, channel: Channel, item: Item) {
        self.in_flight.put(channel, item, system.is_ordered(channel));
        self.drop_lost(system, channel.1);
    }

    /// A node sends messages.
    fn send_all(&mut self, system: &System, node: NodeId, sent: Vec<(NodeId, u8)>) {
        for (to, content) in sent {
            let breaks = match self.locals[node as usize].ends.get_mut(to as usize) {
                Some((breaks, is_open)) if system.is_ordered((node, to)) => {
                    *is_open = true;
                    *breaks
                }
                _ => 0,
            };
            let is_doubled = system.network((node, to)) == Network::UnorderedDuplicating;
            let copies = 1 + if is_doubled { system.faults.duplicates } else { 0 };
            (0..copies).for_each(|_| self.send(system, (node, to), Item::Message { content, breaks }));
        }
    }

    /// Removes from flight the messages that a node can never take: those over a connection that it knows to be broken since, and
    /// old news.
    fn drop_lost(&mut self, system: &System, node: NodeId) {
        let ends = &self.locals[node as usize].ends;
        if ends.is_empty() {
            return;
        }
        self.in_flight.retain(|(from, to), item| {
            let known = ends.get(from as usize).filter(|_| to == node && system.is_ordered((from, to)));
            known.is_none_or(|(known, _)| match item {
                Item::Message { breaks, .. } => breaks >= *known,
                Item::Notice { breaks } => breaks > *known,
            })
        });
    }

    /// A node breaks its connection to a peer, which has no notice yet.
    fn close(&mut self, system: &System, node: NodeId, peer: NodeId) {
        let end = &mut self.locals[node as usize].ends[peer as usize];
        *end = (end.0 + 1, false);
        self.drop_lost(system, node);
    }

    /// A node tells a peer that it has broken their connection.
    fn announce(&mut self, system: &System, node: NodeId, peer: NodeId) {
        let (breaks, _) = self.locals[node as usize].ends[peer as usize];
        if peer != node {
            self.send(system, (node, peer), Item::Notice { breaks });
        }
    }

    /// The state after a node's handler ended that began with this durable map, before its messages are sent.
    fn after(mut self, system: &System, node: NodeId, ended: Resolution, before: Stored) -> Self {
        let Resolution { next, sent, refused, .. } = ended;
        let local = &mut self.locals[node as usize];
        local.counts.refusals += refused;
        match next {
            Some(next) => {
                local.state = next;
                faults::write(system, node, local, before);
                self.send_all(system, node, sent);
            }
            // Messages sent before the trap are never delivered.
            None => {
                local.is_stuck = true;
                local.older.clear();
                local.loose.clear();
            }
        }
        self
    }

    /// Whether the execution ended here with a trap.
    fn is_over(&self) -> bool {
        self.locals.iter().any(|local| local.is_stuck)
    }
}

/// An event at a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Happening {
    /// The delivery of an item from this node, which stands at this position in its channel.
    Take(NodeId, Item, usize),
    /// The delivery of a quorum of this name, an item from each of these nodes.
    Quorum(u8, Vec<(NodeId, Item)>),
    /// A local event.
    Local(u8),
    /// Something goes wrong at the node.
    Fault(FaultEvent),
    /// An item from this node, which stands at this position in its channel, is lost.
    Lose(NodeId, Item, usize),
}

/// The result of a full search of a toy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Number of distinct global states.
    pub global_states: u64,
    /// Number of edges between them.
    pub transitions: u64,
    /// The distinct tuples of local states.
    pub system_states: BTreeSet<Vec<Local>>,
    /// Number of edges that take more than one message.
    pub together: u64,
    /// Number of events on the shortest path to a forbidden system state.
    pub violation_depth: Option<u32>,
    /// The same for each of them, distinguished by the part that the property reads: a state that no forbidden tuple names is 255.
    pub violations: BTreeMap<Vec<ToyState>, u32>,
    /// Number of events on the shortest path to the state that is farthest away.
    pub farthest: u32,
    /// Whether an event is possible that a bound leaves out.
    pub is_cut: bool,
    /// The judgements of the further properties, and traps in their evaluation, with the number of events on the shortest path.
    pub said: BTreeMap<Words, u32>,
    /// The properties of kind `sometimes` that hold somewhere.
    pub witnessed: BTreeSet<u32>,
    /// Whether a bound left out a local event.
    pub is_local_cut: bool,
    /// Whether the bound on depth left out a possible event.
    pub is_depth_cut: bool,
    /// By the node and the state in which it traps, the number of events on the shortest path to it, with the trap.
    pub traps: BTreeMap<(NodeId, ToyState), u32>,
    /// By the nodes that have crashed in a deadlock and those that are not done, the number of events on the shortest path to it.
    pub deadlocks: BTreeMap<(Vec<NodeId>, Vec<NodeId>), u32>,
}

/// A finding: the node, if it is about one, and its words.
pub type Words = (Option<NodeId>, String);

impl Reached {
    /// Number of events on the shortest path to a deadlock.
    pub fn deadlock_depth(&self) -> Option<u32> {
        self.deadlocks.values().min().copied()
    }

    /// All findings of a complete search, and the number of events on the shortest path to each. Deadlocks only if they are looked
    /// for.
    pub fn findings(&self, nodes: u32, with_deadlocks: bool) -> BTreeMap<Words, u32> {
        let forbidden = self.violations.iter();
        let forbidden = forbidden.map(|(views, depth)| ((None, toys::forbidden_words(views)), *depth));
        let traps = self.traps.iter().map(|((node, state), depth)| ((Some(*node), toys::trap_words(*state)), *depth));
        let deadlocks = self.deadlocks.iter().filter(|_| with_deadlocks).map(|((crashed, waiting), depth)| {
            let answers: Vec<_> = (0..nodes).map(|node| Ok(!waiting.contains(&node))).collect();
            let words = deadlock::message(&answers, crashed).expect("some node is not done");
            ((None, words), *depth)
        });
        let said = self.said.iter().map(|(words, depth)| (words.clone(), *depth));
        forbidden.chain(said).chain(traps).chain(deadlocks).collect()
    }
}

/// Breadth-first search within the bounds; `None` if there are more than `states_max` global states.
pub fn search(
    system: &System,
    depth_max: Option<u32>,
    local_events_max: Option<u32>,
    states_max: usize,
) -> Option<Reached> {
    search_from(system, &starts(system), (depth_max, local_events_max), states_max)
}

/// The same from these global states.
fn search_from(
    system: &System,
    starts: &[Global],
    (depth_max, local_events_max): (Option<u32>, Option<u32>),
    states_max: usize,
) -> Option<Reached> {
    let starts: BTreeSet<Global> = starts.iter().cloned().collect();
    let mut seen: FxHashSet<Global> = starts.iter().cloned().collect();
    let mut queue: VecDeque<(Global, u32)> = starts.into_iter().map(|start| (start, 0)).collect();
    let mut reached = Reached::default();
    while let Some((global, depth)) = queue.pop_front() {
        reached.farthest = depth;
        reached.system_states.insert(global.locals.clone());
        if global.is_over() {
            // A trap has no successors, and is the only finding.
            for (node, local) in (0..).zip(&global.locals).filter(|(_, local)| local.is_stuck) {
                reached.traps.entry((node, local.state)).or_insert(depth);
            }
            continue;
        }
        if system.toy.is_forbidden(&states(&global.locals)) {
            reached.violation_depth.get_or_insert(depth);
            let shown = |(node, local): (NodeId, &Local)| match system.toy.matters(node, local.state) {
                true => local.state,
                false => u8::MAX,
            };
            reached.violations.entry((0..).zip(&global.locals).map(shown).collect()).or_insert(depth);
        }
        properties::judge(system, &global.locals, depth, &mut reached);
        if let Some(deadlock) = deadlock(system, &global) {
            reached.deadlocks.entry(deadlock).or_insert(depth);
        }
        let possible = happenings(system, &global, local_events_max);
        reached.is_local_cut |= local_events_max.is_some() && possible.len() < happenings(system, &global, None).len();
        if depth_max.is_some_and(|max| depth >= max) {
            let leads_on = |(node, happening): &(NodeId, Happening)| {
                !moves(system, &global, *node, happening, local_events_max.is_some()).is_empty()
            };
            reached.is_depth_cut |= possible.iter().any(leads_on);
            continue;
        }
        for (node, happening) in possible {
            for Move { next, .. } in moves(system, &global, node, &happening, local_events_max.is_some()) {
                reached.transitions += 1;
                reached.together += u64::from(matches!(&happening, Happening::Quorum(_, set) if set.len() > 1));
                if seen.insert(next.clone()) {
                    queue.push_back((next, depth + 1));
                }
            }
        }
        if seen.len() > states_max {
            return None;
        }
    }
    reached.is_cut = reached.is_local_cut || reached.is_depth_cut;
    reached.global_states = seen.len() as u64;
    Some(reached)
}

/// The global states after `init`, one for each way in which the nodes can choose.
fn starts(system: &System) -> Vec<Global> {
    choices_of_starts(system).into_iter().map(|(_, start)| start).collect()
}

/// The same with the answers that `init` gets at each node.
fn choices_of_starts(system: &System) -> Vec<(Vec<Vec<Choice>>, Global)> {
    let nodes = system.toy.nodes as usize;
    let has_ends = system.has_order()
        && system.faults.iter().any(|(fault, budget)| budget > 0 && fault.description().event.is_some());
    let local = Local { ends: vec![(0, false); if has_ends { nodes } else { 0 }], ..Local::default() };
    let none = Global { locals: vec![local; nodes], in_flight: InFlight::default(), local_events: vec![0; nodes] };
    let mut starts = vec![(Vec::new(), none)];
    for node in 0..system.toy.nodes {
        let outcomes = system.toy.init(node);
        let begin = |(choices, start): &(Vec<Vec<Choice>>, Global)| -> Vec<(Vec<Vec<Choice>>, Global)> {
            let begun = outcomes.iter().enumerate().map(|(index, outcome)| {
                let answers = system.toy.answers(index, outcomes.len());
                let start = start.clone().after(system, node, resolution(outcome.clone()), (None, None));
                (choices.iter().cloned().chain([answers]).collect(), start)
            });
            begun.collect()
        };
        starts = starts.iter().flat_map(begin).collect();
    }
    starts
}

/// The nodes that have crashed and those that are not done, if there are any of these while nothing is on its way to a node that
/// has not crashed, and no local event of it is possible, bound or not.
fn deadlock(system: &System, global: &Global) -> Option<(Vec<NodeId>, Vec<NodeId>)> {
    let can_step = |node: &NodeId| {
        let local = &global.locals[*node as usize];
        let is_addressed = global.in_flight.channels().any(|((_, to), _)| to == *node);
        is_addressed || !system.toy.local_events(*node, local.state).is_empty()
    };
    let (crashed, others): (Vec<NodeId>, Vec<NodeId>) = (0..system.toy.nodes).partition(can_step);
    let waits = |node: &NodeId| !system.toy.done.contains(&(*node, global.locals[*node as usize].state));
    let waiting: Vec<NodeId> = others.into_iter().filter(waits).collect();
    (crashed.len() <= system.faults.crashes as usize && !waiting.is_empty()).then_some((crashed, waiting))
}

/// The configurations of a toy: executions up to the order of independent events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Configurations {
    /// The number of configurations.
    pub all: usize,
    /// The number of configurations without a possible event.
    pub maximal: u64,
}

/// The events at one node so far, with the outcomes. Equal messages are not distinguished.
type Sequence = Vec<(Happening, usize)>;

fn label(happening: Happening) -> Happening {
    match happening {
        Happening::Take(from, item, _) => Happening::Take(from, item, 0),
        Happening::Lose(from, item, _) => Happening::Lose(from, item, 0),
        other => other,
    }
}

/// Counts the configurations; `None` if they exceed `all_max`. A trap ends only the events of its node here: since the
/// others continue, the orders of a trap and of independent events are one configuration.
///
/// Two executions are reorderings of each other exactly if every node sees the same sequence of triggers and outcomes
/// in both: the messages of a node depend on its sequence alone, and with identical messages delivered in the order of
/// sending, the match of deliveries to sends does, too. So does the global state at the end: it is kept with the
/// sequences.
pub fn configurations(system: &System, local_events_max: Option<u32>, all_max: usize) -> Option<Configurations> {
    configurations_from(system, starts(system), local_events_max, all_max)
}

/// The same from these global states; executions from different ones are different.
fn configurations_from(
    system: &System,
    starts: Vec<Global>,
    local_events_max: Option<u32>,
    all_max: usize,
) -> Option<Configurations> {
    let empty = vec![Sequence::new(); system.toy.nodes as usize];
    let starts = starts.into_iter().enumerate().map(|(index, start)| ((index, empty.clone()), start));
    let mut queue: VecDeque<((usize, Vec<Sequence>), Global)> = starts.collect();
    let mut seen: FxHashSet<(usize, Vec<Sequence>)> = queue.iter().map(|(sequences, _)| sequences.clone()).collect();
    let mut found = Configurations::default();
    while let Some(((start, sequences), global)) = queue.pop_front() {
        let mut is_maximal = true;
        for (node, happening) in happenings(system, &global, local_events_max) {
            let next = moves(system, &global, node, &happening, true);
            for (outcome, Move { next, .. }) in next.into_iter().enumerate() {
                is_maximal = false;
                let mut longer = sequences.clone();
                longer[node as usize].push((label(happening.clone()), outcome));
                if seen.insert((start, longer.clone())) {
                    queue.push_back(((start, longer), next));
                }
            }
        }
        found.maximal += u64::from(is_maximal);
        if seen.len() > all_max {
            return None;
        }
    }
    found.all = seen.len();
    Some(found)
}
