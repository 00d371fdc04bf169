//! The smallest configurations of an unfolding that end in deadlocks.
//!
//! A configuration is a tuple of events, one a node, such that no past of one of them reaches beyond another one. What a node
//! has sent to another one is decided by its own event, and what that one has received by its own. So the configuration is
//! an [end](host_model::deadlock) if no local event is possible after any of the events, and if for each two nodes the first
//! has sent to the second as much as the second has received from the first. Numbers are enough: what is received was sent.
//! Events that fit together are therefore found by looking numbers up, and no configurations are walked.
//!
//! On an ordered network with connections that break some of what was sent is lost. There the items that were not received
//! are looked at one by one.
//!
//! Deliveries that change nothing have to be events here: without them, what nobody heeds would stay in flight.
//!
//! Each reachable global state is at the end of a configuration without cut-off events, none smaller of which is cut off, so
//! nothing is missed in a complete unfolding, and no shorter way exists.

use std::collections::BTreeMap;

use host_model::machine::MachineError;
use rustc_hash::FxHashMap;

use crate::chains::EventId;
use crate::patience::Patience;
use crate::targets::Hit;
use crate::trees::{NONE, Trees};
use crate::unfolding::Unfolding;

/// The smallest deadlock of at most `size_max` events, if there is one, or with `all` the smallest one for each set of nodes that
/// wait. `may_go_on` is asked every now and then; once it has returned false, the best ones so far are returned.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn smallest_deadlocks(
    unfolding: &mut Unfolding<'_, '_>,
    size_max: u32,
    all: bool,
    mut may_go_on: impl FnMut() -> bool,
) -> Result<Vec<Hit>, MachineError> {
    let waits = who_waits(unfolding)?;
    let trees = unfolding.trees();
    let traffic = Traffic::new(trees);
    let mut quiet: Vec<Vec<EventId>> = vec![Vec::new(); trees.nodes];
    for (id, event) in (0..).map(EventId).zip(trees.events) {
        if waits[id.0 as usize].is_some() && traffic.is_clear(id, id) {
            quiet[event.node as usize].push(id);
        }
    }
    let by_traffic = quiet.iter().enumerate().map(|(node, events)| {
        let mut lists: FxHashMap<Box<[u32]>, Vec<EventId>> = FxHashMap::default();
        for event in events {
            lists.entry(traffic.with_nodes_before(*event, node)).or_default().push(*event);
        }
        lists
    });
    let mut run = Run {
        by_traffic: by_traffic.collect(),
        traffic,
        waits: &waits,
        picked: Vec::new(),
        size_max,
        all,
        best: BTreeMap::new(),
        patience: Patience::new(&mut may_go_on),
    };
    run.pick(0);
    let best = run.best;
    let mut hits = Vec::with_capacity(best.len());
    for (size, config) in best.into_values() {
        let locals: Vec<_> = config.iter().map(|last| unfolding.event(*last).state).collect();
        let judgement = unfolding.stepper().judge_end(&locals)?.expect("one of the nodes is not done");
        hits.push(Hit { judgement, node: None, config, size });
    }
    Ok(hits)
}

/// For each event whether its node waits for something afterwards; none if a local event is possible there, or the node is
/// stuck.
fn who_waits(unfolding: &mut Unfolding<'_, '_>) -> Result<Vec<Option<bool>>, MachineError> {
    let mut waits = Vec::with_capacity(unfolding.events().len());
    for index in 0..unfolding.events().len() {
        let id = unfolding.events()[index].state;
        let stepper = unfolding.stepper();
        let state = stepper.state(id);
        let is_quiet = state.snapshot.is_some() && state.local_events.is_empty();
        waits.push(if is_quiet { Some(stepper.judge_end(&[id])?.is_some()) } else { None });
    }
    Ok(waits)
}

/// What each chain of events has sent and received.
struct Traffic<'t> {
    trees: Trees<'t>,
    /// For each event and node, how much the chain has sent to it, and then received from it.
    counts: Vec<u32>,
    /// Whether something that was sent can be lost.
    is_lossy: bool,
}

impl<'t> Traffic<'t> {
    fn new(trees: Trees<'t>) -> Self {
        let nodes = trees.nodes;
        let mut counts = vec![0; trees.events.len() * 2 * nodes];
        let count_sent = |counts: &mut [u32], instances: std::ops::Range<usize>, sender: Option<EventId>| {
            for instance in &trees.instances[instances] {
                if sender.is_none_or(|sender| instance.sender == sender) {
                    counts[trees.known.message(instance.message).to as usize] += 1;
                }
            }
        };
        for (id, event) in (0..).map(EventId).zip(trees.events) {
            let (before, rest) = counts.split_at_mut(id.0 as usize * 2 * nodes);
            let own = &mut rest[..2 * nodes];
            let prev = trees.chains.prev(id);
            let sent = event.sent.0 as usize..event.sent.1 as usize;
            if prev == id {
                // What is in flight at the start may be in one list for all roots.
                count_sent(own, sent, Some(id));
            } else {
                own.copy_from_slice(&before[prev.0 as usize * 2 * nodes..][..2 * nodes]);
                count_sent(own, sent, None);
                for instance in event.consumed.instances(trees.quorums) {
                    let message = trees.instances[instance.0 as usize].message;
                    own[nodes + trees.known.message(message).from as usize] += 1;
                }
            }
            // Where messages have an order, some of those before the one that was taken may be lost.
            for (node, ends) in trees.ends_of(id).iter().enumerate() {
                if let Some(last) = trees.instances.get(ends.last_sent as usize) {
                    own[node] = last.position + 1;
                }
                own[nodes + node] = own[nodes + node].max(ends.taken);
            }
        }
        let root = trees.known.state(trees.events[0].state);
        Self { trees, counts, is_lossy: root.standing.has_connections() }
    }

