//! A cluster in one global state: what can happen there, and what a step does to it.
//!
//! Steps are looked up in the local transition system, so going along a path of a thousand events costs a thousand
//! look-ups. Unlike a search, this keeps for each message in flight which event has sent it.

use host_model::contract::{Choice, ClassId, Judgement, MachineError, NodeId, Role};
use host_model::lts::quorum::{Member, for_each_set};
use host_model::lts::{AsMessage, KindId, LocalEventId, LocalStateId, MessageId, Outcome, Step, Stepper, deadlock};
use host_model::scenario::InFlight;
use host_model::trace::start::Start;
use host_model::trace::{Enabled, GlobalSituation, TraceStep, Unresolved, resolve};

/// The event that has sent a message: a number that whoever takes the steps gives them.
pub type Tag = u32;

/// Tags from here on are the nodes' `init`.
pub const INIT: Tag = 1 << 31;

/// Which of the messages of an event this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The event that has sent it.
    pub tag: Tag,
    /// Counted over the messages of this event to the same node, from 0.
    pub nth: u32,
}

/// A message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flying {
    /// Sender, destination and content.
    pub message: MessageId,
    /// Who has sent it when.
    pub origin: Origin,
}

/// Something that happens at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The node where it happens.
    pub node: NodeId,
    /// What happens.
    pub cause: Cause,
    /// The answers to `choose`.
    pub choices: Box<[Choice]>,
    /// Whether a connection is broken and the node does not hear of it.
    pub is_lost: bool,
}

/// What makes a handler run.
pub type Cause = Enabled<Flying>;

impl AsMessage for Flying {
    fn message(&self) -> MessageId {
        self.message
    }

    fn rank(&self) -> u32 {
        // In the order of sending.
        0
    }
}

impl Likeness {
    /// From the strictest to the loosest.
    pub const ALL: [Self; 3] = [Self::Content, Self::Origin, Self::Sender];
}

/// How strictly an action has to be the one that is asked for, where another path led to the present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// The message with the same content; if there is none, the one of the same origin.
    Content,
    /// The message of the same origin, whatever it says now; if there is none, one with the same content.
    Origin,
    /// As `Origin`; if there is none, the last message that the same node has sent.
    Sender,
}

/// An event with the number that it had in the trace.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) tag: Tag,
    pub(crate) action: Action,
}

/// A global state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    locals: Vec<LocalStateId>,
    in_flight: InFlight<Flying>,
}

impl World {
    /// The state in which a cluster starts, without the events of a prefix.
    pub fn new(stepper: &Stepper<'_>, start: &Start) -> Self {
        let mut in_flight: Vec<Flying> = Vec::with_capacity(start.in_flight.len());
        for message in &start.in_flight {
            let content = stepper.message(*message);
            let (tag, to) = (INIT + content.from, content.to);
            let nth = nth(stepper, &in_flight, tag, to);
            in_flight.push(Flying { message: *message, origin: Origin { tag, nth } });
        }
        Self { locals: start.initial.clone(), in_flight: in_flight.into() }
    }

    /// The local states, one per node.
    pub fn locals(&self) -> &[LocalStateId] {
        &self.locals
    }

    /// The messages in flight in the order of sending.
    pub fn in_flight(&self) -> &[Flying] {
        &self.in_flight
    }

    /// The messages and notices in flight that can be taken next.
    fn next(&self, stepper: &Stepper<'_>) -> Vec<Flying> {
        let mut next = Vec::new();
        self.in_flight.for_each_next(&stepper.known().links(&self.locals), |flying| next.push(*flying));
        next
    }

