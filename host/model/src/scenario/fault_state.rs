//! Fault states: the faults of a node so far, and its connections.
//!
//! A local state is a *protocol state*, which the protocol keeps, together with a *fault state*. Handlers see only the protocol
//! state, so they are executed once per protocol state, and the steps of local states are derived from that
//! without a machine.
//! So faults are events of one node like any other: their conditions and their effects are in the local state
//! of that node and in messages. No strategy needs to know more about them.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::contract::fingerprint::Fingerprint;
use crate::contract::{Choice, DurableMap, Fault, Ignores, NodeId};
use crate::scenario::cluster::Scenario;
use crate::scenario::fault_event::FaultEvent;
use crate::scenario::faults::Faults;
use crate::scenario::link::Network;
use crate::scenario::loose_entries::{LooseEntries, Writes};
use crate::scenario::outage_writes::OutageWrites;
use crate::scenario::route::Route;
use crate::scenario::unsynced::Unsynced;

/// The faults of a node so far, and the state of its connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FaultState {
    /// The number of times that each fault has happened here so far; 0 for faults that do not concern a single node.
    #[serde(flatten)]
    pub counts: Faults,
    /// Its ends of the connections to all nodes; empty if connections cannot break.
    ends: Box<[ConnectionEnd]>,
    /// The writes that an outage can lose; none if there can be no outage any more.
    #[serde(skip_serializing_if = "Unsynced::is_empty")]
    unsynced: Unsynced,
    /// The same where it can lose any of them.
    #[serde(skip_serializing_if = "LooseEntries::is_empty")]
    loose: LooseEntries,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConnectionEnd {
    /// The number of breaks of the connection, as far as this end knows.
    incarnation: u32,
    /// Whether a message was sent or received since.
    #[serde(rename = "open")]
    is_open: bool,
}

/// Maximum incarnation in a valid fault state from elsewhere: budgets are small.
const COUNT_MAX: u32 = 1 << 20;

