//! A node as a program of tasks, and the protocol that it is.

use std::fmt::{self, Debug};
use std::hash::Hash;
use std::ops::{Deref, RangeInclusive};
use std::rc::Rc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::executor::Executor;
use super::net::streams::{Choose, Leaving, Streams};
use super::net::{Carrier, Key};
use super::network::Network;
use super::timers::{Order, Timers};
use crate::{
    About, By, Context, Distinguish, Encoding, LocalEvent, LocalEvents, LocalKind, NodeId, Opaque, ParameterError,
    Parameters, Payload, Place, Properties, Protocol, Randomness,
};

/// A node that is a program of tasks. [`Tasks`] makes a [`Protocol`] of it, for [`export!`](crate::export).
///
/// # Determinism duty
///
/// As that of [`Protocol`]. Tasks, timers, messages and choices of [`tasks`](crate::tasks) are deterministic; channels and locks that need no
/// runtime are as well.
pub trait Program: Sized + 'static {
    /// Name, version, usual number of nodes and network.
    const ABOUT: About;

    /// As [`Protocol::ENCODING`].
    const ENCODING: Encoding = Encoding::Postcard;

    /// As [`Protocol::RANDOMNESS`].
    const RANDOMNESS: Randomness = Randomness::Fresh;

    /// The way to distinguish states. Only [`By::Memory`] and [`By::History`] see the variables of a waiting task.
    const IDENTITY: By = By::Memory;

    /// The way in which messages carry the byte streams of [`net`](super::net); none, the default, for a program without them.
    const STREAMS: Option<Carrier<Self::Message>> = None;

    /// The messages between nodes.
    type Message: Payload;

    /// The calls of the application; [`Never`](crate::Never) for nothing.
    type Call: Clone + Debug + Eq + Hash + Serialize + DeserializeOwned + 'static;

    /// The state that survives a reset; [`Never`](crate::Never) if nothing does.
    type Durable: Payload;

    /// The part of a node that its tasks share with its properties, mostly behind an [`Rc`]. `Debug` is the text for people.
    type Shared: Debug + 'static;

    /// Reads the configuration and declares each parameter, as [`Protocol::configure`]. [`Tasks`] adds `timer-order` and `delays`,
    /// and with [`STREAMS`](Self::STREAMS) `splits`.
    ///
    /// # Errors
    ///
    /// A value that cannot be used.
    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError>;

    /// Starts a node: spawns its first tasks, which run when this returns. `durable` is the result of [`persist`](Self::persist) before a reset.
    fn start(&self, network: Network<Self::Message>, durable: Option<Self::Durable>) -> Self::Shared;

    /// Lists the calls of the application that are possible now, in an order that depends on the state alone. Only reads.
    fn calls(&self, shared: &Self::Shared, calls: &mut LocalEvents<Self::Call>) {
        let _ = (shared, calls);
    }

    /// The application makes a call that [`calls`](Self::calls) listed: it spawns a task, or wakes one.
    fn call(&self, shared: &Self::Shared, call: Self::Call) {
        let _ = shared;
        panic!("call {call:?} is listed but not handled");
    }

    /// The connection to a peer is broken, see [`Protocol::handle_transport_error`].
    fn transport_error(&self, shared: &Self::Shared, peer: NodeId) {
        let _ = (shared, peer);
    }

    /// The content of the disk in this state; nothing by default.
    fn persist(&self, shared: &Self::Shared) -> Option<Self::Durable> {
        let _ = shared;
        None
    }

    /// Whether a node in this state may stay there for ever, as [`Protocol::is_done`].
    fn is_done(&self, shared: &Self::Shared) -> bool {
        let _ = shared;
        false
    }

    /// Declares the properties, in the same order every time. The state of a view derefs to [`Shared`](Self::Shared).
    fn properties(claims: &mut Properties<Tasks<Self>>);
}

/// The protocol of a program: each handler puts its input in, and runs the tasks of the node until none is ready.
#[derive(Clone, Debug)]
pub struct Tasks<P> {
    program: P,
    order: Order,
    delays: u32,
    splits: u32,
}

impl<P> Deref for Tasks<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.program
    }
}

/// A node after its start. Derefs to the part that its tasks share.
pub struct Running<P: Program> {
    network: Network<P::Message>,
    shared: P::Shared,
    executor: Rc<Executor>,
}

impl<P: Program> Deref for Running<P> {
    type Target = P::Shared;

    fn deref(&self) -> &P::Shared {
        &self.shared
    }
}

impl<P: Program> Debug for Running<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Running");
        shown
            .field("shared", &self.shared)
            .field("tasks", &self.executor.spawned())
            .field("timers", &self.executor.timers().borrow().names())
            .field("unread", &self.network.unread());
        if P::STREAMS.is_some() {
            shown.field("connections", self.executor.streams());
        }
        shown.finish()
    }
}

impl<P: Program> Distinguish for Running<P> {
    const BY: By = P::IDENTITY;
}

/// A local event of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event<C> {
    /// The timer of this number fires.
    Timer(u32),
    /// The application makes a call.
    Call(C),
    /// The second part of a segment arrives.
    Rest(Key),
}

