//! Shortens a counterexample.
//!
//! Delta debugging (Zeller, Hildebrandt, "Simplifying and isolating failure-inducing input", TSE 2002) over the events
//! of a trace. A part of the events is rarely an execution: each received message must have been sent. So a trial
//! executes the events in order and skips those that cannot happen, which gives the largest part that is an execution
//! in this order. Local events are tried first, since all their effects go with them (as external inputs in Scott et
//! al., "Minimizing faulty executions of distributed systems", NSDI 2016).
//!
//! A trial continues even if a message has another content because an earlier event is gone, such as a lower ballot: an
//! event stands for a message with the same content, or one that the same event has sent, or at last any of the same sender
//! ([`MatchRule`](crate::traced_state::MatchRule)).
//!
//! | module | what it holds |
//! |---|---|
//! | `target` | the end that a part of the events must lead to, where a state says so |
//! | `promise` | the same of a broken promise of progress, where an execution says so |
//! | `trial` | an execution of some of the events |
//! | `trials` | executes parts of a trace |
//! | `leave_out` | which parts are tried |

mod leave_out;
mod promise;
mod target;
mod trial;
mod trials;

use host_model::contract::{Judgement, MachineError};
use host_model::lts::{Lts, Step, Stepper};
use host_model::trace::start::{self, StartError};
use host_model::trace::{self, BrokenPromise, Finding, Trace, TraceStep};
use host_search::kernel::{Monitor, ViolationKind};

use crate::minimize::leave_out::Side;
use crate::minimize::promise::Promised;
use crate::minimize::target::Target;
use crate::minimize::trial::Trial;
use crate::minimize::trials::{Goal, Trials};
use crate::reorder;
use crate::traced_state::{Event, MatchRule, Tag, TracedState};

/// The default maximum of events that are looked up: some seconds.
pub const WORK_MAX: u64 = 20_000_000;

/// The bounds of minimisation, and the parts to keep.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of events at the beginning that stay unchanged: a prefix that the user chose.
    pub keep: usize,
    /// The maximum number of events that are looked up.
    pub work_max: u64,
    /// Whether no shorter trace shows the same, by a proof. Then only its order and its answers to `choose` may change.
    pub is_shortest: bool,
    /// The kind of the finding, if others are reported with it: the end must keep the kind, or a kind that is easier to reach would
    /// take its place. None if any violation of the property will do.
    pub kind: Option<ViolationKind>,
}

impl Default for Options {
    fn default() -> Self {
        Self { keep: 0, work_max: WORK_MAX, is_shortest: false, kind: None }
    }
}

/// Result of minimising.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimized {
    /// The events, with their messages; a replay fills in the states.
    pub steps: Vec<TraceStep>,
    /// The judgement at the end: the same property, perhaps in other words.
    pub judgement: Judgement,
    /// The broken promise that it shows; none if it shows something else.
    pub promise: Option<BrokenPromise>,
    /// The number of executed parts of the trace.
    pub trials: u64,
    /// The number of changes of node between consecutive events, before and after.
    pub switches: (usize, usize),
    /// Whether the bound on the work ended minimisation early.
    pub is_cut: bool,
}

