//! Bullet': nodes of a mesh announce their blocks of a file to each other, by differences to earlier announcements, and ask
//! for the rarest of their missing blocks.
//!
//! Sources: Kostić and others, "Maintaining high bandwidth under dynamic network conditions", USENIX ATC 2005; Yabandeh, "Model
//! Checking of Distributed Algorithm Implementations", EPFL thesis 4858, 2011, section 3.6, for the mistake. The README says where
//! this protocol differs.
//!
//! | module | what it holds |
//! |---|---|
//! | `bugs` | deliberate mistakes |
//! | `spec` | the properties |

mod bugs;
mod spec;

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::{About, Context, LocalEvents, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

pub use bugs::{Bug, Bugs};

/// The configuration of a run.
#[derive(Clone, Copy, Debug)]
pub struct BulletPrime {
    blocks: Block,
    mesh: Mesh,
    bugs: Bugs,
}

/// The nodes that each node asks to be its senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mesh {
    /// Each node asks the one before it.
    Line,
    /// Each node except the source asks all others.
    Full,
}

/// A block of the file, by its number.
pub type Block = u8;

/// A set of blocks: a file map.
pub type Blocks = BTreeSet<Block>;

/// The number of a peering, counted by the receiver, also over its resets.
pub type Session = u8;

/// The messages between nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Receiver to sender: tell me what you have.
    Peer(Session),
    /// Sender to receiver: this peering is over, as far as I know.
    Unknown(Session),
    /// Sender to receiver: the blocks that are new since the last such message.
    Difference(Session, Blocks),
    /// Receiver to sender.
    Request(Session, Block),
    /// Sender to receiver: the block itself.
    Data(Session, Block),
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// It asks a node to be its sender.
    Peer(NodeId),
    /// It announces its new blocks to a receiver.
    Tell(NodeId),
    /// It asks for the rarest block, or one of them.
    Request,
    /// It sends a block that a receiver has asked for.
    Serve(NodeId),
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// This node.
    pub me: NodeId,
    /// The blocks that it has.
    pub blocks: Blocks,
    /// The number of peerings that it has begun.
    pub sessions: Session,
    /// Its senders.
    pub senders: BTreeMap<NodeId, Sender>,
    /// Its receivers.
    pub receivers: BTreeMap<NodeId, Receiver>,
    /// The blocks that it has asked for, each with the sender.
    pub requested: BTreeMap<Block, NodeId>,
}

/// A sender, as its receiver sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sender {
    /// The peering.
    pub session: Session,
    /// The blocks that it has announced.
    pub view: Blocks,
    /// The number of differences received. Only the specification reads it.
    pub received: u8,
}

/// A receiver, as its sender sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Receiver {
    /// The peering.
    pub session: Session,
    /// The shadow file map: the blocks not yet announced to it.
    pub shadow: Blocks,
    /// A difference that was refused; the mistake `stale` sends it later as it was.
    pub refused: Option<Blocks>,
    /// The number of differences sent. Only the specification reads it.
    pub sent: u8,
    /// The blocks that it has asked for.
    pub wanted: Blocks,
}

