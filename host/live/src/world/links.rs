//! The connections of the model, in a world whose events are a path of the model.
//!
//! The model has, for each end of a connection, the number of its breaks, and whether something was sent or received over it since. A
//! process that was killed breaks the connections of its open ends when it is started again; its peers get a notice of that after all
//! its earlier messages. So each step of a node here is enabled in the model after the steps before it.

use host_model::contract::NodeId;

use crate::gate::Gate;
use crate::time::Time;
use crate::world::chance::Purpose;
use crate::world::driver::World;
use crate::world::ends::Notice;
use crate::world::input::{Input, Over};
use crate::world::memo::Model;

impl<'w, G: Gate> World<'w, G> {
    /// Uses the connections of the model, if it has any, so that each event is enabled in the model where it happens.
    #[must_use]
    pub(crate) fn linked(mut self) -> Self {
        self.is_path = true;
        self.is_linked = self.model.is_some_and(Model::has_connections);
        self
    }

    /// The model, if its connections are used.
    pub(super) fn links(&self) -> Option<&'w dyn Model> {
        self.model.filter(|_| self.is_linked)
    }

    /// The connection over which to send a frame; none if it is broken by now.
    pub(super) fn over(&mut self, from: NodeId, to: NodeId) -> Option<Over> {
        match self.links() {
            Some(model) => Some(Over { from, number: model.end(from, to).incarnation.into() }),
            None => self.connections.send(from, to),
        }
    }

    /// Whether the connection of a frame exists at this end.
    pub(super) fn is_there(&mut self, to: NodeId, over: Over) -> bool {
        match self.links() {
            Some(model) => u64::from(model.end(to, over.from).incarnation) == over.number,
            None => self.connections.takes(to, over),
        }
    }

    /// Sends the notices of recent breaks, each after the earlier messages.
    pub(super) fn post_notices(&mut self) {
        let Some(model) = self.links() else { return };
        for Notice { from, to, incarnation } in model.take_notices() {
            let at = self.arrival(from, to);
            self.agenda.add(at, Input::Broken { node: to, peer: from, number: incarnation.into() });
        }
    }

    /// The arrival of a message that is sent now over an ordered link: it is retransmitted while the nodes do not reach each other.
    pub(super) fn arrival(&mut self, from: NodeId, to: NodeId) -> Time {
        let at = self.passage(from, to, Purpose::Latency);
        self.connections.arrive(from, to, at)
    }

    fn passage(&mut self, from: NodeId, to: NodeId, purpose: Purpose) -> Time {
        let cut = self.cuts.get(&(from, to)).copied().unwrap_or_default().max(self.now);
        cut.after(self.chance.within(purpose, self.plan.latency))
    }

    /// The arrival of a packet of the managers, which is after all earlier messages. In a world whose events are a path of the model, it
    /// does not affect messages.
    pub(super) fn arrival_of_packet(&mut self, from: NodeId, to: NodeId) -> Time {
        if !self.is_path {
            return self.arrival(from, to);
        }
        let at = self.passage(from, to, Purpose::Packets);
        self.connections.arrive_behind(from, to, at)
    }

    /// Passes a notice to a node, unless it knows the break already. The node decides whether its protocol receives an error.
    pub(super) fn take_notice(
        &mut self,
        model: &dyn Model,
        me: NodeId,
        peer: NodeId,
        number: u64,
    ) -> Result<(), String> {
        let known = u64::from(model.end(me, peer).incarnation);
        if number <= known {
            return Ok(());
        }
        if number > known + 1 {
            return Err(format!("node {me} hears of break {number} with node {peer}, and knows of {known}"));
        }
        model.expect_notice(Some((me, peer)));
        let result = self.feed(me, |node, now| node.disconnected(now, peer));
        model.expect_notice(None);
        result?;
        if u64::from(model.end(me, peer).incarnation) == known {
            model.miss(me, peer);
        }
        Ok(())
    }

    /// Keeps the frames and notices for a process that has ended until the next one starts.
    pub(super) fn keep_waiting(&mut self, me: NodeId) {
        let place = &mut self.places[me as usize];
        let paused = place.running.as_mut().and_then(|running| running.paused.take());
        let is_over = |input: &Input| matches!(input, Input::Frame { over: Some(_), .. } | Input::Broken { .. });
        place.waiting.extend(paused.into_iter().flatten().filter(is_over));
    }

    /// Passes a started process the inputs that have waited for it, before any other.
    pub(super) fn take_waiting(&mut self, me: NodeId) -> Result<(), String> {
        let waiting = std::mem::take(&mut self.places[me as usize].waiting);
        waiting.into_iter().try_for_each(|input| self.reach(me, input))
    }
}
