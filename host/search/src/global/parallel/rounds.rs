//! The search of global states by many workers, with the same result for any number of them.
//!
//! There is a fixed number of partitions, each with a stack of states to expand, and a fixed number of shards of the visited set. The
//! search works in rounds of three steps, which all workers execute in parallel and without locks: every partition expands the
//! states on top of its stack and sorts their successors by shard; every shard finds the new ones among them, partition by
//! partition; every partition judges its new states and pushes them. Between rounds, one worker executes missing handlers in the
//! order of the partitions, and balances the stacks. So ids, counts and the order of discovery do not depend on the schedule of the
//! workers.
//!
//! The search uses stacks instead of queues: as in a depth-first search, few states wait to be expanded.

use std::collections::BTreeSet;

use host_model::contract::{Judgement, NodeId, Severity};
use host_model::lts::{LocalStateId, LtsCache, Step, Stepper, Trigger};
use rayon::prelude::*;

use crate::global::judge::{judge_global_state, judge_start};
use crate::global::parallel::packed_stack::PackedBatch;
use crate::global::parallel::partition::{Note, PARTITION_BYTES, Partition, VisitedShard};
use crate::global::parallel::round_context::RoundContext;
use crate::global::state::{Budgets, GlobalState};
use crate::global::visited::{Insertion, SHARDS, shard_of};
use crate::kernel::checkpoint_codec::Reader;
use crate::kernel::{
    Counts, EndCondition, FoundViolation, Judged, Keeper, Progress, Report, Search, SearchError, load_lts, or_end,
    save_lts,
};

/// Number of stacks. Enough to keep many workers busy; every result depends on it.
const PARTITIONS: usize = 16;

/// States of a round. Few enough that little waits to be expanded, many enough that the steps between rounds do not count.
const ROUND: u64 = 8192;

/// One worker executes a round of fewer states: it takes microseconds.
const SHARED_WAVE: u64 = 128;

/// Bytes that the successors of a round may take; a single state may exceed them, as one of few states of its round.
const WAVE_BYTES: u64 = PARTITIONS as u64 * PARTITION_BYTES;

/// Rounds whose successors take fewer bytes do not poll the monitor by themselves.
const QUIET_BYTES: u64 = 4 << 20;

/// Maximum number of handlers that are executed together.
const BATCH: usize = 16_384;

/// A stack with this many states can give half of them to an empty one.
const RICH: usize = 16;

/// One search up to a bound on depth.
pub struct ParallelRounds<'s, 'l> {
    search: &'s Search<'s>,
    stepper: &'s mut Stepper<'l>,
    budgets: Budgets,
    bound: u32,
    states_max: u64,
    partitions: Vec<Partition>,
    shards: Vec<VisitedShard>,
    report: Report,
    /// Handlers that the last round asked for, until they are executed.
    missing: Vec<(LocalStateId, Trigger)>,
    /// The states of the last round that are still to be judged, if that was stopped, by start state and path; shorter paths come
    /// first.
    unjudged: Vec<(u32, Vec<Step>)>,
    is_resumed: bool,
    is_kept: bool,
    /// Whether the state is complete enough to be saved: not before the start states are judged.
    is_whole: bool,
}

impl<'s, 'l> ParallelRounds<'s, 'l> {
    /// A search that has explored nothing yet; it ends once there are `states_max` global states.
    pub fn new(search: &'s Search<'s>, stepper: &'s mut Stepper<'l>, bound: u32, states_max: Option<u64>) -> Self {
        let nodes = search.lts.scenario().nodes as usize;
        Self {
            search,
            stepper,
            budgets: Budgets::new(nodes, &search.bounds),
            bound,
            states_max: states_max.unwrap_or(u64::MAX),
            partitions: (0..PARTITIONS).map(|_| Partition::new(nodes, search.collect_system_states)).collect(),
            shards: (0..SHARDS).map(|_| VisitedShard::new(PARTITIONS)).collect(),
            report: Report::new(search.lts).collecting(&search.bounds),
            missing: Vec::new(),
            unjudged: Vec::new(),
            is_resumed: false,
            is_kept: false,
            is_whole: false,
        }
    }

