//! Bounded depth-first search of the global states.

use host_model::lts::{Step, Trigger};
use host_model::machine::NodeId;
use host_model::start::Start;
use host_model::stepper::{OutcomesRef, Stepper};

use crate::cursor::{Child, Cursor};
use crate::kernel::{End, Progress, Report, Search, SearchError, Ticks};
use crate::ledger::Ledger;
use crate::visited::Seen;

/// The first bound of the iterative deepening; later ones double. Deep enough that a finite space is nearly always
/// explored in one round, shallow enough that an infinite one is not entered head first.
const FIRST_BOUND: u32 = 64;

/// How many states the search for a shorter counterexample may visit besides four times those of the first search.
const SHORTEN_STATES: u64 = 1_000_000;

/// Bounded depth-first search (B-DFS).
///
/// Guarantee: every reported violation is reachable, and the shortest one unless the report says otherwise.
/// Complete: within the bounds.
/// Explores: global states (local states and messages in flight), each expanded once, or again when it is reached by
/// a shorter path under a depth bound. Iterative deepening; once a violation is found, deepening by single steps from
/// the start finds the shortest. Memory: 16 bytes a slot, about 21 bytes a distinct global state, plus the path.
/// Honours: depth, local-event and state bounds, the monitor.
/// Source: the baseline of Yabandeh, Guerraoui and others, "Local model checking of distributed systems", §3; differs
/// in: works on interned ids, so an edge costs an addition and a look-up; depth-aware visited set, so that a bounded
/// search misses nothing within the bound.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    let mut stepper = Stepper::new(search.lts)?;
    let limit = search.limits.depth.unwrap_or(u32::MAX);
    let mut bound = FIRST_BOUND.min(limit);
    loop {
        let mut round = Round::new(search, &mut stepper, bound, search.limits.states);
        let end = round.explore()?;
        let visited = round.ledger.visited.len();
        let mut report = round.finish(end);
        if end == End::Violation {
            shorten(search, &mut stepper, &mut report, visited)?;
        } else if end == End::DepthBound && bound < limit {
            bound = bound.saturating_mul(2).min(limit);
            continue;
        }
        report.count_local(search.lts);
        return Ok(report);
    }
}

/// Replaces the violation of a report by the shortest one, found by deepening step by step.
fn shorten(
    search: &Search<'_>,
    stepper: &mut Stepper<'_>,
    report: &mut Report,
    visited: u64,
) -> Result<(), SearchError> {
    let found = &mut report.violations[0];
    let prefix = search.starts.iter().map(|start| start.path.len()).min().unwrap_or(0);
    let mut budget = SHORTEN_STATES.max(visited.saturating_mul(4));
    for bound in 0..(found.path.len() - prefix) as u32 {
        let mut round = Round::new(search, stepper, bound, Some(budget));
        let end = round.explore()?;
        budget = budget.saturating_sub(round.ledger.visited.len());
        match end {
            End::Violation => {
                *found = round.finish(end).violations.swap_remove(0);
                break;
            }
            End::DepthBound | End::LocalEventBound | End::SpaceExhausted => {}
            // Out of budget: the violation stands, but a shorter one may exist.
            _ => return Ok(()),
        }
    }
    found.shortest = true;
    Ok(())
}

/// A child of a state on the path that is still to be entered.
#[derive(Clone, Copy)]
struct Pending {
    step: Step,
    row: OutcomesRef,
    /// Whether the state was never expanded before, so that its edges count.
    first: bool,
}

/// One depth-first search up to a bound.
struct Round<'s, 'l> {
    ledger: Ledger<'s>,
    stepper: &'s mut Stepper<'l>,
    bound: u32,
    /// States at the bound that have successors and were not reached by a shorter path.
    cut: u64,
    local_events_cut: bool,
    ticks: Ticks,
    /// The children still to be entered, those of the current state last.
    pending: Vec<Pending>,
    /// For each state on the path, where its children begin in `pending`.
    bases: Vec<usize>,
    /// Kept to spare allocations.
    enabled: Vec<(NodeId, Trigger)>,
    children: Vec<Child>,
}

