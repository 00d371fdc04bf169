//! Search of global states with reductions that are proven from the local transition system.
//!
//! | module | what it holds |
//! |---|---|
//! | `admission` | admission of new states, up to renamings and to messages in flight |
//! | `judging` | judgements on a state and on all states that it leads to by sinks |

use std::collections::{BTreeSet, VecDeque};

use host_model::contract::{ClassId, MachineError};
use host_model::lts::{LocalStateId, MessageId, Step, Stepper, Trigger};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::global::state::{Budgets, Child, GlobalState};
use crate::kernel::{
    CheckSchedule, Counts, EndCondition, Progress, Report, Search, SearchError, SymmetryUse, table_bytes,
};
use crate::reduction::message_facts::MessageFacts;
use crate::reduction::symmetric_verdicts::SymmetricVerdicts;
use crate::reduction::symmetry::{Symmetry, SymmetryError};

mod admission;
mod judging;

/// Search of global states that leaves out messages, events and states that can matter to no property.
///
/// - A *dead* message is taken out of flight.
/// - A *sink* is deferred: it stays in flight, and instead of its delivery the local states that it could lead to are
///   judged.
/// - Of two states that differ only in their messages in flight, the one with fewer is left out: in a network without order a
///   message in flight disables nothing.
/// - An event that changes nothing and sends nothing is left out for the same reason.
/// - Of two states that differ only in the names of interchangeable nodes, one is left out.
///
/// Guarantee: every reported violation is reachable.
/// Complete: within the bounds, for properties of local states, which are all that exist.
/// Explores: global states breadth-first; again from the start if a fact about messages that was used turns out wrong
/// (see `reduction/message_facts.rs`).
/// Honours: local-event and state bounds, the monitor. Not the bound on depth: the omissions make paths shorter.
///
/// Why nothing is missed: assume that the last search has used facts that are true of all local steps it has taken. By
/// induction over an execution, it has a state for each state of the execution. Their local states are the same except for
/// deferred sinks in flight, and it has every message in flight that is in flight in the execution and not dead. A delivery
/// that was left out because it is dead, a sink, or idle keeps that true by the facts proven about it; any other event was
/// taken there too, and commutes with the deferred sinks.
pub fn explore(search: &Search<'_>) -> Result<Report, SearchError> {
    let mut stepper = Stepper::new(search.lts)?;
    if !search.bounds.no_symmetry {
        match explore_up_to_symmetry(search, &mut stepper) {
            Ok(Some(report)) => return Ok(report),
            Ok(None) => {}
            Err(SymmetryError::Machine(error)) => return Err(error.into()),
            Err(SymmetryError::Asymmetric(why)) => {
                let mut report = explore_each(search, &mut stepper)?;
                report.symmetry = Some(SymmetryUse::Refused(why));
                return Ok(report);
            }
        }
    }
    explore_each(search, &mut stepper)
}

/// Searches with the interchangeable nodes that the protocol declares; none if it declares nothing.
fn explore_up_to_symmetry(search: &Search<'_>, stepper: &mut Stepper<'_>) -> Result<Option<Report>, SymmetryError> {
    let Some(mut symmetry) = Symmetry::declared(stepper, search.starts)? else { return Ok(None) };
    let mut report = repeat(search, stepper, Some(&mut symmetry))?;
    report.symmetry = Some(SymmetryUse::Renamings(symmetry.size() as u64));
    Ok(Some(report))
}

/// Searches without symmetry.
fn explore_each(search: &Search<'_>, stepper: &mut Stepper<'_>) -> Result<Report, SearchError> {
    repeat(search, stepper, None).map_err(|error| match error {
        SymmetryError::Machine(error) => error.into(),
        SymmetryError::Asymmetric(why) => unreachable!("nothing is renamed: {why}"),
    })
}

