//! From a counterexample to a short one.
//!
//! Delta debugging (Zeller, Hildebrandt, "Simplifying and isolating failure-inducing input", TSE 2002) over the events
//! of a trace. A part of the events is rarely an execution: what is received must have been sent. So a trial takes the
//! events one after the other and leaves out those that cannot happen, which is the largest part that is an execution in
//! this order. Local events are tried first, since all that they cause goes with them (as external inputs in Scott et
//! al., "Minimizing faulty executions of distributed systems", NSDI 2016).
//!
//! A trial goes on where a message says something else because an earlier event is gone, such as a lower ballot: an event
//! stands for a message with the same content, or one that the same event has sent, or at last any of the same sender
//! ([`MatchRule`]).

use host_model::contract::{FaultKind, Judgement, MachineError};
use host_model::lts::{LocalStateId, Lts, Step, Stepper};
use host_model::trace::start::{self, Start, StartError};
use host_model::trace::{self, Finding, Trace, TraceStep};

use crate::reorder;
use crate::traced_state::{Action, Cause, Event, MatchRule, Tag, TracedState};

/// Events that are looked up at most, unless the caller says otherwise: some seconds.
pub const WORK_MAX: u64 = 20_000_000;

/// Rounds over everything at most; each but the last one makes the trace shorter.
const ROUNDS_MAX: usize = 64;

/// Traces up to this length are tried without every pair of events.
const PAIRS_LENGTH_MAX: usize = 80;

/// Traces up to this length are tried without every three events.
const TRIPLES_LENGTH_MAX: usize = 30;

/// How much may be done, and what must stay.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// So many events at the beginning stay as they are: a prefix that the user chose.
    pub keep: usize,
    /// Events that are looked up at most.
    pub work_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { keep: 0, work_max: WORK_MAX }
    }
}

/// Result of minimising.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimized {
    /// The events, with what they send; the states are for a replay to fill in.
    pub steps: Vec<TraceStep>,
    /// The judgement at the end: the same property, perhaps in other words.
    pub judgement: Judgement,
    /// How often a part of the events was executed.
    pub trials: u64,
    /// How often two events that follow each other are of different nodes, before and after.
    pub switches: (usize, usize),
    /// Whether the bound on the work ended it early.
    pub is_cut: bool,
}

/// Why a trace cannot be minimised.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MinimizeError {
    /// It shows nothing at its end.
    #[error("it shows no violation at its end, so every part of it would do")]
    NoFinding,
    /// It shows a broken promise of progress.
    #[error(
        "it shows that a promise of progress is broken, which fewer of its steps need not do; `host run --algo bdfs` finds a shortest \
         way"
    )]
    Promise,
    /// It shows something else than it says.
    #[error("its steps can happen, but do not lead to what it says that it shows")]
    Unconfirmed,
    /// It does not begin or cannot happen.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The host itself cannot go on.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// The end that a part of the events must lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// The property is violated, or reached if it is a `sometimes`.
    Property(u32),
    /// The property cannot be evaluated.
    Broken(u32),
    /// A node is stuck in a fault of this kind.
    Fault(FaultKind),
    /// Nothing can happen any more, and some node is not done.
    Deadlock,
}

impl Target {
    fn of(lts: &Lts<'_>, finding: &Finding) -> Option<Self> {
        let index = |wanted: &String| {
            let mut named = (0..).zip(lts.properties()).filter(|(_, property)| property.name == *wanted);
            named.next().map(|(index, _)| index)
        };
        match finding {
            Finding::Property { name, .. } => index(name).map(Self::Property),
            Finding::Broken { property, .. } => index(property).map(Self::Broken),
            Finding::Fault { fault, .. } => Some(Self::Fault(fault.kind)),
            Finding::Deadlock { .. } => Some(Self::Deadlock),
            Finding::Promise(_) => None,
        }
    }

    fn is_hit(self, judgement: &Judgement) -> bool {
        match (self, judgement) {
            (Self::Property(wanted), Judgement::Violated { property, .. } | Judgement::Witnessed { property })
            | (Self::Broken(wanted), Judgement::Broken { property, .. }) => wanted == *property,
            (Self::Fault(wanted), Judgement::Fault(fault)) => wanted == fault.kind,
            (Self::Deadlock, Judgement::Deadlock { .. }) => true,
            _ => false,
        }
    }
}

/// Where leaving out begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// With the last events, which have caused the least.
    End,
    /// With the first events, whatever happened before the mistake.
    Beginning,
}

/// An execution that ends in what is looked for.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) events: Vec<Event>,
    pub(crate) path: Vec<Step>,
    judgement: Judgement,
}

/// Executes parts of a trace.
pub(crate) struct Trials<'s, 'l> {
    stepper: &'s mut Stepper<'l>,
    /// The state after the events that stay.
    base: TracedState,
    target: Target,
    work: u64,
    work_max: u64,
    trials: u64,
}

