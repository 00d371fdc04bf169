//! Nodes, a network, and the true history.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::NodeId;
use host_model::toys::Dice;

use crate::checkpoint::{
    Body, Checkpoint, Differences, Durable, Header, Limits, Manager, News, Outcome, Output, Packet, Rule, Snapshot,
    Unreadable,
};
use crate::time::Time;

/// A message of the protocol, and its history.
pub(super) struct Sent {
    from: NodeId,
    to: NodeId,
    header: Header,
    /// When it was sent and received, by the clocks of the nodes.
    sent_at: u64,
    received_at: Option<u64>,
    /// When its destination had received too many later messages to still take it.
    late_at: Option<u64>,
    sequence: u64,
}

/// The encoding of packets between nodes that send differences.
#[derive(Debug, Default)]
pub(super) struct Wire {
    differences: BTreeMap<NodeId, Differences>,
    /// The number of the latest request from a node to another, in its present incarnation.
    requests: BTreeMap<(NodeId, NodeId), u64>,
    /// Answers that could not be read.
    pub(super) unreadable: u64,
    /// Bytes of the answers, and of the same checkpoints without differences.
    pub(super) bytes: (usize, usize),
}

impl Wire {
    fn pack(&mut self, from: NodeId, to: NodeId, packet: &Packet) -> Vec<u8> {
        let differences = self.differences.entry(from).or_default();
        let bytes = differences.pack(to, packet);
        match &packet.body {
            Body::Request { number } => _ = self.requests.insert((from, to), *number),
            Body::Answer { checkpoint, .. } => {
                differences.sent(to, checkpoint);
                let whole = Differences::default().pack(to, packet);
                self.bytes = (self.bytes.0 + bytes.len(), self.bytes.1 + whole.len());
            }
            _ => {}
        }
        bytes
    }

    /// Decodes a packet, which must equal the one sent; none for an unexpected answer that cannot be decoded.
    fn read(&mut self, (from, to): (NodeId, NodeId), packet: &Packet, bytes: &[u8]) -> Option<News> {
        match self.differences.entry(to).or_default().unpack(from, bytes) {
            Ok((read, news)) => {
                assert_eq!(read, *packet);
                Some(news)
            }
            Err(why) => {
                let Body::Answer { request, .. } = packet.body else { panic!("{why:?}: {packet:?}") };
                let is_awaited = self.requests.get(&(to, from)) == Some(&request);
                assert!(why == Unreadable::NoBase && !is_awaited, "{why:?}: {packet:?}");
                self.unreadable += 1;
                None
            }
        }
    }

    fn learn(&mut self, (from, to): (NodeId, NodeId), news: News) {
        self.differences.entry(to).or_default().learn(from, news);
    }

    fn reset(&mut self, node: NodeId) {
        self.differences.remove(&node);
        self.requests.retain(|(asking, _), _| *asking != node);
    }
}

/// A cluster that runs step by step and records its history.
pub(super) struct World {
    rule: Rule,
    limits: Limits,
    managers: Vec<Manager>,
    disks: Vec<Option<Durable>>,
    /// Events so far at each node, resets included.
    clocks: Vec<u64>,
    /// The messages of the protocol; the content of a message is its index here.
    pub(super) sent: Vec<Sent>,
    in_flight: Vec<(NodeId, NodeId, Packet, Vec<u8>)>,
    pub(super) outcomes: Vec<Outcome>,
    /// The encoding, if nodes send differences.
    pub(super) wire: Option<Wire>,
    /// The size of a node's further state, in units of 32 bytes.
    memory: u8,
}

impl World {
    pub(super) fn new(nodes: NodeId, rule: Rule, limits: Limits) -> Self {
        let mut outputs = Vec::new();
        let content = 0_u64.to_le_bytes().to_vec();
        let managers =
            (0..nodes).map(|me| Manager::new(me, rule, limits, None, content.clone(), &mut outputs)).collect();
        let first = Durable { incarnation: 1, reserved: limits.block };
        assert!(outputs.iter().all(|output| *output == Output::Persist(first)));
        let (disks, clocks) = (vec![Some(first); nodes as usize], vec![0; nodes as usize]);
        let (sent, in_flight, outcomes) = (Vec::new(), Vec::new(), Vec::new());
        Self { rule, limits, managers, disks, clocks, sent, in_flight, outcomes, wire: None, memory: 0 }
    }

    /// The same with larger states and with differences.
    pub(super) fn with_differences(self) -> Self {
        Self { wire: Some(Wire::default()), memory: 20, ..self }
    }

