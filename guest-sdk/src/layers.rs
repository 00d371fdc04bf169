//! A protocol over a transport: the same handlers on the network of the host, or on packets of another protocol below them.
//!
//! | module | what it holds |
//! |---|---|
//! | `pair` | values of two layers, and their encoding |

mod pair;

use std::collections::VecDeque;

use crate::{
    About, Canonical, Context, LocalEvent, LocalEvents, LocalKind, NodeId, ParameterError, Parameters, Place,
    Properties, Protocol, Renaming, Role,
};

pub use pair::Layers;

/// A protocol that carries the messages `M` of another one above it, in packets of its own. `self` is its configuration.
///
/// [`Protocol`] has the same duties: each method is a function of its arguments and of the answers of [`Context::choose`].
pub trait Transport<M>: Sized + 'static {
    /// The value of the parameter `transport` that selects it; with a hyphen, the prefix of the names of its parameters.
    const NAME: &'static str;

    /// The state of the transport at one node.
    type End: Canonical;

    /// The packets between nodes.
    type Packet: Canonical;

    /// Events of a node without a packet; [`Never`](crate::Never) if there are none.
    type Local: Canonical;

    /// The state that survives a reset; [`Never`](crate::Never) if nothing does.
    type Durable: Canonical;

    /// Reads the configuration, as [`Protocol::configure`] does.
    ///
    /// # Errors
    ///
    /// A value that cannot be used.
    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError>;

    /// The end of a node that starts. `durable` is what [`persist`](Self::persist) returned before a reset.
    fn init(&self, ctx: &mut Context<Self::Packet>, durable: Option<Self::Durable>) -> Self::End;

    /// The content of the disk.
    fn persist(&self, end: &Self::End) -> Option<Self::Durable>;

    /// The number of messages to a node that [`Context::try_send`] would accept now.
    fn room(&self, end: &Self::End, to: NodeId) -> usize;

    /// Takes a message, with or without [`room`](Self::room): only [`Context::try_send`] is refused.
    fn send(
        &self,
        end: &mut Self::End,
        ctx: &mut Context<Self::Packet>,
        upcalls: &mut Vec<Upcall<M>>,
        to: NodeId,
        message: M,
    );

    /// A packet arrived.
    fn receive(
        &self,
        end: &mut Self::End,
        ctx: &mut Context<Self::Packet>,
        upcalls: &mut Vec<Upcall<M>>,
        from: NodeId,
        packet: Self::Packet,
    );

    /// Lists the local events of the transport, as [`Protocol::local_events`] does.
    fn local_events(&self, end: &Self::End, events: &mut LocalEvents<Self::Local>);

    /// One of these events happened.
    fn handle_local(
        &self,
        end: &mut Self::End,
        ctx: &mut Context<Self::Packet>,
        upcalls: &mut Vec<Upcall<M>>,
        event: Self::Local,
    );
}

/// A call from a transport to the protocol above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upcall<M> {
    /// A message arrived: [`Protocol::handle_message`].
    Deliver {
        /// Its sender.
        from: NodeId,
        /// The message.
        message: M,
    },
    /// A connection is broken: [`Protocol::handle_transport_error`].
    Error {
        /// The node at its other end.
        peer: NodeId,
    },
}

/// The protocol `P` on the network of the host, or over the transport `T`, as the parameter `transport` says: `host`, the default, or
/// [`Transport::NAME`].
///
/// ```ignore
/// guest_sdk::export!(guest_sdk::Layered<RandTree, mace_transport::Transport>);
/// ```
///
/// On the network of the host it behaves as `P` does, and reports look the same. Over the transport, the handlers of `P` run within those
/// of the transport: a packet or a local event of the transport leads to upcalls, and messages that `P` sends in these become packets,
/// all in one event. [`Context::try_send`] asks the transport for [room](Transport::room), and errors of connections are upcalls of the
/// transport. The transport itself runs on a network without connections (`--network unordered`): its packets are not refused, and it
/// gets no errors of connections.
///
/// Properties are those of `P`. Two features are missing: quorums, which are refused unless the transport is `host`, and
/// [interchangeable nodes](Protocol::interchangeable): there are none then.
pub struct Layered<P, T> {
    protocol: P,
    transport: Option<T>,
}

/// The state of a node: that of the protocol, and the end of its transport if it has one.
type State<P, T> = Layers<<P as Protocol>::State, <T as Transport<<P as Protocol>::Message>>::End>;
/// A message of the protocol, or a packet of its transport.
type Message<P, T> = Layers<<P as Protocol>::Message, <T as Transport<<P as Protocol>::Message>>::Packet>;
/// A local event of one of them.
type Local<P, T> = Layers<<P as Protocol>::Local, <T as Transport<<P as Protocol>::Message>>::Local>;
/// The durable states of both.
type Durable<P, T> = Layers<<P as Protocol>::Durable, <T as Transport<<P as Protocol>::Message>>::Durable>;