/// Searches until the facts that were used hold.
fn repeat(
    search: &Search<'_>,
    stepper: &mut Stepper<'_>,
    mut symmetry: Option<&mut Symmetry>,
) -> Result<Report, SymmetryError> {
    let mut facts = MessageFacts::default();
    loop {
        facts.begin();
        let mut pass = Pass::new(search, stepper, &mut facts, symmetry.as_deref_mut());
        let end = match pass.explore() {
            Err(SymmetryError::Machine(MachineError::Stopped(why))) => why.into(),
            end => end?,
        };
        let mut report = pass.finish(end);
        // Violations are reachable whether or not the facts hold; their absence counts only if they hold.
        let is_final = !matches!(end, EndCondition::SpaceExhausted | EndCondition::LocalEventBound)
            || match facts.is_stale(stepper) {
                Err(MachineError::Stopped(why)) => {
                    report.end = why.into();
                    true
                }
                is_stale => !is_stale?,
            };
        if is_final {
            report.count_local(search.lts);
            return Ok(report);
        }
    }
}

/// A state that was found.
struct FoundState {
    /// The state from which it was found; none for a start state.
    parent: Option<u32>,
    step: Step,
    /// Index of the start state.
    start: u32,
    /// Number of events from there.
    depth: u32,
}

/// A state that waits to be expanded.
struct Waiting {
    found: u32,
    /// Distinguishes it from all others.
    serial: u32,
    state: GlobalState,
}

/// The sets in flight that were seen with one tuple of local states (and of budgets), none inside another one.
#[derive(Default)]
struct Frontier {
    sets: Vec<(u32, Box<[MessageId]>)>,
}

/// The local states that a node can reach with the sinks in flight to it, as the properties see them.
struct Reach {
    /// Each class with sinks that lead there.
    classes: Vec<(ClassId, Vec<MessageId>)>,
    /// A number: the same for all reaches with the same classes.
    kind: u32,
}

/// One search with the facts known so far.
struct Pass<'p, 's, 'l> {
    search: &'s Search<'s>,
    stepper: &'p mut Stepper<'l>,
    facts: &'p mut MessageFacts,
    symmetry: Option<&'p mut Symmetry>,
    verdicts: SymmetricVerdicts,
    /// Steps that were noted for the facts, under all renamings.
    noted: FxHashSet<(LocalStateId, LocalStateId)>,
    /// Facts that were looked up under all renamings. One that has become wrong makes the pass repeat anyway, since it was
    /// used.
    dead: FxHashMap<(LocalStateId, MessageId), bool>,
    sinks: FxHashMap<(LocalStateId, MessageId), bool>,
    budgets: Budgets,
    report: Report,
    found: Vec<FoundState>,
    frontiers: Vec<Frontier>,
    frontier_of: FxHashMap<Box<[u32]>, u32>,
    queue: VecDeque<Waiting>,
    /// The serial numbers of states that a later one has made superfluous.
    superseded: FxHashSet<u32>,
    serials: u32,
    transitions: u64,
    /// States renamed and compared to find out whether a state is known.
    steps: u64,
    kept: u64,
    /// Heap bytes of the entries of the frontiers, the queue and the tables.
    heap: usize,
    /// Classes that a node can reach by sinks, for each local state and sinks in flight; judged when they are new.
    reaches: FxHashMap<(LocalStateId, Box<[MessageId]>), u32>,
    reach_lists: Vec<Reach>,
    kinds: FxHashMap<Vec<ClassId>, u32>,
    /// Tuples of kinds that were judged.
    judged: FxHashSet<Box<[u32]>>,
    collected: BTreeSet<Box<[LocalStateId]>>,
    schedule: CheckSchedule,
}

impl<'p, 's, 'l> Pass<'p, 's, 'l> {
    fn new(
        search: &'s Search<'s>,
        stepper: &'p mut Stepper<'l>,
        facts: &'p mut MessageFacts,
        symmetry: Option<&'p mut Symmetry>,
    ) -> Self {
        Self {
            search,
            stepper,
            facts,
            symmetry,
            verdicts: SymmetricVerdicts::default(),
            noted: FxHashSet::default(),
            dead: FxHashMap::default(),
            sinks: FxHashMap::default(),
            budgets: Budgets::new(search.lts.scenario().nodes as usize, &search.bounds),
            report: Report::new(search.lts).collecting(&search.bounds),
            found: Vec::new(),
            frontiers: Vec::new(),
            frontier_of: FxHashMap::default(),
            queue: VecDeque::new(),
            superseded: FxHashSet::default(),
            serials: 0,
            transitions: 0,
            steps: 0,
            kept: 0,
            heap: 0,
            reaches: FxHashMap::default(),
            reach_lists: Vec::new(),
            kinds: FxHashMap::default(),
            judged: FxHashSet::default(),
            collected: BTreeSet::new(),
            schedule: CheckSchedule::default(),
        }
    }

