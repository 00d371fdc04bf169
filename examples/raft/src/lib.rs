//! The crate raft, unmodified: nodes agree on a log of commands.

use guest_sdk::{
    About, By, Context, Distinguish, Encoding, LocalEvents, NodeId, Opaque, ParameterError, Parameters, Payload,
    Properties, Protocol, Randomness,
};
use protobuf::Message as _;
use raft::eraftpb::{ConfState, Entry, HardState, Message};
use raft::storage::MemStorage;
use raft::{Config, RawNode, StateRole, Storage};
use serde::{Deserialize, Serialize};

/// A node of the library, and the entries that its application has applied.
pub struct Node {
    raw: RawNode<MemStorage>,
    /// Term and command of each entry.
    applied: Vec<(u64, u8)>,
    campaigns: u32,
    proposals: u32,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let raft = &self.raw.raft;
        let log = entries(raft.raft_log.store());
        f.debug_struct("Node")
            .field("term", &raft.term)
            .field("role", &raft.state)
            .field("vote", &raft.vote)
            .field("log", &log.iter().map(|entry| (entry.term, &entry.data)).collect::<Vec<_>>())
            .field("committed", &raft.raft_log.committed)
            .field("applied", &self.applied)
            .finish()
    }
}

impl Distinguish for Node {
    const BY: By = By::Memory;
}

guest_sdk::arena!();

/// A message of the library.
pub struct Packet(pub Message);

impl Payload for Packet {
    fn to_bytes(&self, _: Encoding) -> Vec<u8> {
        self.0.write_to_bytes().expect("the library's messages have bytes")
    }

    fn from_bytes(bytes: &[u8], _: Encoding) -> Option<Self> {
        Message::parse_from_bytes(bytes).ok().map(Self)
    }

    fn shown(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// The contents of the disk: vote, term and commit index, and the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {
    hard_state: Vec<u8>,
    entries: Vec<Vec<u8>>,
}

/// A local event of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The election timeout.
    Campaign,
    /// The leader's heartbeat.
    Ping,
    /// A client asks the leader.
    Propose,
}

/// The checked protocol, with limits on its local events.
pub struct Checked {
    campaigns: u32,
    proposals: u32,
    pings: bool,
}

