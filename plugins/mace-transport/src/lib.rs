//! MaceTransport: reliable and ordered messages over a network that loses, duplicates and reorders, with connections that a first
//! segment opens, without a handshake; and an application above it that checks order, starts and delivery.
//!
//! Source: Killian, Anderson, Jhala and Vahdat, "Life, Death, and the Critical Transition: Finding Liveness Bugs in Systems Code", NSDI
//! 2007, section 4.3 and the report on the mistakes MT1 to MT10. The README says where this transport differs.
//!
//! [`Transport`] and [`Endpoint`] are a library: a protocol keeps an end in its state, hands packets and timers to it, and gets upcalls.
//! [`guest_sdk::Layered`] does that for any protocol.
//!
//! | module | what it holds |
//! |---|---|
//! | `bugs` | deliberate mistakes |
//! | `carrier` | the transport below another protocol |
//! | `wire` | packets and upcalls |
//! | `endpoint` | the state of one end, and the settings |
//! | `outgoing` | the sender's end of connections |
//! | `incoming` | the receiver's end of connections |
//! | `spec` | the properties |

mod bugs;
mod carrier;
mod endpoint;
mod incoming;
mod outgoing;
mod spec;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::{About, Context, LocalEvents, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

pub use bugs::{Bug, Bugs};
pub use endpoint::{Buffered, Endpoint, Heard, Incoming, Outgoing, Place, Segment, Timer, Transport};
pub use wire::{Data, Effects, Seq, Syn, Upcall, Wire};

/// The configuration of a run: an application over the transport.
#[derive(Clone, Copy, Debug)]
pub struct Application {
    messages: u8,
    senders: NodeId,
    transport: Transport,
}

/// A message of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Note {
    /// The number of starts of its sender before it was sent.
    pub start: u8,
    /// Its number since then, from 1.
    pub number: u8,
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The application has the next message.
    Send,
    /// A timer of the transport fires.
    Timer(Timer),
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// Its end of the transport.
    pub end: Endpoint<Note>,
    /// The node that it sends to.
    pub to: NodeId,
    /// The number of messages sent since its start.
    pub sent: u8,
    /// Whether it waits until it may send.
    pub is_waiting: bool,
    /// Whether it was notified that it may send without having asked.
    pub is_surprised: bool,
    /// Messages that may not have arrived, by its notifications.
    pub failed: BTreeSet<u8>,
    /// The notes received from each node, in order.
    pub received: BTreeMap<NodeId, Vec<Note>>,
}

impl Protocol for Application {
    const ABOUT: About = guest_sdk::about!().nodes(2);
    type State = State;
    type Message = Wire<Note>;
    type Local = Local;
    type Durable = u8;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let messages = parameters.get("messages", 2, "how many messages a node sends to the next one")?;
        let senders = parameters.get("senders", 1, "how many nodes send, from the first one on")?;
        let transport = Transport::configure(parameters)?;
        if parameters.nodes() < 2 {
            return Err(parameters.reject_nodes("a node sends to another one"));
        }
        Ok(Self { messages, senders, transport })
    }

    fn init(&self, ctx: &mut Context<Wire<Note>>, durable: Option<u8>) -> State {
        let (me, starts) = (ctx.me(), durable.map_or(0, |starts| starts + 1));
        State {
            end: self.transport.endpoint(me, starts),
            to: (me + 1) % ctx.nodes(),
            sent: 0,
            is_waiting: false,
            is_surprised: false,
            failed: BTreeSet::new(),
            received: BTreeMap::new(),
        }
    }

    fn handle_message(&self, ctx: &mut Context<Wire<Note>>, state: &mut State, from: NodeId, wire: Wire<Note>) {
        let mut effects = Effects::new(ctx);
        self.transport.receive(&mut state.end, &mut effects, from, wire);
        upcalls(state, effects.take_upcalls());
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        if events.me() < self.senders && state.sent < self.messages && !state.is_waiting {
            events.application("send", Local::Send);
        }
        state.end.local_events(events, Local::Timer);
    }

    fn handle_local(&self, ctx: &mut Context<Wire<Note>>, state: &mut State, event: Local) {
        let mut effects = Effects::new(ctx);
        match event {
            Local::Send => {
                let note = Note { start: state.end.starts, number: state.sent + 1 };
                if self.transport.send(&mut state.end, &mut effects, state.to, note) {
                    state.sent += 1;
                } else {
                    state.is_waiting = true;
                    self.transport.request_to_send(&mut state.end, state.to);
                }
            }
            Local::Timer(timer) => self.transport.fire(&mut state.end, &mut effects, timer),
        }
        upcalls(state, effects.take_upcalls());
    }

    /// The number of starts of the node, which makes the numbers of its new connections larger than those before.
    fn persist(&self, state: &State) -> Option<u8> {
        Some(state.end.starts)
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

/// The application handles the upcalls of the transport.
fn upcalls(state: &mut State, upcalls: Vec<Upcall<Note>>) {
    for upcall in upcalls {
        match upcall {
            Upcall::Deliver { from, payload } => state.received.entry(from).or_default().push(payload),
            Upcall::Error { peer, unsent } if peer == state.to => {
                state.is_waiting = false;
                state.failed.extend(unsent.iter().map(|note| note.number));
            }
            Upcall::Error { .. } => {}
            Upcall::ClearToSend { .. } => {
                state.is_surprised |= !state.is_waiting;
                state.is_waiting = false;
            }
        }
    }
}

#[cfg(feature = "plugin")]
guest_sdk::export!(Application);
