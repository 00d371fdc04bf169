//! One execution with its happens-before: the common part of the stateless strategies.
//!
//! | module | what it holds |
//! |---|---|
//! | `races` | the events that could come instead of an event |
//!
//! An event is one outcome of one trigger at one node. It happens after the event before it on its node, and after the events that sent
//! the messages that it delivers: one, or each of a quorum; *happens-before* is the transitive closure. Identical messages in flight are
//! interchangeable, and the oldest is delivered first: the `k`-th delivery of a message takes the copy that was sent as the `k`-th one.
//! So executions have the same happens-before exactly if each node goes through the same
//! sequence of triggers and outcomes in both.
//!
//! On an ordered network the same holds of all items from one node to another: they are delivered in the order of sending,
//! except for lost ones. Which item a node can take next depends on its own events and on the items sent.
//!
//! *Bounds.* A bound on local events counts on one node, so it cannot tell executions with the same happens-before
//! apart. A bound on the length of executions can: it would cut off some orders of independent events and leave others.
//! So [`SearchBounds::depth`] is applied to each event with all that happens before it, which contains every execution
//! within the bound, and again to each judged cut ([`ConsistentCuts`](crate::stateless::consistent_cuts::ConsistentCuts)).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use host_model::contract::{MachineError, NodeId, Role};
use host_model::lts::quorum::for_each_set;
use host_model::lts::{LocalStateId, LtsCache, MessageId, OutcomesRef, Step, Stepper, Trigger};
use host_model::scenario::{FaultState, heads};
use host_model::trace::start::Start;

use crate::kernel::SearchBounds;

mod races;

/// The sender of a message that is in flight at the start.
const START: u32 = u32::MAX;

/// An event of the current execution.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The event and its node.
    pub step: Step,
    /// The outcomes of its trigger.
    pub row: OutcomesRef,
    /// The local state of its node before.
    pub before: LocalStateId,
    /// The local state of its node afterwards.
    pub next: LocalStateId,
    /// The number of events of its node up to this one.
    pub position: u32,
    /// The number of items of the channel of its message that were gone before.
    delivered: u32,
}

/// An event and a trigger that could come instead of it.
#[derive(Clone, Debug)]
pub struct Race {
    /// Index of the event.
    pub event: usize,
    /// Possible at the node of the event once all events that do not happen after the event have happened.
    pub trigger: Trigger,
    senders: Senders,
}

/// The events that send the messages that a trigger delivers, without the start.
#[derive(Clone, Debug)]
enum Senders {
    None,
    One(u32),
    Several(Box<[u32]>),
}

impl Senders {
    fn new(senders: &[u32]) -> Self {
        match senders {
            [] | [START] => Self::None,
            [sender] => Self::One(*sender),
            _ => Self::Several(senders.iter().copied().filter(|sender| *sender != START).collect()),
        }
    }

    fn as_slice(&self) -> &[u32] {
        match self {
            Self::None => &[],
            Self::One(sender) => std::slice::from_ref(sender),
            Self::Several(senders) => senders,
        }
    }

    /// The index after the last one.
    fn end(&self) -> usize {
        self.as_slice().iter().max().map_or(0, |sender| *sender as usize + 1)
    }
}

/// A delivery at a node that takes quorums, with the senders of its messages, which may include the start.
struct Delivery {
    trigger: Trigger,
    senders: Vec<u32>,
}

/// Items in the order of their delivery: all copies of one message, or on an ordered network all items from
/// one node to another.
#[derive(Clone, Debug, Default)]
struct Channel {
    /// Each item with the event that sent it.
    items: Vec<(MessageId, u32)>,
    /// Items before this one were delivered or lost.
    delivered: usize,
    /// Number of notices among the items.
    notices: usize,
}

impl Channel {
    /// The items that a node in this fault state can take next if those before `delivered` are gone, as indices: the first
    /// one that is not lost, and the first notice, which overtakes messages.
    fn next(&self, known: &LtsCache, delivered: usize, state: &FaultState) -> impl Iterator<Item = usize> + use<> {
        let left = delivered..self.items.len();
        let (first, notice) = if known.is_ordered() {
            let route = |index: &usize| known.message(self.items[*index].0).route();
            let mut left = left.filter(|index| !route(index).is_lost(state));
            match self.notices {
                // Without notices no item overtakes another, so the first one suffices.
                0 => (left.next(), None),
                _ => heads(left, |index| route(index).is_notice),
            }
        } else {
            (left.min(), None)
        };
        first.into_iter().chain(notice)
    }
}

