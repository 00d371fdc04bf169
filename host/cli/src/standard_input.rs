//! Standard input that an interrupt ends.
//!
//! A read of a pipe that is silent waits for ever, and a signal does not end it. So a thread reads, and the program waits for it only
//! as long as there is no interrupt.

use std::io::{self, BufRead, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Bytes that are read at once, at most.
const CHUNK_BYTES: usize = 64 << 10;

/// The time between two looks at the interrupt.
const WAIT: Duration = Duration::from_millis(50);

/// Standard input, read by a thread from the first use on.
pub struct StandardInput {
    interrupted: Arc<AtomicBool>,
    chunks: Option<Receiver<io::Result<Vec<u8>>>>,
    chunk: Vec<u8>,
    /// Bytes of the chunk that are consumed.
    consumed: usize,
}

impl StandardInput {
    /// Standard input that ends with an error once this is set and nothing arrives.
    pub fn new(interrupted: Arc<AtomicBool>) -> Self {
        Self { interrupted, chunks: None, chunk: Vec::new(), consumed: 0 }
    }
}

impl BufRead for StandardInput {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.consumed == self.chunk.len() {
            let chunks = self.chunks.get_or_insert_with(|| {
                let (sender, chunks) = sync_channel(1);
                std::thread::spawn(move || read_all(&sender));
                chunks
            });
            (self.chunk, self.consumed) = (Vec::new(), 0);
            loop {
                match chunks.recv_timeout(WAIT) {
                    Ok(chunk) => {
                        self.chunk = chunk?;
                        break;
                    }
                    Err(RecvTimeoutError::Timeout) if !self.interrupted.load(Ordering::Relaxed) => {}
                    Err(RecvTimeoutError::Timeout) => return Err(io::Error::other("interrupted")),
                    // The end.
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        }
        Ok(&self.chunk[self.consumed..])
    }

    fn consume(&mut self, count: usize) {
        self.consumed += count;
    }
}

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(buffer.len());
        buffer[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// Reads standard input to its end, or until the program needs no more.
fn read_all(chunks: &SyncSender<io::Result<Vec<u8>>>) {
    let mut input = io::stdin().lock();
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let read = match input.read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => {
                chunk.truncate(count);
                Ok(chunk)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = read.is_err();
        if chunks.send(read).is_err() || is_last {
            return;
        }
    }
}