impl FaultState {
    /// The fault state at the start, with ends of the connections to this many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { ends: vec![ConnectionEnd::default(); nodes].into(), ..Self::default() }
    }

    /// The fault state of a node before its first event.
    pub fn fresh(scenario: &Scenario) -> Self {
        Self::new(if scenario.has_connections() { scenario.nodes as usize } else { 0 })
    }

    /// Whether a node can be in this fault state, ignoring budgets, given a fresh one of the cluster, with ends of connections to the
    /// same number of nodes or to none.
    pub(crate) fn fits(&self, fresh: &Self) -> bool {
        let fits = self.counts.iter().all(|(fault, count)| fault.is_of_node() || count == 0);
        fits && self.ends.len() == fresh.ends.len() && self.ends.iter().all(|end| end.incarnation <= COUNT_MAX)
    }

    /// Whether no fault has happened, so that the protocol state is the whole local state.
    pub(crate) fn is_fresh(&self) -> bool {
        self.counts.are_none()
            && self.unsynced.is_empty()
            && self.loose.is_empty()
            && self.ends.iter().all(|end| *end == ConnectionEnd::default())
    }

    /// Whether all connections are the same as in another state of the node.
    pub(crate) fn has_same_connections(&self, other: &Self) -> bool {
        self.ends == other.ends
    }

    /// Whether connections can break.
    pub fn has_connections(&self) -> bool {
        !self.ends.is_empty()
    }

    /// The number of breaks of the connection to a peer, as far as this node knows.
    pub fn incarnation(&self, peer: NodeId) -> u32 {
        self.ends.get(peer as usize).map_or(0, |end| end.incarnation)
    }

    /// Whether a message was sent or received over the connection to a peer since its last break.
    pub fn is_open(&self, peer: NodeId) -> bool {
        self.ends.get(peer as usize).is_some_and(|end| end.is_open)
    }

    /// Opens the connection by sending or receiving; returns the incarnation.
    pub fn open(&mut self, peer: NodeId) -> u32 {
        let Some(end) = self.ends.get_mut(peer as usize) else { return 0 };
        end.is_open = true;
        end.incarnation
    }

    /// Breaks the connection at this end; returns the new incarnation.
    pub fn close(&mut self, peer: NodeId) -> u32 {
        let Some(end) = self.ends.get_mut(peer as usize) else { return 0 };
        *end = ConnectionEnd { incarnation: end.incarnation + 1, is_open: false };
        end.incarnation
    }

    /// Notes that the peer has broken the connection.
    pub fn learn(&mut self, peer: NodeId, incarnation: u32) {
        if let Some(end) = self.ends.get_mut(peer as usize) {
            *end = ConnectionEnd { incarnation, is_open: false };
        }
    }

    /// The durable map that a fault leaves; none for the present one.
    pub(crate) fn map_left(&self, fault: FaultEvent, present: Option<&DurableMap>) -> Option<DurableMap> {
        match fault.disk() {
            0 => self.unsynced.without(fault.unsynced()).cloned(),
            disk => self.loose.disk(disk, present.unwrap_or(&DurableMap::default())),
        }
    }

    /// The entries that an outage can leave with other values than the present ones, where it can lose any unsynced writes: each key with
    /// these values, none for no entry.
    pub fn loose_entries(&self) -> impl Iterator<Item = (&[u8], impl Iterator<Item = Option<&[u8]>>)> {
        self.loose.iter()
    }

    /// The number of changes that an outage must lose to leave this durable map; 0 if it leaves no such map in place of the present one.
    pub fn changes_behind(&self, map: &DurableMap) -> u32 {
        self.unsynced.changes_behind(map)
    }

    /// The maps that an outage can leave in place of the present one.
    pub fn unsynced_maps(&self) -> impl Iterator<Item = &DurableMap> {
        self.unsynced.iter()
    }

    /// Bytes that it does not share with the state before, about.
    pub(crate) fn own_bytes(&self) -> usize {
        self.unsynced.own_bytes()
    }

    /// Notes the writes of a handler that began with a durable map; a node that is stuck has none.
    ///
    /// # Errors
    ///
    /// An outage could leave too many disks.
    pub(crate) fn write(
        &mut self,
        before: &DurableMap,
        writes: Option<&Writes<'_>>,
        rules: &Rules,
    ) -> Result<(), Fault> {
        match writes {
            Some(writes) if self.counts.outages < rules.max.outages => match rules.outage_writes {
                OutageWrites::Prefix => self.unsynced.note(before.clone(), writes.synced, writes.after),
                OutageWrites::Any => return self.loose.note(before, writes),
            },
            _ => self.keep_all(),
        }
        Ok(())
    }

    /// No write can be lost any more.
    fn keep_all(&mut self) {
        self.unsynced.clear();
        self.loose.clear();
    }

    /// Takes a fault. Returns the connections that it breaks, each with its new incarnation, except for the connection of the
    /// node to itself, `me`: no other node is notified of that one.
    pub fn meet(&mut self, fault: FaultEvent, me: NodeId) -> Vec<(NodeId, u32)> {
        *self.counts.of_mut(fault.id()) += 1;
        if fault.loses_writes() {
            self.keep_all();
        }
        let broken: Vec<NodeId> = match fault.peer() {
            Some(peer) => vec![peer],
            None => (0..self.ends.len() as NodeId).filter(|peer| self.is_open(*peer)).collect(),
        };
        let closed: Vec<(NodeId, u32)> = broken.into_iter().map(|peer| (peer, self.close(peer))).collect();
        closed.into_iter().filter(|(peer, _)| *peer != me).collect()
    }

    /// Notes the messages that the transport has refused in a handler; returns whether the budget allowed it.
    pub fn refuse(&mut self, choices: &[Choice], rules: &Rules) -> bool {
        self.counts.refusals += choices.iter().filter(|choice| choice.is_refusal()).count() as u32;
        self.counts.refusals <= rules.max.refusals
    }

    /// Notes the loss of a message to the node. A path to a start state can lose more than a search may: these are not counted.
    pub fn lose(&mut self, rules: &Rules) {
        if rules.max.losses != Faults::UNLIMITED && self.counts.losses < rules.max.losses {
            self.counts.losses += 1;
        }
    }

    /// Whether a node in this fault state can take a message, apart from the order of messages in flight.
    pub fn can_take(&self, route: &Route) -> bool {
        let known = self.incarnation(route.from);
        if route.is_unordered() {
            return true;
        }
        if route.is_notice { route.incarnation > known } else { route.incarnation == known }
    }

    /// The words to be hashed for a fingerprint.
    pub fn words(&self) -> Vec<u32> {
        let ends = self.ends.iter().flat_map(|end| [end.incarnation, u32::from(end.is_open)]);
        let counts = Faults { outages: 0, ..self.counts };
        let counts: Vec<u32> = counts.iter().filter(|(fault, _)| fault.is_of_node()).map(|(_, count)| count).collect();
        // The last count is that of outages. Without any, the words are those of a build that knows none.
        let counts = &counts[..counts.len() - 1];
        let has_outages = self.counts.outages > 0 || !self.unsynced.is_empty() || !self.loose.is_empty();
        let unsynced = self.unsynced.words().chain(self.loose.words());
        let outages = has_outages.then_some(self.counts.outages).into_iter().chain(unsynced);
        counts.iter().copied().chain(ends).chain(outages).collect()
    }
}

