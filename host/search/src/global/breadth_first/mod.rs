//! Breadth-first search of the global states, with the same result for any number of workers.
//!
//! | module | what it holds |
//! |---|---|
//! | `expansion` | the successors of some states, found by look-ups alone: the part that each worker does by itself |
//! | `fresh_locals` | the local states whose local events and faults were followed |
//! | `frontier` | the states that wait to be expanded, packed |
//! | `judging` | counts and judges new states |
//! | `numbers` | the states met so far: by fingerprint, and the way to each |
//! | `saved` | the state of a search in a checkpoint |
//! | `sink` | the receiver of a graph while it is explored |
//!
//! The search goes level by level, and through a level in batches. All workers find the successors of a batch together, in pieces of
//! neighbouring states; they read the known outcomes of handlers and the set of states met before. Handlers that were not executed yet
//! are collected in the order of the states and their events, and executed by all workers together. Then one worker takes in the
//! successors, again in that order: it numbers, counts and judges them exactly as a search by one worker that expands one state after
//! the other. The parallel part computes only results that do not depend on that order.
//!
//! A checkpoint keeps the place within the batch as well: another process begins there, and makes the same batches from there on.

mod expansion;
mod fresh_locals;
mod frontier;
mod judging;
mod numbers;
mod saved;
pub mod sink;

use std::collections::BTreeSet;
use std::ops::Range;

use host_model::lts::{LocalStateId, Step, Stepper, Trigger};
use rayon::prelude::*;

use self::expansion::{Arrival, Batch, Expansion, Fresh, Target};
use self::fresh_locals::FreshLocals;
use self::frontier::{Block, BlockState, Frontier, Layout};
use self::judging::tell;
use self::numbers::Numbers;
use self::sink::{Discovery, Expanded, GraphEdge, GraphSink};
use crate::global::enabled::Unknown;
use crate::global::judge::judge_start;
use crate::global::state::{Budgets, GlobalState};
use crate::global::visited::{Insertion, Visited};
use crate::kernel::rules::Recovery;
use crate::kernel::{CheckSchedule, Counts, EndCondition, Progress, Report, Search, SearchError, or_end, stopped_end};

/// The events of a state to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Following {
    /// All events.
    All,
    /// All deliveries, but local events and faults only of nodes whose local state was not met before.
    Fresh,
    /// Those that progress can rely on; the graph does not contain the others.
    Reliable(Recovery),
}

/// Pieces of a batch: enough for many workers, and for those that are done early to help the others.
const PIECES: usize = 32;

/// Batches of fewer states are expanded by one worker: it takes microseconds.
const SHARED: usize = 64;

/// States of the first batches. Later ones are a quarter of the states expanded before, so that a search that ends soon executes few
/// handlers in vain.
const FIRST_BATCH: u64 = 16;

/// Maximum number of handlers that are executed together.
const HANDLERS: usize = 16_384;

