//! The crate little_raft: replicas apply the same transitions. Its sources are as they were published, but for the module that starts a
//! thread for each timer, see `library`.

mod wire;

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use guest_sdk::ready_made::{self, Budgets, Spent};
use guest_sdk::{
    About, By, Context, Distinguish, LocalEvents, Never, NodeId, Opaque, ParameterError, Parameters, Properties,
    Protocol,
};
use library::cluster::Cluster;
use library::message::Message;
use library::replica::Replica;
use library::state_machine::{Snapshot, StateMachine, StateMachineTransition, TransitionState};
#[cfg(not(target_family = "wasm"))]
use little_raft as library;
#[cfg(target_family = "wasm")]
use little_raft_without_threads as library;
use serde::{Deserialize, Serialize};

pub use wire::{Entry, Kind, Packet};

/// A transition of the state machine: the node that received it, and its number there. Number 0 does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Hash, Serialize, Deserialize)]
pub struct Command(pub u8, pub u8);

impl StateMachineTransition for Command {
    type TransitionID = Self;

    fn get_id(&self) -> Self {
        *self
    }
}

/// The surroundings that the library asks for: messages, and the leader.
#[derive(Default)]
pub struct Network {
    pub me: usize,
    pub inbox: Vec<Message<Command, ()>>,
    pub outbox: Vec<(usize, Message<Command, ()>)>,
    /// The number of turns left before the replica stops.
    pub turns: Cell<u32>,
    /// The term in which it last asked for votes.
    pub asked: usize,
    /// The term in which it leads, as it reported.
    pub leads: Option<usize>,
}

impl Cluster<Command, ()> for Network {
    fn send_message(&mut self, to: usize, message: Message<Command, ()>) {
        if let Message::VoteRequest { term, .. } = message {
            self.asked = term;
        }
        self.outbox.push((to, message));
    }

    fn receive_messages(&mut self) -> Vec<Message<Command, ()>> {
        std::mem::take(&mut self.inbox)
    }

    fn halt(&self) -> bool {
        self.turns.replace(self.turns.get().saturating_sub(1)) == 0
    }

    fn register_leader(&mut self, leader: Option<usize>) {
        self.leads = (leader == Some(self.me)).then_some(self.asked);
    }
}

/// The state machine: the applied transitions, in order.
#[derive(Default)]
pub struct Applied {
    pub commands: Vec<Command>,
    pub pending: Vec<Command>,
}

impl StateMachine<Command, ()> for Applied {
    fn register_transition_state(&mut self, _: Command, _: TransitionState) {}

    fn apply_transition(&mut self, command: Command) {
        if command.1 > 0 {
            self.commands.push(command);
        }
    }

    fn get_pending_transitions(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.pending)
    }

    fn get_snapshot(&mut self) -> Option<Snapshot<()>> {
        None
    }

    fn create_snapshot(&mut self, _: usize, _: usize) -> Snapshot<()> {
        unreachable!("a delta of 0 makes none")
    }

    fn set_snapshot(&mut self, _: Snapshot<()>) {}
}

/// A replica of the library with its surroundings.
pub struct Node {
    replica: Replica<Network, Applied, Command, ()>,
    network: Arc<Mutex<Network>>,
    applied: Arc<Mutex<Applied>>,
    messages: (Sender<()>, Receiver<()>),
    transitions: (Sender<()>, Receiver<()>),
    spent: Spent,
}

impl Node {
    /// A replica that starts. Its election timeout is always over: the checker decides whether a message arrives before.
    pub fn new(me: usize, nodes: usize) -> Self {
        let network = Arc::new(Mutex::new(Network { me, ..Network::default() }));
        let applied = Arc::new(Mutex::new(Applied::default()));
        let peers = (0..nodes).filter(|node| *node != me).collect();
        // Natively, a heartbeat by the clock would interfere; see `heartbeat`.
        let (heartbeats, elections) = (Duration::from_secs(1 << 20), (Duration::ZERO, Duration::ZERO));
        let replica =
            Replica::new(me, peers, network.clone(), applied.clone(), 0, Command(0, 0), heartbeats, elections);
        Self { replica, network, applied, messages: bounded(1), transitions: bounded(1), spent: Spent::default() }
    }

