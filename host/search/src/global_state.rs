//! A global state: local states and messages in flight, and what can happen there.

use host_model::fingerprint::{self, Fingerprint};
use host_model::known::{Edge, Known};
use host_model::lts::{LocalStateId, MessageId, Step, Trigger};
use host_model::machine::NodeId;
use host_model::property::ClassId;
use host_model::start::Start;
use host_model::stepper::OutcomesRef;

use crate::kernel::Limits;

/// The bounds that make a difference between global states that are otherwise equal.
#[derive(Clone, Debug, Default)]
pub struct Budgets {
    /// Local events of each node on a path.
    pub local_events_max: Option<u32>,
    /// What a local event of each node adds to the fingerprint: under a bound, states with different budgets are
    /// different.
    counters: Vec<Fingerprint>,
}

impl Budgets {
    /// The budgets of a search over so many nodes.
    pub fn new(nodes: usize, limits: &Limits) -> Self {
        let counter = |node| limits.local_events.map_or(0, |_| fingerprint::of_counter(b"local events", node));
        Self { local_events_max: limits.local_events, counters: (0..nodes as NodeId).map(counter).collect() }
    }

    /// Number of nodes.
    #[inline]
    pub fn nodes(&self) -> usize {
        self.counters.len()
    }

    /// What a step adds to the fingerprint besides its outcome.
    #[inline]
    pub fn of_step(&self, node: NodeId, trigger: Trigger) -> Fingerprint {
        if trigger.local_event().is_some() { self.counters[node as usize] } else { 0 }
    }
}

/// A successor of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// The event that leads there.
    pub step: Step,
    /// The outcomes of its trigger.
    pub row: OutcomesRef,
    /// The local state of its node there.
    pub next: LocalStateId,
}

/// A global state.
#[derive(Clone, Debug, Default)]
pub struct GlobalState {
    /// One a node.
    pub locals: Vec<LocalStateId>,
    /// Sorted; a message in flight twice stands twice.
    pub in_flight: Vec<MessageId>,
    /// Local events of each node on the path.
    pub local_events: Vec<u32>,
    /// Of the whole state, used-up budgets included.
    pub fingerprint: Fingerprint,
}

impl GlobalState {
    /// A start state.
    pub fn new(known: &Known, start: &Start) -> Self {
        let locals = start.locals.iter().map(|id| known.brief(*id).fingerprint);
        let messages = start.in_flight.iter().map(|id| known.message(*id).fingerprint);
        Self {
            locals: start.locals.clone(),
            in_flight: start.in_flight.clone(),
            local_events: vec![0; start.locals.len()],
            fingerprint: locals.chain(messages).fold(0, Fingerprint::wrapping_add),
        }
    }

    /// The fingerprint of the local states alone.
    pub fn locals_fingerprint(&self, known: &Known) -> Fingerprint {
        self.locals.iter().fold(0, |sum, id| sum.wrapping_add(known.brief(*id).fingerprint))
    }

    /// Puts what can happen here into `enabled`: the distinct messages in flight in the order of their ids, then the
    /// local events and faults node by node. Returns whether the bound on local events left something out.
    pub fn enabled(&self, known: &Known, budgets: &Budgets, enabled: &mut Vec<(NodeId, Trigger)>) -> bool {
        enabled.clear();
        let mut last = None;
        for message in &self.in_flight {
            if last.replace(*message) == Some(*message) {
                continue;
            }
            let node = known.destination(*message);
            // Nothing happens any more at a node that is stuck in a fault.
            if !known.brief(self.locals[node as usize]).is_stuck {
                enabled.push((node, Trigger::deliver(*message)));
            }
        }
        let mut is_cut = false;
        for (node, local) in (0..).zip(&self.locals) {
            if !known.brief(*local).has_own_events {
                continue;
            }
            let state = known.state(*local);
            let events = &state.local_events;
            if budgets.local_events_max.is_some_and(|max| self.local_events[node as usize] >= max) {
                is_cut |= !events.is_empty();
            } else {
                enabled.extend(events.iter().map(|event| (node, Trigger::local(*event))));
            }
            enabled.extend(state.faults.iter().map(|fault| (node, *fault)));
        }
        is_cut
    }