/// Searches from all start states at once, level by level: each state is found by one of the shortest paths from any
/// start state, and is expanded once. A state that violates a property is expanded like any other one.
///
/// Memory: about 36 bytes per distinct global state; the states that wait to be expanded take 4 bytes per node, and per message in
/// flight, plus 20 bytes.
///
/// Without a sink, the keeper of the monitor saves the search, and it continues from what was saved.
pub fn explore(
    search: &Search<'_>,
    following: Following,
    sink: Option<&mut dyn GraphSink>,
) -> Result<Report, SearchError> {
    let mut stepper = Stepper::new(search.lts)?;
    let nodes = search.lts.scenario().nodes as usize;
    let layout = Layout { nodes, has_counters: search.bounds.local_events.is_some() };
    let mut run = BreadthFirst {
        search,
        sink,
        budgets: Budgets::new(nodes, &search.bounds),
        fresh: (following == Following::Fresh).then(FreshLocals::default),
        reliable: match following {
            Following::Reliable(recovery) => Some(recovery),
            Following::All | Following::Fresh => None,
        },
        numbers: Numbers::new(),
        frontier: Frontier::new(layout),
        pieces: (0..PIECES).map(|_| Expansion::default()).collect(),
        piece_bytes: 0,
        system_states: Visited::new(),
        collected: BTreeSet::new(),
        report: Report::new(search.lts).collecting(&search.bounds),
        transitions: 0,
        expanded: 0,
        left_out: EndCondition::SpaceExhausted,
        state: GlobalState::default(),
        schedule: CheckSchedule::default(),
        batch: BatchPlace::default(),
        is_whole: false,
    };
    let keeper = search.monitor.keeper().filter(|_| run.sink.is_none());
    let mut loaded = None;
    if let Some(keeper) = keeper {
        keeper.resume(&mut |saved| loaded = Some(run.load(&mut stepper, saved)));
    }
    let begun = match loaded {
        Some(loaded) => {
            loaded?;
            run.judge_again(&mut stepper)
        }
        None => run.enter_starts(&mut stepper),
    };
    let end = match or_end(begun)? {
        Some(end) => end,
        None => run.expand_all(&mut stepper).or_else(stopped_end)?,
    };
    if let Some(keeper) = keeper.filter(|_| run.is_whole && end.is_external()) {
        run.save(keeper, true);
    }
    Ok(run.finish(end))
}

/// The batch that is being taken in.
#[derive(Default)]
struct BatchPlace {
    /// The number of the first state of its block.
    block: u32,
    /// Its places in the block; empty between two batches.
    places: Range<usize>,
    /// The number of its states whose successors were all taken in.
    taken_in: usize,
    /// The number of transitions without those of the state that is being taken in.
    transitions: u64,
    /// The handlers to execute before its successors are known.
    missing: Vec<(LocalStateId, Trigger)>,
    /// The state that was entered last, until it is judged.
    unjudged: Option<u32>,
}

struct BreadthFirst<'s, 'k> {
    search: &'s Search<'s>,
    sink: Option<&'k mut (dyn GraphSink + 'k)>,
    budgets: Budgets,
    /// None if all events are followed.
    fresh: Option<FreshLocals>,
    /// None if all faults are followed.
    reliable: Option<Recovery>,
    numbers: Numbers,
    frontier: Frontier,
    pieces: Vec<Expansion>,
    piece_bytes: u64,
    /// The system states; their depths are not used.
    system_states: Visited,
    collected: BTreeSet<Box<[LocalStateId]>>,
    report: Report,
    transitions: u64,
    expanded: u64,
    /// The most important reason for events left out so far.
    left_out: EndCondition,
    /// The current state, if it is to be judged.
    state: GlobalState,
    schedule: CheckSchedule,
    batch: BatchPlace,
    /// Whether the start states were judged: before, nothing is saved.
    is_whole: bool,
}

impl BreadthFirst<'_, '_> {
    /// Enters all start states; returns why to end the search, if there is a reason.
    fn enter_starts(&mut self, stepper: &mut Stepper<'_>) -> Result<Option<EndCondition>, SearchError> {
        for (index, start) in (0..).zip(self.search.starts) {
            let state = GlobalState::new(stepper.known(), start);
            let (number, is_new) = self.numbers.number(state.fingerprint, Discovery::Start(index));
            if !is_new {
                continue;
            }
            let layout = self.frontier.layout;
            self.frontier.push(0, number, |words| layout.write(&state, words));
            let system_state = state.locals_fingerprint(stepper.known());
            if self.system_states.insert(system_state, 0) == Insertion::New && self.search.collect_system_states {
                self.collected.insert(state.locals.as_slice().into());
            }
            let judged = judge_start(self.search, stepper, start);
            if let Some(sink) = self.sink.as_mut().filter(|_| judged.stopped.is_none()) {
                tell(*sink, stepper, &state, number, Discovery::Start(index), 0, judged.is_bad())?;
            }
            if self.search.note_judged(&mut self.report, start, &[], judged)? {
                return Ok(Some(EndCondition::Violation));
            }
        }
        self.is_whole = true;
        Ok(None)
    }

