//! One handler, from the gate before it to the gate after it.

use host_model::contract::{Choice, Effects, Envelope, Fault, Input, LocalEvent, MachineError, Synced};

use crate::gate::{Cause, Event, Failed, Gate, Happened, Side, Substitute, Verdict, Views};
use crate::node::answers;
use crate::node::gathering::within;
use crate::node::judge::Sides;
use crate::node::moment::Moment;
use crate::node::outbox::Output;
use crate::node::refusal::Failure;
use crate::node::runtime::Node;
use crate::time::Time;

impl<G: Gate> Node<'_, G> {
    /// Handles an input; `cause` is set if the gate may filter it. If the gate filters it, or the host or the guest fails, the node keeps
    /// its state and sends nothing.
    pub(super) fn handle(&mut self, cause: Option<Cause<'_>>, input: Input<'_>) -> Result<(), Failure> {
        let event = cause.map(|cause| {
            let is_from_peer = matches!(cause, Cause::Message { from, .. } if from != self.identity.node);
            Event { state: self.moment.state, cause, may_break: is_from_peer && self.gate.breaks() }
        });
        if let Some(event) = event
            && let Verdict::Instead(substitute) = self.gate.before(self.now, &event)
        {
            self.counts.filtered += 1;
            return self.execute_substitute(substitute, event.cause);
        }
        let mut effects = Effects::default();
        let state = Some(&self.moment.snapshot);
        let (dice, full) = (&mut self.dice, &self.full);
        let result = answers::run(&mut *self.machine, state, input, dice, full, &mut effects)?;
        let result = result.and_then(|()| self.settings.network.check_lengths(&effects.sent));
        result.map_err(|fault| self.failed(input, &effects.choices, fault))?;
        let next = self.moment.next(&mut *self.machine, self.identity.node);
        let mut next = next.map_err(|fault| self.failed(input, &effects.choices, fault))?;
        if let (Some(event), Some(next)) = (event, &mut next)
            && let Verdict::Instead(substitute) = self.ask_after(event, next)?
        {
            self.counts.discarded += 1;
            return self.execute_substitute(substitute, event.cause);
        }
        if let Some(event) = event
            && let Verdict::Instead(substitute) = self.ask_ahead(event, next.as_ref(), &effects.sent)?
        {
            self.counts.foreseen += 1;
            return self.execute_substitute(substitute, event.cause);
        }
        let draws = self.draws(next.as_ref(), &effects.aside.restarted)?;
        if let (Some(next), Some(machine)) = (&mut next, self.machine.following()) {
            next.snapshot = machine.continue_from(next.snapshot.clone())?;
        }
        self.adopt(input, next, effects, draws);
        Ok(())
    }

    /// Takes over the next state, if it differs, and releases the effects of the handler: first to the disk, then to the network.
    fn adopt(
        &mut self,
        input: Input<'_>,
        next: Option<Moment>,
        Effects { sent, choices, aside, log, written, synced, .. }: Effects,
        draws: Vec<(LocalEvent, Time)>,
    ) {
        let is_new = next.as_ref().is_some_and(|next| next.durable != self.moment.durable);
        // Writes that are not synced wait for a record that is requested anyway, and are lost if the node is killed before.
        let may_wait = synced == Synced::Nothing && next.as_ref().is_none_or(|next| next.persists_as(&self.moment));
        if let Some(next) = next {
            self.moment = next;
        }
        if is_new {
            self.outbox.wrote(written);
        }
        let is_due = if may_wait { self.outbox.has_much_unsaved() } else { is_new || self.outbox.has_unsaved() };
        if is_due {
            self.persist();
        }
        if let Input::Message { src, .. } = input {
            self.manager.open(src);
        }
        if !log.is_empty() {
            self.outbox.add(Output::Said(log));
        }
        self.note(input, &choices, &sent);
        self.release(sent);
        self.answer(aside.answers);
        self.timers.restart(&aside.restarted);
        self.arm(draws);
    }

    /// Reports an event that has led to the present state to the gate. Its record is already requested.
    pub(super) fn note(&mut self, input: Input<'_>, choices: &[Choice], sent: &[Envelope]) {
        let (state, ticket) = (self.moment.state, self.outbox.tickets());
        self.gate.happened(&Happened { at: self.now, input, choices, sent, state, ticket });
    }

    /// The gate's verdict on the effects of a handler that has changed the state. The machine must be in the new state.
    fn ask_after(&mut self, event: Event<'_>, next: &mut Moment) -> Result<Verdict, Failure> {
        let Some(judge) = &mut self.judge else { return Ok(Verdict::Pass) };
        let (own, neighbourhood) = (self.identity.node, &self.neighbourhood);
        let snapshots = [&self.moment.snapshot, &next.snapshot];
        let mut sides = Sides::new(&mut *self.machine, snapshots, self.moment.reading.as_ref());
        let mut failure = Ok(());
        let mut judge = |side: Side, nodes: &[Option<Views>]| {
            judge.causes_violation(&mut sides, side, own, within(neighbourhood, nodes)).unwrap_or_else(|error| {
                failure = Err(error);
                false
            })
        };
        let verdict = self.gate.after(self.now, &event, &mut judge);
        failure?;
        next.reading = sides.into_after();
        Ok(verdict)
    }

    /// Executes the substitute of a filtered event.
    fn execute_substitute(&mut self, substitute: Substitute, cause: Cause<'_>) -> Result<(), Failure> {
        debug_assert_eq!(Substitute::of(cause), Some(substitute), "each cause has one");
        *self.counts.instead.entry(substitute.name()).or_default() += 1;
        match (substitute, cause) {
            (Substitute::Break, Cause::Message { from, .. }) => self.outbox.add(Output::Disconnect { peer: from }),
            (Substitute::Postpone | Substitute::Delay, Cause::Local(event)) => {
                let is_listed = self.moment.local_events.contains(event);
                // The protocol lists it and no timer is armed for it, so a time is drawn, unless clients trigger it.
                let drawn = if is_listed { self.draws(None, &[])? } else { Vec::new() };
                let drawn = drawn.into_iter().find_map(|(drawn, at)| (drawn == *event).then_some(at));
                let at = drawn.unwrap_or_else(|| self.now.after(self.settings.delays.timer.draw(&mut self.dice)));
                self.timers.set(event.clone(), at, is_listed);
            }
            // The message was taken from the network and is lost.
            _ => {}
        }
        Ok(())
    }

    /// The failure of a handler, which is reported to the gate if it is the guest's.
    fn failed(&mut self, input: Input<'_>, choices: &[Choice], fault: Fault) -> Failure {
        let failure = self.confirm(fault);
        if let Failure::Fault(fault) = &failure {
            self.gate.failed(&Failed { input, choices, fault });
        }
        failure
    }

    /// The guest's fault, or the host's error if that caused it.
    pub(super) fn confirm(&self, fault: Fault) -> Failure {
        let confirmed: Result<(), MachineError> = self.machine.confirm_fault();
        confirmed.map_or_else(Failure::from, |()| fault.into())
    }
}
