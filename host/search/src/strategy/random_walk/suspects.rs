//! Walks that end where a promise of progress is not kept: whether it still can be.

use host_model::contract::{Judgement, MachineError};
use host_model::lts::{Promise, Step, Stepper};
use host_model::trace::start::Start;
use rustc_hash::FxHashMap;

use crate::global::cursor::GlobalCursor;
use crate::kernel::rules::Rules;
use crate::kernel::{
    BreachClass, FoundBreach, FoundViolation, Progress, PromiseReport, Sampled, Search, SearchBounds, SearchError,
};
use crate::liveness;
use crate::outlook::certificate::certify;
use crate::outlook::nearby::look_around;
use crate::outlook::turning_point::turning_point;
use crate::outlook::{Outlook, is_owed, stop};
use crate::strategy::random_walk::ground::{Ground, Walk};

/// Walks tried from a state of which nothing could be proven.
pub const TRIALS: u64 = 40;

/// Steps of examinations that there may be besides as many as the walks themselves have taken.
const WORK_FREE: u64 = 2_000_000;

/// The promises of a search by walks.
pub(super) struct Suspects<'s> {
    search: &'s Search<'s>,
    rules: Rules,
    promises: Vec<(Promise, Sampled)>,
    /// Findings are paths in the local transition system of the search.
    ground: Option<Ground<'s>>,
    /// Steps of all examinations.
    work: u64,
    /// Bytes of the local transition system of the search beyond which nothing is examined: it is never given up.
    bytes_max: u64,
}

impl<'s> Suspects<'s> {
    /// No walk has ended yet. None if no promise is to be looked at.
    pub(super) fn new(search: &'s Search<'s>, bytes_max: u64) -> Option<Self> {
        let rules = liveness::decides(search.lts, search.bounds.promises)?;
        let promises = search.lts.promises().into_iter().map(|promise| (promise, Sampled::default()));
        Some(Self { search, rules, promises: promises.collect(), ground: None, work: 0, bytes_max })
    }

    /// Bytes of what is executed for examinations and not counted elsewhere.
    pub(super) fn bytes(&self) -> u64 {
        self.ground.as_ref().map_or(0, |ground| ground.stepper.known().own_bytes())
    }

    /// What became of the promises.
    pub(super) fn reports(&self) -> Vec<PromiseReport> {
        let report = |(promise, sampled): &(Promise, Sampled)| PromiseReport {
            promise: *promise,
            decided: None,
            sampled: Some(*sampled),
        };
        self.promises.iter().map(report).collect()
    }

    /// Takes in that a walk has ended; returns the promises that it has shown to be broken, each of them once.
    pub(super) fn ended(
        &mut self,
        stepper: &mut Stepper<'_>,
        walk: &Walk,
        progress: &Progress,
    ) -> Result<Vec<FoundViolation>, SearchError> {
        let is_full = self.search.lts.counts().bytes + self.bytes() > self.bytes_max
            || self.work > WORK_FREE + progress.counts.transitions.unwrap_or(0);
        let mut suspects = Vec::new();
        for (index, (promise, sampled)) in self.promises.iter_mut().enumerate() {
            sampled.walks += 1;
            if !is_owed(stepper, walk.cursor.locals(), *promise)? {
                continue;
            }
            sampled.owing += 1;
            if sampled.dead > 0 || is_full {
                sampled.unexamined += 1;
            } else {
                suspects.push(index);
            }
        }
        if suspects.is_empty() {
            return Ok(Vec::new());
        }
        let search = self.search;
        let mut ground = match self.ground.take() {
            Some(ground) => ground,
            None => Ground::new(search.lts, search.starts, search.bounds)?,
        };
        let path = ground.path(walk.number, walk.depth)?;
        let mut found = Vec::new();
        for index in suspects {
            let mut way = Way::new(self, &mut ground, (index, walk), &path, progress);
            found.extend(way.examine()?);
        }
        self.ground = Some(ground);
        Ok(found)
    }
}

/// The way of a walk, with a promise that is not kept at its end.
struct Way<'w, 's> {
    suspects: &'w mut Suspects<'s>,
    ground: &'w mut Ground<'s>,
    /// Which promise.
    index: usize,
    promise: Promise,
    number: u64,
    start: &'s Start,
    path: &'w [Step],
    cursor: GlobalCursor,
    progress: &'w Progress,
}

impl<'w, 's> Way<'w, 's> {
    fn new(
        suspects: &'w mut Suspects<'s>,
        ground: &'w mut Ground<'s>,
        (index, walk): (usize, &Walk),
        path: &'w [Step],
        progress: &'w Progress,
    ) -> Self {
        let start = &suspects.search.starts[walk.start];
        let cursor = GlobalCursor::new(&ground.stepper, start, &SearchBounds::default());
        let promise = suspects.promises[index].0;
        Self { suspects, ground, index, promise, number: walk.number, start, path, cursor, progress }
    }

    /// Finds out whether the promise is dead at the end, and since when.
    fn examine(&mut self) -> Result<Option<FoundViolation>, SearchError> {
        let outlook = self.outlook(self.path.len())?;
        let sampled = &mut self.suspects.promises[self.index].1;
        match outlook {
            Outlook::Alive(_) => sampled.alive += 1,
            Outlook::Open => {
                sampled.open += 1;
                sampled.trials = TRIALS;
            }
            Outlook::Dead => {
                sampled.dead += 1;
                return self.finding().map(Some);
            }
        }
        Ok(None)
    }

