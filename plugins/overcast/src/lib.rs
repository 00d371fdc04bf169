//! Overcast: a tree below a given root, whose nodes move below siblings and grandparents, and lock the node that they move to.
//!
//! Sources: Jannotti, Gifford, Johnson, Kaashoek and O'Toole, "Overcast: Reliable Multicasting with an Overlay Network", OSDI 2000;
//! Killian, Anderson, Jhala and Vahdat, "Life, Death, and the Critical Transition: Finding Liveness Bugs in Systems Code", NSDI 2007,
//! and its report on the mistake OV1. Bandwidth is not measured: a node moves or does not.
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
pub struct Overcast {
    bug: Bug,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// OV1: an Unlock that the transport refuses is forgotten, and a lock outlives the connection to its holder.
    LostUnlock,
    /// Nodes lock the new parent, but not the old one.
    OneLock,
    /// Nodes move without locks.
    NoLocks,
}

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Take me as a child.
    Join,
    /// The sender has done so.
    Accepted,
    /// The sender is not in the tree: ask again.
    Later,
    /// Child to its last parent.
    Remove,
    /// The answer.
    Removed,
    /// Child to parent: Lock, and to whom could I move?
    Where,
    /// The answer: a sibling or the grandparent, or the child itself if there is neither. The sender is locked.
    There(NodeId),
    /// I want to move below you: take no child and do not move meanwhile.
    Lock,
    /// The answer.
    Locked,
    /// Another node has locked the sender, or it moves itself.
    Denied,
    /// The move is over.
    Unlock,
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The node asks again whether it may join.
    Retry,
    /// The node looks for another parent.
    Probe,
    /// An Unlock that was refused is sent again.
    Unlock(NodeId),
}

/// The phase of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// It is in no tree; whether it waits for an answer to Join.
    Out {
        /// Whether it waits for an answer.
        is_open: bool,
    },
    /// It is in the tree, and idle.
    In,
    /// It waits for the lock of its parent, and the name of another one.
    Asks,
    /// It waits for the lock of this node.
    Locks(NodeId),
    /// It waits for this node to accept it.
    Moves(NodeId),
    /// It waits for its old parent to forget it.
    Leaves,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// This node.
    pub me: NodeId,
    /// Its parent: the node itself at the root.
    pub parent: Option<NodeId>,
    /// Its children.
    pub children: BTreeSet<NodeId>,
    /// Its phase.
    pub phase: Phase,
    /// The node that has locked it.
    pub locked_by: Option<NodeId>,
    /// The nodes that have asked to join meanwhile.
    pub waiting: BTreeSet<NodeId>,
    /// The nodes that it has locked.
    pub held: BTreeSet<NodeId>,
    /// Those whose Unlock was refused.
    pub unsent: BTreeSet<NodeId>,
}

const ROOT: NodeId = 0;

