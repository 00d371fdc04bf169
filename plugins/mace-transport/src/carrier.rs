//! The transport below another protocol.

use std::fmt::Debug;
use std::hash::Hash;

use guest_sdk::{Context, LocalEvents, NodeId, ParameterError, Parameters};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::Effects;
use crate::{Endpoint, Timer, Transport, Upcall, Wire};

/// Each message is one of this transport. A sender that may not send gets no notification when it may: nothing above requires one.
///
/// A message of a node to itself is a packet without a number: it is neither ordered nor sent again.
impl<M> guest_sdk::Transport<M> for Transport
where
    M: Clone + Debug + Eq + Hash + Serialize + DeserializeOwned + 'static,
{
    const NAME: &'static str = "mace";
    type End = Endpoint<M>;
    type Packet = Wire<M>;
    type Local = Timer;
    type Durable = u8;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        Self::configure(parameters)
    }

    fn init(&self, ctx: &mut Context<Wire<M>>, durable: Option<u8>) -> Endpoint<M> {
        self.endpoint(ctx.me(), durable.map_or(0, |starts| starts + 1))
    }

    fn persist(&self, end: &Endpoint<M>) -> Option<u8> {
        Some(end.starts)
    }

    fn room(&self, end: &Endpoint<M>, to: NodeId) -> usize {
        if to == end.me { usize::MAX } else { self.buffer.saturating_sub(self.waiting(end, to)) }
    }

    fn send(
        &self,
        end: &mut Endpoint<M>,
        ctx: &mut Context<Wire<M>>,
        upcalls: &mut Vec<guest_sdk::Upcall<M>>,
        to: NodeId,
        message: M,
    ) {
        with(ctx, upcalls, |effects| self.take(end, effects, to, message));
    }

    fn receive(
        &self,
        end: &mut Endpoint<M>,
        ctx: &mut Context<Wire<M>>,
        upcalls: &mut Vec<guest_sdk::Upcall<M>>,
        from: NodeId,
        packet: Wire<M>,
    ) {
        with(ctx, upcalls, |effects| self.receive(end, effects, from, packet));
    }

    fn local_events(&self, end: &Endpoint<M>, events: &mut LocalEvents<Timer>) {
        end.local_events(events, |timer| timer);
    }

    fn handle_local(
        &self,
        end: &mut Endpoint<M>,
        ctx: &mut Context<Wire<M>>,
        upcalls: &mut Vec<guest_sdk::Upcall<M>>,
        timer: Timer,
    ) {
        with(ctx, upcalls, |effects| self.fire(end, effects, timer));
    }
}

/// Runs a call with effects, and returns the upcalls for the protocol above.
fn with<M>(
    ctx: &mut Context<Wire<M>>,
    upcalls: &mut Vec<guest_sdk::Upcall<M>>,
    run: impl FnOnce(&mut Effects<'_, '_, M>),
) {
    let mut effects = Effects::new(ctx);
    run(&mut effects);
    upcalls.extend(effects.take_upcalls().into_iter().filter_map(|upcall| match upcall {
        Upcall::Deliver { from, payload } => Some(guest_sdk::Upcall::Deliver { from, message: payload }),
        Upcall::Error { peer, .. } => Some(guest_sdk::Upcall::Error { peer }),
        Upcall::ClearToSend { .. } => None,
    }));
}
