//! The history of a world: the events of its nodes, and the fate of each message.
//!
//! The effects of an event leave a node once its record is on the disk. A crash before that undoes the event: no other node, no client and
//! no disk knows it. So the history removes it, and the rest is a trace of the model, in which a crash is a reset, or an outage where it has lost
//! what was not synced.

use std::collections::BTreeMap;

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{Choice, DurableMap, Envelope, NodeId};

use crate::world::recorder::{Noted, What};

/// An event of a node.
#[derive(Clone, Debug)]
pub struct Step {
    /// The node.
    pub node: NodeId,
    /// The number of its start.
    pub incarnation: u64,
    /// The event.
    pub what: What,
    /// The answers to `choose`.
    pub choices: Vec<Choice>,
    /// The messages sent.
    pub sent: Vec<Envelope>,
    /// The protocol state after it.
    pub state: Fingerprint,
    /// For a break: the number of the connection's breaks when this end noticed it.
    pub(super) number: u64,
    /// The number of the disk of the node.
    life: u64,
    /// The record that its effects wait for.
    ticket: u64,
    /// The durable map that a start has found.
    pub(super) found: Option<DurableMap>,
}

/// One start of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Start {
    pub(super) node: NodeId,
    /// The number of its disk: a node that lost it counts its starts from 1 again.
    pub(super) life: u64,
    pub(super) incarnation: u64,
}

/// The identity of a message: sender, destination and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessageId {
    pub(super) from: Start,
    pub(super) to: NodeId,
    pub(super) sequence: u64,
}

/// The fate of a message.
#[derive(Clone, Debug)]
pub(super) struct Fate {
    pub(super) payload: Vec<u8>,
    /// The time of sending by the clock of the sender, which counts its inputs over all starts.
    pub(super) sent_at: u64,
    /// The record that it waits for.
    ticket: u64,
    /// The start of the destination that it is for, 0 for any; none before it has left.
    pub(super) addressee: Option<u64>,
    pub(super) received: Vec<Receipt>,
}

/// The receipt of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receipt {
    pub(super) at: Start,
    /// The time by the clock of the destination.
    pub(super) clock: u64,
    ticket: u64,
}

/// A checkpoint of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// It contains the inputs before this one.
    pub(super) clock: u64,
    pub(super) state: Fingerprint,
    ticket: u64,
}

/// The present state of a node.
#[derive(Clone, Copy, Debug, Default)]
struct Present {
    state: Fingerprint,
    ticket: u64,
}

/// The history of a world.
#[derive(Debug, Default)]
pub struct History {
    /// The events that no crash has undone, in their order.
    pub steps: Vec<Step>,
    pub(super) messages: BTreeMap<MessageId, Fate>,
    sequences: BTreeMap<(Start, NodeId), u64>,
    checkpoints: BTreeMap<(Start, u64), Taken>,
    present: BTreeMap<NodeId, Present>,
    /// The number of times that the node had rejoined with each of its disks, by their numbers.
    pub(super) rejoins: BTreeMap<(NodeId, u64), u64>,
    /// Events that crashes have undone.
    pub undone: u64,
    /// Whether no history is kept and nothing is compared, for long runs.
    pub(super) forgets: bool,
}

impl History {
    /// Adds the events that a node has logged in the input with this number.
    pub(super) fn note(&mut self, from: Start, clock: u64, noted: Vec<Noted>) {
        if self.forgets {
            return;
        }
        for Noted { what, choices, sent, state, ticket, found } in noted {
            for envelope in &sent {
                let sequence = self.sequences.entry((from, envelope.to)).or_default();
                *sequence += 1;
                let id = MessageId { from, to: envelope.to, sequence: *sequence };
                let payload = envelope.payload.clone();
                self.messages
                    .insert(id, Fate { payload, sent_at: clock, ticket, addressee: None, received: Vec::new() });
            }
            self.present.insert(from.node, Present { state, ticket });
            let Start { node, life, incarnation } = from;
            self.steps.push(Step { node, incarnation, what, choices, sent, state, number: 0, life, ticket, found });
        }
    }

