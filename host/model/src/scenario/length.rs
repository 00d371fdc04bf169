//! The maximum length of a message, which depends on its link.
//!
//! A running node sends a message over a link without an order in one datagram, and over an ordered link in one frame. A longer message is
//! a fault of its sender, in a search, a replay and a simulation as in a running node: so the checked system is the one that runs.

use crate::contract::{Envelope, Fault, FaultKind, NodeId};
use crate::scenario::fault_state::Rules;
use crate::scenario::link::Network;

impl Network {
    /// Maximum length of a message in bytes. A datagram has up to 65,507 bytes, and a frame up to 16 MiB, including the headers.
    pub const fn message_max(self) -> usize {
        match self {
            Self::Unordered | Self::UnorderedDuplicating => 60 << 10,
            Self::Ordered => (16 << 20) - (4 << 10),
        }
    }

    /// Refuses messages that are too long for this network.
    ///
    /// # Errors
    ///
    /// A message is too long: the handler that has sent it fails.
    pub fn check_lengths<'e>(self, sent: impl IntoIterator<Item = &'e Envelope>) -> Result<(), Fault> {
        let longest = sent.into_iter().map(|envelope| envelope.payload.len()).max().unwrap_or_default();
        if longest <= self.message_max() {
            return Ok(());
        }
        let (link, remedy) = match self {
            Self::Ordered => ("a link with an order", "send it in pieces"),
            Self::Unordered | Self::UnorderedDuplicating => (
                "a link without an order",
                "send it in pieces, or use a network with an order, where `--limit message=N` allows more",
            ),
        };
        let message =
            format!("sends a message of {longest} bytes, and {link} takes {} at most; {remedy}", self.message_max());
        Err(Fault::new(FaultKind::OutputLimit, message).with_limit("message"))
    }
}

impl Rules {
    /// Refuses messages of a node that are too long for their links.
    ///
    /// # Errors
    ///
    /// A message is too long.
    pub(crate) fn check_lengths(&self, from: NodeId, sent: &[Envelope]) -> Result<(), Fault> {
        let (ordered, others): (Vec<&Envelope>, Vec<&Envelope>) =
            sent.iter().partition(|envelope| self.is_in_order(from, envelope.to));
        Network::Unordered.check_lengths(others)?;
        Network::Ordered.check_lengths(ordered)
    }
}
