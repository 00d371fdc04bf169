//! One of the fixed number of stacks that a parallel search expands side by side.
//!
//! | module | what it holds |
//! |---|---|
//! | `notes` | notes on new states: judgements, and ends where only faults are left |
//! | `shard` | visited states with the same highest bits of their fingerprints |

use std::collections::BTreeSet;

use host_model::contract::ClassId;
use host_model::contract::fingerprint::Fingerprint;
use host_model::lts::{Edge, LocalStateId, LtsCache, MessageId, Step, Trigger};
use host_model::trace::start::Start;

use crate::global::enabled::Unknown;
use crate::global::parallel::awake::{PossibleEvent, Waking, wake};
use crate::global::parallel::packed_stack::{PackedBatch, PackedStack, PackedState, Reached, Successor};
use crate::global::parallel::path_forest::{PATH_BYTES, PathId};
use crate::global::parallel::round_context::RoundContext;
use crate::global::parallel::sleeping_traps;
use crate::global::state::{Budgets, Child};
use crate::global::visited::{SHARDS, shard_of};
use crate::kernel::checkpoint_codec::{Reader, Writer};

pub use self::shard::VisitedShard;

pub use self::notes::Note;
use self::shard::Fresh;

mod notes;
mod shard;

/// A limit far above any real count, so that sums of saved counts do not overflow.
const COUNT_MAX: u64 = 1 << 56;

/// Bytes that the successors of a partition may take in a round. A partition expands at least one state, whatever its size.
pub const PARTITION_BYTES: u64 = 4 << 20;

/// A state that was found, on its way to its shard.
struct Arrival {
    /// The fingerprint in halves, which keeps the whole at 24 bytes.
    high: u64,
    low: u64,
    /// Index into the children of the partition.
    child: u32,
    depth: u32,
}

impl Arrival {
    #[inline]
    fn new(fingerprint: Fingerprint, child: u32, depth: u32) -> Self {
        Self { high: (fingerprint >> 64) as u64, low: fingerprint as u64, child, depth }
    }

    #[inline]
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::from(self.high) << 64 | Fingerprint::from(self.low)
    }
}

/// A state that was taken off the stack in this round.
struct Expanded {
    reached: Reached,
    /// The path to the state itself, once a child of it is pushed.
    path: Option<PathId>,
    /// Whether it is still to be expanded: a handler has to be executed first, or the round had no room for it.
    is_stalled: bool,
}

/// The data of a state that its successors need.
struct Parent {
    /// Its index among the states of the round.
    index: u32,
    depth: u32,
    fingerprint: Fingerprint,
    /// See [`child_bytes`].
    cost_of_child: u64,
}

/// The changes of a partition's counts by the expansions of a round.
#[derive(Default)]
struct Tally {
    transitions: u64,
    cut: i64,
    local_events_cut: bool,
    depth: u32,
}

/// A partition: a stack of states to expand, and the results of the current round.
pub struct Partition {
    /// The states still to be expanded.
    pub pending: PackedStack,
    /// The states of the current round; the next two lists hold the result for each, and the number of edges of the events of each node.
    taken: PackedBatch,
    expanded: Vec<Expanded>,
    edges: Vec<u32>,
    tally: Tally,
    /// Bytes that the round takes for the successors if all of them are new.
    cost: u64,
    /// Each child with the index of the expanded state.
    children: Vec<(u32, Child)>,
    /// The children on their way, one list per shard.
    arrivals: Vec<Vec<Arrival>>,
    /// For each child the reason to examine it; none if there is no reason.
    fresh: Vec<Option<Fresh>>,
    /// The fingerprints of system states on their way, one list per shard.
    system_states: Vec<Vec<Fingerprint>>,
    /// System states that were sent lately: most states come again and again.
    recent: Box<[Fingerprint]>,
    /// The awake events of the current state, with their outcomes.
    awake: Vec<PossibleEvent>,
    /// The sleeping events of the current state that trap in some outcome.
    traps: Vec<PossibleEvent>,
    classes: Vec<ClassId>,
    /// Handlers and quorums that the stalled states wait for.
    pub unknown: Unknown,
    /// Judgements of new states.
    pub notes: Vec<Note>,
    /// New system states by content, if they are requested.
    pub collected: Option<BTreeSet<Box<[LocalStateId]>>>,
    /// Executed edges.
    pub transitions: u64,
    /// States at the bound that have successors and that no shorter path has reached; a partition may subtract one that
    /// another partition has counted.
    pub cut: i64,
    /// Whether a local event was left out by its bound.
    pub local_events_cut: bool,
    /// The longest path.
    pub depth: u32,
}

