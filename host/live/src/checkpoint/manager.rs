//! The state machine of one node: packets and requests in, packets and snapshots out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use host_model::contract::NodeId;
use serde::{Deserialize, Serialize};

use crate::checkpoint::channel::Channel;
use crate::checkpoint::gather::{Gather, Outcome};
use crate::checkpoint::numbers::{Durable, NUMBER_MAX, Numbers, Rule};
use crate::checkpoint::packet::{Body, Checkpoint, Header, Packet};
use crate::time::Time;

/// The limits of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limits {
    /// Checkpoints kept; at least 1. Older ones are discarded.
    pub checkpoints_max: usize,
    /// Total size of their states, in bytes; the latest checkpoint is always kept.
    pub checkpoints_bytes_max: usize,
    /// Unacknowledged messages kept per peer.
    pub kept_max: usize,
    /// Total size of these, in bytes.
    pub kept_bytes_max: usize,
    /// The maximum by which a message may lag behind the latest one of its sender and still be accepted: 0 on ordered links.
    ///
    /// Messages further behind count as received. Otherwise a gap, and the messages kept by the sender, would stay forever.
    pub late_max: u64,
    /// Numbers reserved at a time, to save writes to the disk; at least 1.
    pub block: u64,
    /// Attempts to collect a snapshot before the node gives up.
    pub attempts_max: u32,
    /// Longest time to collect a snapshot.
    pub timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            checkpoints_max: 8,
            checkpoints_bytes_max: 64 << 20,
            kept_max: 1_024,
            kept_bytes_max: 1 << 20,
            late_max: 1_000,
            block: 1_000,
            attempts_max: 3,
            timeout: Duration::from_secs(5),
        }
    }
}

/// A request of a manager to its driver, which executes outputs in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Writes these numbers to the disk, before any later output is executed.
    Persist(Durable),
    /// Sends a packet to a peer. It may be lost, delayed or duplicated.
    Send {
        /// The destination.
        to: NodeId,
        /// The packet.
        packet: Packet,
    },
    /// The collection of a snapshot has ended.
    Gathered(Outcome),
}

/// The reason why a packet is not processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Dropped {
    /// A later incarnation of its sender is known.
    #[error("it is of a former incarnation of its sender")]
    FormerSender,
    /// It is for a former incarnation of the node.
    #[error("it is for a former incarnation of this node")]
    FormerAddressee,
    /// The message was received before, or is too late to tell.
    #[error("it was received before")]
    Repeated,
    /// Its number is above the largest to which one packet can raise a node: a packet was forged, to this node or to its sender.
    #[error("its number is too far ahead of this node")]
    FarAhead,
    /// It is for a start of this node that has not happened yet: the data on its disk is lost, or the packet is forged.
    #[error(
        "it is for start {0} of this node, which knows of fewer: its data file was lost, or is an old copy; restore it, or start the node \
         again with `--rejoin`, as one that knows nothing"
    )]
    LaterStart(u64),
    /// No manager sends such a packet.
    #[error("no node sends such a packet")]
    Malformed,
}

/// Largest step from the last known start of a node to the next one: a packet that claims more is forged.
const STARTS_MAX: u64 = 1 << 16;
/// Largest number of the first known start of a node. It leaves room above any number that another program can claim.
const FIRST_START_MAX: u64 = 1 << 32;

/// The manager of one node.
///
/// The runtime of a node passes it each message that the node sends, and each packet that arrives. A `content` parameter is called if a
/// checkpoint has to be taken, and returns the state of the node before the packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Manager {
    me: NodeId,
    rule: Rule,
    limits: Limits,
    numbers: Numbers,
    /// By number, oldest first.
    checkpoints: VecDeque<Checkpoint>,
    channels: BTreeMap<NodeId, Channel>,
    /// Peers that have sent nothing since their connection broke: messages to them are for any start.
    strangers: BTreeSet<NodeId>,
    /// The latest starts of peers known before this start of the node.
    starts: BTreeMap<NodeId, u64>,
    gather: Option<Gather>,
}

