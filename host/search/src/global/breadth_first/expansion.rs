//! The successors of some states, found by look-ups alone: the part of the search that each worker does by itself.

use std::ops::Range;

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{ClassId, NodeId};
use host_model::lts::{LocalStateId, LtsCache, OutcomesRef, Step, Trigger};

use crate::global::breadth_first::frontier::{Block, Layout};
use crate::global::breadth_first::numbers::Numbers;
use crate::global::enabled::{Unknown, is_sure};
use crate::global::queues::Queues;
use crate::global::state::{Budgets, Child, GlobalState, says_more};
use crate::kernel::EndCondition;
use crate::kernel::rules::Recovery;

/// Maximum words of packed successors that one worker prepares. Successors beyond that are made one by one when they are added, which
/// bounds the memory.
const WORDS_MAX: usize = 1 << 14;

/// The tables that the workers read while they expand states of a block.
#[derive(Clone, Copy)]
pub struct Batch<'b> {
    /// The local transition system as far as it is known.
    pub known: &'b LtsCache,
    /// The bounds that are part of a state.
    pub budgets: &'b Budgets,
    /// All states met before.
    pub numbers: &'b Numbers,
    /// The states.
    pub block: &'b Block,
    /// The layout of packed states.
    pub layout: Layout,
    /// Whether the states are at the bound on depth, where no event is followed.
    pub is_at_bound: bool,
    /// Whether it matters which of these states the bound on depth cuts off.
    pub tells_depth_cut: bool,
    /// Whether the local events and faults of each node are followed, state by state from the first place on; none if all are.
    pub fresh: Option<(usize, &'b [bool])>,
    /// If only events are followed that progress can rely on, the rule that decides which faults are among them; none otherwise.
    pub reliable: Option<Recovery>,
    /// Whether edges to states met before are kept.
    pub keeps_edges: bool,
}

impl Batch<'_> {
    fn is_fresh(&self, place: usize, node: NodeId) -> bool {
        self.fresh.is_none_or(|(first, fresh)| fresh[(place - first) * self.layout.nodes + node as usize])
    }

    fn can_rely_on(&self, trigger: Trigger) -> bool {
        self.reliable.is_none_or(|recovery| recovery.can_rely_on(trigger))
    }
}

/// The successors and findings of one state.
pub struct Expanded {
    /// Steps that lead on.
    pub edges: u32,
    /// The end of its arrivals.
    arrivals_end: u32,
    /// The reason that counts most for states left out; [`EndCondition::SpaceExhausted`] if none were.
    pub left_out: EndCondition,
}

/// A step to a state that was not met before this batch, or to any if all edges are kept.
pub struct Arrival {
    /// The step.
    pub step: Step,
    /// The outcomes of its trigger.
    pub row: OutcomesRef,
    /// The number of the step among all steps from its state, from 1 on.
    pub edge: u32,
    /// The state that the step leads to.
    pub target: Target,
}

/// The state that a step leads to.
pub enum Target {
    /// A state that was met before.
    Met(u32),
    /// A state that may have been met in this batch.
    Fresh(Fresh),
}

/// A state that was not met before this batch.
pub struct Fresh {
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// The fingerprint of its local states, if it differs from that of the state before.
    pub system_state: Option<Fingerprint>,
    /// The outcomes of the step's trigger.
    pub row: OutcomesRef,
    /// The local state of the step's node.
    pub next: LocalStateId,
    /// Whether the state may have judgements that the state before does not have.
    pub is_noted: bool,
    /// The place of its packed words; empty if it is not packed.
    words: Range<u32>,
}