    /// Notes that an end of a connection is broken, or was when its process began, without an error for the protocol.
    pub(super) fn lose(&mut self, from: Start, peer: NodeId, number: u64) {
        if self.forgets {
            return;
        }
        let Start { node, life, incarnation } = from;
        let Present { state, .. } = self.present.get(&node).copied().unwrap_or_default();
        let what = What::Unheard { peer };
        // A crash does not undo the break.
        self.steps.push(Step {
            node,
            incarnation,
            what,
            choices: Vec::new(),
            sent: Vec::new(),
            state,
            number,
            life,
            ticket: 0,
            found: None,
        });
    }

    /// Notes a checkpoint that a node has taken before the input with this number.
    pub(super) fn checkpoint(&mut self, of: Start, number: u64, clock: u64) {
        if self.forgets {
            return;
        }
        let Present { state, ticket } = self.present.get(&of.node).copied().unwrap_or_default();
        self.checkpoints.insert((of, number), Taken { clock, state, ticket });
    }

    /// A start of a node, if its disk was never lost.
    pub(super) fn start(&self, node: NodeId, incarnation: u64) -> Start {
        let life = self.steps.iter().find(|step| step.node == node).map_or(0, |step| step.life);
        Start { node, life, incarnation }
    }

    /// A checkpoint of a node; none if it was never taken, or if a crash has undone its state.
    pub(super) fn taken(&self, of: Start, number: u64) -> Option<Taken> {
        self.checkpoints.get(&(of, number)).copied()
    }

    /// Notes that a message leaves its node, whose disk has the record `on_disk`.
    ///
    /// # Errors
    ///
    /// It leaves before its record is on the disk, or was never sent.
    pub(super) fn leave(&mut self, id: MessageId, addressee: u64, on_disk: u64) -> Result<(), String> {
        if self.forgets {
            return Ok(());
        }
        let fate = self.messages.get_mut(&id).ok_or_else(|| format!("{id:?} was never sent"))?;
        fate.addressee = Some(addressee);
        match fate.ticket > on_disk {
            true => Err(format!("{id:?} has left before record {} was on the disk", fate.ticket)),
            false => Ok(()),
        }
    }

    /// Notes that a start of its destination has taken a message, in the input with this number.
    ///
    /// # Errors
    ///
    /// It was never sent, or that start has taken it before.
    pub(super) fn receive(&mut self, id: MessageId, at: Start, clock: u64, ticket: u64) -> Result<(), String> {
        if self.forgets {
            return Ok(());
        }
        let fate = self.messages.get_mut(&id).ok_or_else(|| format!("{id:?} is taken and was never sent"))?;
        if fate.received.iter().any(|receipt| receipt.at == at) {
            return Err(format!("{at:?} takes {id:?} twice"));
        }
        fate.received.push(Receipt { at, clock, ticket });
        Ok(())
    }

    /// Undoes the events of a start that has ended and whose records are not on its disk.
    pub(super) fn undo(&mut self, of: Start, on_disk: u64) {
        let before = self.steps.len();
        let is_of = |step: &Step| (step.node, step.life, step.incarnation) == (of.node, of.life, of.incarnation);
        self.steps.retain(|step| !is_of(step) || step.ticket <= on_disk);
        self.undone += (before - self.steps.len()) as u64;
        self.messages.retain(|id, fate| id.from != of || fate.ticket <= on_disk);
        for (_, fate) in self.messages.iter_mut().filter(|(id, _)| id.to == of.node) {
            fate.received.retain(|receipt| receipt.at != of || receipt.ticket <= on_disk);
        }
        self.checkpoints.retain(|(start, _), taken| *start != of || taken.ticket <= on_disk);
        // A start that is undone as a whole did not happen, and the next one has its number.
        let is_event = |step: &Step| is_of(step) && !matches!(step.what, What::Unheard { .. });
        if !self.steps.iter().any(is_event) {
            self.sequences.retain(|(start, _), _| *start != of);
        }
    }

    /// The number of resets of a node.
    pub fn resets(&self, node: NodeId) -> u32 {
        let starts = self.steps.iter().filter(|step| step.node == node && step.what == What::Start);
        starts.count().saturating_sub(1) as u32
    }
}
