//! RandTree: a random tree of bounded degree over all nodes, whose root is the smallest of them.
//!
//! Sources: Killian, Anderson, Jhala and Vahdat, "Life, Death, and the Critical Transition: Finding Liveness Bugs in Systems Code", NSDI
//! 2007, with its report on the mistakes RT1 to RT17; Yabandeh, "Model Checking of Distributed Algorithm Implementations", EPFL thesis
//! 4858, 2011, sections 1.2 and 3.6, with those that are named S1 to S7 here. The README says where this protocol differs.
//!
//! | module | what it holds |
//! |---|---|
//! | `bugs` | deliberate mistakes |
//! | `join` | the search for a parent |
//! | `maintain` | the ties between parents, children and siblings |
//! | `probe` | the discovery of other trees |
//! | `spec` | the properties |

mod bugs;
mod join;
mod maintain;
mod probe;
mod spec;

use std::collections::BTreeSet;

use guest_sdk::{About, Context, LocalEvents, Never, NodeId, ParameterError, Parameters, Place, Properties, Protocol};
use serde::{Deserialize, Serialize};

pub use bugs::{Bug, Bugs};
pub use join::Reply;
pub use probe::Tie;

/// The configuration of a run.
#[derive(Clone, Copy, Debug)]
pub struct RandTree {
    degree: usize,
    contact: Contact,
    is_rooted: bool,
    probes: Probes,
    early: u8,
    bugs: Bugs,
}

/// The nodes that a node knows before it joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contact {
    All,
    Next,
    First,
    Last,
}

/// The nodes that the recovery timer probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probes {
    /// Peers without a tie to the node in its tree, as in the papers.
    Peers,
    /// Parent and children, too.
    All,
    Never,
}

/// The messages between nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Let this node into the tree.
    Join {
        /// The node, which need not be the sender.
        joiner: NodeId,
        /// The root that passes it down, which is that of the sender.
        redirected_by: Option<NodeId>,
    },
    /// The answer to the joiner.
    JoinReply(Reply),
    /// Child to parent: you are not my parent.
    Remove,
    /// The answer: the earlier acceptance is void.
    Removed,
    /// Parent to child: you are not my child.
    Rejoin,
    /// Root to child.
    UpdateSiblings {
        /// The other children.
        siblings: BTreeSet<NodeId>,
    },
    /// Parent to child: the tree has another root.
    NewRoot(NodeId),
    /// Do we have the same root?
    Probe {
        /// The sender's root.
        root: NodeId,
        /// The relation of the destination to the sender, as the sender sees it.
        tie: Tie,
        /// Whether it is the sender's first one to this node since its start.
        is_first: bool,
    },
    /// The probe of this node is over. In Mace timers know that, by their length.
    Probed(NodeId),
    /// To a root: there is a smaller one.
    ProbeJoin {
        /// The smaller one.
        root: NodeId,
        /// The node to notify when this has arrived: it has probed the sender.
        prober: NodeId,
    },
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The application joins the overlay.
    Join,
    /// The join timer fires: there was no answer.
    Retry,
    /// The recovery timer fires.
    Recover,
    /// A Remove that was refused is sent again.
    Remove(NodeId),
}

/// The phase of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// It takes messages, but has not begun to join.
    Init,
    /// It asks for a parent.
    Joining,
    /// It has a parent, or is a root.
    Joined,
}

/// The join timer, and the node that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// The node that was asked last.
    pub target: NodeId,
    /// Whether an answer can still come, as far as the node knows.
    pub is_open: bool,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// This node.
    pub me: NodeId,
    /// Its phase.
    pub phase: Phase,
    /// The root of its tree.
    pub root: NodeId,
    /// Its parent; none of a root and of a node without one.
    pub parent: Option<NodeId>,
    /// Its children, at most as many as the degree.
    pub children: BTreeSet<NodeId>,
    /// The other children of its parent, if that is the root.
    pub siblings: BTreeSet<NodeId>,
    /// The nodes that it has heard of as contacts.
    pub peers: BTreeSet<NodeId>,
    /// The join timer, while it is set.
    pub attempt: Option<Attempt>,
    /// Whether the recovery timer is set.
    pub is_recovering: bool,
    /// The node that was probed last.
    pub probed: NodeId,
    /// The nodes that were probed since the start.
    pub met: BTreeSet<NodeId>,
    /// The node whose answer to a probe can still come.
    pub awaits: Option<NodeId>,
    /// The number of times that a timer may still fire before its answer has arrived or is lost.
    pub early: u8,
    /// Nodes that have not answered Remove.
    pub removing: BTreeSet<NodeId>,
    /// Those of them whose Remove was refused by the transport.
    pub unsent: BTreeSet<NodeId>,
}

impl State {
    /// Whether the node takes itself for the root.
    pub fn is_root(&self) -> bool {
        self.root == self.me
    }
}

