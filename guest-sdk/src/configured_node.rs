//! One place in a cluster: a configured protocol that knows which node it is. The state is kept apart.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::context::{Context, Environment, LocalEvents};
use crate::parameters::Parameters;
use crate::{LocalEvent, NodeId, NodeState, ParameterError, Place, Protocol, Request, Response, Role, format};

/// Messages on their way out of a handler.
pub(crate) type Sent<P> = Vec<(NodeId, <P as Protocol>::Message)>;

/// Runs the handlers of a protocol as one node. Immutable.
#[doc(hidden)]
pub struct ConfiguredNode<P> {
    pub(crate) protocol: P,
    me: NodeId,
    nodes: u32,
}

impl<P: Protocol> ConfiguredNode<P> {
    /// Reads the configuration.
    pub(crate) fn new(me: NodeId, nodes: u32, config: &str) -> Result<Self, ParameterError> {
        let mut parameters = Parameters::parse(config, nodes)?;
        let protocol = P::configure(&mut parameters)?;
        parameters.finish()?;
        Ok(Self { protocol, me, nodes })
    }

    pub(crate) fn init(&self, environment: &mut dyn Environment, durable: Option<P::Durable>) -> (P::State, Sent<P>) {
        let event = Self::event(b'i', || durable.iter().flat_map(|it| format::to_bytes::<P, _>(it)).collect());
        let mut recorder = Recorder::new(environment, event);
        let mut ctx = Context::new(self.me, self.nodes, &mut recorder);
        let mut state = self.protocol.init(&mut ctx, durable);
        let sent = ctx.into_sent();
        recorder.note::<P>(&mut state);
        (state, sent)
    }

    pub(crate) fn handle_message(
        &self,
        environment: &mut dyn Environment,
        state: &mut P::State,
        from: NodeId,
        message: P::Message,
    ) -> Sent<P> {
        let event = Self::event(b'm', || of_message::<P>(from, &message));
        self.recorded(environment, state, event, |ctx, state| self.protocol.handle_message(ctx, state, from, message)).1
    }

    pub(crate) fn handle_transport_error(
        &self,
        environment: &mut dyn Environment,
        state: &mut P::State,
        peer: NodeId,
    ) -> Sent<P> {
        let event = Self::event(b't', || peer.to_le_bytes().to_vec());
        self.recorded(environment, state, event, |ctx, state| self.protocol.handle_transport_error(ctx, state, peer)).1
    }

    /// The role of a message at the node.
    pub(crate) fn role(&self, state: &P::State, from: NodeId, message: &P::Message) -> Role {
        self.protocol.role(Place { me: self.me, nodes: self.nodes }, state, from, message)
    }

    #[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "tests ask the protocol itself"))]
    pub(crate) fn duration(&self, state: &P::State, event: &P::Local) -> Option<RangeInclusive<Duration>> {
        self.protocol.duration(Place { me: self.me, nodes: self.nodes }, state, event)
    }

    pub(crate) fn neighbours(&self, state: &P::State) -> Option<Vec<NodeId>> {
        self.protocol.neighbours(Place { me: self.me, nodes: self.nodes }, state)
    }

    /// The event that a request becomes.
    pub(crate) fn request(
        &self,
        state: &P::State,
        number: u64,
        request: Request,
    ) -> Result<LocalEvent<P::Local>, Response> {
        self.protocol.request(Place { me: self.me, nodes: self.nodes }, state, number, request)
    }

    /// Handles a quorum; `None` if the node declines it.
    pub(crate) fn handle_quorum(
        &self,
        environment: &mut dyn Environment,
        state: &mut P::State,
        name: &str,
        messages: Vec<(NodeId, P::Message)>,
    ) -> Option<Sent<P>> {
        let event = Self::event(b'q', || {
            let one = |(from, message): &(NodeId, P::Message)| of_message::<P>(*from, message);
            [name.as_bytes(), b"\n"].concat().into_iter().chain(messages.iter().flat_map(one)).collect()
        });
        let handler = |ctx: &mut Context<P::Message>, state: &mut P::State| {
            self.protocol.handle_quorum(ctx, state, name, messages)
        };
        let (is_taken, sent) = self.recorded(environment, state, event, handler);
        is_taken.then_some(sent)
    }

