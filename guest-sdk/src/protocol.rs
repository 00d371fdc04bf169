//! The trait that an author implements.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::{
    About, Canonical, Context, Encoding, LocalEvent, LocalEvents, NodeId, NodeState, ParameterError, Parameters,
    Payload, Place, Properties, Randomness, Renaming, Request, Response, Role,
};

/// A distributed protocol.
///
/// `self` is the configuration, the same for every node and all the time; all that changes is in [`State`](Self::State).
///
/// # Determinism duty
///
/// What a method does is a function of its arguments and of the answers of [`Context::choose`]. No clock, no
/// randomness, no global variables, no `HashMap` whose order shows in a message or a state.
pub trait Protocol: Sized + 'static {
    /// Name, version, usual number of nodes and network.
    const ABOUT: About;

    /// How states and messages are encoded. JSON where nodes of other languages shall understand them.
    const ENCODING: Encoding = Encoding::Postcard;

    /// What libraries get that ask the system for randomness.
    const RANDOMNESS: Randomness = Randomness::Fresh;

    /// The state of one node. Two nodes in equal states behave alike, up to who they are. [`Opaque`](crate::Opaque) around that of a
    /// library.
    type State: NodeState;

    /// The messages between nodes. [`BySerde`](crate::BySerde), or a type with a [`Payload`] by hand, around those of a library.
    type Message: Payload;

    /// Events of a node without a message; [`Never`](crate::Never) if there are none.
    type Local: Canonical;

    /// The state that survives a reset; [`Never`](crate::Never) if nothing does.
    type Durable: Payload;

    /// Reads the configuration; this is where each parameter is declared.
    ///
    /// Which parameters are asked for must not depend on the values of others, since the list of
    /// parameters for people comes from a call with nothing given.
    ///
    /// # Errors
    ///
    /// A value that cannot be used; the errors of [`Parameters`] fit.
    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError>;

    /// The first state of a node and its first messages. `durable` is what [`persist`](Self::persist) returned before
    /// a reset; none at the first start.
    fn init(&self, ctx: &mut Context<Self::Message>, durable: Option<Self::Durable>) -> Self::State;

    /// A message arrived. It may be old, late, or there for the second time.
    fn handle_message(
        &self,
        ctx: &mut Context<Self::Message>,
        state: &mut Self::State,
        from: NodeId,
        message: Self::Message,
    );

    /// Lists what can happen in this state without a message, in an order that depends on the state alone.
    fn local_events(&self, state: &Self::State, events: &mut LocalEvents<Self::Local>) {
        let _ = (state, events);
    }

    /// One of the events that [`local_events`](Self::local_events) listed in this state happened.
    fn handle_local(&self, ctx: &mut Context<Self::Message>, state: &mut Self::State, event: Self::Local) {
        let _ = (ctx, state);
        panic!("local event {} is listed but not handled", event.debug());
    }

    /// How long it takes from when this event can happen until it does, where the protocol runs; none, the default, is as long as the
    /// host says for its kind, and a call of the application happens only if a client makes it. Asked of events that
    /// [`local_events`](Self::local_events) lists in this state. A search ignores it. An event waits as long as it is listed, unless
    /// [`Context::restart`] names it.
    fn duration(&self, place: Place, state: &Self::State, event: &Self::Local) -> Option<RangeInclusive<Duration>> {
        let _ = (place, state, event);
        None
    }

    /// The nodes whose states matter to what this node does next, such as those that it may soon send to or hear from; none, the default,
    /// for all nodes. The checker of a running or simulated node looks ahead from the states of these alone: further, and past
    /// what takes another node. A property of system scope then has no view of the others. A search ignores it.
    fn neighbours(&self, place: Place, state: &Self::State) -> Option<Vec<NodeId>> {
        let _ = (place, state);
        None
    }

    /// The event that a request of a client becomes, which happens next in this state though
    /// [`local_events`](Self::local_events) need not list it; or an answer at once. By default no request is taken.
    ///
    /// No other request to this node has its number, before or after a reset; [`Context::answer`] answers it, at any time, or never.
    /// A search knows no requests: list there what they become, as calls of the application.
    ///
    /// # Errors
    ///
    /// The answer, if nothing has to happen for it.
    fn request(
        &self,
        place: Place,
        state: &Self::State,
        number: u64,
        request: Request,
    ) -> Result<LocalEvent<Self::Local>, Response> {
        let _ = (place, state, number, request);
        Err(Response::new(501).body("this protocol takes no requests\n"))
    }

    /// The connection to a peer is broken, on a network with connections: what was in flight on it may be lost, and what is
    /// sent from now on goes over a new one. Does nothing by default. A break need not be reported.
    fn handle_transport_error(&self, ctx: &mut Context<Self::Message>, state: &mut Self::State, peer: NodeId) {
        let _ = (ctx, state, peer);
    }

    /// Whether a node ever takes messages together, with this configuration; no by default. If not, the next two methods are
    /// never called.
    fn takes_quorums(&self) -> bool {
        false
    }

    /// How the node at this place takes a message in this state; by itself by default.
    fn role(&self, place: Place, state: &Self::State, from: NodeId, message: &Self::Message) -> Role {
        let _ = (place, state, from, message);
        Role::Alone
    }

    /// Messages arrived together that are members of the quorum of this name in this state, as many as its size, each from
    /// another node, in the order of these. Returns whether the node takes them; if not, nothing has happened, whatever the
    /// method did. By default it takes all of them, [one by one](Self::handle_one_by_one).
    fn handle_quorum(
        &self,
        ctx: &mut Context<Self::Message>,
        state: &mut Self::State,
        name: &str,
        messages: Vec<(NodeId, Self::Message)>,
    ) -> bool {
        let _ = name;
        self.handle_one_by_one(ctx, state, messages)
    }

    /// Takes messages that arrived together as if they had come one after the other: each by
    /// [`handle_message`](Self::handle_message). What [`handle_quorum`](Self::handle_quorum) calls where it does no more than
    /// check whether messages fit each other; always returns true. Not to be overridden.
    fn handle_one_by_one(
        &self,
        ctx: &mut Context<Self::Message>,
        state: &mut Self::State,
        messages: Vec<(NodeId, Self::Message)>,
    ) -> bool {
        messages.into_iter().for_each(|(from, message)| self.handle_message(ctx, state, from, message));
        true
    }

    /// The content of the disk in this state; nothing by default.
    fn persist(&self, state: &Self::State) -> Option<Self::Durable> {
        let _ = state;
        None
    }

    /// Whether a node in this state may stay there for ever: it waits for nothing. Asked where nothing can happen any more, in
    /// a search for deadlocks (`host run --deadlock`); by default a node is never done.
    fn is_done(&self, state: &Self::State) -> bool {
        let _ = state;
        false
    }

    /// What people call the node at this place, by the part that it plays, such as `client 0`; its number alone by default. Reports
    /// and drawings have this name in place of `node 3`: in one line, of at most 40 letters, and with the number behind it where
    /// nodes share it.
    fn node_name(&self, place: Place) -> Option<String> {
        let _ = place;
        None
    }

    /// The groups of nodes distinguished only by their numbers, in a cluster of this size; none by default. A search need not
    /// tell apart states that differ only in which node of a group did what.
    ///
    /// The checker compares every step with those of the renamed nodes, and does without where they differ. What a node
    /// answers to [`Context::choose`] is not renamed.
    fn interchangeable(&self, nodes: u32) -> Vec<Vec<NodeId>> {
        let _ = nodes;
        Vec::new()
    }

    /// A message with each node in it renamed; the message itself by default, for messages that name no nodes.
    /// Sender and destination are none of its business.
    fn rename_message(message: Self::Message, renaming: &Renaming) -> Self::Message {
        let _ = renaming;
        message
    }

    /// A local event with each node in it renamed; the event itself by default.
    fn rename_local(event: Self::Local, renaming: &Renaming) -> Self::Local {
        let _ = renaming;
        event
    }

    /// The place where each property is declared, in the same order every time.
    fn properties(claims: &mut Properties<Self>);
}