impl Protocol for RandTree {
    const ABOUT: About = guest_sdk::about!().nodes(3).network(guest_sdk::Network::Ordered);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let degree = parameters.get("degree", 2, "how many children a node takes")?;
        let contacts =
            [("first", Contact::First), ("next", Contact::Next), ("last", Contact::Last), ("all", Contact::All)];
        let contact = parameters.choice("contact", &contacts, "the nodes that each node is told of before it joins")?;
        let starts = [("apart", false), ("rooted", true)];
        let what = "whether the node that all are told of has joined when it starts";
        let is_rooted = parameters.choice("start", &starts, what)?;
        let probes = [("peers", Probes::Peers), ("all", Probes::All), ("never", Probes::Never)];
        let what = "whom the recovery timer probes: peers outside of parent, children and root; these, too; nobody";
        let probes = parameters.choice("probes", &probes, what)?;
        let early = parameters.get("early", 0, "how often timers of a node fire while an answer is on its way")?;
        let bugs = Bugs::configure(parameters)?;
        if degree == 0 {
            return Err(parameters.reject("degree", "a node takes at least one child"));
        }
        if is_rooted && !matches!(contact, Contact::First | Contact::Last) {
            return Err(parameters.reject("start", "it needs contact=first or contact=last"));
        }
        Ok(Self { degree, contact, is_rooted, probes, early, bugs })
    }

    fn init(&self, ctx: &mut Context<Message>, _: Option<Never>) -> State {
        let mut state = State {
            me: ctx.me(),
            phase: Phase::Init,
            root: ctx.me(),
            parent: None,
            children: BTreeSet::new(),
            siblings: BTreeSet::new(),
            peers: BTreeSet::new(),
            attempt: None,
            is_recovering: false,
            probed: ctx.me(),
            met: BTreeSet::new(),
            awaits: None,
            early: self.early,
            removing: BTreeSet::new(),
            unsent: BTreeSet::new(),
        };
        if self.is_rooted && self.told_of(&state, ctx.nodes()).is_empty() {
            self.join_overlay(ctx, &mut state);
        }
        state
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match message {
            Message::Join { joiner, redirected_by } => self.join(ctx, state, joiner, redirected_by),
            Message::JoinReply(reply) => self.join_reply(ctx, state, from, reply),
            Message::Remove => self.remove(ctx, state, from),
            Message::Removed => {
                state.removing.remove(&from);
                join::close(state);
            }
            Message::Rejoin => self.rejoin(ctx, state, from),
            Message::UpdateSiblings { siblings } => self.update_siblings(ctx, state, from, siblings),
            Message::NewRoot(root) => self.new_root(ctx, state, from, root),
            Message::Probe { root, tie, is_first } => self.probe(ctx, state, from, (root, tie, is_first)),
            Message::ProbeJoin { root, prober } => self.probe_join(ctx, state, from, (root, prober)),
            Message::Probed(peer) => probe::answered(state, peer),
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        if state.phase == Phase::Init {
            events.internal("join", Local::Join);
        }
        if state.attempt.is_some_and(|attempt| !attempt.is_open || state.early > 0) {
            events.timer("retry", Local::Retry);
        }
        if self.may_recover(state) {
            events.timer("recover", Local::Recover);
        }
        for parent in &state.unsent {
            events.internal("remove", Local::Remove(*parent));
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        match event {
            Local::Join => self.join_overlay(ctx, state),
            Local::Retry => self.retry(ctx, state),
            Local::Recover => self.recover(ctx, state),
            Local::Remove(parent) => {
                state.unsent.remove(&parent);
                state.removing.remove(&parent);
                self.ask_to_remove(ctx, state, parent);
            }
        }
    }

    fn handle_transport_error(&self, ctx: &mut Context<Message>, state: &mut State, peer: NodeId) {
        self.peer_died(ctx, state, peer);
    }

    /// The nodes around it in its tree, those whose answer it waits for, and those that it asks next: at its start, or when a timer fires.
    fn neighbours(&self, place: Place, state: &State) -> Option<Vec<NodeId>> {
        let contact = match state.phase {
            Phase::Init => self.told_of(state, place.nodes).first().copied(),
            Phase::Joining | Phase::Joined => probe::next(self, state),
        };
        let others = &state.peers - &state.children;
        let asked = state.attempt.iter();
        let asked = asked.flat_map(|attempt| [Some(attempt.target), join::after(&others, attempt.target)]).flatten();
        let one_each = asked.chain(contact).chain(state.parent).chain(state.awaits).chain([state.root]);
        let around = [&state.children, &state.siblings, &state.removing].into_iter().flatten().copied();
        Some(around.chain(one_each).collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

/// The tree on the network of the host, or over MaceTransport.
pub type Stack = guest_sdk::Layered<RandTree, mace_transport::Transport>;

guest_sdk::export!(Stack);
