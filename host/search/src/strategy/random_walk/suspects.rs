//! Walks that end where a promise of progress is not kept: can it still be kept?

use host_model::contract::Judgement;
use host_model::lts::{Promise, Step, Stepper};
use host_model::trace::start::Start;

use crate::global::cursor::GlobalCursor;
use crate::kernel::rules::Rules;
use crate::kernel::{
    BreachClass, FoundBreach, FoundViolation, Phase, Progress, PromiseReport, Sampled, Search, SearchBounds,
    SearchError, stopped_end,
};
use crate::liveness;
use crate::outlook::question::Question;
use crate::outlook::turning_point::turning_point;
use crate::outlook::{self, Outlook, is_owed, stop};
use crate::strategy::random_walk::ground::{Ground, Walk};
use crate::strategy::random_walk::shorten::shortened;

/// Walks tried from a state without a proof.
pub const TRIALS: u64 = 40;

/// Steps of examinations that are allowed in addition to as many steps as the walks themselves have taken.
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
    /// The size of the search's local transition system at which examinations end, in bytes: it is never dropped.
    bytes_max: u64,
}

impl<'s> Suspects<'s> {
    /// The promises before any walk has ended. None if no promise is to be examined.
    pub(super) fn new(search: &'s Search<'s>, bytes_max: u64) -> Option<Self> {
        let rules = liveness::decides(search.lts, search.bounds.promises)?;
        let promises = search.lts.promises().into_iter().map(|promise| (promise, Sampled::default()));
        Some(Self { search, rules, promises: promises.collect(), ground: None, work: 0, bytes_max })
    }

    /// Bytes of examinations that are not counted elsewhere.
    pub(super) fn bytes(&self) -> u64 {
        self.ground.as_ref().map_or(0, |ground| ground.stepper.known().own_bytes())
    }

    /// The results for the promises.
    pub(super) fn reports(&self) -> Vec<PromiseReport> {
        let report = |(promise, sampled): &(Promise, Sampled)| PromiseReport {
            promise: *promise,
            decided: None,
            sampled: Some(*sampled),
            met: None,
        };
        self.promises.iter().map(report).collect()
    }

    /// Takes in a walk that has ended; adds the promises that it has shown to be broken, each once, including those found before an error.
    /// A promise owed where no event is possible is dead by itself: it is reported whatever the work and the memory so far.
    pub(super) fn ended(
        &mut self,
        stepper: &mut Stepper<'_>,
        ended: Ended<'_>,
        progress: &Progress,
        found: &mut Vec<FoundViolation>,
    ) -> Result<(), SearchError> {
        let is_full = self.search.lts.counts().bytes + self.bytes() > self.bytes_max
            || self.work > WORK_FREE + progress.counts.transitions.unwrap_or(0);
        let mut suspects = Vec::new();
        for (index, (promise, sampled)) in self.promises.iter_mut().enumerate() {
            sampled.walks += 1;
            if !is_owed(stepper, ended.walk.cursor.locals(), *promise)? {
                continue;
            }
            sampled.owing += 1;
            if sampled.dead > 0 || (is_full && !ended.is_final) {
                sampled.unexamined += 1;
            } else {
                suspects.push(index);
            }
        }
        if suspects.is_empty() {
            return Ok(());
        }
        let monitor = self.search.monitor;
        monitor.enter(Phase::Examining);
        let result = self.examine(&suspects, ended, progress, found);
        monitor.enter(Phase::Exploring);
        result
    }

    /// Examines the promises that are owed at the end of a walk.
    fn examine(
        &mut self,
        suspects: &[usize],
        ended: Ended<'_>,
        progress: &Progress,
        found: &mut Vec<FoundViolation>,
    ) -> Result<(), SearchError> {
        let search = self.search;
        let mut ground = match self.ground.take() {
            Some(ground) => ground,
            None => Ground::new(search.lts, search.starts, search.bounds)?,
        };
        let path = ground.path(&ended.walk.way())?;
        let mut result = Ok(());
        for &index in suspects {
            let mut way = Way::new(self, &mut ground, index, ended.walk, path.clone(), progress);
            // An examination that was stopped before its proof has shown nothing.
            result = match result.and_then(|()| way.outlook_at_end(ended.is_final)) {
                Ok(outlook) => way.take_in(&outlook, found),
                Err(error) => {
                    self.promises[index].1.unexamined += 1;
                    Err(error)
                }
            };
        }
        self.ground = Some(ground);
        result
    }
}

/// A walk that has ended.
#[derive(Clone, Copy)]
pub(super) struct Ended<'w> {
    /// The walk.
    pub(super) walk: &'w Walk,
    /// Whether no event is possible there any more, not even a fault.
    pub(super) is_final: bool,
}

