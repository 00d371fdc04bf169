//! The simulated TCP of MaceMC as a protocol: sockets, errors to both ends, bounded queues, and resets; and the same application over
//! the connections of the host, so that the two can be compared.
//!
//! Source: Killian, Anderson, Jhala and Vahdat, "Life, Death, and the Critical Transition: Finding Liveness Bugs in Systems Code", NSDI
//! 2007, with its report on the mistakes SIMTCP1 to SIMTCP3, and the public source of Mace for the behaviour of the simulator.
//!
//! | module | what it holds |
//! |---|---|
//! | `bugs` | deliberate mistakes |
//! | `world` | the simulator |
//! | `spec` | the properties |

mod bugs;
mod spec;
mod world;

use guest_sdk::{About, Context, LocalEvents, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

pub use bugs::{Bug, Bugs};
pub use world::{End, Item, World};

/// The configuration of a run.
#[derive(Clone, Copy, Debug)]
pub struct TcpSimulator {
    is_simulated: bool,
    messages: u8,
    queue: usize,
    breaks: u8,
    resets: u8,
    bugs: Bugs,
}

/// A message of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Note {
    /// The number of earlier resets of its sender.
    pub life: u8,
    /// Its number since then, from 1.
    pub number: u8,
}

/// An upcall of the transport to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Upcall {
    /// A message of the other end.
    Received(Note),
    /// The connection is broken.
    Error,
}

/// The application of one end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct App {
    /// The number of its resets.
    pub life: u8,
    /// The number of messages sent since.
    pub sent: u8,
    /// The notifications since.
    pub log: Vec<Upcall>,
    /// Whether a message was refused since.
    pub was_refused: bool,
}

impl App {
    /// The next message, which counts as sent.
    fn next(&mut self) -> Note {
        self.sent += 1;
        Note { life: self.life, number: self.sent }
    }
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The application of this end sends its next message.
    Send(u8),
    /// The simulator delivers the first item in the queue of this end.
    Deliver(u8),
    /// This end is started again.
    Reset(u8),
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// The only node: the simulator with both ends.
    World(World),
    /// One of two nodes, over a connection of the host.
    Node(App),
}

impl Protocol for TcpSimulator {
    const ABOUT: About = guest_sdk::about!().nodes(1).network(guest_sdk::Network::Ordered);
    type State = State;
    type Message = Note;
    type Local = Local;
    type Durable = u8;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let networks = [("simulated", true), ("host", false)];
        let what = "whether the connection is simulated, in one node, or that between two nodes of the host";
        let is_simulated = parameters.choice("network", &networks, what)?;
        let messages = parameters.get("messages", 2, "how many messages each end sends to the other one")?;
        let queue = parameters.get("queue", 2, "how many messages of an end the simulator takes before they arrive")?;
        let breaks = parameters.get("breaks", 0, "how many socket errors the simulator has")?;
        let resets = parameters.get("resets", 0, "how often the simulator starts each end again")?;
        let bugs = Bugs::configure(parameters)?;
        if queue == 0 {
            return Err(parameters.reject("queue", "there is room for at least one"));
        }
        match (is_simulated, parameters.nodes()) {
            (true, 1) | (false, 2) => Ok(Self { is_simulated, messages, queue, breaks, resets, bugs }),
            (true, _) => Err(parameters.reject_nodes("the simulator is one node")),
            (false, _) => Err(parameters.reject_nodes("a connection of the host has two ends")),
        }
    }

    fn init(&self, _: &mut Context<Note>, durable: Option<u8>) -> State {
        match self.is_simulated {
            true => State::World(World::new(self.breaks, self.resets)),
            false => State::Node(App { life: durable.map_or(0, |life| life + 1), ..App::default() }),
        }
    }

    fn handle_message(&self, _: &mut Context<Note>, state: &mut State, _: NodeId, note: Note) {
        if let State::Node(app) = state {
            app.log.push(Upcall::Received(note));
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        match state {
            State::Node(app) if app.sent < self.messages => events.internal("send", Local::Send(events.me() as u8)),
            State::Node(_) => {}
            State::World(world) => {
                let names = [("send-0", "deliver-0", "reset-0"), ("send-1", "deliver-1", "reset-1")];
                for ((node, end), (send, deliver, reset)) in (0..).zip(&world.ends).zip(names) {
                    if end.app.sent < self.messages && (end.queue.len() < self.queue || !end.app.was_refused) {
                        events.internal(send, Local::Send(node));
                    }
                    if world.is_available(usize::from(node)) {
                        events.internal(deliver, Local::Deliver(node));
                    }
                    if end.resets > 0 {
                        events.application(reset, Local::Reset(node));
                    }
                }
            }
        }
    }

    fn handle_local(&self, ctx: &mut Context<Note>, state: &mut State, event: Local) {
        match (state, event) {
            (State::Node(app), _) => {
                let note = Note { life: app.life, number: app.sent + 1 };
                match ctx.try_send(1 - ctx.me(), note) {
                    true => app.sent += 1,
                    false => app.was_refused = true,
                }
            }
            (State::World(world), Local::Send(node)) => self.route(world, usize::from(node)),
            (State::World(world), Local::Deliver(node)) => self.deliver(ctx, world, usize::from(node)),
            (State::World(world), Local::Reset(node)) => self.reset(world, usize::from(node)),
        }
    }

    fn handle_transport_error(&self, _: &mut Context<Note>, state: &mut State, _: NodeId) {
        if let State::Node(app) = state {
            app.log.push(Upcall::Error);
        }
    }

    /// The number of resets of the node, which distinguishes its messages.
    fn persist(&self, state: &State) -> Option<u8> {
        match state {
            State::Node(app) => Some(app.life),
            State::World(_) => None,
        }
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

guest_sdk::export!(TcpSimulator);