    pub(super) fn nodes(&self) -> NodeId {
        self.managers.len() as NodeId
    }

    /// Sends a message of the protocol.
    pub(super) fn send(&mut self, from: NodeId, to: NodeId) {
        self.clocks[from as usize] += 1;
        let payload = (self.sent.len() as u64).to_le_bytes().to_vec();
        let mut outputs = Vec::new();
        self.managers[from as usize].send(to, payload, &mut outputs);
        let Some(Output::Send { packet, .. }) = outputs.last() else { panic!("it is sent at once") };
        let Body::Message { sequence, .. } = packet.body else { panic!("it is a message") };
        let (header, sent_at) = (packet.header, self.clocks[from as usize]);
        self.sent.push(Sent { from, to, header, sent_at, received_at: None, late_at: None, sequence });
        self.execute_outputs(from, outputs);
    }

    /// Delivers or loses a random packet.
    pub(super) fn deliver(&mut self, dice: &mut Dice, is_lost: bool) {
        if self.in_flight.is_empty() {
            return;
        }
        let (from, to, packet, bytes) = self.in_flight.swap_remove(dice.below(self.in_flight.len() as u32) as usize);
        if is_lost {
            return;
        }
        let news = self.wire.as_mut().map(|wire| wire.read((from, to), &packet, &bytes));
        if news == Some(None) {
            return;
        }
        let (clock, memory, mut outputs) = (self.clocks[to as usize], self.memory, Vec::new());
        let content = || content(to, clock, memory);
        let received = self.managers[to as usize].receive(from, packet, content, &mut outputs);
        if let (Some(wire), Some(Some(news)), true) = (&mut self.wire, news, received.is_ok()) {
            wire.learn((from, to), news);
        }
        if let Ok(Some(payload)) = received {
            self.clocks[to as usize] += 1;
            let place = place_of(&payload);
            assert_eq!(self.sent[place].received_at, None, "it was delivered before");
            assert_eq!(self.sent[place].late_at, None, "it is too late");
            self.sent[place].received_at = Some(self.clocks[to as usize]);
            self.leave_behind(place);
        }
        self.execute_outputs(to, outputs);
    }

    /// Marks the messages that are too late after the receipt of this one.
    fn leave_behind(&mut self, place: usize) {
        let Sent { from, to, header, sequence, received_at, .. } = self.sent[place];
        for other in &mut self.sent {
            let is_of_link = (other.from, other.to, other.header.incarnation) == (from, to, header.incarnation);
            let is_late = other.received_at.is_none() && other.sequence + self.limits.late_max < sequence;
            if is_of_link && is_late && other.late_at.is_none() {
                other.late_at = received_at;
            }
        }
    }

    /// Loses all packets in flight.
    pub(super) fn lose_all(&mut self) {
        self.in_flight.clear();
    }

    /// Delivers all packets.
    pub(super) fn deliver_all(&mut self, dice: &mut Dice) {
        while !self.in_flight.is_empty() {
            self.deliver(dice, false);
        }
    }

    /// Duplicates a random packet.
    pub(super) fn duplicate(&mut self, dice: &mut Dice) {
        if !self.in_flight.is_empty() {
            let place = dice.below(self.in_flight.len() as u32) as usize;
            self.in_flight.push(self.in_flight[place].clone());
        }
    }

    /// Takes a checkpoint at a node without a request.
    pub(super) fn checkpoint(&mut self, node: NodeId) {
        let (content, mut outputs) = (self.content(node), Vec::new());
        self.managers[node as usize].checkpoint(content, &mut outputs);
        self.execute_outputs(node, outputs);
    }

    /// Delivers a forged packet with this number.
    pub(super) fn forge(&mut self, from: NodeId, to: NodeId, number: u64) {
        let incarnation = self.managers[from as usize].incarnation();
        let header = Header { number, incarnation, addressee: 0, acknowledged: None };
        let (content, mut outputs) = (self.content(to), Vec::new());
        let packet = Packet { header, body: Body::Capped { request: 0 } };
        // A packet too far ahead has an effect, too.
        let _ = self.managers[to as usize].receive(from, packet, || content, &mut outputs);
        self.execute_outputs(to, outputs);
    }

    /// Begins a snapshot of all nodes at a node.
    pub(super) fn gather(&mut self, node: NodeId) {
        let (content, mut outputs, all) = (self.content(node), Vec::new(), (0..self.nodes()).collect());
        self.managers[node as usize].gather(all, Time(0), content, &mut outputs);
        self.execute_outputs(node, outputs);
    }

