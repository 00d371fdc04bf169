//! The connections of the model, in a world whose events are a path of the model.
//!
//! The model has, for each end of a connection, the number of its breaks, and whether something was sent or received over it since. A
//! process that was killed breaks the connections of its open ends when it is started again; its peers get a notice of that after all
//! its earlier messages. A node that steering has break a connection does so at its own end, or else at the other one. So each step of a
//! node here is enabled in the model after the steps before it.

use host_model::contract::NodeId;

use crate::checkpoint::{Differences, Header};
use crate::gate::Gate;
use crate::node::{for_any_start, opened};
use crate::world::driver::World;
use crate::world::ends::{Breaking, Notice};
use crate::world::input::{Input, Over, Parcel};
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
            Some(model) => {
                let is_known = u64::from(model.end(to, over.from).incarnation) == over.number;
                is_known && !self.connections.is_refused(to, over)
            }
            None => self.connections.takes(to, over),
        }
    }

    /// Sends the notices of recent breaks, each after the earlier messages.
    pub(super) fn post_notices(&mut self) {
        let Some(model) = self.links() else { return };
        for Notice { from, to, incarnation } in model.take_notices() {
            self.pass(from, to, Input::Broken { node: to, peer: from, number: incarnation.into() });
        }
    }

    /// A node breaks the connection over which it has received a message that it does not take.
    pub(super) fn break_link(&mut self, model: &dyn Model, me: NodeId, peer: NodeId) -> Result<(), String> {
        let number = u64::from(model.end(me, peer).incarnation);
        match model.breaking(me, peer) {
            Some(Breaking::Here) => self.disconnect(model, me, peer),
            Some(Breaking::Told) => self.take_notice(model, me, peer, number + 1),
            Some(Breaking::There) => {
                // Nothing has happened at this end, so the model breaks the other one, once its process can run.
                self.connections.refuse(me, peer, number);
                self.agenda.add(self.now, Input::Sever { node: peer, peer: me, number });
                Ok(())
            }
            // The gate breaks only connections that can break, so the handler has failed, which ends the run.
            None => Ok(()),
        }?;
        // A message that the node does not take, over a connection that stays, would be lost where nothing is lost.
        match self.is_there(me, Over { from: peer, number }) && !model.has_failed() {
            true => Err(format!("node {me} takes no message of node {peer}, and their connection stays")),
            false => Ok(()),
        }
    }

    /// A node breaks its connection with a peer that refuses it, unless that has broken since, and the peer knows it at once.
    pub(super) fn sever(&mut self, me: NodeId, peer: NodeId, number: u64) -> Result<(), String> {
        let Some(model) = self.links() else { return Ok(()) };
        let is_there = u64::from(model.end(me, peer).incarnation) == number;
        if !is_there || model.breaking(me, peer) != Some(Breaking::Here) {
            return Ok(());
        }
        self.disconnect(model, me, peer)?;
        self.agenda.add(self.now, Input::Broken { node: peer, peer: me, number: number + 1 });
        Ok(())
    }

    /// A node breaks a connection. The node decides whether its protocol receives an error.
    fn disconnect(&mut self, model: &dyn Model, me: NodeId, peer: NodeId) -> Result<(), String> {
        let before = model.end(me, peer);
        self.feed(me, |node, now| node.disconnected(now, peer))?;
        if model.end(me, peer).incarnation == before.incarnation {
            model.break_unheard(me, peer);
            self.post_notices();
        }
        Ok(())
    }

    /// A message that was on its way while its destination was killed, as one for any start. The model has kept the connection, over which
    /// nothing had happened at this end, so the message arrives; a packet of the managers may have told its sender of the former start.
    pub(super) fn for_this_start(&self, to: NodeId, parcel: Parcel) -> Parcel {
        let start = self.places[to as usize].running.as_ref().map_or(0, |running| running.node.incarnation());
        let is_former = |header: Header| header.addressee != 0 && header.addressee < start;
        let message =
            parcel.message.and_then(|_| opened(&parcel.bytes)).and_then(|(_, body)| Differences::message(body));
        match message.filter(|(header, ..)| is_former(*header)).and_then(|_| for_any_start(&parcel.bytes)) {
            Some(bytes) => Parcel { bytes, ..parcel },
            None => parcel,
        }
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
