//! The search: states of the new system, each with the states in which the old one can be.
//!
//! Both systems run in lock-step. After a sequence of views, the old system can be in a set of states: those that executions with this
//! sequence reach. So a pair consists of a state of the new system and such a set. An event of the new system that changes no view leaves
//! the set; one that changes a view leads to the set of states that the old system reaches by one change to the same view, with any
//! number of events that change none before and after it. If there are none, the old system cannot show the sequence.
//!
//! The search is breadth first over pairs, so the first difference has the fewest events of the new system. A pair is left out if the
//! state was reached before with a part of its set: each difference behind it is one behind the earlier pair, and not longer there.
//!
//! Guarantee: a difference is one. Complete: yes, if it ends without a bound; that needs finitely many states of both. Memory: all
//! states of both systems, and the sets: there can be exponentially many.
//! Source: the subset construction, and antichains: De Wulf, Doyen, Henzinger, Raskin, "Antichains: a new algorithm for checking
//! universality of finite automata", CAV 2006. Differs in the breadth-first order, which keeps the difference a shortest one.

use std::collections::BTreeSet;

use host_model::contract::{MachineError, NodeId, Stop};
use host_model::lts::Step;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::sets::{SetId, Sets};
use crate::system::{Side, StateId, System, changed};
use crate::verdict::{ALTERNATIVES_MAX, Bound, Counts, Difference, Judgement, Verdict};
use crate::views::{Field, GlobalView, NodeView, View, Views};

/// The number of states between two readings of the clock.
const POLL_INTERVAL: u64 = 64;

/// The monitor of a search: when to stop, and how many bytes are too many.
pub trait Monitor: Stop {
    /// Whether this number of bytes, kept for the search alone, is too much.
    fn is_too_much(&self, bytes: u64) -> bool;
}

/// The bounds of a search besides those of its monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The most events of the new system; none for no limit.
    pub events_max: Option<u32>,
}

/// Compares the sequences of views of two systems. The fields say which parts of a description are compared: all of it without any.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn refine(
    new: Side<'_, '_>,
    old: Side<'_, '_>,
    fields: Vec<Field>,
    bounds: Bounds,
    monitor: &dyn Monitor,
) -> Result<Judgement, MachineError> {
    let mut search = Search {
        new: System::new(new),
        old: System::new(old),
        views: Views::new(fields),
        sets: Sets::default(),
        pairs: Vec::new(),
        reached: FxHashMap::default(),
        next_sets: FxHashMap::default(),
        monitor,
        polls: 0,
        reached_bytes: 0,
        events: 0,
    };
    let verdict = match search.run(bounds) {
        Ok(End::Refines) => Verdict::Refines,
        Ok(End::Bound(bound)) => Verdict::Undecided(bound),
        Ok(End::Differs(difference)) => Verdict::Differs(difference),
        Err(MachineError::Stopped(stopped)) => Verdict::Undecided(stopped.into()),
        Err(error) => return Err(error),
    };
    let counts = Counts {
        new_states: search.new.len() as u64,
        old_states: search.old.len() as u64,
        sets: search.sets.len() as u64,
        pairs: search.pairs.len() as u64,
        events: search.events,
    };
    let are_described = [search.new.is_described, search.old.is_described];
    Ok(Judgement { verdict, counts, unknown_fields: search.views.unknown_fields(), are_described })
}

enum End {
    Refines,
    Differs(Box<Difference>),
    Bound(Bound),
}

/// The reason for the end of a search: an error of the host, or a bound.
enum Halt {
    Machine(MachineError),
    Bound(Bound),
}

impl From<MachineError> for Halt {
    fn from(error: MachineError) -> Self {
        Self::Machine(error)
    }
}

/// A state of the new system, with the states in which the old one can be.
#[derive(Clone, Copy)]
struct Pair {
    state: StateId,
    set: SetId,
    /// The pair before it, and the step from there; none at a start.
    from: Option<(u32, Step)>,
    /// The number of its start.
    start: u32,
}