impl Protocol for Overcast {
    const ABOUT: About = guest_sdk::about!().nodes(3).network(Network::Ordered);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let bugs = [
            ("none", Bug::None),
            ("lost-unlock", Bug::LostUnlock),
            ("one-lock", Bug::OneLock),
            ("no-locks", Bug::NoLocks),
        ];
        let bug = parameters.choice(
            "bug",
            &bugs,
            "what is wrong on purpose: OV1, no lock of the old parent, no locks at all",
        )?;
        Ok(Self { bug })
    }

    fn init(&self, ctx: &mut Context<Message>, _: Option<Never>) -> State {
        let me = ctx.me();
        let is_root = me == ROOT;
        State {
            me,
            parent: is_root.then_some(me),
            children: BTreeSet::new(),
            phase: if is_root { Phase::In } else { Phase::Out { is_open: false } },
            locked_by: None,
            waiting: BTreeSet::new(),
            held: BTreeSet::new(),
            unsent: BTreeSet::new(),
        }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match message {
            Message::Join | Message::Remove | Message::Where | Message::Lock | Message::Unlock => {
                self.serve(ctx, state, from, message);
            }
            Message::Accepted => match (state.phase, state.parent.replace(from)) {
                (Phase::Moves(_), Some(old)) if old != from => {
                    state.phase = Phase::Leaves;
                    ctx.send(old, Message::Remove);
                }
                _ => self.settle(ctx, state),
            },
            Message::Later => match state.phase {
                Phase::Out { .. } => state.phase = Phase::Out { is_open: false },
                Phase::Moves(_) => self.settle(ctx, state),
                _ => {}
            },
            Message::Removed if state.phase == Phase::Leaves => self.settle(ctx, state),
            Message::There(target) if state.phase == Phase::Asks => {
                state.held.insert(from);
                match target == state.me {
                    true => self.settle(ctx, state),
                    false if self.bug == Bug::NoLocks => move_to(ctx, state, target),
                    false => {
                        state.phase = Phase::Locks(target);
                        ctx.send(target, Message::Lock);
                    }
                }
            }
            Message::Locked if state.phase == Phase::Locks(from) => {
                state.held.insert(from);
                move_to(ctx, state, from);
            }
            Message::Denied if matches!(state.phase, Phase::Asks | Phase::Locks(_)) => self.settle(ctx, state),
            Message::Removed | Message::There(_) | Message::Locked | Message::Denied => {}
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        match state.phase {
            Phase::Out { is_open: false } => events.timer("retry", Local::Retry),
            // A locked node does not move, and a node that still holds another node does not lock one more.
            Phase::In if state.me != ROOT && state.locked_by.is_none() && state.unsent.is_empty() => {
                events.application("probe", Local::Probe);
            }
            _ => {}
        }
        for node in &state.unsent {
            events.internal("unlock", Local::Unlock(*node));
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        match event {
            Local::Retry => {
                state.phase = Phase::Out { is_open: true };
                ctx.send(ROOT, Message::Join);
            }
            Local::Probe => {
                if let Some(parent) = state.parent {
                    state.phase = Phase::Asks;
                    ctx.send(parent, Message::Where);
                }
            }
            Local::Unlock(node) => {
                state.unsent.remove(&node);
                self.unlock(ctx, state, node);
            }
        }
    }

    fn handle_transport_error(&self, ctx: &mut Context<Message>, state: &mut State, peer: NodeId) {
        if state.locked_by == Some(peer) && self.bug != Bug::LostUnlock {
            release(ctx, state);
        }
        state.children.remove(&peer);
        state.waiting.remove(&peer);
        state.unsent.remove(&peer);
        state.held.remove(&peer);
        let (is_parent, is_out) = (state.parent == Some(peer), matches!(state.phase, Phase::Out { .. }));
        let is_awaited = matches!(state.phase, Phase::Locks(node) | Phase::Moves(node) if node == peer);
        // While it leaves, its old parent is the only other node that can be concerned.
        if is_awaited || is_parent || state.phase == Phase::Leaves {
            self.settle(ctx, state);
        }
        if is_parent || is_out && peer == ROOT {
            state.parent = None;
            state.phase = Phase::Out { is_open: false };
        }
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

impl Overcast {
    /// A node receives a request.
    fn serve(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        let is_in = state.parent.is_some();
        match message {
            Message::Join => {
                if !is_in {
                    ctx.send(from, Message::Later);
                } else if state.locked_by.is_none_or(|holder| holder == from) {
                    accept(ctx, state, from);
                } else {
                    state.waiting.insert(from);
                }
            }
            Message::Remove => {
                state.children.remove(&from);
                ctx.send(from, Message::Removed);
            }
            Message::Where | Message::Lock => {
                let is_free = is_in && state.phase == Phase::In && state.locked_by.is_none();
                let is_locking = match self.bug {
                    Bug::NoLocks => false,
                    Bug::OneLock => message == Message::Lock,
                    Bug::None | Bug::LostUnlock => true,
                };
                if !is_free && is_locking {
                    return ctx.send(from, Message::Denied);
                }
                if is_locking {
                    state.locked_by = Some(from);
                }
                let answer = if message == Message::Lock { Message::Locked } else { Self::target(ctx, state, from) };
                ctx.send(from, answer);
            }
            Message::Unlock if state.locked_by == Some(from) => release(ctx, state),
            _ => {}
        }
    }

    /// A place for a child to move to: below one of its siblings, or below its grandparent.
    fn target(ctx: &mut Context<Message>, state: &State, child: NodeId) -> Message {
        let siblings = state.children.iter().copied().filter(|node| *node != child);
        let targets: Vec<NodeId> = siblings.chain(state.parent.filter(|parent| *parent != state.me)).collect();
        Message::There(match targets.len() as u32 {
            0 => child,
            alternatives => targets[ctx.choose(alternatives) as usize],
        })
    }

    /// Ends the current phase of the node.
    fn settle(&self, ctx: &mut Context<Message>, state: &mut State) {
        state.phase = Phase::In;
        for node in std::mem::take(&mut state.held) {
            self.unlock(ctx, state, node);
        }
    }

    /// Unlocks a node; later if the transport is full.
    fn unlock(&self, ctx: &mut Context<Message>, state: &mut State, node: NodeId) {
        if self.bug != Bug::NoLocks && !ctx.try_send(node, Message::Unlock) && self.bug != Bug::LostUnlock {
            state.unsent.insert(node);
        }
    }
}

fn accept(ctx: &mut Context<Message>, state: &mut State, child: NodeId) {
    state.children.insert(child);
    ctx.send(child, Message::Accepted);
}

/// The node is not locked any more, and accepts the nodes that wait for that.
fn release(ctx: &mut Context<Message>, state: &mut State) {
    state.locked_by = None;
    for child in std::mem::take(&mut state.waiting) {
        accept(ctx, state, child);
    }
}

fn move_to(ctx: &mut Context<Message>, state: &mut State, target: NodeId) {
    state.phase = Phase::Moves(target);
    ctx.send(target, Message::Join);
}

guest_sdk::export!(Overcast);