    /// All that can happen here, with the first outcome of each: deliveries in the order of sending, then quorums, then the
    /// local events node by node. A node can decline a quorum, and a fault can change nothing: these have no outcome. Nothing can
    /// happen where a node is stuck in a fault.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn enabled(&self, stepper: &mut Stepper<'_>) -> Result<Vec<Action>, MachineError> {
        if stepper.known().is_over(&self.locals) {
            return Ok(Vec::new());
        }
        let action = |node, cause| Action { node, cause, choices: Box::default(), is_lost: false };
        let mut enabled = Vec::new();
        let mut members: Vec<Vec<Member<Flying>>> = vec![Vec::new(); self.locals.len()];
        for flying in self.next(stepper) {
            let node = stepper.message(flying.message).to;
            match self.role(stepper, flying.message)? {
                Role::Alone => enabled.push(action(node, Cause::Deliver(flying))),
                Role::Held => {}
                Role::Member(kind) => {
                    let members = &mut members[node as usize];
                    // Of equal messages the first one stands for all.
                    if members.iter().all(|member| member.item.message != flying.message) {
                        members.push(stepper.known().member(kind, flying.message, flying));
                    }
                }
            }
        }
        for (node, members) in (0..).zip(&members) {
            for_each_set(members, &|_, _| true, &mut |set| {
                let mut taken: Vec<Flying> = set.iter().map(|member| member.item).collect();
                taken.sort_by_key(|flying| stepper.message(flying.message).from);
                enabled.push(action(node, Cause::Quorum(taken)));
            });
        }
        for (node, local) in (0..).zip(&self.locals) {
            let events = stepper.state(*local).protocol.local_events.iter();
            enabled.extend(events.map(|event| action(node, Cause::Local(*event))));
            let faults = stepper.state(*local).faults.iter().filter_map(|trigger| trigger.fault());
            enabled.extend(faults.map(|fault| action(node, Cause::Fault(fault))));
        }
        Ok(enabled)
    }

    /// How its destination, which is not stuck in a fault, takes a message in this state.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn role(&self, stepper: &mut Stepper<'_>, message: MessageId) -> Result<Role<KindId>, MachineError> {
        let (to, is_notice) = (stepper.message(message).to, stepper.message(message).is_notice);
        if is_notice { Ok(Role::Alone) } else { stepper.role(self.locals[to as usize], message) }
    }

    /// The step of a trace as an action of this state.
    ///
    /// # Errors
    ///
    /// It cannot happen here; or the host cannot provide an instance.
    pub fn resolve(&self, stepper: &mut Stepper<'_>, step: &TraceStep) -> Result<Action, Unresolved> {
        let mut situation = GlobalSituation { stepper, locals: &self.locals, in_flight: &self.in_flight };
        let cause = resolve(&mut situation, step)?;
        let is_lost = step.event.is_lost();
        Ok(Action { node: step.node, cause, choices: step.choices.clone().into(), is_lost })
    }

    /// The action of this state that is most like one of another state; none if there is nothing like it.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn like(
        &self,
        stepper: &mut Stepper<'_>,
        action: &Action,
        likeness: Likeness,
    ) -> Result<Option<Action>, MachineError> {
        let Some(alike) = self.alike(stepper, action, likeness) else { return Ok(None) };
        let is_possible = match &alike.cause {
            Cause::Deliver(flying) => self.role(stepper, flying.message)? == Role::Alone,
            Cause::Quorum(_) => {
                let local = self.locals[alike.node as usize];
                stepper.as_quorum(local, None, &alike.cause.messages())?.is_some()
            }
            Cause::Local(_) | Cause::Fault(_) | Cause::Lose(_) => true,
        };
        Ok(is_possible.then_some(alike))
    }

    /// The message to a node that can be taken next and is most like another one.
    fn flying_like(
        &self,
        stepper: &Stepper<'_>,
        (node, wanted): (NodeId, Flying),
        likeness: Likeness,
    ) -> Option<Flying> {
        let is_notice = stepper.message(wanted.message).is_notice;
        let mut next = self.next(stepper);
        next.retain(|flying| stepper.message(flying.message).is_notice == is_notice);
        let by_content = || next.iter().find(|flying| flying.message == wanted.message);
        let by_origin = || {
            let mut same = next.iter().filter(|flying| flying.origin == wanted.origin);
            same.find(|flying| stepper.message(flying.message).to == node)
        };
        let found = match likeness {
            // Of several equal messages the one that was meant, so that the others keep their origin.
            Likeness::Content => next.iter().find(|flying| **flying == wanted).or_else(by_content).or_else(by_origin),
            Likeness::Origin => by_origin().or_else(by_content),
            Likeness::Sender => by_origin().or_else(by_content).or_else(|| {
                let sender = stepper.message(wanted.message).from;
                next.iter().rev().find(|flying| {
                    let content = stepper.message(flying.message);
                    content.from == sender && content.to == node
                })
            }),
        };
        found.copied()
    }

    /// What is most like an action, if its messages are taken in this way.
    fn alike(&self, stepper: &mut Stepper<'_>, action: &Action, likeness: Likeness) -> Option<Action> {
        if stepper.known().is_over(&self.locals) {
            return None;
        }
        let cause = match &action.cause {
            Cause::Quorum(wanted) => {
                let alike = |wanted: &Flying| self.flying_like(stepper, (action.node, *wanted), likeness);
                Cause::Quorum(wanted.iter().map(alike).collect::<Option<_>>()?)
            }
            Cause::Deliver(wanted) => Cause::Deliver(self.flying_like(stepper, (action.node, *wanted), likeness)?),
            Cause::Lose(wanted) => Cause::Lose(self.flying_like(stepper, (action.node, *wanted), likeness)?),
            Cause::Fault(_) => {
                let fault = action.cause.trigger(stepper);
                let possible = &stepper.state(self.locals[action.node as usize]).faults;
                possible.contains(&fault).then(|| action.cause.clone())?
            }
            Cause::Local(wanted) => {
                let possible = &stepper.state(self.locals[action.node as usize]).protocol.local_events;
                if possible.contains(wanted) {
                    Cause::Local(*wanted)
                } else {
                    let wanted = stepper.lts().local_event(*wanted);
                    let alike = |id: &&LocalEventId| {
                        let event = stepper.lts().local_event(**id);
                        event.name == wanted.name && event.kind == wanted.kind
                    };
                    Cause::Local(*possible.iter().find(alike)?)
                }
            }
        };
        Some(Action { cause, ..action.clone() })
    }

    /// Takes an action that is enabled here; `tag` is the origin of what it sends. Returns it as a step. If no outcome has
    /// the choices of the action, the first one is taken. None if nothing would change, and nothing is taken: a reset can be
    /// like that, and a quorum that is declined.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn take(&mut self, stepper: &mut Stepper<'_>, action: &Action, tag: Tag) -> Result<Option<Step>, MachineError> {
        let node = action.node;
        let trigger = action.cause.trigger(stepper);
        let row = stepper.step(self.locals[node as usize], trigger)?;
        let outcomes = stepper.outcomes(row);
        let is_it = |outcome: &Outcome| outcome.choices == action.choices && outcome.is_lost == action.is_lost;
        let index = outcomes.iter().position(is_it).unwrap_or(0);
        let Some(outcome) = outcomes.get(index) else { return Ok(None) };
        let mut sent = Vec::with_capacity(outcome.sent.len());
        for message in &outcome.sent {
            let nth = nth(stepper, &sent, tag, stepper.message(*message).to);
            sent.push(Flying { message: *message, origin: Origin { tag, nth } });
        }
        self.locals[node as usize] = outcome.next;
        let taken = action.cause.taken().iter().copied();
        self.in_flight.step(&stepper.known().links(&self.locals), node, taken, sent);
        let outcome = u32::try_from(index).expect("outcomes are bounded");
        Ok(Some(Step { node, trigger, outcome }))
    }

    /// What there is to say about this state: of the nodes one by one, then of all together; where a node is stuck in a fault,
    /// only that.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn judge(&self, stepper: &mut Stepper<'_>) -> Result<Vec<Judgement>, MachineError> {
        let is_over = stepper.known().is_over(&self.locals);
        let states = self.locals.iter().map(|local| stepper.state(*local));
        let said = states.filter(|state| !is_over || state.fault().is_some());
        let own = said.flat_map(|state| state.protocol.judgements.iter());
        let mut judgements: Vec<Judgement> = own.cloned().collect();
        let classes: Vec<ClassId> = self.locals.iter().map(|local| stepper.state(*local).protocol.class).collect();
        judgements.extend(stepper.judge(&classes)?.iter().cloned());
        Ok(judgements)
    }

    /// What is wrong with this state if nothing but faults can happen: that some node is not done. None otherwise.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn judge_end(&self, stepper: &mut Stepper<'_>) -> Result<Option<Judgement>, MachineError> {
        let addressees = self.in_flight.iter().map(|flying| stepper.message(flying.message).to);
        let crashes_max = stepper.lts().scenario().faults.crashes;
        match deadlock::crashed_in(stepper.known(), &self.locals, addressees, crashes_max) {
            Some(crashed) => stepper.judge_end(&self.locals, &crashed),
            None => Ok(None),
        }
    }
}

/// How many messages of this event to this node there are already.
fn nth(stepper: &Stepper<'_>, sent: &[Flying], tag: Tag, to: NodeId) -> u32 {
    let same = sent.iter().filter(|flying| flying.origin.tag == tag && stepper.message(flying.message).to == to);
    same.count() as u32
}
