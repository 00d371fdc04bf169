//! Facts common to all paths to a local state, and the messages that therefore have no second copy.

use host_model::lts::Trigger;
use rustc_hash::FxHashSet;

use super::{Edge, Index, KnownMessage, Label, LocalSpace, MayContinue, Slots, slots};

impl<'l> LocalSpace<'l> {
    /// Updates the facts about paths to a state for a new edge to it, and those of its successors. Returns whether to
    /// continue.
    pub(super) fn propagate(&mut self, from: Index, edge: Edge, may_continue: &mut MayContinue<'_, 'l>) -> bool {
        let mut changed = Vec::new();
        if self.relax(from, edge) {
            changed.push(edge.to);
        }
        while let Some(from) = changed.pop() {
            for index in 0..self.states[from.0 as usize].successors.len() {
                let edge = self.states[from.0 as usize].successors[index];
                if self.relax(from, edge) {
                    changed.push(edge.to);
                }
                self.looks += 1;
                if !self.may_continue(1, may_continue) {
                    return false;
                }
            }
        }
        true
    }

    /// Adds the paths through one edge to the facts about its head; returns whether these changed.
    fn relax(&mut self, from: Index, edge: Edge) -> bool {
        let Edge { to, label } = edge;
        let event = if let Label::Local(event) = label { Some(event as usize) } else { None };
        let ends = self.states.get_disjoint_mut([from.0 as usize, to.0 as usize]);
        let Ok([source, target]) = ends else {
            // A path that returns has consumed no less than before, and has taken the event, if it is a local one.
            let state = &mut self.states[to.0 as usize];
            let is_new = |event: &usize| !state.taken.contains(*event);
            let new = event.filter(is_new);
            new.iter().for_each(|event| state.taken.insert(*event));
            return new.is_some();
        };
        let local_events = source.local_events + u32::from(event.is_some());
        let mut is_changed = target.consumed.intersect(&source.consumed, slots(&label, &self.quorums));
        is_changed |= target.taken.unite(&source.taken, event);
        is_changed |= local_events < target.local_events;
        target.local_events = target.local_events.min(local_events);
        is_changed
    }

    /// Finds the messages that never have a second copy in an execution: a path that has consumed such a message need
    /// not try it again.
    ///
    /// There is one copy at the start and nothing sends another; or only one trigger sends it, one copy at a time, and
    /// that trigger never happens twice: a single message, a quorum with one, or a local event that no path can repeat. A message found
    /// single for lack of knowledge is corrected by a later pass, before the space is declared complete. Taken
    /// together the claims are sound: the first second copy in an execution would need a second occurrence of its
    /// trigger, hence an earlier second copy. Returns whether to continue.
    pub(super) fn find_single(&mut self, may_continue: &mut MayContinue<'_, 'l>) -> bool {
        let mut repeatable: FxHashSet<usize> = FxHashSet::default();
        for index in 0..self.states.len() {
            let reached = &self.states[index];
            let state = self.lts.state(reached.state);
            let events = state.protocol.local_events.iter().map(|event| event.0 as usize);
            repeatable.extend(events.filter(|event| reached.taken.contains(*event)));
            if !self.may_continue(1 + state.protocol.local_events.len() as u64, may_continue) {
                return false;
            }
        }
        let mut is_single = vec![true; self.known.len()];
        loop {
            let mut changed = false;
            for known in 0..self.known.len() {
                if is_single[known] && !self.happens_once(known, &is_single, &repeatable) {
                    is_single[known] = false;
                    changed = true;
                }
                if !self.may_continue(1, may_continue) {
                    return false;
                }
            }
            if !changed {
                break;
            }
        }
        for (inbox, single) in self.inboxes.iter().zip(&mut self.single) {
            for (slot, known) in inbox.iter().enumerate() {
                if is_single[*known] { single.insert(slot) } else { single.remove(slot) }
            }
        }
        true
    }

    fn happens_once(&self, known: usize, is_single: &[bool], repeatable: &FxHashSet<usize>) -> bool {
        let KnownMessage { triggers, at_start, copies, .. } = &self.known[known];
        let max = *at_start as usize + triggers.len() * *copies as usize;
        let happens_once = |trigger: &Trigger| match (trigger.message(), trigger.local_event()) {
            (Some(message), _) => is_single[self.known_of[&message]],
            (_, Some(event)) => !repeatable.contains(&(event.0 as usize)),
            _ => match (trigger.quorum(), trigger.fault()) {
                (Some(quorum), _) => {
                    let Slots { node, slots } = &self.quorums[&quorum];
                    slots.iter().any(|slot| is_single[self.inboxes[*node as usize][*slot as usize]])
                }
                (None, fault) => fault.is_some_and(|fault| self.lts.scenario().faults.of(fault.id()) <= 1),
            },
        };
        max <= 1 && triggers.iter().all(happens_once)
    }
}
