//! Where a message or notice travels.

use crate::contract::NodeId;

/// Where an item travels, and over which incarnation of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The sender.
    pub from: NodeId,
    /// The destination.
    pub to: NodeId,
    /// How often the connection was broken before, as far as the sender knew; for a notice, that break included.
    pub incarnation: u32,
    /// Whether it is a notice.
    pub is_notice: bool,
    /// 0 where messages have an order; else a number that stands for the content.
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

    /// The channel that it is an item of.
    pub(crate) fn channel(&self) -> (NodeId, NodeId, u32) {
        (self.from, self.to, self.channel_class)
    }
}
