//! Bounded depth-first search of the global states.

use std::collections::BTreeSet;

use host_model::fingerprint::{self, Fingerprint};
use host_model::lts::{LocalStateId, MessageId, Outcome, Step, Trigger};
use host_model::machine::NodeId;
use host_model::property::{ClassId, Judgement};
use host_model::start::Start;
use host_model::stepper::{OutcomesRef, Stepper};
use rustc_hash::FxHashSet;

use crate::kernel::{Counts, End, Found, Progress, Report, Search, SearchError, judge_system_state};
use crate::visited::{Seen, Visited};

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
        let visited = round.visited.len();
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
        budget = budget.saturating_sub(round.visited.len());
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

/// A child of the current state that is still to be entered.
#[derive(Clone, Copy)]
struct Pending {
    step: Step,
    row: OutcomesRef,
    /// Whether the state was never expanded before, so that its edges count.
    first: bool,
}

/// How to leave the current state again.
struct Frame {
    pending: usize,
    row: OutcomesRef,
    before: LocalStateId,
    fingerprint: Fingerprint,
    locals_fingerprint: Fingerprint,
}

/// One depth-first search up to a bound.
struct Round<'s, 'l> {
    search: &'s Search<'s>,
    stepper: &'s mut Stepper<'l>,
    bound: u32,
    states_max: u64,
    visited: Visited,
    system_states: FxHashSet<Fingerprint>,
    collected: BTreeSet<Box<[LocalStateId]>>,
    report: Report,
    transitions: u64,
    /// States at the bound that have successors and were not reached by a shorter path.
    cut: u64,
    local_events_cut: bool,
    ticks: u32,
    /// Outcomes that the stepper had when the monitor was last due.
    rows_checked: usize,
    // The current state, and the path to it.
    locals: Vec<LocalStateId>,
    in_flight: Vec<MessageId>,
    local_events: Vec<u32>,
    counters: Vec<Fingerprint>,
    fingerprint: Fingerprint,
    locals_fingerprint: Fingerprint,
    path: Vec<Step>,
    frames: Vec<Frame>,
    pending: Vec<Pending>,
}

impl<'s, 'l> Round<'s, 'l> {
    fn new(search: &'s Search<'s>, stepper: &'s mut Stepper<'l>, bound: u32, states_max: Option<u64>) -> Self {
        let nodes = search.lts.scenario().nodes;
        Self {
            search,
            stepper,
            bound,
            states_max: states_max.unwrap_or(u64::MAX),
            visited: Visited::new(),
            system_states: FxHashSet::default(),
            collected: BTreeSet::new(),
            report: Report::new(search.lts),
            transitions: 0,
            cut: 0,
            local_events_cut: false,
            ticks: 0,
            rows_checked: 0,
            locals: Vec::new(),
            in_flight: Vec::new(),
            local_events: vec![0; nodes as usize],
            counters: (0..nodes).map(|node| fingerprint::of_counter(b"local events", node)).collect(),
            fingerprint: 0,
            locals_fingerprint: 0,
            path: Vec::new(),
            frames: Vec::new(),
            pending: Vec::new(),
        }
    }