/// The reason why a trace cannot be minimised.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MinimizeError {
    /// It shows nothing at its end.
    #[error("it shows no violation at its end, so every part of it would do")]
    NoFinding,
    /// It shows another finding than it records.
    #[error("its steps can happen, but do not lead to what it says that it shows")]
    Unconfirmed,
    /// It may break a promise as recorded, but a proof from its states alone is missing, so its parts cannot be compared.
    #[error(
        "its steps can happen, but its states alone do not prove that the promise of progress is broken as it says"
    )]
    Unproven,
    /// It shows a broken promise, and judging its parts would exceed the bounds.
    #[error("it shows a broken promise of progress, and {0}")]
    Promise(&'static str),
    /// It does not start or cannot happen.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The host itself cannot continue.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// A shorter trace that ends in the same finding, if there is one. A broken promise keeps its class and its critical step.
///
/// # Errors
///
/// The trace has no finding, or cannot happen. A fault of the host, or the monitor, ends it.
pub fn minimize(
    stepper: &mut Stepper<'_>,
    trace: &Trace,
    options: Options,
    monitor: &dyn Monitor,
) -> Result<Minimized, MinimizeError> {
    let lts = stepper.lts();
    let finding = trace.finding.as_ref().ok_or(MinimizeError::NoFinding)?;
    let start = start::begin(stepper, trace)?;
    let mut base = TracedState::new(stepper, &start);
    let keep = options.keep.min(trace.steps.len());
    let (kept, kept_path) = resolve(stepper, &mut base, &trace.steps[..keep], 0)?;
    let mut end = base.clone();
    let (events, _) = resolve(stepper, &mut end, &trace.steps[keep..], keep)?;
    let before = switches(kept.iter().chain(&events));
    let goal = match finding {
        Finding::Promise(promise) => {
            Goal::Promise(Box::new(Promised::new(lts, promise, &start, &kept_path, &events, monitor)?))
        }
        finding => {
            let end = Target::of(lts, finding).ok_or(MinimizeError::Unconfirmed)?;
            Goal::State(end, options.kind)
        }
    };
    let mut trials = Trials::new(stepper, base, goal, options.work_max);
    let Some(whole) = trials.run(&events, MatchRule::Content)? else {
        return Err(if trace.promise().is_some() { MinimizeError::Unproven } else { MinimizeError::Unconfirmed });
    };
    let mut best = whole;
    if !options.is_shortest {
        best = shorter(&mut trials, best)?;
    }
    trials.with_plain_choices(&mut best)?;
    reorder(&mut trials, kept.last(), &mut best)?;
    let after = switches(kept.iter().chain(&best.events));
    let (count, is_cut) = (trials.trials, trials.is_exhausted());
    let path: Vec<Step> = kept_path.into_iter().chain(best.path.iter().copied()).collect();
    let (judgement, promise) = match finding {
        Finding::Promise(promise) => promise::described(stepper, &start, promise, &path, &best)?,
        _ => (best.judgement, None),
    };
    let steps = trace::record(stepper, &start.initial, &path)?;
    Ok(Minimized { steps, judgement, promise, trials: count, switches: (before, after), is_cut })
}

/// The finding at the end of a minimised trace, in the form of a trace. A fault names its node.
pub fn finding(lts: &Lts<'_>, minimized: &Minimized) -> Finding {
    if let Some(promise) = &minimized.promise {
        return Finding::Promise(promise.clone());
    }
    let last = minimized.steps.last().map_or(0, |step| step.node);
    Finding::new(lts.properties(), Some(last), &minimized.judgement)
}

/// The shorter result of two tries: the first removal decides which of several short executions results, and a second try is
/// cheap.
fn shorter(trials: &mut Trials<'_, '_>, whole: Trial) -> Result<Trial, MachineError> {
    let best = trials.shorten(whole.clone(), Side::End)?;
    let other = trials.shorten(whole, Side::Beginning)?;
    Ok(if other.events.len() < best.events.len() { other } else { best })
}

/// Puts the parts of a trace into an order with fewer changes of node. On networks other than unordered ones, more may depend on the
/// order, so the new order is executed.
fn reorder(trials: &mut Trials<'_, '_>, before: Option<&Event>, best: &mut Trial) -> Result<(), MachineError> {
    for part in trials.parts(best) {
        let before = part.start.checked_sub(1).map_or(before, |index| best.events.get(index));
        let before = before.map(|event| event.action.node);
        let Some(events) = reorder::fewer_switches(before, &best.events[part.clone()]) else { continue };
        let all = [&best.events[..part.start], &events, &best.events[part.end..]].concat();
        if switches(all.iter()) < switches(best.events.iter()) || part.len() == best.events.len() {
            trials.accept(&all, best)?;
        }
    }
    Ok(())
}

/// The number of changes of node between consecutive events.
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