impl Manager {
    /// The manager at a start of the node, in the state `content` and with the record on its disk; none at the first start.
    pub fn new(
        me: NodeId,
        rule: Rule,
        limits: Limits,
        durable: Option<Durable>,
        content: Vec<u8>,
        outputs: &mut Vec<Output>,
    ) -> Self {
        let numbers = Numbers::new(rule, limits.block, durable);
        outputs.push(Output::Persist(numbers.durable()));
        let first = Checkpoint {
            number: numbers.current,
            incarnation: numbers.incarnation,
            content,
            channels: BTreeMap::new(),
        };
        let checkpoints = VecDeque::from([first]);
        Self {
            me,
            rule,
            limits,
            numbers,
            checkpoints,
            channels: BTreeMap::new(),
            strangers: BTreeSet::new(),
            starts: BTreeMap::new(),
            gather: None,
        }
    }

    /// The same with the starts of peers in the record on its disk: packets of earlier starts are refused.
    #[must_use]
    pub fn knowing(self, starts: BTreeMap<NodeId, u64>) -> Self {
        Self { starts, ..self }
    }

    /// The present number.
    pub fn number(&self) -> u64 {
        self.numbers.current
    }

    /// The number of this start of the node, counted from 1.
    pub fn incarnation(&self) -> u64 {
        self.numbers.incarnation
    }

    /// Sends a message of the node.
    pub fn send(&mut self, to: NodeId, payload: Vec<u8>, outputs: &mut Vec<Output>) {
        let Limits { kept_max, kept_bytes_max, .. } = self.limits;
        let addressee = self.addressee(to);
        let sequence = self.channel(to).send(&payload, addressee, kept_max, kept_bytes_max);
        let header = self.header(to, sequence);
        outputs.push(Output::Send { to, packet: Packet { header, body: Body::Message { sequence, payload } } });
    }

    /// Handles a packet that arrives. Returns the message in it, if it has one, for the node to process.
    ///
    /// # Errors
    ///
    /// The packet is not processed. Three kinds still change the manager and have outputs: one that is [too far ahead](Dropped::FarAhead)
    /// raises the number of the node; one to a [former incarnation](Dropped::FormerAddressee) announces the incarnation of its sender, and
    /// is answered with the present one; and a sender older than the start in the record of this node is answered with that start.
    pub fn receive(
        &mut self,
        from: NodeId,
        packet: Packet,
        content: impl FnOnce() -> Vec<u8>,
        outputs: &mut Vec<Output>,
    ) -> Result<Option<Vec<u8>>, Dropped> {
        let header = packet.header;
        let accepted = self.accept(from, &packet);
        let is_former = accepted == Err(Dropped::FormerAddressee);
        let known = self.starts.get(&from).copied().unwrap_or_default();
        if accepted == Err(Dropped::FormerSender) && header.incarnation < known {
            self.remind(from, outputs);
        }
        if !is_former {
            accepted?;
        }
        // Also for a packet that is not processed: it may announce a start of its sender that is outside of a cut.
        let reach = self.numbers.reach();
        if header.number > self.numbers.current {
            self.take(header.number.min(reach), content(), outputs);
        }
        if is_former && header.number <= reach {
            // Otherwise two nodes that each know a former incarnation of the other one would reject each other forever, and a node that
            // only answers would never receive a request.
            self.channel(from).meet(header.incarnation);
            self.post(from, Body::Refusal { request: 0 }, outputs);
        }
        accepted?;
        if header.number > reach {
            return Err(Dropped::FarAhead);
        }
        self.strangers.remove(&from);
        let (incarnation, late_max) = (self.numbers.incarnation, self.limits.late_max);
        let channel = self.channel(from);
        channel.meet(header.incarnation);
        if let Some((first, last)) = header.acknowledged
            && header.addressee == incarnation
        {
            channel.acknowledge(first, last);
        }
        match packet.body {
            Body::Message { sequence, payload } => {
                channel.received.insert(sequence, late_max);
                return Ok(Some(payload));
            }
            Body::Request { number } => self.reply(from, number, outputs),
            Body::Answer { request, checkpoint } => self.change_gather(outputs, |gather| {
                gather.answer(from, request, *checkpoint);
            }),
            // The packet itself has forced a checkpoint, if one was needed: the next request has a number above that of the peer.
            Body::Refusal { request } => self.begin_again(request, outputs),
            Body::Capped { request } => self.give_up(from, request, outputs),
        }
        Ok(None)
    }

    /// Answers a peer of a former start with the start by which this node knows it.
    pub fn remind(&mut self, peer: NodeId, outputs: &mut Vec<Output>) {
        let known = self.starts.get(&peer).copied().unwrap_or_default();
        self.strangers.remove(&peer);
        self.channel(peer).meet(known);
        self.post(peer, Body::Refusal { request: 0 }, outputs);
    }