    fn explore(&mut self) -> Result<EndCondition, SymmetryError> {
        for (index, start) in (0..).zip(self.search.starts) {
            let state = GlobalState::new(self.stepper.known(), start);
            let step = Step { node: 0, trigger: Trigger::NONE, outcome: 0 };
            if self.enter(state, FoundState { parent: None, step, start: index, depth: 0 })? {
                return Ok(EndCondition::Violation);
            }
        }
        let mut end = EndCondition::SpaceExhausted;
        let (mut enabled, mut children) = (Vec::new(), Vec::new());
        while let Some(waiting) = self.queue.pop_front() {
            self.heap -= waiting.state.heap_bytes();
            if self.superseded.remove(&waiting.serial) {
                continue;
            }
            let Waiting { state, found, .. } = waiting;
            self.report.levels.count(self.found[found as usize].depth, 1);
            if state.enabled(self.stepper, &self.budgets, &mut enabled)? {
                end = EndCondition::LocalEventBound;
            }
            if self.symmetry.is_some() {
                self.check_roles(&state)?;
            }
            for &(node, trigger) in &enabled {
                let local = state.locals[node as usize];
                if let Some(message) = trigger.message()
                    && self.is_sink(local, message)?
                {
                    continue;
                }
                if let Some(symmetry) = &mut self.symmetry {
                    symmetry.check(self.stepper, local, trigger)?;
                }
                let row = self.stepper.step(local, trigger)?;
                GlobalState::push_children(self.stepper.known(), node, trigger, row, &mut children);
            }
            // Each message of each successor is examined.
            let work = 1 + children.len() * state.in_flight.len();
            for child in children.drain(..) {
                if self.take(&state, found, &child)? {
                    return Ok(EndCondition::Violation);
                }
                if self.schedule.has_grown(self.bytes() as u64)
                    && let Some(end) = self.search.monitor.check(&self.progress())
                {
                    return Ok(end);
                }
            }
            if self.search.bounds.states.is_some_and(|max| self.kept >= max) {
                return Ok(EndCondition::StateBound);
            }
            if self.schedule.is_check_due_after(self.stepper, work)
                && let Some(end) = self.search.monitor.check(&self.progress())
            {
                return Ok(end);
            }
        }
        self.report.levels.end();
        Ok(end)
    }

    /// Where there are quorums, compares the roles of messages in flight with the roles of the renamed ones: then renamed
    /// states have the renamed quorums.
    fn check_roles(&mut self, state: &GlobalState) -> Result<(), SymmetryError> {
        let Some(symmetry) = &mut self.symmetry else { return Ok(()) };
        for message in &state.in_flight {
            let node = self.stepper.known().destination(*message);
            let local = state.locals[node as usize];
            if self.stepper.known().takes_quorums(node) && !self.stepper.known().brief(local).is_stuck {
                symmetry.check(self.stepper, local, Trigger::deliver(*message))?;
            }
        }
        Ok(())
    }

    /// Takes a step; returns whether it leads to a violation.
    fn take(&mut self, state: &GlobalState, found: u32, child: &Child) -> Result<bool, SymmetryError> {
        let Child { step, row, next, .. } = *child;
        let before = state.locals[step.node as usize];
        if next == before && self.stepper.outcomes(row)[step.outcome as usize].sent.is_empty() {
            return Ok(false);
        }
        self.transitions += 1;
        match &self.symmetry {
            None => self.facts.note_step(self.stepper, before, next)?,
            Some(_) if !self.noted.insert((before, next)) => {}
            Some(symmetry) => {
                for (before, next) in symmetry.states(before).iter().zip(&*symmetry.states(next)) {
                    self.facts.note_step(self.stepper, *before, *next)?;
                }
            }
        }
        let mut after = state.clone();
        after.take(self.stepper.known(), &self.budgets, step, row);
        let FoundState { start, depth, .. } = self.found[found as usize];
        self.enter(after, FoundState { parent: Some(found), step, start, depth: depth + 1 })
    }

