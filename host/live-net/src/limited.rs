//! A stream whose other end has its time and no more, however slowly it sends or reads: [`Limited`].

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// How often it is looked whether it is over.
const PAUSE: Duration = Duration::from_millis(20);

/// A stream with a peer that is not trusted with the time of this node.
pub(crate) struct Limited<'a> {
    stream: &'a TcpStream,
    /// From when on all reads and writes are late.
    pub(crate) until: Instant,
    is_over: &'a dyn Fn() -> bool,
}

impl<'a> Limited<'a> {
    /// Each read and write of the stream gives up after a pause from now on, however it is used later.
    pub(crate) fn new(stream: &'a TcpStream, until: Instant, is_over: &'a dyn Fn() -> bool) -> io::Result<Self> {
        stream.set_read_timeout(Some(PAUSE))?;
        stream.set_write_timeout(Some(PAUSE))?;
        Ok(Self { stream, until, is_over })
    }

    /// Takes what the other end is still sending, this many bytes at most, and forgets it: where something is left unread, a connection that
    /// is closed may take with it what was said last.
    pub(crate) fn hear_out(&mut self, mut left: usize) {
        let _ = self.stream.shutdown(Shutdown::Write);
        while left > 0
            && let Ok(length @ 1..) = self.read(&mut [0; 1 << 13])
        {
            left = left.saturating_sub(length);
        }
    }

    /// Tries until it works, there is no time left, or it is over.
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

    /// When a handshake of TLS fails, what is left to say is written by one call: an alert, and what goes before it.
    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.retry(|mut stream| stream.write_vectored(pieces))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
