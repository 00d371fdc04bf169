//! Nodes and ports as addresses: node 2 has the address 10.0.0.2 and the name `node-2`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::error;
use crate::NodeId;

/// Connections that a node opens have a port from here on at its end.
pub(super) const EPHEMERAL: u16 = 49_152;

/// The address of a port of a node.
///
/// # Panics
///
/// The number of the node has more than 24 bits.
#[must_use]
pub fn address_of(node: NodeId, port: u16) -> SocketAddr {
    let [0, a, b, c] = node.to_be_bytes() else { panic!("node {node} has no address") };
    SocketAddr::from((Ipv4Addr::new(10, a, b, c), port))
}

/// The node of an address; none if no node has it.
#[must_use]
pub fn node_of(address: SocketAddr) -> Option<NodeId> {
    match address.ip() {
        IpAddr::V4(ip) => match ip.octets() {
            [10, a, b, c] => Some(NodeId::from_be_bytes([0, a, b, c])),
            _ => None,
        },
        IpAddr::V6(_) => None,
    }
}

/// A node and a port, in one of the ways in which programs name them.
pub trait ToAddress {
    /// The node, if the address names one, and the port.
    ///
    /// # Errors
    ///
    /// A text is no address.
    fn to_address(&self) -> io::Result<(Option<NodeId>, u16)>;
}

impl ToAddress for (NodeId, u16) {
    fn to_address(&self) -> io::Result<(Option<NodeId>, u16)> {
        Ok((Some(self.0), self.1))
    }
}

impl ToAddress for SocketAddr {
    fn to_address(&self) -> io::Result<(Option<NodeId>, u16)> {
        Ok((node_of(*self), self.port()))
    }
}

/// `10.0.0.2:80`, `node-2:80` or `0.0.0.0:80`.
impl ToAddress for str {
    fn to_address(&self) -> io::Result<(Option<NodeId>, u16)> {
        if let Ok(address) = self.parse::<SocketAddr>() {
            return address.to_address();
        }
        let named = self.strip_prefix("node-").and_then(|rest| rest.split_once(':'));
        let parsed = named.and_then(|(node, port)| Some((Some(node.parse().ok()?), port.parse().ok()?)));
        parsed.ok_or_else(|| error(io::ErrorKind::InvalidInput))
    }
}

impl ToAddress for String {
    fn to_address(&self) -> io::Result<(Option<NodeId>, u16)> {
        self.as_str().to_address()
    }
}

impl<T: ToAddress + ?Sized> ToAddress for &T {
    fn to_address(&self) -> io::Result<(Option<NodeId>, u16)> {
        (**self).to_address()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_one_address_and_several_names() {
        assert_eq!(address_of(258, 80).to_string(), "10.0.1.2:80");
        for node in [0, 2, 258, 0x00ff_ffff] {
            let address = address_of(node, 80);
            assert_eq!(node_of(address), Some(node));
            let names: [&dyn ToAddress; 4] = [&(node, 80), &address, &address.to_string(), &format!("node-{node}:80")];
            for name in names {
                assert_eq!(name.to_address().ok(), Some((Some(node), 80)));
            }
        }
        assert_eq!("0.0.0.0:7".to_address().ok(), Some((None, 7)));
        for wrong in ["", "node-:80", "node-1", "node-1:x", "localhost:80", "10.0.0.1"] {
            assert_eq!(wrong.to_address().map_err(|error| error.kind()), Err(io::ErrorKind::InvalidInput), "{wrong}");
        }
    }
}
