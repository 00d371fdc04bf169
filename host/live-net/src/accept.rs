//! Listening at a port.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The pause after a failed accept, for example without a free file descriptor.
const REST: Duration = Duration::from_millis(20);
/// The maximum time to connect to a port of this machine.
const AT_ONCE: Duration = Duration::from_secs(1);

/// A port on which a thread listens until this is dropped.
pub(crate) struct Listening {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    /// The number of calls of `accept`: one per connection.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests count"))]
    waits: Arc<AtomicU64>,
}

impl Listening {
    /// Hands each connection to `take` at once.
    pub(crate) fn open(
        address: SocketAddr,
        stopped: Arc<AtomicBool>,
        mut take: impl FnMut(TcpStream) + Send + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let waits = Arc::<AtomicU64>::default();
        let listening =
            Self { address: listener.local_addr()?, stopped: Arc::clone(&stopped), waits: Arc::clone(&waits) };
        std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                waits.fetch_add(1, Ordering::Relaxed);
                match listener.accept() {
                    // The connection of `drop`, which wakes this thread.
                    Ok(_) if stopped.load(Ordering::Relaxed) => {}
                    Ok((stream, _)) => take(stream),
                    Err(_) => std::thread::sleep(REST),
                }
            }
        });
        Ok(listening)
    }

    /// Its address, with the port that the system has chosen.
    #[cfg(test)]
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread, which waits for a connection.
        let _ = TcpStream::connect_timeout(&self.address, AT_ONCE);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    /// The thread does not poll: it blocks until the next connection, or until the end.
    #[test]
    fn a_port_waits_once_for_each_connection_and_is_free_at_the_end() {
        let (sender, taken) = sync_channel(16);
        let send = move |stream| drop(sender.send(stream));
        let port =
            Listening::open("127.0.0.1:0".parse().expect("an address"), Arc::default(), send).expect("there is one");
        let address = port.address();
        for _ in 0..10 {
            let _stream = TcpStream::connect(address).expect("it listens");
            taken.recv().expect("it is taken");
        }
        while port.waits.load(Ordering::Relaxed) < 11 {
            std::thread::yield_now();
        }
        std::thread::sleep(5 * REST);
        assert_eq!(port.waits.load(Ordering::Relaxed), 11);
        drop(port);
        // The thread has ended, and dropped the sender.
        assert!(taken.recv().is_err());
        assert!(TcpStream::connect(address).is_err());
    }
}
