//! The protocol of this crate with its states in an `Opaque`, distinguished in one way. A copy of a file in `tests/identities`.

use std::fmt::{self, Debug};
use std::hash::Hash;
use std::ops::RangeInclusive;
use std::time::Duration;

use guest_sdk::{
    About, By, Context, Digest, Distinguish, Encoding, LocalEvent, LocalEvents, NodeId, Opaque, ParameterError,
    Parameters, Place, Properties, Protocol, Randomness, Renaming, Request, Response, Role,
};

const WAY: By = BY;

/// A protocol whose states are distinguished in this way, without any other change.
pub struct Distinguished<P>(P);

/// The state of a node, used only by its `Debug` text, or by its `Hash` for the identity `By::Digest`.
pub struct Node<S>(S);

impl<S: Debug> Debug for Node<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<S: Debug + Hash + 'static> Distinguish for Node<S> {
    const BY: By = WAY;

    fn digest(&self, digest: &mut Digest) {
        digest.hash(&self.0);
    }
}

impl<P: Protocol> Protocol for Distinguished<P>
where
    P::State: Debug + Hash,
{
    const ABOUT: About = P::ABOUT;
    const ENCODING: Encoding = P::ENCODING;
    const RANDOMNESS: Randomness = P::RANDOMNESS;
    type State = Opaque<Node<P::State>>;
    type Message = P::Message;
    type Local = P::Local;
    type Durable = P::Durable;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        P::configure(parameters).map(Self)
    }

    fn init(&self, ctx: &mut Context<Self::Message>, durable: Option<Self::Durable>) -> Self::State {
        Opaque::new(Node(self.0.init(ctx, durable)))
    }

    fn handle_message(
        &self,
        ctx: &mut Context<Self::Message>,
        state: &mut Self::State,
        from: NodeId,
        message: Self::Message,
    ) {
        self.0.handle_message(ctx, &mut state.0, from, message);
    }

    fn local_events(&self, state: &Self::State, events: &mut LocalEvents<Self::Local>) {
        self.0.local_events(&state.0, events);
    }

    fn handle_local(&self, ctx: &mut Context<Self::Message>, state: &mut Self::State, event: Self::Local) {
        self.0.handle_local(ctx, &mut state.0, event);
    }

    fn duration(&self, place: Place, state: &Self::State, event: &Self::Local) -> Option<RangeInclusive<Duration>> {
        self.0.duration(place, &state.0, event)
    }

    fn request(
        &self,
        place: Place,
        state: &Self::State,
        number: u64,
        request: Request,
    ) -> Result<LocalEvent<Self::Local>, Response> {
        self.0.request(place, &state.0, number, request)
    }

    fn handle_transport_error(&self, ctx: &mut Context<Self::Message>, state: &mut Self::State, peer: NodeId) {
        self.0.handle_transport_error(ctx, &mut state.0, peer);
    }

    fn takes_quorums(&self) -> bool {
        self.0.takes_quorums()
    }

    fn role(&self, place: Place, state: &Self::State, from: NodeId, message: &Self::Message) -> Role {
        self.0.role(place, &state.0, from, message)
    }

    fn handle_quorum(
        &self,
        ctx: &mut Context<Self::Message>,
        state: &mut Self::State,
        name: &str,
        messages: Vec<(NodeId, Self::Message)>,
    ) -> bool {
        self.0.handle_quorum(ctx, &mut state.0, name, messages)
    }

    fn persist(&self, state: &Self::State) -> Option<Self::Durable> {
        self.0.persist(&state.0)
    }

    fn neighbours(&self, place: Place, state: &Self::State) -> Option<Vec<NodeId>> {
        self.0.neighbours(place, &state.0)
    }

    fn is_done(&self, state: &Self::State) -> bool {
        self.0.is_done(&state.0)
    }

    fn node_name(&self, place: Place) -> Option<String> {
        self.0.node_name(place)
    }

    fn interchangeable(&self, nodes: u32) -> Vec<Vec<NodeId>> {
        self.0.interchangeable(nodes)
    }

    fn rename_message(message: Self::Message, renaming: &Renaming) -> Self::Message {
        P::rename_message(message, renaming)
    }

    fn rename_local(event: Self::Local, renaming: &Renaming) -> Self::Local {
        P::rename_local(event, renaming)
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.of_part(|protocol| &protocol.0, |state| &state.0);
    }
}
