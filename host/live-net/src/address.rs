//! The IP addresses to which the addresses of nodes lead.
//!
//! A name is looked up at each connection, so a host may change its IP address while the nodes run.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use host_live::address::Address;

/// The IP addresses to which an address leads now. `localhost` is not looked up, since a file of this machine may lead it elsewhere.
fn resolve(address: &Address) -> io::Result<Vec<SocketAddr>> {
    let port = address.port();
    let found: Vec<SocketAddr> = match (address.ip(), address.name()) {
        (Some(ip), _) => vec![SocketAddr::new(ip, port)],
        _ if address.is_loopback() => {
            let both = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
            both.map(|ip| SocketAddr::new(ip, port)).to_vec()
        }
        (None, name) => (name.unwrap_or_default(), port).to_socket_addrs()?.collect(),
    };
    if found.is_empty() { Err(ErrorKind::NotFound.into()) } else { Ok(found) }
}

/// Calls a function for each IP address, until it succeeds.
///
/// # Errors
///
/// That of the lookup, or of the last call.
pub(crate) fn try_each<T>(address: &Address, mut once: impl FnMut(SocketAddr) -> io::Result<T>) -> io::Result<T> {
    let mut last = ErrorKind::NotFound.into();
    for address in resolve(address)? {
        match once(address) {
            Ok(done) => return Ok(done),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Connects within this time per IP address.
pub(crate) fn connect(address: &Address, patience: Duration) -> io::Result<TcpStream> {
    try_each(address, |address| TcpStream::connect_timeout(&address, patience))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// The listener has one of the two addresses of `localhost`.
    #[test]
    fn a_name_leads_to_whichever_of_its_addresses_answers() {
        let mut tried = 0;
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(at) else { continue };
            let port = listener.local_addr().expect("it is bound").port();
            let address = Address::parse(&format!("localhost:{port}")).expect("a name");
            connect(&address, Duration::from_secs(60)).expect("it listens");
            tried += 1;
        }
        assert!(tried > 0);
        let unknown = Address::parse("no.such.host.invalid:1").expect("a name");
        assert!(resolve(&unknown).is_err());
    }

    #[test]
    fn localhost_leads_nowhere_else() {
        let found = resolve(&Address::parse("localhost:7").expect("a name")).expect("it is known");
        assert!(found.iter().all(|address| address.ip().is_loopback() && address.port() == 7), "{found:?}");
    }
}