/// The path of a walk, with a promise that is not kept at its end.
struct Way<'w, 's> {
    suspects: &'w mut Suspects<'s>,
    ground: &'w mut Ground<'s>,
    /// The index of the promise.
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
        index: usize,
        walk: &Walk,
        path: Vec<Step>,
        progress: &'w Progress,
    ) -> Self {
        let start = &suspects.search.starts[walk.start];
        let cursor = GlobalCursor::new(&ground.stepper, start, &SearchBounds::default());
        let promise = suspects.promises[index].0;
        Self { suspects, ground, index, promise, number: walk.number, start, path, cursor, progress }
    }

    /// The outlook at the end.
    fn outlook_at_end(&mut self, is_final: bool) -> Result<Outlook, SearchError> {
        if is_final { Ok(Outlook::Dead) } else { self.outlook(self.path.len()) }
    }

    /// Takes in the outlook at the end; adds the finding if there is one, even if an error has kept it from being shortened.
    fn take_in(&mut self, outlook: &Outlook, found: &mut Vec<FoundViolation>) -> Result<(), SearchError> {
        let sampled = &mut self.suspects.promises[self.index].1;
        match outlook {
            Outlook::Alive(_) => sampled.alive += 1,
            Outlook::Open => {
                sampled.open += 1;
                sampled.trials = TRIALS;
            }
            Outlook::Dead => {
                sampled.dead += 1;
                let (sibling, result) = match self.make_short() {
                    Ok(sibling) => (sibling, Ok(())),
                    Err(error) => (None, Err(error)),
                };
                found.push(self.finding(sibling)?);
                return result;
            }
        }
        Ok(())
    }

    /// The outlook after this many steps of the path.
    fn outlook(&mut self, depth: usize) -> Result<Outlook, SearchError> {
        self.cursor.go_to(&mut self.ground.stepper, &self.path[..depth])?;
        if !is_owed(&mut self.ground.stepper, self.cursor.locals(), self.promise)? {
            return Ok(Outlook::Alive(Vec::new()));
        }
        let state = self.cursor.as_start();
        if let Some(way) = self.trial(&state, depth, 0)? {
            return Ok(Outlook::Alive(way));
        }
        let (outlook, work) = self.question().ask(&mut self.ground.stepper, &state)?;
        self.suspects.work += work;
        if outlook != Outlook::Open {
            return Ok(outlook);
        }
        for trial in 1..TRIALS {
            if let Some(way) = self.trial(&state, depth, trial)? {
                return Ok(Outlook::Alive(way));
            }
        }
        Ok(Outlook::Open)
    }

    /// Continues without faults from a state after this many steps, up to the length of a walk; returns the steps that keep the promise.
    fn trial(&mut self, state: &Start, depth: usize, trial: u64) -> Result<Option<Vec<Step>>, SearchError> {
        // Each trial has its own draws, which depend only on the walk, the place and the trial.
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

    /// The question to ask about each state.
    fn question(&self) -> Question<'w, 's> {
        let Self { suspects, index, promise, progress, .. } = self;
        Question { search: suspects.search, progress, index: *index, promise: *promise, rules: suspects.rules }
    }

    /// Cuts the path where the promise is dead; returns the steps that keep it from the state before, if they are known.
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

    /// Shortens the path up to the step after which the promise cannot be kept, if that is known; returns steps that would have kept it.
    /// After an error the path also leads to a state where the promise is dead.
    fn make_short(&mut self) -> Result<Option<Vec<Step>>, SearchError> {
        self.cut()?;
        let question = self.question();
        let path = self.path.clone();
        self.path = shortened(&mut self.ground.stepper, self.start, path, &mut |stepper, cursor| {
            if !is_owed(stepper, cursor.locals(), question.promise)? {
                return Ok((false, 0));
            }
            let (outlook, work) = question.ask(stepper, &cursor.as_start())?;
            Ok((outlook == Outlook::Dead, work))
        })?;
        self.cut()?.map(|way| self.shorter(way)).transpose()
    }

    /// The finding at the end of the path, in the plugin's words; without words after a stop.
    fn finding(&mut self, sibling: Option<Vec<Step>>) -> Result<FoundViolation, SearchError> {
        let message = match liveness::words(&mut self.ground.stepper, self.start, self.promise, &self.path) {
            Ok(words) => words.expect("where a promise is dead it is not kept"),
            Err(error) => {
                stopped_end(error)?;
                String::new()
            }
        };
        let judgement = Judgement::Violated { property: self.promise.property, message };
        let is_critical = sibling.is_some();
        let sibling = sibling.unwrap_or_default();
        let breach =
            FoundBreach { class: BreachClass::Dead, rules: self.suspects.rules, cycle: 0, is_critical, sibling };
        let found = FoundViolation::new(self.start, &self.path, self.promise.node, judgement);
        Ok(found.broken(breach))
    }

    /// A shortest path from the state before the last step to where the promise is kept, if that is close by, otherwise the known path.
    fn shorter(&mut self, known: Vec<Step>) -> Result<Vec<Step>, SearchError> {
        self.cursor.go_to(&mut self.ground.stepper, &self.path[..self.path.len() - 1])?;
        let (outlook, _) = self.question().look_around(&self.cursor.as_start())?;
        Ok(if let Outlook::Alive(way) = outlook { way } else { known })
    }
}

/// Steps of a walk between two polls.
const STEPS_PER_CHECK: usize = 64;
