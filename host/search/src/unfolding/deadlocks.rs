//! The smallest configurations of an unfolding that end in deadlocks.
//!
//! A configuration is a tuple of events, one per node, such that no past of one of them reaches beyond another one. The event of a node
//! decides which messages the node has sent and received. So the configuration is
//! an [end](host_model::lts::deadlock) if no local event is possible after any of the events, and if for each two nodes the first
//! has sent to the second as many messages as the second has received from the first. Numbers are enough: every message received was sent.
//! Events that fit together are therefore found by looking up numbers, without an enumeration of configurations.
//!
//! At a crashed node any event may still be possible, and messages in flight to it do not matter. Each set of nodes that may have
//! crashed is searched separately.
//!
//! On an ordered network with connections that break, some messages are lost. There the items that were not received are examined
//! one by one.
//!
//! Deliveries that change nothing have to be events here: otherwise messages that no node reacts to would stay in flight.
//!
//! Each reachable global state is at the end of a smallest configuration without cut-off events, so in a complete unfolding no deadlock
//! is missed, and no shorter path to one exists.

use std::collections::BTreeMap;

use host_model::contract::{MachineError, NodeId};
use rustc_hash::FxHashMap;

use crate::kernel::poll::StopPoll;
use crate::unfolding::Unfolding;
use crate::unfolding::chains::EventId;
use crate::unfolding::reachable_tuples::JudgedConfig;
use crate::unfolding::view::{NONE, UnfoldingView};

/// The smallest deadlock of at most `size_max` events, if there is one, or with `all` the smallest one for each set of nodes that
/// wait and of nodes that have crashed. Calls `may_continue` regularly, with the steps since the last call; once it has
/// returned false, the best ones so far are returned.
pub fn smallest_deadlocks(
    unfolding: &mut Unfolding<'_, '_>,
    size_max: u32,
    all: bool,
    mut may_continue: impl FnMut(u32) -> bool,
) -> Result<Vec<JudgedConfig>, MachineError> {
    let afterwards = afterwards(unfolding)?;
    let crashes_max = unfolding.stepper().lts().scenario().faults.crashes as usize;
    let view = unfolding.view();
    let mut run = TerminalSearch {
        by_traffic: Vec::new(),
        traffic: Traffic::new(view),
        has_crashed: vec![false; view.nodes],
        afterwards: &afterwards,
        picked: Vec::new(),
        size_max,
        all,
        best: BTreeMap::new(),
        poll: StopPoll::new(&mut may_continue),
    };
    run.crash_from(0, crashes_max);
    let best = run.best;
    let mut hits = Vec::with_capacity(best.len());
    for (fates, (size, config)) in best {
        let locals: Vec<_> = config.iter().map(|last| unfolding.event(*last).state).collect();
        let crashed: Vec<NodeId> =
            (0..).zip(&fates).filter(|(_, fate)| **fate == Fate::Crashed).map(|(node, _)| node).collect();
        let judgement = unfolding.stepper().judge_end(&locals, &crashed)?.expect("one of the nodes is not done");
        hits.push(JudgedConfig { judgement, node: None, config, size });
    }
    Ok(hits)
}

/// The events that are possible at a node after an event, apart from messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Afterwards {
    /// None, since the node is stuck: a violation of its own.
    Stuck,
    /// A local event.
    Something,
    /// None; and whether the node waits.
    Nothing { waits: bool },
}

/// The fate of a node in a deadlock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Done,
    Waits,
    Crashed,
}

/// The events that are possible after each event at its node.
fn afterwards(unfolding: &mut Unfolding<'_, '_>) -> Result<Vec<Afterwards>, MachineError> {
    let mut all = Vec::with_capacity(unfolding.events().len());
    for index in 0..unfolding.events().len() {
        let id = unfolding.events()[index].state;
        let stepper = unfolding.stepper();
        let state = stepper.state(id);
        all.push(match state.is_stuck() {
            true => Afterwards::Stuck,
            false if !state.protocol.local_events.is_empty() => Afterwards::Something,
            false => Afterwards::Nothing { waits: stepper.judge_end(&[id], &[])?.is_some() },
        });
    }
    Ok(all)
}

/// The messages that each chain of events has sent and received.
struct Traffic<'t> {
    view: UnfoldingView<'t>,
    /// For each event and node, the number of messages that the chain has sent to it, and then received from it.
    counts: Vec<u32>,
    /// Whether a sent message can be lost.
    is_lossy: bool,
}

