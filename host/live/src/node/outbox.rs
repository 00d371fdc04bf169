//! Outputs, and the records that they wait for.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use host_model::contract::{DurableMap, DurableState, NodeId, Response, WrittenKeys};
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
    /// The durable state of the protocol, without its map.
    pub protocol: Option<Vec<u8>>,
    /// The latest start of each other node that is known to this one.
    pub peers: BTreeMap<NodeId, u64>,
    /// The disks by which nodes recognise each other.
    pub disks: Disks,
    /// The durable map of the protocol.
    #[serde(with = "map_bytes")]
    pub map: DurableMap,
}

impl Record {
    /// The durable state of the protocol with its map, for `init`; none if there is nothing.
    pub fn durable(&self) -> Option<DurableState> {
        DurableState::of(self.protocol.clone(), self.map.clone())
    }
}

/// A durable map as bytes.
mod map_bytes {
    use host_model::contract::DurableMap;
    use serde::de::Error;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(map: &DurableMap, serializer: S) -> Result<S::Ok, S::Error> {
        serde_bytes::serialize(&map.to_bytes(), serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DurableMap, D::Error> {
        let bytes: Vec<u8> = serde_bytes::deserialize(deserializer)?;
        DurableMap::from_bytes(&bytes).ok_or_else(|| D::Error::custom("these are the bytes of no map"))
    }
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
        /// The keys in which its map can differ from that of the record before.
        written: WrittenKeys,
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
    /// The keys of the map written since the last request of a record.
    written: WrittenKeys,
    /// The size of all outputs, in bytes.
    bytes: usize,
}

/// The most keys that wait for a record: more would make the next one take long, and lose much.
const UNSAVED_MAX: usize = 1_000;

/// Bytes of a written key in addition to its own: its place in a tree, and its value by a link.
const KEY_BYTES: usize = 64;

/// The size of an output, in bytes.
fn held(output: &Output) -> usize {
    match output {
        // The values of the map are those of the node.
        Output::Persist { record, written, .. } => {
            let keys = written.bytes() + KEY_BYTES * written.len();
            record.protocol.as_ref().map_or(0, Vec::len) + 48 * record.peers.len() + keys
        }
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

    /// A handler has written these keys of the map, as the next requested record shows.
    pub(super) fn wrote(&mut self, keys: WrittenKeys) {
        self.written.extend(keys);
    }

    /// Whether handlers have written what no requested record has.
    pub(super) fn has_unsaved(&self) -> bool {
        !self.written.is_empty()
    }

    /// Whether this is so much that a record has to be requested.
    pub(super) fn has_much_unsaved(&self) -> bool {
        self.written.len() >= UNSAVED_MAX
    }

    /// Requests a record. It takes the place of one that was not written yet: the outputs between them leave later, as on a slow network,
    /// and of a long record only one waits.
    pub(super) fn persist(&mut self, record: Record) {
        self.tickets += 1;
        let written = std::mem::take(&mut self.written);
        let Some(waiting) = self.queue.iter_mut().find(|output| matches!(output, Output::Persist { .. })) else {
            return self.add(Output::Persist { ticket: self.tickets, record, written });
        };
        let before = held(waiting);
        if let Output::Persist { ticket, record: former, written: keys } = waiting {
            (*ticket, *former) = (self.tickets, record);
            keys.extend(written);
        }
        self.bytes = self.bytes - before + held(waiting);
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
            map: DurableMap::default(),
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
        assert_eq!(
            outbox.next(),
            Some(Output::Persist { ticket: 2, record: record(2), written: WrittenKeys::default() })
        );
        // While that one is written, another handler runs.
        outbox.persist(record(3));
        assert_eq!(outbox.next(), None);
        outbox.persisted(1);
        assert_eq!(outbox.next(), None, "another one was written");
        outbox.persisted(2);
        assert_eq!([outbox.next(), outbox.next()], [Some(send(1)), Some(send(2))]);
        assert_eq!(
            outbox.next(),
            Some(Output::Persist { ticket: 3, record: record(3), written: WrittenKeys::default() })
        );
        assert_eq!((outbox.next(), outbox.queue.len(), outbox.bytes), (None, 0, 0));
    }

    /// A record has the keys of all handlers since the one before, also of those whose own record was not written.
    #[test]
    fn a_record_has_the_keys_written_since_the_one_before() {
        let keys = |names: &[&[u8]]| {
            let mut keys = WrittenKeys::default();
            names.iter().for_each(|key| keys.add(key));
            keys
        };
        let mut outbox = Outbox::default();
        for (number, names) in [(1, [&b"a"[..], b"bb"]), (2, [b"bb", b"ccc"])] {
            outbox.wrote(keys(&names));
            outbox.persist(record(number));
        }
        assert_eq!(outbox.bytes, held(outbox.queue.front().expect("it waits")));
        let written = keys(&[b"a", b"bb", b"ccc"]);
        assert_eq!((written.len(), written.bytes()), (3, 6));
        assert_eq!(outbox.next(), Some(Output::Persist { ticket: 2, record: record(2), written }));
        // While that one is written, another handler runs.
        outbox.wrote(keys(&[b"d"]));
        outbox.persist(record(3));
        outbox.persisted(2);
        assert_eq!(outbox.next(), Some(Output::Persist { ticket: 3, record: record(3), written: keys(&[b"d"]) }));
        assert_eq!(outbox.bytes, 0);
    }
}