    pub fn network(&self) -> MutexGuard<'_, Network> {
        self.network.lock().expect("nobody panics")
    }

    pub fn applied(&self) -> MutexGuard<'_, Applied> {
        self.applied.lock().expect("nobody panics")
    }

    /// A message arrives.
    pub fn receive(&mut self, message: Message<Command, ()>) {
        self.network().inbox.push(message);
        self.messages.0.send(()).expect("it is empty");
        self.turn();
    }

    /// The replica has received no message for a while.
    pub fn timeout(&mut self) {
        self.turn();
    }

    /// The replica announces that it leads: its action when its heartbeat timer fires, and at a notice of transitions.
    pub fn heartbeat(&mut self) {
        self.transitions.0.send(()).expect("it is empty");
        self.turn();
    }

    /// A client gives it a command.
    pub fn propose(&mut self, command: Command) {
        self.applied().pending.push(command);
        self.heartbeat();
    }

    /// The replica takes one action: its pending work, or else its timeout.
    fn turn(&mut self) {
        self.network().turns.set(1);
        self.replica.start(self.messages.1.clone(), self.transitions.1.clone());
    }

    fn flush(&mut self, ctx: &mut Context<Packet>) {
        let outbox = std::mem::take(&mut self.network().outbox);
        outbox.into_iter().for_each(|(to, message)| ctx.send(to as NodeId, Packet::new(message)));
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (network, applied) = (self.network(), self.applied());
        let mut node = f.debug_struct("Node");
        node.field("leads", &network.leads).field("asked", &network.asked).field("applied", &applied.commands).finish()
    }
}

impl Distinguish for Node {
    const BY: By = By::History;
}

/// A local event of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    Timeout,
    Heartbeat,
    /// A client asks the leader.
    Propose,
}

/// The checked protocol, with limits on its local events.
pub struct Checked {
    budgets: Budgets<Local>,
    has_late_votes: bool,
}

impl Protocol for Checked {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = Opaque<Node>;
    type Message = Packet;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let timeouts = parameters.get("timeouts", 2, "how often each node hears nothing for a while")?;
        let heartbeats = parameters.get("heartbeats", 2, "how often each node sends heartbeats")?;
        let proposals = parameters.get("proposals", 1, "how many commands each leader takes")?;
        let budgets = Budgets::new().timer("timeout", Local::Timeout, timeouts);
        let budgets = budgets.timer("heartbeat", Local::Heartbeat, heartbeats);
        Ok(Self {
            budgets: budgets.application("propose", Local::Propose, proposals),
            has_late_votes: parameters.get("late-votes", true, "whether votes of a term that is over arrive")?,
        })
    }

    fn init(&self, ctx: &mut Context<Packet>, _: Option<Never>) -> Opaque<Node> {
        Opaque::new(Node::new(ctx.me() as usize, ctx.nodes() as usize))
    }

    fn handle_message(&self, ctx: &mut Context<Packet>, node: &mut Opaque<Node>, from: NodeId, packet: Packet) {
        let is_late = matches!(packet.kind, Kind::Vote { .. }) && packet.term < node.network().asked;
        if self.has_late_votes || !is_late {
            node.receive(packet.into_message(from));
            node.flush(ctx);
        }
    }

    fn local_events(&self, node: &Opaque<Node>, events: &mut LocalEvents<Local>) {
        let leads = node.network().leads.is_some();
        self.budgets.list(&node.spent, events, |event| leads == (*event != Local::Timeout));
    }

    fn handle_local(&self, ctx: &mut Context<Packet>, node: &mut Opaque<Node>, event: Local) {
        let number = self.budgets.spend(&mut node.spent, &event);
        match event {
            Local::Timeout => node.timeout(),
            Local::Heartbeat => node.heartbeat(),
            Local::Propose => node.propose(Command(ctx.me() as u8, number as u8)),
        }
        node.flush(ctx);
    }

    /// The properties of Raft; the library aims to "maintain the consistency of the user-defined StateMachine across the cluster".
    fn properties(claims: &mut Properties<Self>) {
        ready_made::one_leader_per_term(claims.always("election-safety"), |_, node| node.network().leads);
        ready_made::logs_agree(claims.always("state-machine-safety"), |_, node| {
            Some(node.applied().commands.clone()).filter(|commands| !commands.is_empty())
        });
        claims.sometimes("applied").node(|_, node| (!node.applied().commands.is_empty()).then_some(()), |()| Ok(()));
    }
}

guest_sdk::export!(Checked);