    /// Loads a search from its checkpoint, with its bound on states.
    ///
    /// # Errors
    ///
    /// The checkpoint is not of this system.
    pub fn load(
        search: &'s Search<'s>,
        stepper: &'s mut Stepper<'l>,
        saved: &mut Reader<'_>,
    ) -> Result<Self, SearchError> {
        load_lts(stepper, saved)?;
        let mut rounds = Self::new(search, stepper, 0, search.bounds.states);
        rounds.load_state(saved).ok_or(SearchError::Checkpoint)?;
        (rounds.is_resumed, rounds.is_whole) = (true, true);
        Ok(rounds)
    }

    fn load_state(&mut self, saved: &mut Reader<'_>) -> Option<()> {
        self.bound = saved.word()?;
        for index in 0..self.report.witnessed.len() as u32 {
            if saved.number()? != 0 {
                self.report.witness(index);
            }
        }
        for partition in &mut self.partitions {
            *partition = Partition::load(self.stepper.known(), &self.budgets, self.search.starts, saved)?;
        }
        for shard in &mut self.shards {
            *shard = VisitedShard::load(PARTITIONS, saved)?;
        }
        let missing = saved.words()?;
        let pairs = missing.as_chunks::<2>().0.iter();
        self.missing = pairs.map(|[state, trigger]| (LocalStateId(*state), Trigger::from_raw(*trigger))).collect();
        for _ in 0..saved.number()? {
            let start = saved.word()?;
            let words = saved.words()?;
            let steps = words.as_chunks::<3>().0.iter();
            let step = |[node, trigger, outcome]: &[u32; 3]| {
                let trigger = Trigger::from_raw(*trigger);
                Step { node: *node, trigger, outcome: *outcome }
            };
            self.unjudged.push((start, steps.map(step).collect()));
        }
        Some(())
    }

    fn save(&self, keeper: &dyn Keeper, is_last: bool) {
        keeper.save(is_last, &|out| {
            save_lts(self.search.lts, out);
            out.number(u64::from(self.bound));
            for witnessed in &self.report.witnessed {
                out.number(u64::from(*witnessed == Some(true)));
            }
            self.partitions.iter().for_each(|partition| partition.save(out));
            self.shards.iter().for_each(|shard| shard.save(out));
            out.words(&self.missing.iter().flat_map(|(state, trigger)| [state.0, trigger.raw()]).collect::<Vec<_>>());
            out.number(self.unjudged.len() as u64);
            for (start, path) in &self.unjudged {
                out.number(u64::from(*start));
                let words = path.iter().flat_map(|step| [step.node, step.trigger.raw(), step.outcome]);
                out.words(&words.collect::<Vec<_>>());
            }
        });
    }

    /// Starts with the violations that an earlier search has found.
    #[must_use]
    pub fn after(mut self, violations: Vec<FoundViolation>) -> Self {
        self.report.violations = violations;
        self
    }

    /// Lets the monitor's keeper save the search.
    #[must_use]
    pub fn kept(self) -> Self {
        Self { is_kept: true, ..self }
    }

    /// The bound on depth.
    pub fn bound(&self) -> u32 {
        self.bound
    }

    /// Distinct global states so far.
    pub fn states(&self) -> u64 {
        self.shards.iter().map(|shard| shard.visited.len()).sum()
    }