    fn explore(&mut self) -> Result<End, SearchError> {
        for start in self.search.starts {
            if let Some(end) = self.explore_from(start)? {
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
    fn explore_from(&mut self, start: &Start) -> Result<Option<End>, SearchError> {
        if let Some(end) = self.enter_start(start)? {
            return Ok(Some(end));
        }
        loop {
            let base = self.frames.last().map_or(0, |frame| frame.pending);
            if self.pending.len() > base {
                let pending = self.pending.pop().expect("there is one above the base");
                self.descend(pending);
                if let Some(end) = self.expand(start, pending.first)? {
                    return Ok(Some(end));
                }
                if self.is_check_due()
                    && let Some(end) = self.search.monitor.check(&self.progress())
                {
                    return Ok(Some(end));
                }
            } else if !self.ascend() {
                return Ok(None);
            }
        }
    }

    /// Whether to ask the monitor: every few thousand states, and after each handler that was executed, since one
    /// can take as long as a million states that only look outcomes up.
    fn is_check_due(&mut self) -> bool {
        let executed = self.stepper.rows();
        let has_executed = std::mem::replace(&mut self.rows_checked, executed) != executed;
        self.ticks = self.ticks.wrapping_add(1);
        has_executed || self.ticks.is_multiple_of(4096)
    }

    fn enter_start(&mut self, start: &Start) -> Result<Option<End>, SearchError> {
        self.locals.clone_from(&start.locals);
        self.in_flight.clone_from(&start.in_flight);
        self.locals_fingerprint =
            self.locals.iter().fold(0, |sum: u128, id| sum.wrapping_add(self.stepper.state(*id).fingerprint));
        self.fingerprint = (self.in_flight.iter())
            .fold(self.locals_fingerprint, |sum, id| sum.wrapping_add(self.stepper.message(*id).fingerprint));
        if self.visited.insert(self.fingerprint, 0) == Seen::Already {
            return Ok(None);
        }
        self.note_system_state(self.locals_fingerprint, None);
        let judgements = judge_system_state(self.stepper, &self.locals)?;
        if self.note(start, judgements) {
            return Ok(Some(End::Violation));
        }
        if self.bound == 0 {
            self.cut += 1;
            return Ok(None);
        }
        self.expand(start, true)
    }

    /// Makes a pending child the current state.
    fn descend(&mut self, pending: Pending) {
        let Pending { step, row, .. } = pending;
        let node = step.node as usize;
        let before = self.locals[node];
        let (before_fingerprint, locals_fingerprint) = (self.fingerprint, self.locals_fingerprint);
        let outcome = &self.stepper.outcomes(row)[step.outcome as usize];
        let next = outcome.next;
        self.fingerprint = self.fingerprint.wrapping_add(outcome.delta);
        match step.trigger.message() {
            Some(message) => remove(&mut self.in_flight, message),
            None => {
                self.local_events[node] += 1;
                self.fingerprint = self.fingerprint.wrapping_add(self.counter(node));
            }
        }
        for message in &outcome.sent {
            insert(&mut self.in_flight, *message);
        }
        self.locals[node] = next;
        if next != before {
            let change = self.stepper.state(next).fingerprint.wrapping_sub(self.stepper.state(before).fingerprint);
            self.locals_fingerprint = self.locals_fingerprint.wrapping_add(change);
        }
        self.path.push(step);
        let pending = self.pending.len();
        self.frames.push(Frame { pending, row, before, fingerprint: before_fingerprint, locals_fingerprint });
    }

    /// Goes back to the parent; false at the start state.
    fn ascend(&mut self) -> bool {
        let (Some(frame), Some(step)) = (self.frames.pop(), self.path.pop()) else {
            return false;
        };
        for message in &self.stepper.outcomes(frame.row)[step.outcome as usize].sent {
            remove(&mut self.in_flight, *message);
        }
        match step.trigger.message() {
            Some(message) => insert(&mut self.in_flight, message),
            None => self.local_events[step.node as usize] -= 1,
        }
        self.locals[step.node as usize] = frame.before;
        self.fingerprint = frame.fingerprint;
        self.locals_fingerprint = frame.locals_fingerprint;
        true
    }

    /// What a local event adds to the fingerprint: under a bound, states with different budgets are different.
    fn counter(&self, node: usize) -> Fingerprint {
        if self.search.limits.local_events.is_some() { self.counters[node] } else { 0 }
    }

    /// Looks at all successors of the current state and makes those pending that must be entered.
    fn expand(&mut self, start: &Start, first: bool) -> Result<Option<End>, SearchError> {
        let mut last = None;
        for index in 0..self.in_flight.len() {
            let message = self.in_flight[index];
            if last.replace(message) == Some(message) {
                continue;
            }
            let node = self.stepper.message(message).to;
            if let Some(end) = self.try_trigger(start, node, Trigger::deliver(message), first)? {
                return Ok(Some(end));
            }
        }
        for node in 0..self.locals.len() {
            let possible = self.stepper.state(self.locals[node]).local_events.len();
            if possible > 0 && self.search.limits.local_events.is_some_and(|max| self.local_events[node] >= max) {
                self.local_events_cut = true;
                continue;
            }
            for index in 0..possible {
                let event = self.stepper.state(self.locals[node]).local_events[index];
                if let Some(end) = self.try_trigger(start, node as NodeId, Trigger::local(event), first)? {
                    return Ok(Some(end));
                }
            }
        }
        Ok(None)
    }

    fn try_trigger(
        &mut self,
        start: &Start,
        node: NodeId,
        trigger: Trigger,
        first: bool,
    ) -> Result<Option<End>, SearchError> {
        let local = self.locals[node as usize];
        if self.stepper.state(local).snapshot.is_none() {
            return Ok(None);
        }
        let row = self.stepper.step(local, trigger)?;
        let outcomes = self.stepper.outcomes(row).len();
        self.transitions += if first { outcomes as u64 } else { 0 };
        for outcome in 0..outcomes as u32 {
            let pending = Pending { step: Step { node, trigger, outcome }, row, first: true };
            if let Some(end) = self.try_child(start, pending)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    /// Looks one child up, and judges it if it is new.
    fn try_child(&mut self, start: &Start, mut pending: Pending) -> Result<Option<End>, SearchError> {
        let Step { node, trigger, outcome } = pending.step;
        let Outcome { next, delta, .. } = self.stepper.outcomes(pending.row)[outcome as usize];
        let mut fingerprint = self.fingerprint.wrapping_add(delta);
        if trigger.local_event().is_some() {
            fingerprint = fingerprint.wrapping_add(self.counter(node as usize));
        }
        let depth = self.path.len() as u32 + 1;
        match self.visited.insert(fingerprint, depth) {
            Seen::Already => return Ok(None),
            Seen::Deeper(before) => {
                pending.first = u32::from(before) >= self.bound;
                if pending.first && depth < self.bound && self.has_successors(&pending) {
                    self.cut -= 1;
                }
            }
            Seen::New => {
                self.report.depth = self.report.depth.max(depth);
                if let Some(end) = self.enter_new(start, &pending.step, next)? {
                    return Ok(Some(end));
                }
                if depth == self.bound && self.has_successors(&pending) {
                    self.cut += 1;
                }
            }
        }
        if depth < self.bound {
            self.pending.push(pending);
        }
        Ok(None)
    }

    /// Counts and judges a new global state, a child of the current one.
    fn enter_new(&mut self, start: &Start, step: &Step, next: LocalStateId) -> Result<Option<End>, SearchError> {
        if self.visited.len() >= self.states_max {
            return Ok(Some(End::StateBound));
        }
        let node = step.node as usize;
        let before = self.locals[node];
        if next == before {
            return Ok(None);
        }
        let (class_before, fingerprint_before) = {
            let state = self.stepper.state(before);
            (state.class, state.fingerprint)
        };
        let state = self.stepper.state(next);
        let (class, plain) = (state.class, state.judgements.is_empty());
        let change = state.fingerprint.wrapping_sub(fingerprint_before);
        self.note_system_state(self.locals_fingerprint.wrapping_add(change), Some((node, next)));
        // The parent was judged: only a change of class, or a judged local state, has something new to say.
        if class == class_before && plain {
            return Ok(None);
        }
        self.judge_child(start, step, next, class)
    }

    #[cold]
    fn judge_child(
        &mut self,
        start: &Start,
        step: &Step,
        next: LocalStateId,
        class: ClassId,
    ) -> Result<Option<End>, SearchError> {
        let mut judgements: Vec<(Option<NodeId>, Judgement)> =
            self.stepper.state(next).judgements.iter().map(|judgement| (Some(step.node), judgement.clone())).collect();
        let mut classes = Vec::with_capacity(self.locals.len());
        for local in &self.locals {
            classes.push(self.stepper.state(*local).class);
        }
        classes[step.node as usize] = class;
        judgements.extend(self.stepper.judge(&classes)?.iter().map(|judgement| (None, judgement.clone())));
        self.path.push(*step);
        let bad = self.note(start, judgements);
        self.path.pop();
        Ok(bad.then_some(End::Violation))
    }

    /// Notes what there is to say about the state at the end of the path; whether something bad is among it.
    fn note(&mut self, start: &Start, judgements: Vec<(Option<NodeId>, Judgement)>) -> bool {
        for (node, judgement) in judgements {
            match judgement {
                Judgement::Witnessed { property } => self.report.witness(property),
                bad => self.report.violations.push(Found::new(start, &self.path, node, bad)),
            }
        }
        !self.report.violations.is_empty()
    }

    /// Counts the system state of the current state, or of a child in which one node has moved.
    fn note_system_state(&mut self, fingerprint: Fingerprint, moved: Option<(usize, LocalStateId)>) {
        if self.system_states.insert(fingerprint) && self.search.collect_system_states {
            let mut locals = self.locals.clone();
            if let Some((node, next)) = moved {
                locals[node] = next;
            }
            self.collected.insert(locals.into());
        }
    }

    /// Whether something can happen in a child of the current state.
    fn has_successors(&mut self, pending: &Pending) -> bool {
        let Step { node, trigger, outcome } = pending.step;
        let outcome = &self.stepper.outcomes(pending.row)[outcome as usize];
        let next = outcome.next;
        let in_flight = self.in_flight.len() + outcome.sent.len() - usize::from(trigger.message().is_some());
        in_flight > 0
            || (0..self.locals.len()).any(|other| {
                let local = if other == node as usize { next } else { self.locals[other] };
                !self.stepper.state(local).local_events.is_empty()
            })
    }

    fn progress(&self) -> Progress {
        let counts = Counts {
            global_states: Some(self.visited.len()),
            transitions: Some(self.transitions),
            system_states: Some(self.system_states.len() as u64),
            ..Counts::default()
        };
        let bytes = self.visited.bytes()
            + (self.system_states.capacity() * (size_of::<Fingerprint>() + 1)) as u64
            + (self.pending.capacity() * size_of::<Pending>()) as u64
            + self.search.lts.counts().snapshot_bytes;
        Progress { counts, depth: self.report.depth, queue: self.pending.len() as u64, bytes }
    }

    fn finish(self, end: End) -> Report {
        let counts = self.progress().counts;
        let system_states = self.search.collect_system_states.then(|| self.collected.into_iter().collect());
        Report { end, counts, system_states, ..self.report }
    }
}

fn insert(in_flight: &mut Vec<MessageId>, message: MessageId) {
    let position = in_flight.partition_point(|other| *other < message);
    in_flight.insert(position, message);
}

fn remove(in_flight: &mut Vec<MessageId>, message: MessageId) {
    let position = in_flight.binary_search(&message).expect("a consumed message is in flight");
    in_flight.remove(position);
}
