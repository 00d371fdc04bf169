//! Ordered links between nodes that do not reach each other: inputs wait until they do, in their order.

use host_model::contract::NodeId;

use crate::gate::Gate;
use crate::time::Time;
use crate::world::chance::Purpose;
use crate::world::driver::World;
use crate::world::input::{Input, Over, Parcel};

impl<G: Gate> World<'_, G> {
    /// The end of the cut or of the phase of the script that separates two nodes. None if a node reaches the other one.
    pub(super) fn divided_until(&self, from: NodeId, to: NodeId) -> Option<Time> {
        let cut = self.cuts.get(&(from, to)).copied().filter(|end| *end > self.now);
        let phase = self.phase().is_some_and(|phase| phase.separates(from, to));
        cut.max(phase.then_some(self.phase_end))
    }

    /// A frame or a notice leaves, or waits behind the others on its link.
    pub(super) fn pass(&mut self, from: NodeId, to: NodeId, input: Input) {
        if let Some(held) = self.held.get_mut(&(from, to)) {
            held.push(input);
        } else if let Some(end) = self.divided_until(from, to) {
            self.held.insert((from, to), vec![input]);
            self.agenda.add(end, Input::Leave { from, to });
        } else {
            self.travel(from, to, input);
        }
    }

    /// A separation of the ends of a link is over: waiting inputs leave, unless something else separates the ends by now.
    pub(super) fn leave(&mut self, from: NodeId, to: NodeId) {
        match self.divided_until(from, to) {
            Some(end) => self.agenda.add(end, Input::Leave { from, to }),
            None => {
                for input in self.held.remove(&(from, to)).into_iter().flatten() {
                    self.travel(from, to, input);
                }
            }
        }
    }

    /// A frame or a notice is on its way, and arrives after those before it.
    fn travel(&mut self, from: NodeId, to: NodeId, input: Input) {
        let at = self.now.after(self.chance.within(Purpose::Latency, self.plan.latency));
        let at = self.connections.arrive(from, to, at);
        self.agenda.add(at, input);
    }

    /// A packet of the managers leaves, or waits by itself. It arrives after the messages that have left before it.
    pub(super) fn pass_packet(&mut self, to: NodeId, parcel: Parcel, over: Over) {
        match self.divided_until(over.from, to) {
            // It would wait for ever.
            Some(Time::NEVER) => {}
            Some(end) => self.agenda.add(end, Input::LeavePacket { to, parcel, over }),
            None => {
                let at = self.now.after(self.chance.within(Purpose::Packets, self.plan.latency));
                let at = self.connections.arrive_behind(over.from, to, at);
                self.agenda.add(at, Input::Frame { to, parcel, over: Some(over) });
            }
        }
    }
}
