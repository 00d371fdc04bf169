//! Addresses of nodes: an IP address or the name of a host, with a port.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// The maximum length of a host name, by RFC 1035.
const NAME_MAX: usize = 253;

/// The address of a node. The user of a name looks it up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(Kind);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Ip(SocketAddr),
    Name { name: String, port: u16 },
}

impl Address {
    /// Reads an address such as `192.0.2.1:7101`, `[::1]:7101` or `node-1.example:7101`; none for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse() {
            return Some(Self(Kind::Ip(address)));
        }
        let (name, port) = text.rsplit_once(':')?;
        let is_part = |part: &str| {
            let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_');
            !part.is_empty() && part.bytes().all(is_letter)
        };
        // An IP address that is misspelt is no name: no top-level domain is a number.
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let is_name =
            name.len() <= NAME_MAX && name.split('.').all(is_part) && !name.rsplit('.').next().is_some_and(is_number);
        let port = port.parse().ok().filter(|_| is_name && is_number(port))?;
        Some(Self(Kind::Name { name: name.to_owned(), port }))
    }

    /// The IP address; none for a name.
    pub fn ip(&self) -> Option<IpAddr> {
        match &self.0 {
            Kind::Ip(address) => Some(address.ip()),
            Kind::Name { .. } => None,
        }
    }

    /// The port.
    pub fn port(&self) -> u16 {
        match &self.0 {
            Kind::Ip(address) => address.port(),
            Kind::Name { port, .. } => *port,
        }
    }

    /// Whether it is on loopback, wherever a name leads: `localhost` is, by RFC 6761, and no other name.
    pub fn is_loopback(&self) -> bool {
        match &self.0 {
            Kind::Ip(address) => address.ip().is_loopback(),
            Kind::Name { name, .. } => name.eq_ignore_ascii_case("localhost"),
        }
    }

    /// The host name; none for an IP address.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Kind::Ip(_) => None,
            Kind::Name { name, .. } => Some(name),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self(Kind::Ip(address))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Ip(address) => address.fmt(f),
            Kind::Name { name, port } => write!(f, "{name}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_numbers_or_names_with_a_port() {
        for text in [
            "127.0.0.1:7101",
            "[::1]:7101",
            "localhost:7101",
            "node-1.example:1",
            "a_b:65535",
            "3com:7101",
            "node.east1:7101",
        ] {
            assert_eq!(Address::parse(text).map(|address| address.to_string()).as_deref(), Some(text));
        }
        for text in [
            "",
            ":",
            ":7101",
            "localhost",
            "localhost:",
            "localhost:x",
            "localhost:+1",
            "localhost:65536",
            "::1:7101",
            "[::1]",
            "127.0.0:7101",
            "127.0.0.256:7101",
            "a b:7101",
            "a/b:7101",
            "http://a:7101",
            ".a:7101",
            "a..b:7101",
            "a.:7101",
        ] {
            assert_eq!(Address::parse(text), None, "{text}");
        }
        assert_eq!(Address::parse(&format!("{}:1", "x".repeat(254))), None);
    }

    /// Other names may lead to loopback as well, but nothing says that they always do.
    #[test]
    fn localhost_is_the_name_of_loopback() {
        let is_loopback = |text: &str| Address::parse(text).map(|address| address.is_loopback());
        for (text, expected) in [
            ("127.1.2.3:1", true),
            ("[::1]:1", true),
            ("localhost:1", true),
            ("LOCALHOST:1", true),
            ("192.0.2.1:1", false),
            ("localhost.example:1", false),
            ("node:1", false),
        ] {
            assert_eq!(is_loopback(text), Some(expected), "{text}");
        }
    }
}
