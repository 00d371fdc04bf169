//! The receiver's end: connections that a SYN opens, early segments, and delivery.

use std::collections::BTreeMap;

use guest_sdk::NodeId;

use crate::Bug;
use crate::endpoint::{Buffered, Endpoint, Heard, Incoming, Transport};
use crate::wire::{Data, Effects, Seq, Upcall, Wire};

/// The number of repeated arrivals of a segment in the buffer before its connection is reset.
const PATIENCE: u8 = 3;

impl Transport {
    /// A packet has arrived.
    pub fn receive<M: Clone>(
        &self,
        end: &mut Endpoint<M>,
        effects: &mut Effects<'_, '_, M>,
        from: NodeId,
        wire: Wire<M>,
    ) {
        let is_lost = self.loses && !matches!(wire, Wire::Lost(_) | Wire::Local(_)) && {
            effects.ctx.choose_weighted(&[3, 1]) == 1
        };
        match wire {
            Wire::Data(data) if is_lost => effects.ctx.send(from, Wire::Lost(data.seq)),
            Wire::Ack { answered, .. } | Wire::Reset { answered, .. } if is_lost => self.answered(end, from, answered),
            Wire::Data(data) => self.data(end, effects, from, data),
            Wire::Ack { seq, answered } => self.acknowledged(end, effects, from, (seq, answered)),
            Wire::Reset { heard, answered } => self.reset(end, effects, from, (heard, answered)),
            Wire::Lost(seq) => self.answered(end, from, seq),
            Wire::Local(payload) => effects.upcalls.push(Upcall::Deliver { from, payload }),
        }
    }

    fn data<M: Clone>(&self, end: &mut Endpoint<M>, effects: &mut Effects<'_, '_, M>, from: NodeId, data: Data<M>) {
        if let Some(syn) = data.syn {
            match end.last_heard(from, self.bugs) {
                Some(heard) if syn < heard.syn || (syn == heard.syn && heard.is_closed) => {
                    if !self.bugs.has(Bug::MT3) {
                        return effects.ctx.send(from, Wire::Reset { heard: Some(syn), answered: data.seq });
                    }
                    self.close_for(end, effects, from, data.echo);
                }
                Some(heard) if syn == heard.syn && !self.bugs.has(Bug::MT1) => {}
                Some(_) => self.close_for(end, effects, from, data.echo),
                None => {}
            }
        }
        let number = data.seq;
        let Some(incoming) = self.connection(end, from, &data) else {
            let heard = end.heard.get(&from).map(|heard| heard.syn);
            return effects.ctx.send(from, Wire::Reset { heard, answered: number });
        };
        let is_old = number < incoming.next;
        let acknowledged = self.count(incoming, number);
        incoming.acknowledged = acknowledged;
        effects.ctx.send(from, Wire::Ack { seq: acknowledged, answered: number });
        if is_old {
            return;
        }
        assert!(number >= incoming.next_deliver, "segment {number} was delivered before");
        if let Some(buffered) = incoming.buffer.get_mut(&number)
            && !self.bugs.has(Bug::MT8)
        {
            buffered.copies = PATIENCE.min(buffered.copies + 1);
            if buffered.copies == PATIENCE && !self.bugs.has(Bug::MT11) {
                let heard = Some(incoming.syn);
                self.close_incoming(end, from);
                effects.ctx.send(from, Wire::Reset { heard, answered: number });
                self.error(end, effects, from, Vec::new());
            }
            return;
        }
        keep(incoming, data);
        for payload in deliverable(incoming) {
            effects.upcalls.push(Upcall::Deliver { from, payload });
        }
    }

    /// A new connection from a node replaces the old one. The connection to the node is closed as well, unless the sender
    /// knows it.
    fn close_for<M>(&self, end: &mut Endpoint<M>, effects: &mut Effects<'_, '_, M>, from: NodeId, echo: Option<u16>) {
        let is_closed = self.close_incoming(end, from);
        if end.outgoing.get(&from).is_some_and(|out| Some(out.syn) != echo) {
            self.close_outgoing(end, effects, from);
        } else if is_closed {
            self.error(end, effects, from, Vec::new());
        }
    }

    /// The connection that a segment belongs to, which it may open.
    fn connection<'e, M>(&self, end: &'e mut Endpoint<M>, from: NodeId, data: &Data<M>) -> Option<&'e mut Incoming<M>> {
        if !end.incoming.contains_key(&from) {
            let syn = data.syn?;
            end.heard.insert(from, Heard { syn, is_closed: false, is_torn: false });
            let (next, buffer) = (data.seq, BTreeMap::new());
            end.incoming.insert(from, Incoming { syn, next, next_deliver: next, buffer, acknowledged: next });
        }
        end.incoming.get_mut(&from)
    }

    /// Counts a segment as arrived; returns the number up to which all have, for the acknowledgement.
    fn count<M>(&self, incoming: &mut Incoming<M>, number: Seq) -> Seq {
        let expected = incoming.next;
        if number == expected {
            incoming.next += 1;
            while !self.bugs.has(Bug::MT4) && incoming.buffer.contains_key(&incoming.next) {
                incoming.next += 1;
            }
        }
        match number {
            _ if number > expected && self.bugs.has(Bug::MT5) => expected,
            _ if number == expected && self.bugs.has(Bug::MT9) => number,
            _ => incoming.next - 1,
        }
    }
}

/// Puts a segment into the buffer, and counts it where the first fragment of its message is.
fn keep<M>(incoming: &mut Incoming<M>, Data { seq, part, parts, payload, .. }: Data<M>) {
    let first = seq - Seq::from(part);
    let others = incoming.buffer.range(first + 1..first + Seq::from(parts)).count() as u8;
    if part == 0 {
        let buffered = Buffered { part, parts, arrived: 1 + others, copies: 0, payload };
        incoming.buffer.insert(seq, buffered);
        return;
    }
    if let Some(first) = incoming.buffer.get_mut(&first) {
        first.arrived += 1;
    }
    incoming.buffer.insert(seq, Buffered { part, parts, arrived: 0, copies: 0, payload });
}

/// The complete messages that are next; they leave the buffer.
fn deliverable<M>(incoming: &mut Incoming<M>) -> Vec<M> {
    let mut messages = Vec::new();
    while let Some(first) = incoming.buffer.get(&incoming.next_deliver) {
        assert_eq!(first.part, 0, "a message begins with another fragment than the first");
        if first.arrived < first.parts {
            break;
        }
        let parts = first.parts;
        for _ in 0..parts {
            let segment =
                incoming.buffer.remove(&incoming.next_deliver).expect("all fragments of the message are there");
            incoming.next_deliver += 1;
            messages.extend(segment.payload);
        }
    }
    messages
}
