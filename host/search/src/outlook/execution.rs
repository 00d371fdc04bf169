//! Whether one execution breaks a promise in a given way, without the complete graph.

use host_model::contract::fingerprint::Fingerprint;
use host_model::lts::{Lts, Promise, Step, Stepper};
use host_model::trace::start::Start;
use rustc_hash::FxHashMap;

use crate::global::cursor::GlobalCursor;
use crate::graph;
use crate::kernel::rules::Rules;
use crate::kernel::{BreachClass, Monitor, Progress, Search, SearchBounds, SearchError};
use crate::liveness::{Recorded, Recorder, Watch, is_fair_lasso, is_stuck, refusal};
use crate::outlook::question::Question;
use crate::outlook::{Outlook, is_owed, stop};

/// An execution that may break a promise.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'e> {
    /// Its start state.
    pub start: &'e Start,
    /// Its events.
    pub path: &'e [Step],
    /// The number of events at the end that repeat for ever; none if the execution ends.
    pub cycle: usize,
}

/// The proof that an execution breaks a promise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Whether the last event is a critical step: before it the promise can still be kept.
    pub is_critical: bool,
    /// Events from the state before the critical step to one where the promise is kept, as few as possible.
    pub sibling: Vec<Step>,
    /// For a stuck state or a lasso: whether it is dead as well, in all states of the cycle. Then the promise was broken before.
    pub is_dead: bool,
}

/// Judges executions of a system by one promise.
pub struct Judge<'s> {
    search: Search<'s>,
    index: usize,
    promise: Promise,
    rules: Rules,
    /// The outlooks of states in which it is not kept.
    outlooks: FxHashMap<Fingerprint, Outlook>,
    work: u64,
}