impl<'t> Traffic<'t> {
    fn new(view: UnfoldingView<'t>) -> Self {
        let nodes = view.nodes;
        let mut counts = vec![0; view.events.len() * 2 * nodes];
        let count_sent = |counts: &mut [u32], instances: std::ops::Range<usize>, sender: Option<EventId>| {
            for instance in &view.instances[instances] {
                if sender.is_none_or(|sender| instance.sender == sender) {
                    counts[view.known.message(instance.message).to as usize] += 1;
                }
            }
        };
        for (id, event) in (0..).map(EventId).zip(view.events) {
            let (before, rest) = counts.split_at_mut(id.0 as usize * 2 * nodes);
            let own = &mut rest[..2 * nodes];
            let prev = view.chains.prev(id);
            let sent = event.sent.0 as usize..event.sent.1 as usize;
            if prev == id {
                // The messages in flight at the start may be in one list for all roots.
                count_sent(own, sent, Some(id));
            } else {
                own.copy_from_slice(&before[prev.0 as usize * 2 * nodes..][..2 * nodes]);
                count_sent(own, sent, None);
                for instance in event.consumed.instances(view.quorums) {
                    let message = view.instances[instance.0 as usize].message;
                    own[nodes + view.known.message(message).from as usize] += 1;
                }
            }
            // On an ordered link, some messages before the one that was taken may be lost.
            for (node, frontiers) in view.frontiers_of(id).iter().enumerate() {
                if let Some(last) = view.instances.get(frontiers.last_sent as usize) {
                    own[node] = last.position + 1;
                }
                own[nodes + node] = own[nodes + node].max(frontiers.taken);
            }
        }
        let root = view.known.state(view.events[0].state);
        Self { view, counts, is_lossy: root.fault_state.has_connections() }
    }

    fn of(&self, event: EventId) -> (&[u32], &[u32]) {
        let nodes = self.view.nodes;
        self.counts[event.0 as usize * 2 * nodes..][..2 * nodes].split_at(nodes)
    }

    /// Whether no message is in flight from the node of one event to that of another one.
    fn is_clear(&self, from: EventId, to: EventId) -> bool {
        let (sender, receiver) = (self.view.event(from), self.view.event(to));
        let (sent, taken) = (self.of(from).0[receiver.node as usize], self.of(to).1[sender.node as usize]);
        if sent <= taken || !self.is_lossy {
            return sent <= taken;
        }
        let mut at = self.view.frontiers(from)[receiver.node as usize].last_sent;
        if at == NONE {
            // On a link without order no message is lost.
            return false;
        }
        while at != NONE {
            let instance = &self.view.instances[at as usize];
            if instance.position < taken {
                break;
            }
            if !self.view.is_lost(at, receiver.state) {
                return false;
            }
            at = instance.before;
        }
        true
    }

    /// The numbers of messages on which an event of a node and those of the nodes before must agree: to them, then from them. Messages
    /// to a node that has crashed do not count.
    fn with_nodes_before(&self, event: EventId, node: usize, has_crashed: &[bool]) -> Box<[u32]> {
        if self.is_lossy {
            return Box::default();
        }
        let (sent, taken) = self.of(event);
        let sent = (0..node).filter(|other| !has_crashed[*other]).map(|other| sent[other]);
        let taken = (0..node).filter(|_| !has_crashed[node]).map(|other| taken[other]);
        sent.chain(taken).collect()
    }

    /// The same numbers as these events of the nodes before require them of the next node.
    fn wanted_of(&self, picked: &[EventId], has_crashed: &[bool]) -> Box<[u32]> {
        if self.is_lossy {
            return Box::default();
        }
        let node = picked.len();
        let taken = (0..node).filter(|other| !has_crashed[*other]).map(|other| self.of(picked[other]).1[node]);
        let sent = (0..node).filter(|_| !has_crashed[node]).map(|other| self.of(picked[other]).0[node]);
        taken.chain(sent).collect()
    }

    /// Whether neither past reaches beyond the other event, and no message is in flight between the two to a node that has not crashed.
    fn fit(&self, one: EventId, other: EventId, has_crashed: &[bool]) -> bool {
        let UnfoldingView { chains, .. } = self.view;
        let (node, other_node) = (self.view.event(one).node as usize, self.view.event(other).node as usize);
        chains.is_ancestor(self.view.past(one)[other_node], other)
            && chains.is_ancestor(self.view.past(other)[node], one)
            && (has_crashed[other_node] || self.is_clear(one, other))
            && (has_crashed[node] || self.is_clear(other, one))
    }
}