    /// Searches; the report of a violation has a path to it.
    pub fn explore(mut self) -> Result<Report, SearchError> {
        let begun = if self.is_resumed { self.finish_saved() } else { self.enter_starts() };
        let mut end = or_end(begun)?;
        let keeper = self.search.monitor.keeper().filter(|_| self.is_kept);
        let end = loop {
            if let Some(keeper) = keeper
                && self.is_whole
                && (end.is_some_and(EndCondition::is_external) || (end.is_none() && keeper.is_due()))
            {
                self.save(keeper, end.is_some());
            }
            if let Some(end) = end {
                break end;
            }
            end = or_end(self.round())?;
        };
        // System states are taken in one round after the global ones.
        self.partitions.iter_mut().for_each(Partition::forget_arrivals);
        for (index, shard) in self.shards.iter_mut().enumerate() {
            shard.admit(index, self.bound, &self.partitions);
        }
        let counts = self.progress().counts;
        let mut report = Report { end, counts, fingerprints: counts.global_states, ..self.report };
        report.depth = self.partitions.iter().map(|partition| partition.depth).max().unwrap_or(0);
        if self.search.collect_system_states {
            let collected =
                self.partitions.iter_mut().flat_map(|partition| partition.collected.take().unwrap_or_default());
            let collected: BTreeSet<Box<[LocalStateId]>> = collected.collect();
            report.system_states = Some(collected.into_iter().collect());
        }
        Ok(report)
    }

    /// Judges the start states and makes them pending.
    fn enter_starts(&mut self) -> Result<Option<EndCondition>, SearchError> {
        for (index, start) in (0..).zip(self.search.starts) {
            let state = GlobalState::new(self.stepper.known(), start);
            if self.shards[shard_of(state.fingerprint)].visited.insert(state.fingerprint, 0) == Insertion::Already {
                continue;
            }
            let system_state = state.locals_fingerprint(self.stepper.known());
            self.shards[shard_of(system_state)].system_states.insert(system_state, 0);
            let partition = &mut self.partitions[index as usize % PARTITIONS];
            if let Some(collected) = &mut partition.collected {
                collected.insert(state.locals.as_slice().into());
            }
            let judged = judge_start(self.search, self.stepper, start);
            if self.search.note_judged(&mut self.report, start, &[], judged)? {
                return Ok(Some(EndCondition::Violation));
            }
            partition.pending.push_start(&state, index);
        }
        self.is_whole = true;
        Ok(None)
    }

    /// Executes one round; returns why the search ends, if it does.
    fn round(&mut self) -> Result<Option<EndCondition>, SearchError> {
        let states = self.states();
        if states >= self.states_max {
            return Ok(Some(EndCondition::StateBound));
        }
        // Close to the bound on states the rounds get small, so that they hardly exceed it.
        let size = ROUND.min((self.states_max - states).div_ceil(8));
        let mut left = size as usize;
        let mut quotas = [0; PARTITIONS];
        for (partition, quota) in self.partitions.iter().zip(&mut quotas) {
            *quota = (size as usize).div_ceil(PARTITIONS).min(left).min(partition.pending.len());
            left -= *quota;
        }
        let total: usize = quotas.iter().sum();
        if total == 0 {
            let cut: i64 = self.partitions.iter().map(|partition| partition.cut).sum();
            let is_local_cut = self.partitions.iter().any(|partition| partition.local_events_cut);
            return Ok(Some(match (cut, is_local_cut) {
                (1.., _) => EndCondition::DepthBound,
                (_, true) => EndCondition::LocalEventBound,
                (_, false) => EndCondition::SpaceExhausted,
            }));
        }
        let is_shared = total as u64 >= SHARED_WAVE;
        self.expand(&quotas, is_shared);
        let ahead: u64 = self.partitions.iter().map(Partition::cost).sum();
        if ahead >= QUIET_BYTES
            && let Some(end) = self.search.monitor.check_room(&self.progress(), ahead)
        {
            // No successor is merged yet: the search can continue from the states that were taken from the stacks.
            for partition in &mut self.partitions {
                partition.take_back();
                partition.close();
            }
            return Ok(Some(end));
        }
        self.enter(is_shared);
        let end = self.note();
        if end.is_err() {
            // All notes are judged once more: the judgements made so far are known by then.
            let notes =
                self.partitions.iter().flat_map(|partition| partition.notes.iter().map(|note| partition.path_of(note)));
            self.unjudged = notes.collect();
            self.unjudged.sort_by_key(|(_, path)| path.len());
        }
        self.partitions.iter_mut().for_each(Partition::close);
        for messages in self.partitions.iter().flat_map(|partition| &partition.unknown.unnamed) {
            self.stepper.quorum(messages);
        }
        self.missing = self.partitions.iter().flat_map(|partition| &partition.unknown.missing).copied().collect();
        if let Some(end) = end? {
            return Ok(Some(end));
        }
        self.execute_missing()?;
        Ok(self.search.monitor.check(&self.progress()))
    }

