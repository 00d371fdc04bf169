//! BrokenTree: a tree of bounded degree below a given root, whose nodes move below siblings and grandparents on request.
//!
//! Source: Killian, Anderson, Jhala and Vahdat, "Life, Death, and the Critical Transition: Finding Liveness Bugs in Systems Code", NSDI
//! 2007, and its report on the mistakes BT1 and BT2. The protocol is a simplification of Overcast that is wrong as it stands; here one
//! node moves at a time unless `bug` says otherwise.
//!
//! | module | what it holds |
//! |---|---|
//! | `spec` | the properties |

mod spec;

use std::collections::BTreeSet;

use guest_sdk::{
    About, Context, LocalEvents, Network, Never, NodeId, ParameterError, Parameters, Properties, Protocol,
};
use serde::{Deserialize, Serialize};

/// The configuration of a run.
#[derive(Clone, Copy, Debug)]
pub struct BrokenTree {
    degree: usize,
    rounds: u8,
    bug: Bug,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// BT1: a node that sends Join first considers taking the joiner itself, and does not notice that it is the joiner.
    SelfJoin,
    /// BT2: all nodes are asked to move, and do so at the same time.
    MoveTogether,
    /// The same, but a node that moves does not take the node that it moves to.
    MoveTogetherGuarded,
}

/// The messages between nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Take this node as a child, or forward it.
    Join(NodeId),
    /// The sender has taken the receiver as a child.
    JoinReply,
    /// Child to its last parent.
    Remove,
    /// The answer.
    Removed,
    /// Parent to child: move, if you want to.
    Reorganize {
        /// The parent's parent; none at the root.
        grandparent: Option<NodeId>,
        /// The children of the parent.
        siblings: BTreeSet<NodeId>,
    },
    /// To the root: the node asked to move has done so, or declines.
    Done,
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The root's timer.
    Reorganize,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// This node.
    pub me: NodeId,
    /// Its parent: the node itself at the root, none before it is in the tree.
    pub parent: Option<NodeId>,
    /// Its children.
    pub children: BTreeSet<NodeId>,
    /// The node that it has asked for a place, while it moves.
    pub target: Option<NodeId>,
    /// At the root: the number of times that it may still ask for moves without knowing that the last one is over.
    pub rounds: u8,
}

const ROOT: NodeId = 0;

impl Protocol for BrokenTree {
    const ABOUT: About = guest_sdk::about!().nodes(3).network(Network::Ordered);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let degree = parameters.get("degree", 2, "how many children a node takes")?;
        let rounds = parameters.get("rounds", 1, "how often the root asks for moves before the last one is over")?;
        let bugs = [
            ("none", Bug::None),
            ("self-join", Bug::SelfJoin),
            ("move-together", Bug::MoveTogether),
            ("move-together-guarded", Bug::MoveTogetherGuarded),
        ];
        let bug =
            parameters.choice("bug", &bugs, "what is wrong on purpose: BT1, BT2, BT2 without its shortest loop")?;
        match (degree, rounds) {
            (0, _) => Err(parameters.reject("degree", "a node takes at least one child")),
            (_, 0) => Err(parameters.reject("rounds", "the root asks once at least")),
            _ => Ok(Self { degree, rounds, bug }),
        }
    }

    fn init(&self, ctx: &mut Context<Message>, _: Option<Never>) -> State {
        let me = ctx.me();
        let parent = (me == ROOT).then_some(me);
        let mut state = State { me, parent, children: BTreeSet::new(), target: None, rounds: self.rounds };
        if me != ROOT {
            self.ask(ctx, &mut state, ROOT);
        }
        state
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match message {
            Message::Join(joiner) => self.join(ctx, state, joiner),
            Message::JoinReply => self.join_reply(ctx, state, from),
            Message::Remove => {
                state.children.remove(&from);
                ctx.send(from, Message::Removed);
            }
            Message::Removed => ctx.send(ROOT, Message::Done),
            Message::Reorganize { grandparent, siblings } => {
                if state.parent == Some(from) {
                    self.reorganize(ctx, state, grandparent, siblings);
                }
            }
            Message::Done => state.rounds = self.rounds,
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        if state.me == ROOT && state.rounds > 0 && !state.children.is_empty() {
            events.timer("reorganize", Local::Reorganize);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, _: Local) {
        state.rounds -= 1;
        if self.moves_together() {
            return Self::ask_all(ctx, state);
        }
        let child = ctx.choose(state.children.len() as u32) as usize;
        Self::ask_one(ctx, state, child);
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

impl BrokenTree {
    fn moves_together(&self) -> bool {
        matches!(self.bug, Bug::MoveTogether | Bug::MoveTogetherGuarded)
    }

    /// Asks a node for a place.
    fn ask(&self, ctx: &mut Context<Message>, state: &mut State, target: NodeId) {
        state.target = Some(target);
        if self.bug == Bug::SelfJoin {
            // The routing layer hands each message to each node on its way, the sender included.
            return self.join(ctx, state, state.me);
        }
        ctx.send(target, Message::Join(state.me));
    }

    fn join(&self, ctx: &mut Context<Message>, state: &mut State, joiner: NodeId) {
        let is_refused = self.bug == Bug::MoveTogetherGuarded && state.target == Some(joiner);
        if state.children.contains(&joiner) || !is_refused && state.children.len() < self.degree {
            state.children.insert(joiner);
            return ctx.send(joiner, Message::JoinReply);
        }
        let others: Vec<NodeId> = state.children.iter().copied().collect();
        match others.len() as u32 {
            0 => ctx.send(ROOT, Message::Join(joiner)),
            alternatives => {
                let next = others[ctx.choose(alternatives) as usize];
                ctx.send(next, Message::Join(joiner));
            }
        }
    }

    fn join_reply(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId) {
        state.target = None;
        match state.parent.replace(from) {
            None => {}
            Some(old) if old == from => ctx.send(ROOT, Message::Done),
            Some(old) => ctx.send(old, Message::Remove),
        }
    }

    /// The node may move to a sibling or to its grandparent, or let its children do so.
    fn reorganize(
        &self,
        ctx: &mut Context<Message>,
        state: &mut State,
        grandparent: Option<NodeId>,
        siblings: BTreeSet<NodeId>,
    ) {
        if self.moves_together() {
            Self::ask_all(ctx, state);
        }
        let targets: Vec<NodeId> = siblings.into_iter().filter(|node| *node != state.me).chain(grandparent).collect();
        let passes = if self.moves_together() { 0 } else { state.children.len() };
        let choice = ctx.choose(1 + (targets.len() + passes) as u32) as usize;
        if choice < targets.len() {
            return self.ask(ctx, state, targets[choice]);
        }
        match choice - targets.len() {
            0 => ctx.send(ROOT, Message::Done),
            child => Self::ask_one(ctx, state, child - 1),
        }
    }

    fn ask_one(ctx: &mut Context<Message>, state: &State, child: usize) {
        let child = *state.children.iter().nth(child).expect("there is such a child");
        ctx.send(child, Self::question(state));
    }

    fn ask_all(ctx: &mut Context<Message>, state: &State) {
        for child in &state.children {
            ctx.send(*child, Self::question(state));
        }
    }

    fn question(state: &State) -> Message {
        let grandparent = state.parent.filter(|parent| *parent != state.me);
        Message::Reorganize { grandparent, siblings: state.children.clone() }
    }
}

guest_sdk::export!(BrokenTree);
