//! One handler, from the gate before it to the gate after it.

use host_model::contract::{
    Effects, Envelope, Fault, Input, Machine, MachineError, NodeId, Property, PropertyKind, PropertyScope,
};

use crate::gate::{Cause, Event, Gate, Handled, Substitute, Verdict, Views};
use crate::node::answers;
use crate::node::gathering::within;
use crate::node::moment::Moment;
use crate::node::outbox::{Output, Record};
use crate::node::refusal::Failure;
use crate::node::runtime::Node;

impl<G: Gate> Node<G> {
    /// Something happens to the node; `cause` says what if the gate may filter it. Where it does, or the host or the guest fails, the
    /// state is the one before and nothing was sent.
    pub(super) fn handle(&mut self, cause: Option<Cause<'_>>, input: Input<'_>) -> Result<(), Failure> {
        let event = cause.map(|cause| Event { state: self.moment.state, cause, may_break: false });
        if let Some(event) = event
            && let Verdict::Instead(substitute) = self.gate.before(self.now, &event)
        {
            self.counts.filtered += 1;
            return self.carry_out_substitute(substitute, event.cause);
        }
        let mut effects = Effects::default();
        let state = Some(&self.moment.snapshot);
        let drawn = (&mut self.dice, &self.full);
        answers::run(&mut *self.machine, (state, input), drawn, &mut effects)?.map_err(|fault| self.confirm(fault))?;
        let next = Moment::read(&mut *self.machine, self.identity.node, self.properties.len())
            .map_err(|fault| self.confirm(fault))?;
        if let Some(event) = event
            && let Verdict::Instead(substitute) = self.ask_after(event, &next)?
        {
            self.counts.discarded += 1;
            return self.carry_out_substitute(substitute, event.cause);
        }
        self.adopt(next, effects)
    }

    /// Goes to a state, and lets out what led there: first to the disk, then to the network.
    fn adopt(&mut self, next: Moment, Effects { sent, aside, .. }: Effects) -> Result<(), Failure> {
        let is_new = next.durable != self.moment.durable;
        self.moment = next;
        if is_new {
            let record = Record { numbers: self.numbers, protocol: self.moment.durable.clone() };
            self.outbox.persist(record);
        }
        let mut outputs = Vec::new();
        for Envelope { to, payload } in sent {
            self.manager.send(to, payload, &mut outputs);
        }
        self.pass_on(outputs);
        self.answer(aside.answers);
        self.timers.restart(&aside.restarted);
        self.arm()
    }

    /// Whether the effects of a handler leave.
    fn ask_after(&mut self, event: Event<'_>, next: &Moment) -> Result<Verdict, Failure> {
        let handled = Handled { event, before: &self.moment.views, after: &next.views };
        let (machine, properties, own) = (&mut *self.machine, &self.properties, self.identity.node);
        let (around, neighbourhood) = ((&self.moment.views, &next.views), &self.neighbourhood);
        let mut trouble = Ok(());
        let mut judge = |views: &[Option<&Views>]| {
            let known = within(neighbourhood, views);
            is_to_blame(machine, properties, around, (own, &known)).unwrap_or_else(|error| {
                trouble = Err(error);
                false
            })
        };
        let verdict = self.gate.after(self.now, &handled, &mut judge);
        trouble?;
        Ok(verdict)
    }

    /// What takes the place of an event that is filtered.
    fn carry_out_substitute(&mut self, substitute: Substitute, cause: Cause<'_>) -> Result<(), Failure> {
        debug_assert_eq!(Substitute::of(cause), Some(substitute), "each cause has one");
        *self.counts.instead.entry(substitute.name()).or_default() += 1;
        match (substitute, cause) {
            (Substitute::Break, Cause::Message { from, .. }) => self.outbox.add(Output::Disconnect { peer: from }),
            (Substitute::Postpone | Substitute::Delay, Cause::Local(event)) => {
                let is_listed = self.moment.local_events.contains(event);
                let at = if is_listed { self.draw(event)? } else { None };
                let at = at.unwrap_or_else(|| self.now.after(self.settings.delays.timer.draw(&mut self.dice)));
                self.timers.set(event.clone(), at, is_listed);
            }
            // The message is gone already.
            _ => {}
        }
        Ok(())
    }

    /// A fault, unless it was the host's.
    pub(super) fn confirm(&self, fault: Fault) -> Failure {
        let confirmed: Result<(), MachineError> = self.machine.confirm_fault();
        confirmed.map_or_else(Failure::from, |()| fault.into())
    }
}

/// Whether something is wrong where the nodes are like this, as a gate asks it of this node before and after an event.
///
/// What reads the same of it before and after says the same of both, so after the event it is left out: if it is wrong, then the event is
/// not to blame, and a gate that hears of something else that is wrong asks for all of it before the event.
pub(super) fn is_to_blame(
    machine: &mut dyn Machine,
    properties: &[Property],
    (before, after): (&Views, &Views),
    (own, nodes): (NodeId, &[Option<&Views>]),
) -> Result<bool, MachineError> {
    let is_after = nodes[own as usize].is_some_and(|views| std::ptr::eq(views, after));
    let is_asked = |index: usize| !is_after || before[index] != after[index];
    is_wrong(machine, (properties, &is_asked), (own, nodes))
}

/// Whether one of the properties that are asked, by index, is to hold always and does not where the nodes are like this, or cannot be
/// evaluated. Those of node scope are asked about this node alone.
pub(super) fn is_wrong(
    machine: &mut dyn Machine,
    (properties, is_asked): (&[Property], &dyn Fn(usize) -> bool),
    (own, nodes): (NodeId, &[Option<&Views>]),
) -> Result<bool, MachineError> {
    let always = (0..)
        .zip(properties)
        .filter(|(index, property)| property.kind == PropertyKind::Always && is_asked(*index as usize));
    for (index, property) in always {
        let read = match property.scope {
            PropertyScope::Node => &nodes[own as usize..=own as usize],
            PropertyScope::System => nodes,
        };
        let views = read.iter().map(|node| node.and_then(|views| views[index as usize].as_deref()));
        let views: Vec<Option<&[u8]>> = views.collect();
        // No node can matter to it.
        if views.iter().all(Option::is_none) {
            continue;
        }
        machine.restore(None)?;
        match machine.invariant(index, &views) {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Ok(true),
            Err(_) => {
                machine.confirm_fault()?;
                return Ok(true);
            }
        }
    }
    Ok(false)
}
