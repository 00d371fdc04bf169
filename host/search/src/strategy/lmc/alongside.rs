//! The full unfolding, in turns with a search that may not end.
//!
//! Local model checking explores an over-approximation, which can be infinite although few global states are reachable:
//! a message sent twice is received any number of times, and messages of branches that exclude each other are combined.
//! A verification can be endless as well, if it searches for an unreachable state in a system that never becomes quiet. The causal
//! unfolding from the same start state has neither problem. It is complete after finitely many events wherever
//! the reachable global states are finite, and since its events are made by size, it finds each reachable violation after
//! finitely many events in any case. So it takes turns: whenever the search has done `GROWTH` times as much work as before the
//! last turn, the unfolding restarts with a budget of one `SHARE`th of that work. If it is complete within the budget, its
//! answer is the answer of the search; if not, the search continues.
//!
//! *Correct*, since each of the two is correct by itself, and the first that has an answer gives it. *Ends*, since the budgets grow as
//! long as the search works. *Costs* a constant factor: for `w` units of work of the search the turns cost at most
//! `w / SHARE * GROWTH / (GROWTH - 1)`, and where the unfolding is complete after `u` units, the search does at most
//! `GROWTH * SHARE * u` until the turn that suffices. Restarts are a quarter of the cost of the turns; handlers are not executed
//! again. A verification delays turns until it has cost as much as all work before it: mostly it is smaller than the
//! full unfolding. This at most doubles the last bound.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Mutex;

use host_model::lts::{LocalStateId, Stepper};
use host_model::trace::start::Start;
use rustc_hash::FxHashSet;

use crate::kernel::{Counts, EndCondition, Monitor, Phase, Progress, Report, Search, SearchBounds, SearchError};
use crate::strategy::unfold::UnfoldSearch;
use crate::unfolding::Relevance;

/// Work of the search before the next turn, as a multiple of the work before the last one.
const GROWTH: u64 = 4;

/// The share of a turn in the work of the search, as a denominator.
const SHARE: u64 = 3;

/// No code that holds a lock here can panic.
const UNPOISONED: &str = "a panic ends the search";

/// The schedule of the turns.
///
/// A unit of work is an event of an unfolding, or a step of a local state; other steps count as several units, or as a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// The work of the search before the first turn, at least 1. Most small systems are done before.
    pub first: u64,
    /// Minimum work that each turn may take.
    pub least: u64,
}

impl Default for Turns {
    fn default() -> Self {
        Self { first: 4_096, least: 0 }
    }
}

/// The unfolding from one start state that takes turns with a search.
pub struct Alongside<'a, 's> {
    search: &'a Search<'s>,
    start: &'a Start,
    /// The report about other start states.
    before: Report,
    least: u64,
    state: Mutex<State<'s>>,
}

struct State<'s> {
    /// Made for the first turn, and kept for its memoised results.
    stepper: Option<Stepper<'s>>,
    next_turn: u64,
    /// Events of the last turn, and the local states at their ends; none before the first one.
    events: Option<u64>,
    reachable: Option<u64>,
    phase: Phase,
    outcome: Option<Result<Report, SearchError>>,
    /// Witnesses of turns that were not complete.
    witnessed: BTreeSet<u32>,
}

impl<'a, 's> Alongside<'a, 's> {
    /// An unfolding that has taken no turn yet. `before` is the report of the search so far, from other start states.
    pub fn new(search: &'a Search<'s>, start: &'a Start, turns: Turns, before: &Report) -> Self {
        let state = State {
            stepper: None,
            next_turn: turns.first.max(1),
            events: None,
            reachable: None,
            phase: Phase::Exploring,
            outcome: None,
            witnessed: BTreeSet::new(),
        };
        let before = Report { end: EndCondition::SpaceExhausted, ..before.clone() };
        Self { search, start, before, least: turns.least, state: Mutex::new(state) }
    }

