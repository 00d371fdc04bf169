//! Races: events that could come instead of an event of an execution.

use std::sync::Arc;

use host_model::contract::{MachineError, NodeId};
use host_model::lts::{Stepper, Trigger};

use super::{Delivery, Event, Execution, Race, START, Senders};

/// An event of a node, with its predecessor and successor there.
struct EventContext<'e> {
    node: NodeId,
    own: u32,
    event: &'e Event,
    /// The event before it on the node; [`START`] if it is the first one.
    last: u32,
    /// The next event of the node.
    next: Option<Trigger>,
    /// For each channel to the node, the number of items delivered before it, and after it.
    delivered: &'e [usize],
    delivered_after: &'e [usize],
}

impl EventContext<'_> {
    /// Whether a trigger is one of the execution, here or right after: it may have other outcomes.
    fn is_in_execution(&self, trigger: Trigger) -> bool {
        trigger == self.event.step.trigger || Some(trigger) == self.next
    }

    fn race(&self, trigger: Trigger, senders: &[u32]) -> Race {
        Race { event: self.own as usize, trigger, senders: Senders::new(senders) }
    }
}

impl Execution {
    /// The races of the events of a node: calls `found` with each trigger that could come instead of one of them, once all events that do
    /// not happen after it have happened. The trigger of the event itself is included, since it can have other outcomes.
    ///
    /// Other nodes' events cannot change the node's local state, so its local events are those before the event; and a
    /// message can be delivered unless its sending happens after the event, or the local state has it otherwise. Of these
    /// triggers, one that is possible right after the event too, but does not come next, is left out: its race is that of an
    /// execution where it does come next.
    pub fn races(
        &self,
        stepper: &mut Stepper<'_>,
        node: NodeId,
        mut found: impl FnMut(Race),
    ) -> Result<(), MachineError> {
        let inbox = &self.inboxes[node as usize];
        let mut delivered: Vec<usize> =
            inbox.iter().map(|channel| self.channels[*channel as usize].delivered).collect();
        let mut delivered_after = delivered.clone();
        let mut local_events = self.local_events[node as usize];
        let chain = &self.chains[node as usize];
        let mut next: Option<Trigger> = None;
        for (position, index) in chain.iter().enumerate().rev() {
            let last = if position == 0 { START } else { chain[position - 1] };
            let event = &self.events[*index as usize];
            let local_events_after = local_events;
            delivered_after.clone_from(&delivered);
            local_events -= u32::from(event.step.trigger.local_event().is_some());
            self.take_back(stepper, node, event, &mut delivered);
            let (delivered, delivered_after) = (&delivered[..], &delivered_after[..]);
            let place = EventContext { node, own: *index, event, last, next, delivered, delivered_after };
            if stepper.known().takes_quorums(node) {
                self.races_of_deliveries(stepper, &place, &mut found)?;
            } else {
                self.races_of_messages(stepper, &place, &mut found);
            }
            self.races_of_local_events(stepper, &place, local_events, local_events_after, &mut found);
            self.races_of_faults(stepper, &place, &mut found)?;
            next = Some(event.step.trigger);
        }
        Ok(())
    }

    /// Changes the numbers of delivered items from those after an event to those before it.
    fn take_back(&self, stepper: &Stepper<'_>, node: NodeId, event: &Event, delivered: &mut [usize]) {
        let inbox = &self.inboxes[node as usize];
        let position = |message| {
            let channel = self.channel_of(stepper, message) as u32;
            inbox
                .iter()
                .position(|other| *other == channel)
                .expect("a message that an event takes is in its channel of the inbox")
        };
        if let Some(message) = event.step.trigger.message() {
            delivered[position(message)] = event.delivered as usize;
        }
        for message in stepper.known().taken_together(event.step.trigger) {
            delivered[position(*message)] -= 1;
        }
    }

    /// Whether a sending does not happen after the event.
    fn is_independent(&self, sender: u32, place: &EventContext<'_>) -> bool {
        sender == START || sender < place.own || !self.happens_after(sender as usize, place.own as usize)
    }

