//! The state machine of a node: inputs, outputs and deadlines.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::{DurableState, Envelope, Input, LocalEvent, LocalKind, Machine, MachineFactory, NodeId};
use host_model::scenario::{FaultState, Network};
use host_search::kernel::dice::dice;
use rand_chacha::ChaCha8Rng;

use crate::carried::Carried;
use crate::checkpoint::{self, Body, Differences, Dropped, Durable, Header, Manager, Outcome, Rule, beginning};
use crate::gate::{Cause, Gate};
use crate::neighbourhood::Neighbourhood;
use crate::node::asked::Asked;
use crate::node::bandwidth::Bucket;
use crate::node::disks::{DiskId, Disks};
use crate::node::frame::{self, Frame};
use crate::node::initial::{Initial, NotStarted, initial};
use crate::node::judge::Judge;
use crate::node::moment::{Moment, exported};
use crate::node::outbox::{Outbox, Output, Record};
use crate::node::refusal::{self, Counts, Failure, NotNow, Refusal};
use crate::node::requests::Requests;
use crate::node::settings::{Identity, Settings};
use crate::node::timers::Timers;
use crate::time::Time;

/// Local events handled per call of [`Node::elapse`]: a protocol whose steps take no time must not block messages.
const DUE_MAX: usize = 64;

/// The known process of a peer.
#[derive(Clone, Copy, Debug, Default)]
struct Peer {
    incarnation: u64,
    session: u64,
    /// The sequence number of the last message processed.
    last: u64,
}

/// A running node. The gate decides before and after each handler.
///
/// After each input, the driver takes the outputs with [`next_output`](Self::next_output). It calls [`elapse`](Self::elapse) at the
/// [`deadline`](Self::deadline) at the latest. If time goes backwards, the clock of the node stands still; if it jumps ahead, everything
/// due happens.
pub struct Node<'m, G> {
    pub(super) identity: Identity,
    pub(super) settings: Settings,
    pub(super) machine: Box<dyn Machine + 'm>,
    hears_errors: bool,
    pub(super) gate: G,
    pub(super) manager: Manager,
    /// The numbers for the next record.
    pub(super) numbers: Durable,
    pub(super) differences: Differences,
    /// The rate limit for checkpoints, if any.
    pub(super) bucket: Option<Bucket>,
    pub(super) dice: ChaCha8Rng,
    pub(super) timers: Timers,
    pub(super) outbox: Outbox,
    pub(super) requests: Requests,
    peers: BTreeMap<NodeId, Peer>,
    /// The latest known start of each other node, also from earlier starts of this one: on the disk before anything depends on it.
    pub(super) starts: BTreeMap<NodeId, u64>,
    /// The disks by which nodes recognise each other: also on the disk before anything depends on them.
    pub(super) disks: Disks,
    /// The nodes with which the protocol has exchanged a message since the last break of the connection.
    pub(super) full: BTreeSet<NodeId>,
    pub(super) asked: Asked,
    pub(super) now: Time,
    pub(super) moment: Moment,
    pub(super) neighbourhood: Neighbourhood,
    /// Evaluates properties, if the gate judges states.
    pub(super) judge: Option<Judge>,
    /// The updated snapshot of the cluster, if the gate looks ahead, on unordered links.
    pub(super) carried: Option<Carried>,
    pub(super) counts: Counts,
    pub(super) is_failed: bool,
}

impl<'m, G: Gate> Node<'m, G> {
    /// Starts a node from the record on its disk; none at the first start.
    ///
    /// # Errors
    ///
    /// The protocol refuses its configuration or fails, a node of it takes quorums, or the host fails.
    pub fn start(
        factory: &dyn MachineFactory,
        identity: Identity,
        settings: Settings,
        gate: G,
        record: Option<Record>,
        now: Time,
    ) -> Result<Self, Failure> {
        Ok(Self::start_or_return(factory, identity, settings, gate, record, now)?)
    }