impl Protocol for BulletPrime {
    const ABOUT: About = guest_sdk::about!().nodes(3).network(guest_sdk::Network::Ordered);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Session;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let blocks = parameters.get("blocks", 2, "how many blocks the file has")?;
        let meshes = [("line", Mesh::Line), ("full", Mesh::Full)];
        let what = "which nodes ask which to be their senders: each the one before it; each but the source all others";
        let mesh = parameters.choice("mesh", &meshes, what)?;
        let bugs = Bugs::configure(parameters)?;
        if blocks == 0 {
            return Err(parameters.reject("blocks", "there is at least one"));
        }
        Ok(Self { blocks, mesh, bugs })
    }

    fn init(&self, ctx: &mut Context<Message>, durable: Option<Session>) -> State {
        State {
            me: ctx.me(),
            blocks: (0..self.blocks).filter(|_| ctx.me() == 0).collect(),
            sessions: durable.unwrap_or(0),
            senders: BTreeMap::new(),
            receivers: BTreeMap::new(),
            requested: BTreeMap::new(),
        }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match message {
            Message::Peer(session) => self.peer(state, from, session),
            Message::Unknown(session) => {
                if state.senders.get(&from).is_some_and(|sender| sender.session == session) {
                    lose_sender(state, from);
                }
            }
            Message::Difference(session, new) => {
                if let Some(sender) = state.senders.get_mut(&from).filter(|sender| sender.session == session) {
                    sender.view.extend(new);
                    sender.received += 1;
                }
            }
            Message::Request(session, block) => {
                match state.receivers.get_mut(&from).filter(|receiver| receiver.session == session) {
                    Some(receiver) => {
                        receiver.wanted.insert(block);
                    }
                    None => ctx.send(from, Message::Unknown(session)),
                }
            }
            Message::Data(_, block) => {
                state.requested.remove(&block);
                if state.blocks.insert(block) {
                    for receiver in state.receivers.values_mut() {
                        receiver.shadow.insert(block);
                    }
                }
            }
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        for node in self.candidates(state.me, events.nodes()).filter(|node| !state.senders.contains_key(node)) {
            events.internal("peer", Local::Peer(node));
        }
        for (node, receiver) in &state.receivers {
            if !receiver.shadow.is_empty() || receiver.refused.is_some() {
                events.internal("tell", Local::Tell(*node));
            }
            if !receiver.wanted.is_empty() {
                events.internal("serve", Local::Serve(*node));
            }
        }
        if !rarest(state).is_empty() {
            events.internal("request", Local::Request);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        match event {
            Local::Peer(node) => {
                let session = state.sessions;
                if ctx.try_send(node, Message::Peer(session)) {
                    state.sessions += 1;
                    state.senders.insert(node, Sender { session, view: Blocks::new(), received: 0 });
                }
            }
            Local::Tell(node) => self.tell(ctx, state, node),
            Local::Request => request(ctx, state),
            Local::Serve(node) => {
                let receiver = state.receivers.get_mut(&node).expect("it has asked");
                let block = *receiver.wanted.first().expect("it wants a block");
                if ctx.try_send(node, Message::Data(receiver.session, block)) {
                    receiver.wanted.remove(&block);
                }
            }
        }
    }

    fn handle_transport_error(&self, ctx: &mut Context<Message>, state: &mut State, peer: NodeId) {
        lose_sender(state, peer);
        if self.bugs.has(Bug::Kept) {
            return;
        }
        if let Some(receiver) = state.receivers.remove(&peer) {
            // The peer need not have heard of the error.
            ctx.send(peer, Message::Unknown(receiver.session));
        }
    }

    /// The number of peerings begun: the blocks are in memory.
    fn persist(&self, state: &State) -> Option<Session> {
        Some(state.sessions)
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

impl BulletPrime {
    /// The nodes that this one wants as senders.
    fn candidates(&self, me: NodeId, nodes: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        let mesh = self.mesh;
        (0..nodes).filter(move |node| match mesh {
            Mesh::Line => node + 1 == me,
            Mesh::Full => me != 0 && *node != me,
        })
    }

    /// A receiver begins: it knows of nothing yet.
    fn peer(&self, state: &mut State, from: NodeId, session: Session) {
        if let Some(receiver) = state.receivers.get_mut(&from).filter(|_| self.bugs.has(Bug::Kept)) {
            (receiver.session, receiver.sent) = (session, 0);
            return;
        }
        let shadow = state.blocks.clone();
        state.receivers.insert(from, Receiver { session, shadow, refused: None, sent: 0, wanted: Blocks::new() });
    }

    /// Announces the new blocks to a receiver, if the transport takes the message.
    fn tell(&self, ctx: &mut Context<Message>, state: &mut State, node: NodeId) {
        let receiver = state.receivers.get_mut(&node).expect("it is a receiver");
        let difference = receiver.refused.take().unwrap_or_else(|| receiver.shadow.clone());
        if ctx.try_send(node, Message::Difference(receiver.session, difference.clone())) {
            receiver.sent += 1;
            receiver.shadow.clear();
        } else if self.bugs.has(Bug::Cleared) {
            receiver.shadow.clear();
        } else if self.bugs.has(Bug::Stale) {
            receiver.refused = Some(difference);
        }
    }
}

/// Asks for one of the rarest blocks, at one of the senders that have it.
fn request(ctx: &mut Context<Message>, state: &mut State) {
    let rarest = rarest(state);
    let block = rarest[ctx.choose(rarest.len() as u32) as usize];
    let holders: Vec<_> = state.senders.iter().filter(|(_, sender)| sender.view.contains(&block)).collect();
    let (node, sender) = holders[ctx.choose(holders.len() as u32) as usize];
    if ctx.try_send(*node, Message::Request(sender.session, block)) {
        state.requested.insert(block, *node);
    }
}

/// The blocks that the node misses and has not asked for, and whose known holders are fewest.
fn rarest(state: &State) -> Vec<Block> {
    let mut holders = BTreeMap::<Block, usize>::new();
    for block in state.senders.values().flat_map(|sender| &sender.view) {
        if !state.blocks.contains(block) && !state.requested.contains_key(block) {
            *holders.entry(*block).or_default() += 1;
        }
    }
    let fewest = holders.values().min().copied();
    holders.into_iter().filter(|(_, count)| Some(*count) == fewest).map(|(block, _)| block).collect()
}

/// The sender's announcements are void, and the blocks requested from it will not arrive.
fn lose_sender(state: &mut State, node: NodeId) {
    state.senders.remove(&node);
    state.requested.retain(|_, sender| *sender != node);
}

guest_sdk::export!(BulletPrime);