    /// Takes a checkpoint without a request.
    pub fn checkpoint(&mut self, content: Vec<u8>, outputs: &mut Vec<Output>) {
        self.take(self.numbers.current + 1, content, outputs);
    }

    /// Sets the timeout of snapshots, from the next one on.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.limits.timeout = timeout;
    }

    /// Begins to collect a snapshot of the node and these peers. Drops an incomplete one without an outcome.
    pub fn gather(&mut self, peers: BTreeSet<NodeId>, now: Time, content: Vec<u8>, outputs: &mut Vec<Output>) {
        self.checkpoint(content, outputs);
        let peers = peers.into_iter().filter(|peer| *peer != self.me).collect();
        let gather = Gather::new(peers, now.after(self.limits.timeout));
        self.ask(gather, outputs);
    }

    /// The time at which [`expire`](Self::expire) must be called; none if no snapshot is collected.
    pub fn deadline(&self) -> Option<Time> {
        self.gather.as_ref().map(|gather| gather.deadline)
    }

    /// Ends a snapshot whose time is over.
    pub fn expire(&mut self, now: Time, outputs: &mut Vec<Output>) {
        if let Some(gather) = self.gather.take_if(|gather| gather.deadline <= now) {
            outputs.push(Output::Gathered(Outcome::TimedOut(gather.waiting)));
        }
    }

    /// Records that the protocol has taken a message of a peer, which opens this end of the connection; sending opens it as well.
    pub fn open(&mut self, peer: NodeId) {
        self.channel(peer).is_open = true;
    }

    /// Handles a broken connection: a snapshot in progress continues without the peer, which may have restarted. Returns whether this end
    /// was open: whether the protocol had exchanged messages over it.
    pub fn lose(&mut self, peer: NodeId, outputs: &mut Vec<Output>) -> bool {
        self.strangers.insert(peer);
        self.change_gather(outputs, |gather| gather.lose(peer));
        self.channels.get_mut(&peer).is_some_and(|channel| std::mem::take(&mut channel.is_open))
    }

    /// Refuses packets that must not be processed.
    fn accept(&self, from: NodeId, packet: &Packet) -> Result<(), Dropped> {
        let Header { number, incarnation, addressee, .. } = packet.header;
        let (own, is_own) = (self.numbers.incarnation, from == self.me);
        let is_message = matches!(packet.body, Body::Message { sequence, .. } if sequence > 0);
        let is_control = !is_own && !matches!(packet.body, Body::Message { .. });
        let channel = self.channels.get(&from);
        let known = channel.map_or(0, |channel| channel.incarnation);
        let known = known.max(self.starts.get(&from).copied().unwrap_or_default());
        let start_max = if known == 0 { FIRST_START_MAX } else { known.saturating_add(STARTS_MAX) };
        let is_possible = number <= NUMBER_MAX
            && (1..=start_max).contains(&incarnation)
            && addressee <= own.saturating_add(STARTS_MAX)
            && (!is_own || incarnation.max(addressee) <= own);
        if !is_possible || !(is_message || is_control) {
            return Err(Dropped::Malformed);
        }
        if is_own && incarnation < own {
            return Err(Dropped::FormerSender);
        }
        if incarnation < known {
            return Err(Dropped::FormerSender);
        }
        if addressee > own {
            return Err(Dropped::LaterStart(addressee));
        }
        // Where frames can be duplicated, one to any start may have been taken by a former one.
        let may_be_taken = addressee == 0 && own > 1 && is_message && !is_own && self.limits.late_max > 0;
        if may_be_taken || (addressee != 0 && addressee < own) {
            return Err(Dropped::FormerAddressee);
        }
        let Body::Message { sequence, .. } = packet.body else { return Ok(()) };
        match channel {
            Some(channel) if channel.incarnation == incarnation && channel.received.contains(sequence) => {
                Err(Dropped::Repeated)
            }
            _ => Ok(()),
        }
    }

    /// The channel to a peer. A node knows its own incarnation.
    fn channel(&mut self, peer: NodeId) -> &mut Channel {
        let incarnation = if peer == self.me { self.numbers.incarnation } else { 0 };
        self.channels.entry(peer).or_insert_with(|| Channel { incarnation, ..Channel::default() })
    }

    /// The header of the next packet to a peer. It has room to acknowledge one range, a different one each turn.
    fn header(&self, to: NodeId, turn: u64) -> Header {
        Header {
            number: self.numbers.current,
            incarnation: self.numbers.incarnation,
            addressee: self.addressee(to),
            acknowledged: self.channels.get(&to).and_then(|channel| channel.received.range(turn)),
        }
    }

    /// The start of a peer that messages to it are for; 0 for any.
    fn addressee(&self, to: NodeId) -> u64 {
        let own = if to == self.me { self.numbers.incarnation } else { 0 };
        let channel = self.channels.get(&to).filter(|_| !self.strangers.contains(&to));
        channel.map_or(own, |channel| channel.incarnation)
    }

    fn post(&self, to: NodeId, body: Body, outputs: &mut Vec<Output>) {
        let header = self.header(to, self.numbers.current);
        outputs.push(Output::Send { to, packet: Packet { header, body } });
    }

    /// Takes a checkpoint with a number above the present one.
    fn take(&mut self, number: u64, content: Vec<u8>, outputs: &mut Vec<Output>) {
        if self.numbers.rise(number, self.limits.block) {
            outputs.push(Output::Persist(self.numbers.durable()));
        }
        let incarnation = self.numbers.incarnation;
        self.checkpoints.push_back(Checkpoint { number, incarnation, content, channels: self.channels.clone() });
        while self.keeps_too_many() {
            let discarded = self.checkpoints.pop_front().expect("too many are more than none");
            self.numbers.discarded = discarded.number;
        }
    }

    /// Whether the checkpoints exceed a limit, in number or in bytes.
    fn keeps_too_many(&self) -> bool {
        let Limits { checkpoints_max, checkpoints_bytes_max, .. } = self.limits;
        let bytes: usize = self.checkpoints.iter().map(|checkpoint| checkpoint.content.len()).sum();
        let many = self.checkpoints.len();
        many > checkpoints_max.max(1) || many > 1 && bytes > checkpoints_bytes_max
    }

    /// The checkpoint with the lowest number from this one on; none if it may have been discarded.
    fn earliest(&self, number: u64) -> Option<&Checkpoint> {
        if self.rule.refuses_discarded && number <= self.numbers.discarded {
            return None;
        }
        self.checkpoints.iter().find(|checkpoint| checkpoint.number >= number)
    }

    /// Answers a request. Its packet has at least the number requested, so the checkpoint was taken.
    fn reply(&self, to: NodeId, request: u64, outputs: &mut Vec<Output>) {
        let body = match self.earliest(request) {
            Some(checkpoint) => Body::Answer { request, checkpoint: Box::new(checkpoint.clone()) },
            None => Body::Refusal { request },
        };
        self.post(to, body, outputs);
    }

    /// Begins an attempt with the node's latest checkpoint.
    fn ask(&mut self, mut gather: Gather, outputs: &mut Vec<Output>) {
        let own = self.checkpoints.back().expect("the latest one is kept").clone();
        for peer in gather.begin(self.me, own) {
            self.post(peer, Body::Request { number: gather.number }, outputs);
        }
        self.gather = Some(gather);
        self.change_gather(outputs, |_| ());
    }

    /// A peer has discarded the requested checkpoint: tries again with the present number of the node, up to the maximum of attempts.
    fn begin_again(&mut self, request: u64, outputs: &mut Vec<Output>) {
        let Some(gather) = self.gather.take_if(|gather| gather.number == request) else { return };
        if gather.attempts >= self.limits.attempts_max {
            outputs.push(Output::Gathered(Outcome::Refused));
        } else {
            self.ask(gather, outputs);
        }
    }

    /// A peer sends no more checkpoints for now: ends the snapshot, since another request would be refused as well.
    fn give_up(&mut self, peer: NodeId, request: u64, outputs: &mut Vec<Output>) {
        let is_awaited = |gather: &mut Gather| gather.number == request && gather.waiting.contains(&peer);
        if self.gather.take_if(is_awaited).is_some() {
            outputs.push(Output::Gathered(Outcome::Capped(peer)));
        }
    }

    /// Changes the collection, and ends it if it is complete.
    fn change_gather(&mut self, outputs: &mut Vec<Output>, change: impl FnOnce(&mut Gather)) {
        let Some(mut gather) = self.gather.take() else { return };
        change(&mut gather);
        match gather.end() {
            Ok(outcome) => outputs.push(Output::Gathered(outcome)),
            Err(gather) => self.gather = Some(gather),
        }
    }
}
