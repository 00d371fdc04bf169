//! How long a message may be, which depends on the link that it takes.
//!
//! A node that runs sends a message over a link without an order in one datagram, and over one with an order in one frame. What is longer
//! is a fault of its sender, in a search, a replay and a simulation as in a node that runs: so what was checked is what runs.

use crate::contract::{Envelope, Fault, FaultKind, NodeId};
use crate::scenario::fault_state::Rules;
use crate::scenario::link::Network;

impl Network {
    /// Bytes of the longest message. A datagram has up to 65,507 bytes, and a frame up to 16 MiB, with what stands around the message.
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
    /// One of them is: the handler that has sent them fails.
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
    /// Refuses messages of a node that are too long for the links that they take.
    ///
    /// # Errors
    ///
    /// One of them is.
    pub(crate) fn check_lengths(&self, from: NodeId, sent: &[Envelope]) -> Result<(), Fault> {
        let (ordered, others): (Vec<&Envelope>, Vec<&Envelope>) =
            sent.iter().partition(|envelope| self.is_in_order(from, envelope.to));
        Network::Unordered.check_lengths(others)?;
        Network::Ordered.check_lengths(ordered)
    }
}
