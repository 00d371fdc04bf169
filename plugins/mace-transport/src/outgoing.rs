//! The sender's end: sending, retransmission, acknowledgement, and giving up.

use guest_sdk::NodeId;

use crate::Bug;
use crate::endpoint::{Endpoint, Place, Segment, Timer, Transport, first};
use crate::wire::{Data, Effects, Seq, Syn, Upcall, Wire};

impl Transport {
    /// Sends a message to a node, which receives it once and in order, or the sender gets an error. Returns whether there is room for it;
    /// without room, nothing happens.
    pub fn send<M: Clone>(
        &self,
        end: &mut Endpoint<M>,
        effects: &mut Effects<'_, '_, M>,
        to: NodeId,
        message: M,
    ) -> bool {
        let is_taken = to == end.me || self.has_room(end, to);
        if is_taken {
            self.take(end, effects, to, message);
        }
        is_taken
    }

    /// The same for a message that is taken even without room for it.
    pub(crate) fn take<M: Clone>(
        &self,
        end: &mut Endpoint<M>,
        effects: &mut Effects<'_, '_, M>,
        to: NodeId,
        message: M,
    ) {
        if to == end.me {
            return effects.ctx.send(to, Wire::Local(message));
        }
        if !end.outgoing.contains_key(&to) {
            end.open(to);
        }
        let out = end.outgoing.get_mut(&to).expect("it is open");
        for part in 0..self.fragments {
            let segment =
                Segment { part, payload: message.clone(), retries: 0, early: self.early_each, place: Place::Unsent };
            out.segments.insert(out.next, segment);
            out.next += 1;
        }
        self.transmit(end, effects, to);
    }

    /// Requests a notification when there is room for a message to a node.
    pub fn request_to_send<M>(&self, end: &mut Endpoint<M>, to: NodeId) {
        *end.waiting.entry(to).or_default() += 1;
        self.tell(end, to);
    }

    /// Whether a message to this node would be taken.
    pub fn has_room<M>(&self, end: &Endpoint<M>, to: NodeId) -> bool {
        self.waiting(end, to) < self.buffer
    }

    /// The number of messages to a node that wait for acknowledgements.
    pub(crate) fn waiting<M>(&self, end: &Endpoint<M>, to: NodeId) -> usize {
        let parts = end.outgoing.get(&to).map_or(0, |out| out.segments.len());
        parts.div_ceil(usize::from(self.fragments))
    }

    /// A timer fires.
    pub fn fire<M: Clone>(&self, end: &mut Endpoint<M>, effects: &mut Effects<'_, '_, M>, timer: Timer) {
        match timer {
            Timer::Retransmit(peer, seq) => self.overdue(end, effects, peer, seq),
            Timer::Clear(peer) => {
                end.clear.fired(&peer);
                if self.has_room(end, peer) {
                    let requests = end.waiting.remove(&peer).unwrap_or(0);
                    effects.upcalls.extend((0..requests).map(|_| Upcall::ClearToSend { peer }));
                }
            }
        }
    }

    fn overdue<M: Clone>(&self, end: &mut Endpoint<M>, effects: &mut Effects<'_, '_, M>, peer: NodeId, seq: Seq) {
        end.timers.fired(&(peer, seq));
        let Some(out) = end.outgoing.get_mut(&peer) else { return };
        let segment = out.segments.get_mut(&seq).expect("what a timer is set for is in flight");
        if segment.place == (Place::InFlight { is_open: true }) {
            *if end.early > 0 { &mut end.early } else { &mut segment.early } -= 1;
        }
        if segment.retries == self.retries && end.give_up > 0 {
            end.give_up -= 1;
            self.close_outgoing(end, effects, peer);
            self.close_incoming(end, peer);
            return;
        }
        segment.retries = self.retries.min(segment.retries + 1);
        segment.place = Place::Overdue;
        out.window = 1;
        self.transmit(end, effects, peer);
    }

    /// Fills the window, first with segments that were sent before.
    fn transmit<M: Clone>(&self, end: &mut Endpoint<M>, effects: &mut Effects<'_, '_, M>, to: NodeId) {
        let echo = end.echo(to);
        let out = end.outgoing.get_mut(&to).expect("it is open");
        loop {
            let in_flight = out.segments.values().filter(|segment| matches!(segment.place, Place::InFlight { .. }));
            if in_flight.count() >= usize::from(out.window) {
                return;
            }
            let place = |place| out.segments.iter().find(|(_, segment)| segment.place == place).map(|(seq, _)| *seq);
            let Some(seq) = place(Place::Overdue).or_else(|| place(Place::Unsent)) else { return };
            let segment = out.segments.get_mut(&seq).expect("it was found");
            segment.place = Place::InFlight { is_open: true };
            end.timers.set((to, seq));
            let data = Data {
                seq,
                syn: (seq == first(out.syn)).then_some(out.syn),
                echo,
                part: segment.part,
                parts: self.fragments,
                payload: (segment.part == 0).then(|| segment.payload.clone()),
            };
            effects.ctx.send(to, Wire::Data(data));
        }
    }