impl<'s, 'l> Round<'s, 'l> {
    fn new(search: &'s Search<'s>, stepper: &'s mut Stepper<'l>, bound: u32, states_max: Option<u64>) -> Self {
        Self {
            ledger: Ledger::new(search, states_max),
            stepper,
            bound,
            cut: 0,
            local_events_cut: false,
            ticks: Ticks::default(),
            pending: Vec::new(),
            bases: Vec::new(),
            enabled: Vec::new(),
            children: Vec::new(),
        }
    }

    fn explore(&mut self) -> Result<End, SearchError> {
        for start in self.ledger.search.starts {
            let mut cursor = Cursor::new(self.stepper, start, &self.ledger.search.limits);
            if let Some(end) = self.explore_from(start, &mut cursor)? {
                return Ok(end);
            }
        }
        Ok(match (self.cut, self.local_events_cut) {
            (1.., _) => End::DepthBound,
            (0, true) => End::LocalEventBound,
            (0, false) => End::SpaceExhausted,
        })
    }

    /// Searches from one start state; returns why the search ended early, if it did.
    fn explore_from(&mut self, start: &Start, cursor: &mut Cursor) -> Result<Option<End>, SearchError> {
        let (is_new, end) = self.ledger.enter_start(self.stepper, start, cursor)?;
        if !is_new || end.is_some() {
            return Ok(end);
        }
        if let Some(end) = self.expand(start, cursor, true)? {
            return Ok(Some(end));
        }
        loop {
            let base = self.bases.last().copied().unwrap_or(0);
            if self.pending.len() > base {
                let Pending { step, row, first } = self.pending.pop().expect("there is one above the base");
                cursor.descend(self.stepper, step, row);
                self.bases.push(self.pending.len());
                if let Some(end) = self.expand(start, cursor, first)? {
                    return Ok(Some(end));
                }
                if self.ticks.is_check_due(self.stepper)
                    && let Some(end) = self.ledger.search.monitor.check(&self.progress())
                {
                    return Ok(Some(end));
                }
            } else if !cursor.ascend(self.stepper) {
                return Ok(None);
            } else {
                self.bases.pop();
            }
        }
    }

    /// Looks at all successors of the current state and makes those pending that must be entered.
    fn expand(&mut self, start: &Start, cursor: &Cursor, first: bool) -> Result<Option<End>, SearchError> {
        let mut enabled = std::mem::take(&mut self.enabled);
        let is_cut = cursor.enabled(self.stepper, &mut enabled);
        if cursor.depth() >= self.bound {
            // Only the start state under a bound of zero: other states at the bound are not entered.
            self.cut += u64::from(!enabled.is_empty());
            enabled.clear();
        } else {
            self.local_events_cut |= is_cut;
        }
        let mut children = std::mem::take(&mut self.children);
        children.clear();
        for trigger in &enabled {
            cursor.children(self.stepper, *trigger, &mut children)?;
        }
        self.enabled = enabled;
        self.ledger.transitions += if first { children.len() as u64 } else { 0 };
        self.ledger.visited.warm(children.iter().map(|child| child.fingerprint));
        let mut ended = None;
        for child in &children {
            ended = self.try_child(start, cursor, child)?;
            if ended.is_some() {
                break;
            }
        }
        self.children = children;
        Ok(ended)
    }

    /// Looks one child up, and judges it if it is new.
    fn try_child(&mut self, start: &Start, cursor: &Cursor, child: &Child) -> Result<Option<End>, SearchError> {
        let mut first = true;
        let depth = cursor.depth() + 1;
        match self.ledger.visited.insert(child.fingerprint, depth) {
            Seen::Already => return Ok(None),
            Seen::Deeper(before) => {
                first = u32::from(before) >= self.bound;
                if first && depth < self.bound && cursor.has_successors(self.stepper, child) {
                    self.cut -= 1;
                }
            }
            Seen::New => {
                let end = self.ledger.enter_new(self.stepper, start, cursor, child)?;
                if end.is_some() {
                    return Ok(end);
                }
                if depth == self.bound && cursor.has_successors(self.stepper, child) {
                    self.cut += 1;
                }
            }
        }
        if depth < self.bound {
            self.pending.push(Pending { step: child.step, row: child.row, first });
        }
        Ok(None)
    }

    fn progress(&self) -> Progress {
        self.ledger.progress(self.pending.len(), self.pending.capacity() * size_of::<Pending>())
    }

    fn finish(self, end: End) -> Report {
        self.ledger.finish(end)
    }
}