    /// The outlook after so many steps of the way.
    fn outlook(&mut self, depth: usize) -> Result<Outlook, SearchError> {
        self.cursor.go_to(&mut self.ground.stepper, &self.path[..depth])?;
        if !is_owed(&mut self.ground.stepper, self.cursor.locals(), self.promise)? {
            return Ok(Outlook::Alive(Vec::new()));
        }
        let state = self.cursor.as_start();
        if let Some(way) = self.trial(&state, (depth, 0))? {
            return Ok(Outlook::Alive(way));
        }
        let (search, rules) = (self.suspects.search, self.suspects.rules);
        let mut ask = |bytes: u64| {
            search.monitor.check(&Progress { bytes: self.progress.bytes.saturating_add(bytes), ..*self.progress })
        };
        let certified = certify(&mut self.ground.stepper, &state, (self.promise, rules.recovery), &mut ask)?;
        self.suspects.work += certified.work;
        if certified.is_dead {
            return Ok(Outlook::Dead);
        }
        let (outlook, steps) = look_around(search, &state, (self.index, rules), self.progress)?;
        self.suspects.work += steps;
        if outlook != Outlook::Open {
            return Ok(outlook);
        }
        for trial in 1..TRIALS {
            if let Some(way) = self.trial(&state, (depth, trial))? {
                return Ok(Outlook::Alive(way));
            }
        }
        Ok(Outlook::Open)
    }

    /// Walks on without faults from a state after so many steps, as far as a walk goes; returns the way to where the promise is kept.
    fn trial(&mut self, state: &Start, (depth, trial): (usize, u64)) -> Result<Option<Vec<Step>>, SearchError> {
        // Each with draws of its own: they depend on the walk, the place and the trial alone.
        let number = self.number.wrapping_mul(TRIALS).wrapping_add(trial) ^ (depth as u64) << 40;
        let (promise, progress, search) = (self.promise, self.progress, self.suspects.search);
        let mut walk = self.ground.try_from(state, number);
        let mut way = Vec::new();
        while let Some(step) = self.ground.step(&mut walk)? {
            way.push(step);
            self.suspects.work += 1;
            if !is_owed(&mut self.ground.stepper, walk.cursor.locals(), promise)? {
                return Ok(Some(way));
            }
            if way.len().is_multiple_of(STEPS_PER_CHECK)
                && let Some(end) = search.monitor.check(progress)
            {
                return Err(stop(end).into());
            }
        }
        Ok(None)
    }

    /// The step that takes the last chance, with the way there, and what should have happened instead.
    fn finding(&mut self) -> Result<FoundViolation, SearchError> {
        let path = self.path;
        let is_fault = |step: usize| {
            let trigger = path[step].trigger;
            !trigger.is_delivery() && trigger.local_event().is_none()
        };
        let turn = turning_point(path.len(), is_fault, |depth| self.outlook(depth))?;
        // The steps to the critical one are shortened, and it stays.
        let kept = turn.dead_from - usize::from(turn.way.is_some());
        let mut shortened = self.without_detours(kept)?;
        shortened.extend(&path[kept..turn.dead_from]);
        let words = liveness::words(&mut self.ground.stepper, self.start, self.promise, &shortened)?;
        let message = words.expect("where a promise is dead it is not kept");
        let judgement = Judgement::Violated { property: self.promise.property, message };
        let is_critical = turn.way.is_some();
        let sibling = match turn.way {
            Some(way) => self.shorter(kept, way)?,
            None => Vec::new(),
        };
        let breach = FoundBreach { class: BreachClass::Dead, cycle: 0, is_critical, sibling };
        let found = FoundViolation::new(self.start, &shortened, self.promise.node, judgement);
        Ok(FoundViolation { breach: Some(breach), ..found })
    }

    /// A shortest way after so many steps to where the promise is kept, if it is close by, or the one that is known.
    fn shorter(&mut self, depth: usize, known: Vec<Step>) -> Result<Vec<Step>, SearchError> {
        self.cursor.go_to(&mut self.ground.stepper, &self.path[..depth])?;
        let (state, rules) = (self.cursor.as_start(), self.suspects.rules);
        let (outlook, steps) = look_around(self.suspects.search, &state, (self.index, rules), self.progress)?;
        self.suspects.work += steps;
        Ok(if let Outlook::Alive(way) = outlook { way } else { known })
    }

    /// The first so many steps without those that lead from a global state back to itself.
    fn without_detours(&mut self, depth: usize) -> Result<Vec<Step>, MachineError> {
        let mut first: FxHashMap<u128, usize> = FxHashMap::default();
        let mut shortened: Vec<Step> = Vec::new();
        let mut states = Vec::new();
        for at in 0..=depth {
            self.cursor.go_to(&mut self.ground.stepper, &self.path[..at])?;
            let fingerprint = self.cursor.fingerprint();
            if let Some(known) = first.get(&fingerprint).copied() {
                for gone in states.drain(known + 1..) {
                    first.remove(&gone);
                }
                shortened.truncate(known);
            } else {
                first.insert(fingerprint, states.len());
                states.push(fingerprint);
            }
            shortened.extend(self.path[..depth].get(at));
        }
        Ok(shortened)
    }
}

/// Steps of a walk between two questions whether to go on.
const STEPS_PER_CHECK: usize = 64;