    /// Restarts a node from its disk. Messages too late for its former incarnation are lost, so that the next one does not take them.
    pub(super) fn reset(&mut self, node: NodeId) {
        self.clocks[node as usize] += 1;
        let (content, mut outputs) = (self.content(node), Vec::new());
        let durable = self.disks[node as usize];
        self.managers[node as usize] = Manager::new(node, self.rule, self.limits, durable, content, &mut outputs);
        let is_late = |payload: &[u8]| self.sent[place_of(payload)].late_at.is_some();
        self.in_flight.retain(|(_, to, packet, _)| match &packet.body {
            Body::Message { payload, .. } => *to != node || !is_late(payload),
            _ => true,
        });
        if let Some(wire) = &mut self.wire {
            wire.reset(node);
        }
        self.execute_outputs(node, outputs);
    }

    fn content(&self, node: NodeId) -> Vec<u8> {
        content(node, self.clocks[node as usize], self.memory)
    }

    fn execute_outputs(&mut self, node: NodeId, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Persist(durable) => self.disks[node as usize] = Some(durable),
                Output::Send { to, packet } => {
                    // A number that leaves the node is on its disk.
                    let durable = self.disks[node as usize].expect("it was written at the start");
                    let Header { number, incarnation, .. } = packet.header;
                    assert!(number <= durable.reserved && incarnation == durable.incarnation);
                    let bytes = self.wire.as_mut().map(|wire| wire.pack(node, to, &packet));
                    self.in_flight.push((node, to, packet, bytes.unwrap_or_default()));
                }
                Output::Gathered(outcome) => self.outcomes.push(outcome),
            }
        }
    }

    /// Whether a message was received inside of a snapshot and sent outside.
    pub(super) fn is_inconsistent(&self, snapshot: &Snapshot) -> bool {
        let clock = |node: &NodeId| Some(clock_of(snapshot.checkpoints.get(node)?));
        self.sent.iter().any(|message| {
            let (Some(sender), Some(receiver)) = (clock(&message.from), clock(&message.to)) else { return false };
            message.received_at.is_some_and(|received| received <= receiver) && message.sent_at > sender
        })
    }

    /// The messages from one node to another that are really in flight in a snapshot: sent inside, not received inside, and taken by
    /// their destination if they arrive right after its checkpoint.
    pub(super) fn in_flight(&self, snapshot: &Snapshot, from: NodeId, to: NodeId) -> BTreeSet<u64> {
        let (sender, receiver) = (&snapshot.checkpoints[&from], &snapshot.checkpoints[&to]);
        let heard_of = receiver.channels.get(&from).map_or(0, |channel| channel.incarnation);
        let is_in_flight = |message: &Sent| {
            let is_between = message.from == from && message.to == to && message.sent_at <= clock_of(sender);
            let is_past = |at: Option<u64>| at.is_some_and(|at| at <= clock_of(receiver));
            let Header { incarnation, addressee, .. } = message.header;
            let is_taken = incarnation >= heard_of && (addressee == 0 || addressee == receiver.incarnation);
            is_between && !is_past(message.received_at) && !is_past(message.late_at) && is_taken
        };
        let messages = (0..).zip(&self.sent).filter(|(_, message)| is_in_flight(message));
        messages.map(|(place, _)| place).collect()
    }

    /// The number of packets in flight, by kind.
    pub(super) fn kinds(&self) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        for (_, _, packet, _) in &self.in_flight {
            let kind = match packet.body {
                Body::Message { .. } => "message",
                Body::Request { .. } => "request",
                Body::Answer { .. } => "answer",
                Body::Refusal { .. } => "refusal",
                Body::Capped { .. } => "capped",
            };
            *kinds.entry(kind).or_default() += 1;
        }
        kinds
    }
}

/// The clock of a node and its further state, which changes little from one event to the next.
fn content(node: NodeId, clock: u64, memory: u8) -> Vec<u8> {
    let mut content = clock.to_le_bytes().to_vec();
    for at in 0..memory {
        content.extend(blake3::hash(&[at, node as u8, u8::from(clock % 50 == u64::from(at))]).as_bytes());
    }
    content
}

/// The index of a message, which is its content.
fn place_of(payload: &[u8]) -> usize {
    u64::from_le_bytes(payload.try_into().expect("eight bytes")) as usize
}

fn clock_of(checkpoint: &Checkpoint) -> u64 {
    u64::from_le_bytes(checkpoint.content[..8].try_into().expect("eight bytes"))
}
