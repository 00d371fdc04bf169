//! Ends of connections in the model.

use host_model::contract::NodeId;

/// One end of a connection in the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelEnd {
    /// How often it was broken, as far as this end knows.
    pub(super) incarnation: u32,
    /// Whether anything was sent or received over it since.
    pub(super) is_open: bool,
}

/// A node is to hear of a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    /// The end that has broken.
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    /// How often the connection was broken by then.
    pub(super) incarnation: u32,
}