/// Number of system states in `recent`.
const RECENT: usize = 1024;

impl Partition {
    /// An empty partition.
    pub fn new(nodes: usize, collect: bool) -> Self {
        Self {
            pending: PackedStack::new(nodes),
            taken: PackedBatch::default(),
            expanded: Vec::new(),
            edges: Vec::new(),
            tally: Tally::default(),
            cost: 0,
            children: Vec::new(),
            arrivals: (0..SHARDS).map(|_| Vec::new()).collect(),
            fresh: Vec::new(),
            system_states: (0..SHARDS).map(|_| Vec::new()).collect(),
            recent: vec![0; RECENT].into(),
            awake: Vec::new(),
            traps: Vec::new(),
            classes: Vec::new(),
            unknown: Unknown::default(),
            notes: Vec::new(),
            collected: collect.then(BTreeSet::new),
            transitions: 0,
            cut: 0,
            local_events_cut: false,
            depth: 0,
        }
    }

    /// Saves the partition as it is between two rounds.
    pub fn save(&self, out: &mut Writer<'_>) {
        self.pending.save(out);
        for on_the_way in &self.system_states {
            out.wide(on_the_way.len() as u64, on_the_way.iter().copied());
        }
        out.number(self.transitions);
        out.number(self.cut as u64);
        out.number(u64::from(self.local_events_cut));
        out.number(u64::from(self.depth));
    }

    /// The partition that was saved.
    pub fn load(known: &LtsCache, budgets: &Budgets, starts: &[Start], saved: &mut Reader<'_>) -> Option<Self> {
        let pending = PackedStack::load(known, budgets, starts, saved)?;
        let mut partition = Self { pending, ..Self::new(budgets.nodes(), false) };
        for on_the_way in &mut partition.system_states {
            saved.wide(|system_state| on_the_way.push(system_state))?;
        }
        partition.transitions = saved.number().filter(|transitions| *transitions < COUNT_MAX)?;
        partition.cut = Some(saved.number()? as i64).filter(|cut| cut.unsigned_abs() < COUNT_MAX)?;
        partition.local_events_cut = saved.number()? != 0;
        partition.depth = saved.word()?;
        Some(partition)
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        let arrivals: usize = self.arrivals.iter().map(Vec::capacity).sum();
        let system_states: usize = self.system_states.iter().map(Vec::capacity).sum();
        let round = self.expanded.capacity() * size_of::<Expanded>()
            + self.edges.capacity() * size_of::<u32>()
            + self.children.capacity() * size_of::<(u32, Child)>()
            + self.fresh.capacity() * size_of::<Option<Fresh>>()
            + arrivals * size_of::<Arrival>()
            + system_states * size_of::<Fingerprint>()
            + self.unknown.bytes();
        let buffers = round + size_of_val(&*self.recent) + self.notes.capacity() * size_of::<Note>();
        self.pending.bytes() + self.taken.bytes() + buffers as u64
    }

    /// Upper bound of the bytes that the rest of this round takes.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Drops the successors of this round: all states that were taken are still to be expanded.
    pub fn take_back(&mut self) {
        self.expanded.iter_mut().for_each(|expanded| expanded.is_stalled = true);
        self.children.clear();
        self.arrivals.iter_mut().for_each(Vec::clear);
        (self.tally, self.cost) = (Tally::default(), 0);
    }

