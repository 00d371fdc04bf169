//! Promises of progress that a state ahead can no longer keep.

use host_model::contract::{Judgement, MachineError};
use host_model::lts::{Promise, Step, Stepper};
use host_model::trace::start::{self, Start};
use host_search::kernel::rules::Rules;
use host_search::kernel::{
    BreachClass, FoundBreach, FoundViolation, Monitor, Progress, Search, SearchBounds, SearchError,
};
use host_search::liveness::{self, Checked, Verdict};
use host_search::outlook::certificate::certify;
use host_search::outlook::turning_point::turning_point;
use host_search::outlook::{self, Outlook, is_owed};

use crate::checker::round::{CheckError, Checker, Prediction, Round};
use crate::checker::stopping::Asking;

/// The number of states, per promise, for which a certificate is tried.
const CERTIFICATES: usize = 8;

impl Checker<'_> {
    /// Looks ahead from the state of a round without findings for states in which a promise of progress can no longer be kept: at most
    /// one prediction per promise, each proven. All messages in flight must be known: one that counts as lost may be the way back. If
    /// nodes are absent, or promises are ignored, there is no prediction.
    ///
    /// All states close by are explored, up to the bound of consequence prediction: a state is dead if no path leads from it to a kept
    /// promise or out of the explored states. If none is, a certificate is tried for some of the states without a known way back, which
    /// needs no exploration.
    ///
    /// # Errors
    ///
    /// As for a round.
    pub fn find_dead_ahead(&self, round: &mut Round) -> Result<(), CheckError> {
        let Some(rules) = liveness::decides(&self.lts, self.limits.promises) else { return Ok(()) };
        if !round.violated.is_empty() || round.is_cut || !round.predictions.is_empty() {
            return Ok(());
        }
        let mut stepper = Stepper::new(&self.lts)?;
        let start = start::adopt(&mut stepper, &round.beginning)?;
        let bounds = SearchBounds { states: Some(self.limits.states_max), ..SearchBounds::default() };
        let bounds = SearchBounds { violations: Some(u64::MAX), ..bounds };
        let monitor = Asking::new(self.stop).holding(self.limits.round_bytes_max);
        let starts = std::slice::from_ref(&start);
        let search = Search { lts: &self.lts, starts, bounds, monitor: &monitor, collect_system_states: false };
        let checked = liveness::check(&search, rules)?;
        round.work += checked.report.counts.transitions.unwrap_or(0);
        round.is_cut = checked.report.end.is_external() || checked.ended.is_some();
        let mut ahead = Ahead { stepper, start: &start, rules, monitor: &monitor, work: 0 };
        for (index, (promise, verdict)) in checked.promises.iter().enumerate() {
            let Some(verdict) = verdict else { continue };
            let found = match ahead.explored(&checked, *promise, verdict)? {
                None if verdict.unknown_states > 0 => ahead.certified(&checked, index, *promise)?,
                found => found,
            };
            if let Some(found) = found {
                let finding = found.finding(&mut ahead.stepper)?;
                let steps = host_model::trace::record(&mut ahead.stepper, &found.initial, &found.path)?;
                round.dead.push(Prediction { steps, finding, property: Some(promise.property), node: found.node });
            }
        }
        round.work += ahead.work;
        Ok(())
    }
}

/// The states ahead.
struct Ahead<'a, 'l> {
    stepper: Stepper<'l>,
    start: &'a Start,
    rules: Rules,
    monitor: &'a Asking<'a>,
    work: u64,
}

impl Ahead<'_, '_> {
    /// A dead state, proven by exploring all its successors, if there is one.
    fn explored(
        &mut self,
        checked: &Checked,
        promise: Promise,
        verdict: &Verdict,
    ) -> Result<Option<FoundViolation>, MachineError> {
        let mut breaches = checked.breaches(verdict).into_iter();
        let Some(breach) = breaches.find(|breach| breach.class == BreachClass::Dead) else { return Ok(None) };
        self.found(promise, &breach.prefix, breach.critical.map(|_| breach.sibling)).map(Some)
    }

    /// A state with a certificate among a few of those that owe the promise, the farthest first: a dead state stays dead. None after a
    /// request to stop.
    fn certified(
        &mut self,
        checked: &Checked,
        index: usize,
        promise: Promise,
    ) -> Result<Option<FoundViolation>, SearchError> {
        let graph = &checked.recorded.graph;
        let owing: Vec<u32> = (0..graph.expanded()).filter(|state| graph.owes(index, *state)).collect();
        let mut last = None;
        for part in (1..=CERTIFICATES).rev() {
            let Some(place) = (owing.len() * part / CERTIFICATES).checked_sub(1).filter(|place| last != Some(*place))
            else {
                continue;
            };
            last = Some(place);
            if self.monitor.check(&Progress::default()).is_some() {
                return Ok(None);
            }
            let path = checked.recorded.steps(&graph.path_to(owing[place]));
            if self.outlook(promise, &path)? == Outlook::Dead {
                return self.since(promise, path).map(Some);
            }
        }
        Ok(None)
    }

    /// The same state after the step by which it died, as far as that is known.
    fn since(&mut self, promise: Promise, mut path: Vec<Step>) -> Result<FoundViolation, SearchError> {
        let mut is_fault = Vec::with_capacity(path.len());
        for (depth, step) in path.iter().enumerate() {
            let before = self.after(&path[..depth])?.locals[step.node as usize];
            is_fault.push(outlook::is_fault(&mut self.stepper, before, *step, self.rules.recovery)?);
        }
        let turn = turning_point(path.len(), |step| is_fault[step], |depth| self.outlook(promise, &path[..depth]))?;
        path.truncate(turn.dead_from);
        Ok(self.found(promise, &path, turn.way)?)
    }

    /// The outlook of a state by a certificate.
    fn outlook(&mut self, promise: Promise, path: &[Step]) -> Result<Outlook, MachineError> {
        let state = self.after(path)?;
        if !is_owed(&mut self.stepper, &state.locals, promise)? {
            return Ok(Outlook::Alive(Vec::new()));
        }
        let certified = certify(&mut self.stepper, &state, promise, self.rules.recovery, &mut |_| None)?;
        self.work += certified.work;
        Ok(if certified.is_dead { Outlook::Dead } else { Outlook::Open })
    }

    /// The global state after a path.
    fn after(&mut self, path: &[Step]) -> Result<Start, MachineError> {
        let mut at =
            Start { locals: self.start.locals.clone(), in_flight: self.start.in_flight.clone(), ..Start::default() };
        for step in path {
            at.advance(&mut self.stepper, *step)?;
        }
        Ok(at)
    }

    /// A promise that is dead after a path, with an alternative to the last step that keeps it, if one is known.
    fn found(
        &mut self,
        promise: Promise,
        path: &[Step],
        instead: Option<Vec<Step>>,
    ) -> Result<FoundViolation, MachineError> {
        let locals = self.after(path)?.locals;
        let message = self.stepper.owing(promise.property, promise.node, &locals)?;
        let message = message.expect("where a promise is dead it is not kept");
        let judgement = Judgement::Violated { property: promise.property, message };
        let breach = FoundBreach {
            class: BreachClass::Dead,
            rules: self.rules,
            cycle: 0,
            is_critical: instead.is_some(),
            sibling: instead.unwrap_or_default(),
        };
        Ok(FoundViolation::new(self.start, path, promise.node, judgement).broken(breach))
    }
}
