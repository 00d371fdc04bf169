//! The broken promise that a part of the events must show: in the same way, by the same critical step.
//!
//! No single state shows it, so a part is executed to its end and judged as a whole. The cycle of a lasso must lead back to the state
//! where it begins. It may be entered at any of its states, so a shorter path to any of them will do.

use host_model::contract::{Judgement, MachineError};
use host_model::lts::{Lts, Promise, Step, Stepper};
use host_model::scenario::InFlight;
use host_model::trace::start::Start;
use host_model::trace::{self, BreachClass, BrokenPromise};
use host_search::kernel::rules::Rules;
use host_search::kernel::{Monitor, SearchError};
use host_search::outlook::execution::{Execution, Judge, Proof};

use crate::minimize::MinimizeError;
use crate::minimize::trial::{Broken, State, Trial, take_like};
use crate::traced_state::{Event, MatchRule, Tag, TracedState};

/// The parts of a critical event that must stay: otherwise the finding would be another one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Critical {
    tag: Tag,
    is_lost: bool,
    refusals: usize,
}

/// The promise that must be broken, and the way to break it.
pub(super) struct Promised<'l> {
    judge: Judge<'l>,
    class: BreachClass,
    /// The start of the whole trace, and the events that stay.
    start: Start,
    kept: Vec<Step>,
    /// The number of the first event of the cycle.
    cycle: Tag,
    /// The critical step, which ends the trace; none if it is unknown, or among the events that stay.
    critical: Option<Critical>,
    /// Whether the path must have no other findings, as the whole trace has none; unknown before the whole trace was tried.
    is_clean: Option<bool>,
    /// Whether the promise may be broken earlier in a more certain way, as in the whole trace; unknown before the whole trace was tried.
    may_be_dead: Option<bool>,
    entries: Vec<(State, Tag)>,
}

impl<'l> Promised<'l> {
    /// Splits a trace: its start, the events that stay, and the others.
    ///
    /// # Errors
    ///
    /// The promise does not exist, or a part of the trace could not be judged.
    pub(super) fn new(
        lts: &'l Lts<'l>,
        promise: &BrokenPromise,
        start: &Start,
        kept: &[Step],
        events: &[Event],
        monitor: &'l dyn Monitor,
    ) -> Result<Self, MinimizeError> {
        let cycle = promise.loop_start.map_or(Tag::MAX, |start| start as Tag);
        if kept.len() as Tag > cycle {
            return Err(MinimizeError::Promise("the events that are to stay reach into its loop"));
        }
        let wanted = of(lts, promise).ok_or(MinimizeError::Unconfirmed)?;
        let judge = Judge::new(lts, wanted, Rules::of(promise), monitor).map_err(MinimizeError::Promise)?;
        Ok(Self {
            judge: judge.ok_or(MinimizeError::Unconfirmed)?,
            class: promise.class,
            start: start.clone(),
            kept: kept.to_vec(),
            cycle,
            critical: events.last().filter(|_| promise.critical.is_some()).map(Critical::of),
            is_clean: None,
            may_be_dead: None,
            entries: Vec::new(),
        })
    }

    /// The work of the proofs so far.
    pub(super) fn work(&self) -> u64 {
        self.judge.work()
    }

    /// Lets the cycle of the best run be entered at any of its states.
    pub(super) fn enter_by(&mut self, best: &Broken) {
        self.entries.clone_from(&best.entries);
    }

    /// Executes these events as far as they can happen; none if they do not break the promise in the required way.
    pub(super) fn run(
        &mut self,
        stepper: &mut Stepper<'_>,
        base: &TracedState,
        events: &[Event],
        rule: MatchRule,
    ) -> Result<Option<Trial>, MachineError> {
        let mut run = Run { traced: base.clone(), events: Vec::new(), path: self.kept.clone(), is_clean: true };
        let (prefix, cycle) = events.split_at(events.partition_point(|event| event.tag < self.cycle));
        let mut first = self.entry(stepper, &run.traced);
        for event in prefix {
            if first.is_some() {
                break;
            }
            // The critical step must be the same event: the same message, or the one with the same origin.
            let is_critical = self.critical.as_ref().is_some_and(|critical| critical.tag == event.tag);
            let rule = if is_critical && rule == MatchRule::Sender { MatchRule::Origin } else { rule };
            if run.take(stepper, event, rule)? && self.class == BreachClass::Lasso {
                first = self.entry(stepper, &run.traced);
            }
        }
        let first = first.and_then(|tag| cycle.iter().position(|event| event.tag == tag)).unwrap_or(0);
        let before = run.events.len();
        let entry = state(stepper, &run.traced);
        let mut entries = Vec::new();
        for event in cycle[first..].iter().chain(&cycle[..first]) {
            let here = state(stepper, &run.traced);
            if run.take(stepper, event, rule)? {
                entries.push((here, event.tag));
            }
        }
        let closes =
            self.class != BreachClass::Lasso || run.events.len() > before && state(stepper, &run.traced) == entry;
        let is_as_wanted = self.critical.is_none() || run.events.last().map(Critical::of) == self.critical;
        let is_clean = *self.is_clean.get_or_insert(run.is_clean);
        if !closes || !is_as_wanted || is_clean && !run.is_clean {
            return Ok(None);
        }
        let cycle = run.events.len() - before;
        let execution = Execution { start: &self.start, path: &run.path, cycle };
        let proof = self.judge.judge(stepper, self.class, execution).map_err(machine_error)?;
        let is_wanted = |proof: &Proof| self.critical.is_none() || proof.is_critical;
        let Some(proof) = proof.filter(is_wanted) else { return Ok(None) };
        let may_be_dead = *self.may_be_dead.get_or_insert(proof.is_dead);
        if proof.is_dead && !may_be_dead {
            return Ok(None);
        }
        let path = run.path.split_off(self.kept.len());
        // The message is computed once, for the remaining trace.
        let judgement = Judgement::Violated { property: u32::MAX, message: String::new() };
        let broken = Some(Broken { cycle, proof, entries });
        Ok(Some(Trial { events: run.events, path, judgement, broken }))
    }

