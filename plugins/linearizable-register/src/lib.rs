//! A register that several clients write and read, kept by a majority of servers. Node 0 stands for all clients and keeps the
//! history of their operations; the others are servers.
//!
//! Source: Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 42(1), 1995, with several
//! writers as in Lynch and Shvartsman, "Robust Emulation of Shared Memory Using Dynamic Quorum-Acknowledged Broadcasts", FTCS 1997.

mod spec;

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::linearizability::{ClientId, History, RegisterCall, RegisterReturn};
use guest_sdk::{About, Context, LocalEvents, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

/// The calls of clients, and the values that they returned.
pub type Operations = History<RegisterCall<u32>, RegisterReturn<u32>>;

/// The configuration of a run.
#[derive(Clone, Debug)]
pub struct LinearizableRegister {
    /// The program of each client, one operation after the other.
    programs: Vec<Vec<Kind>>,
    bug: Bug,
}

/// An operation of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// A read returns its value without making sure that a majority has it.
    NoWriteBack,
    /// A write does not ask for the newest tag, but counts the writes of its own client.
    NoQuery,
    /// One answer is enough for everything.
    OneAck,
    /// Servers keep their copy in memory only.
    ForgetCopy,
    /// A server with a newer copy than the one to store does not reply.
    QuietStore,
}

/// The write that a value comes from. Tags are ordered by number, then by client; the smallest is that of the initial value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tag {
    /// One more than the largest number that the writer has found.
    pub number: u32,
    /// The client that wrote it.
    pub client: ClientId,
}

/// A value with its tag, as servers keep it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Copy {
    /// First, since copies are compared by tag: no two writes share one.
    pub tag: Tag,
    /// The written value.
    pub value: u32,
}

/// The name of an operation: the client, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// The client that began it.
    pub client: ClientId,
    /// From 1.
    pub number: u32,
}

/// The messages between clients and servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Client to server: what is your copy?
    Query(Request),
    /// Server to client: this is my copy.
    Reply(Request, Copy),
    /// Client to server: keep this unless yours is newer.
    Store(Request, Copy),
    /// Server to client: I have it, or a newer one.
    Stored(Request),
}

/// The local events of node 0: a client begins its next operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Begin(pub ClientId);

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// Node 0.
    Clients(Clients),
    /// One of the others.
    Server(Copy),
}

/// All clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Clients {
    /// The operations so far.
    pub history: Operations,
    /// The clients that wait for answers.
    pub waiting: BTreeMap<ClientId, Waiting>,
}

/// A client that waits for a majority of answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Waiting {
    /// Whether it waits for copies or for their storage.
    pub phase: Phase,
    /// The servers that have answered in this phase.
    pub acks: BTreeSet<NodeId>,
    /// The newest copy so far; the one to store.
    pub best: Copy,
}

/// The condition that a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// The copies of a majority.
    Query,
    /// A majority that has stored the best copy.
    Store,
}

/// The durable state. Clients continue with operations that they have not begun; they never hear of those that were pending.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Disk {
    /// Of node 0.
    History(Operations),
    /// Of a server.
    Copy(Copy),
}