    /// The reason why the search, after this much work, is to stop, if it is; called instead of the monitor. The unfolding takes
    /// its turn if it is due. Once it [has the answer](Self::is_over), the reason is [`EndCondition::Interrupted`].
    pub fn check(&self, work: u64, progress: &Progress) -> Option<EndCondition> {
        let mut state = self.state.lock().expect(UNPOISONED);
        if state.outcome.is_none() && work >= state.next_turn {
            state.next_turn = work.saturating_mul(GROWTH);
            if let Some(end) = self.take_turn(&mut state, self.least.max(work / SHARE), progress) {
                return Some(end);
            }
        }
        if state.outcome.is_some() {
            return Some(EndCondition::Interrupted);
        }
        self.ask(&state, progress)
    }

    /// The same, without a turn.
    pub fn check_without_turn(&self, progress: &Progress) -> Option<EndCondition> {
        self.ask(&self.state.lock().expect(UNPOISONED), progress)
    }

    fn ask(&self, state: &State<'s>, progress: &Progress) -> Option<EndCondition> {
        let events = progress.counts.events.or(state.events);
        let counts = Counts { events, reachable_local_states: state.reachable, ..progress.counts };
        self.search.monitor.check(&Progress { counts, ..*progress })
    }

    /// Reports to the monitor that the search enters another phase.
    pub fn enter(&self, phase: Phase) {
        self.state.lock().expect(UNPOISONED).phase = phase;
        self.search.monitor.enter(phase);
    }

    /// Whether the unfolding has the answer, or an error, so that the search need not continue.
    pub fn is_over(&self) -> bool {
        self.state.lock().expect(UNPOISONED).outcome.is_some()
    }

    /// Local states that the turns have reached so far; none before the first one.
    pub fn reachable(&self) -> Option<u64> {
        self.state.lock().expect(UNPOISONED).reachable
    }

    /// The answer of the unfolding, if it has one: the complete report except for the counts of the search. Without an answer,
    /// notes the witnesses that it has met.
    pub fn into_answer(self, report: &mut Report) -> Result<Option<Report>, SearchError> {
        let State { outcome, witnessed, .. } = self.state.into_inner().expect(UNPOISONED);
        witnessed.into_iter().for_each(|property| report.witness(property));
        outcome.transpose()
    }

    /// Takes a turn; returns the reason to stop, if the monitor has one.
    fn take_turn(&self, state: &mut State<'s>, work_max: u64, progress: &Progress) -> Option<EndCondition> {
        let is_verifying = state.phase == Phase::Verifying;
        if is_verifying {
            self.search.monitor.enter(Phase::Exploring);
        }
        let ended = self.unfold(state, work_max, progress);
        if is_verifying {
            self.search.monitor.enter(Phase::Verifying);
        }
        match ended {
            Ok(end) => end,
            Err(error) => {
                state.outcome = Some(Err(error));
                None
            }
        }
    }

    fn unfold(
        &self,
        state: &mut State<'s>,
        work_max: u64,
        progress: &Progress,
    ) -> Result<Option<EndCondition>, SearchError> {
        let shared = self.search.lts.counts().bytes;
        let counts = Counts { reachable_local_states: state.reachable, ..progress.counts };
        let progress = Progress { counts, ..*progress };
        let ask = |_: u64, own: &Progress| self.search.monitor.check(&combined(&progress, own, shared));
        let metered = Metered::new(&ask, work_max);
        let bounds = SearchBounds { local_events: self.search.bounds.local_events, ..SearchBounds::default() };
        let search = Search { bounds, monitor: &metered, collect_system_states: false, ..*self.search };
        let mut report = self.before.clone();
        let mut run = UnfoldSearch::new(&search, self.start, &mut report);
        let stepper = match &mut state.stepper {
            Some(stepper) => stepper,
            none => none.insert(Stepper::new(self.search.lts)?),
        };
        let seen = SeenLocals(RefCell::new(self.start.locals.iter().copied().collect()));
        run.explore(stepper, &seen, &mut BTreeSet::new())?;
        report.counts.events = Some(run.events);
        state.events = report.counts.events;
        state.reachable = state.reachable.max(Some(seen.0.into_inner().len() as u64));
        if report.end == EndCondition::Violation || !(report.end.is_external() || metered.is_spent()) {
            state.outcome = Some(Ok(report));
            return Ok(None);
        }
        let is_new = |property: &u32| self.before.wants_witness(*property) && !report.wants_witness(*property);
        state.witnessed.extend((0..report.witnessed.len() as u32).filter(is_new));
        Ok((!metered.is_spent()).then_some(report.end))
    }
}