impl Route {
    /// Whether a destination in this fault state can never take an item of this route.
    pub fn is_lost(&self, destination: &FaultState) -> bool {
        self.is_lost_after(destination.incarnation(self.from))
    }
}

/// The rules of network and faults, for the derivation of steps.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The budgets of the faults.
    pub(crate) max: Faults,
    /// The unsynced writes that an outage can lose.
    pub(crate) outage_writes: OutageWrites,
    /// The number of times that each message can be delivered, if all links are the same.
    copies: usize,
    nodes: u32,
    /// The nodes that are absent.
    absent: BTreeSet<NodeId>,
    /// Whether messages have an order on some link.
    pub(crate) is_ordered: bool,
    /// If links differ: for each sender and destination whether messages have an order, and the number of times that each can be
    /// delivered. Otherwise empty.
    links: Box<[(bool, usize)]>,
    /// Whether the protocol has a handler for broken connections.
    pub(crate) hears_errors: bool,
    /// The messages that a node replaces by breaking the connection, if there are any.
    pub(crate) ignores: Option<Arc<dyn Ignores>>,
}

impl Rules {
    /// The rules of a scenario for a protocol with or without a handler for transport errors.
    pub fn new(scenario: &Scenario, hears_errors: bool) -> Self {
        let is_ordered = scenario.has_network(Network::Ordered);
        let copies_of = |network: Network| match network {
            Network::UnorderedDuplicating => 1 + scenario.faults.duplicates as usize,
            Network::Unordered | Network::Ordered => 1,
        };
        let pairs = (0..scenario.nodes).flat_map(|from| (0..scenario.nodes).map(move |to| (from, to)));
        let link = |(from, to)| {
            let network = scenario.network_of(from, to);
            (network == Network::Ordered, copies_of(network))
        };
        let links = if scenario.links.is_empty() { Box::default() } else { pairs.map(link).collect() };
        Self {
            max: scenario.faults,
            outage_writes: scenario.outage_writes,
            copies: copies_of(scenario.network),
            nodes: scenario.nodes,
            absent: scenario.absent.clone(),
            is_ordered,
            links,
            hears_errors,
            ignores: None,
        }
    }

    /// Whether a local state can contain more than its protocol state.
    pub(crate) fn has_fault_states(&self) -> bool {
        self.max.iter().any(|(fault, max)| max > 0 && max != Faults::UNLIMITED && fault.is_of_node())
    }

    /// Whether a search can lose a message to a node in this fault state.
    pub(crate) fn can_lose(&self, fault_state: &FaultState) -> bool {
        fault_state.counts.losses < self.max.losses
    }

    /// Whether a node takes no step and no message.
    pub(crate) fn is_absent(&self, node: NodeId) -> bool {
        !self.absent.is_empty() && self.absent.contains(&node)
    }

    /// The link from one node to another, if links differ. A trace can name nodes that do not exist.
    fn link(&self, from: NodeId, to: NodeId) -> Option<(bool, usize)> {
        self.links.get(from as usize * self.nodes as usize + to as usize).copied()
    }

    /// The number of times that each message from one node to another can be delivered.
    pub(crate) fn copies(&self, from: NodeId, to: NodeId) -> usize {
        self.link(from, to).map_or(self.copies, |(_, copies)| copies)
    }