    /// First step of a round: takes up to `quota` states off the stack and finds their successors, until these take too much
    /// memory; the other states stay as if they had not been taken.
    pub fn expand(&mut self, round: RoundContext<'_>, quota: usize) {
        self.pending.take(quota, PARTITION_BYTES as usize, &mut self.taken);
        (self.tally, self.cost) = (Tally::default(), 0);
        self.expanded.clear();
        self.edges.clear();
        self.children.clear();
        self.unknown.clear();
        self.arrivals.iter_mut().for_each(Vec::clear);
        for index in self.taken.numbers() {
            let record = self.taken.record(index);
            let reached = record.reached();
            let first = self.edges.len();
            // Events of the nodes before that of the last event are asleep: possible in the state before too, and counted there.
            self.edges.extend_from_slice(record.edges());
            self.edges[first + reached.step.node as usize..].fill(0);
            if self.cost >= PARTITION_BYTES {
                self.expanded.push(Expanded { reached, path: None, is_stalled: true });
                continue;
            }
            let is_stuck = |node| round.known.brief(record.local(node)).is_stuck;
            let is_over = round.known.has_traps() && (0..record.nodes()).any(is_stuck);
            if is_over {
                self.expanded.push(Expanded { reached, path: None, is_stalled: false });
                continue;
            }
            let unknown_before = self.unknown.len();
            let Waking { is_cut, leads_on } = wake(round, record, &mut self.awake, &mut self.unknown);
            let asked = self.unknown.len() - unknown_before;
            self.expanded.push(Expanded { reached, path: None, is_stalled: asked > 0 });
            if asked > 0 {
                self.cost += (asked * size_of::<(LocalStateId, Trigger)>()) as u64;
                continue;
            }
            let edges = &mut self.edges[first..];
            for PossibleEvent { node, row, .. } in &self.awake {
                edges[*node as usize] += round.known.edges(*row).len() as u32;
            }
            let total: u32 = edges.iter().sum();
            self.tally.local_events_cut |= is_cut;
            if reached.depth >= round.bound {
                // The start state under a bound of zero, and states that are open: others at the bound are not pushed.
                self.tally.cut += i64::from(leads_on);
                continue;
            }
            self.tally.cut -= i64::from(reached.is_open && leads_on);
            self.tally.transitions += if reached.first { u64::from(total) } else { 0 };
            self.tally.depth = self.tally.depth.max(reached.depth + u32::from(total > 0));
            let parent = Parent {
                index: index as u32,
                depth: reached.depth,
                fingerprint: record.fingerprint(),
                cost_of_child: child_bytes(round, record),
            };
            sleeping_traps::list_asleep(round, record, &mut self.traps);
            for event in 0..self.awake.len() {
                self.push_children(round, &parent, self.awake[event], |_| true);
            }
            // An event that is asleep leads to a state that another order reaches, except for a trap: no event follows it.
            for event in 0..self.traps.len() {
                self.push_children(round, &parent, self.traps[event], |edge| round.known.brief(edge.next).is_stuck);
            }
        }
    }

    /// Sends the wanted successors of a state by an event on their way.
    #[inline]
    fn push_children(
        &mut self,
        round: RoundContext<'_>,
        parent: &Parent,
        event: PossibleEvent,
        is_wanted: impl Fn(&Edge) -> bool,
    ) {
        let PossibleEvent { node, trigger, row } = event;
        let base = parent.fingerprint.wrapping_add(round.budgets.of_step(node, trigger));
        for (outcome, edge) in (0..).zip(round.known.edges(row)).filter(|(_, edge)| is_wanted(edge)) {
            self.cost += parent.cost_of_child + (edge.sent_len() * size_of::<MessageId>()) as u64;
            let step = Step { node, trigger, outcome };
            let fingerprint = base.wrapping_add(edge.delta);
            let arrival = Arrival::new(fingerprint, self.children.len() as u32, parent.depth + 1);
            self.children.push((parent.index, Child { step, row, next: edge.next }));
            self.arrivals[shard_of(fingerprint)].push(arrival);
        }
    }

