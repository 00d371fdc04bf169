//! Random walks.

use std::ops::Range;

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{LocalKind, NodeId};
use host_model::lts::{LocalStateId, Outcome, Step, Stepper, Trigger};
use host_model::trace::start::Start;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rustc_hash::FxHashSet;

use crate::global::cursor::Cursor;
use crate::global::judge::judge_start;
use crate::kernel::weights::Weights;
use crate::kernel::{Counts, End, Progress, Report, Search, SearchError, Ticks, or_end};

/// How many walks there are unless [`Limits::walks`](crate::kernel::Limits::walks) says otherwise.
pub const WALKS_DEFAULT: u64 = 1_000;

/// How many events a walk has at most unless [`Limits::depth`](crate::kernel::Limits::depth) says otherwise.
pub const LENGTH_DEFAULT: u32 = 1_000;

/// Walks of which each takes a step before one takes the next. Their handlers are executed together, so this is also
/// how much work there is for several workers; what is found does not depend on them.
const BATCH: u64 = 256;

/// Seeded random walks.
///
/// Guarantee: every reported violation is reachable.
/// Complete: no, and it never claims to be.
/// Explores: paths from a random start state, along events drawn with the weights of their kinds among all that are
/// possible, and outcomes drawn with the weights of their choices, until nothing can be drawn or the walk is long enough. Says how many walks
/// came to an end where nothing can happen, and which local states and outcomes of handlers they went through. Walks
/// take their steps in batches, so the violation reported is one of the shortest of its batch's walks. Memory: the
/// paths of a batch.
/// Honours: depth (the length of a walk) and local-event bounds, seed, number of walks, weights, the wish to find deadlocks, the monitor. Walk
/// number `i` depends on the seed and on `i` only, and is the same on every machine.
/// Source: Killian, Anderson, Jhala, Vahdat, "Life, death, and the critical transition: finding liveness bugs in
/// systems code" (MaceMC), NSDI 2007; differs in: walks look for violations of safety, and begin at the start.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    run_numbers(search, 0..search.limits.walks.unwrap_or(WALKS_DEFAULT))
}

/// [`run`] with the walks of these numbers only.
#[doc(hidden)]
pub fn run_numbers(search: &Search<'_>, mut numbers: Range<u64>) -> Result<Report, SearchError> {
    let mut stepper = Stepper::new(search.lts)?;
    let mut run = Run {
        search,
        report: Report::new(search.lts).collecting(&search.limits),
        weights: search.limits.weights.unwrap_or_default(),
        length: search.limits.depth.unwrap_or(LENGTH_DEFAULT),
        kinds: Vec::new(),
        walks: 0,
        ended: 0,
        has_enough: false,
        transitions: 0,
        local_states: FxHashSet::default(),
        outcomes: FxHashSet::default(),
        ticks: Ticks::default(),
        enabled: Vec::new(),
    };
    let mut end = or_end(run.judge_starts(&mut stepper))?;
    while end.is_none() && !numbers.is_empty() {
        let last = numbers.end.min(numbers.start + BATCH);
        end = or_end(run.walk_together(&mut stepper, numbers.start..last))?;
        numbers.start = last;
    }
    Ok(run.finish(end.unwrap_or(End::WalksDone)))
}

/// One walk.
struct Walk<'s> {
    start: &'s Start,
    cursor: Cursor,
    dice: ChaCha8Rng,
    /// What was drawn for the current step; none once the walk is over.
    drawn: Option<(NodeId, Trigger)>,
    /// Whether it has come to a violation.
    is_over: bool,
}

struct Run<'s> {
    search: &'s Search<'s>,
    report: Report,
    weights: Weights,
    length: u32,
    /// The kinds of the local events seen so far, by id.
    kinds: Vec<Option<LocalKind>>,
    walks: u64,
    /// Walks that came to where nothing can happen.
    ended: u64,
    /// Whether as many deadlocks were found as are asked for.
    has_enough: bool,
    transitions: u64,
    local_states: FxHashSet<LocalStateId>,
    outcomes: FxHashSet<(LocalStateId, Trigger, u32)>,
    ticks: Ticks,
    /// Kept to spare allocations.
    enabled: Vec<(NodeId, Trigger)>,
}

impl<'s> Run<'s> {
    /// A walk judges where it comes to, so start states are judged apart.
    fn judge_starts(&mut self, stepper: &mut Stepper<'_>) -> Result<Option<End>, SearchError> {
        for start in self.search.starts {
            let judgements = judge_start(self.search, stepper, start)?;
            if self.report.note(start, &[], judgements) {
                return Ok(Some(End::Violation));
            }
        }
        Ok(None)
    }

