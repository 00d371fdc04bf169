//! The description of a plugin.

/// Behaviour of the network towards messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// A multiset: any message in flight can come next.
    Unordered,
    /// As `Unordered`, and a message can be delivered again.
    UnorderedDuplicating,
    /// First in, first out for each sender and destination, as over TCP.
    Ordered,
}

/// Name, version and defaults of a plugin; made with [`about!`](crate::about!).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name, for people.
    pub name: &'static str,
    /// Its own version.
    pub version: &'static str,
    /// One sentence for lists.
    pub summary: &'static str,
    /// Number of nodes unless the scenario says otherwise; at least 1.
    pub nodes: u32,
    /// The network that the protocol is made for.
    pub network: Network,
}

impl About {
    /// Three nodes on an unordered network.
    pub const fn new(name: &'static str, version: &'static str, summary: &'static str) -> Self {
        Self { name, version, summary, nodes: 3, network: Network::Unordered }
    }

    /// Another number of nodes; at least 1.
    pub const fn nodes(self, nodes: u32) -> Self {
        assert!(nodes > 0, "a cluster has at least one node");
        Self { nodes, ..self }
    }

    /// Another network.
    pub const fn network(self, network: Network) -> Self {
        Self { network, ..self }
    }
}

/// An [`About`] with name, version and description of the crate that it is used in, as its Cargo.toml has them.
#[macro_export]
macro_rules! about {
    () => {
        $crate::About::new(
            ::std::env!("CARGO_PKG_NAME"),
            ::std::env!("CARGO_PKG_VERSION"),
            ::std::env!("CARGO_PKG_DESCRIPTION"),
        )
    };
}
