//! Byte streams between nodes, in the shape of `tokio::net`.
//!
//! A connection is carried by the cluster's link between its two nodes. It ends like one of TCP: by its ends, or by an error where the link
//! breaks, where a node was reset, and at a port without a listener. Bytes arrive in order, and none is missing between two that do.
//!
//! The program names [`Segment`] as its message, or a type that contains one, and has a [`Carrier`] for it as [`STREAMS`](super::Program::STREAMS). The network in its
//! [`ABOUT`](super::Program::ABOUT) is [`Ordered`](crate::Network::Ordered). All bytes that a handler writes to a connection leave as one
//! segment. With `--set splits=N` each node receives up to N segments in two parts, at each place that they can be split at; the
//! second one is a local event, `rest`.
//!
//! A write never waits: buffers have no end. Connections between the same two nodes share their link, so their segments arrive in the order
//! in which they were sent, and break together.
//!
//! With the feature `tokio` of this crate, [`TcpStream`] and its halves implement `AsyncRead` and `AsyncWrite` of tokio.
//!
//! | module | what it holds |
//! |---|---|
//! | `address` | nodes and ports as addresses |
//! | `connection` | one end of a connection, and the rules of its life |
//! | `segment` | the messages of connections |
//! | `streams` | all connections of a node |
//! | `traits` | the traits of tokio |

mod address;
mod connection;
mod segment;
pub(super) mod streams;
#[cfg(feature = "tokio")]
mod traits;

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context as Polling, Poll};

pub use address::{ToAddress, address_of, node_of};
pub use connection::Key;
pub use segment::{Bytes, Carrier, Content, Segment};

use connection::{Connection, Half};
use streams::{Listening, Streams};

/// The error of an operation on a stream, by its kind.
fn error(kind: io::ErrorKind) -> io::Error {
    kind.into()
}

/// Accepts connections at a port of this node.
pub struct TcpListener {
    listening: Rc<Listening>,
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpListener").field("address", &self.listening.address()).finish()
    }
}

impl TcpListener {
    /// Listens at a port; the node in the address is not read, as if it were `0.0.0.0`.
    ///
    /// # Errors
    ///
    /// Another listener of the node has the port, or the address is none.
    ///
    /// # Panics
    ///
    /// No handler of a node runs, or the program has no [`STREAMS`](super::Program::STREAMS).
    #[expect(clippy::unused_async, reason = "as in tokio, and a program awaits it")]
    pub async fn bind(address: impl ToAddress) -> io::Result<Self> {
        let (_, port) = address.to_address()?;
        Ok(Self { listening: Streams::required().listen(port)? })
    }

    /// Waits for a connection.
    ///
    /// # Errors
    ///
    /// None; the result is that of tokio.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let stream = poll_fn(|polling| self.listening.poll_accept(polling)).await;
        let peer = stream.peer_addr()?;
        Ok((stream, peer))
    }

    /// The address of this node, with the port.
    ///
    /// # Errors
    ///
    /// None; the result is that of tokio.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.listening.address())
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        if let Some(streams) = Streams::present() {
            streams.stop_listening(&self.listening);
        }
    }
}

/// One end of a connection.
///
/// Dropping it closes the connection: the peer reads what was written, and then the end; or an error, if bytes that have arrived here were
/// not read.
#[derive(Debug)]
pub struct TcpStream {
    // Both are dropped together, and the order does not show.
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
}

impl TcpStream {
    /// Connects to a port of a node, such as `(2, 80)`, `"10.0.0.2:80"` or `"node-2:80"`.
    ///
    /// # Errors
    ///
    /// The node does not listen there, the link breaks before its answer, or the address is none.
    ///
    /// # Panics
    ///
    /// No handler of a node runs, the program has no [`STREAMS`](super::Program::STREAMS), or the cluster has no such node.
    pub async fn connect(address: impl ToAddress) -> io::Result<Self> {
        let (node, port) = address.to_address()?;
        let node = node.ok_or_else(|| error(io::ErrorKind::AddrNotAvailable))?;
        let mut opening = Streams::required().open(node, port)?;
        poll_fn(|polling| opening.poll(polling)).await
    }

    fn new(connection: Rc<Connection>) -> Self {
        Self { read: OwnedReadHalf { connection: Rc::clone(&connection) }, write: OwnedWriteHalf { connection } }
    }

    /// The two directions, for two tasks. Dropping both of them closes the connection; dropping the one that writes ends the stream that
    /// the peer reads.
    #[must_use]
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        (self.read, self.write)
    }

    /// The address of this end.
    ///
    /// # Errors
    ///
    /// None; the result is that of tokio.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.read.connection.local())
    }

    /// The address of the other end.
    ///
    /// # Errors
    ///
    /// None; the result is that of tokio.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.read.connection.peer())
    }

    /// Does nothing: the bytes of a handler leave at its end.
    ///
    /// # Errors
    ///
    /// None; the result is that of tokio.
    pub fn set_nodelay(&self, _: bool) -> io::Result<()> {
        Ok(())
    }

    /// Reads bytes that have arrived, as [`OwnedReadHalf::poll_read`].
    ///
    /// # Errors
    ///
    /// The connection is broken.
    pub fn poll_read(&self, polling: &mut Polling<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.read.poll_read(polling, buffer)
    }

    /// Writes bytes, as [`OwnedWriteHalf::write_now`].
    ///
    /// # Errors
    ///
    /// The connection is broken, or was shut down.
    pub fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        self.write.write_now(bytes)
    }

    /// Ends what the peer reads, as [`OwnedWriteHalf::shutdown_now`].
    pub fn shutdown_now(&self) {
        self.write.shutdown_now();
    }
}

/// The part of a stream that reads.
pub struct OwnedReadHalf {
    connection: Rc<Connection>,
}

/// The part of a stream that writes.
pub struct OwnedWriteHalf {
    connection: Rc<Connection>,
}

impl fmt::Debug for OwnedReadHalf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedReadHalf").field(&self.connection.text()).finish()
    }
}

impl fmt::Debug for OwnedWriteHalf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedWriteHalf").field(&self.connection.text()).finish()
    }
}

impl OwnedReadHalf {
    /// Reads bytes that have arrived, at most as many as the buffer takes; 0 at the end of the stream. For implementations of traits other
    /// than those of tokio.
    ///
    /// # Errors
    ///
    /// The connection is broken, and all that arrived before was read.
    pub fn poll_read(&self, polling: &mut Polling<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.connection.poll_read(polling, buffer)
    }
}

impl OwnedWriteHalf {
    /// Writes bytes, always all of them, which leave at the end of the handler. For implementations of traits other than those of tokio.
    ///
    /// # Errors
    ///
    /// The connection is broken, or was shut down.
    pub fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        Streams::required().write(&self.connection, bytes)
    }

    /// Ends what the peer reads; nothing if it has ended.
    pub fn shutdown_now(&self) {
        Streams::required().shut_down(&self.connection);
    }
}

impl Drop for OwnedReadHalf {
    fn drop(&mut self) {
        if let Some(streams) = Streams::present() {
            streams.drop_half(&self.connection, Half::Reader);
        }
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        if let Some(streams) = Streams::present() {
            streams.drop_half(&self.connection, Half::Writer);
        }
    }
}
