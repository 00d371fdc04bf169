//! The context of a handler: its effects other than the change of its state.

use std::fmt::Display;

use crate::{NodeId, Response};

/// The receiver of `choose`, `can_send`, `log` and the like: the host, or a test.
pub(crate) trait Environment {
    fn choose(&mut self, alternatives: u32) -> u32;
    /// Whether the transport takes the next message to this node, behind `ahead` others of the same handler.
    fn can_send(&mut self, to: NodeId, ahead: usize) -> bool;
    fn choose_weighted(&mut self, weights: &[u32]) -> u32;
    fn log(&mut self, line: &str);
    fn answer(&mut self, request: u64, response: Response);
    fn restart(&mut self, name: &str);
}

/// The environment of a layer over another one, which takes as many messages to each node as there is room for.
struct Over<'e> {
    below: &'e mut dyn Environment,
    room: &'e dyn Fn(NodeId) -> usize,
}

impl Environment for Over<'_> {
    fn choose(&mut self, alternatives: u32) -> u32 {
        self.below.choose(alternatives)
    }

    fn can_send(&mut self, to: NodeId, ahead: usize) -> bool {
        (self.room)(to) > ahead
    }

    fn choose_weighted(&mut self, weights: &[u32]) -> u32 {
        self.below.choose_weighted(weights)
    }

    fn log(&mut self, line: &str) {
        self.below.log(line);
    }

    fn answer(&mut self, request: u64, response: Response) {
        self.below.answer(request, response);
    }

    fn restart(&mut self, name: &str) {
        self.below.restart(name);
    }
}

/// The out-parameter of the handlers: the number of this node, and the effects of the handler.
///
/// Effects are collected in order and take place when the handler returns; one that panics has none.
pub struct Context<'a, M> {
    me: NodeId,
    nodes: u32,
    sent: Vec<(NodeId, M)>,
    environment: &'a mut dyn Environment,
}

impl<'a, M> Context<'a, M> {
    pub(crate) fn new(me: NodeId, nodes: u32, environment: &'a mut dyn Environment) -> Self {
        Self { me, nodes, sent: Vec::new(), environment }
    }

    pub(crate) fn into_sent(self) -> Vec<(NodeId, M)> {
        self.sent
    }

