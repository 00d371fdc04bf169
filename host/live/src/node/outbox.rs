//! Outputs, and the records that they wait for.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use host_model::contract::{NodeId, Response};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Durable, Outcome};
use crate::node::disks::Disks;
use crate::node::refusal::{Failure, Undone};
use crate::node::settings::Settings;

/// The durable record of a node, read back at its next start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The number of the start, and the numbers of its checkpoints.
    pub numbers: Durable,
    /// The durable state of the protocol.
    pub protocol: Option<Vec<u8>>,
    /// The latest start of each other node that is known to this one.
    pub peers: BTreeMap<NodeId, u64>,
    /// The disks by which nodes recognise each other.
    pub disks: Disks,
}

/// A request of a node to its driver, which executes outputs in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Writes a record to the disk, in place of the one before. No other output is released until [`Node::persisted`] acknowledges it.
    ///
    /// [`Node::persisted`]: crate::node::Node::persisted
    Persist {
        /// The number to acknowledge.
        ticket: u64,
        /// The record.
        record: Record,
    },
    /// A frame to a node, this one included. On links with an order, frames to a node come in their order or not at all.
    Send {
        /// The destination.
        to: NodeId,
        /// The frame.
        frame: Vec<u8>,
    },
    /// The answer to the request of a client.
    Answer {
        /// The number of the request.
        number: u64,
        /// The answer.
        response: Response,
    },
    /// Breaks the connection to a node: nothing in flight on it may arrive later, and both ends receive an error.
    Disconnect {
        /// The other end.
        peer: NodeId,
    },
    /// The collection of a snapshot has ended.
    Gathered(Outcome),
    /// Lines that a handler has logged.
    Said(Vec<String>),
    /// A handler was undone, for the log.
    Undone(Undone),
    /// A late answer for a snapshot that ended without it.
    Late {
        /// The time since the request.
        time: Duration,
    },
    /// The node has failed and ignores all further input.
    Failed(Failure),
}

/// The outputs of a node that were not executed yet.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    queue: VecDeque<Output>,
    /// The ticket that the disk has yet to acknowledge.
    waiting: Option<u64>,
    tickets: u64,
    /// The size of all outputs, in bytes.
    bytes: usize,
}

/// The size of an output, in bytes.
fn held(output: &Output) -> usize {
    match output {
        Output::Persist { record, .. } => record.protocol.as_ref().map_or(0, Vec::len) + 48 * record.peers.len(),
        Output::Send { frame, .. } => frame.len(),
        Output::Answer { response, .. } => response.body.len(),
        // Snapshots do not count: a node collects one at a time.
        Output::Said(lines) => lines.iter().map(String::len).sum(),
        Output::Undone(undone) => undone.fault.message.len(),
        Output::Disconnect { .. } | Output::Gathered(_) | Output::Late { .. } | Output::Failed(_) => 0,
    }
}

impl Outbox {
    /// Whether the waiting outputs reach a limit, in outputs or in bytes.
    pub(super) fn is_full(&self, settings: &Settings) -> bool {
        self.queue.len() >= settings.held_max || self.bytes >= settings.held_bytes_max
    }

    pub(super) fn add(&mut self, output: Output) {
        self.bytes += held(&output);
        self.queue.push_back(output);
    }

    /// Requests a record. It takes the place of one that was not written yet: the outputs between them leave later, as on a slow network,
    /// and of a long record only one waits.
    pub(super) fn persist(&mut self, record: Record) {
        self.tickets += 1;
        let output = Output::Persist { ticket: self.tickets, record };
        match self.queue.iter_mut().find(|output| matches!(output, Output::Persist { .. })) {
            Some(waiting) => {
                self.bytes = self.bytes - held(waiting) + held(&output);
                *waiting = output;
            }
            None => self.add(output),
        }
    }

    /// The number of records requested so far.
    pub(super) fn tickets(&self) -> u64 {
        self.tickets
    }

    /// Discards the frames to a node that wait for the disk.
    pub(super) fn discard(&mut self, peer: NodeId) {
        self.queue.retain(|output| !matches!(output, Output::Send { to, .. } if *to == peer));
        self.bytes = self.queue.iter().map(held).sum();
    }

    pub(super) fn persisted(&mut self, ticket: u64) {
        self.waiting.take_if(|waiting| *waiting == ticket);
    }

    /// The next output; none while a record is not acknowledged.
    pub(super) fn next(&mut self) -> Option<Output> {
        if self.waiting.is_some() {
            return None;
        }
        let next = self.queue.pop_front()?;
        self.bytes -= held(&next);
        if let Output::Persist { ticket, .. } = next {
            self.waiting = Some(ticket);
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u8) -> Record {
        Record {
            numbers: Durable { incarnation: 1, reserved: 1 },
            protocol: Some(vec![number]),
            peers: BTreeMap::new(),
            disks: Disks::default(),
        }
    }

    #[test]
    fn what_depends_on_the_disk_waits_for_it_and_records_are_written_together() {
        let mut outbox = Outbox::default();
        let send = |to| Output::Send { to, frame: Vec::new() };
        outbox.add(send(0));
        outbox.persist(record(1));
        outbox.add(send(1));
        outbox.persist(record(2));
        outbox.add(send(2));
        assert_eq!(outbox.next(), Some(send(0)));
        assert_eq!(outbox.next(), Some(Output::Persist { ticket: 2, record: record(2) }));
        // While that one is written, another handler runs.
        outbox.persist(record(3));
        assert_eq!(outbox.next(), None);
        outbox.persisted(1);
        assert_eq!(outbox.next(), None, "another one was written");
        outbox.persisted(2);
        assert_eq!([outbox.next(), outbox.next()], [Some(send(1)), Some(send(2))]);
        assert_eq!(outbox.next(), Some(Output::Persist { ticket: 3, record: record(3) }));
        assert_eq!((outbox.next(), outbox.queue.len(), outbox.bytes), (None, 0, 0));
    }
}