    /// Acknowledges segments up to a number.
    pub(crate) fn acknowledged<M: Clone>(
        &self,
        end: &mut Endpoint<M>,
        effects: &mut Effects<'_, '_, M>,
        from: NodeId,
        (seq, answered): (Seq, Seq),
    ) {
        let Some(out) = end.outgoing.get_mut(&from) else { return };
        let is_in_flight = |segment: &Segment<M>| matches!(segment.place, Place::InFlight { .. });
        let is_known = out.segments.get(&seq).is_some_and(is_in_flight);
        let first_in_flight = out.segments.iter().find(|(_, segment)| is_in_flight(segment)).map(|(seq, _)| *seq);
        let is_overlooked = self.bugs.has(Bug::MT6) && !is_known;
        // A number of another connection: smaller than all of this one, or larger than all segments sent.
        if seq < first(out.syn) || seq >= out.next {
            return self.answered(end, from, answered);
        }
        let is_acknowledged = |at: &Seq, segment: &Segment<M>| {
            *at <= seq && !(is_overlooked && first_in_flight.is_some() && is_in_flight(segment))
        };
        let gone: Vec<Seq> =
            out.segments.iter().filter(|(at, segment)| is_acknowledged(at, segment)).map(|(at, _)| *at).collect();
        for at in &gone {
            out.segments.remove(at);
            end.timers.cancel(&(from, *at));
            out.window = self.window.min(out.window + 1);
        }
        self.answered(end, from, answered);
        if !gone.is_empty() {
            self.tell(end, from);
            self.transmit(end, effects, from);
        }
    }

    /// No answer to the last copy of a segment will arrive.
    pub(crate) fn answered<M>(&self, end: &mut Endpoint<M>, peer: NodeId, seq: Seq) {
        let segment = end.outgoing.get_mut(&peer).and_then(|out| out.segments.get_mut(&seq));
        if let Some(Place::InFlight { is_open }) = segment.map(|segment| &mut segment.place) {
            *is_open = false;
        }
    }

    /// The peer knows no connection for a packet of this node.
    pub(crate) fn reset<M: Clone>(
        &self,
        end: &mut Endpoint<M>,
        effects: &mut Effects<'_, '_, M>,
        from: NodeId,
        (heard, answered): (Option<Syn>, Seq),
    ) {
        let Some(out) = end.outgoing.get(&from) else { return };
        let is_waiting = out.segments.get(&answered).is_some_and(|segment| segment.place != Place::Unsent);
        if self.bugs.has(Bug::MT7) {
            self.close_outgoing(end, effects, from);
            let is_closed = self.close_incoming(end, from);
            if let Some(heard) = end.heard.get_mut(&from) {
                heard.is_torn |= is_closed;
            }
        } else if heard.is_none_or(|heard| heard >= out.syn) || is_waiting {
            self.close_outgoing(end, effects, from);
        }
    }

    /// Closes the connection to a node, if there is one, and tells the application.
    pub(crate) fn close_outgoing<M>(&self, end: &mut Endpoint<M>, effects: &mut Effects<'_, '_, M>, to: NodeId) {
        let Some(out) = end.outgoing.remove(&to) else { return };
        if !self.bugs.has(Bug::MT2) {
            for seq in out.segments.keys() {
                end.timers.cancel(&(to, *seq));
            }
        }
        // Of each message the last fragment is acknowledged last.
        let last = |segment: Segment<M>| (segment.part + 1 == self.fragments).then_some(segment.payload);
        self.error(end, effects, to, out.segments.into_values().filter_map(last).collect());
    }

    /// Closes the connection from a node, if there is one. Its late packets do not open it again.
    pub(crate) fn close_incoming<M>(&self, end: &mut Endpoint<M>, from: NodeId) -> bool {
        if let Some(heard) = end.heard.get_mut(&from) {
            heard.is_closed = true;
        }
        end.incoming.remove(&from).is_some()
    }

    /// Notifies the application of an error. Waiting for room ends.
    pub(crate) fn error<M>(
        &self,
        end: &mut Endpoint<M>,
        effects: &mut Effects<'_, '_, M>,
        peer: NodeId,
        unsent: Vec<M>,
    ) {
        if !self.bugs.has(Bug::MT10) {
            end.waiting.remove(&peer);
            end.clear.cancel(&peer);
        }
        effects.upcalls.push(Upcall::Error { peer, unsent });
    }

    /// Sets the timer that notifies the application of room, if it waits for it.
    fn tell<M>(&self, end: &mut Endpoint<M>, to: NodeId) {
        if end.waiting.contains_key(&to) && self.has_room(end, to) {
            end.clear.set(to);
        }
    }
}