impl<P: Program> Tasks<P> {
    /// Runs the tasks that became ready, and sends their messages.
    fn settle(&self, ctx: &mut Context<P::Message>, network: &Network<P::Message>, executor: &Rc<Executor>) {
        executor.run(ctx, self.delays);
        for (to, message) in network.take_sent() {
            ctx.send(to, message);
        }
        for Leaving { to, segment } in executor.streams().take_leaving() {
            let carrier = P::STREAMS.expect("a program without streams opens none");
            ctx.send(to, (carrier.wrap)(segment));
        }
    }

    /// An event that is no timer.
    fn happen(&self, ctx: &mut Context<P::Message>, node: &Running<P>, put: impl FnOnce(Choose<'_>)) {
        node.executor.timers().borrow_mut().pass();
        node.executor.enter(|| put(&mut |alternatives| ctx.choose(alternatives)));
        self.settle(ctx, &node.network, &node.executor);
    }
}

impl<P: Program> Protocol for Tasks<P> {
    const ABOUT: About = P::ABOUT;
    const ENCODING: Encoding = P::ENCODING;
    const RANDOMNESS: Randomness = P::RANDOMNESS;

    type State = Opaque<Running<P>>;
    type Message = P::Message;
    type Local = Event<P::Call>;
    type Durable = P::Durable;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let program = P::configure(parameters)?;
        let orders = [("time", Order::Ordered), ("any", Order::Any)];
        let order =
            parameters.choice("timer-order", &orders, "whether the next timer of a node is a possible earliest one")?;
        let delays =
            parameters.get("delays", 0, "how many ready tasks each handler may pass over to run a later one")?;
        let splits = match P::STREAMS {
            None => 0,
            Some(_) => parameters.get("splits", 0, "how many segments each node receives in two parts")?,
        };
        Ok(Self { program, order, delays, splits })
    }

    fn init(&self, ctx: &mut Context<P::Message>, durable: Option<P::Durable>) -> Self::State {
        const {
            assert!(
                P::STREAMS.is_none() || matches!(P::ABOUT.network, crate::Network::Ordered),
                "byte streams need ordered links: `Network::Ordered` in `ABOUT`"
            );
        }
        let splits = P::STREAMS.map(|_| self.splits);
        let executor = Executor::new(Timers::new(self.order), Streams::new(ctx.me(), ctx.nodes(), splits));
        let network = Network::new(ctx.me(), ctx.nodes());
        let shared = executor.enter(|| self.program.start(network.clone(), durable));
        self.settle(ctx, &network, &executor);
        Opaque::new(Running { network, shared, executor })
    }

    fn handle_message(&self, ctx: &mut Context<P::Message>, node: &mut Self::State, from: NodeId, message: P::Message) {
        let message = match P::STREAMS {
            Some(carrier) => (carrier.unwrap)(message),
            None => Err(message),
        };
        self.happen(ctx, node, |choose| match message {
            Ok(segment) => node.executor.streams().arrive(from, segment, choose),
            Err(message) => node.network.arrive(from, message),
        });
    }

    fn local_events(&self, node: &Self::State, events: &mut LocalEvents<Event<P::Call>>) {
        for (timer, name) in node.executor.timers().borrow().next() {
            events.timer(name, Event::Timer(timer));
        }
        for connection in node.executor.streams().split_ones() {
            events.internal("rest", Event::Rest(connection));
        }
        let mut calls = LocalEvents::new(events.me(), events.nodes());
        self.program.calls(&node.shared, &mut calls);
        for LocalEvent { name, kind, event } in calls.into_listed() {
            match kind {
                LocalKind::Timer => events.timer(name, Event::Call(event)),
                LocalKind::Application => events.application(name, Event::Call(event)),
                LocalKind::Internal => events.internal(name, Event::Call(event)),
            }
        }
    }

    fn handle_local(&self, ctx: &mut Context<P::Message>, node: &mut Self::State, event: Event<P::Call>) {
        match event {
            Event::Timer(timer) => {
                node.executor.enter(|| node.executor.timers().borrow_mut().fire(timer));
                self.settle(ctx, &node.network, &node.executor);
            }
            Event::Call(call) => self.happen(ctx, node, |_| self.program.call(&node.shared, call)),
            Event::Rest(connection) => {
                self.happen(ctx, node, |_| node.executor.streams().rest(connection));
            }
        }
    }

    fn handle_transport_error(&self, ctx: &mut Context<P::Message>, node: &mut Self::State, peer: NodeId) {
        self.happen(ctx, node, |_| {
            node.executor.streams().broken(peer);
            self.program.transport_error(&node.shared, peer);
        });
    }

    fn duration(&self, _: Place, node: &Self::State, event: &Event<P::Call>) -> Option<RangeInclusive<Duration>> {
        match event {
            Event::Timer(timer) => node.executor.timers().borrow().until(*timer),
            Event::Call(_) | Event::Rest(_) => None,
        }
    }

    fn persist(&self, node: &Self::State) -> Option<P::Durable> {
        self.program.persist(&node.shared)
    }

    fn is_done(&self, node: &Self::State) -> bool {
        self.program.is_done(&node.shared)
    }

    fn properties(claims: &mut Properties<Self>) {
        P::properties(claims);
    }
}