    /// The event of the cycle that continues from a state; none if the cycle does not contain the state.
    fn entry(&self, stepper: &Stepper<'_>, traced: &TracedState) -> Option<Tag> {
        if self.entries.is_empty() {
            return None;
        }
        let here = state(stepper, traced);
        self.entries.iter().find(|(state, _)| *state == here).map(|(_, tag)| *tag)
    }
}

impl Critical {
    fn of(event: &Event) -> Self {
        let Event { tag, action } = event;
        let refusals = action.choices.iter().filter(|choice| choice.is_refusal()).count();
        Self { tag: *tag, is_lost: action.is_lost, refusals }
    }
}

/// An execution in progress.
struct Run {
    traced: TracedState,
    events: Vec<Event>,
    path: Vec<Step>,
    /// Whether no state so far has a finding.
    is_clean: bool,
}

impl Run {
    /// Takes an event, if it can happen; returns whether it did.
    fn take(&mut self, stepper: &mut Stepper<'_>, event: &Event, rule: MatchRule) -> Result<bool, MachineError> {
        let Some((taken, step, before)) = take_like(stepper, &mut self.traced, event, rule)? else { return Ok(false) };
        self.events.push(taken);
        self.path.push(step);
        let next = &stepper.state(self.traced.locals()[step.node as usize]).protocol;
        let is_news = next.class != stepper.state(before).protocol.class || !next.judgements.is_empty();
        self.is_clean &= !is_news || !self.traced.judge(stepper)?.iter().any(Judgement::is_bad);
        Ok(true)
    }
}

/// The local states and the messages in flight.
fn state(stepper: &Stepper<'_>, traced: &TracedState) -> State {
    let messages = traced.in_flight().iter().map(|traced| traced.message).collect();
    (traced.locals().to_vec(), InFlight::of(&stepper.known().links(traced.locals()), messages))
}

/// The promise of a finding; none if there is no such property.
fn of(lts: &Lts<'_>, promise: &BrokenPromise) -> Option<Promise> {
    let named = (0..).zip(lts.properties()).find(|(_, property)| property.name == promise.name);
    named.map(|(property, _)| Promise { property, node: promise.node })
}

fn machine_error(error: SearchError) -> MachineError {
    match error {
        SearchError::Machine(error) => error,
        error => MachineError::Host(error.to_string()),
    }
}

/// The judgement at the end of a path that breaks a promise, and the finding.
///
/// # Errors
///
/// The host cannot provide an instance. The promise is kept at the end, which a search would have noticed.
pub(super) fn described(
    stepper: &mut Stepper<'_>,
    start: &Start,
    promise: &BrokenPromise,
    path: &[Step],
    best: &Trial,
) -> Result<(Judgement, Option<BrokenPromise>), MinimizeError> {
    let Promise { property, node } = of(stepper.lts(), promise).ok_or(MinimizeError::Unconfirmed)?;
    let broken = best.broken.as_ref().ok_or(MinimizeError::Unconfirmed)?;
    let mut locals = start.locals.clone();
    for step in path {
        let row = stepper.step(locals[step.node as usize], step.trigger)?;
        locals[step.node as usize] = stepper.outcomes(row)[step.outcome as usize].next;
    }
    let message = stepper.owing(property, node, &locals)?.ok_or(MinimizeError::Unconfirmed)?;
    let Proof { is_critical, sibling, .. } = &broken.proof;
    let mut instead = Vec::new();
    if *is_critical {
        let before = path.len() - 1;
        instead = trace::record(stepper, &start.initial, &[&path[..before], sibling].concat())?.split_off(before);
    }
    let found = BrokenPromise {
        message: message.clone(),
        loop_start: (broken.cycle > 0).then(|| path.len() - broken.cycle),
        critical: is_critical.then_some(path.len()),
        sibling: instead,
        ..promise.clone()
    };
    Ok((Judgement::Violated { property, message }, Some(found)))
}