    /// Adds the successors by one trigger to `children`: one for each outcome in its row.
    #[inline]
    pub fn push_children(
        known: &Known,
        (node, trigger): (NodeId, Trigger),
        row: OutcomesRef,
        children: &mut Vec<Child>,
    ) {
        let child =
            |(outcome, edge): (u32, &Edge)| Child { step: Step { node, trigger, outcome }, row, next: edge.next };
        children.extend((0..).zip(known.edges(row)).map(child));
    }

    /// The fingerprint of a child.
    #[inline]
    pub fn fingerprint_of(&self, known: &Known, budgets: &Budgets, child: &Child) -> Fingerprint {
        let Step { node, trigger, outcome } = child.step;
        let delta = known.edges(child.row)[outcome as usize].delta;
        self.fingerprint.wrapping_add(budgets.of_step(node, trigger)).wrapping_add(delta)
    }

    /// Moves to a child.
    pub fn take(&mut self, known: &Known, budgets: &Budgets, step: Step, row: OutcomesRef) {
        let edge = &known.edges(row)[step.outcome as usize];
        match step.trigger.message() {
            Some(message) => remove(&mut self.in_flight, message),
            None => self.local_events[step.node as usize] += u32::from(step.trigger.local_event().is_some()),
        }
        for message in known.sent(edge) {
            insert(&mut self.in_flight, *message);
        }
        self.locals[step.node as usize] = edge.next;
        let added = edge.delta.wrapping_add(budgets.of_step(step.node, step.trigger));
        self.fingerprint = self.fingerprint.wrapping_add(added);
    }

    /// Takes a step back that led here from a state with these local state and fingerprint.
    pub fn take_back(
        &mut self,
        known: &Known,
        step: Step,
        row: OutcomesRef,
        before: LocalStateId,
        fingerprint: Fingerprint,
    ) {
        for message in known.sent(&known.edges(row)[step.outcome as usize]) {
            remove(&mut self.in_flight, *message);
        }
        match step.trigger.message() {
            Some(message) => insert(&mut self.in_flight, message),
            None => self.local_events[step.node as usize] -= u32::from(step.trigger.local_event().is_some()),
        }
        self.locals[step.node as usize] = before;
        self.fingerprint = fingerprint;
    }

    /// Whether something can be said about a child that is not said about this state already.
    #[inline]
    pub fn is_worth_judging(&self, known: &Known, child: &Child) -> bool {
        says_more(known, self.locals[child.step.node as usize], child.next)
    }

    /// Puts the classes of a child into `classes`, one a node.
    pub fn classes_of(&self, known: &Known, child: &Child, classes: &mut Vec<ClassId>) {
        classes.clear();
        classes.extend(self.locals.iter().map(|local| known.brief(*local).class));
        classes[child.step.node as usize] = known.brief(child.next).class;
    }
}

/// Whether something can be said about a global state that was not said before the local state of one node changed: only
/// a change of class, or a local state judged by itself, has something new to say.
#[inline]
pub fn says_more(known: &Known, before: LocalStateId, next: LocalStateId) -> bool {
    next != before && (known.brief(next).class != known.brief(before).class || known.brief(next).is_judged)
}

fn insert(in_flight: &mut Vec<MessageId>, message: MessageId) {
    let position = in_flight.partition_point(|other| *other < message);
    in_flight.insert(position, message);
}

fn remove(in_flight: &mut Vec<MessageId>, message: MessageId) {
    let position = in_flight.binary_search(&message).expect("a consumed message is in flight");
    in_flight.remove(position);
}