    /// Messages and quorums at a node that takes quorums.
    fn races_of_deliveries(
        &self,
        stepper: &mut Stepper<'_>,
        place: &EventContext<'_>,
        found: &mut impl FnMut(Race),
    ) -> Result<(), MachineError> {
        let EventContext { node, own, event, last, .. } = *place;
        let is_independent = |sender: u32| self.is_independent(sender, place);
        let before = self.deliveries(stepper, node, event.before, place.delivered, &is_independent)?;
        let mut after = match stepper.state(event.next).is_stuck() {
            true => Vec::new(),
            false => self.deliveries(stepper, node, event.next, place.delivered_after, &is_independent)?,
        };
        after.retain(|delivery| self.fits(own, &delivery.senders));
        for Delivery { trigger, senders } in before {
            let is_possible_after = after.iter().any(|delivery| delivery.trigger == trigger);
            if self.fits(last, &senders) && (place.is_in_execution(trigger) || !is_possible_after) {
                found(place.race(trigger, &senders));
            }
        }
        Ok(())
    }

    /// Messages at a node that takes them one by one.
    fn races_of_messages(&self, stepper: &Stepper<'_>, place: &EventContext<'_>, found: &mut impl FnMut(Race)) {
        let EventContext { own, event, last, .. } = *place;
        let known = stepper.known();
        let is_stuck = stepper.state(event.next).is_stuck();
        let (before, after) = (&known.state(event.before).fault_state, &known.state(event.next).fault_state);
        let counts = place.delivered.iter().zip(place.delivered_after);
        for (channel, (delivered, delivered_after)) in self.inboxes[place.node as usize].iter().zip(counts) {
            let channel = &self.channels[*channel as usize];
            for item in channel.next(known, *delivered, before) {
                let (message, sender) = channel.items[item];
                let trigger = Trigger::deliver(message);
                // The event can lose an item: by overtaking it, or by breaking the connection over which it was sent.
                let is_gone = item < *delivered_after || known.message(message).route().is_lost(after);
                if self.is_independent(sender, place)
                    && self.fits(last, &[sender])
                    && (place.is_in_execution(trigger) || is_stuck || is_gone || !self.fits(own, &[sender]))
                {
                    found(place.race(trigger, &[sender]));
                }
            }
        }
    }

    /// The races of local events: `before` local events precede the event, and `after` of them its successor.
    fn races_of_local_events(
        &self,
        stepper: &Stepper<'_>,
        place: &EventContext<'_>,
        before: u32,
        after: u32,
        found: &mut impl FnMut(Race),
    ) {
        let EventContext { own, event, last, .. } = *place;
        let may_happen = |so_far: u32| self.bounds.local_events.is_none_or(|max| so_far < max);
        if may_happen(before) && self.fits(last, &[]) {
            let is_possible_after = may_happen(after) && self.fits(own, &[]);
            let next = stepper.state(event.next);
            for local in &stepper.state(event.before).protocol.local_events {
                let trigger = Trigger::local(*local);
                if place.is_in_execution(trigger) || !is_possible_after || !next.protocol.local_events.contains(local) {
                    found(place.race(trigger, &[]));
                }
            }
        }
    }

    fn races_of_faults(
        &self,
        stepper: &mut Stepper<'_>,
        place: &EventContext<'_>,
        found: &mut impl FnMut(Race),
    ) -> Result<(), MachineError> {
        let EventContext { own, event, last, .. } = *place;
        if !self.fits(last, &[]) {
            return Ok(());
        }
        let before = Arc::clone(stepper.state(event.before));
        let after = Arc::clone(stepper.state(event.next));
        for fault in before.faults.iter() {
            if stepper.is_idle(event.before, fault)? {
                continue;
            }
            let is_possible_after =
                self.fits(own, &[]) && after.faults.contains(fault) && !stepper.is_idle(event.next, fault)?;
            if place.is_in_execution(fault) || !is_possible_after {
                found(place.race(fault, &[]));
            }
        }
        Ok(())
    }
}
