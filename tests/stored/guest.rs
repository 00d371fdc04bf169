//! The protocol of this crate with its durable state in the durable map. A copy of a file in `tests/stored`.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::time::Duration;

use guest_sdk::storage::Table;
use guest_sdk::{
    About, Canonical, Context, Encoding, LocalEvent, LocalEvents, Never, NodeId, NodeState, ParameterError, Parameters,
    Payload, Place, Properties, Protocol, Randomness, Renaming, Request, Response, Role,
};

/// Whether the map also has the state, and the memory nothing.
const IS_WHOLE: bool = WHOLE;

/// Pieces of the durable state, so that a change of it is several writes and removals.
const PIECES: Table<u32, Vec<u8>> = Table::new("pieces");

/// Bytes per piece.
const PIECE: usize = 3;

/// A protocol whose durable state is in the map, without any other change.
pub struct Stored<P>(P);

/// The state of a node, in memory or in the map.
pub enum Held<S> {
    /// In memory.
    Here(S),
    /// In the map.
    There(PhantomData<S>),
}

fn state_table<S: Canonical>() -> Table<(), S> {
    Table::new("state")
}

impl<S: Canonical> Held<S> {
    /// The state. The host undoes what a function that reads leaves in memory.
    fn get(&self) -> &S {
        match self {
            Self::Here(state) => state,
            Self::There(_) => Box::leak(Box::new(state_table().get(&()).expect("`init` has written it"))),
        }
    }

    /// A copy of the state, for a handler: nothing stays in memory behind it.
    fn copy(&self) -> S {
        match self {
            Self::Here(state) => Canonical::duplicate(state),
            Self::There(_) => state_table().get(&()).expect("`init` has written it"),
        }
    }

    fn of<M>(ctx: &mut Context<'_, M>, state: S) -> Self {
        if IS_WHOLE {
            state_table().put(ctx, &(), &state);
            Self::There(PhantomData)
        } else {
            Self::Here(state)
        }
    }
}

impl<S: Canonical + NodeState> NodeState for Held<S> {
    fn identity(&self, encoding: Encoding) -> Vec<u8> {
        match self {
            Self::Here(state) => state.identity(encoding),
            Self::There(_) => Vec::new(),
        }
    }

    fn shown(&self) -> String {
        self.get().shown()
    }
}

impl<P: Protocol> Stored<P> {
    /// Writes the durable state: the pieces that have changed, and no others.
    fn write(&self, ctx: &mut Context<'_, P::Message>, state: &P::State) {
        let Some(durable) = self.0.persist(state) else {
            PIECES.delete_range(ctx, ..);
            return;
        };
        let bytes = durable.to_bytes(P::ENCODING);
        let mut pieces = 0;
        for (number, piece) in (0..).zip(bytes.chunks(PIECE).chain([&[][..]])) {
            if PIECES.get(&number).as_deref() != Some(piece) {
                PIECES.put(ctx, &number, &piece.to_vec());
            }
            pieces = number + 1;
        }
        PIECES.delete_range(ctx, pieces..);
    }

    /// The durable state that the map has.
    fn read() -> Option<P::Durable> {
        PIECES.first()?;
        let bytes: Vec<u8> = PIECES.range(..).flat_map(|(_, piece)| piece).collect();
        Some(P::Durable::from_bytes(&bytes, P::ENCODING).expect("it is what was written"))
    }

    /// Runs a handler, and writes what it has changed.
    fn handled<R>(
        &self,
        ctx: &mut Context<'_, P::Message>,
        held: &mut Held<P::State>,
        run: impl FnOnce(&mut Context<'_, P::Message>, &mut P::State) -> R,
    ) -> R
    where
        P::State: Canonical,
    {
        let mut state = held.copy();
        let result = run(ctx, &mut state);
        self.write(ctx, &state);
        *held = Held::of(ctx, state);
        result
    }
}

impl<P: Protocol> Protocol for Stored<P>
where
    P::State: Canonical + Debug,
{
    const ABOUT: About = P::ABOUT;
    const ENCODING: Encoding = P::ENCODING;
    const RANDOMNESS: Randomness = P::RANDOMNESS;
    type State = Held<P::State>;
    type Message = P::Message;
    type Local = P::Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        P::configure(parameters).map(Self)
    }

    fn init(&self, ctx: &mut Context<Self::Message>, durable: Option<Never>) -> Self::State {
        assert!(durable.is_none(), "`persist` returns nothing");
        let state = self.0.init(ctx, Self::read());
        self.write(ctx, &state);
        Held::of(ctx, state)
    }

    fn handle_message(
        &self,
        ctx: &mut Context<Self::Message>,
        state: &mut Self::State,
        from: NodeId,
        message: Self::Message,
    ) {
        self.handled(ctx, state, |ctx, state| self.0.handle_message(ctx, state, from, message));
    }

    fn local_events(&self, state: &Self::State, events: &mut LocalEvents<Self::Local>) {
        self.0.local_events(state.get(), events);
    }

    fn handle_local(&self, ctx: &mut Context<Self::Message>, state: &mut Self::State, event: Self::Local) {
        self.handled(ctx, state, |ctx, state| self.0.handle_local(ctx, state, event));
    }

    fn duration(&self, place: Place, state: &Self::State, event: &Self::Local) -> Option<RangeInclusive<Duration>> {
        self.0.duration(place, state.get(), event)
    }

    fn request(
        &self,
        place: Place,
        state: &Self::State,
        number: u64,
        request: Request,
    ) -> Result<LocalEvent<Self::Local>, Response> {
        self.0.request(place, state.get(), number, request)
    }

    fn handle_transport_error(&self, ctx: &mut Context<Self::Message>, state: &mut Self::State, peer: NodeId) {
        self.handled(ctx, state, |ctx, state| self.0.handle_transport_error(ctx, state, peer));
    }

    fn takes_quorums(&self) -> bool {
        self.0.takes_quorums()
    }

    fn role(&self, place: Place, state: &Self::State, from: NodeId, message: &Self::Message) -> Role {
        self.0.role(place, state.get(), from, message)
    }

    fn handle_quorum(
        &self,
        ctx: &mut Context<Self::Message>,
        state: &mut Self::State,
        name: &str,
        messages: Vec<(NodeId, Self::Message)>,
    ) -> bool {
        self.handled(ctx, state, |ctx, state| self.0.handle_quorum(ctx, state, name, messages))
    }

    fn neighbours(&self, place: Place, state: &Self::State) -> Option<Vec<NodeId>> {
        self.0.neighbours(place, state.get())
    }

    fn is_done(&self, state: &Self::State) -> bool {
        self.0.is_done(state.get())
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
        claims.of_part(|protocol| &protocol.0, |state| state.get());
    }
}
