//! A stream with a deadline for the other end, however slowly it sends or reads: [`Limited`].

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The interval of checks whether the operation is cancelled.
const PAUSE: Duration = Duration::from_millis(20);

/// A stream whose reads and writes fail after a deadline.
pub(crate) struct Limited<'a> {
    stream: &'a TcpStream,
    /// The deadline.
    pub(crate) until: Instant,
    is_over: &'a dyn Fn() -> bool,
}

impl<'a> Limited<'a> {
    /// Limits a stream. The time-outs that this sets on the stream stay set.
    pub(crate) fn new(stream: &'a TcpStream, until: Instant, is_over: &'a dyn Fn() -> bool) -> io::Result<Self> {
        stream.set_read_timeout(Some(PAUSE))?;
        stream.set_write_timeout(Some(PAUSE))?;
        Ok(Self { stream, until, is_over })
    }

    /// Ends the writing side, and discards what the other end still sends, up to this many bytes. Closing a connection with unread bytes
    /// may lose the last bytes that were written.
    pub(crate) fn hear_out(&mut self, mut left: usize) {
        let _ = self.stream.shutdown(Shutdown::Write);
        while left > 0
            && let Ok(length @ 1..) = self.read(&mut [0; 1 << 13])
        {
            left = left.saturating_sub(length);
        }
    }

    /// Retries an operation until it succeeds, the deadline passes, or it is cancelled.
    fn retry(&self, mut once: impl FnMut(&TcpStream) -> io::Result<usize>) -> io::Result<usize> {
        while Instant::now() < self.until && !(self.is_over)() {
            match once(self.stream) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
        Err(ErrorKind::TimedOut.into())
    }
}

impl Read for Limited<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.retry(|mut stream| stream.read(bytes))
    }
}

impl Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.retry(|mut stream| stream.write(bytes))
    }

    /// A failed handshake of TLS writes its last bytes, with the alert, by one vectored call.
    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.retry(|mut stream| stream.write_vectored(pieces))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