    /// Expands all states in the order of their numbers; returns why the search ended.
    fn expand_all(&mut self, stepper: &mut Stepper<'_>) -> Result<EndCondition, SearchError> {
        let mut next_level = 0;
        let keeper = self.search.monitor.keeper().filter(|_| self.sink.is_none());
        while let Some(block) = self.frontier.pop() {
            let places = self.begin_batch(&block);
            if block.depth == next_level {
                next_level += 1;
                if let Some(sink) = &mut self.sink {
                    sink.level(block.depth, block.number(places.start)..self.numbers.len());
                }
            }
            let end = self.expand(stepper, &block, places);
            let taken_in = std::mem::take(&mut self.batch.taken_in);
            self.report.levels.count(block.depth, taken_in as u64);
            self.frontier.put_back(block, taken_in);
            if let Some(end) = end? {
                return Ok(end);
            }
            self.expanded += self.batch.places.len() as u64;
            self.batch.places = 0..0;
            self.fresh.iter_mut().for_each(FreshLocals::forget_batch);
            if let Some(keeper) = keeper.filter(|keeper| keeper.is_due()) {
                self.save(keeper, false);
            }
        }
        self.report.levels.end();
        Ok(self.left_out)
    }

    /// The places of the next batch, or of the rest of one that another process has begun.
    fn begin_batch(&mut self, block: &Block) -> Range<usize> {
        let next = block.next(self.batch_len());
        self.batch.block = block.first();
        if self.batch.places.is_empty() {
            self.batch.places = next.clone();
            return next;
        }
        next.start..self.batch.places.end
    }

    /// Number of states that are expanded together; small close to the bound on states.
    fn batch_len(&self) -> usize {
        let states = u64::from(self.numbers.len());
        let left = self.search.bounds.states.map_or(u64::MAX, |max| max.saturating_sub(states).div_ceil(8).max(1));
        (FIRST_BATCH + self.expanded / 4).min(left) as usize
    }

    /// Takes in the successors of some states of a block; returns why to end the search, if there is a reason.
    fn expand(
        &mut self,
        stepper: &mut Stepper<'_>,
        block: &Block,
        places: Range<usize>,
    ) -> Result<Option<EndCondition>, SearchError> {
        let is_at_bound = self.search.bounds.depth.is_some_and(|depth| block.depth >= depth);
        if let Some(fresh) = self.fresh.as_mut().filter(|_| !is_at_bound) {
            fresh.note(block, places.clone(), self.frontier.layout);
        }
        if let Some(end) = self.find_successors(stepper, block, &places, is_at_bound)? {
            return Ok(Some(end));
        }
        let pieces = std::mem::take(&mut self.pieces);
        let taken = self.take_in(stepper, block, places, &pieces);
        self.pieces = pieces;
        taken
    }