    /// The end of a round: executes the missing handlers, and balances the stacks. If it is stopped, it can be repeated,
    /// also by another process.
    fn execute_missing(&mut self) -> Result<(), SearchError> {
        for batch in self.missing.chunks(BATCH) {
            self.stepper.prepare(batch)?;
        }
        self.missing.clear();
        self.even_out();
        Ok(())
    }

    /// The end of a round that was stopped in another process: the judgements that are left, then the missing handlers.
    fn finish_saved(&mut self) -> Result<Option<EndCondition>, SearchError> {
        for (start, path) in &self.unjudged {
            let start = self.search.starts.get(*start as usize).ok_or(SearchError::Checkpoint)?;
            let state = GlobalState::after(self.stepper.known(), &self.budgets, start, path);
            let state = state.ok_or(SearchError::Checkpoint)?;
            let judged = judge_global_state(self.search, self.stepper, &state);
            if self.search.note_judged(&mut self.report, start, path, judged)? {
                return Ok(Some(EndCondition::Violation));
            }
        }
        self.unjudged.clear();
        if self.missing.is_empty() {
            return Ok(None);
        }
        if !self.stepper.repeat(&self.missing)? {
            return Err(SearchError::Checkpoint);
        }
        self.execute_missing().map(|()| None)
    }

    /// The first step of a round, by all workers or by this one. Partitions whose successors find no room wait for the next round; the
    /// first one with successors never waits.
    fn expand(&mut self, quotas: &[usize; PARTITIONS], is_shared: bool) {
        let report = &self.report;
        let is_wanted = |judgement: &Judgement| report.wants(judgement);
        let round = round(self.search, self.stepper.known(), &self.budgets, self.bound, &is_wanted);
        let partitions = &mut self.partitions;
        if is_shared {
            partitions.par_iter_mut().zip(quotas).for_each(|(partition, quota)| partition.expand(round, *quota));
        } else {
            partitions.iter_mut().zip(quotas).for_each(|(partition, quota)| partition.expand(round, *quota));
        }
        let mut room = WAVE_BYTES;
        for partition in partitions {
            if partition.cost() > room && room < WAVE_BYTES {
                partition.take_back();
            }
            room = room.saturating_sub(partition.cost());
        }
    }

    /// The other two steps.
    fn enter(&mut self, is_shared: bool) {
        let report = &self.report;
        let is_wanted = |judgement: &Judgement| report.wants(judgement);
        let round = round(self.search, self.stepper.known(), &self.budgets, self.bound, &is_wanted);
        let (partitions, shards) = (&mut self.partitions, &mut self.shards);
        if is_shared {
            shards.par_iter_mut().enumerate().for_each(|(index, shard)| shard.admit(index, round.bound, partitions));
            partitions.par_iter_mut().enumerate().for_each(|(index, partition)| partition.enter(round, index, shards));
        } else {
            shards.iter_mut().enumerate().for_each(|(index, shard)| shard.admit(index, round.bound, partitions));
            partitions.iter_mut().enumerate().for_each(|(index, partition)| partition.enter(round, index, shards));
        }
    }