/// A shorter trace that ends in the same finding, if there is one.
///
/// # Errors
///
/// The trace has no finding, or cannot happen. A fault of the host.
pub fn minimize(stepper: &mut Stepper<'_>, trace: &Trace, options: Options) -> Result<Minimized, MinimizeError> {
    let lts = stepper.lts();
    let finding = trace.finding.as_ref().ok_or(MinimizeError::NoFinding)?;
    if matches!(finding, Finding::Promise(_)) {
        return Err(MinimizeError::Promise);
    }
    let target = Target::of(lts, finding).ok_or(MinimizeError::Unconfirmed)?;
    let start = start::begin(stepper, trace)?;
    let mut base = TracedState::new(stepper, &start);
    let keep = options.keep.min(trace.steps.len());
    let (kept, kept_path) = resolve(stepper, &mut base, &trace.steps[..keep], 0)?;
    let mut end = base.clone();
    let (events, _) = resolve(stepper, &mut end, &trace.steps[keep..], keep)?;
    let before = switches(kept.iter().chain(&events));
    let mut trials = Trials { stepper, base, target, work: 0, work_max: options.work_max, trials: 0 };
    let Some(whole) = trials.run(&events, MatchRule::Content)? else { return Err(MinimizeError::Unconfirmed) };
    // What is left out first decides which of several short executions comes out; a second try costs little.
    let mut best = trials.shorten(whole.clone(), Side::End)?;
    let other = trials.shorten(whole, Side::Beginning)?;
    if other.events.len() < best.events.len() {
        best = other;
    }
    trials.with_plain_choices(&mut best)?;
    if let Some(events) = reorder::fewer_switches(kept.last().map(|event| event.action.node), &best.events) {
        // On other networks than an unordered one more may depend on the order, so it is tried.
        trials.accept(&events, &mut best)?;
    }
    let after = switches(kept.iter().chain(&best.events));
    let (count, is_cut) = (trials.trials, trials.is_exhausted());
    let steps = record(stepper, &start, kept_path.into_iter().chain(best.path))?;
    Ok(Minimized { steps, judgement: best.judgement, trials: count, switches: (before, after), is_cut })
}

/// The finding at the end of a minimised trace, in the words of a trace. A fault names its node.
pub fn finding(lts: &Lts<'_>, minimized: &Minimized) -> Finding {
    let last = minimized.steps.last().map_or(0, |step| step.node);
    Finding::new(lts.properties(), Some(last), &minimized.judgement)
}

