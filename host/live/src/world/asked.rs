//! Snapshots and client requests at random nodes.

use std::collections::BTreeSet;
use std::time::Duration;

use host_model::contract::NodeId;

use crate::checkpoint::{Outcome, Snapshot};
use crate::gate::Gate;
use crate::world::chance::Purpose;
use crate::world::cuts::{self, Cluster};
use crate::world::driver::{Answered, World};
use crate::world::input::Input;

/// The maximum number of unanswered requests.
const ASKED_MAX: usize = 3;

impl<G: Gate> World<'_, G> {
    /// Begins a snapshot at a random node.
    pub(super) fn gather(&mut self, every: Duration) -> Result<(), String> {
        self.add_around(Purpose::Snapshots, every, Input::Gather(every));
        let node = self.some_node(Purpose::Snapshots);
        if self.running(node).is_none_or(|running| running.paused.is_some()) {
            return Ok(());
        }
        self.feed(node, |node, now| node.gather(now, &BTreeSet::new()))?;
        self.execute_outputs(node)
    }

    pub(super) fn gathered(&mut self, me: NodeId, outcome: Outcome) -> Result<(), String> {
        let name = match &outcome {
            Outcome::Complete(snapshot) => {
                self.compare(snapshot)?;
                "complete"
            }
            Outcome::Inconsistent(_, why) => return Err(format!("a snapshot of node {me} is inconsistent: {why}")),
            Outcome::Refused => "refused",
            Outcome::Capped(_) => "capped",
            Outcome::TimedOut(_) => "timed out",
        };
        *self.snapshots.entry(name).or_default() += 1;
        if let (Outcome::Complete(snapshot), Some(on_snapshot)) = (&outcome, &mut self.on_snapshot) {
            let place = &mut self.places[me as usize];
            let now = place.local(self.now);
            if let Some(running) = &mut place.running {
                on_snapshot(me, now, snapshot, &mut running.node.gate_mut().gate);
            }
        }
        self.advise(me, outcome)
    }

    /// Compares a snapshot with the history, if that is kept.
    fn compare(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        if self.history.forgets {
            return Ok(());
        }
        let late_max = self.plan.settings.limits().late_max;
        let cluster = Cluster { nodes: self.plan.nodes, config: &self.plan.config, late_max };
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => none.insert(self.factory.machine().map_err(|error| error.to_string())?),
        };
        cuts::compare(&self.history, snapshot, &mut **reader, cluster)
    }

    /// Sends a client request to a random node.
    pub(super) fn ask(&mut self, every: Duration) -> Result<(), String> {
        self.add_around(Purpose::Requests, every, Input::Ask(every));
        let node = self.some_node(Purpose::Requests);
        let Some(request) = self.request.filter(|_| self.asked.len() < ASKED_MAX) else { return Ok(()) };
        if self.running(node).is_none_or(|running| running.paused.is_some()) {
            return Ok(());
        }
        let request = request(self.chance.dice(Purpose::Requests), self.requests.len() as u64);
        if let Some(Ok(number)) = self.feed(node, |node, now| node.request(now, &request))? {
            self.events += 1;
            self.asked.insert((node, number), self.requests.len());
            self.requests.push(Answered { request, asked: self.events, answer: None });
        }
        self.execute_outputs(node)
    }
}