    /// Walks a batch to the end, step by step; returns why the search ended, if it did.
    fn walk_together(&mut self, stepper: &mut Stepper<'_>, numbers: Range<u64>) -> Result<Option<End>, SearchError> {
        let mut walks: Vec<Walk<'s>> = numbers.map(|number| self.begin(stepper, number)).collect();
        let mut pairs = Vec::new();
        while !walks.is_empty() {
            pairs.clear();
            for walk in &mut walks {
                walk.drawn = self.draw(stepper, walk)?;
                pairs.extend(walk.drawn.map(|(node, trigger)| (walk.cursor.locals()[node as usize], trigger)));
            }
            if self.has_enough {
                return Ok(Some(End::Violation));
            }
            stepper.prepare(&pairs)?;
            walks.retain(|walk| walk.drawn.is_some());
            for walk in &mut walks {
                if self.advance(stepper, walk)? {
                    return Ok(Some(End::Violation));
                }
                if self.ticks.is_check_due(stepper)
                    && let Some(end) = self.search.monitor.check(&self.progress())
                {
                    return Ok(Some(end));
                }
            }
        }
        Ok(None)
    }

    fn begin(&mut self, stepper: &mut Stepper<'_>, number: u64) -> Walk<'s> {
        let mut dice = ChaCha8Rng::seed_from_u64(self.search.limits.seed.unwrap_or(0));
        dice.set_stream(number);
        let start = &self.search.starts[below(&mut dice, self.search.starts.len() as u64) as usize];
        self.walks += 1;
        self.local_states.extend(&start.locals);
        Walk { start, cursor: Cursor::new(stepper, start, &self.search.limits), dice, drawn: None, is_over: false }
    }

    /// Ends a walk that came to a deadlock. The start state was judged before.
    fn judge_end(&mut self, stepper: &mut Stepper<'_>, walk: &mut Walk<'_>) -> Result<(), SearchError> {
        if walk.cursor.depth() > 0
            && let Some(deadlock) = walk.cursor.judge_end(stepper)?
        {
            // After a crash of some nodes the others could still go on.
            walk.is_over = walk.cursor.is_end(stepper);
            self.ended += u64::from(walk.is_over);
            self.has_enough |= self.report.note(walk.start, walk.cursor.path(), vec![(None, deadlock)]);
        }
        Ok(())
    }

    /// Draws the next event of a walk; none if the walk is over.
    fn draw(
        &mut self,
        stepper: &mut Stepper<'_>,
        walk: &mut Walk<'_>,
    ) -> Result<Option<(NodeId, Trigger)>, SearchError> {
        if !walk.is_over && self.search.limits.deadlock {
            self.judge_end(stepper, walk)?;
        }
        if walk.is_over || walk.cursor.depth() >= self.length {
            return Ok(None);
        }
        let mut enabled = std::mem::take(&mut self.enabled);
        let is_cut = walk.cursor.enabled(stepper, &mut enabled)?;
        walk.cursor.leave_out_idle(stepper, &mut enabled)?;
        // Ids depend on what other walks came across before, contents do not.
        let deliveries = enabled.partition_point(|(_, trigger)| trigger.is_delivery());
        enabled[..deliveries].sort_unstable_by_key(|(_, trigger)| {
            let messages =
                trigger.message().into_iter().chain(stepper.known().taken_together(*trigger).iter().copied());
            let fingerprints = messages.map(|message| stepper.message(message).fingerprint);
            (trigger.quorum().is_some(), fingerprints.fold(0, Fingerprint::wrapping_add))
        });
        self.ended += u64::from(enabled.is_empty() && !is_cut);
        let weights: Vec<u64> = enabled.iter().map(|(_, trigger)| self.weight(stepper, *trigger)).collect();
        let drawn = draw(&mut walk.dice, weights.iter().copied()).map(|index| enabled[index]);
        self.enabled = enabled;
        Ok(drawn)
    }

    fn weight(&mut self, stepper: &Stepper<'_>, trigger: Trigger) -> u64 {
        if trigger.is_delivery() {
            return self.weights.deliver.into();
        }
        let Some(event) = trigger.local_event() else { return self.weights.fault.into() };
        let index = event.0 as usize;
        if self.kinds.len() <= index {
            self.kinds.resize(index + 1, None);
        }
        let kind = *self.kinds[index].get_or_insert_with(|| stepper.lts().local_event(event).kind);
        self.weights.of_local(kind).into()
    }

    /// Takes the step that was drawn; whether it ends in a violation.
    fn advance(&mut self, stepper: &mut Stepper<'_>, walk: &mut Walk<'_>) -> Result<bool, SearchError> {
        let (node, trigger) = walk.drawn.expect("only walks that go on advance");
        let before = walk.cursor.locals()[node as usize];
        let mut children = Vec::new();
        walk.cursor.children(stepper, (node, trigger), &mut children)?;
        let child = children[draw_outcome(&mut walk.dice, stepper.outcomes(children[0].row))];
        self.transitions += 1;
        self.local_states.insert(child.next);
        self.outcomes.insert((before, trigger, child.step.outcome));
        self.report.depth = self.report.depth.max(walk.cursor.depth() + 1);
        let judgements = walk.cursor.judge_child(stepper, &child)?;
        walk.cursor.descend(stepper, child.step, child.row);
        let path: &[Step] = walk.cursor.path();
        // A walk is over with its first violation: what follows shows the same one again.
        walk.is_over = judgements.iter().any(|(_, judgement)| judgement.is_bad());
        Ok(!judgements.is_empty() && self.report.note(walk.start, path, judgements))
    }

    fn progress(&self) -> Progress {
        let counts = Counts {
            transitions: Some(self.transitions),
            walks: Some(self.walks),
            walks_ended: Some(self.ended),
            outcomes: Some(self.outcomes.len() as u64),
            ..Counts::default()
        };
        let bytes = self.search.lts.counts().bytes;
        Progress { counts, depth: self.report.depth, queue: 0, bytes }
    }

    fn finish(mut self, end: End) -> Report {
        self.report.end = end;
        self.report.counts = self.progress().counts;
        self.report.count_local(self.search.lts);
        // Executing a handler shows all of its outcomes; what counts is where the walks went.
        self.report.counts.local_states = Some(self.local_states.len() as u64);
        self.report
    }
}

/// Draws an outcome, given all of a handler: each call of `choose` evenly, each of `choose-weighted` by its weights.
fn draw_outcome(dice: &mut ChaCha8Rng, outcomes: &[Outcome]) -> usize {
    let first = outcomes[0].likelihood;
    if outcomes.iter().all(|outcome| outcome.likelihood == first) {
        return below(dice, outcomes.len() as u64) as usize;
    }
    draw(dice, outcomes.iter().map(|outcome| outcome.likelihood.parts()))
        .expect("weights are not all 0, so some outcome is likely")
}

/// An index, with a probability in proportion to its weight; none if all weights are 0.
fn draw(dice: &mut ChaCha8Rng, mut weights: impl Iterator<Item = u64> + Clone) -> Option<usize> {
    let sum: u64 = weights.clone().sum();
    if sum == 0 {
        return None;
    }
    let mut left = below(dice, sum);
    weights.position(|weight| match left.checked_sub(weight) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    })
}

