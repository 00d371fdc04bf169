//! Every execution of a small cluster: breadth-first over global states, without reduction.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Cluster, InFlight};
use crate::{Canonical, Encoding, NodeId, Payload, Protocol, Role, format};

/// Result of [`Cluster::explore`]. A global state consists of the states of all nodes and the multiset of messages in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// Distinct global states.
    pub global_states: usize,
    /// Transitions between global states: messages to deliver (equal ones count once), quorums, local events and resets,
    /// each once for every resolution of its choices.
    pub transitions: usize,
    /// Distinct states of all nodes, without the network.
    pub system_states: usize,
    /// Distinct states of each node.
    pub local_states: Vec<usize>,
    /// Global states without enabled events.
    pub terminal_states: usize,
    /// Global states in which only resets are enabled and some node is not done.
    pub deadlocks: usize,
    /// Events on the shortest way to the furthest global state.
    pub depth: usize,
    /// The first violated `always` property, and the reason. The search ends there, and so do the counts; `depth` is
    /// then the smallest number of events to a violation.
    pub broken: Option<String>,
}

/// A global state by content: the nodes' states in order, each with its remaining resets, and the messages in flight,
/// sorted.
type Key = (Vec<(Vec<u8>, u32)>, Vec<Vec<u8>>);

impl<P: Protocol> Cluster<P> {
    /// Visits every reachable global state until a property is violated; the network is unordered and loses nothing,
    /// resets happen only [`with_resets`](Self::with_resets): they are part of a node's state, and a reset that changes
    /// nothing and sends nothing does not happen.
    ///
    /// For tests of small configurations: all states are kept in memory, and a real search is the host's job.
    ///
    /// # Panics
    ///
    /// There are more than `global_states_max` global states.
    pub fn explore(&self, global_states_max: usize) -> Explored {
        let mut seen = BTreeSet::from([self.key()]);
        let mut system_states = BTreeSet::new();
        let mut local_states = vec![BTreeSet::new(); self.states.len()];
        let mut queue = VecDeque::from([(self.clone(), 0)]);
        let mut found = Explored {
            global_states: 0,
            transitions: 0,
            system_states: 0,
            local_states: Vec::new(),
            terminal_states: 0,
            deadlocks: 0,
            depth: 0,
            broken: None,
        };
        while let Some((cluster, depth)) = queue.pop_front() {
            let (states, _) = cluster.key();
            found.depth = depth;
            if system_states.insert(states.clone()) {
                local_states.iter_mut().zip(states).for_each(|(seen, state)| {
                    seen.insert(state);
                });
                found.broken = cluster.check().err();
                if found.broken.is_some() {
                    break;
                }
            }
            let successors = cluster.successors();
            found.transitions += successors.len();
            found.terminal_states += usize::from(successors.is_empty());
            found.deadlocks += usize::from(cluster.is_deadlocked());
            for successor in successors {
                if seen.insert(successor.key()) {
                    assert!(seen.len() <= global_states_max, "more than {global_states_max} global states");
                    queue.push_back((successor, depth + 1));
                }
            }
        }
        found.global_states = seen.len();
        found.system_states = system_states.len();
        found.local_states = local_states.iter().map(BTreeSet::len).collect();
        found
    }
    /// Whether no message is in flight, no local event is possible, and some node is not done.
    pub fn is_deadlocked(&self) -> bool {
        let mut nodes = 0..self.nodes() as NodeId;
        let is_end = self.in_flight.is_empty() && nodes.clone().all(|node| self.local_events(node).is_empty());
        let is_done = |node| self.configured_nodes[node as usize].protocol.is_done(self.state(node));
        is_end && !nodes.all(|node| self.at(node, || is_done(node)))
    }
    /// The global states after each enabled event, one for each resolution of its choices.
    fn successors(&self) -> Vec<Self> {
        let mut successors = Vec::new();
        // Equal messages are one event: the first in flight stands for all.
        let messages: BTreeMap<_, _> = self
            .in_flight
            .iter()
            .enumerate()
            .rev()
            .map(|(index, message)| (message_key(message, P::ENCODING), index))
            .collect();
        for index in messages.into_values().filter(|index| self.role(*index) == Role::Alone) {
            self.resolutions(|next| next.deliver(index), &mut successors);
        }
        for quorum in self.quorums() {
            let mut after = Vec::new();
            self.resolutions(|next| next.is_declined = !next.deliver_quorum(&quorum), &mut after);
            successors.extend(after.into_iter().filter(|next| !next.is_declined));
        }
        for node in 0..self.nodes() as NodeId {
            for event in self.local_events(node) {
                self.resolutions(|next| next.happen_event(node, &event.event), &mut successors);
            }
            if self.resets_left[node as usize] > 0 {
                let mut after = Vec::new();
                self.resolutions(|next| next.reset(node), &mut after);
                let state = |cluster: &Self| cluster.identity(node);
                let is_idle = |next: &Self| next.in_flight.len() == self.in_flight.len() && state(next) == state(self);
                after.retain(|next| !is_idle(next));
                for mut next in after {
                    next.resets_left[node as usize] -= 1;
                    successors.push(next);
                }
            }
        }
        successors
    }

    /// Runs one event once for every resolution of its choices.
    fn resolutions(&self, run: impl Fn(&mut Self), out: &mut Vec<Self>) {
        let mut answers = Vec::new();
        loop {
            let mut next = self.clone();
            next.script.answers = answers.iter().copied().collect();
            next.script.asked.clear();
            next.script.log.clear();
            next.script.responses.clear();
            run(&mut next);
            let mut asked = std::mem::take(&mut next.script.asked);
            out.push(next);
            // The last choice with an untried answer advances; the choices behind it start again.
            while asked.last().is_some_and(|(answer, alternatives)| answer + 1 == *alternatives) {
                asked.pop();
            }
            let Some((last, _)) = asked.last_mut() else { return };
            *last += 1;
            answers = asked.into_iter().map(|(answer, _)| answer).collect();
        }
    }

    /// The state of a node by content, with its durable map.
    fn identity(&self, node: NodeId) -> Vec<u8> {
        let identity = self.at(node, || format::identity::<P>(&self.states[node as usize]));
        let map = self.maps.borrow()[node as usize].encode(Encoding::Postcard);
        (identity, map).encode(Encoding::Postcard)
    }

    fn key(&self) -> Key {
        let mut messages: Vec<Vec<u8>> =
            self.in_flight.iter().map(|message| message_key(message, P::ENCODING)).collect();
        messages.sort_unstable();
        let states = (0..self.nodes()).map(|node| self.identity(node));
        (states.zip(self.resets_left.iter().copied()).collect(), messages)
    }
}

fn message_key<M: Payload>(in_flight: &InFlight<M>, encoding: Encoding) -> Vec<u8> {
    (in_flight.from, in_flight.to, in_flight.message.to_bytes(encoding)).encode(Encoding::Postcard)
}