    /// Runs something as another layer of the same node. Its messages are returned, not sent.
    pub(crate) fn layer<N, R>(&mut self, run: impl FnOnce(&mut Context<'_, N>) -> R) -> (R, Vec<(NodeId, N)>) {
        let mut ctx = Context::new(self.me, self.nodes, &mut *self.environment);
        let result = run(&mut ctx);
        (result, ctx.into_sent())
    }

    /// The same for a layer whose messages are accepted as `room` says instead of the host.
    pub(crate) fn layer_over<N, R>(
        &mut self,
        room: &dyn Fn(NodeId) -> usize,
        run: impl FnOnce(&mut Context<'_, N>) -> R,
    ) -> (R, Vec<(NodeId, N)>) {
        let mut environment = Over { below: &mut *self.environment, room };
        Context::<M>::new(self.me, self.nodes, &mut environment).layer(run)
    }

    /// This node.
    pub fn me(&self) -> NodeId {
        self.me
    }

    /// Number of nodes in the cluster, this one included.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// All nodes but this one, in their order. The context stays free, so the loop can send to each of them.
    pub fn others(&self) -> impl Iterator<Item = NodeId> + use<M> {
        (0..self.me).chain(self.me + 1..self.nodes)
    }

    /// The smallest number of nodes that is more than half of them.
    pub fn majority(&self) -> usize {
        self.nodes as usize / 2 + 1
    }

    /// Sends a message, also to this node itself: then it passes the network like any other.
    ///
    /// # Panics
    ///
    /// The cluster has no such node.
    pub fn send(&mut self, to: NodeId, message: M) {
        assert!(to < self.nodes, "sent to node {to} of a cluster of {}", self.nodes);
        self.sent.push((to, message));
    }

    /// Sends a message unless the transport refuses it because its buffers are full; returns whether it is sent. The
    /// checker explores refusals as far as its budget goes (`host run --refusals N`); without one, messages are sent.
    ///
    /// # Panics
    ///
    /// The cluster has no such node.
    #[must_use = "a refused message is not sent, and no other node learns of it"]
    pub fn try_send(&mut self, to: NodeId, message: M) -> bool {
        let ahead = self.sent.iter().filter(|(other, _)| *other == to).count();
        let is_taken = self.environment.can_send(to, ahead);
        if is_taken {
            self.send(to, message);
        }
        is_taken
    }

    /// Sends a message to every node, this one included, in the order of the nodes.
    pub fn broadcast(&mut self, message: M)
    where
        M: Clone,
    {
        self.sent.reserve(self.nodes as usize);
        self.sent.extend((0..self.nodes).map(|to| (to, message.clone())));
    }

    /// Nondeterminism: a number below `alternatives`. The checker explores every answer.
    ///
    /// # Panics
    ///
    /// `alternatives` is 0.
    pub fn choose(&mut self, alternatives: u32) -> u32 {
        assert!(alternatives > 0, "a choice among nothing");
        self.environment.choose(alternatives)
    }

    /// Nondeterminism whose answers are not equally likely in practice: an index into `weights`. The checker explores
    /// every answer; a random walk draws each with a probability in proportion to its weight, and none of weight 0.
    ///
    /// ```
    /// # fn handler(ctx: &mut guest_sdk::Context<'_, ()>) {
    /// // A cache rarely misses, and a walk shall not spend half of its steps on that.
    /// let is_miss = ctx.choose_weighted(&[95, 5]) == 1;
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// There are no weights, or all are 0.
    pub fn choose_weighted(&mut self, weights: &[u32]) -> u32 {
        assert!(weights.iter().any(|weight| *weight > 0), "a choice among nothing that is likely");
        self.environment.choose_weighted(weights)
    }

    /// Logs a line, which a replay of a trace shows; without influence on the execution.
    ///
    /// A search formats the line too, and discards it: pass `format_args!(..)` in place of a `String`, and log
    /// explanations, not everything.
    pub fn log(&mut self, line: impl Display) {
        self.environment.log(&line.to_string());
    }

    /// Answers the client's request with this number, see [`Protocol::request`](crate::Protocol::request); without influence on
    /// the execution, and dropped if no client waits: in a search, or after a reset.
    pub fn answer(&mut self, request: u64, response: Response) {
        self.environment.answer(request, response);
    }

    /// Restarts the waits of local events of this name in a running node: their durations are drawn again in the state that the
    /// handler leads to. Without influence on the execution, and dropped in a search.
    pub fn restart(&mut self, name: &str) {
        self.environment.restart(name);
    }
}

/// The cause of a local event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalKind {
    /// A timer that is due.
    Timer,
    /// A call of the application above the protocol.
    Application,
    /// A step that the protocol takes by itself.
    Internal,
}

/// An event of one node without a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalEvent<L> {
    /// Its name, for people.
    pub name: &'static str,
    /// Its cause.
    pub kind: LocalKind,
    /// The event that [`Protocol::handle_local`](crate::Protocol::handle_local) gets.
    pub event: L,
}

impl<L> LocalEvent<L> {
    /// A call of the application, such as a client's request becomes.
    pub fn application(name: &'static str, event: L) -> Self {
        Self { name, kind: LocalKind::Application, event }
    }
}

/// The out-parameter of [`Protocol::local_events`](crate::Protocol::local_events): the number of this node, and the events that it
/// offers.
pub struct LocalEvents<L> {
    me: NodeId,
    nodes: u32,
    listed: Vec<LocalEvent<L>>,
}

impl<L> LocalEvents<L> {
    pub(crate) fn new(me: NodeId, nodes: u32) -> Self {
        Self { me, nodes, listed: Vec::new() }
    }

    pub(crate) fn into_listed(self) -> Vec<LocalEvent<L>> {
        self.listed
    }

    /// This node.
    pub fn me(&self) -> NodeId {
        self.me
    }

    /// Number of nodes in the cluster, this one included.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// A timer that is set can fire at any moment: there is no time in a model.
    pub fn timer(&mut self, name: &'static str, event: L) {
        self.listed.push(LocalEvent { name, kind: LocalKind::Timer, event });
    }

    /// The application above the protocol can make this call.
    pub fn application(&mut self, name: &'static str, event: L) {
        self.listed.push(LocalEvent { name, kind: LocalKind::Application, event });
    }

    /// The protocol can take this step by itself.
    pub fn internal(&mut self, name: &'static str, event: L) {
        self.listed.push(LocalEvent { name, kind: LocalKind::Internal, event });
    }
}
