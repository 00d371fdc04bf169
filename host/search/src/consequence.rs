//! Consequence prediction.

use std::collections::VecDeque;

use host_model::lts::{LocalStateId, Step};
use host_model::start::Start;
use host_model::stepper::Stepper;
use rustc_hash::FxHashSet;

use crate::cursor::{Child, Cursor};
use crate::kernel::{End, Progress, Report, Search, SearchError, Ticks};
use crate::ledger::Ledger;
use crate::visited::Seen;

/// Consequence prediction.
///
/// Guarantee: every reported violation is reachable, by a path that is as short as any that the search looks at.
/// Complete: no. A local event or a fault is taken only where its node's local state is fresh, so all chains of one local event
/// and the messages that follow from it are explored from the start state, but not all sequences of chains. If nothing
/// was left out that way, the report says that the space is exhausted.
/// Explores: global states, breadth-first. Memory: about 45 bytes a distinct global state.
/// Honours: depth, local-event and state bounds, the wish to find deadlocks, the monitor.
/// Source: Yabandeh, Knežević, Kostić, Kunčak, "CrystalBall: Predicting and preventing inconsistencies in deployed
/// distributed systems", NSDI 2009, figure 3.2 in Yabandeh's thesis; differs in: a state is marked when it is found
/// and not when it is taken up, so none is taken up twice.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    explore(search, true)
}

/// The search of all global states, breadth-first, without leaving anything out: what
/// [`bdfs`](crate::bdfs) does on an ordered network.
pub(crate) fn explore_all(search: &Search<'_>) -> Result<Report, SearchError> {
    let mut report = explore(search, false)?;
    for found in &mut report.violations {
        found.shortest = search.starts.len() == 1;
    }
    Ok(report)
}

fn explore(search: &Search<'_>, is_pruned: bool) -> Result<Report, SearchError> {
    let mut stepper = Stepper::new(search.lts)?;
    let mut run = Run {
        is_pruned,
        ledger: Ledger::new(search, search.limits.states),
        explored_locals: FxHashSet::default(),
        found: Vec::new(),
        queue: VecDeque::new(),
    };
    let mut end = End::SpaceExhausted;
    for start in search.starts {
        end = end.max(run.explore(&mut stepper, start)?);
        if end > End::LocalEventBound {
            break;
        }
    }
    let mut report = run.ledger.finish(end);
    report.count_local(search.lts);
    Ok(report)
}

/// How a state was found: by a step from an earlier one. A start state has no parent.
#[derive(Clone, Copy)]
struct Found {
    parent: Option<u32>,
    step: Step,
}

struct Run<'s> {
    /// Whether local events and faults are taken only from fresh local states.
    is_pruned: bool,
    ledger: Ledger<'s>,
    /// Local states whose local events were taken.
    explored_locals: FxHashSet<LocalStateId>,
    /// All states but those of the start, in the order of discovery.
    found: Vec<Found>,
    /// States that are not taken up yet; `None` is the start state.
    queue: VecDeque<Option<u32>>,
}

impl Run<'_> {
    /// Searches from one start state; returns why the search ended.
    fn explore(&mut self, stepper: &mut Stepper<'_>, start: &Start) -> Result<End, SearchError> {
        let limits = &self.ledger.search.limits;
        let mut cursor = Cursor::new(stepper, start, limits);
        let (is_new, end) = self.ledger.enter_start(stepper, start, &cursor)?;
        if !is_new || end.is_some() {
            return Ok(end.unwrap_or(End::SpaceExhausted));
        }
        let mut end = End::SpaceExhausted;
        let mut ticks = Ticks::default();
        let (mut enabled, mut children) = (Vec::new(), Vec::new());
        self.queue.push_back(None);
        while let Some(state) = self.queue.pop_front() {
            cursor.go_to(stepper, &self.path_to(state))?;
            // The start state was judged when it was entered.
            if limits.deadlock
                && state.is_some()
                && let Some(deadlock) = cursor.judge_end(stepper)?
                && self.ledger.report.note(start, cursor.path(), vec![(None, deadlock)])
            {
                return Ok(End::Violation);
            }
            if cursor.enabled(stepper, &mut enabled)? {
                end = end.max(End::LocalEventBound);
            }
            if limits.depth.is_some_and(|depth| cursor.depth() >= depth) {
                end = if enabled.is_empty() { end } else { end.max(End::DepthBound) };
                continue;
            }
            for &(node, trigger) in &enabled {
                let local = cursor.locals()[node as usize];
                if self.is_pruned && !trigger.is_delivery() && self.explored_locals.contains(&local) {
                    end = end.max(End::Pruned);
                    continue;
                }
                cursor.children(stepper, (node, trigger), &mut children)?;
            }
            for child in children.drain(..) {
                self.ledger.transitions += 1;
                if let Some(end) = self.enter(stepper, start, &cursor, state, &child)? {
                    return Ok(end);
                }
            }
            self.explored_locals.extend(cursor.locals());
            if ticks.is_check_due(stepper)
                && let Some(end) = self.ledger.search.monitor.check(&self.progress())
            {
                return Ok(end);
            }
        }
        Ok(end)
    }

    /// Queues and judges a child that is new; returns why to end the search, if there is a reason.
    fn enter(
        &mut self,
        stepper: &mut Stepper<'_>,
        start: &Start,
        cursor: &Cursor,
        parent: Option<u32>,
        child: &Child,
    ) -> Result<Option<End>, SearchError> {
        if self.ledger.visited.insert(cursor.fingerprint_of(stepper, child), cursor.depth() + 1) != Seen::New {
            return Ok(None);
        }
        let (goes_on, end) = self.ledger.enter_new(stepper, start, cursor, child)?;
        if end.is_some() || !goes_on {
            return Ok(end);
        }
        self.queue.push_back(Some(self.found.len() as u32));
        self.found.push(Found { parent, step: child.step });
        Ok(None)
    }

    /// The steps that lead to a state.
    fn path_to(&self, state: Option<u32>) -> Vec<Step> {
        let mut path = Vec::new();
        let mut at = state;
        while let Some(index) = at {
            let Found { parent, step } = self.found[index as usize];
            path.push(step);
            at = parent;
        }
        path.reverse();
        path
    }

    fn progress(&self) -> Progress {
        let bytes = self.found.capacity() * size_of::<Found>() + self.queue.capacity() * size_of::<Option<u32>>();
        self.ledger.progress(self.queue.len(), bytes)
    }
}
