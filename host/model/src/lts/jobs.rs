//! Steps of local states, and the handlers to execute for them.

use std::sync::Arc;

use crate::contract::{NodeId, Role};
use crate::lts::handler::{Cause, Job};
use crate::lts::ids::{LocalStateId, MessageId, ProtocolStateId, QuorumId, Trigger};
use crate::lts::protocol_step::{MapKey, ProtocolEvent, ProtocolStep};
use crate::lts::state::{LocalState, Message};
use crate::lts::tables::Tables;
use crate::scenario::fault_state::Rules;

impl Tables {
    /// The handler to execute for a step; none for a transport error that is lost, or the loss of a message.
    pub(crate) fn protocol_step(&self, rules: &Rules, state: LocalStateId, trigger: Trigger) -> Option<ProtocolStep> {
        let state = &self.states[state.0 as usize];
        let error = |peer: NodeId| {
            (rules.hears_errors && state.fault_state.is_open(peer)).then_some(ProtocolEvent::Error(peer))
        };
        let cause = if let Some(message) = trigger.message() {
            let message = &self.messages[message.0 as usize];
            match message.is_notice {
                true => error(message.from)?,
                // The message has arrived, so the connection is open.
                false if self.breaks_instead(rules, state, message) => {
                    rules.hears_errors.then_some(ProtocolEvent::Error(message.from))?
                }
                false => ProtocolEvent::Message(message.content),
            }
        } else if let Some(quorum) = trigger.quorum() {
            ProtocolEvent::Quorum(quorum)
        } else if let Some(event) = trigger.local_event() {
            ProtocolEvent::Local(event)
        } else {
            let fault = trigger.fault()?;
            match fault.peer() {
                None => {
                    let map = state.fault_state.map_left(fault, self.map_of(state.protocol_id));
                    ProtocolEvent::Restart(map.as_ref().map(MapKey::from))
                }
                Some(peer) => error(peer)?,
            }
        };
        Some(ProtocolStep { protocol_state: state.protocol_id, cause })
    }

    /// Whether a node breaks the connection in place of a message.
    pub(crate) fn breaks_instead(&self, rules: &Rules, state: &LocalState, message: &Message) -> bool {
        let Message { from, to, payload, is_notice, .. } = message;
        !is_notice && rules.breaks_instead(state.protocol.fingerprint, *from, *to, payload)
    }

    /// The handler of a step, to be executed, which is that of this pair.
    ///
    /// # Panics
    ///
    /// The node is stuck in a fault; or a message of a quorum was never asked for.
    pub(crate) fn job(&self, step: &ProtocolStep, pair: (LocalStateId, Trigger)) -> Job {
        let state = &self.protocol_states[step.protocol_state.0 as usize];
        let from = state.snapshot.clone().expect("nothing happens at a node that is stuck in a fault");
        let cause = match step.cause {
            ProtocolEvent::Message(message) => {
                let message = Arc::clone(&self.messages[message.0 as usize]);
                Cause::Message(message, self.takes_quorums[state.node as usize])
            }
            ProtocolEvent::Quorum(quorum) => self.quorum_cause(step.protocol_state, quorum),
            ProtocolEvent::Local(event) => Cause::Local(Arc::clone(&self.local_events[event.0 as usize])),
            ProtocolEvent::Restart(None) => Cause::Restart(None),
            ProtocolEvent::Restart(Some(_)) => {
                let (fault_state, fault) = (&self.states[pair.0.0 as usize].fault_state, pair.1.fault());
                Cause::Restart(fault.and_then(|fault| fault_state.map_left(fault, self.map_of(step.protocol_state))))
            }
            ProtocolEvent::Error(peer) => Cause::Error(peer),
        };
        Job { node: state.node, from, cause }
    }

    fn quorum_cause(&self, protocol_state: ProtocolStateId, quorum: QuorumId) -> Cause {
        let messages = self.quorums[quorum.0 as usize].iter().map(|message| &self.messages[message.0 as usize]);
        let mut taken: Vec<(NodeId, Vec<u8>)> =
            messages.clone().map(|message| (message.from, message.payload.clone())).collect();
        taken.sort_unstable();
        let delivery = |message: MessageId| ProtocolStep { protocol_state, cause: ProtocolEvent::Message(message) };
        let role = messages.clone().next().and_then(|first| self.protocol_roles.get(&delivery(first.content)));
        let Some(Role::Member(kind)) = role else {
            panic!("a quorum consists of messages that are members of it");
        };
        Cause::Quorum(Arc::clone(&self.kinds[kind.0 as usize]), taken)
    }
}
