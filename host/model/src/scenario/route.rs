//! The route of a message or notice.

use crate::contract::NodeId;

/// The route of an item, with the incarnation of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The sender.
    pub from: NodeId,
    /// The destination.
    pub to: NodeId,
    /// The number of earlier breaks of the connection, as far as the sender knew; for a notice, including its own break.
    pub incarnation: u32,
    /// Whether it is a notice.
    pub is_notice: bool,
    /// 0 on an ordered link; otherwise a number that stands for the content.
    pub channel_class: u32,
}

impl Route {
    /// Whether messages overtake each other there.
    pub fn is_unordered(&self) -> bool {
        self.channel_class > 0
    }

    /// Whether a destination that knows of this many breaks of the connection can never take it.
    pub fn is_lost_after(&self, breaks: u32) -> bool {
        !self.is_unordered() && (self.incarnation < breaks || (self.is_notice && self.incarnation == breaks))
    }

    /// The channel to which the item belongs.
    pub(crate) fn channel(&self) -> (NodeId, NodeId, u32) {
        (self.from, self.to, self.channel_class)
    }
}