    /// Whether a message in flight can be left out; with symmetry, under every renaming. So the facts that are used are closed
    /// under renaming, as are the steps on which they rest.
    fn is_dead(&mut self, local: LocalStateId, message: MessageId) -> Result<bool, SymmetryError> {
        let Some(symmetry) = &mut self.symmetry else {
            return Ok(self.facts.is_dead(self.stepper, local, message)?);
        };
        if let Some(known) = self.dead.get(&(local, message)) {
            return Ok(*known);
        }
        let mut is_dead = true;
        let messages = symmetry.messages(self.stepper, message)?;
        for (local, message) in symmetry.states(local).iter().zip(&*messages) {
            is_dead &= self.facts.is_dead(self.stepper, *local, *message)?;
        }
        self.dead.insert((local, message), is_dead);
        Ok(is_dead)
    }

    /// Whether a message in flight can be deferred; with symmetry, under every renaming.
    fn is_sink(&mut self, local: LocalStateId, message: MessageId) -> Result<bool, SymmetryError> {
        let Some(symmetry) = &mut self.symmetry else { return Ok(self.facts.is_sink(local, message)) };
        if let Some(known) = self.sinks.get(&(local, message)) {
            return Ok(*known);
        }
        let mut is_sink = true;
        let messages = symmetry.messages(self.stepper, message)?;
        for (local, message) in symmetry.states(local).iter().zip(&*messages) {
            is_sink &= self.facts.is_sink(*local, *message);
        }
        self.sinks.insert((local, message), is_sink);
        Ok(is_sink)
    }

    /// Bytes kept, from the capacities of the containers.
    fn bytes(&self) -> usize {
        let vectors = self.found.capacity() * size_of::<FoundState>()
            + self.frontiers.capacity() * size_of::<Frontier>()
            + self.queue.capacity() * size_of::<Waiting>()
            + self.reach_lists.capacity() * size_of::<Reach>();
        let tables = table_bytes::<(Box<[u32]>, u32)>(self.frontier_of.capacity())
            + table_bytes::<u32>(self.superseded.capacity())
            + table_bytes::<((LocalStateId, Box<[MessageId]>), u32)>(self.reaches.capacity())
            + table_bytes::<Box<[u32]>>(self.judged.capacity())
            + table_bytes::<(LocalStateId, LocalStateId)>(self.noted.capacity())
            + table_bytes::<((LocalStateId, MessageId), bool)>(self.dead.capacity() + self.sinks.capacity())
            + table_bytes::<(Vec<ClassId>, u32)>(self.kinds.capacity());
        // A tuple in a B-tree takes twice its size, as a node of the tree is at least half full.
        let collected = self.collected.len() * (2 * size_of::<Box<[LocalStateId]>>() + self.budgets.nodes() * 4);
        let symmetry = self.symmetry.as_ref().map_or(0, |symmetry| symmetry.bytes());
        self.heap + vectors + tables + collected + self.facts.bytes() + symmetry + self.verdicts.bytes()
    }

    fn progress(&self) -> Progress {
        let counts =
            Counts { global_states: Some(self.kept), transitions: Some(self.transitions), ..Counts::default() };
        let bytes = self.bytes() as u64 + self.search.lts.counts().bytes;
        Progress { counts, steps: self.steps, depth: self.report.depth, queue: self.queue.len() as u64, bytes }
    }

    fn finish(self, end: EndCondition) -> Report {
        let mut counts = self.progress().counts;
        if self.search.bounds.count_system_states {
            counts.system_states = Some(self.collected.len() as u64);
        }
        let system_states = self.search.collect_system_states.then(|| self.collected.into_iter().collect());
        Report { end, counts, system_states, ..self.report }
    }
}