    /// The channel class of a message from one node to another, as far as it does not depend on the content: 0, or 1 if some links
    /// have an order but this one does not.
    pub(crate) fn channel_class(&self, from: NodeId, to: NodeId) -> u32 {
        u32::from(self.is_ordered && self.link(from, to).is_some_and(|(is_ordered, _)| !is_ordered))
    }

    /// Whether a node breaks the connection to the sender in place of a message that arrives in this protocol state.
    pub(crate) fn breaks_instead(&self, state: Fingerprint, from: NodeId, to: NodeId, payload: &[u8]) -> bool {
        let Some(ignores) = self.ignores.as_ref().filter(|ignores| ignores.node() == to && from != to) else {
            return false;
        };
        self.is_in_order(from, to) && self.max.breaks_of_connections() > 0 && ignores.drops(state, from, payload)
    }

    /// Whether messages from one node to another have an order.
    pub(crate) fn is_in_order(&self, from: NodeId, to: NodeId) -> bool {
        self.is_ordered && self.channel_class(from, to) == 0
    }

    /// The route of a message that a node in this fault state sends. Its end of the connection opens, if there is one.
    pub(crate) fn route(&self, from: NodeId, to: NodeId, fault_state: &mut FaultState) -> Route {
        let channel_class = self.channel_class(from, to);
        let incarnation = if channel_class > 0 { 0 } else { fault_state.open(to) };
        Route { from, to, incarnation, is_notice: false, channel_class }
    }

    /// The fault state of a node before its first event.
    pub(crate) fn fresh(&self) -> FaultState {
        let has_connections = self.is_ordered && self.max.breaks_of_connections() > 0;
        FaultState::new(if has_connections { self.nodes as usize } else { 0 })
    }

    /// The budget that a node in this fault state has exceeded, if any: the fault, its count, and its limit.
    pub(crate) fn overdrawn(&self, fault_state: &FaultState) -> Option<(&'static str, u32, u32)> {
        let mut all = self.max.iter().map(|(fault, max)| (fault.name(), fault_state.counts.of(fault), max));
        all.find(|(_, count, max)| count > max)
    }

    /// The faults that can still happen at a node in this fault state, without losses of writes.
    pub(crate) fn faults(&self, me: NodeId, fault_state: &FaultState) -> Vec<FaultEvent> {
        if self.is_absent(me) {
            return Vec::new();
        }
        let left = self.max.iter().filter(|(fault, max)| fault_state.counts.of(*fault) < *max);
        let peers = || (0..self.nodes).filter(|peer| *peer != me && fault_state.is_open(*peer));
        let events = left.flat_map(|(fault, _)| {
            std::iter::once(None).chain(peers().map(Some)).filter_map(move |peer| FaultEvent::new(fault, peer))
        });
        events.collect()
    }

    /// The number of losses of writes with which the last of these faults can happen as well.
    pub(crate) fn losses_of_writes(&self, me: NodeId, fault_state: &FaultState) -> u32 {
        let last = self.faults(me, fault_state).last().copied();
        match self.outage_writes {
            _ if !last.is_some_and(FaultEvent::loses_writes) => 0,
            OutageWrites::Prefix => fault_state.unsynced.len() as u32,
            OutageWrites::Any => fault_state.loose.others().unwrap_or_default(),
        }
    }

    /// Whether this fault can still happen at a node in this fault state.
    pub(crate) fn can_meet(&self, me: NodeId, fault_state: &FaultState, fault: FaultEvent) -> bool {
        let without_loss = FaultEvent::new(fault.id(), fault.peer());
        without_loss.is_some_and(|fault| self.faults(me, fault_state).contains(&fault))
            && match self.outage_writes {
                OutageWrites::Prefix => fault.disk() == 0 && fault.unsynced() <= self.losses_of_writes(me, fault_state),
                OutageWrites::Any => fault.unsynced() == 0 && fault.disk() <= self.losses_of_writes(me, fault_state),
            }
    }

    /// Whether an outage can lose any unsynced writes.
    pub(crate) fn loses_any_writes(&self) -> bool {
        self.max.outages > 0 && self.outage_writes == OutageWrites::Any
    }
}
