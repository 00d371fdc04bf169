//! Two nodes on links and disks that obey the test.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use host_model::contract::NodeId;
use host_model::scenario::Network;
use host_model::toys::Toy;

use crate::checkpoint::{Body, Differences, Outcome, Packet};
use crate::gate::{Gate, Open};
use crate::node::bandwidth::Bucket;
use crate::node::disks::{DiskId, Ends};
use crate::node::frame;
use crate::node::{Failure, Identity, Node, Output, Record, Refusal, Settings};
use crate::time::{Range, Time};

/// The identity of one of the two nodes.
pub(super) fn identity(node: NodeId, session: u64) -> Identity {
    Identity { node, nodes: 2, config: String::new(), name: String::new(), cluster: [7; 16], session }
}

/// Timers take a second.
pub(super) fn settings(network: Network) -> Settings {
    let mut settings = Settings { network, ..Settings::default() };
    settings.delays.timer = Range::milliseconds(1_000, 1_000);
    settings.delays.internal = Range::milliseconds(1, 1);
    settings
}

/// A packet as a frame to a node that has no checkpoints yet, from one whose data file was made by this process.
pub(super) fn encode(identity: &Identity, to: NodeId, packet: &Packet) -> Vec<u8> {
    encode_from(DiskId::default().drawn_by(identity.session), identity, to, packet)
}

/// Like [`encode`], from a node with this disk.
pub(super) fn encode_from(sender: DiskId, identity: &Identity, to: NodeId, packet: &Packet) -> Vec<u8> {
    frame::encode(identity, to, Ends { sender, ..Ends::default() }, &Differences::default().pack(to, packet))
}

/// The packet in a frame to a node that has no checkpoints yet.
pub(super) fn decode(identity: &Identity, frame: &[u8]) -> Result<Packet, Refusal> {
    let frame = frame::decode(identity, frame)?;
    Ok(Differences::default().unpack(frame.from, frame.body)?.0)
}

/// The message in a frame; none if it is a packet of the managers.
pub(super) fn message(to: NodeId, frame: &[u8]) -> Option<Vec<u8>> {
    match decode(&identity(to, 0), frame) {
        Ok(Packet { body: Body::Message { payload, .. }, .. }) => Some(payload),
        Ok(_) | Err(Refusal::NoBase) => None,
        Err(refusal) => panic!("it is a frame: {refusal}"),
    }
}

pub(super) struct Pair<G> {
    toy: Arc<Toy>,
    settings: Settings,
    gate: fn(NodeId) -> G,
    pub(super) nodes: Vec<Node<'static, G>>,
    /// The records on the disks.
    pub(super) disks: [Option<Record>; 2],
    /// The records being written, with their tickets.
    pub(super) writing: [Option<(u64, Record)>; 2],
    /// The frames in flight, by sender and destination.
    pub(super) links: BTreeMap<(NodeId, NodeId), VecDeque<Vec<u8>>>,
    pub(super) now: Time,
    pub(super) disconnects: Vec<(NodeId, NodeId)>,
    pub(super) gathered: Vec<Outcome>,
    /// The times that late answers took.
    pub(super) late: Vec<Duration>,
    pub(super) failures: Vec<Failure>,
    starts: u64,
}

impl Pair<Open> {
    pub(super) fn open(toy: Toy, network: Network) -> Self {
        Self::new(toy, network, |_| Open)
    }
}

impl<G: Gate> Pair<G> {
    pub(super) fn new(toy: Toy, network: Network, gate: fn(NodeId) -> G) -> Self {
        let mut pair = Self {
            toy: Arc::new(toy),
            settings: settings(network),
            gate,
            nodes: Vec::new(),
            disks: [None, None],
            writing: [None, None],
            links: BTreeMap::new(),
            now: Time(0),
            disconnects: Vec::new(),
            gathered: Vec::new(),
            late: Vec::new(),
            failures: Vec::new(),
            starts: 0,
        };
        for node in 0..2 {
            let started = pair.started(node);
            pair.nodes.push(started);
            pair.execute_outputs(node);
        }
        pair
    }

    fn started(&mut self, node: NodeId) -> Node<'static, G> {
        self.starts += 1;
        let settings = Settings { seed: self.starts, ..self.settings };
        let identity = identity(node, self.starts);
        let record = self.disks[node as usize].clone();
        Node::start(&self.toy, identity, settings, (self.gate)(node), record, self.now).expect("a toy starts")
    }

    /// Limits the checkpoints of each node to this many bytes per second.
    pub(super) fn limit(&mut self, bandwidth: Option<u64>) {
        self.settings.bandwidth = bandwidth;
        for node in &mut self.nodes {
            node.bucket = bandwidth.map(|bandwidth| Bucket::new(bandwidth, self.now));
        }
    }

    /// Kills the process of a node and starts it again: the record being written is lost.
    pub(super) fn kill(&mut self, node: NodeId) {
        self.writing[node as usize] = None;
        self.nodes[node as usize] = self.started(node);
        self.execute_outputs(node);
    }

    /// Executes the outputs of a node until it has none or waits for its disk.
    pub(super) fn execute_outputs(&mut self, node: NodeId) {
        while let Some(output) = self.nodes[node as usize].next_output() {
            match output {
                Output::Persist { ticket, record, .. } => self.writing[node as usize] = Some((ticket, record)),
                Output::Send { to, frame } => self.links.entry((node, to)).or_default().push_back(frame),
                Output::Answer { number, response } => unreachable!("{number}: {response:?}"),
                Output::Disconnect { peer } => self.disconnects.push((node, peer)),
                Output::Gathered(outcome) => self.gathered.push(outcome),
                Output::Said(lines) => unreachable!("logs are not kept: {lines:?}"),
                Output::Undone(undone) => unreachable!("toys hit no limits: {undone}"),
                Output::Late { time } => self.late.push(time),
                Output::Failed(failure) => self.failures.push(failure),
            }
        }
    }

    /// Completes the write of a node's record.
    pub(super) fn write(&mut self, node: NodeId) {
        if let Some((ticket, record)) = self.writing[node as usize].take() {
            self.disks[node as usize] = Some(record);
            self.nodes[node as usize].persisted(ticket);
            self.execute_outputs(node);
        }
    }

    /// Delivers the first frame on a link. Returns the message in it, if it has one and was taken.
    pub(super) fn deliver(&mut self, from: NodeId, to: NodeId) -> Option<Vec<u8>> {
        let frame = self.links.get_mut(&(from, to))?.pop_front()?;
        let taken = self.nodes[to as usize].receive(self.now, &frame);
        self.execute_outputs(to);
        taken.ok().and_then(|()| message(to, &frame))
    }

    /// Advances the time in one step.
    pub(super) fn wait(&mut self, milliseconds: u64) {
        self.now = self.now.after(Duration::from_millis(milliseconds));
        for node in 0..2 {
            self.nodes[node as usize].elapse(self.now);
            self.execute_outputs(node);
        }
    }

    /// Writes all records and delivers all frames, until nothing is in flight.
    pub(super) fn settle(&mut self) {
        loop {
            (0..2).for_each(|node| self.write(node));
            let Some((from, to)) = self.links.iter().find(|(_, link)| !link.is_empty()).map(|(link, _)| *link) else {
                if self.writing.iter().all(Option::is_none) {
                    return;
                }
                continue;
            };
            self.deliver(from, to);
        }
    }
}
