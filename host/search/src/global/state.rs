//! A global state: local states and messages in flight, and the effect of steps.

use host_model::contract::fingerprint::{self, Fingerprint};
use host_model::contract::{ClassId, NodeId};
use host_model::lts::{Edge, LocalStateId, LtsCache, MessageId, OutcomesRef, Step, Trigger, deadlock};
use host_model::scenario::InFlight;
use host_model::trace::start::Start;

use crate::kernel::SearchBounds;

/// The bounds that make a difference between global states that are otherwise equal.
#[derive(Clone, Debug, Default)]
pub struct Budgets {
    /// Local events of each node on a path.
    pub local_events_max: Option<u32>,
    /// The summand of a local event of each node in the fingerprint: under a bound, states with different budgets are
    /// different.
    counters: Vec<Fingerprint>,
}

impl Budgets {
    /// The budgets of a search over this many nodes.
    pub fn new(nodes: usize, bounds: &SearchBounds) -> Self {
        let counter = |node| bounds.local_events.map_or(0, |_| fingerprint::of_counter(b"local events", node));
        Self { local_events_max: bounds.local_events, counters: (0..nodes as NodeId).map(counter).collect() }
    }

    /// Number of nodes.
    #[inline]
    pub fn nodes(&self) -> usize {
        self.counters.len()
    }

    /// The summand of used budgets in a fingerprint: this many local events of each node.
    pub fn of_used(&self, local_events: &[u32]) -> Fingerprint {
        let each = self.counters.iter().zip(local_events);
        each.fold(0, |sum: Fingerprint, (counter, used)| sum.wrapping_add(counter.wrapping_mul((*used).into())))
    }

    /// The summand of a step in the fingerprint, without that of its outcome.
    #[inline]
    pub fn of_step(&self, node: NodeId, trigger: Trigger) -> Fingerprint {
        if trigger.local_event().is_some() { self.counters[node as usize] } else { 0 }
    }

    /// The local events and faults that are possible in a local state after this many local events of its node, and whether the
    /// bound leaves some out.
    #[inline]
    pub fn own_events<'k>(
        &self,
        known: &'k LtsCache,
        local: LocalStateId,
        happened: u32,
    ) -> (impl Iterator<Item = Trigger> + use<'k>, bool) {
        let state = known.brief(local).has_own_events.then(|| known.state(local));
        let events = state.map_or(&[][..], |state| &state.protocol.local_events);
        let faults = state.into_iter().flat_map(|state| state.faults.iter());
        let is_cut = self.local_events_max.is_some_and(|max| happened >= max);
        let left = if is_cut { &[] } else { events };
        (left.iter().map(|event| Trigger::local(*event)).chain(faults), is_cut && !events.is_empty())
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
    /// One per node.
    pub locals: Vec<LocalStateId>,
    /// The messages in flight.
    pub in_flight: InFlight<MessageId>,
    /// Local events of each node on the path.
    pub local_events: Vec<u32>,
    /// The fingerprint of the whole state, used budgets included.
    pub fingerprint: Fingerprint,
}

impl GlobalState {
    /// A start state.
    pub fn new(known: &LtsCache, start: &Start) -> Self {
        let mut state = Self {
            locals: start.locals.clone(),
            in_flight: start.in_flight.clone(),
            local_events: vec![0; start.locals.len()],
            fingerprint: 0,
        };
        state.fingerprint = state.locals_fingerprint(known).wrapping_add(state.in_flight_fingerprint(known));
        state
    }

    /// The state after steps from a start state, on an unordered network; none if one of them cannot be taken there, or has
    /// not been executed.
    pub fn after(known: &LtsCache, budgets: &Budgets, start: &Start, steps: &[Step]) -> Option<Self> {
        let mut state = Self::new(known, start);
        for step in steps {
            let row = known.row(*state.locals.get(step.node as usize)?, step.trigger)?;
            known.edges(row).get(step.outcome as usize)?;
            let taken: Vec<MessageId> = known.taken(step.trigger).collect();
            let are_in_flight = taken.chunk_by(|one, other| one == other).all(|same| {
                let first = state.in_flight.partition_point(|message| *message < same[0]);
                state.in_flight[first..].starts_with(same)
            });
            if !are_in_flight {
                return None;
            }
            state.take(known, budgets, *step, row);
        }
        Some(state)
    }

    /// Becomes equal to another state, without a new allocation if there is room.
    pub fn copy_from(&mut self, other: &Self) {
        self.locals.clone_from(&other.locals);
        self.local_events.clone_from(&other.local_events);
        self.in_flight.refill(other.in_flight.iter().copied());
        self.fingerprint = other.fingerprint;
    }

