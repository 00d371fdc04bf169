//! Handler executions as the protocol knows them: by content, whatever has gone wrong at the node.

use crate::contract::{Choice, Envelope, Likelihood, NodeId};
use crate::lts::ids::{MessageId, QuorumId, Trigger};

/// A handler execution as the protocol knows it: by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BareKey {
    /// Index of the content.
    pub(crate) content: u32,
    /// What makes the handler run.
    pub(crate) cause: BareCause,
}

/// What makes a handler run, as the protocol knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BareCause {
    /// A message: the first one with its content.
    Message(MessageId),
    /// A quorum. Nothing but resets goes wrong where there are any, so its messages are the first ones with their contents.
    Quorum(QuorumId),
    /// A local event.
    Local(Trigger),
    /// `init`, with what the content makes durable.
    Reset,
    /// A transport error.
    Error(NodeId),
}

/// How such an execution ended.
#[derive(Clone, Debug)]
pub(crate) struct Bare {
    /// Index of the content afterwards.
    pub(crate) content: u32,
    pub(crate) sent: Vec<Envelope>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) likelihood: Likelihood,
}

impl Bare {
    pub(crate) fn answers(&self) -> (Box<[Choice]>, Likelihood) {
        (self.choices.as_slice().into(), self.likelihood)
    }
}