/// The bounds that left out events of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoundsHit {
    /// An event has more before it than [`SearchBounds::depth`] allows.
    pub depth: bool,
    /// A node has had as many local events as [`SearchBounds::local_events`] allows.
    pub local_events: bool,
}

/// An execution from a start state that grows and shrinks at its end.
pub struct Execution {
    bounds: SearchBounds,
    locals: Vec<LocalStateId>,
    local_events: Vec<u32>,
    events: Vec<Event>,
    /// For each event the number of events of each node in its past, including the event itself.
    clocks: Vec<u32>,
    /// The events of each node, as indices.
    chains: Vec<Vec<u32>>,
    /// By message id, or by sender and destination.
    channels: Vec<Channel>,
    /// For each node, the channels to it that were ever used.
    inboxes: Vec<Vec<u32>>,
    /// Number of items for which the channels have room, and number of channels with room.
    items: usize,
    used: usize,
}

impl Execution {
    /// An execution without events, at a start state.
    pub fn new(stepper: &mut Stepper<'_>, start: &Start, bounds: SearchBounds) -> Self {
        let nodes = start.locals.len();
        let mut execution = Self {
            bounds,
            locals: start.locals.clone(),
            local_events: vec![0; nodes],
            events: Vec::new(),
            clocks: Vec::new(),
            chains: vec![Vec::new(); nodes],
            channels: Vec::new(),
            inboxes: vec![Vec::new(); nodes],
            items: 0,
            used: 0,
        };
        for message in &start.in_flight {
            execution.send(stepper, *message, START);
        }
        execution
    }

    /// Bytes kept, about: an item of a channel, and its place in the inbox with room to grow.
    pub fn bytes(&self) -> u64 {
        let chains: usize = self.chains.iter().map(Vec::capacity).sum();
        let lists = self.events.capacity() * size_of::<Event>()
            + (self.clocks.capacity() + chains + 2 * self.used) * size_of::<u32>()
            + self.channels.capacity() * size_of::<Channel>()
            + self.items * size_of::<(MessageId, u32)>();
        lists as u64
    }

    /// The events in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The events after that of a race that must happen before its trigger.
    pub fn before<'r>(&'r self, race: &'r Race) -> impl Iterator<Item = Step> + 'r {
        let is_needed =
            |index: &usize| race.senders.as_slice().iter().any(|sender| self.happens_after(*sender as usize, *index));
        let needed = (race.event + 1..race.senders.end()).filter(is_needed);
        needed.map(|index| self.events[index].step)
    }

