//! The trait that a protocol implements.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::{
    About, Canonical, Context, Encoding, LocalEvent, LocalEvents, NodeId, NodeState, ParameterError, Parameters,
    Payload, Place, Properties, Randomness, Renaming, Request, Response, Role,
};

/// A distributed protocol.
///
/// `self` is the configuration, the same for every node and constant; all that changes is in [`State`](Self::State).
///
/// # Determinism duty
///
/// Each method is a function of its arguments and of the answers of [`Context::choose`]. No clock, no randomness, no
/// global variables, no `HashMap` whose order shows in a message or a state.
pub trait Protocol: Sized + 'static {
    /// Name, version, usual number of nodes and network.
    const ABOUT: About;

    /// The encoding of states and messages. JSON for clusters with nodes in other languages.
    const ENCODING: Encoding = Encoding::Postcard;

    /// The source of random bytes for libraries that ask the system for randomness.
    const RANDOMNESS: Randomness = Randomness::Fresh;

    /// The state of one node. Two nodes in equal states behave alike, up to their numbers. [`Opaque`](crate::Opaque) wraps the
    /// state of a library.
    type State: NodeState;

    /// The messages between nodes. [`BySerde`](crate::BySerde), or a type with a hand-written [`Payload`], wraps those of a library.
    type Message: Payload;

    /// Events of a node without a message; [`Never`](crate::Never) if there are none.
    type Local: Canonical;

    /// The state that survives a reset; [`Never`](crate::Never) if nothing does.
    type Durable: Payload;

    /// Reads the configuration and declares each parameter.
    ///
    /// The set of parameters must not depend on their values, since a call with an empty configuration lists them for
    /// people.
    ///
    /// # Errors
    ///
    /// A value that cannot be used; the errors of [`Parameters`] fit.
    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError>;

    /// The first state of a node and its first messages. `durable` is the result of [`persist`](Self::persist) before a
    /// reset; none at the first start.
    fn init(&self, ctx: &mut Context<Self::Message>, durable: Option<Self::Durable>) -> Self::State;

    /// Handles a message. It may be old, late, or a duplicate.
    fn handle_message(
        &self,
        ctx: &mut Context<Self::Message>,
        state: &mut Self::State,
        from: NodeId,
        message: Self::Message,
    );

    /// Lists the local events in this state, in an order that depends on the state alone.
    fn local_events(&self, state: &Self::State, events: &mut LocalEvents<Self::Local>) {
        let _ = (state, events);
    }

    /// Handles one of the events that [`local_events`](Self::local_events) listed in this state.
    fn handle_local(&self, ctx: &mut Context<Self::Message>, state: &mut Self::State, event: Self::Local) {
        let _ = (ctx, state);
        panic!("local event {} is listed but not handled", event.debug());
    }

    /// The time from when this event becomes possible until it happens, in a running node; none, the default, for the host's duration
    /// of its kind. A call of the application happens only if a client makes it. Called for events that
    /// [`local_events`](Self::local_events) lists in this state. A search ignores it. An event waits while it is listed, unless
    /// [`Context::restart`] names it.
    fn duration(&self, place: Place, state: &Self::State, event: &Self::Local) -> Option<RangeInclusive<Duration>> {
        let _ = (place, state, event);
        None
    }

    /// The nodes whose states matter to what this node does next, such as those that it may soon send to or hear from; none, the default,
    /// for all nodes. The checker of a running or simulated node looks ahead from these states alone, which reaches further, but misses
    /// violations that need another node. A property of system scope then has no view of the others. A search ignores it.
    fn neighbours(&self, place: Place, state: &Self::State) -> Option<Vec<NodeId>> {
        let _ = (place, state);
        None
    }

    /// The event that a client's request becomes, which happens next in this state even if
    /// [`local_events`](Self::local_events) does not list it; or an immediate answer. By default a node rejects requests.
    ///
    /// No other request to this node has its number, before or after a reset; [`Context::answer`] answers it, at any time, or never.
    /// A search has no requests: list the resulting events there as calls of the application.
    ///
    /// # Errors
    ///
    /// The immediate answer, if no event is needed for it.
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

    /// The connection to a peer is broken, on a network with connections: messages in flight on it may be lost, and later
    /// messages use a new one. Does nothing by default. A break need not be reported.
    fn handle_transport_error(&self, ctx: &mut Context<Self::Message>, state: &mut Self::State, peer: NodeId) {
        let _ = (ctx, state, peer);
    }

    /// Whether a node ever takes messages together, with this configuration; false by default. Then the next two methods are
    /// never called.
    fn takes_quorums(&self) -> bool {
        false
    }

    /// The role of a message at this node in this state; alone by default.
    fn role(&self, place: Place, state: &Self::State, from: NodeId, message: &Self::Message) -> Role {
        let _ = (place, state, from, message);
        Role::Alone
    }

    /// Handles messages that arrived together: members of the quorum of this name in this state, as many as its size, each
    /// from another node, in the order of the nodes. Returns whether the node takes them; if not, its changes are
    /// discarded. By default the node takes all of them, [one by one](Self::handle_one_by_one).
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

    /// Handles messages that arrived together as if they had arrived one after the other: each by
    /// [`handle_message`](Self::handle_message). A [`handle_quorum`](Self::handle_quorum) that only checks whether the
    /// messages fit each other calls it; always returns true. Do not override it.
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

    /// Whether a node in this state may stay there for ever: it waits for nothing. Called in terminal states, in a search for
    /// deadlocks (`host run --deadlock`); by default a node is never done.
    fn is_done(&self, state: &Self::State) -> bool {
        let _ = state;
        false
    }

    /// The node's name in reports, by its role, such as `client 0`; its number alone by default. Reports and drawings
    /// have this name in place of `node 3`: one line, at most 40 letters, and followed by the number where nodes share
    /// it.
    fn node_name(&self, place: Place) -> Option<String> {
        let _ = place;
        None
    }

    /// The groups of nodes distinguished only by their numbers, in a cluster of this size; none by default. A search may
    /// merge states that differ only in which node of a group did what.
    ///
    /// The checker compares every step with those of the renamed nodes, and drops the reduction where they differ. The
    /// answers of a node to [`Context::choose`] are not renamed.
    fn interchangeable(&self, nodes: u32) -> Vec<Vec<NodeId>> {
        let _ = nodes;
        Vec::new()
    }

    /// The host renames sender and
    /// destination.
    fn rename_message(message: Self::Message, renaming: &Renaming) -> Self::Message {
        let _ = renaming;
        message
    }

    /// A local event with each node in it renamed; the event itself by default.
    fn rename_local(event: Self::Local, renaming: &Renaming) -> Self::Local {
        let _ = renaming;
        event
    }

    /// Declares the properties, in the same order every time.
    fn properties(claims: &mut Properties<Self>);
}
