//! Breadth-first search of the global states, by one worker.

use host_model::lts::{LocalStateId, Step, Stepper};
use rustc_hash::FxHashSet;

use crate::global::bookkeeping::Ledger;
use crate::global::cursor::{Child, Cursor};
use crate::kernel::{End, Progress, Report, Search, SearchError, Ticks, or_end, stopped_end, table_bytes};

/// Which events of a state are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Following {
    /// All of them.
    All,
    /// Of local events and faults those of nodes whose local state was not met before.
    Fresh,
}

/// Searches from all start states at once, level by level: each state is found by one of the shortest paths from any
/// start state, and is expanded once. A state that violates a property is expanded like any other one.
///
/// Memory: about 40 bytes per distinct global state.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn explore(search: &Search<'_>, following: Following) -> Result<Report, SearchError> {
    let mut stepper = Stepper::new(search.lts)?;
    let mut run = BreadthFirst {
        following,
        ledger: Ledger::new(search, search.limits.states),
        explored_locals: FxHashSet::default(),
        starts: Vec::new(),
        found: Vec::new(),
        expanded: 0,
        cursor_bytes: 0,
        ticks: Ticks::default(),
    };
    let end = match or_end(run.enter_starts(&mut stepper))? {
        Some(end) => end,
        None => run.expand_all(&mut stepper).or_else(stopped_end)?,
    };
    let mut report = run.ledger.finish(end);
    report.count_local(search.lts);
    Ok(report)
}

/// How a state was found: by a step from an earlier one.
#[derive(Clone, Copy)]
struct Found {
    parent: u32,
    step: Step,
}

struct BreadthFirst<'s> {
    following: Following,
    ledger: Ledger<'s>,
    /// Local states whose local events and faults were followed.
    explored_locals: FxHashSet<LocalStateId>,
    /// The first states: for each distinct start state its index in the search.
    starts: Vec<u32>,
    /// All other states, in the order of discovery, which is that of their levels. They are numbered after the start states.
    found: Vec<Found>,
    /// States that were expanded: the first ones. The others are the queue.
    expanded: u32,
    /// Bytes of the cursor at the state that is being expanded.
    cursor_bytes: u64,
    ticks: Ticks,
}

impl BreadthFirst<'_> {
    fn len(&self) -> usize {
        self.starts.len() + self.found.len()
    }

    /// Takes all start states in; returns why to end the search, if there is a reason.
    fn enter_starts(&mut self, stepper: &mut Stepper<'_>) -> Result<Option<End>, SearchError> {
        let search = self.ledger.search;
        for (index, start) in (0..).zip(search.starts) {
            let cursor = Cursor::new(stepper, start, &search.limits);
            let (is_new, end) = self.ledger.enter_start(stepper, start, &cursor)?;
            if end.is_some() {
                return Ok(end);
            }
            if is_new {
                self.starts.push(index);
            }
        }
        Ok(None)
    }

    /// Expands all states in the order in which they were found; returns why the search ended.
    fn expand_all(&mut self, stepper: &mut Stepper<'_>) -> Result<End, SearchError> {
        let search = self.ledger.search;
        let mut end = End::SpaceExhausted;
        let mut current: Option<(u32, Cursor)> = None;
        while (self.expanded as usize) < self.len() {
            let (start, path) = self.path_to(self.expanded);
            // The states of a level stand together by their start states, so this is seldom.
            let mut cursor = match current.take() {
                Some((of, cursor)) if of == start => cursor,
                _ => Cursor::new(stepper, &search.starts[start as usize], &search.limits),
            };
            let work = cursor.go_to(stepper, &path)?;
            self.cursor_bytes = cursor.bytes();
            let has_grown = self.ticks.has_grown(self.cursor_bytes);
            if (self.ticks.is_check_due_after(stepper, work) || has_grown)
                && let Some(end) = search.monitor.check(&self.progress())
            {
                return Ok(end);
            }
            let left_out = self.expand(stepper, start, &cursor)?;
            if left_out > End::LocalEventBound {
                return Ok(left_out);
            }
            end = end.max(left_out);
            self.expanded += 1;
            current = Some((start, cursor));
        }
        Ok(end)
    }

    /// Takes the successors of a state in; returns what was left out, or why to end the search.
    fn expand(&mut self, stepper: &mut Stepper<'_>, start: u32, cursor: &Cursor) -> Result<End, SearchError> {
        let search = self.ledger.search;
        let (mut enabled, mut children) = (Vec::new(), Vec::new());
        let mut end = match cursor.enabled(stepper, &mut enabled)? {
            true => End::LocalEventBound,
            false => End::SpaceExhausted,
        };
        if search.limits.depth.is_some_and(|depth| cursor.depth() >= depth) {
            return Ok(if enabled.is_empty() { end } else { end.max(End::DepthBound) });
        }
        for (node, trigger) in enabled {
            let local = cursor.locals()[node as usize];
            let is_fresh = trigger.is_delivery() || !self.explored_locals.contains(&local);
            if self.following == Following::Fresh && !is_fresh {
                end = end.max(End::Pruned);
                continue;
            }
            cursor.children(stepper, (node, trigger), &mut children)?;
            for child in children.drain(..) {
                if let Some(end) = self.enter(stepper, start, cursor, &child)? {
                    return Ok(end);
                }
                if self.ticks.is_check_due(stepper)
                    && let Some(end) = search.monitor.check(&self.progress())
                {
                    return Ok(end);
                }
            }
        }
        self.explored_locals.extend(cursor.locals());
        Ok(end)
    }

    /// Queues and judges a child of the state that is being expanded, if it is new; returns why to end the search, if there
    /// is a reason.
    fn enter(
        &mut self,
        stepper: &mut Stepper<'_>,
        start: u32,
        cursor: &Cursor,
        child: &Child,
    ) -> Result<Option<End>, SearchError> {
        let start = &self.ledger.search.starts[start as usize];
        let (is_new, end) = self.ledger.enter(stepper, start, cursor, child)?;
        if is_new {
            assert!(self.len() < u32::MAX as usize, "fewer than four billion states");
            self.found.push(Found { parent: self.expanded, step: child.step });
        }
        Ok(end)
    }

    /// The index of the start state and the steps that lead to a state.
    fn path_to(&self, state: u32) -> (u32, Vec<Step>) {
        let mut path = Vec::new();
        let mut at = state as usize;
        while let Some(index) = at.checked_sub(self.starts.len()) {
            let Found { parent, step } = self.found[index];
            path.push(step);
            at = parent as usize;
        }
        path.reverse();
        (self.starts[at], path)
    }

    fn progress(&self) -> Progress {
        let bytes = self.found.capacity() * size_of::<Found>()
            + self.starts.capacity() * size_of::<u32>()
            + table_bytes::<LocalStateId>(self.explored_locals.capacity());
        self.ledger.progress(self.len() - self.expanded as usize, bytes as u64 + self.cursor_bytes)
    }
}