struct Search<'n, 'nl, 'o, 'ol, 'm> {
    new: System<'n, 'nl>,
    old: System<'o, 'ol>,
    views: Views,
    sets: Sets,
    /// In the order in which they were reached.
    pairs: Vec<Pair>,
    /// The sets with which a state of the new system was reached, none of them a part of another.
    reached: FxHashMap<StateId, Vec<SetId>>,
    /// The set behind a change to a view; none if the old system cannot show it.
    next_sets: FxHashMap<(SetId, GlobalView), Option<SetId>>,
    monitor: &'m dyn Monitor,
    polls: u64,
    reached_bytes: usize,
    /// The number of events up to which everything was compared.
    events: u32,
}

impl Search<'_, '_, '_, '_, '_> {
    fn run(&mut self, bounds: Bounds) -> Result<End, MachineError> {
        match self.levels(bounds) {
            Ok(end) => Ok(end),
            Err(Halt::Bound(bound)) => Ok(End::Bound(bound)),
            Err(Halt::Machine(error)) => Err(error),
        }
    }

    fn levels(&mut self, bounds: Bounds) -> Result<End, Halt> {
        let old = self.old.starts(&mut self.views)?;
        for (start, state) in (0..).zip(self.new.starts(&mut self.views)?) {
            let view = self.new.view(state);
            let same = old.iter().copied().filter(|old| self.old.view(*old) == view).collect();
            match self.closed(same)? {
                Some(set) => self.reach(Pair { state, set, from: None, start }),
                None => return Ok(End::Differs(Box::new(self.without_start(start, view, &old)))),
            }
        }
        let mut level = 0..self.pairs.len();
        while !level.is_empty() {
            if bounds.events_max.is_some_and(|max| self.events >= max) {
                return Ok(End::Bound(Bound::Events(self.events)));
            }
            for number in level.clone() {
                if let Some(difference) = self.expand(number as u32)? {
                    return Ok(End::Differs(Box::new(difference)));
                }
            }
            self.events += 1;
            level = level.end..self.pairs.len();
        }
        Ok(End::Refines)
    }

    /// Takes all events of the new system in a pair. Returns a difference if one of them leads to it.
    fn expand(&mut self, number: u32) -> Result<Option<Difference>, Halt> {
        let Pair { state, set, start, .. } = self.pairs[number as usize];
        let view = self.new.view(state);
        self.poll()?;
        for (step, next) in self.new.successors(state, &mut self.views)?.iter().copied() {
            let next_view = self.new.view(next);
            let next_set = if next_view == view { Some(set) } else { self.next_set(set, next_view)? };
            match next_set {
                Some(set) => self.reach(Pair { state: next, set, from: Some((number, step)), start }),
                None => return self.difference(number, step, next_view).map(Some),
            }
        }
        Ok(None)
    }

    /// Adds a pair, unless the state was reached with a part of its set.
    fn reach(&mut self, pair: Pair) {
        let sets = self.reached.entry(pair.state).or_default();
        if sets.iter().any(|known| self.sets.is_subset(*known, pair.set)) {
            return;
        }
        sets.retain(|known| !self.sets.is_subset(pair.set, *known));
        sets.push(pair.set);
        self.reached_bytes += 2 * size_of::<Pair>() + size_of::<SetId>();
        self.pairs.push(pair);
    }

    /// The states of the old system behind a change to a view; none if there are none.
    fn next_set(&mut self, set: SetId, view: GlobalView) -> Result<Option<SetId>, Halt> {
        if let Some(known) = self.next_sets.get(&(set, view)) {
            return Ok(*known);
        }
        let mut behind = Vec::new();
        for member in self.sets.members(set).iter() {
            self.poll()?;
            let successors = self.old.successors(*member, &mut self.views)?;
            behind.extend(successors.iter().map(|(_, next)| *next).filter(|next| self.old.view(*next) == view));
        }
        let next = self.closed(behind)?;
        self.reached_bytes += 2 * size_of::<((SetId, GlobalView), Option<SetId>)>();
        self.next_sets.insert((set, view), next);
        Ok(next)
    }

    /// The set of states of one view with all that events without a change lead to; none without states.
    fn closed(&mut self, states: Vec<StateId>) -> Result<Option<SetId>, Halt> {
        // The ids of states depend on the order in which they are reached, and reach no output; a fixed order makes runs alike.
        let mut left = states;
        left.sort_unstable();
        left.dedup();
        let mut members: FxHashSet<StateId> = left.iter().copied().collect();
        while let Some(state) = left.pop() {
            self.poll()?;
            let view = self.old.view(state);
            for (_, next) in self.old.successors(state, &mut self.views)?.iter() {
                if self.old.view(*next) == view && members.insert(*next) {
                    left.push(*next);
                }
            }
        }
        let mut members: Vec<StateId> = members.into_iter().collect();
        members.sort_unstable();
        Ok((!members.is_empty()).then(|| self.sets.id(&members)))
    }

    fn poll(&mut self) -> Result<(), Halt> {
        self.polls += 1;
        if !self.polls.is_multiple_of(POLL_INTERVAL) {
            return Ok(());
        }
        if let Some(stopped) = self.monitor.reason() {
            return Err(Halt::Bound(stopped.into()));
        }
        let bytes = self.new.bytes + self.old.bytes + self.views.bytes + self.sets.bytes + self.reached_bytes;
        match self.monitor.is_too_much(bytes as u64) {
            true => Err(Halt::Bound(Bound::Memory)),
            false => Ok(()),
        }
    }

    /// The difference behind a step from a pair.
    fn difference(&mut self, number: u32, step: Step, view: GlobalView) -> Result<Difference, Halt> {
        let Pair { state, set, start, .. } = self.pairs[number as usize];
        let (before, members) = (self.new.view(state), self.sets.members(set));
        let mut path = vec![step];
        let mut at = self.pairs[number as usize];
        while let Some((from, step)) = at.from {
            path.push(step);
            at = self.pairs[from as usize];
        }
        path.reverse();
        let mut others: Vec<GlobalView> = Vec::new();
        for member in members.iter() {
            let successors = self.old.successors(*member, &mut self.views)?;
            others.extend(successors.iter().map(|(_, next)| self.old.view(*next)).filter(|other| *other != before));
        }
        let nodes = self.views.nodes(before);
        let node = changed(nodes, self.views.nodes(view));
        Ok(Difference {
            start: start as usize,
            path,
            views: self.shown(view),
            before: Some((node, self.views.view(nodes[node as usize]).clone())),
            old_states: members.len(),
            alternatives: self.alternatives(before, others),
        })
    }

    /// The difference of a start whose view no start of the old system has.
    fn without_start(&self, start: u32, view: GlobalView, old: &[StateId]) -> Difference {
        let others = old.iter().map(|other| self.old.view(*other)).collect();
        Difference {
            start: start as usize,
            path: Vec::new(),
            views: self.shown(view),
            before: None,
            old_states: old.len(),
            alternatives: self.alternatives(view, others),
        }
    }

    /// The views that differ from those of a state, by node.
    fn alternatives(&self, from: GlobalView, others: Vec<GlobalView>) -> Vec<(NodeId, View)> {
        let nodes = self.views.nodes(from);
        let mut found: Vec<(NodeId, NodeView)> = Vec::new();
        for other in others.into_iter().collect::<BTreeSet<_>>() {
            let other = self.views.nodes(other);
            let node = changed(nodes, other);
            found.push((node, other[node as usize]));
        }
        self.views.sort(&mut found);
        found.dedup();
        found.into_iter().take(ALTERNATIVES_MAX).map(|(node, id)| (node, self.views.view(id).clone())).collect()
    }

    fn shown(&self, view: GlobalView) -> Vec<View> {
        self.views.nodes(view).iter().map(|node| self.views.view(*node).clone()).collect()
    }
}
