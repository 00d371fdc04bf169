//! The network of a run: the latency of messages, their losses, and the reachability of nodes.

use std::time::Duration;

use host_model::contract::{MachineError, NodeId};
use host_model::lts::MessageId;
use host_model::scenario::Network;

use crate::simulator::chance::Purpose;
use crate::simulator::conditions::{Conditions, Partitions};
use crate::simulator::input::Input;
use crate::simulator::run::Run;
use crate::time::Time;

impl Run<'_, '_> {
    /// Messages and notices begin their way. Copies of a message stand side by side.
    pub(super) fn post(&mut self, messages: &[MessageId]) {
        for same in messages.chunk_by(|one, other| one == other) {
            let (id, message) = (same[0], self.stepper.message(same[0]));
            let (route, from, to) = (message.route(), message.from, message.to);
            let scenario = self.stepper.lts().scenario();
            let network = scenario.network_of(from, to);
            let copies =
                if network == Network::UnorderedDuplicating { 1 + scenario.faults.duplicates as usize } else { 1 };
            for place in 0..same.len() {
                let is_repeated = place % copies > 0;
                if is_repeated && !self.chance.is_in(Purpose::Duplicates, self.conditions.duplicates) {
                    continue;
                }
                match network {
                    Network::Ordered => self.send_in_order(id, (from, to)),
                    Network::Unordered | Network::UnorderedDuplicating => self.send(id, route.from, route.to),
                }
            }
        }
    }

    /// A message on a link without an order begins its way.
    fn send(&mut self, id: MessageId, from: NodeId, to: NodeId) {
        let is_lost = !self.is_loopback(from, to) && self.chance.is_in(Purpose::Loss, self.conditions.loss);
        let payload = &self.stepper.message(id).payload;
        let is_meant = self.phase.is_some_and(|(phase, _)| phase.loses(from, to, payload));
        if is_lost || is_meant || self.divided_until(from, to).is_some() {
            self.counts.lost += 1;
            return;
        }
        let latency = self.latency(from, to);
        self.agenda.add(self.now.after(latency), Input::Arrival(id));
    }

    /// A message or notice on a link with an order begins its way, or waits until its ends reach each other, behind those that wait.
    fn send_in_order(&mut self, id: MessageId, link: (NodeId, NodeId)) {
        if let Some(waiting) = self.waiting.get_mut(&link) {
            waiting.push(id);
        } else if let Some(end) = self.divided_until(link.0, link.1) {
            self.waiting.insert(link, vec![id]);
            self.agenda.add(end, Input::Departure(link));
        } else {
            self.depart(id, link);
        }
    }

    /// A separation of the ends of a link is over: waiting messages begin their way, unless something else separates the ends by now.
    pub(super) fn departure(&mut self, link: (NodeId, NodeId)) {
        match self.divided_until(link.0, link.1) {
            Some(end) => self.agenda.add(end, Input::Departure(link)),
            None => self.waiting.remove(&link).into_iter().flatten().for_each(|id| self.depart(id, link)),
        }
    }

    /// A message or notice on a link with an order is on its way, behind those before it.
    fn depart(&mut self, id: MessageId, link: (NodeId, NodeId)) {
        let latency = self.latency(link.0, link.1);
        let last = self.arrivals.entry(link).or_default();
        *last = self.now.after(latency).max(*last);
        self.agenda.add(*last, Input::Arrival(id));
    }

    /// Whether a message does not go through the network.
    fn is_loopback(&self, from: NodeId, to: NodeId) -> bool {
        from == to && self.conditions.loopback.is_some()
    }

    fn latency(&mut self, from: NodeId, to: NodeId) -> Duration {
        let Conditions { latency, loopback, .. } = self.conditions;
        self.chance.within(Purpose::Latency, loopback.filter(|_| from == to).unwrap_or(*latency))
    }

    /// The end of the partition or of the phase of the script that separates two nodes.
    pub(super) fn divided_until(&self, from: NodeId, to: NodeId) -> Option<Time> {
        let is_apart = |sides: &[bool]| sides[from as usize] != sides[to as usize];
        let partition = self.partition.as_ref().filter(|(sides, end)| self.now < *end && is_apart(sides));
        let phase = self.phase.filter(|(phase, _)| phase.separates(from, to));
        partition.map(|(_, end)| *end).max(phase.map(|(_, end)| end))
    }

    /// A partition begins, and the next one is due after it.
    pub(super) fn divide(&mut self) {
        let Partitions { every, lasting } =
            self.conditions.partitions.expect("partitions come only if the conditions have some");
        let nodes = self.locals.len();
        let mut sides: Vec<bool> = Vec::new();
        // A division with all nodes on one side separates no two nodes, so it is drawn again.
        while sides.is_empty() || (nodes > 1 && sides.iter().all(|side| *side == sides[0])) {
            sides = (0..nodes).map(|_| self.chance.below(Purpose::Partitions, 2) > 0).collect();
        }
        let end = self.now.after(lasting);
        self.partition = Some((sides, end));
        self.counts.partitions += 1;
        let gap = lasting + self.chance.around(Purpose::Partitions, every);
        self.agenda.add(self.now.after(gap), Input::Partition);
    }

    /// A phase of the script begins.
    pub(super) fn begin_phase(&mut self, place: usize) -> Result<(), MachineError> {
        self.enter_phase(place);
        self.reset_nodes_of_phase()?;
        // Calls that had to wait may be made now.
        (0..self.locals.len() as NodeId).for_each(|node| self.arm(node));
        Ok(())
    }

    /// Applies the reachability of this phase from now on, if there is one.
    pub(super) fn enter_phase(&mut self, place: usize) {
        let Some(phase) = self.script.get(place) else { return };
        let end = match place + 1 < self.script.len() {
            true => {
                let end = self.now.after(self.chance.within(Purpose::Phases, phase.lasts));
                self.agenda.add(end, Input::Phase(place + 1));
                end
            }
            false => Time(u64::MAX),
        };
        self.phase = Some((phase, end));
    }

    /// The resets with which the phase begins.
    pub(super) fn reset_nodes_of_phase(&mut self) -> Result<(), MachineError> {
        let Some((phase, _)) = self.phase else { return Ok(()) };
        for node in &phase.resets {
            if !self.is_over() {
                self.reset(*node)?;
            }
        }
        Ok(())
    }

    pub(super) fn add_around(&mut self, purpose: Purpose, mean: Duration, input: Input) {
        let gap = self.chance.around(purpose, mean);
        self.agenda.add(self.now.after(gap), input);
    }
}