    fn of(&self, event: EventId) -> (&[u32], &[u32]) {
        let nodes = self.trees.nodes;
        self.counts[event.0 as usize * 2 * nodes..][..2 * nodes].split_at(nodes)
    }

    /// Whether nothing is on its way from the node of one event to that of another one.
    fn is_clear(&self, from: EventId, to: EventId) -> bool {
        let (sender, receiver) = (self.trees.event(from), self.trees.event(to));
        let (sent, taken) = (self.of(from).0[receiver.node as usize], self.of(to).1[sender.node as usize]);
        if sent <= taken || !self.is_lossy {
            return sent <= taken;
        }
        let mut at = self.trees.ends(from)[receiver.node as usize].last_sent;
        if at == NONE {
            // On a link without order nothing is lost.
            return false;
        }
        while at != NONE {
            let instance = &self.trees.instances[at as usize];
            if instance.position < taken {
                break;
            }
            if !self.trees.is_lost(at, receiver.state) {
                return false;
            }
            at = instance.before;
        }
        true
    }

    /// What has to agree between an event of a node and those of the nodes before: what went to them, then what came.
    fn with_nodes_before(&self, event: EventId, node: usize) -> Box<[u32]> {
        if self.is_lossy {
            return Box::default();
        }
        let (sent, taken) = self.of(event);
        sent[..node].iter().chain(&taken[..node]).copied().collect()
    }

    /// The same of these events of the nodes before, for the next node.
    fn wanted_of(&self, picked: &[EventId]) -> Box<[u32]> {
        if self.is_lossy {
            return Box::default();
        }
        let node = picked.len();
        let taken = picked.iter().map(|event| self.of(*event).1[node]);
        let sent = picked.iter().map(|event| self.of(*event).0[node]);
        taken.chain(sent).collect()
    }

    /// Whether neither past reaches beyond the other event, and nothing is on its way between the two.
    fn fit(&self, one: EventId, other: EventId) -> bool {
        let Trees { chains, .. } = self.trees;
        let (node, other_node) = (self.trees.event(one).node as usize, self.trees.event(other).node as usize);
        chains.is_ancestor(self.trees.past(one)[other_node], other)
            && chains.is_ancestor(self.trees.past(other)[node], one)
            && self.is_clear(one, other)
            && self.is_clear(other, one)
    }
}

/// A configuration with the number of its events.
type WithSize = (u32, Box<[EventId]>);

struct Run<'r> {
    traffic: Traffic<'r>,
    /// For each node its events after which nothing can happen at the node, by what has to agree with the nodes before.
    by_traffic: Vec<FxHashMap<Box<[u32]>, Vec<EventId>>>,
    waits: &'r [Option<bool>],
    /// One event for each of the first nodes.
    picked: Vec<EventId>,
    size_max: u32,
    all: bool,
    /// By which nodes wait, the smallest one; a single one unless all are wanted.
    best: BTreeMap<Box<[bool]>, WithSize>,
    patience: Patience<'r>,
}

impl Run<'_> {
    /// Picks an event for the next node in every way that fits; those so far have `size` events. Returns whether to go on.
    fn pick(&mut self, size: u32) -> bool {
        let node = self.picked.len();
        if node == self.by_traffic.len() {
            self.note(size);
            return true;
        }
        let wanted = self.traffic.wanted_of(&self.picked);
        let candidates = self.by_traffic[node].get(&wanted).cloned().unwrap_or_default();
        for event in candidates {
            if self.patience.is_over_after(1) {
                return false;
            }
            let size = size + self.traffic.trees.chains.len(event);
            // Which nodes wait is known at the end only.
            let is_news = self.all || self.best.values().all(|(best, _)| size < *best);
            let is_small = size <= self.size_max && is_news;
            if !is_small || !self.picked.iter().all(|other| self.traffic.fit(*other, event)) {
                continue;
            }
            self.picked.push(event);
            let goes_on = self.pick(size);
            self.picked.pop();
            if !goes_on {
                return false;
            }
        }
        true
    }

    /// Keeps what was picked if a node waits and it is the smallest of its kind.
    fn note(&mut self, size: u32) {
        let waits: Box<[bool]> = self.picked.iter().map(|event| self.waits[event.0 as usize] == Some(true)).collect();
        let is_smallest = self.best.get(&waits).is_none_or(|(best, _)| size < *best);
        if !is_smallest || !waits.contains(&true) {
            return;
        }
        if !self.all {
            self.best.clear();
        }
        self.best.insert(waits, (size, self.picked.as_slice().into()));
    }
}
