//! A client sends a request again until it is answered or time is up; a server performs it once. The smallest example of timers
//! with an order, of a clock, and of choices that are not equally likely.
//!
//! Source: the at-most-once calls of Birrell and Nelson, "Implementing Remote Procedure Calls", TOCS 2(1), 1984.

use guest_sdk::{
    About, Clock, Context, LocalEvents, Never, NodeId, ParameterError, Parameters, Properties, Protocol, TimedTimers,
    Timers,
};
use serde::{Deserialize, Serialize};

/// The configuration of a run.
#[derive(Clone, Copy, Debug)]
pub struct Retransmission {
    requests: u32,
    retries: u32,
    busy: u32,
    gives_up: bool,
    timed: bool,
    bug: Bug,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// The server performs every request that arrives.
    NoMemory,
    /// The server remembers the last request only, and compares new ones with it.
    LastOnly,
    /// The server forgets a performed request after some time.
    Forget,
}

/// The time without an answer after which a request is sent again, in milliseconds.
const RETRY: u32 = 100;
/// The time after which the client gives up, in milliseconds.
const PATIENCE: u32 = 250;
/// The time after which a forgetful server forgets, in milliseconds.
const LIFETIME: u32 = 10_000;

/// The messages between nodes, with the number of the request, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Client to server: perform this.
    Request(u32),
    /// Server to client: it is done.
    Done(u32),
}

/// The timers of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Timer {
    /// Send the request again.
    Retry,
    /// It takes too long.
    GiveUp,
}

/// The local events of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The application has the next request.
    Request,
    /// A timer is due.
    Due(Timer),
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// Node 0.
    Client(Client),
    /// Node 1.
    Server(Server),
}

/// The client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Client {
    /// The number of requests that it has begun.
    pub begun: u32,
    /// The number of times that the last one was sent; 0 if it is over.
    pub sent: u32,
    /// The end of the last one.
    pub end: Option<End>,
    /// The timers that are set while a request waits.
    pub timers: Alarms,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum End {
    /// It was answered.
    Answered,
    /// The client gave up after it was sent this many times.
    GaveUp(u32),
}

/// Timers without and with an order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Alarms {
    /// Due in any order.
    Untimed(Timers<Timer>),
    /// Due in the order of their deadlines.
    Timed(TimedTimers<Timer>),
}

/// The server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Server {
    /// The requests in the order in which they were performed.
    pub performed: Vec<u32>,
    /// The number that it compares requests with.
    pub last: u32,
    /// The time of the last one, for a server that forgets.
    pub clock: Clock<()>,
}

