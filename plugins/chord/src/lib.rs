//! Chord: each node has an identifier, and keeps its predecessor and its next successors on the ring of these.
//!
//! Sources: Stoica, Morris, Liben-Nowell, Karger, Kaashoek, Dabek and Balakrishnan, "Chord: A Scalable Peer-to-Peer Lookup Protocol for
//! Internet Applications", IEEE/ACM Transactions on Networking 11(1), 2003; Yabandeh, "Model Checking of Distributed Algorithm
//! Implementations", EPFL thesis 4858, 2011, section 3.6, with the mistakes CH1 to CH3. There are no fingers.
//!
//! | module | what it holds |
//! |---|---|
//! | `ring` | places on the ring, and the successor list |
//! | `spec` | the properties |

mod ring;
mod spec;

use guest_sdk::{
    About, Context, LocalEvents, Mistake, Mistakes, Network, Never, NodeId, ParameterError, Parameters, Place,
    Properties, Protocol,
};
use serde::{Deserialize, Serialize};

use ring::Ring;

/// The configuration of a run.
#[derive(Clone, Copy, Debug)]
pub struct Chord {
    ring: Ring,
    /// The node that begins the ring, and that all other nodes ask.
    contact: NodeId,
    early: u8,
    bugs: Mistakes<Bug>,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    /// CH1: a node sends UpdatePredecessor to itself, and believes it.
    OwnPredecessor,
    /// CH2: a node that learns of successors does not check whether one of them is its predecessor.
    StalePredecessor,
    /// CH3: waiting requests are kept in as many copies as arrive.
    UnboundedQueue,
    /// A node that has a new successor does not tell it.
    SilentStabilization,
}

impl Mistake for Bug {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("own-predecessor", Self::OwnPredecessor),
        ("stale-predecessor", Self::StalePredecessor),
        ("unbounded-queue", Self::UnboundedQueue),
        ("silent-stabilization", Self::SilentStabilization),
        ("CH1", Self::OwnPredecessor),
        ("CH2", Self::StalePredecessor),
        ("CH3", Self::UnboundedQueue),
    ];
}

/// The messages between nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To the contact, and on along the ring: who comes before this node?
    FindPredecessor(NodeId),
    /// The answer, of the node that comes before.
    FindPredecessorReply {
        /// Its successors, or itself if there are none.
        successors: Vec<NodeId>,
    },
    /// To the successor, from time to time.
    GetPredecessor,
    /// The answer.
    GetPredecessorReply {
        /// The sender's predecessor.
        predecessor: Option<NodeId>,
        /// The sender's successors.
        successors: Vec<NodeId>,
    },
    /// To the successor: I may be your predecessor.
    UpdatePredecessor,
    /// I am not on the ring: forget me.
    Remove,
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The application joins the ring.
    Join,
    /// The join timer fires.
    Retry,
    /// The stabilisation timer fires.
    Stabilize,
}

/// The phase of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// It has not begun to join.
    Init,
    /// It has asked the contact.
    Joining {
        /// Whether an answer can still come, as far as the node knows.
        is_open: bool,
    },
    /// It is on the ring.
    Joined,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// This node.
    pub me: NodeId,
    /// Its phase.
    pub phase: Phase,
    /// The node before it on the ring; itself if it is alone, none if it does not know.
    pub predecessor: Option<NodeId>,
    /// The nodes behind it, nearest first, without itself.
    pub successors: Vec<NodeId>,
    /// Requests that wait until the node has joined.
    pub waiting: Vec<NodeId>,
    /// Whether the successor has not answered GetPredecessor.
    pub is_asking: bool,
    /// The number of times that a timer may still fire before its answer has arrived or is lost.
    pub early: u8,
}

impl State {
    /// The successor; the node itself if it knows no other.
    pub fn successor(&self) -> NodeId {
        self.successors.first().copied().unwrap_or(self.me)
    }
}

