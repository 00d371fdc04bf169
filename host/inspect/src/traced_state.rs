//! A cluster in one global state: its enabled actions, and the effects of a step.
//!
//! Steps are looked up in the local transition system, so a path of a thousand events costs a thousand look-ups. Unlike
//! a search, this keeps the sender event of each message in flight.

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{Choice, ClassId, Judgement, MachineError, NodeId, Role};
use host_model::lts::quorum::{Member, for_each_set};
use host_model::lts::{AsMessage, KindId, LocalEventId, LocalStateId, MessageId, Outcome, Step, Stepper, deadlock};
use host_model::scenario::InFlight;
use host_model::trace::start::Start;
use host_model::trace::{Enabled, GlobalSituation, TraceStep, Unresolved, resolve};

/// The event that has sent a message: a number assigned by the caller.
pub type Tag = u32;

/// Tags from this one on denote the nodes' `init`.
pub const INIT: Tag = 1 << 31;

/// The origin of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The event that has sent it.
    pub tag: Tag,
    /// Its number among the messages of this event to the same node, from 0.
    pub nth: u32,
}

/// A message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedMessage {
    /// Sender, destination and content.
    pub message: MessageId,
    /// The event that has sent it.
    pub origin: Origin,
}

/// An event at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The node where it happens.
    pub node: NodeId,
    /// The event.
    pub cause: Cause,
    /// The answers to `choose`.
    pub choices: Box<[Choice]>,
    /// Whether a connection is broken without a notice to the node.
    pub is_lost: bool,
}

/// The cause of a handler's execution.
pub type Cause = Enabled<TracedMessage>;

impl AsMessage for TracedMessage {
    fn message(&self) -> MessageId {
        self.message
    }

    fn rank(&self) -> u32 {
        // In the order of sending.
        0
    }
}

impl MatchRule {
    /// From the strictest to the loosest.
    pub const ALL: [Self; 3] = [Self::Content, Self::Origin, Self::Sender];
}

/// The strictness with which an action must match the requested one, if another path led to the present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchRule {
    /// The message with the same content; if there is none, the one with the same origin.
    Content,
    /// The message with the same origin, whatever its content; if there is none, one with the same content.
    Origin,
    /// As `Origin`; if there is none, the last message of the same sender.
    Sender,
}

/// An event with its number in the trace.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) tag: Tag,
    pub(crate) action: Action,
}

/// A global state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedState {
    locals: Vec<LocalStateId>,
    in_flight: InFlight<TracedMessage>,
}

impl TracedState {
    /// The state in which a cluster starts, without the events of a prefix.
    pub fn new(stepper: &Stepper<'_>, start: &Start) -> Self {
        let mut in_flight: Vec<TracedMessage> = Vec::with_capacity(start.in_flight.len());
        for message in &start.in_flight {
            let content = stepper.message(*message);
            let (tag, to) = (INIT + content.from, content.to);
            let nth = nth(stepper, &in_flight, tag, to);
            in_flight.push(TracedMessage { message: *message, origin: Origin { tag, nth } });
        }
        Self { locals: start.initial.clone(), in_flight: in_flight.into() }
    }

    /// The local states, one per node.
    pub fn locals(&self) -> &[LocalStateId] {
        &self.locals
    }

    /// The messages in flight in the order of sending.
    pub fn in_flight(&self) -> &[TracedMessage] {
        &self.in_flight
    }

    /// A fingerprint of the messages in flight, ordered where the network is.
    pub fn fingerprint(&self, stepper: &Stepper<'_>) -> Fingerprint {
        let links = stepper.known().links(&self.locals);
        self.in_flight.fingerprint(&links, |traced| stepper.message(traced.message).fingerprint)
    }

    /// The messages and notices in flight that can be delivered next.
    fn next(&self, stepper: &Stepper<'_>) -> Vec<TracedMessage> {
        let mut next = Vec::new();
        self.in_flight.for_each_next(&stepper.known().links(&self.locals), |traced| next.push(*traced));
        next
    }