/// The log. The storage of the library in memory cannot return an empty log.
fn entries(storage: &MemStorage) -> Vec<Entry> {
    match (storage.first_index(), storage.last_index()) {
        (Ok(first), Ok(last)) if first <= last => {
            storage.entries(first, last + 1, None, raft::GetEntriesContext::empty(false)).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

impl Checked {
    fn start(&self, ctx: &Context<Packet>, disk: Option<Disk>) -> Node {
        let everybody: Vec<u64> = (1..=u64::from(ctx.nodes())).collect();
        let storage = MemStorage::new_with_conf_state(ConfState::from((everybody, vec![])));
        if let Some(disk) = disk {
            let entries: Vec<Entry> =
                disk.entries.iter().map(|bytes| Entry::parse_from_bytes(bytes).expect("it was written")).collect();
            let mut core = storage.wl();
            core.append(&entries).expect("a log that was there");
            core.set_hardstate(HardState::parse_from_bytes(&disk.hard_state).expect("it was written"));
        }
        // Elections are local events, so the ticks that lead to them are left out.
        let config = Config { id: u64::from(ctx.me()) + 1, election_tick: 10, heartbeat_tick: 1, ..Config::default() };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let raw = RawNode::new(&config, storage, &logger).expect("a configuration");
        Node { raw, applied: Vec::new(), campaigns: 0, proposals: 0 }
    }
}

impl Node {
    /// Executes the library's requests, in the order of its documentation: messages, entries and hard state to the disk, messages that wait
    /// for the disk, committed entries to the application.
    fn ready(&mut self, ctx: &mut Context<Packet>) {
        while self.raw.has_ready() {
            let mut ready = self.raw.ready();
            send(ctx, ready.take_messages());
            self.apply(ready.take_committed_entries());
            let storage = self.raw.raft.raft_log.store().clone();
            storage.wl().append(ready.entries()).expect("entries that fit the log");
            if let Some(hard_state) = ready.hs() {
                storage.wl().set_hardstate(hard_state.clone());
            }
            send(ctx, ready.take_persisted_messages());
            let mut light = self.raw.advance(ready);
            if let Some(commit) = light.commit_index() {
                storage.wl().mut_hard_state().set_commit(commit);
            }
            send(ctx, light.take_messages());
            self.apply(light.take_committed_entries());
            self.raw.advance_apply();
        }
    }

    fn apply(&mut self, entries: Vec<Entry>) {
        for entry in entries.iter().filter(|entry| !entry.data.is_empty()) {
            self.applied.push((entry.term, entry.data[0]));
        }
    }
}

fn send(ctx: &mut Context<Packet>, messages: Vec<Message>) {
    for message in messages {
        ctx.send((message.to - 1) as NodeId, Packet(message));
    }
}

impl Protocol for Checked {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    // The library draws its election timeout, which has no effect here.
    const RANDOMNESS: Randomness = Randomness::Constant;
    type State = Opaque<Node>;
    type Message = Packet;
    type Local = Local;
    type Durable = Disk;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Self {
            campaigns: parameters.get("campaigns", 1, "how often each node stands for election")?,
            proposals: parameters.get("proposals", 1, "how many commands each leader takes")?,
            pings: parameters.get("pings", false, "whether leaders send heartbeats")?,
        })
    }

    fn init(&self, ctx: &mut Context<Packet>, disk: Option<Disk>) -> Opaque<Node> {
        let mut node = self.start(ctx, disk);
        node.ready(ctx);
        Opaque::new(node)
    }

    fn handle_message(&self, ctx: &mut Context<Packet>, node: &mut Opaque<Node>, _: NodeId, packet: Packet) {
        // Messages that do not fit are refused with an error, as the documentation says.
        let _ = node.raw.step(packet.0);
        node.ready(ctx);
    }

    fn local_events(&self, node: &Opaque<Node>, events: &mut LocalEvents<Local>) {
        let leads = node.raw.raft.state == StateRole::Leader;
        if !leads && node.campaigns < self.campaigns {
            events.timer("campaign", Local::Campaign);
        }
        if leads && node.proposals < self.proposals {
            events.application("propose", Local::Propose);
        }
        if leads && self.pings {
            events.timer("ping", Local::Ping);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Packet>, node: &mut Opaque<Node>, event: Local) {
        match event {
            Local::Campaign => {
                node.campaigns += 1;
                node.raw.campaign().expect("a node can stand for election");
            }
            Local::Ping => node.raw.ping(),
            Local::Propose => {
                node.proposals += 1;
                let _ = node.raw.propose(vec![], vec![ctx.me() as u8 + 1]);
            }
        }
        node.ready(ctx);
    }

    fn persist(&self, node: &Opaque<Node>) -> Option<Disk> {
        let storage = node.raw.raft.raft_log.store();
        let hard_state = storage.initial_state().ok()?.hard_state.write_to_bytes().ok()?;
        let log = entries(storage);
        Some(Disk { hard_state, entries: log.iter().filter_map(|entry| entry.write_to_bytes().ok()).collect() })
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("election-safety").system(
            |_, node| (node.raw.raft.state == StateRole::Leader).then_some(node.raw.raft.term),
            |terms| {
                let mut terms: Vec<u64> = terms.iter().flatten().copied().collect();
                terms.sort_unstable();
                match terms.windows(2).find(|two| two[0] == two[1]) {
                    Some(two) => Err(format!("two nodes lead in term {}", two[0])),
                    None => Ok(()),
                }
            },
        );
        claims.always("state-machine-safety").system(
            |_, node| Some(node.applied.clone()).filter(|applied| !applied.is_empty()),
            |all| {
                let longest = all.iter().flatten().max_by_key(|applied| applied.len());
                match all.iter().flatten().find(|it| !longest.is_some_and(|longest| longest.starts_with(it))) {
                    Some(other) => Err(format!("one node has applied {longest:?}, another one {other:?}")),
                    None => Ok(()),
                }
            },
        );
        claims.sometimes("applied").node(
            |_, node| Some(node.applied.len()),
            |applied| if *applied > 0 { Ok(()) } else { Err("nothing is applied".to_owned()) },
        );
    }
}

guest_sdk::export!(Checked);