/// A configuration with the number of its events.
type WithSize = (u32, Box<[EventId]>);

struct TerminalSearch<'r> {
    traffic: Traffic<'r>,
    has_crashed: Vec<bool>,
    /// For each node the events that can be its last, by the numbers that have to agree with the nodes before.
    by_traffic: Vec<FxHashMap<Box<[u32]>, Vec<EventId>>>,
    afterwards: &'r [Afterwards],
    /// One event for each of the first nodes.
    picked: Vec<EventId>,
    size_max: u32,
    all: bool,
    /// The smallest configuration for each combination of fates of the nodes; a single one unless all are wanted.
    best: BTreeMap<Box<[Fate]>, WithSize>,
    poll: StopPoll<'r>,
}

impl TerminalSearch<'_> {
    /// Picks events for each set of up to this many nodes, from this node on, that may have crashed. Returns whether to continue.
    fn crash_from(&mut self, node: usize, crashes_max: usize) -> bool {
        if node == self.has_crashed.len() {
            self.list();
            return self.pick(0);
        }
        if !self.crash_from(node + 1, crashes_max) {
            return false;
        }
        if crashes_max == 0 {
            return true;
        }
        self.has_crashed[node] = true;
        let continues = self.crash_from(node + 1, crashes_max - 1);
        self.has_crashed[node] = false;
        continues
    }

    /// Lists the events that can be the last ones of their nodes.
    fn list(&mut self) {
        let Self { traffic, has_crashed, afterwards, .. } = self;
        let mut lists = vec![FxHashMap::<Box<[u32]>, Vec<EventId>>::default(); has_crashed.len()];
        for (id, event) in (0..).map(EventId).zip(traffic.view.events) {
            let node = event.node as usize;
            let can_be_last = match afterwards[id.0 as usize] {
                Afterwards::Stuck => false,
                Afterwards::Something => has_crashed[node],
                Afterwards::Nothing { .. } => has_crashed[node] || traffic.is_clear(id, id),
            };
            if can_be_last {
                lists[node].entry(traffic.with_nodes_before(id, node, has_crashed)).or_default().push(id);
            }
        }
        self.by_traffic = lists;
    }

    /// Picks an event for the next node in every way that fits; those so far have `size` events. Returns whether to continue.
    fn pick(&mut self, size: u32) -> bool {
        let node = self.picked.len();
        if node == self.by_traffic.len() {
            self.note(size);
            return true;
        }
        let wanted = self.traffic.wanted_of(&self.picked, &self.has_crashed);
        let candidates = self.by_traffic[node].get(&wanted).cloned().unwrap_or_default();
        for event in candidates {
            if self.poll.is_over_after(1) {
                return false;
            }
            let size = size + self.traffic.view.chains.len(event);
            // The fates of the nodes are known only at the end.
            let is_news = self.all || self.best.values().all(|(best, _)| size < *best);
            let is_small = size <= self.size_max && is_news;
            let fits = |other: &EventId| self.traffic.fit(*other, event, &self.has_crashed);
            if !is_small || !self.picked.iter().all(fits) {
                continue;
            }
            self.picked.push(event);
            let continues = self.pick(size);
            self.picked.pop();
            if !continues {
                return false;
            }
        }
        true
    }

    /// Keeps the picked configuration if a node waits and it is the smallest of its kind. If a node that may have crashed has no possible
    /// event anyway, the configuration is found without that crash.
    fn note(&mut self, size: u32) {
        let afterwards = |event: &EventId| self.afterwards[event.0 as usize];
        let fates: Box<[Fate]> = std::iter::zip(&self.picked, &self.has_crashed)
            .map(|(event, has_crashed)| match (has_crashed, afterwards(event)) {
                (true, _) => Fate::Crashed,
                (false, Afterwards::Nothing { waits: true }) => Fate::Waits,
                (false, _) => Fate::Done,
            })
            .collect();
        let can_still_step = |event: &EventId| {
            afterwards(event) == Afterwards::Something
                || self.picked.iter().any(|other| !self.traffic.is_clear(*other, *event))
        };
        let mut crashed = std::iter::zip(&self.picked, &self.has_crashed).filter(|(_, has_crashed)| **has_crashed);
        let is_smallest = self.best.get(&fates).is_none_or(|(best, _)| size < *best);
        if !is_smallest || !fates.contains(&Fate::Waits) || !crashed.all(|(event, _)| can_still_step(event)) {
            return;
        }
        if !self.all {
            self.best.clear();
        }
        self.best.insert(fates, (size, self.picked.as_slice().into()));
    }
}