    /// Like [`start`](Self::start); a failure returns the gate, which may have recorded why.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub fn start_or_return(
        factory: &dyn MachineFactory,
        identity: Identity,
        settings: Settings,
        gate: G,
        record: Option<Record>,
        now: Time,
    ) -> Result<Self, NotStarted<G>> {
        match factory.machine() {
            Ok(machine) => Self::start_on(machine, factory, identity, settings, gate, record, now),
            Err(error) => Err(NotStarted { failure: error.into(), gate }),
        }
    }

    /// Like [`start_or_return`](Self::start_or_return), with a machine for the handlers; the factory makes the one that judges.
    pub(crate) fn start_on(
        mut machine: Box<dyn Machine + 'm>,
        factory: &dyn MachineFactory,
        identity: Identity,
        settings: Settings,
        mut gate: G,
        record: Option<Record>,
        now: Time,
    ) -> Result<Self, NotStarted<G>> {
        machine.keep_log(settings.keeps_log);
        let mut dice = dice(settings.seed, identity.node.into());
        let parts = |it: Record| (Some(it.numbers), it.durable(), it.peers, it.disks);
        let (numbers, durable, starts, disks) = record.map(parts).unwrap_or_default();
        let disks = Disks::drawn_by(disks, identity.session);
        let Identity { node, nodes, config, .. } = identity.clone();
        let input = Input::Init { node, nodes, config: &config, durable: durable.as_ref() };
        let begun = initial(&mut *machine, factory, &identity, &settings, &mut gate, input, &mut dice);
        let Initial { effects, moment, judge, content } = match begun {
            Ok(begun) => begun,
            Err(failure) => return Err(NotStarted { failure, gate }),
        };
        let mut outputs = Vec::new();
        let manager = Manager::new(node, Rule::SOUND, settings.limits(), numbers, content, &mut outputs);
        let manager = manager.knowing(starts.clone());
        let looks_ahead = gate.looks_ahead() && settings.network == Network::Unordered;
        let own = Peer { incarnation: manager.incarnation(), session: identity.session, last: 0 };
        let numbers = Durable { incarnation: manager.incarnation(), reserved: 0 };
        let mut started = Self {
            identity,
            settings,
            machine,
            hears_errors: factory.hears_errors(),
            gate,
            manager,
            numbers,
            differences: Differences::default(),
            bucket: settings.bandwidth.map(|bandwidth| Bucket::new(bandwidth, now)),
            dice,
            timers: Timers::default(),
            outbox: Outbox::default(),
            requests: Requests::default(),
            peers: BTreeMap::from([(node, own)]),
            starts,
            disks,
            full: BTreeSet::new(),
            asked: Asked::default(),
            now,
            moment,
            neighbourhood: Neighbourhood::All,
            judge,
            carried: looks_ahead.then(|| Carried::new(node)),
            counts: Counts::default(),
            is_failed: false,
        };
        // Nothing leaves before this start, and the durable state after `init`, are on the disk.
        started.outbox.wrote(effects.written);
        started.forward(outputs);
        started.note(input, &effects.choices, &effects.sent);
        started.release(effects.sent);
        match started.draws(None, &[]) {
            Ok(draws) => started.arm(draws),
            Err(failure) => return Err(NotStarted { failure, gate: started.gate }),
        }
        Ok(started)
    }

    /// The sender of a frame to this node, and the number of its start; nothing else in the frame is checked. None for other bytes.
    pub fn start_of(&self, bytes: &[u8]) -> Option<(NodeId, u64)> {
        frame::decode(&self.identity, bytes).ok().map(|frame| (frame.from, frame.session))
    }

    /// Handles a received frame. On ordered links, frames must be passed in the order of their connection.
    ///
    /// # Errors
    ///
    /// The frame is refused and counted. The caller decides whether to disconnect the sender.
    pub fn receive(&mut self, now: Time, bytes: &[u8]) -> Result<(), Refusal> {
        self.tick(now);
        let result = self.take(bytes);
        if let Err(refusal) = &result {
            self.refuse(*refusal);
        }
        result
    }

    /// Counts a refusal by the driver, e.g. of a stream without frames.
    pub fn refuse(&mut self, refusal: Refusal) {
        *self.counts.refused.entry(refusal.name()).or_default() += 1;
    }

    /// Advances the clock, ends a snapshot whose time is over, and handles the local events that are due.
    pub fn elapse(&mut self, now: Time) {
        self.tick(now);
        if self.is_failed {
            return;
        }
        let mut outputs = Vec::new();
        self.manager.expire(self.now, &mut outputs);
        self.forward(outputs);
        for _ in 0..DUE_MAX {
            if self.is_failed || self.is_full() {
                return;
            }
            let Some(event) = self.timers.due(self.now) else { return };
            self.happen(&event);
        }
    }

    /// The time at which [`elapse`](Self::elapse) must be called; none if nothing is scheduled.
    pub fn deadline(&self) -> Option<Time> {
        if self.is_failed {
            return None;
        }
        self.timers.next().into_iter().chain(self.manager.deadline()).min()
    }

    /// Whether a local event is scheduled.
    pub(crate) fn has_timers(&self) -> bool {
        !self.is_failed && self.timers.next().is_some()
    }

    /// Makes a client call that the protocol [offers](Self::offers) now. The gate may postpone it, but never loses it.
    ///
    /// # Errors
    ///
    /// The call is refused and has no effect.
    pub fn call(&mut self, now: Time, event: &LocalEvent) -> Result<(), NotNow> {
        self.tick(now);
        match () {
            () if self.is_failed => Err(NotNow::Failed),
            () if self.is_full() => Err(NotNow::Full),
            () if !self.offers().any(|offered| offered == event) => Err(NotNow::NotOffered),
            () => {
                self.timers.forget(event);
                self.happen(event);
                Ok(())
            }
        }
    }

    /// Whether outputs have to be taken before the next input is accepted.
    pub fn is_full(&self) -> bool {
        self.outbox.is_full(&self.settings)
    }

    /// The calls that clients can make now.
    pub fn offers(&self) -> impl Iterator<Item = &LocalEvent> {
        self.moment.local_events.iter().filter(|event| event.kind == LocalKind::Application)
    }

    /// Handles the break of a connection over which something was sent or received: frames in flight on it never arrive. The protocol
    /// receives an error only if it has exchanged messages over it, since the packets of snapshots are invisible to it.
    pub fn disconnected(&mut self, now: Time, peer: NodeId) {
        self.tick(now);
        if self.is_failed {
            return;
        }
        // Frames that wait for the disk belong to that connection, and must not leave over the next one.
        if self.settings.network == Network::Ordered {
            self.outbox.discard(peer);
        }
        let mut outputs = Vec::new();
        let was_open = self.manager.lose(peer, &mut outputs);
        self.forward(outputs);
        if was_open && self.hears_errors && self.settings.network == Network::Ordered {
            self.counts.breaks += 1;
            let result = self.handle(None, Input::TransportError { peer });
            self.settle(refusal::Cause::Break, result);
        }
    }

    /// Sets whether the queue to a node is full, for a protocol that calls `can-send`.
    pub fn set_full(&mut self, peer: NodeId, is_full: bool) {
        if is_full {
            self.full.insert(peer)
        } else {
            self.full.remove(&peer)
        };
    }

    /// Acknowledges an [`Output::Persist`]: its record is on the disk and survives a crash.
    pub fn persisted(&mut self, ticket: u64) {
        self.outbox.persisted(ticket);
        self.gate.persisted(ticket);
    }

    /// The present state of the protocol, as its machine exports it.
    ///
    /// # Errors
    ///
    /// The host cannot continue.
    pub fn export(&mut self) -> Result<Vec<u8>, Failure> {
        exported(&mut *self.machine, &self.moment.snapshot, &self.identity)
    }

    /// The node is about to end: requests a record of the writes that wait for one because they were not synced.
    pub fn save(&mut self) {
        if self.outbox.has_unsaved() && !self.is_failed {
            self.persist();
        }
    }

    /// The next output; none if there is none, or while a record is not acknowledged.
    pub fn next_output(&mut self) -> Option<Output> {
        self.outbox.next()
    }

    /// The counts so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The gate.
    pub fn gate(&self) -> &G {
        &self.gate
    }

    /// The gate, to pass it filters and snapshots.
    pub fn gate_mut(&mut self) -> &mut G {
        &mut self.gate
    }

    /// The identity of the disk of the node.
    pub fn disk(&self) -> DiskId {
        self.disks.own
    }

    /// The number of this start, counted from 1.
    pub fn incarnation(&self) -> u64 {
        self.manager.incarnation()
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if self.is_failed {
            return Err(Refusal::Failed);
        }
        if self.is_full() {
            return Err(Refusal::Full);
        }
        let Frame { from, session, ends, body } = frame::decode(&self.identity, bytes)?;
        self.differences.admit(from, body)?;
        let (packet, news) = self.differences.unpack(from, body)?;
        let Header { incarnation, .. } = packet.header;
        if let Body::Message { payload, .. } = &packet.body
            && payload.len() > self.settings.network.message_max()
        {
            return Err(Refusal::TooLong);
        }
        let (sequence, answered) = match packet.body {
            Body::Message { sequence, .. } => (sequence, None),
            Body::Answer { request, .. } => (0, Some(request)),
            _ => (0, None),
        };
        self.check_disks(from, ends, packet.header.addressee)?;
        self.accept(from, incarnation, session, sequence)?;
        let (mut outputs, mut trouble) = (Vec::new(), Ok(()));
        let content = || {
            exported(&mut *self.machine, &self.moment.snapshot, &self.identity).unwrap_or_else(|failure| {
                trouble = Err(failure);
                Vec::new()
            })
        };
        let received = self.manager.receive(from, packet, content, &mut outputs);
        if trouble.is_err() {
            self.end(trouble);
            return Err(Refusal::Failed);
        }
        let payload = match received {
            Ok(payload) => payload,
            Err(dropped) => {
                self.forward(outputs);
                // On an ordered link, a message is lost only together with its connection.
                if dropped == Dropped::FarAhead && self.settings.network == Network::Ordered {
                    self.outbox.add(Output::Disconnect { peer: from });
                }
                return Err(dropped.into());
            }
        };
        let peer = self.peers.entry(from).or_default();
        if peer.incarnation != incarnation {
            *peer = Peer { incarnation, session, last: 0 };
        }
        peer.last = peer.last.max(sequence);
        self.note_start(from, incarnation, ends.sender);
        self.differences.learn(from, news);
        self.forward(outputs);
        answered.into_iter().for_each(|request| self.answered(from, request));
        if let Some(payload) = payload {
            self.counts.messages += 1;
            if let Some(carried) = &mut self.carried {
                carried.take(self.manager.number(), from, &payload);
            }
            let cause = Cause::Message { from, network: self.settings.network, payload: &payload };
            let result = self.handle(Some(cause), Input::Message { src: from, payload: &payload });
            self.settle_message(from, result);
        }
        Ok(())
    }

    /// Requests a record of the present state.
    pub(super) fn persist(&mut self) {
        let DurableState { persisted, map } = self.moment.durable.clone().unwrap_or_default();
        let (numbers, peers, disks) = (self.numbers, self.starts.clone(), self.disks.clone());
        self.outbox.persist(Record { numbers, protocol: persisted, peers, disks, map });
    }

    /// Refuses frames of a second process with the identity of a node, and frames that were overtaken.
    fn accept(&self, from: NodeId, incarnation: u64, session: u64, sequence: u64) -> Result<(), Refusal> {
        let Some(peer) = self.peers.get(&from) else { return Ok(()) };
        let is_later = from == self.identity.node && incarnation > peer.incarnation;
        if session != peer.session && (incarnation == peer.incarnation || is_later) {
            return Err(Refusal::TwoOfOne(from));
        }
        let is_ordered = self.settings.network == Network::Ordered;
        if is_ordered && incarnation == peer.incarnation && (1..peer.last).contains(&sequence) {
            return Err(Refusal::Overtaken);
        }
        Ok(())
    }

    /// Handles a local event.
    fn happen(&mut self, event: &LocalEvent) {
        if let Some(number) = self.requests.delayed.remove(event) {
            return self.happen_for(number, event);
        }
        self.counts.local += 1;
        let result = self.handle(Some(Cause::Local(event)), Input::Local(event));
        self.settle_local(event, result);
    }

    /// Marks the node as failed, if the result is a failure.
    pub(super) fn end(&mut self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.is_failed = true;
            self.outbox.add(Output::Failed(failure));
        }
    }

    pub(super) fn tick(&mut self, now: Time) {
        if now < self.now {
            self.counts.backwards += 1;
        } else {
            self.now = now;
        }
    }

    /// Queues the messages of a handler; they leave once everything that they depend on is on the disk.
    pub(super) fn release(&mut self, sent: Vec<Envelope>) {
        if let Some(carried) = &mut self.carried {
            carried.send(self.manager.number(), &sent);
        }
        let mut outputs = Vec::new();
        for Envelope { to, payload } in sent {
            self.manager.send(to, payload, &mut outputs);
        }
        self.forward(outputs);
    }

    /// Translates outputs of the checkpoint manager to outputs of the node.
    pub(super) fn forward(&mut self, outputs: Vec<checkpoint::Output>) {
        for output in outputs {
            match output {
                checkpoint::Output::Persist(numbers) => {
                    self.numbers = numbers;
                    self.persist();
                }
                checkpoint::Output::Send { to, packet } => self.post(to, &packet),
                checkpoint::Output::Gathered(outcome) => {
                    if let (Outcome::Complete(snapshot), Some(carried)) = (&outcome, &mut self.carried) {
                        carried.renew(snapshot.number, beginning(snapshot, &FaultState::default()).0);
                    }
                    self.gathered(&outcome);
                    self.outbox.add(Output::Gathered(outcome));
                }
            }
        }
    }
}
