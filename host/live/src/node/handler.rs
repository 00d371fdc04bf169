//! One handler, from the gate before it to the gate after it.

use host_model::contract::{Effects, Envelope, Fault, Input, LocalKind, MachineError};

use crate::gate::{Cause, Event, Gate, Handled, Substitute, Verdict};
use crate::node::answers;
use crate::node::moment::Moment;
use crate::node::outbox::{Output, Record};
use crate::node::refusal::Failure;
use crate::node::runtime::Node;

impl<G: Gate> Node<G> {
    /// Something happens to the node; `cause` says what if the gate may filter it. Where it does, or the host or the guest fails, the
    /// state is the one before and nothing was sent.
    pub(super) fn handle(&mut self, cause: Option<Cause<'_>>, input: Input<'_>) -> Result<(), Failure> {
        let event = cause.map(|cause| Event { state: self.moment.state, cause });
        if let Some(event) = event
            && let Verdict::Instead(substitute) = self.gate.before(self.now, &event)
        {
            self.counts.filtered += 1;
            self.carry_out_substitute(substitute, event.cause);
            return Ok(());
        }
        let mut effects = Effects::default();
        let state = Some(&self.moment.snapshot);
        let drawn = (&mut self.dice, &self.full);
        answers::run(&mut *self.machine, (state, input), drawn, &mut effects)?.map_err(|fault| self.confirm(fault))?;
        let next = Moment::read(&mut *self.machine, self.identity.node).map_err(|fault| self.confirm(fault))?;
        if let Some(event) = event
            && let Verdict::Instead(substitute) = self.ask_after(event, &next)?
        {
            self.counts.discarded += 1;
            self.carry_out_substitute(substitute, event.cause);
            return Ok(());
        }
        self.adopt(next, effects.sent);
        Ok(())
    }

    /// Goes to a state, and lets out what led there: first to the disk, then to the network.
    pub(super) fn adopt(&mut self, next: Moment, sent: Vec<Envelope>) {
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
        self.arm();
    }

    /// Whether the effects of a handler leave.
    fn ask_after(&mut self, event: Event<'_>, next: &Moment) -> Result<Verdict, Failure> {
        let views: Result<Vec<Option<Vec<u8>>>, Fault> =
            (0..self.properties).map(|property| self.machine.view(property)).collect();
        let views = views.map_err(|fault| self.confirm(fault))?;
        let handled = Handled { event, next: next.state, views: &views };
        let (machine, mut broken) = (&mut self.machine, None);
        let mut evaluate = |property: u32, views: &[Option<&[u8]>]| {
            // After a fault the machine answers nothing.
            if broken.is_some() {
                return Ok(());
            }
            machine.invariant(property, views).unwrap_or_else(|fault| {
                broken = Some(fault);
                Ok(())
            })
        };
        let verdict = self.gate.after(self.now, &handled, &mut evaluate);
        match broken {
            None => Ok(verdict),
            Some(fault) => Err(self.confirm(fault)),
        }
    }

    /// What takes the place of an event that is filtered.
    fn carry_out_substitute(&mut self, substitute: Substitute, cause: Cause<'_>) {
        debug_assert_eq!(Substitute::of(cause), Some(substitute), "each cause has one");
        match (substitute, cause) {
            (Substitute::Break, Cause::Message { from, .. }) => self.outbox.add(Output::Disconnect { peer: from }),
            (Substitute::Postpone | Substitute::Delay, Cause::Local(event)) => {
                let at = self.draw(event.kind).or_else(|| self.draw(LocalKind::Timer));
                self.timers.set(event.clone(), at.expect("timers have a range"));
            }
            // The message is gone already.
            _ => {}
        }
    }

    /// A fault, unless it was the host's.
    pub(super) fn confirm(&self, fault: Fault) -> Failure {
        let confirmed: Result<(), MachineError> = self.machine.confirm_fault();
        confirmed.map_or_else(Failure::from, |()| fault.into())
    }
}
