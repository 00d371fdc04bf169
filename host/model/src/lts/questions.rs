//! Questions to a protocol other than the execution of its handlers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::contract::{
    ClassId, Fault, Judgement, LocalEvent, MachineError, NodeId, Property, PropertyKind, PropertyScope,
};
use crate::lts::handler::{confirmed, evaluate, owed};
use crate::lts::ids::{LocalEventId, LocalStateId, MessageId};
use crate::lts::stepper::Stepper;
use crate::scenario::Route;

impl Stepper<'_> {
    /// The judgements of the properties of system scope on a tuple of classes, one per node. None if all are neutral, or a node is
    /// stuck.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn judge(&mut self, classes: &[ClassId]) -> Result<Arc<[Judgement]>, MachineError> {
        let (judgements, stopped) = self.judge_until_stopped(classes);
        stopped.map_or(Ok(judgements), Err)
    }

    /// The same, and the reason why some are missing, if they are: those before an error stand. Only complete judgements are kept.
    pub fn judge_until_stopped(&mut self, classes: &[ClassId]) -> (Arc<[Judgement]>, Option<MachineError>) {
        if let Some(known) = self.known.verdict(classes) {
            return (Arc::clone(known), None);
        }
        let mut judgements = Vec::new();
        let is_over = classes.contains(&ClassId::STUCK);
        for (index, property) in (0u32..).zip(&self.lts.properties).filter(|_| !is_over) {
            let views = self.lts.views_of(classes, index);
            // No node can matter: an `always` holds and a `sometimes` is not reached, without a call.
            if views.iter().all(Option::is_none) {
                continue;
            }
            let views: Vec<Option<&[u8]>> = views.iter().map(Option::as_deref).collect();
            self.lts.evaluations.fetch_add(1, Ordering::Relaxed);
            match evaluate(self.machines.first(), index, property.kind, &views) {
                Ok(evaluated) => judgements.extend(evaluated.judgement),
                Err(error) => return (judgements.into(), Some(error)),
            }
        }
        let judgements: Arc<[Judgement]> = judgements.into();
        self.lts.write().grow(size_of_val(classes) + size_of_val(&*judgements));
        self.known.add_verdict(classes, Arc::clone(&judgements));
        (judgements, None)
    }

    /// The `eventually` properties of system scope that do not hold in a tuple of classes, one per node. None if a node is stuck.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn owed(&mut self, classes: &[ClassId]) -> Result<Arc<[u32]>, MachineError> {
        if let Some(known) = self.owed.get(classes) {
            return Ok(Arc::clone(known));
        }
        let mut owed: Vec<u32> = Vec::new();
        let is_asked =
            |property: &Property| property.kind == PropertyKind::Eventually && property.scope == PropertyScope::System;
        let is_over = classes.contains(&ClassId::STUCK);
        for (index, property) in (0u32..).zip(&self.lts.properties).filter(|(_, it)| !is_over && is_asked(it)) {
            // Nodes without a view count, too: the property itself decides, for example, whether it is owed where no leader is known.
            let views = self.lts.views_of(classes, index);
            let views: Vec<Option<&[u8]>> = views.iter().map(Option::as_deref).collect();
            self.lts.evaluations.fetch_add(1, Ordering::Relaxed);
            let is_owed = evaluate(self.machines.first(), index, property.kind, &views)?.is_owed;
            owed.extend(is_owed.then_some(index));
        }
        let owed: Arc<[u32]> = owed.into();
        self.lts.write().grow(size_of_val(classes) + size_of_val(&*owed));
        self.owed.insert(classes.into(), Arc::clone(&owed));
        Ok(owed)
    }

    /// The words in which an `eventually` property does not hold in a system state, at one node if it is of node scope. None if it
    /// holds there.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn owing(
        &mut self,
        property: u32,
        node: Option<NodeId>,
        locals: &[LocalStateId],
    ) -> Result<Option<String>, MachineError> {
        if self.known.is_over(locals) {
            return Ok(None);
        }
        let views: Vec<Option<Arc<[u8]>>> = match node {
            Some(node) => {
                // A class does not have the views of properties of node scope.
                let snapshot = self.state(locals[node as usize]).protocol.snapshot.clone();
                let machine = self.machines.first();
                machine.restore(snapshot.as_ref())?;
                let view = machine.view(property);
                vec![confirmed(machine, view)?.ok().flatten().map(Arc::from)]
            }
            None => {
                let classes: Vec<ClassId> = locals.iter().map(|local| self.known.brief(*local).class).collect();
                self.lts.views_of(&classes, property)
            }
        };
        let views: Vec<Option<&[u8]>> = views.iter().map(Option::as_deref).collect();
        let scope = self.lts.properties[property as usize].scope;
        owed(self.machines.first(), property, scope, &views)
    }

    /// The views of a node in a local state for properties of system scope, by property; none for those of node scope.
    pub fn views(&self, local: LocalStateId) -> Vec<Option<Vec<u8>>> {
        let class = self.known.brief(local).class;
        let of = |property| self.lts.views_of(&[class], property).remove(0).map(|view| view.to_vec());
        (0..self.lts.properties().len() as u32).map(of).collect()
    }

    /// A local state for people, as JSON; none if the protocol does not describe it, cannot, or is stuck in a fault.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn described(&mut self, state: LocalStateId) -> Result<Option<String>, MachineError> {
        let Some(snapshot) = self.state(state).protocol.snapshot.clone() else { return Ok(None) };
        if self.lts.rules.is_absent(self.state(state).protocol.node) {
            return Ok(None);
        }
        let machine = self.machines.first();
        machine.restore(Some(&snapshot))?;
        let described = machine.describe_state();
        Ok(confirmed(machine, described)?.ok().flatten())
    }

    /// Whether a node is done in a local state, by the protocol's answer; false in a fault. Asked once.
    pub(crate) fn is_done(&mut self, state: LocalStateId) -> Result<Result<bool, Fault>, MachineError> {
        if let Some(known) = self.done.get(&state) {
            return Ok(known.clone());
        }
        // No search waits for a node whose state is unknown.
        if self.lts.rules.is_absent(self.state(state).protocol.node) {
            return Ok(Ok(true));
        }
        let snapshot = self.state(state).protocol.snapshot.clone();
        let Some(snapshot) = snapshot else { return Ok(Ok(false)) };
        let machine = self.machines.first();
        machine.restore(Some(&snapshot))?;
        let is_done = machine.is_done();
        let is_done = confirmed(machine, is_done)?;
        self.done.insert(state, is_done.clone());
        Ok(is_done)
    }

    /// The nodes whose states matter to the next steps of a node, as the protocol claims in a local state that is no fault. None
    /// if it names none. Asked once.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn neighbours(&mut self, state: LocalStateId) -> Result<Result<Option<Vec<NodeId>>, Fault>, MachineError> {
        if let Some(known) = self.neighbours.get(&state) {
            return Ok(known.clone());
        }
        let snapshot = self.state(state).protocol.snapshot.clone();
        let Some(snapshot) = snapshot else { return Ok(Ok(None)) };
        let machine = self.machines.first();
        machine.restore(Some(&snapshot))?;
        let neighbours = machine.neighbours();
        let neighbours = confirmed(machine, neighbours)?;
        self.neighbours.insert(state, neighbours.clone());
        Ok(neighbours)
    }

    /// The groups of nodes that the protocol declares to be interchangeable, by its answer in a local state that is no
    /// fault.
    pub fn interchangeable(&mut self, state: LocalStateId) -> Result<Result<Vec<Vec<NodeId>>, Fault>, MachineError> {
        let snapshot = self.state(state).protocol.snapshot.clone();
        let machine = self.machines.first();
        machine.restore(snapshot.as_ref())?;
        let groups = machine.interchangeable();
        confirmed(machine, groups)
    }

    /// The message with each node `i` renamed to `renaming[i]`: in sender, destination and content. Interned.
    pub fn rename_message(
        &mut self,
        message: MessageId,
        renaming: &[NodeId],
    ) -> Result<Result<MessageId, Fault>, MachineError> {
        let message = Arc::clone(self.message(message));
        let machine = self.machines.first();
        machine.restore(None)?;
        let payload = machine.rename_message(&message.payload, renaming);
        let payload = match confirmed(machine, payload)? {
            Ok(payload) => payload,
            Err(fault) => return Ok(Err(fault)),
        };
        let (from, to) = (renaming[message.from as usize], renaming[message.to as usize]);
        let channel_class = self.lts.rules.channel_class(from, to);
        let id = self.lts.write().intern_message(Route { from, to, channel_class, ..message.route() }, &payload);
        self.known.catch_up(&self.lts.read());
        Ok(Ok(id))
    }

    /// The local event with each node `i` renamed to `renaming[i]` in its argument. Interned.
    pub fn rename_local(
        &mut self,
        event: LocalEventId,
        renaming: &[NodeId],
    ) -> Result<Result<LocalEventId, Fault>, MachineError> {
        let event = self.lts.local_event(event);
        let machine = self.machines.first();
        machine.restore(None)?;
        let payload = machine.rename_local(&event.payload, renaming);
        let payload = match confirmed(machine, payload)? {
            Ok(payload) => payload,
            Err(fault) => return Ok(Err(fault)),
        };
        let renamed = LocalEvent { payload, ..LocalEvent::clone(&event) };
        Ok(Ok(self.lts.write().intern_local_event(&renamed)))
    }
}
