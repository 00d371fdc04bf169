//! Ends of connections in the model.

use host_model::contract::NodeId;

/// One end of a connection in the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelEnd {
    /// The number of breaks, as far as this end knows.
    pub(super) incarnation: u32,
    /// Whether something was sent or received over it since.
    pub(super) is_open: bool,
}

/// The way in which a connection is broken in place of a message over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breaking {
    /// The destination of the message breaks it.
    Here,
    /// The sender has broken it: its notice overtakes the message.
    Told,
    /// The sender breaks it, and its notice overtakes the message.
    There,
}

/// A notice of a break to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    /// The end that has broken.
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    /// The number of the connection's breaks by then.
    pub(super) incarnation: u32,
}