/// The progress of a search and its unfolding together. Both count the `snapshots` bytes of the snapshots that they share.
pub fn combined(search: &Progress, unfolding: &Progress, snapshots: u64) -> Progress {
    let counts = Counts { events: unfolding.counts.events, ..search.counts };
    let bytes = (search.bytes + unfolding.bytes).saturating_sub(snapshots);
    // The unfolding's own steps end with it, and a smaller count afterwards would look like a restarted search.
    Progress { counts, steps: search.steps, bytes, ..*unfolding }
}

/// All local states are relevant, and those in which events end are recorded.
struct SeenLocals(RefCell<FxHashSet<LocalStateId>>);

impl Relevance for SeenLocals {
    fn is_relevant(&self, state: LocalStateId) -> bool {
        self.0.borrow_mut().insert(state);
        true
    }
}

/// The poll of an unfolding, with its work so far.
type Ask<'m> = dyn Fn(u64, &Progress) -> Option<EndCondition> + Sync + 'm;

/// A monitor that counts the work of an unfolding, and ends it when a budget is spent.
pub struct Metered<'m> {
    ask: &'m Ask<'m>,
    work_max: u64,
    meter: Mutex<Meter>,
}

#[derive(Default)]
struct Meter {
    events: u64,
    /// Polls since the last event.
    idle: u64,
    /// Work other than events.
    combining: u64,
    is_spent: bool,
}

/// Polls without a new event between them that do not yet indicate a combination of classes: there are a few for each size.
const IDLE: u64 = 16;

/// The work between two polls while classes are combined, see [`StopPoll`](crate::kernel::poll::StopPoll): many small steps.
const COMBINING: u64 = 1_024;

impl<'m> Metered<'m> {
    /// Calls `ask` as long as there are at most this many units of work.
    pub fn new(ask: &'m Ask<'m>, work_max: u64) -> Self {
        Self { ask, work_max, meter: Mutex::default() }
    }

    /// The work so far.
    pub fn work(&self) -> u64 {
        let meter = self.meter.lock().expect(UNPOISONED);
        meter.events + meter.combining
    }

    /// Whether the budget has ended the unfolding.
    pub fn is_spent(&self) -> bool {
        self.meter.lock().expect(UNPOISONED).is_spent
    }
}

impl Monitor for Metered<'_> {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        let work = {
            let mut meter = self.meter.lock().expect(UNPOISONED);
            let events = progress.counts.events.unwrap_or(0);
            meter.idle = if events > meter.events { 0 } else { meter.idle + 1 };
            meter.events = meter.events.max(events);
            if meter.idle > IDLE {
                meter.combining += COMBINING;
            }
            let work = meter.events + meter.combining;
            meter.is_spent |= work > self.work_max;
            if meter.is_spent {
                return Some(EndCondition::Interrupted);
            }
            work
        };
        (self.ask)(work, progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_counts_events_and_long_combinations() {
        let never_stops = |_: u64, _: &Progress| None;
        let metered = Metered::new(&never_stops, 10_000);
        let at =
            |events| Progress { counts: Counts { events: Some(events), ..Counts::default() }, ..Progress::default() };
        assert_eq!(metered.check(&at(9_000)), None);
        for _ in 0..IDLE {
            assert_eq!(metered.check(&at(9_000)), None, "a few questions belong to each size");
        }
        assert_eq!((metered.work(), metered.is_spent()), (9_000, false));
        assert_eq!(metered.check(&at(9_000)), Some(EndCondition::Interrupted), "9,000 and 1,024 are more than 10,000");
        assert!(metered.is_spent());
    }

    #[test]
    fn the_monitor_is_asked_within_the_budget() {
        let stop = |work: u64, _: &Progress| (work > 5).then_some(EndCondition::TimeBound);
        let metered = Metered::new(&stop, 10);
        let at =
            |events| Progress { counts: Counts { events: Some(events), ..Counts::default() }, ..Progress::default() };
        assert_eq!(metered.check(&at(5)), None);
        assert_eq!((metered.check(&at(6)), metered.is_spent()), (Some(EndCondition::TimeBound), false));
    }
}