    /// All enabled actions, with the first outcome of each: deliveries in the order of sending, then quorums, then the local
    /// events node by node. A node can decline a quorum, and a fault can change nothing: then there is no outcome. No action
    /// is enabled if a node is stuck in a fault.
    pub fn enabled(&self, stepper: &mut Stepper<'_>) -> Result<Vec<Action>, MachineError> {
        if stepper.known().is_over(&self.locals) {
            return Ok(Vec::new());
        }
        let action = |node, cause| Action { node, cause, choices: Box::default(), is_lost: false };
        let mut enabled = Vec::new();
        let mut members: Vec<Vec<Member<TracedMessage>>> = vec![Vec::new(); self.locals.len()];
        for traced in self.next(stepper) {
            let node = stepper.message(traced.message).to;
            match self.role(stepper, traced.message)? {
                Role::Alone => enabled.push(action(node, Cause::Deliver(traced))),
                Role::Held => {}
                Role::Member(kind) => {
                    let members = &mut members[node as usize];
                    // The first of equal messages stands for all.
                    if members.iter().all(|member| member.item.message != traced.message) {
                        members.push(stepper.known().member(kind, traced.message, traced));
                    }
                }
            }
        }
        for (node, members) in (0..).zip(&members) {
            for_each_set(members, &|_, _| true, &mut |set| {
                let mut taken: Vec<TracedMessage> = set.iter().map(|member| member.item).collect();
                taken.sort_by_key(|traced| stepper.message(traced.message).from);
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

    /// The loss of each message that could be delivered next; none if a node is stuck in a fault.
    pub fn losses(&self, stepper: &Stepper<'_>) -> Vec<Action> {
        if stepper.known().is_over(&self.locals) {
            return Vec::new();
        }
        let mut next = self.next(stepper);
        next.retain(|traced| !stepper.message(traced.message).is_notice);
        let loss = |traced: TracedMessage| {
            let node = stepper.message(traced.message).to;
            Action { node, cause: Cause::Lose(traced), choices: Box::default(), is_lost: false }
        };
        next.into_iter().map(loss).collect()
    }

    /// The role of a message in this state at its destination, which is not stuck in a fault.
    pub fn role(&self, stepper: &mut Stepper<'_>, message: MessageId) -> Result<Role<KindId>, MachineError> {
        let (to, is_notice) = (stepper.message(message).to, stepper.message(message).is_notice);
        if is_notice { Ok(Role::Alone) } else { stepper.role(self.locals[to as usize], message) }
    }

    /// The step of a trace as an action of this state.
    ///
    /// # Errors
    ///
    /// The step cannot happen here; or the host cannot provide an instance.
    pub fn resolve(&self, stepper: &mut Stepper<'_>, step: &TraceStep) -> Result<Action, Unresolved> {
        let mut situation = GlobalSituation { stepper, locals: &self.locals, in_flight: &self.in_flight };
        let cause = resolve(&mut situation, step)?;
        let is_lost = step.event.is_lost();
        Ok(Action { node: step.node, cause, choices: step.choices.clone().into(), is_lost })
    }

    /// The action of this state that is most similar to one of another state; none if nothing is similar.
    pub fn like(
        &self,
        stepper: &mut Stepper<'_>,
        action: &Action,
        rule: MatchRule,
    ) -> Result<Option<Action>, MachineError> {
        let Some(alike) = self.alike(stepper, action, rule) else { return Ok(None) };
        let is_possible = match &alike.cause {
            Cause::Deliver(traced) => self.role(stepper, traced.message)? == Role::Alone,
            Cause::Quorum(_) => {
                let local = self.locals[alike.node as usize];
                stepper.as_quorum(local, None, &alike.cause.messages())?.is_some()
            }
            Cause::Local(_) | Cause::Fault(_) | Cause::Lose(_) => true,
        };
        Ok(is_possible.then_some(alike))
    }

    /// The deliverable message to a node that is most similar to another one.
    fn message_like(
        &self,
        stepper: &Stepper<'_>,
        node: NodeId,
        wanted: TracedMessage,
        rule: MatchRule,
    ) -> Option<TracedMessage> {
        let is_notice = stepper.message(wanted.message).is_notice;
        let mut next = self.next(stepper);
        next.retain(|traced| stepper.message(traced.message).is_notice == is_notice);
        let by_content = || next.iter().find(|traced| traced.message == wanted.message);
        let by_origin = || {
            let mut same = next.iter().filter(|traced| traced.origin == wanted.origin);
            same.find(|traced| stepper.message(traced.message).to == node)
        };
        let found = match rule {
            // Of several equal messages the one with the same origin, so that the others keep theirs.
            MatchRule::Content => next.iter().find(|traced| **traced == wanted).or_else(by_content).or_else(by_origin),
            MatchRule::Origin => by_origin().or_else(by_content),
            MatchRule::Sender => by_origin().or_else(by_content).or_else(|| {
                let sender = stepper.message(wanted.message).from;
                next.iter().rev().find(|traced| {
                    let content = stepper.message(traced.message);
                    content.from == sender && content.to == node
                })
            }),
        };
        found.copied()
    }

    /// The event most similar to an action, if its messages are taken in this way.
    fn alike(&self, stepper: &mut Stepper<'_>, action: &Action, rule: MatchRule) -> Option<Action> {
        if stepper.known().is_over(&self.locals) {
            return None;
        }
        let cause = match &action.cause {
            Cause::Quorum(wanted) => {
                let alike = |wanted: &TracedMessage| self.message_like(stepper, action.node, *wanted, rule);
                Cause::Quorum(wanted.iter().map(alike).collect::<Option<_>>()?)
            }
            Cause::Deliver(wanted) => Cause::Deliver(self.message_like(stepper, action.node, *wanted, rule)?),
            Cause::Lose(wanted) => Cause::Lose(self.message_like(stepper, action.node, *wanted, rule)?),
            Cause::Fault(_) => {
                let fault = action.cause.trigger(stepper);
                let possible = &stepper.state(self.locals[action.node as usize]).faults;
                possible.contains(fault).then(|| action.cause.clone())?
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

    /// Takes an enabled action; `tag` is the origin of its messages. Returns it as a step. If no outcome has the choices of
    /// the action, the first one is taken. None if nothing would change, as for some resets and for declined quorums; then
    /// nothing is taken.
    pub fn take(&mut self, stepper: &mut Stepper<'_>, action: &Action, tag: Tag) -> Result<Option<Step>, MachineError> {
        let node = action.node;
        let trigger = action.cause.trigger(stepper);
        let row = stepper.step(self.locals[node as usize], trigger)?;
        let outcomes = stepper.outcomes(row);
        let is_chosen = |outcome: &Outcome| outcome.choices == action.choices && outcome.is_lost == action.is_lost;
        let index = outcomes.iter().position(is_chosen).unwrap_or(0);
        let Some(outcome) = outcomes.get(index) else { return Ok(None) };
        let mut sent = Vec::with_capacity(outcome.sent.len());
        for message in &outcome.sent {
            let nth = nth(stepper, &sent, tag, stepper.message(*message).to);
            sent.push(TracedMessage { message: *message, origin: Origin { tag, nth } });
        }
        self.locals[node as usize] = outcome.next;
        let taken = action.cause.taken().iter().copied();
        self.in_flight.step(&stepper.known().links(&self.locals), node, taken, sent);
        let outcome = u32::try_from(index).expect("a limit keeps outcomes below 2^32");
        Ok(Some(Step { node, trigger, outcome }))
    }

    /// The judgements of this state: of the nodes one by one, then of all together; if a node is stuck in a fault, only
    /// that one.
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

    /// The deadlock in this state, if only faults can happen and some node is not done. None otherwise.
    pub fn judge_end(&self, stepper: &mut Stepper<'_>) -> Result<Option<Judgement>, MachineError> {
        let addressees = self.in_flight.iter().map(|traced| stepper.message(traced.message).to);
        let crashes_max = stepper.lts().scenario().faults.crashes;
        match deadlock::crashed_in(stepper.known(), &self.locals, addressees, crashes_max) {
            Some(crashed) => stepper.judge_end(&self.locals, &crashed),
            None => Ok(None),
        }
    }
}

/// The number of existing messages of this event to this node.
fn nth(stepper: &Stepper<'_>, sent: &[TracedMessage], tag: Tag, to: NodeId) -> u32 {
    let same = sent.iter().filter(|traced| traced.origin.tag == tag && stepper.message(traced.message).to == to);
    same.count() as u32
}