    /// Lets all workers find the successors and execute unknown handlers; returns why to end the search, if there is a reason.
    fn find_successors(
        &mut self,
        stepper: &mut Stepper<'_>,
        block: &Block,
        places: &Range<usize>,
        is_at_bound: bool,
    ) -> Result<Option<EndCondition>, SearchError> {
        let len = places.len().div_ceil(PIECES).max(1);
        let piece = |index: usize| {
            let start = (places.start + index * len).min(places.end);
            start..(start + len).min(places.end)
        };
        let mut is_first = true;
        loop {
            let batch = Batch {
                known: stepper.known(),
                budgets: &self.budgets,
                numbers: &self.numbers,
                block,
                layout: self.frontier.layout,
                is_at_bound,
                // One state cut off at the depth bound is enough for the verdict; only a sink needs all of them.
                tells_depth_cut: self.sink.is_some() || self.left_out < EndCondition::DepthBound,
                fresh: self.fresh.as_ref().map(|fresh| (places.start, fresh.of_batch())),
                reliable: self.reliable,
                keeps_edges: self.sink.is_some(),
            };
            let expand = |(index, expansion): (usize, &mut Expansion)| {
                if is_first || !expansion.unknown.is_empty() {
                    expansion.expand(batch, piece(index));
                }
            };
            if places.len() < SHARED {
                self.pieces.iter_mut().enumerate().for_each(expand);
            } else {
                self.pieces.par_iter_mut().enumerate().for_each(expand);
            }
            is_first = false;
            let unknown = || self.pieces.iter().map(|piece| &piece.unknown);
            if unknown().all(Unknown::is_empty) {
                break;
            }
            for messages in unknown().flat_map(|unknown| &unknown.unnamed) {
                stepper.quorum(messages);
            }
            self.batch.missing = unknown().flat_map(|unknown| &unknown.missing).copied().collect();
            if let Some(end) = self.execute_missing(stepper)? {
                return Ok(Some(end));
            }
        }
        let work = self.pieces.iter().map(|piece| piece.work).sum();
        self.piece_bytes = self.pieces.iter().map(Expansion::bytes).sum();
        let has_grown = self.schedule.has_grown(self.kept());
        let is_due = self.schedule.is_check_due_after(stepper, work) || has_grown;
        Ok(is_due.then(|| self.search.monitor.check(&self.progress())).flatten())
    }

    /// Executes the handlers that the batch asks for; returns why to end the search, if there is a reason.
    fn execute_missing(&mut self, stepper: &mut Stepper<'_>) -> Result<Option<EndCondition>, SearchError> {
        for start in (0..self.batch.missing.len()).step_by(HANDLERS) {
            let end = self.batch.missing.len().min(start + HANDLERS);
            stepper.prepare(&self.batch.missing[start..end])?;
            if self.schedule.is_check_due(stepper)
                && let Some(end) = self.search.monitor.check(&self.progress())
            {
                return Ok(Some(end));
            }
        }
        self.batch.missing.clear();
        Ok(None)
    }

    /// Takes in the successors, in the order of the states and their events; returns why to end the search, if there is a reason.
    fn take_in(
        &mut self,
        stepper: &mut Stepper<'_>,
        block: &Block,
        places: Range<usize>,
        pieces: &[Expansion],
    ) -> Result<Option<EndCondition>, SearchError> {
        let states = pieces.iter().flat_map(|piece| piece.states().map(move |state| (piece, state)));
        for (place, (piece, (state, arrivals))) in places.zip(states) {
            let before = self.transitions;
            self.batch.transitions = before;
            for arrival in arrivals {
                self.transitions = before + u64::from(arrival.edge);
                if let Some(end) = self.arrive(stepper, BlockState { block, place }, piece, arrival)? {
                    return Ok(Some(end));
                }
            }
            self.transitions = before + u64::from(state.edges);
            self.batch.transitions = self.transitions;
            self.batch.taken_in += 1;
            self.tell_expanded(stepper, block, place, state.left_out);
            self.left_out = self.left_out.max(state.left_out);
        }
        Ok(None)
    }

    /// Reports to the sink that all successors of a state were taken in.
    fn tell_expanded(&mut self, stepper: &Stepper<'_>, block: &Block, place: usize, left_out: EndCondition) {
        let Some(sink) = &mut self.sink else { return };
        let mut suppressed = Vec::new();
        if left_out == EndCondition::LocalEventBound {
            self.frontier.layout.read(block.record(place), &mut self.state);
            self.state.suppressed(stepper.known(), &self.budgets, &mut suppressed);
        }
        let left_out = Some(left_out).filter(|end| *end != EndCondition::SpaceExhausted);
        let is_followed = self.search.bounds.depth.is_none_or(|depth| block.depth < depth);
        sink.expanded(&Expanded { state: block.number(place), left_out, is_followed, suppressed: &suppressed });
    }