/// A number below `bound`, each with the same probability; 0 if there is only one.
///
/// Written here because the distributions of crates for random numbers change between versions, while the stream of
/// ChaCha does not.
fn below(dice: &mut ChaCha8Rng, bound: u64) -> u64 {
    if bound <= 1 {
        return 0;
    }
    // Lemire, "Fast random integer generation in an interval", 2019: the high half of a product, and another draw in
    // the few cases that would make some numbers likelier.
    let threshold = bound.wrapping_neg() % bound;
    loop {
        let product = u128::from(dice.next_u64()) * u128::from(bound);
        if product as u64 >= threshold {
            return (product >> 64) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn draws_are_even_and_do_not_depend_on_each_other() {
        let mut dice = ChaCha8Rng::seed_from_u64(7);
        let mut drawn = [0_u32; 6];
        for _ in 0..60_000 {
            drawn[below(&mut dice, 6) as usize] += 1;
        }
        // Ten thousand each; the standard deviation is 91.
        assert!(drawn.iter().all(|count| count.abs_diff(10_000) < 500), "{drawn:?}");
        let of_stream = |stream| {
            let mut dice = ChaCha8Rng::seed_from_u64(7);
            dice.set_stream(stream);
            (0..8).map(|_| below(&mut dice, 1 << 40)).collect::<Vec<_>>()
        };
        let streams: BTreeSet<Vec<u64>> = (0..100).map(of_stream).collect();
        assert_eq!(streams.len(), 100);
    }
}