    /// The events between that of a race and its trigger, or the sending of its message if the trigger does not come next
    /// at the node, without those that happen after the event. They include those that must happen before the trigger.
    pub fn between(&self, race: &Race) -> impl Iterator<Item = Step> + use<'_> {
        let Event { step, position, .. } = self.events[race.event];
        let next = self.chains[step.node as usize].get(position as usize).map(|next| *next as usize);
        let next = next.filter(|next| self.events[*next].step.trigger == race.trigger);
        let end = next.unwrap_or_else(|| race.senders.end());
        let event = race.event;
        (event + 1..end).filter(move |index| !self.happens_after(*index, event)).map(|index| self.events[index].step)
    }

    /// The events of each node, as 128 bits: the same for executions with the same happens-before.
    pub fn fingerprint(&self) -> u128 {
        let half = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            salt.hash(&mut hasher);
            for chain in &self.chains {
                chain.len().hash(&mut hasher);
                chain.iter().for_each(|index| self.events[*index as usize].step.hash(&mut hasher));
            }
            u128::from(hasher.finish())
        };
        half(0) << 64 | half(1)
    }

    /// The local state of a node after all events.
    pub fn local(&self, node: NodeId) -> LocalStateId {
        self.locals[node as usize]
    }

    /// Number of nodes.
    pub fn nodes(&self) -> NodeId {
        self.locals.len() as NodeId
    }

    /// The number of events of each node in the past of an event, itself included.
    pub fn clock(&self, index: usize) -> &[u32] {
        let nodes = self.locals.len();
        &self.clocks[index * nodes..(index + 1) * nodes]
    }

    /// Whether an event happens after an earlier one.
    #[inline]
    pub fn happens_after(&self, later: usize, earlier: usize) -> bool {
        let Event { step, position, .. } = self.events[earlier];
        self.clocks[later * self.locals.len() + step.node as usize] >= position
    }

    /// Appends an event whose trigger is possible.
    pub fn push(&mut self, stepper: &mut Stepper<'_>, step: Step) -> Result<(), MachineError> {
        let node = step.node as usize;
        let before = self.locals[node];
        let row = stepper.step(before, step.trigger)?;
        let mut delivered = 0;
        let sender = match step.trigger.message() {
            Some(message) => {
                let index = self.channel_of(stepper, message);
                let (known, channel) = (stepper.known(), &mut self.channels[index]);
                let next = channel.next(known, channel.delivered, &known.state(before).fault_state);
                let item = next.into_iter().find(|item| channel.items[*item].0 == message);
                let item = item.expect("what is delivered is next");
                delivered = channel.delivered as u32;
                channel.delivered = item + 1;
                channel.items[item].1
            }
            None => {
                self.local_events[node] += u32::from(step.trigger.local_event().is_some());
                START
            }
        };
        let first = self.clocks.len();
        let last = self.chains[node].last().copied().unwrap_or(START);
        self.extend_clock(last, sender);
        for message in stepper.known().taken_together(step.trigger) {
            let index = self.channel_of(stepper, *message);
            let channel = &mut self.channels[index];
            let (_, sender) = channel.items[channel.delivered];
            channel.delivered += 1;
            self.join_clock(first, sender);
        }
        self.clocks[first + node] += 1;
        let index = self.events.len() as u32;
        self.chains[node].push(index);
        let position = self.chains[node].len() as u32;
        let outcome = &stepper.outcomes(row)[step.outcome as usize];
        let (next, sent) = (outcome.next, outcome.sent.len());
        for number in 0..sent {
            let message = stepper.outcomes(row)[step.outcome as usize].sent[number];
            self.send(stepper, message, index);
        }
        self.locals[node] = next;
        self.events.push(Event { step, row, before, next, position, delivered });
        Ok(())
    }

    /// Removes the last event and returns it.
    pub fn pop(&mut self, stepper: &mut Stepper<'_>) -> Option<Event> {
        let event = self.events.pop()?;
        let node = event.step.node as usize;
        for number in (0..stepper.outcomes(event.row)[event.step.outcome as usize].sent.len()).rev() {
            let message = stepper.outcomes(event.row)[event.step.outcome as usize].sent[number];
            let index = self.channel_of(stepper, message);
            let channel = &mut self.channels[index];
            channel.items.pop();
            channel.notices -= usize::from(stepper.message(message).is_notice);
            if channel.items.is_empty() {
                let to = stepper.message(message).to;
                self.inboxes[to as usize].pop();
            }
        }
        match event.step.trigger.message() {
            Some(message) => {
                let index = self.channel_of(stepper, message);
                self.channels[index].delivered = event.delivered as usize;
            }
            None => self.local_events[node] -= u32::from(event.step.trigger.local_event().is_some()),
        }
        for message in stepper.known().taken_together(event.step.trigger) {
            let index = self.channel_of(stepper, *message);
            self.channels[index].delivered -= 1;
        }
        self.chains[node].pop();
        self.clocks.truncate(self.clocks.len() - self.locals.len());
        self.locals[node] = event.before;
        Some(event)
    }

    /// The index of the channel of a message.
    fn channel_of(&self, stepper: &Stepper<'_>, message: MessageId) -> usize {
        if !stepper.known().is_ordered() {
            return message.0 as usize;
        }
        let nodes = self.locals.len();
        let route = stepper.message(message).route();
        // A message on a link without order has a channel of its own, after all channels of ordered links.
        if route.is_unordered() {
            nodes * nodes + message.0 as usize
        } else {
            route.from as usize * nodes + route.to as usize
        }
    }

    fn send(&mut self, stepper: &mut Stepper<'_>, message: MessageId, sender: u32) {
        let index = self.channel_of(stepper, message);
        if self.channels.len() <= index {
            self.channels.resize_with(index + 1, Channel::default);
        }
        if self.channels[index].items.is_empty() {
            let to = stepper.message(message).to;
            self.inboxes[to as usize].push(index as u32);
        }
        self.channels[index].notices += usize::from(stepper.message(message).is_notice);
        let items = &mut self.channels[index].items;
        let room = items.capacity();
        items.push((message, sender));
        self.items += items.capacity() - room;
        self.used += usize::from(room == 0);
    }

    /// Appends the clock of an event that happens after both events, without counting itself.
    fn extend_clock(&mut self, one: u32, other: u32) {
        let first = self.clocks.len();
        self.clocks.resize(first + self.locals.len(), 0);
        for earlier in [one, other] {
            self.join_clock(first, earlier);
        }
    }

    /// Joins the clock that begins at `first` with that of an event.
    fn join_clock(&mut self, first: usize, earlier: u32) {
        if earlier != START {
            let from = earlier as usize * self.locals.len();
            for node in 0..self.locals.len() {
                self.clocks[first + node] = self.clocks[first + node].max(self.clocks[from + node]);
            }
        }
    }

    /// Whether an event whose past consists of these events and their pasts is within the bound on depth.
    fn fits(&self, last: u32, senders: &[u32]) -> bool {
        let Some(depth) = self.bounds.depth else { return true };
        let entry = |event: u32, node: usize| {
            if event == START { 0 } else { self.clocks[event as usize * self.locals.len() + node] }
        };
        let latest = |node| senders.iter().fold(entry(last, node), |max, sender| max.max(entry(*sender, node)));
        (0..self.locals.len()).map(latest).sum::<u32>() < depth
    }

    /// The deliveries to a node that takes quorums in a local state if this many items of the channels to it are gone, of the
    /// messages with usable senders: messages that it takes by themselves, then quorums that it does not decline.
    fn deliveries(
        &self,
        stepper: &mut Stepper<'_>,
        node: NodeId,
        local: LocalStateId,
        delivered: &[usize],
        is_usable: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<Delivery>, MachineError> {
        let (mut found, mut members) = (Vec::new(), Vec::new());
        for (channel, delivered) in self.inboxes[node as usize].iter().zip(delivered) {
            let Some(&(message, sender)) = self.channels[*channel as usize].items.get(*delivered) else { continue };
            if !is_usable(sender) {
                continue;
            }
            match stepper.role(local, message)? {
                Role::Alone => found.push(Delivery { trigger: Trigger::deliver(message), senders: vec![sender] }),
                Role::Held => {}
                Role::Member(kind) => members.push(stepper.known().member(kind, message, (message, sender))),
            }
        }
        let alone = found.len();
        for_each_set(&members, &|_, _| true, &mut |set| {
            let messages: Vec<MessageId> = set.iter().map(|member| member.item.0).collect();
            let senders = set.iter().map(|member| member.item.1).collect();
            found.push(Delivery { trigger: Trigger::deliver_quorum(stepper.quorum(&messages)), senders });
        });
        let mut index = alone;
        while index < found.len() {
            if stepper.is_idle(local, found[index].trigger)? {
                found.remove(index);
            } else {
                index += 1;
            }
        }
        Ok(found)
    }

    /// Puts the enabled events into `enabled`: node by node the messages in the order of their first sending, then the
    /// local events and the faults. Returns the bounds that left out events.
    pub fn enabled(
        &self,
        stepper: &mut Stepper<'_>,
        enabled: &mut Vec<(NodeId, Trigger)>,
    ) -> Result<BoundsHit, MachineError> {
        enabled.clear();
        let mut cut = BoundsHit::default();
        for (node, local) in (0..).zip(&self.locals) {
            let state = Arc::clone(stepper.state(*local));
            // No event happens at a node that is stuck in a fault.
            if state.is_stuck() {
                continue;
            }
            let last = self.chains[node as usize].last().copied().unwrap_or(START);
            let takes_quorums = stepper.known().takes_quorums(node);
            if takes_quorums {
                let inbox = self.inboxes[node as usize].iter();
                let delivered: Vec<usize> = inbox.map(|channel| self.channels[*channel as usize].delivered).collect();
                for Delivery { trigger, senders } in self.deliveries(stepper, node, *local, &delivered, &|_| true)? {
                    if self.fits(last, &senders) {
                        enabled.push((node, trigger));
                    } else {
                        cut.depth = true;
                    }
                }
            }
            let inbox = if takes_quorums { &[][..] } else { &self.inboxes[node as usize] };
            for channel in inbox {
                let channel = &self.channels[*channel as usize];
                for item in channel.next(stepper.known(), channel.delivered, &state.fault_state) {
                    let (message, sender) = channel.items[item];
                    if self.fits(last, &[sender]) {
                        enabled.push((node, Trigger::deliver(message)));
                    } else {
                        cut.depth = true;
                    }
                }
            }
            if self.bounds.local_events.is_some_and(|max| self.local_events[node as usize] >= max) {
                cut.local_events |= !state.protocol.local_events.is_empty();
            } else if self.fits(last, &[]) {
                enabled.extend(state.protocol.local_events.iter().map(|event| (node, Trigger::local(*event))));
            } else {
                cut.depth |= !state.protocol.local_events.is_empty();
            }
            for fault in state.faults.iter() {
                if stepper.is_idle(*local, fault)? {
                    continue;
                }
                if self.fits(last, &[]) {
                    enabled.push((node, fault));
                } else {
                    cut.depth = true;
                }
            }
        }
        Ok(cut)
    }
}