    /// The fingerprint of the messages in flight alone.
    fn in_flight_fingerprint(&self, known: &LtsCache) -> Fingerprint {
        self.in_flight.fingerprint(&known.links(&self.locals), |id| known.message(*id).fingerprint)
    }

    /// The fingerprint of the local states alone.
    pub fn locals_fingerprint(&self, known: &LtsCache) -> Fingerprint {
        self.locals.iter().fold(0, |sum, id| sum.wrapping_add(known.brief(*id).fingerprint))
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        (self.locals.capacity() + self.in_flight.capacity() + self.local_events.capacity()) * size_of::<u32>()
    }

    /// The nodes that have crashed if only faults can happen here, whatever the bounds, see [`deadlock::crashed_in`].
    pub fn crashed(&self, known: &LtsCache, crashes_max: u32) -> Option<Vec<NodeId>> {
        // Some message in flight can always be delivered next, also on an ordered network.
        let addressees = self.in_flight.iter().map(|message| known.message(*message).to);
        deadlock::crashed_in(known, &self.locals, addressees, crashes_max)
    }

    /// Adds the successors by one trigger to `children`: one for each outcome in its row.
    #[inline]
    pub fn push_children(
        known: &LtsCache,
        node: NodeId,
        trigger: Trigger,
        row: OutcomesRef,
        children: &mut Vec<Child>,
    ) {
        let child =
            |(outcome, edge): (u32, &Edge)| Child { step: Step { node, trigger, outcome }, row, next: edge.next };
        children.extend((0..).zip(known.edges(row)).map(child));
    }

    /// Moves to a child.
    pub fn take(&mut self, known: &LtsCache, budgets: &Budgets, step: Step, row: OutcomesRef) {
        let before = self.fingerprint;
        let edge = self.advance(known, step, row);
        self.fingerprint = match known.is_ordered() {
            // The fingerprint depends on the queues.
            true => self
                .locals_fingerprint(known)
                .wrapping_add(self.in_flight_fingerprint(known))
                .wrapping_add(budgets.of_used(&self.local_events)),
            false => before.wrapping_add(edge.delta).wrapping_add(budgets.of_step(step.node, step.trigger)),
        };
    }

    /// The same except for the fingerprint, which stays that of the state before.
    pub fn advance<'k>(&mut self, known: &'k LtsCache, step: Step, row: OutcomesRef) -> &'k Edge {
        let edge = &known.edges(row)[step.outcome as usize];
        self.local_events[step.node as usize] += u32::from(step.trigger.local_event().is_some());
        self.locals[step.node as usize] = edge.next;
        let links = known.links(&self.locals);
        self.in_flight.step(&links, step.node, known.taken(step.trigger), known.sent(edge).iter().copied());
        edge
    }

    /// Undoes the step that led here from a state with these local state and fingerprint.
    pub fn take_back(
        &mut self,
        known: &LtsCache,
        step: Step,
        row: OutcomesRef,
        before: LocalStateId,
        fingerprint: Fingerprint,
    ) {
        let links = known.links(&self.locals);
        let sent = known.sent(&known.edges(row)[step.outcome as usize]);
        sent.iter().for_each(|message| self.in_flight.take(&links, message));
        known.taken(step.trigger).for_each(|message| self.in_flight.insert(&links, message));
        self.local_events[step.node as usize] -= u32::from(step.trigger.local_event().is_some());
        self.locals[step.node as usize] = before;
        self.fingerprint = fingerprint;
    }

    /// The same on an ordered network, given the messages that were in flight.
    pub fn put_back(
        &mut self,
        step: Step,
        before: LocalStateId,
        fingerprint: Fingerprint,
        in_flight: InFlight<MessageId>,
    ) {
        self.local_events[step.node as usize] -= u32::from(step.trigger.local_event().is_some());
        self.in_flight = in_flight;
        self.locals[step.node as usize] = before;
        self.fingerprint = fingerprint;
    }

    /// Whether a child can have judgements that this state does not have.
    #[inline]
    pub fn is_worth_judging(&self, known: &LtsCache, child: &Child) -> bool {
        says_more(known, self.locals[child.step.node as usize], child.next)
    }

    /// Puts the classes of a child into `classes`, one per node.
    pub fn classes_of(&self, known: &LtsCache, child: &Child, classes: &mut Vec<ClassId>) {
        classes.clear();
        classes.extend(self.locals.iter().map(|local| known.brief(*local).class));
        classes[child.step.node as usize] = known.brief(child.next).class;
    }
}

/// Whether a global state can have judgements that it did not have before the local state of one node changed: only
/// a change of class, or a local state judged by itself, can have new ones.
#[inline]
pub fn says_more(known: &LtsCache, before: LocalStateId, next: LocalStateId) -> bool {
    next != before && (known.brief(next).class != known.brief(before).class || known.brief(next).is_judged)
}