    pub(crate) fn local_events(&self, state: &P::State) -> Vec<LocalEvent<P::Local>> {
        let mut events = LocalEvents::new(self.me, self.nodes);
        self.protocol.local_events(state, &mut events);
        events.into_listed()
    }

    #[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "tests ask the protocol itself"))]
    pub(crate) fn name(&self) -> Option<String> {
        self.protocol.node_name(Place { me: self.me, nodes: self.nodes })
    }

    #[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "tests ask the protocol itself"))]
    pub(crate) fn interchangeable(&self) -> Vec<Vec<NodeId>> {
        self.protocol.interchangeable(self.nodes)
    }

    pub(crate) fn handle_local(
        &self,
        environment: &mut dyn Environment,
        state: &mut P::State,
        event: P::Local,
    ) -> Sent<P> {
        let noted = Self::event(b'l', || format::to_bytes::<P, _>(&event));
        self.recorded(environment, state, noted, |ctx, state| self.protocol.handle_local(ctx, state, event)).1
    }

    /// An event for the history, if the state keeps one.
    fn event(kind: u8, content: impl FnOnce() -> Vec<u8>) -> Option<Vec<u8>> {
        if P::State::IS_NOTED { Some([vec![kind], content()].concat()) } else { None }
    }

    /// Runs a handler; a state with a history records the event and the answers to its choices.
    fn recorded<R>(
        &self,
        environment: &mut dyn Environment,
        state: &mut P::State,
        event: Option<Vec<u8>>,
        handler: impl FnOnce(&mut Context<P::Message>, &mut P::State) -> R,
    ) -> (R, Sent<P>) {
        let mut recorder = Recorder::new(environment, event);
        let mut ctx = Context::new(self.me, self.nodes, &mut recorder);
        let result = handler(&mut ctx, state);
        let sent = ctx.into_sent();
        recorder.note::<P>(state);
        (result, sent)
    }
}

/// A message in a history: its length separates it from what follows.
fn of_message<P: Protocol>(from: NodeId, message: &P::Message) -> Vec<u8> {
    let bytes = format::to_bytes::<P, _>(message);
    [&from.to_le_bytes()[..], &(bytes.len() as u32).to_le_bytes(), &bytes].concat()
}

/// Forwards questions, and appends the answers to the event that they belong to.
struct Recorder<'e> {
    environment: &'e mut dyn Environment,
    event: Option<Vec<u8>>,
}

impl<'e> Recorder<'e> {
    fn new(environment: &'e mut dyn Environment, event: Option<Vec<u8>>) -> Self {
        Self { environment, event }
    }

    fn answered(&mut self, answer: u32) -> u32 {
        if let Some(event) = &mut self.event {
            event.extend(answer.to_le_bytes());
        }
        answer
    }

    fn note<P: Protocol>(self, state: &mut P::State) {
        if let Some(event) = self.event {
            state.note(&event);
        }
    }
}

impl Environment for Recorder<'_> {
    fn choose(&mut self, alternatives: u32) -> u32 {
        let answer = self.environment.choose(alternatives);
        self.answered(answer)
    }

    fn can_send(&mut self, to: NodeId, ahead: usize) -> bool {
        let is_taken = self.environment.can_send(to, ahead);
        self.answered(is_taken.into());
        is_taken
    }

    fn choose_weighted(&mut self, weights: &[u32]) -> u32 {
        let answer = self.environment.choose_weighted(weights);
        self.answered(answer)
    }

    fn log(&mut self, line: &str) {
        self.environment.log(line);
    }

    fn answer(&mut self, request: u64, response: Response) {
        self.environment.answer(request, response);
    }

    fn restart(&mut self, name: &str) {
        self.environment.restart(name);
    }
}