    /// Judges the states that the workers could not judge; returns the end if there are enough violations. Those of a round come in the
    /// order of their depth; a stop leaves those that were judged until then.
    fn note(&mut self) -> Result<Option<EndCondition>, SearchError> {
        let (mut bad, mut stopped) = (Vec::new(), None);
        for (partition, note) in self.partitions.iter().flat_map(|it| it.notes.iter().map(move |note| (it, note))) {
            let judged = judge_note(self.stepper, note);
            if judged.is_bad() {
                bad.push((partition.depth_of(note), partition, note, judged.judgements));
            } else {
                for (_, judgement) in judged.judgements {
                    match judgement.severity() {
                        Severity::Witness(property) => self.report.witness(property),
                        Severity::Violation => unreachable!("they are kept for later"),
                    }
                }
            }
            stopped = judged.stopped;
            if stopped.is_some() {
                break;
            }
        }
        bad.sort_by_key(|(depth, ..)| *depth);
        for (_, partition, note, judgements) in bad {
            if judgements.iter().any(|(node, judgement)| self.report.is_news(*node, judgement)) {
                let (start, path) = partition.path_of(note);
                let start = &self.search.starts[start as usize];
                if self.search.note(&mut self.report, start, &path, judgements) {
                    return Ok(Some(EndCondition::Violation));
                }
            }
        }
        stopped.map_or(Ok(None), |stopped| Err(stopped.into()))
    }

    /// Gives partitions without work half of the states of the richest one.
    fn even_out(&mut self) {
        let mut scratch = PackedBatch::default();
        for poor in 0..PARTITIONS {
            if !self.partitions[poor].pending.is_empty() {
                continue;
            }
            let rich =
                (0..PARTITIONS).rev().max_by_key(|partition| self.partitions[*partition].pending.len()).unwrap_or(poor);
            let len = self.partitions[rich].pending.len();
            if len < RICH {
                return;
            }
            let [rich, poor] =
                self.partitions.get_disjoint_mut([rich, poor]).expect("an empty partition is not the richest");
            for _ in 0..(len / 2).min(ROUND as usize / PARTITIONS) {
                rich.pending.give(&mut poor.pending, &mut scratch);
            }
        }
    }

    fn progress(&self) -> Progress {
        let counts = Counts {
            global_states: Some(self.states()),
            transitions: Some(self.partitions.iter().map(|partition| partition.transitions).sum()),
            system_states: Some(self.shards.iter().map(|shard| shard.system_states.len()).sum()),
            ..Counts::default()
        };
        let partitions: u64 = self.partitions.iter().map(Partition::bytes).sum();
        let shards: u64 = self.shards.iter().map(VisitedShard::bytes).sum();
        let missing = (self.missing.capacity() * size_of::<(LocalStateId, Trigger)>()) as u64;
        Progress {
            counts,
            steps: 0,
            depth: self.partitions.iter().map(|partition| partition.depth).max().unwrap_or(0),
            queue: self.partitions.iter().map(|partition| partition.pending.len() as u64).sum(),
            bytes: partitions + shards + missing + self.search.lts.counts().bytes,
        }
    }
}

/// The judgements on a state that workers could not judge.
fn judge_note(stepper: &mut Stepper<'_>, note: &Note) -> Judged {
    let own = Judged::of_node(note.node, stepper.state(note.next).protocol.judgements.iter());
    let together = match note.classes.is_empty() {
        true => own,
        false => own.and_tuple(stepper, &note.classes),
    };
    together.and(|| match &note.end {
        Some((locals, crashed)) => stepper.judge_end(locals, crashed),
        None => Ok(None),
    })
}

/// The context of a round.
fn round<'w>(
    search: &Search<'_>,
    known: &'w LtsCache,
    budgets: &'w Budgets,
    bound: u32,
    is_wanted: &'w (dyn Fn(&Judgement) -> bool + Sync),
) -> RoundContext<'w> {
    let crashes_max = search.bounds.deadlock.then_some(search.lts.scenario().faults.crashes);
    let has_quorums = (0..budgets.nodes() as NodeId).any(|node| known.takes_quorums(node));
    RoundContext { known, budgets, bound, is_wanted, has_quorums, crashes_max }
}