/// The successors of some states of a block, and the questions about them. Reused, to spare allocations.
#[derive(Default)]
pub struct Expansion {
    states: Vec<Expanded>,
    /// Their successors, state by state, in the order of their events and outcomes.
    arrivals: Vec<Arrival>,
    /// The questions to answer before these states can be expanded; the other fields are valid only if there are none.
    pub unknown: Unknown,
    /// Number of messages and local states that were examined.
    pub work: usize,
    words: Vec<u32>,
    state: GlobalState,
    next: GlobalState,
    queues: Queues,
    enabled: Vec<(NodeId, Trigger)>,
    /// The steps from all states, with the fingerprints of their targets.
    successors: Vec<(Fingerprint, Child)>,
    classes: Vec<ClassId>,
}

impl Expansion {
    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        let words = self.words.capacity() * size_of::<u32>() + self.state.heap_bytes() + self.next.heap_bytes();
        let events = self.enabled.capacity() * size_of::<(NodeId, Trigger)>()
            + self.successors.capacity() * size_of::<(Fingerprint, Child)>()
            + self.unknown.bytes()
            + self.queues.bytes();
        let found = self.states.capacity() * size_of::<Expanded>() + self.arrivals.capacity() * size_of::<Arrival>();
        (words + events + found) as u64
    }

    /// The packed state; none if it exceeded the bound.
    pub fn record(&self, fresh: &Fresh) -> Option<&[u32]> {
        let Range { start, end } = fresh.words;
        (start < end).then(|| &self.words[start as usize..end as usize])
    }

    /// The states in their order, each with its arrivals.
    pub fn states(&self) -> impl Iterator<Item = (&Expanded, &[Arrival])> {
        let mut start = 0;
        self.states.iter().map(move |state| {
            let arrivals = &self.arrivals[start..state.arrivals_end as usize];
            start = state.arrivals_end as usize;
            (state, arrivals)
        })
    }

    /// Finds the successors of the states at these places, as far as look-ups suffice.
    pub fn expand(&mut self, batch: Batch<'_>, places: Range<usize>) {
        self.states.clear();
        self.arrivals.clear();
        self.successors.clear();
        self.words.clear();
        self.unknown.clear();
        self.work = 0;
        for place in places.clone() {
            batch.layout.read(batch.block.record(place), &mut self.state);
            let Self { state, enabled, unknown, .. } = self;
            let asked = unknown.asked();
            let is_cut = state.enabled_in(batch.known, batch.budgets, enabled, unknown);
            let mut left_out = if is_cut { EndCondition::LocalEventBound } else { EndCondition::SpaceExhausted };
            let edges = self.successors.len();
            if batch.is_at_bound {
                let leads_on = self.leads_on(batch);
                left_out = if leads_on { left_out.max(EndCondition::DepthBound) } else { left_out };
                if leads_on || !batch.tells_depth_cut {
                    self.unknown.truncate(asked);
                }
            } else {
                left_out = left_out.max(self.follow(batch, place));
            }
            let edges = (self.successors.len() - edges) as u32;
            self.work += 1 + (1 + edges as usize) * self.state.in_flight.len();
            self.states.push(Expanded { edges, arrivals_end: 0, left_out });
        }
        // Once the unknown handlers are executed, the states are expanded again.
        if self.unknown.is_empty() {
            self.look_up(batch, places);
        }
    }

    /// Whether an event is enabled in the current state, as far as that is known. Requests a handler only if the answer depends on it.
    fn leads_on(&mut self, batch: Batch<'_>) -> bool {
        let Self { state, enabled, unknown, .. } = self;
        enabled.retain(|(_, trigger)| batch.can_rely_on(*trigger));
        let local = |node: NodeId| state.locals[node as usize];
        let has_outcome = |(node, trigger): &(NodeId, Trigger)| match batch.known.row(local(*node), *trigger) {
            Some(row) => !batch.known.edges(row).is_empty(),
            None => is_sure(batch.known, *node, *trigger),
        };
        let leads_on = enabled.iter().any(has_outcome);
        for (node, trigger) in enabled.iter().filter(|_| !leads_on) {
            unknown.row(batch.known, local(*node), *trigger);
        }
        leads_on
    }

    /// Follows the events of the current state; returns the reason for events left out.
    fn follow(&mut self, batch: Batch<'_>, place: usize) -> EndCondition {
        let (known, mut left_out) = (batch.known, EndCondition::SpaceExhausted);
        let Self { state, next, queues, enabled, unknown, successors, .. } = self;
        let has_queues = Queues::fit(known, state);
        if has_queues {
            queues.read(known, state);
        }
        for &(node, trigger) in &*enabled {
            if !trigger.is_delivery() && !batch.is_fresh(place, node) {
                left_out = EndCondition::Pruned;
                continue;
            }
            if !batch.can_rely_on(trigger) {
                continue;
            }
            let local = state.locals[node as usize];
            let Some(row) = unknown.row(known, local, trigger) else { continue };
            let base = state.fingerprint.wrapping_add(batch.budgets.of_step(node, trigger));
            for (outcome, edge) in (0..).zip(known.edges(row)) {
                let step = Step { node, trigger, outcome };
                let fingerprint = if has_queues {
                    let locals = known.brief(edge.next).fingerprint.wrapping_sub(known.brief(local).fingerprint);
                    base.wrapping_add(locals).wrapping_add(queues.change(known, node, trigger, edge))
                } else if known.is_ordered() {
                    next.copy_from(state);
                    next.take(known, batch.budgets, step, row);
                    next.fingerprint
                } else {
                    base.wrapping_add(edge.delta)
                };
                successors.push((fingerprint, Child { step, row, next: edge.next }));
            }
        }
        left_out
    }

    /// Looks up the successors of all states, and makes those that were not met before.
    fn look_up(&mut self, batch: Batch<'_>, places: Range<usize>) {
        batch.numbers.warm(self.successors.iter().map(|(fingerprint, _)| *fingerprint));
        let mut start = 0;
        for (index, place) in places.enumerate() {
            let edges = self.states[index].edges;
            let mut is_at_hand = false;
            for edge in 1..=edges {
                let (fingerprint, child) = self.successors[start + edge as usize - 1];
                let target = match batch.numbers.find(fingerprint) {
                    Some(_) if !batch.keeps_edges => continue,
                    Some(number) => Target::Met(number),
                    None => {
                        if !is_at_hand {
                            batch.layout.read(batch.block.record(place), &mut self.state);
                            is_at_hand = true;
                        }
                        Target::Fresh(self.fresh(batch, &child, fingerprint))
                    }
                };
                self.arrivals.push(Arrival { step: child.step, row: child.row, edge, target });
            }
            start += edges as usize;
            self.states[index].arrivals_end = self.arrivals.len() as u32;
        }
    }

    /// The record of a successor of the current state.
    fn fresh(&mut self, batch: Batch<'_>, child: &Child, fingerprint: Fingerprint) -> Fresh {
        let (known, before) = (batch.known, self.state.locals[child.step.node as usize]);
        self.next.copy_from(&self.state);
        if cfg!(debug_assertions) {
            self.next.take(known, batch.budgets, child.step, child.row);
            assert_eq!(self.next.fingerprint, fingerprint, "a step changes the fingerprint as it was said before");
        } else {
            self.next.advance(known, child.step, child.row);
            self.next.fingerprint = fingerprint;
        }
        let start = self.words.len() as u32;
        if self.words.len() < WORDS_MAX {
            batch.layout.write(&self.next, &mut self.words);
        }
        let is_noted = says_more(known, before, child.next) && {
            self.state.classes_of(known, child, &mut self.classes);
            known.brief(child.next).is_judged || known.verdict(&self.classes).is_none_or(|said| !said.is_empty())
        };
        Fresh {
            fingerprint,
            system_state: (child.next != before).then(|| self.next.locals_fingerprint(known)),
            row: child.row,
            next: child.next,
            is_noted,
            words: start..self.words.len() as u32,
        }
    }
}
