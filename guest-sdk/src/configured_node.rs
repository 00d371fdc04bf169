//! One place in a cluster: a configured protocol that knows which node it is. The state is kept apart.

use crate::context::{Context, Environment, LocalEvents};
use crate::parameters::Parameters;
use crate::{LocalEvent, NodeId, ParameterError, Place, Protocol, Role};

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
        let mut ctx = Context::new(self.me, self.nodes, environment);
        let state = self.protocol.init(&mut ctx, durable);
        (state, ctx.into_sent())
    }

    pub(crate) fn handle_message(
        &self,
        environment: &mut dyn Environment,
        state: &mut P::State,
        from: NodeId,
        message: P::Message,
    ) -> Sent<P> {
        let mut ctx = Context::new(self.me, self.nodes, environment);
        self.protocol.handle_message(&mut ctx, state, from, message);
        ctx.into_sent()
    }

    pub(crate) fn handle_transport_error(
        &self,
        environment: &mut dyn Environment,
        state: &mut P::State,
        peer: NodeId,
    ) -> Sent<P> {
        let mut ctx = Context::new(self.me, self.nodes, environment);
        self.protocol.handle_transport_error(&mut ctx, state, peer);
        ctx.into_sent()
    }

    /// How the node takes a message.
    pub(crate) fn role(&self, state: &P::State, from: NodeId, message: &P::Message) -> Role {
        self.protocol.role(Place { me: self.me, nodes: self.nodes }, state, from, message)
    }

    /// None if the node does not take these messages.
    pub(crate) fn handle_quorum(
        &self,
        environment: &mut dyn Environment,
        state: &mut P::State,
        name: &str,
        messages: Vec<(NodeId, P::Message)>,
    ) -> Option<Sent<P>> {
        let mut ctx = Context::new(self.me, self.nodes, environment);
        let is_taken = self.protocol.handle_quorum(&mut ctx, state, name, messages);
        is_taken.then(|| ctx.into_sent())
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
        let mut ctx = Context::new(self.me, self.nodes, environment);
        self.protocol.handle_local(&mut ctx, state, event);
        ctx.into_sent()
    }
}