/// How often two events that follow each other are of different nodes.
fn switches<'e>(events: impl Iterator<Item = &'e Event>) -> usize {
    let nodes: Vec<_> = events.map(|event| event.action.node).collect();
    nodes.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

fn resolve(
    stepper: &mut Stepper<'_>,
    traced: &mut TracedState,
    steps: &[TraceStep],
    first: usize,
) -> Result<(Vec<Event>, Vec<Step>), MinimizeError> {
    let (mut events, mut path) = (Vec::with_capacity(steps.len()), Vec::with_capacity(steps.len()));
    for (index, step) in (first..).zip(steps) {
        let action = traced.resolve(stepper, step).map_err(|error| StartError::at(index + 1, error))?;
        let tag = index as Tag;
        let why = || "it changes nothing".to_owned();
        let taken = traced.take(stepper, &action, tag)?;
        path.push(taken.ok_or_else(|| StartError::Prefix { step: index + 1, why: why() })?);
        events.push(Event { tag, action });
    }
    Ok((events, path))
}

fn record(
    stepper: &mut Stepper<'_>,
    start: &Start,
    path: impl Iterator<Item = Step>,
) -> Result<Vec<TraceStep>, MachineError> {
    trace::record(stepper, &start.initial, &path.collect::<Vec<_>>())
}

impl Trials<'_, '_> {
    /// Whether no more trials are worth their time.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.work >= self.work_max
    }

    /// Takes these events as far as they can happen, until the target is hit; none if it is not.
    pub(crate) fn run(&mut self, events: &[Event], rule: MatchRule) -> Result<Option<Trial>, MachineError> {
        self.trials += 1;
        let mut traced = self.base.clone();
        if let Some(judgement) = self.hit(&traced)? {
            return Ok(Some(Trial { events: Vec::new(), path: Vec::new(), judgement }));
        }
        let mut run: (Vec<Event>, Vec<Step>) = Default::default();
        for event in events {
            self.work += 1;
            let Some(action) = traced.like(self.stepper, &event.action, rule)? else { continue };
            let before = traced.locals()[action.node as usize];
            let Some(step) = traced.take(self.stepper, &action, event.tag)? else { continue };
            let after = traced.locals()[action.node as usize];
            run.0.push(Event { tag: event.tag, action: self.as_taken(&action, step, before) });
            run.1.push(step);
            let (before, next) = (self.stepper.state(before).protocol.class, self.stepper.state(after));
            let is_news = next.protocol.class != before || !next.protocol.judgements.is_empty();
            let is_news = is_news || self.target == Target::Deadlock;
            if is_news && let Some(judgement) = self.hit(&traced)? {
                return Ok(Some(Trial { events: run.0, path: run.1, judgement }));
            }
        }
        Ok(None)
    }

    /// An action with the choices that were made in the end.
    fn as_taken(&self, action: &Action, step: Step, before: LocalStateId) -> Action {
        let row = self.stepper.known().row(before, step.trigger).expect("it was executed just now");
        let outcome = &self.stepper.outcomes(row)[step.outcome as usize];
        Action { choices: outcome.choices.clone(), is_lost: outcome.is_lost, ..action.clone() }
    }

    fn hit(&mut self, traced: &TracedState) -> Result<Option<Judgement>, MachineError> {
        let target = self.target;
        if target == Target::Deadlock {
            return traced.judge_end(self.stepper);
        }
        Ok(traced.judge(self.stepper)?.into_iter().find(|judgement| target.is_hit(judgement)))
    }

    /// Replaces the best run if these events make a shorter one.
    fn improve(&mut self, events: &[Event], best: &mut Trial) -> Result<bool, MachineError> {
        for rule in MatchRule::ALL {
            if let Some(run) = self.run(events, rule)?
                && run.events.len() < best.events.len()
            {
                *best = run;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Leaves out what can be left out: faults, local events with all that they cause, then events of every kind, then few at a
    /// time.
    fn shorten(&mut self, mut best: Trial, side: Side) -> Result<Trial, MachineError> {
        for _ in 0..ROUNDS_MAX {
            let length = best.events.len();
            self.without(&mut best, side, |event| matches!(event.action.cause, Cause::Fault(_)))?;
            self.without(&mut best, side, |event| matches!(event.action.cause, Cause::Local(_)))?;
            self.without(&mut best, side, |_| true)?;
            self.without_few(&mut best)?;
            if best.events.len() == length || self.is_exhausted() {
                break;
            }
        }
        Ok(best)
    }

    /// Leaves out parts of the events that may go, half of them at first, single ones at last.
    fn without(&mut self, best: &mut Trial, side: Side, may_go: impl Fn(&Event) -> bool) -> Result<(), MachineError> {
        let candidates = |run: &Trial| -> Vec<usize> {
            let indices = run.events.iter().enumerate().filter(|(_, event)| may_go(event));
            indices.map(|(index, _)| index).collect()
        };
        let mut size = candidates(best).len().div_ceil(2);
        while size > 0 {
            let mut done = 0;
            loop {
                let indices = candidates(best);
                if done >= indices.len() || self.is_exhausted() {
                    break;
                }
                let (from, to) = match side {
                    Side::End => (indices.len().saturating_sub(done + size), indices.len() - done),
                    Side::Beginning => (done, indices.len().min(done + size)),
                };
                let part = &indices[from..to];
                let rest = (0..).zip(&best.events).filter(|(index, _)| part.binary_search(index).is_err());
                let rest: Vec<Event> = rest.map(|(_, event)| event.clone()).collect();
                if !self.improve(&rest, best)? {
                    done += size;
                }
            }
            size /= 2;
        }
        Ok(())
    }

    /// Leaves out every two and every three events.
    fn without_few(&mut self, best: &mut Trial) -> Result<(), MachineError> {
        'again: loop {
            let length = best.events.len();
            if length > PAIRS_LENGTH_MAX || self.is_exhausted() {
                return Ok(());
            }
            for first in (0..length).rev() {
                for second in 0..first {
                    let thirds = if length <= TRIPLES_LENGTH_MAX { second } else { 0 };
                    // The third one is the second one itself where only two are to go.
                    for third in (0..thirds).chain([second]) {
                        let without = [first, second, third];
                        let rest = best.events.iter().enumerate().filter(|(index, _)| !without.contains(index));
                        let rest: Vec<Event> = rest.map(|(_, event)| event.clone()).collect();
                        if self.improve(&rest, best)? {
                            continue 'again;
                        }
                        if self.is_exhausted() {
                            return Ok(());
                        }
                    }
                }
            }
            return Ok(());
        }
    }

    /// Answers calls of `choose` with 0 where that does not matter.
    fn with_plain_choices(&mut self, best: &mut Trial) -> Result<(), MachineError> {
        for index in 0..best.events.len() {
            let Some(event) = best.events.get(index) else { return Ok(()) };
            for choice in 0..event.action.choices.len() {
                let mut events = best.events.clone();
                let Some(answer) = events[index].action.choices.get_mut(choice) else { break };
                if std::mem::replace(&mut answer.picked, 0) == 0 || self.is_exhausted() {
                    continue;
                }
                // What is picked first can decide what is asked next; then the handler's first outcome is taken.
                if let Some(run) = self.run(&events, MatchRule::Content)?
                    && run.events.len() <= best.events.len()
                    && picked(&run) < picked(best)
                {
                    *best = run;
                }
                if index >= best.events.len() || choice >= best.events[index].action.choices.len() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Replaces the best run if these events are all possible and end in the target.
    pub(crate) fn accept(&mut self, events: &[Event], best: &mut Trial) -> Result<bool, MachineError> {
        match self.run(events, MatchRule::Content)? {
            Some(run) if run.events.len() <= best.events.len() => {
                *best = run;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// Calls of `choose` that are answered with another number than 0.
fn picked(run: &Trial) -> usize {
    let choices = run.events.iter().flat_map(|event| event.action.choices.iter());
    choices.filter(|choice| choice.picked != 0).count()
}
