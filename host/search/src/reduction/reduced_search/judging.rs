//! Judgements on a state and on all states that it leads to by sinks.

use std::collections::BTreeSet;

use host_model::contract::{ClassId, Judgement, MachineError, NodeId};
use host_model::lts::{LocalStateId, MessageId, Step, Trigger};
use host_model::trace::start::Start;

use crate::global::state::GlobalState;
use crate::kernel::{Judged, judge_system_state, tuples, unless_stopped};
use crate::reduction::reduced_search::{Pass, Reach};
use crate::reduction::symmetry::SymmetryError;

impl<'s> Pass<'_, 's, '_> {
    /// Judges a state and all states that it leads to by sinks; returns whether one is bad.
    pub(super) fn judge(&mut self, state: &GlobalState, found: u32) -> Result<bool, SymmetryError> {
        let mut sinks: Vec<Vec<MessageId>> = vec![Vec::new(); state.locals.len()];
        let is_over = self.stepper.known().is_over(&state.locals);
        if is_over {
            // The other nodes are in their states before the trap.
            let judged = judge_system_state(self.stepper, &state.locals);
            if self.note_judged(found, &[], judged)? {
                return Ok(true);
            }
        }
        // A trap comes last, except in a start state, which no event precedes.
        let is_start = self.found[found as usize].parent.is_none();
        for message in state.in_flight.iter().filter(|_| !(is_over && is_start)) {
            let to = self.stepper.message(*message).to as usize;
            if !self.stepper.state(state.locals[to]).is_stuck() && self.is_sink(state.locals[to], *message)? {
                sinks[to].push(*message);
            }
        }
        if self.search.collect_system_states || self.search.bounds.count_system_states {
            self.collect(state, &sinks)?;
        }
        if is_over {
            return Ok(false);
        }
        let mut tuple = Vec::with_capacity(sinks.len());
        for (node, (local, sinks)) in (0..).zip(state.locals.iter().zip(&sinks)) {
            let Some(reach) = self.reach(node, *local, sinks, found)? else { return Ok(true) };
            tuple.push(reach);
        }
        let is_new = self.judged.insert(tuple.iter().map(|reach| self.reach_lists[*reach as usize].kind).collect());
        self.heap += if is_new { tuple.len() * size_of::<u32>() } else { 0 };
        if is_new && self.judge_tuple(&tuple, found)? {
            return Ok(true);
        }
        if let Some(symmetry) = &mut self.symmetry {
            self.verdicts.check(self.stepper, self.facts, symmetry, &state.locals, &sinks)?;
        }
        Ok(false)
    }

    /// The local states that a node can reach by sinks; a new one is judged by itself. None if one is bad.
    fn reach(
        &mut self,
        node: NodeId,
        local: LocalStateId,
        sinks: &[MessageId],
        found: u32,
    ) -> Result<Option<u32>, MachineError> {
        if let Some(known) = self.reaches.get(&(local, sinks.into())) {
            return Ok(Some(*known));
        }
        let mut classes: Vec<(ClassId, Vec<MessageId>)> = Vec::new();
        let alone = (local, Vec::new());
        let closure = self.facts.closure(self.stepper, local, sinks)?;
        let states = closure.as_ref().map_or(std::slice::from_ref(&alone), |closure| &closure.states);
        for (state, delivered) in states {
            let (class, judgements) = {
                let state = self.stepper.state(*state);
                (state.protocol.class, state.protocol.judgements.to_vec())
            };
            let judgements = judgements.into_iter().map(|judgement| (Some(node), judgement)).collect();
            if self.note(found, &[(node, delivered)], judgements)? {
                return Ok(None);
            }
            if classes.iter().all(|(other, _)| *other != class) {
                classes.push((class, delivered.clone()));
            }
        }
        classes.sort_unstable();
        self.heap += classes.len() * size_of::<ClassId>();
        let fresh = self.kinds.len() as u32;
        let kind = *self.kinds.entry(classes.iter().map(|(class, _)| *class).collect()).or_insert(fresh);
        let index = self.reach_lists.len() as u32;
        let delivered: usize = classes.iter().map(|(_, messages)| messages.capacity()).sum();
        self.heap += classes.capacity() * size_of::<(ClassId, Vec<MessageId>)>()
            + (delivered + sinks.len()) * size_of::<MessageId>();
        self.reach_lists.push(Reach { classes, kind });
        self.reaches.insert((local, sinks.into()), index);
        Ok(Some(index))
    }