impl Protocol for LinearizableRegister {
    const ABOUT: About = guest_sdk::about!().nodes(4);
    type State = State;
    type Message = Message;
    type Local = Begin;
    type Durable = Disk;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let meaning =
            "what each client does, one operation after the other: w writes, r reads; a comma between clients";
        let clients = parameters.get("clients", "w,rr".to_owned(), meaning)?;
        let bugs = [
            ("none", Bug::None),
            ("no-write-back", Bug::NoWriteBack),
            ("no-query", Bug::NoQuery),
            ("one-ack", Bug::OneAck),
            ("forget-copy", Bug::ForgetCopy),
            ("quiet-store", Bug::QuietStore),
        ];
        let bug = parameters.choice("bug", &bugs, "what is wrong on purpose")?;
        if parameters.nodes() < 2 {
            return Err(parameters.reject_nodes("node 0 stands for the clients, and there is at least one server"));
        }
        let operation = |letter| match letter {
            'r' => Ok(Kind::Read),
            'w' => Ok(Kind::Write),
            other => Err(parameters.reject("clients", format_args!("{other:?} is neither w nor r"))),
        };
        let programs = clients.split(',').map(|program| program.chars().map(operation).collect());
        Ok(Self { programs: programs.collect::<Result<_, _>>()?, bug })
    }

    fn init(&self, ctx: &mut Context<Message>, durable: Option<Disk>) -> State {
        match (ctx.me(), durable) {
            (CLIENTS, Some(Disk::History(history))) => State::Clients(Clients { history, ..Clients::default() }),
            (CLIENTS, _) => State::Clients(Clients::default()),
            (_, Some(Disk::Copy(copy))) => State::Server(copy),
            (_, _) => State::Server(Copy::default()),
        }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match (message, state) {
            (Message::Query(request), State::Server(copy)) => ctx.send(from, Message::Reply(request, *copy)),
            (Message::Store(request, newer), State::Server(copy)) => {
                if self.bug != Bug::QuietStore || newer >= *copy {
                    ctx.send(from, Message::Stored(request));
                }
                *copy = newer.max(*copy);
            }
            (Message::Reply(request, copy), State::Clients(clients)) => {
                if let Some(waiting) = clients.answered(request, Phase::Query, from) {
                    waiting.best = copy.max(waiting.best);
                    if waiting.acks.len() >= self.quorum(ctx) {
                        self.end_query(ctx, clients, request);
                    }
                }
            }
            (Message::Stored(request), State::Clients(clients)) => {
                if let Some(waiting) = clients.answered(request, Phase::Store, from)
                    && waiting.acks.len() >= self.quorum(ctx)
                {
                    clients.end(request.client);
                }
            }
            (message, state) => unreachable!("{message:?} is never sent to {state:?}"),
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Begin>) {
        let State::Clients(clients) = state else { return };
        for client in 0..self.programs.len() as ClientId {
            match self.next(clients, client) {
                Some(Kind::Read) => events.application("read", Begin(client)),
                Some(Kind::Write) => events.application("write", Begin(client)),
                None => {}
            }
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, Begin(client): Begin) {
        let State::Clients(clients) = state else { unreachable!("servers have no local events") };
        let number = clients.history.operations(client).len() as u32 + 1;
        let request = Request { client, number };
        let is_write = self.next(clients, client) == Some(Kind::Write);
        // Every write has a value of its own, so that the value of a read identifies its write.
        let call = if is_write { RegisterCall::Write(100 * (client + 1) + number) } else { RegisterCall::Read };
        clients.history.call(client, call);
        let waiting = Waiting { phase: Phase::Query, acks: BTreeSet::new(), best: Copy::default() };
        clients.waiting.insert(client, waiting);
        if is_write && self.bug == Bug::NoQuery {
            let written = clients.history.operations(client)[..number as usize - 1].iter();
            let writes = written.filter(|operation| operation.call() != &RegisterCall::Read).count() as u32;
            clients.waiting.entry(client).and_modify(|waiting| waiting.best.tag.number = writes);
            self.end_query(ctx, clients, request);
        } else {
            to_servers(ctx, Message::Query(request));
        }
    }

    fn persist(&self, state: &State) -> Option<Disk> {
        match state {
            State::Clients(clients) => Some(Disk::History(clients.history.clone())),
            State::Server(_) if self.bug == Bug::ForgetCopy => None,
            State::Server(copy) => Some(Disk::Copy(*copy)),
        }
    }

    fn interchangeable(&self, nodes: u32) -> Vec<Vec<NodeId>> {
        vec![(CLIENTS + 1..nodes).collect()]
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

/// The node that stands for all clients.
const CLIENTS: NodeId = 0;

impl LinearizableRegister {
    /// The next operation of a client; none if it waits, or is done.
    fn next(&self, clients: &Clients, client: ClientId) -> Option<Kind> {
        let begun = clients.history.operations(client).len();
        let program = &self.programs[client as usize];
        program.get(begun).copied().filter(|_| !clients.history.is_pending(client))
    }

    /// A majority has answered: a write knows its tag, a read its value.
    fn end_query(&self, ctx: &mut Context<Message>, clients: &mut Clients, request: Request) {
        let client = request.client;
        let call = clients.history.operations(client).last().map(|operation| *operation.call());
        if call == Some(RegisterCall::Read) && self.bug == Bug::NoWriteBack {
            return clients.end(client);
        }
        let Some(waiting) = clients.waiting.get_mut(&client) else { unreachable!("client {client} waits") };
        if let Some(RegisterCall::Write(value)) = call {
            waiting.best = Copy { tag: Tag { number: waiting.best.tag.number + 1, client }, value };
        }
        waiting.phase = Phase::Store;
        waiting.acks.clear();
        to_servers(ctx, Message::Store(request, waiting.best));
    }

    /// The number of answers that a phase waits for: more than half of the servers.
    fn quorum(&self, ctx: &Context<'_, Message>) -> usize {
        if self.bug == Bug::OneAck { 1 } else { (ctx.nodes() - 1) as usize / 2 + 1 }
    }
}

impl Clients {
    /// Notes an answer; none if no operation waits for it any more.
    fn answered(&mut self, request: Request, phase: Phase, from: NodeId) -> Option<&mut Waiting> {
        if self.history.operations(request.client).len() as u32 != request.number {
            return None;
        }
        let waiting = self.waiting.get_mut(&request.client).filter(|waiting| waiting.phase == phase)?;
        waiting.acks.insert(from);
        Some(waiting)
    }

    /// The operation of a client returns.
    fn end(&mut self, client: ClientId) {
        let Some(Waiting { best, .. }) = self.waiting.remove(&client) else { unreachable!("client {client} waits") };
        let is_read = self.history.operations(client).last().is_some_and(|last| last.call() == &RegisterCall::Read);
        let value = if is_read { RegisterReturn::Value(best.value) } else { RegisterReturn::Written };
        self.history.returned(client, value);
    }
}

fn to_servers(ctx: &mut Context<Message>, message: Message) {
    (CLIENTS + 1..ctx.nodes()).for_each(|server| ctx.send(server, message));
}

guest_sdk::export!(LinearizableRegister);
