//! Frames in flight between nodes.

use host_model::contract::NodeId;
use host_model::scenario::Network;

use crate::checkpoint::{Differences, Dropped};
use crate::disk::Owner;
use crate::gate::Gate;
use crate::node::{Identity, Refusal, opened};
use crate::world::chance::Purpose;
use crate::world::driver::World;
use crate::world::history::{MessageId, Start};
use crate::world::input::{Input, Parcel};
use crate::world::plan::{Own, Trouble};

impl<G: Gate> World<'_, G> {
    /// Sends a frame of a node.
    pub(super) fn send(&mut self, from: NodeId, to: NodeId, frame: Vec<u8>) -> Result<(), String> {
        let Some(running) = &self.places[from as usize].running else { return Ok(()) };
        let (start, session, on_disk) = (running.start(from), self.session(from), running.on_disk);
        if *self.spoken.entry(start).or_insert(session) != session {
            return Err(format!("two processes are {start:?}"));
        }
        let message = message(to, &frame, start.life);
        let parcel = Parcel { bytes: frame, message: message.map(|(id, _)| id) };
        let of = |purpose| if message.is_some() { purpose } else { Purpose::Packets };
        if let Some((id, addressee)) = message {
            self.history.leave(id, addressee, on_disk)?;
        }
        match self.plan.own {
            Own::AtOnce if from == to => {
                if let Some(running) = self.running(from) {
                    running.own.push_back(parcel);
                }
                return Ok(());
            }
            Own::Within(loopback) if from == to => {
                let latency = self.chance.within(Purpose::Latency, loopback);
                let at = self.connections.arrive(from, to, self.now.after(latency));
                self.agenda.add(at, Input::Frame { to, parcel, over: None });
                return Ok(());
            }
            _ => {}
        }
        if self.plan.settings.network == Network::Ordered {
            self.send_in_order(from, to, parcel);
            return Ok(());
        }
        let phase = self.phase();
        let payload =
            || opened(&parcel.bytes).and_then(|(_, body)| Differences::message(body)).map(|(.., payload)| payload);
        let is_meant = phase.is_some_and(|phase| {
            phase.separates(from, to) || payload().is_some_and(|payload| phase.loses(from, to, payload))
        });
        let is_cut = is_meant || self.cuts.get(&(from, to)).is_some_and(|end| self.now < *end);
        let is_lost = self.chance.is_in(of(Purpose::Loss), self.plan.loss);
        if is_cut || (is_lost && !self.is_calm) {
            self.count(if parcel.message.is_some() { "lost" } else { "lost packet" });
            return Ok(());
        }
        let is_repeated = !self.is_calm && self.chance.is_in(of(Purpose::Repeats), self.plan.repeats);
        let again = is_repeated.then(|| parcel.clone());
        for parcel in [Some(parcel), again].into_iter().flatten() {
            let latency = self.chance.within(of(Purpose::Latency), self.plan.latency);
            self.agenda.add(self.now.after(latency), Input::Frame { to, parcel, over: None });
        }
        Ok(())
    }

    /// Divides the nodes into two parts that do not reach each other for a while. All divisions into two non-empty parts are equally
    /// likely.
    pub(super) fn divide(&mut self, trouble: Trouble) {
        let nodes = self.plan.nodes;
        let mut sides: Vec<bool> = Vec::new();
        // If all nodes are on one side, the division is drawn again.
        while sides.is_empty() || (nodes > 1 && sides.iter().all(|side| *side == sides[0])) {
            sides = (0..nodes).map(|_| self.chance.below(Purpose::Divisions, 2) > 0).collect();
        }
        let lasting = self.chance.within(Purpose::Divisions, trouble.lasting);
        let end = self.now.after(lasting);
        let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        for link in pairs.filter(|(from, to)| sides[*from as usize] != sides[*to as usize]) {
            let last = self.cuts.entry(link).or_default();
            *last = end.max(*last);
        }
        self.count("division");
        let gap = lasting + self.chance.around(Purpose::Divisions, trouble.every);
        self.agenda.add(self.now.after(gap), Input::Divide(trouble));
    }

    /// The number of the process that runs a node.
    pub(super) fn session(&self, node: NodeId) -> u64 {
        self.places[node as usize].starts << 8 | u64::from(node)
    }

    pub(super) fn identity(&self, node: NodeId, session: u64) -> Identity {
        Identity {
            node,
            nodes: self.plan.nodes,
            config: self.plan.config.clone(),
            name: String::new(),
            cluster: [7; 16],
            session,
        }
    }

    pub(super) fn owner(&self, node: NodeId) -> Owner {
        let component = ("toy".to_owned(), "none".to_owned());
        Owner::new(&self.identity(node, 0), self.plan.settings.network, &component)
    }

    /// Sends a frame of a node over its connection to another one.
    pub(super) fn send_in_order(&mut self, from: NodeId, to: NodeId, parcel: Parcel) {
        let Some(over) = self.over(from, to) else {
            self.count("lost with a connection");
            return;
        };
        // In a world whose events are a path of the model, packets of the managers do not affect messages.
        if self.is_path && parcel.message.is_none() {
            self.pass_packet(to, parcel, over);
        } else {
            self.pass(from, to, Input::Frame { to, parcel, over: Some(over) });
        }
    }

    /// Breaks the connection between two nodes.
    pub(super) fn break_connection(&mut self, one: NodeId, other: NodeId) {
        let number = self.connections.break_up(one, other);
        for (node, peer) in [(one, other), (other, one)] {
            self.agenda.add(self.now, Input::Broken { node, peer, number });
        }
    }

    /// A node finds the connection with a peer gone, and its protocol hears of that or not.
    pub(super) fn find_broken(&mut self, me: NodeId, peer: NodeId, number: u64) -> Result<(), String> {
        let before = self.history.steps.len();
        if self.connections.hear(me, peer, number) {
            self.feed(me, |node, now| node.disconnected(now, peer))?;
        }
        let start = self.running(me).map(|running| running.start(me));
        self.history.steps[before..].iter_mut().for_each(|step| step.number = number);
        if let Some(start) = start.filter(|_| self.history.steps.len() == before) {
            self.history.lose(start, peer, number);
        }
        Ok(())
    }

    /// All connections of a process break with it.
    pub(super) fn break_connections_of(&mut self, node: NodeId) {
        for peer in (0..self.plan.nodes).filter(|peer| *peer != node) {
            self.break_connection(node, peer);
            self.connections.begin(node, peer);
        }
    }

    /// A node refuses what came over a connection that is there: that loses a message on a link that loses none.
    pub(super) fn refuse_in_order(&self, parcel: &Parcel, refusal: Refusal) -> Result<(), String> {
        match (refusal, parcel.message) {
            (Refusal::Dropped(Dropped::FarAhead), _) | (_, None) => Ok(()),
            (refusal, Some(id)) => Err(format!("{id:?} is lost over a connection: {refusal}")),
        }
    }
}

/// The message in a frame of a node with this disk, and the start that it is for; none if it is a packet of the managers.
fn message(to: NodeId, frame: &[u8], life: u64) -> Option<(MessageId, u64)> {
    let (from, body) = opened(frame)?;
    let (header, sequence, _) = Differences::message(body)?;
    let from = Start { node: from, life, incarnation: header.incarnation };
    Some((MessageId { from, to, sequence }, header.addressee))
}