impl<P: Protocol, T: Transport<P::Message>> Layered<P, T> {
    /// Runs a handler of the protocol, and gives its messages to the transport.
    fn above<R>(
        &self,
        ctx: &mut Context<Message<P, T>>,
        end: Option<&mut T::End>,
        upcalls: &mut Vec<Upcall<P::Message>>,
        handler: impl FnOnce(&mut Context<P::Message>) -> R,
    ) -> R {
        let Some((transport, end)) = self.transport.as_ref().zip(end) else {
            let (result, sent) = ctx.layer(handler);
            sent.into_iter().for_each(|(to, message)| ctx.send(to, Layers::above(message)));
            return result;
        };
        let (result, sent) = ctx.layer_over(&|to| transport.room(end, to), handler);
        below::<P, T, _>(ctx, |ctx| {
            sent.into_iter().for_each(|(to, message)| transport.send(end, ctx, upcalls, to, message));
        });
        result
    }

    /// Runs the handlers of upcalls, and of the upcalls that these cause, in order.
    fn deliver(&self, ctx: &mut Context<Message<P, T>>, state: &mut State<P, T>, upcalls: Vec<Upcall<P::Message>>) {
        let mut waiting = VecDeque::from(upcalls);
        while let Some(upcall) = waiting.pop_front() {
            let mut upcalls = Vec::new();
            let (above, end) = state.both();
            self.above(ctx, end, &mut upcalls, |ctx| match upcall {
                Upcall::Deliver { from, message } => self.protocol.handle_message(ctx, above, from, message),
                Upcall::Error { peer } => self.protocol.handle_transport_error(ctx, above, peer),
            });
            waiting.extend(upcalls);
        }
    }

    /// Runs a handler of the transport, then those of its upcalls.
    fn below(
        &self,
        ctx: &mut Context<Message<P, T>>,
        state: &mut State<P, T>,
        handler: impl FnOnce(&T, &mut T::End, &mut Context<T::Packet>, &mut Vec<Upcall<P::Message>>),
    ) {
        let mut upcalls = Vec::new();
        let (transport, end) = self.transport.as_ref().zip(state.both().1).expect("the transport is not the host");
        below::<P, T, _>(ctx, |ctx| handler(transport, end, ctx, &mut upcalls));
        self.deliver(ctx, state, upcalls);
    }
}

/// Runs something as the transport, and sends its packets.
fn below<P: Protocol, T: Transport<P::Message>, R>(
    ctx: &mut Context<Message<P, T>>,
    run: impl FnOnce(&mut Context<T::Packet>) -> R,
) -> R {
    let (result, packets) = ctx.layer(run);
    packets.into_iter().for_each(|(to, packet)| ctx.send(to, Layers::below(packet)));
    result
}