    /// Takes in the target of a step; returns why to end the search, if there is a reason.
    fn arrive(
        &mut self,
        stepper: &mut Stepper<'_>,
        from: BlockState<'_>,
        piece: &Expansion,
        arrival: &Arrival,
    ) -> Result<Option<EndCondition>, SearchError> {
        let (parent, step) = (from.number(), arrival.step);
        let mut end = None;
        let to = match &arrival.target {
            Target::Met(number) => *number,
            Target::Fresh(fresh) => {
                let (number, is_new) = self.numbers.number(fresh.fingerprint, Discovery::Step(parent, step));
                if is_new {
                    self.queue(stepper, from, number, step, fresh, piece.record(fresh));
                    end = self.enter(stepper, number, from.block.depth + 1, Discovery::Step(parent, step), fresh)?;
                }
                number
            }
        };
        if let Some(sink) = &mut self.sink {
            let local = self.frontier.layout.local(from.record(), step.node);
            sink.edge(&GraphEdge { from: parent, step, local, row: arrival.row, to, known: stepper.known() });
        }
        let has_grown = self.schedule.has_grown(self.kept());
        if end.is_none() && (self.schedule.is_check_due(stepper) || has_grown) {
            end = self.search.monitor.check(&self.progress());
        }
        Ok(end)
    }

    /// Queues a new state, which becomes the current state if it is to be judged.
    fn queue(
        &mut self,
        stepper: &Stepper<'_>,
        from: BlockState<'_>,
        number: u32,
        step: Step,
        fresh: &Fresh,
        record: Option<&[u32]>,
    ) {
        let depth = from.block.depth + 1;
        let (layout, state) = (self.frontier.layout, &mut self.state);
        let is_collected = self.search.collect_system_states && fresh.system_state.is_some();
        let is_looked_at = fresh.is_noted || is_collected || self.search.bounds.deadlock || self.sink.is_some();
        match record {
            Some(record) => {
                self.frontier.push(depth, number, |words| words.extend_from_slice(record));
                if is_looked_at {
                    layout.read(record, state);
                }
            }
            None => {
                layout.read(from.record(), state);
                state.take(stepper.known(), &self.budgets, step, fresh.row);
                self.frontier.push(depth, number, |words| layout.write(state, words));
            }
        }
    }

    /// Bytes whose growth has no bound per state.
    fn kept(&self) -> u64 {
        self.frontier.bytes() + self.piece_bytes
    }

    fn progress(&self) -> Progress {
        let counts = Counts {
            global_states: Some(self.numbers.len().into()),
            transitions: Some(self.transitions),
            system_states: Some(self.system_states.len()),
            ..Counts::default()
        };
        // A B-tree is at least half full.
        let nodes = self.frontier.layout.nodes;
        let collected = 2 * size_of::<Box<[LocalStateId]>>() + nodes * size_of::<LocalStateId>();
        let bytes = self.kept()
            + self.numbers.bytes()
            + self.system_states.bytes()
            + (self.collected.len() * collected) as u64
            + self.fresh.as_ref().map_or(0, FreshLocals::bytes)
            + self.sink.as_ref().map_or(0, |sink| sink.bytes())
            + self.search.lts.counts().bytes;
        Progress { counts, steps: 0, depth: self.report.depth, queue: self.frontier.len(), bytes }
    }

    fn finish(self, end: EndCondition) -> Report {
        let counts = self.progress().counts;
        let system_states = self.search.collect_system_states.then(|| self.collected.into_iter().collect());
        let mut report = Report { end, counts, system_states, fingerprints: counts.global_states, ..self.report };
        // The search goes level by level, so each path is a shortest one, unless events are left out.
        report.violations.iter_mut().for_each(|found| found.shortest = self.fresh.is_none());
        report.count_local(self.search.lts);
        report
    }
}