impl Protocol for Chord {
    const ABOUT: About = guest_sdk::about!().nodes(3).network(Network::Ordered);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let nodes = parameters.nodes();
        let length = parameters.get("successors", 2, "how many successors a node keeps")?;
        let identifiers =
            parameters.get("identifiers", 8, "how many there are; those of the nodes are spread evenly")?;
        let contacts = [("first", 0), ("last", nodes.saturating_sub(1))];
        let contact = parameters.choice("contact", &contacts, "the node that begins the ring, and that others ask")?;
        let early = parameters.get("early", 0, "how often timers of a node fire while an answer is on its way")?;
        let bugs = Mistakes::configure(parameters)?;
        match (length, identifiers) {
            (0, _) => Err(parameters.reject("successors", "a node keeps at least one")),
            (_, identifiers) if identifiers < nodes => {
                Err(parameters.reject("identifiers", "each node has one of its own"))
            }
            _ => Ok(Self { ring: Ring { nodes, identifiers, length }, contact, early, bugs }),
        }
    }

    fn init(&self, ctx: &mut Context<Message>, _: Option<Never>) -> State {
        State {
            me: ctx.me(),
            phase: Phase::Init,
            predecessor: None,
            successors: Vec::new(),
            waiting: Vec::new(),
            is_asking: false,
            early: self.early,
        }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match message {
            Message::FindPredecessor(node) => self.find_predecessor(ctx, state, from, node),
            Message::FindPredecessorReply { successors } => self.joined(ctx, state, from, &successors),
            Message::GetPredecessor if state.phase == Phase::Joined => {
                let (predecessor, successors) = (state.predecessor, state.successors.clone());
                ctx.send(from, Message::GetPredecessorReply { predecessor, successors });
            }
            Message::GetPredecessor => ctx.send(from, Message::Remove),
            Message::GetPredecessorReply { predecessor, successors } => {
                self.stabilized(ctx, state, from, (predecessor, &successors));
            }
            Message::UpdatePredecessor => self.update_predecessor(state, from),
            Message::Remove => self.forget(ctx, state, from),
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        match state.phase {
            Phase::Init => events.internal("join", Local::Join),
            Phase::Joining { is_open } if !is_open || state.early > 0 => events.timer("retry", Local::Retry),
            Phase::Joining { .. } => {}
            Phase::Joined if state.successors.is_empty() => {}
            Phase::Joined if !state.is_asking || state.early > 0 => events.timer("stabilize", Local::Stabilize),
            Phase::Joined => {}
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        match event {
            Local::Join if state.me == self.contact => {
                state.predecessor = Some(state.me);
                self.be_joined(ctx, state);
            }
            Local::Join => self.ask(ctx, state),
            Local::Retry => {
                state.early -= u8::from(state.phase == Phase::Joining { is_open: true });
                self.ask(ctx, state);
            }
            Local::Stabilize => {
                state.early -= u8::from(state.is_asking);
                state.is_asking = true;
                ctx.send(state.successor(), Message::GetPredecessor);
            }
        }
    }

    fn handle_transport_error(&self, ctx: &mut Context<Message>, state: &mut State, peer: NodeId) {
        if peer == self.contact && state.phase == (Phase::Joining { is_open: true }) {
            state.phase = Phase::Joining { is_open: false };
        }
        self.forget(ctx, state, peer);
    }

    /// The nodes before and behind it, those that wait for it, and the contact, which lets it join the ring.
    fn neighbours(&self, _: Place, state: &State) -> Option<Vec<NodeId>> {
        let contact = (state.phase != Phase::Joined).then_some(self.contact);
        let others = state.predecessor.iter().chain(&state.successors).chain(&state.waiting).copied();
        Some(others.chain(contact).collect())
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

impl Chord {
    fn ask(&self, ctx: &mut Context<Message>, state: &mut State) {
        state.phase = Phase::Joining { is_open: true };
        ctx.send(self.contact, Message::FindPredecessor(state.me));
    }

    fn find_predecessor(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, node: NodeId) {
        if state.phase != Phase::Joined {
            if node != from {
                // It was on the ring once, but has left it.
                ctx.send(from, Message::Remove);
            }
            let is_new = !state.waiting.contains(&node);
            if node != state.me && (is_new || self.bugs.has(Bug::UnboundedQueue)) {
                state.waiting.push(node);
            }
            return;
        }
        self.answer(ctx, state, node);
    }

    /// Answers, or forwards the question to the last successor before the node.
    fn answer(&self, ctx: &mut Context<Message>, state: &State, node: NodeId) {
        let before = |other: &&NodeId| self.ring.is_between(state.me, **other, node);
        match state.successors.iter().rev().find(before) {
            Some(next) => ctx.send(*next, Message::FindPredecessor(node)),
            None if state.successors.is_empty() => {
                ctx.send(node, Message::FindPredecessorReply { successors: vec![state.me] });
            }
            None => ctx.send(node, Message::FindPredecessorReply { successors: state.successors.clone() }),
        }
    }

    fn joined(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, successors: &[NodeId]) {
        if !matches!(state.phase, Phase::Joining { .. }) {
            return;
        }
        state.predecessor = Some(from);
        self.learn(state, successors.iter().copied().chain([from]));
        let successor = match self.bugs.has(Bug::OwnPredecessor) {
            true => successors.first().copied(),
            false => state.successors.first().copied(),
        };
        if let Some(successor) = successor {
            ctx.send(successor, Message::UpdatePredecessor);
        }
        self.be_joined(ctx, state);
    }

    fn be_joined(&self, ctx: &mut Context<Message>, state: &mut State) {
        state.phase = Phase::Joined;
        for node in std::mem::take(&mut state.waiting) {
            self.answer(ctx, state, node);
        }
    }

    fn update_predecessor(&self, state: &mut State, from: NodeId) {
        let is_own = from == state.me && !self.bugs.has(Bug::OwnPredecessor);
        if state.phase != Phase::Joined || is_own {
            return;
        }
        if state.predecessor.is_none_or(|old| self.ring.is_between(old, from, state.me)) {
            state.predecessor = Some(from);
            self.learn(state, [from]);
        }
    }

    fn stabilized(
        &self,
        ctx: &mut Context<Message>,
        state: &mut State,
        from: NodeId,
        (predecessor, successors): (Option<NodeId>, &[NodeId]),
    ) {
        if state.phase != Phase::Joined || state.successor() != from {
            return;
        }
        state.is_asking = false;
        self.learn(state, successors.iter().copied());
        if predecessor != Some(state.me) {
            self.learn(state, predecessor);
            if !self.bugs.has(Bug::SilentStabilization) {
                ctx.send(state.successor(), Message::UpdatePredecessor);
            }
        }
    }

    /// Takes nodes for successors, and for the predecessor if one of them is nearer from behind.
    fn learn(&self, state: &mut State, nodes: impl IntoIterator<Item = NodeId>) {
        self.ring.learn(state, nodes);
        let is_own = self.bugs.has(Bug::OwnPredecessor) && state.predecessor == Some(state.me);
        let is_free = !is_own && !self.bugs.has(Bug::StalePredecessor);
        if let Some(old) = state.predecessor.filter(|_| is_free) {
            let nearer = state.successors.iter().rev().find(|node| self.ring.is_between(old, **node, state.me));
            state.predecessor = nearer.copied().or(Some(old));
        }
    }

    /// A node is gone. A node that knows no other one joins again.
    fn forget(&self, ctx: &mut Context<Message>, state: &mut State, peer: NodeId) {
        if state.phase != Phase::Joined || peer == state.me {
            return;
        }
        if state.successor() == peer {
            state.is_asking = false;
        }
        state.successors.retain(|node| *node != peer);
        if state.predecessor == Some(peer) {
            state.predecessor = None;
        }
        if let Some(other) = state.predecessor.filter(|other| *other != state.me) {
            self.learn(state, [other]);
        }
        if state.successors.is_empty() && state.predecessor.is_none() {
            match state.me == self.contact {
                true => state.predecessor = Some(state.me),
                false => self.ask(ctx, state),
            }
        }
    }
}

guest_sdk::export!(Chord);