impl<P: Protocol, T: Transport<P::Message>> Protocol for Layered<P, T>
where
    P::State: Canonical,
    P::Message: Canonical,
    P::Durable: Canonical,
{
    const ABOUT: About = P::ABOUT;
    type State = State<P, T>;
    type Message = Message<P, T>;
    type Local = Local<P, T>;
    type Durable = Durable<P, T>;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let protocol = P::configure(parameters)?;
        let is_carried = parameters.choice(
            "transport",
            &[("host", false), (T::NAME, true)],
            "what carries messages: the network of the host, or a protocol over it",
        )?;
        let transport = parameters.part(T::NAME, T::configure)?;
        if is_carried && protocol.takes_quorums() {
            return Err(parameters.reject("transport", "messages that nodes take together are not carried: use host"));
        }
        if !is_carried && let Some(name) = parameters.given_to(T::NAME) {
            return Err(parameters.reject(name, format_args!("it needs transport={}", T::NAME)));
        }
        Ok(Self { protocol, transport: is_carried.then_some(transport) })
    }

    fn init(&self, ctx: &mut Context<Self::Message>, durable: Option<Self::Durable>) -> Self::State {
        let (above, below) = durable.map_or((None, None), Layers::into_parts);
        let mut end = self.transport.as_ref().map(|it| self::below::<P, T, _>(ctx, |ctx| it.init(ctx, below)));
        let mut upcalls = Vec::new();
        let protocol = self.above(ctx, end.as_mut(), &mut upcalls, |ctx| self.protocol.init(ctx, above));
        let mut state = Layers::new(Some(protocol), end);
        self.deliver(ctx, &mut state, upcalls);
        state
    }

    fn handle_message(
        &self,
        ctx: &mut Context<Self::Message>,
        state: &mut Self::State,
        from: NodeId,
        message: Self::Message,
    ) {
        match message.into_parts() {
            (Some(message), _) => self.deliver(ctx, state, vec![Upcall::Deliver { from, message }]),
            (None, packet) => self.below(ctx, state, |transport, end, ctx, upcalls| {
                transport.receive(end, ctx, upcalls, from, packet.expect("a message is of one of the layers"));
            }),
        }
    }

    fn local_events(&self, state: &Self::State, events: &mut LocalEvents<Self::Local>) {
        let (me, nodes) = (events.me(), events.nodes());
        let mut above = LocalEvents::new(me, nodes);
        self.protocol.local_events(state.protocol(), &mut above);
        relist(above, events, Layers::above);
        if let Some((transport, end)) = self.transport.as_ref().zip(state.end()) {
            let mut below = LocalEvents::new(me, nodes);
            transport.local_events(end, &mut below);
            relist(below, events, Layers::below);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Self::Message>, state: &mut Self::State, event: Self::Local) {
        match event.into_parts() {
            (Some(event), _) => {
                let mut upcalls = Vec::new();
                let (above, end) = state.both();
                self.above(ctx, end, &mut upcalls, |ctx| self.protocol.handle_local(ctx, above, event));
                self.deliver(ctx, state, upcalls);
            }
            (None, event) => self.below(ctx, state, |transport, end, ctx, upcalls| {
                transport.handle_local(end, ctx, upcalls, event.expect("a local event is of one of the layers"));
            }),
        }
    }

    fn handle_transport_error(&self, ctx: &mut Context<Self::Message>, state: &mut Self::State, peer: NodeId) {
        if self.transport.is_none() {
            self.deliver(ctx, state, vec![Upcall::Error { peer }]);
        }
    }

    fn takes_quorums(&self) -> bool {
        self.protocol.takes_quorums()
    }

    fn role(&self, place: Place, state: &Self::State, from: NodeId, message: &Self::Message) -> Role {
        match message.parts() {
            (Some(message), _) => self.protocol.role(place, state.protocol(), from, message),
            _ => Role::Alone,
        }
    }

    fn handle_quorum(
        &self,
        ctx: &mut Context<Self::Message>,
        state: &mut Self::State,
        name: &str,
        messages: Vec<(NodeId, Self::Message)>,
    ) -> bool {
        let messages = messages.into_iter().map(|(from, message)| (from, message.into_parts().0));
        let messages = messages.map(|(from, message)| (from, message.expect("the transport is the host"))).collect();
        let (above, end) = state.both();
        self.above(ctx, end, &mut Vec::new(), |ctx| self.protocol.handle_quorum(ctx, above, name, messages))
    }

    fn persist(&self, state: &Self::State) -> Option<Self::Durable> {
        let above = self.protocol.persist(state.protocol());
        let below = self.transport.as_ref().zip(state.end()).and_then(|(transport, end)| transport.persist(end));
        (above.is_some() || below.is_some()).then(|| Layers::new(above, below))
    }

    fn neighbours(&self, place: Place, state: &Self::State) -> Option<Vec<NodeId>> {
        self.protocol.neighbours(place, state.protocol())
    }

    fn is_done(&self, state: &Self::State) -> bool {
        self.protocol.is_done(state.protocol())
    }

    fn node_name(&self, place: Place) -> Option<String> {
        self.protocol.node_name(place)
    }

    fn interchangeable(&self, nodes: u32) -> Vec<Vec<NodeId>> {
        match self.transport {
            None => self.protocol.interchangeable(nodes),
            Some(_) => Vec::new(),
        }
    }

    fn rename_message(message: Self::Message, renaming: &Renaming) -> Self::Message {
        message.map_above(|message| P::rename_message(message, renaming))
    }

    fn rename_local(event: Self::Local, renaming: &Renaming) -> Self::Local {
        event.map_above(|event| P::rename_local(event, renaming))
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.of_part(|layered| &layered.protocol, Layers::protocol);
    }
}

/// Lists the local events of a layer as events of the node.
fn relist<L, N>(of_layer: LocalEvents<L>, events: &mut LocalEvents<N>, wrap: impl Fn(L) -> N) {
    for LocalEvent { name, kind, event } in of_layer.into_listed() {
        match kind {
            LocalKind::Timer => events.timer(name, wrap(event)),
            LocalKind::Application => events.application(name, wrap(event)),
            LocalKind::Internal => events.internal(name, wrap(event)),
        }
    }
}
