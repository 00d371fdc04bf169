//! Walks that end where a promise of progress is not kept: whether it still can be.

use host_model::contract::Judgement;
use host_model::lts::{Promise, Step, Stepper};
use host_model::trace::start::Start;

use crate::global::cursor::GlobalCursor;
use crate::kernel::rules::Rules;
use crate::kernel::{
    BreachClass, FoundBreach, FoundViolation, Progress, PromiseReport, Sampled, Search, SearchBounds, SearchError,
};
use crate::liveness;
use crate::outlook::question::Question;
use crate::outlook::turning_point::turning_point;
use crate::outlook::{self, Outlook, is_owed, stop};
use crate::strategy::random_walk::ground::{Ground, Walk};
use crate::strategy::random_walk::shorten::shortened;

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

    /// Takes in that a walk has ended; adds the promises that it has shown to be broken, each of them once, also those from before an error.
    pub(super) fn ended(
        &mut self,
        stepper: &mut Stepper<'_>,
        walk: &Walk,
        progress: &Progress,
        found: &mut Vec<FoundViolation>,
    ) -> Result<(), SearchError> {
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
            return Ok(());
        }
        let search = self.search;
        let mut ground = match self.ground.take() {
            Some(ground) => ground,
            None => Ground::new(search.lts, search.starts, search.bounds)?,
        };
        let path = ground.path(walk.number, walk.depth)?;
        let mut result = Ok(());
        for index in suspects {
            let mut way = Way::new(self, &mut ground, (index, walk), path.clone(), progress);
            // What is stopped in between has shown nothing.
            match result.and_then(|()| way.examine()) {
                Ok(finding) => {
                    found.extend(finding);
                    result = Ok(());
                }
                Err(error) => {
                    self.promises[index].1.unexamined += 1;
                    result = Err(error);
                }
            }
        }
        self.ground = Some(ground);
        result
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
    path: Vec<Step>,
    cursor: GlobalCursor,
    progress: &'w Progress,
}

impl<'w, 's> Way<'w, 's> {
    fn new(
        suspects: &'w mut Suspects<'s>,
        ground: &'w mut Ground<'s>,
        (index, walk): (usize, &Walk),
        path: Vec<Step>,
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
        let finding = if outlook == Outlook::Dead { Some(self.finding()?) } else { None };
        let sampled = &mut self.suspects.promises[self.index].1;
        match outlook {
            Outlook::Alive(_) => sampled.alive += 1,
            Outlook::Open => {
                sampled.open += 1;
                sampled.trials = TRIALS;
            }
            Outlook::Dead => sampled.dead += 1,
        }
        Ok(finding)
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
        let (outlook, work) = self.question().ask(&mut self.ground.stepper, &state)?;
        self.suspects.work += work;
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

    /// The question that is asked about each state.
    fn question(&self) -> Question<'w, 's> {
        let Self { suspects, index, promise, progress, .. } = self;
        Question { search: suspects.search, progress, index: *index, promise: *promise, rules: suspects.rules }
    }

    /// Cuts the path where the promise is dead; returns how it is kept from the state before, if that is known.
    fn cut(&mut self) -> Result<Option<Vec<Step>>, SearchError> {
        let (mut is_fault, recovery) = (Vec::with_capacity(self.path.len()), self.suspects.rules.recovery);
        for (depth, step) in self.path.iter().enumerate() {
            self.cursor.go_to(&mut self.ground.stepper, &self.path[..depth])?;
            let before = self.cursor.locals()[step.node as usize];
            is_fault.push(outlook::is_fault(&mut self.ground.stepper, before, *step, recovery)?);
        }
        let turn = turning_point(self.path.len(), |step| is_fault[step], |depth| self.outlook(depth))?;
        self.path.truncate(turn.dead_from);
        Ok(turn.way)
    }

    /// A short path to the step that takes the last chance, and what should have happened instead.
    fn finding(&mut self) -> Result<FoundViolation, SearchError> {
        self.cut()?;
        let question = self.question();
        let path = std::mem::take(&mut self.path);
        self.path = shortened(&mut self.ground.stepper, self.start, path, &mut |stepper, cursor| {
            if !is_owed(stepper, cursor.locals(), question.promise)? {
                return Ok((false, 0));
            }
            let (outlook, work) = question.ask(stepper, &cursor.as_start())?;
            Ok((outlook == Outlook::Dead, work))
        })?;
        let way = self.cut()?;
        let is_critical = way.is_some();
        let sibling = match way {
            Some(way) => self.shorter(way)?,
            None => Vec::new(),
        };
        let words = liveness::words(&mut self.ground.stepper, self.start, self.promise, &self.path)?;
        let message = words.expect("where a promise is dead it is not kept");
        let judgement = Judgement::Violated { property: self.promise.property, message };
        let breach =
            FoundBreach { class: BreachClass::Dead, rules: self.suspects.rules, cycle: 0, is_critical, sibling };
        let found = FoundViolation::new(self.start, &self.path, self.promise.node, judgement);
        Ok(found.broken(breach))
    }

    /// A shortest way from the state before the last step to where the promise is kept, if it is close by, or the one that is known.
    fn shorter(&mut self, known: Vec<Step>) -> Result<Vec<Step>, SearchError> {
        self.cursor.go_to(&mut self.ground.stepper, &self.path[..self.path.len() - 1])?;
        let (outlook, _) = self.question().look_around(&self.cursor.as_start())?;
        Ok(if let Outlook::Alive(way) = outlook { way } else { known })
    }
}

/// Steps of a walk between two questions whether to go on.
const STEPS_PER_CHECK: usize = 64;