    /// Judges every tuple of classes of a tuple of reaches; returns whether one is bad.
    fn judge_tuple(&mut self, tuple: &[u32], found: u32) -> Result<bool, MachineError> {
        let lists: Vec<Vec<usize>> =
            tuple.iter().map(|reach| (0..self.reach_lists[*reach as usize].classes.len()).collect()).collect();
        for choice in tuples::all(&lists) {
            let chosen = |node: usize| &self.reach_lists[tuple[node] as usize].classes[choice[node]];
            let classes: Vec<ClassId> = (0..tuple.len()).map(|node| chosen(node).0).collect();
            let judged = Judged::default().and_tuple(self.stepper, &classes);
            if judged.judgements.is_empty() && judged.stopped.is_none() {
                continue;
            }
            let delivered: Vec<Vec<MessageId>> = (0..tuple.len()).map(|node| chosen(node).1.clone()).collect();
            let delivered: Vec<(NodeId, &Vec<MessageId>)> = (0..).zip(&delivered).collect();
            if self.note_judged(found, &delivered, judged)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The same as [`note`](Self::note) for a state whose judging can have been stopped.
    fn note_judged(
        &mut self,
        found: u32,
        delivered: &[(NodeId, &Vec<MessageId>)],
        judged: Judged,
    ) -> Result<bool, MachineError> {
        let is_over = self.note(found, delivered, judged.judgements)?;
        unless_stopped(is_over, judged.stopped)
    }

    /// Notes the judgements of a state after sinks were delivered; returns whether the search is to end with it.
    fn note(
        &mut self,
        found: u32,
        delivered: &[(NodeId, &Vec<MessageId>)],
        judgements: Vec<(Option<NodeId>, Judgement)>,
    ) -> Result<bool, MachineError> {
        if !judgements.iter().any(|(node, judgement)| self.report.is_news(*node, judgement)) {
            return Ok(false);
        }
        let (start, mut path) = self.path(found);
        let mut locals = self.replay(start, &path)?;
        for (node, messages) in delivered {
            path.extend(self.order(*node, &mut locals[*node as usize], messages)?);
        }
        Ok(self.search.note(&mut self.report, start, &path, judgements))
    }

    /// The start state and the steps that lead to a found state.
    fn path(&self, found: u32) -> (&'s Start, Vec<Step>) {
        let mut path = Vec::new();
        let mut at = &self.found[found as usize];
        while let Some(parent) = at.parent {
            path.push(at.step);
            at = &self.found[parent as usize];
        }
        path.reverse();
        (&self.search.starts[at.start as usize], path)
    }

    /// The local states after a path.
    fn replay(&mut self, start: &Start, path: &[Step]) -> Result<Vec<LocalStateId>, MachineError> {
        let mut locals = start.locals.clone();
        for step in path {
            let local = &mut locals[step.node as usize];
            let row = self.stepper.step(*local, step.trigger)?;
            *local = self.stepper.outcomes(row)[step.outcome as usize].next;
        }
        Ok(locals)
    }

    /// The deliveries of sinks as steps.
    fn order(
        &mut self,
        node: NodeId,
        local: &mut LocalStateId,
        messages: &[MessageId],
    ) -> Result<Vec<Step>, MachineError> {
        let mut steps = Vec::with_capacity(messages.len());
        for message in messages {
            let trigger = Trigger::deliver(*message);
            let row = self.stepper.step(*local, trigger)?;
            *local = self.stepper.outcomes(row)[0].next;
            steps.push(Step { node, trigger, outcome: 0 });
        }
        Ok(steps)
    }

    /// Collects all system states that a state, or a renamed one, leads to by sinks.
    fn collect(&mut self, state: &GlobalState, sinks: &[Vec<MessageId>]) -> Result<(), SymmetryError> {
        for renaming in 0..self.symmetry.as_ref().map_or(1, |symmetry| symmetry.size()) {
            let mut lists: Vec<Vec<LocalStateId>> = vec![Vec::new(); sinks.len()];
            for (node, (local, sinks)) in state.locals.iter().zip(sinks).enumerate() {
                let (node, local, sinks) = match &mut self.symmetry {
                    None => (node, *local, sinks.clone()),
                    Some(symmetry) => (
                        symmetry.node(renaming, node),
                        symmetry.states(*local)[renaming],
                        symmetry.rename_messages(self.stepper, renaming, sinks)?,
                    ),
                };
                let closure = self.facts.closure(self.stepper, local, &sinks)?;
                let states = closure.iter().flat_map(|closure| closure.states.iter().map(|(state, _)| *state));
                let states: BTreeSet<LocalStateId> = states.chain([local]).collect();
                lists[node] = states.into_iter().collect();
            }
            self.collected.extend(tuples::all(&lists).map(Vec::into_boxed_slice));
        }
        Ok(())
    }
}
