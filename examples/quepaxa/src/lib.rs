//! The crate quepaxa, unmodified: replicas agree on a log, write before they send, and restart from their writes.

use bytes::Bytes;
use guest_sdk::{
    About, By, Context, Distinguish, LocalEvents, NodeId, Opaque, ParameterError, Parameters, Properties, Protocol,
};
use quepaxa::{Action, Config, Input, Replica, Timestamp};
use serde::{Deserialize, Serialize};

/// A message of the library: bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Packet(Vec<u8>);

/// The contents of the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {
    records: Vec<Vec<u8>>,
    /// "A fresh random seed per start."
    starts: u8,
}

/// A replica with its disk, and the entries that its application has applied.
pub struct Node {
    replica: Replica,
    disk: Disk,
    /// Writes that are not on disk yet, each with the action that follows it.
    pending: Vec<Action>,
    applied: Vec<Vec<u8>>,
    now: Timestamp,
    proposals: u32,
    timeouts: u32,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (starts, records, pending) = (self.disk.starts, self.disk.records.len(), self.pending.len());
        let mut node = f.debug_struct("Node");
        node.field("applied", &self.applied)
            .field("starts", &starts)
            .field("records", &records)
            .field("pending", &pending);
        node.finish()
    }
}

impl Distinguish for Node {
    const BY: By = By::History;
}

impl Node {
    fn start(me: NodeId, nodes: u32, mut disk: Disk) -> Self {
        disk.starts += 1;
        let members = (0..nodes).map(quepaxa::NodeId).collect();
        let mut seed = [disk.starts; 32];
        seed[0] = me as u8;
        let records: Vec<Bytes> = disk.records.iter().cloned().map(Bytes::from).collect();
        let config = Config::new([7; 16], quepaxa::NodeId(me), members, seed);
        let replica = Replica::new(config, records, Timestamp(0)).expect("what was written can be read");
        Self { replica, disk, pending: Vec::new(), applied: Vec::new(), now: Timestamp(0), proposals: 0, timeouts: 0 }
    }

    /// Executes the library's actions; a write waits for the disk.
    fn act(&mut self, ctx: &mut Context<Packet>) {
        let mut actions = Vec::new();
        self.replica.poll_actions(&mut actions);
        for action in actions {
            match action {
                Action::Send(out) => ctx.send(out.to.0, Packet(out.bytes.to_vec())),
                Action::Commit { entries, .. } => {
                    self.applied.extend(entries.iter().map(|entry| entry.payload.to_vec()))
                }
                Action::Persist { .. } => self.pending.push(action),
                _ => {}
            }
        }
    }

    /// The oldest write reaches the disk.
    fn written(&mut self, ctx: &mut Context<Packet>) {
        let Action::Persist { id, records, then, replace } = self.pending.remove(0) else {
            unreachable!("only writes wait")
        };
        if replace {
            self.disk.records.clear();
        }
        self.disk.records.extend(records.iter().map(|record| record.to_vec()));
        then.into_iter().for_each(|out| ctx.send(out.to.0, Packet(out.bytes.to_vec())));
        self.replica.handle(self.now, Input::Persisted(id)).expect("actions are polled");
        self.act(ctx);
    }
}

/// A local event of a replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    Propose,
    /// The oldest write is on disk.
    Written,
    /// The clock reaches the next deadline.
    Timeout,
}

/// The checked protocol, with limits on its local events.
pub struct Checked {
    proposals: u32,
    timeouts: u32,
}

impl Protocol for Checked {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = Opaque<Node>;
    type Message = Packet;
    type Local = Local;
    type Durable = Disk;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Self {
            proposals: parameters.get("proposals", 1, "how many entries each replica proposes")?,
            timeouts: parameters.get("timeouts", 2, "how often the clock of each replica reaches a deadline")?,
        })
    }

    fn init(&self, ctx: &mut Context<Packet>, disk: Option<Disk>) -> Opaque<Node> {
        let mut node = Node::start(ctx.me(), ctx.nodes(), disk.unwrap_or_default());
        node.act(ctx);
        Opaque::new(node)
    }

    fn handle_message(&self, ctx: &mut Context<Packet>, node: &mut Opaque<Node>, _: NodeId, packet: Packet) {
        let now = node.now;
        node.replica.handle(now, Input::Message(packet.0.into())).expect("actions are polled");
        node.act(ctx);
    }

    fn local_events(&self, node: &Opaque<Node>, events: &mut LocalEvents<Local>) {
        if node.proposals < self.proposals {
            events.application("propose", Local::Propose);
        }
        if !node.pending.is_empty() {
            events.internal("written", Local::Written);
        }
        if node.timeouts < self.timeouts && node.replica.next_deadline().is_some() {
            events.timer("timeout", Local::Timeout);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Packet>, node: &mut Opaque<Node>, event: Local) {
        match event {
            Local::Propose => {
                node.proposals += 1;
                let payload = vec![ctx.me() as u8, node.disk.starts, node.proposals as u8];
                let now = node.now;
                let _ = node.replica.propose(now, payload.into());
            }
            Local::Written => return node.written(ctx),
            Local::Timeout => {
                node.timeouts += 1;
                node.now = node.replica.next_deadline().unwrap_or(node.now).max(node.now);
                let now = node.now;
                node.replica.handle_timeout(now).expect("actions are polled");
            }
        }
        node.act(ctx);
    }

    fn persist(&self, node: &Opaque<Node>) -> Option<Disk> {
        Some(node.disk.clone())
    }

    /// "Every replica applies the same entries in the same order, only entries that were proposed, each at most once."
    fn properties(claims: &mut Properties<Self>) {
        claims.always("same-order").system(
            |_, node| Some(node.applied.clone()).filter(|applied| !applied.is_empty()),
            |all| {
                let longest = all.iter().flatten().max_by_key(|applied| applied.len());
                match all.iter().flatten().find(|it| !longest.is_some_and(|longest| longest.starts_with(it))) {
                    Some(other) => Err(format!("one replica has applied {longest:?}, another one {other:?}")),
                    None => Ok(()),
                }
            },
        );
        claims.always("at-most-once").node(
            |_, node| Some(node.applied.clone()),
            |applied| {
                let twice = applied.iter().enumerate().find(|(at, entry)| applied[..*at].contains(entry));
                twice.map_or(Ok(()), |(_, entry)| Err(format!("{entry:?} is applied twice: {applied:?}")))
            },
        );
        claims.sometimes("applied").node(
            |_, node| Some(node.applied.len()),
            |applied| if *applied > 0 { Ok(()) } else { Err("nothing is applied".to_owned()) },
        );
    }
}

guest_sdk::export!(Checked);
