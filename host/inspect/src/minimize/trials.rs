//! Executes parts of a trace.

use std::ops::Range;

use host_model::contract::{Judgement, MachineError};
use host_model::lts::{Step, Stepper};
use host_search::kernel::ViolationKind;

use crate::minimize::promise::Promised;
use crate::minimize::target::Target;
use crate::minimize::trial::{Trial, take_like};
use crate::traced_state::{Event, MatchRule, TracedState};

/// The goal of an execution of a part of the events.
pub(super) enum Goal<'l> {
    /// A final state, and the kind of its finding if that matters.
    State(Target, Option<ViolationKind>),
    /// A broken promise of progress.
    Promise(Box<Promised<'l>>),
}

/// Executes parts of a trace.
pub(super) struct Trials<'s, 'l> {
    pub(super) stepper: &'s mut Stepper<'l>,
    /// The state after the events that stay.
    base: TracedState,
    pub(super) goal: Goal<'s>,
    work: u64,
    work_max: u64,
    pub(super) trials: u64,
}

impl<'s, 'l> Trials<'s, 'l> {
    /// No part has been tried yet.
    pub(super) fn new(stepper: &'s mut Stepper<'l>, base: TracedState, goal: Goal<'s>, work_max: u64) -> Self {
        Self { stepper, base, goal, work: 0, work_max, trials: 0 }
    }

    /// Whether the bound on the work is reached.
    pub(super) fn is_exhausted(&self) -> bool {
        let judged = if let Goal::Promise(promised) = &self.goal { promised.work() } else { 0 };
        self.work + judged >= self.work_max
    }

    /// The parts of an execution inside which events may be reordered.
    pub(super) fn parts(&self, run: &Trial) -> Vec<Range<usize>> {
        let all = run.events.len();
        run.broken.as_ref().map_or_else(|| std::iter::once(0..all).collect(), |broken| broken.parts(all))
    }

    /// Executes these events as far as they can happen, until they reach the goal; none if they do not.
    pub(super) fn run(&mut self, events: &[Event], rule: MatchRule) -> Result<Option<Trial>, MachineError> {
        self.trials += 1;
        match &mut self.goal {
            Goal::Promise(promised) => {
                self.work += events.len() as u64;
                promised.run(self.stepper, &self.base, events, rule)
            }
            Goal::State(..) => self.run_to_state(events, rule),
        }
    }

    fn run_to_state(&mut self, events: &[Event], rule: MatchRule) -> Result<Option<Trial>, MachineError> {
        let mut traced = self.base.clone();
        let trial = |events, path, judgement| Trial { events, path, judgement, broken: None };
        if let Some(judgement) = self.hit(&traced)? {
            return Ok(Some(trial(Vec::new(), Vec::new(), judgement)));
        }
        let mut run: (Vec<Event>, Vec<Step>) = Default::default();
        for event in events {
            self.work += 1;
            let Some((taken, step, before)) = take_like(self.stepper, &mut traced, event, rule)? else { continue };
            let after = traced.locals()[step.node as usize];
            run.0.push(taken);
            run.1.push(step);
            let (before, next) = (self.stepper.state(before).protocol.class, self.stepper.state(after));
            let is_news = next.protocol.class != before || !next.protocol.judgements.is_empty();
            let is_news = is_news || matches!(self.goal, Goal::State(Target::Deadlock, _));
            if is_news && let Some(judgement) = self.hit(&traced)? {
                return Ok(Some(trial(run.0, run.1, judgement)));
            }
        }
        Ok(None)
    }

    fn hit(&mut self, traced: &TracedState) -> Result<Option<Judgement>, MachineError> {
        let Goal::State(target, kind) = &self.goal else { return Ok(None) };
        let judgements = match target {
            Target::Deadlock => traced.judge_end(self.stepper)?.into_iter().collect(),
            _ => traced.judge(self.stepper)?,
        };
        let is_of_kind = |it: &Judgement| kind.as_ref().is_none_or(|kind| ViolationKind::of(it) == *kind);
        Ok(judgements.into_iter().find(|judgement| target.is_hit(judgement) && is_of_kind(judgement)))
    }

    /// Replaces the best run if these events make a shorter one.
    pub(super) fn improve(&mut self, events: &[Event], best: &mut Trial) -> Result<bool, MachineError> {
        for rule in MatchRule::ALL {
            if let Some(run) = self.run(events, rule)?
                && run.events.len() < best.events.len()
            {
                self.replace(best, run);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Replaces the best run if these events are all possible and reach the goal.
    pub(super) fn accept(&mut self, events: &[Event], best: &mut Trial) -> Result<bool, MachineError> {
        match self.run(events, MatchRule::Content)? {
            Some(run) if run.events.len() <= best.events.len() => {
                self.replace(best, run);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Makes a run the best one.
    pub(super) fn replace(&mut self, best: &mut Trial, run: Trial) {
        *best = run;
        if let (Goal::Promise(promised), Some(broken)) = (&mut self.goal, &best.broken) {
            promised.enter_by(broken);
        }
    }
}
