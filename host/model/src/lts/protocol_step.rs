//! Handler executions as the protocol knows them: by protocol state, whatever the fault state of the node.

use crate::contract::fingerprint::Fingerprint;
use crate::contract::{Choice, Draws, DurableMap, Envelope, Likelihood, NodeId, Synced, WrittenKeys};
use crate::lts::ids::{LocalEventId, MessageId, ProtocolStateId, QuorumId};

/// A handler execution as the protocol knows it: by protocol state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProtocolStep {
    pub(crate) protocol_state: ProtocolStateId,
    /// The cause of the handler's execution.
    pub(crate) cause: ProtocolEvent,
}

/// The cause of a handler's execution, as the protocol knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ProtocolEvent {
    /// A message: the first one with its content.
    Message(MessageId),
    /// A quorum. Where there are quorums, the only faults are resets, so its messages are the first ones with their contents.
    Quorum(QuorumId),
    /// A local event.
    Local(LocalEventId),
    /// `init` with the durable state, and with this map if it is not that of the protocol state.
    Restart(Option<MapKey>),
    /// A transport error.
    Error(NodeId),
}

/// A durable map, by 128 bits of its fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MapKey([u8; 16]);

impl From<&DurableMap> for MapKey {
    fn from(map: &DurableMap) -> Self {
        let fingerprint = map.fingerprint();
        let (halves, _) = fingerprint.as_chunks();
        Self(halves[0])
    }
}

/// The end of such an execution.
#[derive(Clone, Debug)]
pub(crate) struct ProtocolOutcome {
    /// The protocol state afterwards.
    pub(crate) next: ProtocolStateId,
    /// The messages sent, with the fingerprint of each.
    pub(crate) sent: Vec<(Envelope, Fingerprint)>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) likelihood: Likelihood,
    pub(crate) draws: Draws,
    pub(crate) synced: Synced,
    /// The keys that it has written; none where an outage loses only the latest writes.
    pub(crate) written: WrittenKeys,
}

impl ProtocolOutcome {
    /// The outcome in a protocol state if no handler runs.
    pub(crate) fn without_a_handler(state: ProtocolStateId) -> Self {
        Self {
            next: state,
            sent: Vec::new(),
            choices: Vec::new(),
            likelihood: Likelihood::CERTAIN,
            draws: Draws::default(),
            synced: Synced::Nothing,
            written: WrittenKeys::default(),
        }
    }

    /// Bytes kept for it.
    pub(crate) fn bytes(&self) -> usize {
        let sent = self.sent.iter().map(|sent| size_of_val(sent) + sent.0.payload.len());
        size_of::<Self>() + sent.sum::<usize>() + size_of_val(&*self.choices) + self.written.bytes()
    }
}