impl<'s> Judge<'s> {
    /// A judge of executions in this local transition system; none if there is no such promise.
    ///
    /// # Errors
    ///
    /// Promises are not decided in this scenario; a lower-case phrase.
    pub fn new(
        lts: &'s Lts<'s>,
        promise: Promise,
        rules: Rules,
        monitor: &'s dyn Monitor,
    ) -> Result<Option<Self>, &'static str> {
        if let Some(why) = refusal(lts.scenario()) {
            return Err(why);
        }
        let bounds = SearchBounds { depth: Some(1), violations: Some(u64::MAX), ..SearchBounds::default() };
        let search = Search { lts, starts: &[], bounds, monitor, collect_system_states: false };
        let index = lts.promises().iter().position(|other| *other == promise);
        Ok(index.map(|index| Self { search, index, promise, rules, outlooks: FxHashMap::default(), work: 0 }))
    }

    /// Steps and questions so far.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// The proof that an execution breaks the promise in this way; none if none was found. Independent of the search's bounds.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance, or has to stop.
    pub fn judge(
        &mut self,
        stepper: &mut Stepper<'_>,
        class: BreachClass,
        execution: Execution<'_>,
    ) -> Result<Option<Proof>, SearchError> {
        let Execution { start, path, cycle } = execution;
        self.work += path.len() as u64;
        let mut cursor = GlobalCursor::new(stepper, start, &SearchBounds::default());
        match class {
            BreachClass::Dead => self.dead(stepper, &mut cursor, path),
            BreachClass::Stuck => {
                cursor.go_to(stepper, path)?;
                self.stuck(stepper, &cursor)
            }
            BreachClass::Lasso => {
                let (prefix, cycle) = path.split_at(path.len() - cycle);
                cursor.go_to(stepper, prefix)?;
                cursor.settle();
                self.lasso(stepper, &mut cursor, cycle)
            }
        }
    }

    fn dead(
        &mut self,
        stepper: &mut Stepper<'_>,
        cursor: &mut GlobalCursor,
        path: &[Step],
    ) -> Result<Option<Proof>, SearchError> {
        cursor.go_to(stepper, path)?;
        if self.outlook(stepper, cursor)? != Outlook::Dead {
            return Ok(None);
        }
        let Some((_, before)) = path.split_last() else { return Ok(Some(Proof::default())) };
        cursor.go_to(stepper, before)?;
        Ok(Some(match self.outlook(stepper, cursor)? {
            Outlook::Alive(sibling) => Proof { is_critical: true, sibling, is_dead: false },
            Outlook::Dead | Outlook::Open => Proof::default(),
        }))
    }

    fn stuck(&mut self, stepper: &mut Stepper<'_>, cursor: &GlobalCursor) -> Result<Option<Proof>, SearchError> {
        if !is_owed(stepper, cursor.locals(), self.promise)? {
            return Ok(None);
        }
        let around = self.around(&[cursor.as_start()])?;
        if !is_stuck(&around.graph, self.index, 0) {
            return Ok(None);
        }
        let is_dead = self.outlook(stepper, cursor)? == Outlook::Dead;
        Ok(Some(Proof { is_dead, ..Proof::default() }))
    }

    fn lasso(
        &mut self,
        stepper: &mut Stepper<'_>,
        cursor: &mut GlobalCursor,
        cycle: &[Step],
    ) -> Result<Option<Proof>, SearchError> {
        // The states of the cycle, each once, and the sequence in which it visits them.
        let (mut places, mut states, mut numbers) = (Vec::new(), Vec::new(), FxHashMap::default());
        for step in 0..cycle.len() {
            cursor.go_to(stepper, &cycle[..step])?;
            if !is_owed(stepper, cursor.locals(), self.promise)? {
                return Ok(None);
            }
            let number = *numbers.entry(cursor.fingerprint()).or_insert_with(|| {
                states.push(cursor.as_start());
                states.len() as u32 - 1
            });
            places.push(number);
        }
        let around = self.around(&states)?;
        let edges: Option<Vec<_>> = places.iter().zip(cycle).map(|(from, step)| around.edge(*from, *step)).collect();
        let Some(edges) = edges else { return Ok(None) };
        let watch = &mut Watch::new(self.search.monitor, Progress::default());
        if !is_fair_lasso(&around.graph, self.index, self.rules, &edges, watch).map_err(stop)? {
            return Ok(None);
        }
        for step in 0..cycle.len() {
            cursor.go_to(stepper, &cycle[..step])?;
            if self.outlook(stepper, cursor)? != Outlook::Dead {
                return Ok(Some(Proof::default()));
            }
        }
        Ok(Some(Proof { is_dead: true, ..Proof::default() }))
    }

    /// Records these states, which must differ, with all events that are possible in them.
    fn around(&mut self, states: &[Start]) -> Result<Recorded, SearchError> {
        let Search { lts, bounds, monitor, .. } = self.search;
        let search = Search { lts, starts: states, bounds, monitor, collect_system_states: false };
        let mut recorder = Recorder::new(lts);
        let report = graph::explore(&search, &mut recorder)?;
        if report.end.is_external() {
            return Err(stop(report.end).into());
        }
        self.work += report.counts.transitions.unwrap_or(0);
        Ok(recorder.finish())
    }

    fn outlook(&mut self, stepper: &mut Stepper<'_>, cursor: &GlobalCursor) -> Result<Outlook, SearchError> {
        if !is_owed(stepper, cursor.locals(), self.promise)? {
            return Ok(Outlook::Alive(Vec::new()));
        }
        if let Some(outlook) = self.outlooks.get(&cursor.fingerprint()) {
            return Ok(outlook.clone());
        }
        let Self { search, index, promise, rules, .. } = self;
        let progress = &Progress::default();
        let question = Question { search, progress, index: *index, promise: *promise, rules: *rules };
        let (outlook, work) = question.ask(stepper, &cursor.as_start())?;
        self.work += work;
        self.outlooks.insert(cursor.fingerprint(), outlook.clone());
        Ok(outlook)
    }
}