    /// Third step: takes in the new states, judges them, and pushes those to expand. Without notes on any of
    /// them, the round is over for this partition; otherwise the caller [closes](Self::close) it.
    pub fn enter(&mut self, round: RoundContext<'_>, this: usize, shards: &[VisitedShard]) {
        let Tally { transitions, cut, local_events_cut, depth } = std::mem::take(&mut self.tally);
        self.transitions += transitions;
        self.cut += cut;
        self.local_events_cut |= local_events_cut;
        self.depth = self.depth.max(depth);
        self.fresh.clear();
        self.fresh.resize(self.children.len(), None);
        self.system_states.iter_mut().for_each(Vec::clear);
        for shard in shards {
            for (child, fresh) in &shard.fresh[this] {
                self.fresh[*child as usize] = Some(*fresh);
            }
        }
        for index in 0..self.fresh.len() {
            let Some(fresh) = self.fresh[index] else { continue };
            let (parent, child) = self.children[index];
            let depth = self.expanded[parent as usize].reached.depth + 1;
            let (is_at_bound, was_cut) = (depth == round.bound, fresh == Fresh::Again { was_cut: true });
            let leads_on = if is_at_bound || was_cut { self.leads_on(round, parent, &child) } else { Some(false) };
            if leads_on == Some(true) {
                self.cut += if is_at_bound { 1 } else { -1 };
            }
            if fresh == Fresh::New {
                self.look_at(round, parent, index);
            }
            if !is_at_bound || leads_on.is_none() {
                let nodes = round.budgets.nodes();
                let first = was_cut || fresh == Fresh::New;
                let Expanded { reached, path, .. } = &mut self.expanded[parent as usize];
                let path = *path.get_or_insert_with(|| self.pending.path_to(*reached));
                self.pending.share(path);
                let successor = Successor {
                    parent: self.taken.record(parent as usize),
                    edges: &self.edges[parent as usize * nodes..][..nodes],
                    child: &child,
                    reached: Reached { path, step: child.step, depth, first, is_open: leads_on.is_none() },
                };
                self.pending.push(round.known, round.budgets, &successor);
            }
        }
        if self.notes.is_empty() {
            self.close();
        }
    }

    /// Whether an event is possible in a child; none if that depends on handlers that were not executed, or on a bound.
    fn leads_on(&self, round: RoundContext<'_>, parent: u32, child: &Child) -> Option<bool> {
        let known = round.known;
        if known.brief(child.next).is_stuck {
            return Some(false);
        }
        let in_flight = self.in_flight_len(round, parent, child);
        if in_flight > 0 && !round.has_quorums {
            return Some(true);
        }
        let record = self.taken.record(parent as usize);
        let Step { node, trigger, outcome } = child.step;
        let is_alone = |message: &MessageId| !known.takes_quorums(known.destination(*message));
        let sent = known.sent(&known.edges(child.row)[outcome as usize]).iter().filter(|message| is_alone(message));
        if record.copies().filter(is_alone).count() + sent.count() > known.taken(trigger).filter(is_alone).count() {
            return Some(true);
        }
        let local = |other: usize| if other == node as usize { child.next } else { record.local(other) };
        let has_own_events = (0..record.nodes()).any(|other| known.brief(local(other)).has_own_events);
        if in_flight > 0 || has_own_events { None } else { Some(false) }
    }

    /// Number of messages in flight in a child.
    fn in_flight_len(&self, round: RoundContext<'_>, parent: u32, child: &Child) -> usize {
        let Step { trigger, outcome, .. } = child.step;
        let sent = round.known.sent(&round.known.edges(child.row)[outcome as usize]).len();
        self.taken.record(parent as usize).in_flight_len() + sent - round.known.taken(trigger).count()
    }

    /// Drops the states on their way to the visited set, but not the system states.
    pub fn forget_arrivals(&mut self) {
        self.arrivals.iter_mut().for_each(Vec::clear);
    }

    /// Ends the round: puts stalled states back on the stack, and forgets the others and the notes.
    pub fn close(&mut self) {
        for (index, Expanded { reached, path, is_stalled }) in self.expanded.iter().enumerate().rev() {
            if *is_stalled {
                self.pending.put_back(self.taken.record(index));
            } else {
                self.pending.release(path.unwrap_or(reached.path));
            }
        }
        self.expanded.clear();
        self.notes.clear();
    }
}

/// Bytes that a new child takes until the end of a round, without the messages that are sent: on its way, on the
/// stack with its path, and in a note.
fn child_bytes(round: RoundContext<'_>, parent: PackedState<'_>) -> u64 {
    let on_the_way =
        size_of::<(u32, Child)>() + size_of::<Arrival>() + size_of::<(u32, Fresh)>() + size_of::<Option<Fresh>>();
    // A note has a class per node, and a local state per node if ends are wanted.
    let lists = if round.crashes_max.is_some() { 2 } else { 1 };
    let noted = size_of::<Fingerprint>() + size_of::<Note>() + lists * parent.nodes() * size_of::<u32>();
    parent.bytes() + (on_the_way + noted + PATH_BYTES) as u64
}