impl Protocol for Retransmission {
    const ABOUT: About = guest_sdk::about!().nodes(2);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let requests = parameters.get("requests", 2, "how many requests the client has, one after the other")?;
        let retries = parameters.get("retries", 2, "how often each is sent again at most")?;
        let busy = parameters.get("busy", 10, "how likely the server drops a request in a random walk, in percent")?;
        let gives_up = [("timer", true), ("never", false)];
        let gives_up = parameters.choice("gives-up", &gives_up, "whether a client gives up when it takes too long")?;
        let timed = parameters.choice(
            "timers",
            &[("timed", true), ("untimed", false)],
            "whether timers fire in the order of their deadlines, or in any",
        )?;
        let bugs =
            [("none", Bug::None), ("no-memory", Bug::NoMemory), ("last-only", Bug::LastOnly), ("forget", Bug::Forget)];
        let bug = parameters.choice("bug", &bugs, "what is wrong on purpose")?;
        if busy > 100 {
            return Err(parameters.reject("busy", "it is a percentage"));
        }
        if parameters.nodes() != 2 {
            return Err(parameters.reject_nodes("there is a client and a server"));
        }
        Ok(Self { requests, retries, busy, gives_up, timed, bug })
    }

    fn init(&self, ctx: &mut Context<Message>, _: Option<Never>) -> State {
        let timers = match self.timed {
            true => Alarms::Timed(TimedTimers::default()),
            false => Alarms::Untimed(Timers::default()),
        };
        match ctx.me() {
            CLIENT => State::Client(Client { begun: 0, sent: 0, end: None, timers }),
            _ => State::Server(Server::default()),
        }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, _from: NodeId, message: Message) {
        match (message, state) {
            (Message::Request(number), State::Server(server)) => {
                if ctx.choose_weighted(&[100 - self.busy, self.busy]) == 0 {
                    self.perform(ctx, server, number);
                    ctx.send(CLIENT, Message::Done(number));
                }
            }
            (Message::Done(number), State::Client(client)) if client.sent > 0 && number == client.begun => {
                client.end(End::Answered);
            }
            (Message::Done(_), State::Client(_)) => {}
            (message, state) => unreachable!("{message:?} is never sent to {state:?}"),
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        let State::Client(client) = state else { return };
        if client.sent == 0 && client.begun < self.requests {
            events.application("request", Local::Request);
        }
        let name = |timer: &Timer| match timer {
            Timer::Retry => "retry",
            Timer::GiveUp => "give-up",
        };
        match &client.timers {
            Alarms::Untimed(timers) => timers.list(events, name, Local::Due),
            Alarms::Timed(timers) => timers.list(events, name, Local::Due),
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        let State::Client(client) = state else { unreachable!("the server has no local events") };
        match event {
            Local::Request => {
                client.begun += 1;
                client.end = None;
                self.send(ctx, client);
                // Last: time can pass between two readings of a clock, and would count against the retry the other way round.
                if self.gives_up {
                    client.timers.set(Timer::GiveUp, PATIENCE);
                }
            }
            Local::Due(Timer::Retry) => {
                client.timers.fired(Timer::Retry);
                self.send(ctx, client);
            }
            Local::Due(Timer::GiveUp) => {
                client.timers.fired(Timer::GiveUp);
                client.end(End::GaveUp(client.sent));
            }
        }
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("at-most-once").node(
            |_, state| match state {
                State::Server(server) => Some(server.performed.clone()),
                State::Client(_) => None,
            },
            |performed| match (0..).zip(performed).find(|(place, request)| performed[..*place].contains(request)) {
                None => Ok(()),
                Some((_, request)) => Err(format!("request {request} was performed again: {performed:?}")),
            },
        );
        claims.always("retry-before-giving-up").node(
            |_, state| gave_up(state),
            |sent| match *sent > 1 {
                true => Ok(()),
                false => Err("the client gave up without trying again".to_owned()),
            },
        );
        claims.sometimes("answered").node(
            |_, state| matches!(state, State::Client(Client { end: Some(End::Answered), .. })).then_some(()),
            |()| Ok(()),
        );
        claims.sometimes("gives-up").node(|_, state| gave_up(state), |_| Ok(()));
        // The server waits for nothing.
        claims.eventually("over").node(
            |_, state| Some(matches!(state, State::Client(Client { sent: 1.., .. }))),
            |waits| match waits {
                false => Ok(()),
                true => Err("the client waits for an answer".to_owned()),
            },
        );
    }
}

const CLIENT: NodeId = 0;
const SERVER: NodeId = 1;

impl Retransmission {
    /// Sends the request, and sets the timer to send it again.
    fn send(&self, ctx: &mut Context<Message>, client: &mut Client) {
        client.sent += 1;
        ctx.send(SERVER, Message::Request(client.begun));
        if client.sent <= self.retries {
            client.timers.set(Timer::Retry, RETRY);
        }
    }

    /// Performs a request unless the server knows that it was performed before.
    fn perform(&self, ctx: &mut Context<Message>, server: &mut Server, number: u32) {
        if self.bug == Bug::Forget && server.last > 0 && server.clock.has_passed(ctx, &(), LIFETIME) {
            server.last = 0;
        }
        let is_new = match self.bug {
            Bug::NoMemory => true,
            Bug::LastOnly => number != server.last,
            // Requests are numbered one after the other, so an old one is late.
            Bug::None | Bug::Forget => number > server.last,
        };
        if is_new {
            server.last = number;
            server.performed.push(number);
            if self.bug == Bug::Forget {
                server.clock.read(());
            }
        }
    }
}

impl Client {
    fn end(&mut self, end: End) {
        self.sent = 0;
        self.end = Some(end);
        self.timers.cancel(Timer::Retry);
        self.timers.cancel(Timer::GiveUp);
    }
}

impl Alarms {
    fn set(&mut self, timer: Timer, duration: u32) {
        match self {
            Self::Untimed(timers) => {
                timers.set(timer);
            }
            Self::Timed(timers) => timers.set(timer, duration),
        }
    }

    fn cancel(&mut self, timer: Timer) {
        match self {
            Self::Untimed(timers) => timers.cancel(&timer),
            Self::Timed(timers) => timers.cancel(&timer),
        };
    }

    fn fired(&mut self, timer: Timer) {
        match self {
            Self::Untimed(timers) => timers.fired(&timer),
            Self::Timed(timers) => timers.fired(&timer),
        }
    }
}

/// The number of times that a request was sent before the client gave up.
fn gave_up(state: &State) -> Option<u32> {
    match state {
        State::Client(Client { end: Some(End::GaveUp(sent)), .. }) => Some(*sent),
        _ => None,
    }
}

guest_sdk::export!(Retransmission);
