//! The traits of tokio, which need no runtime.

use std::io;
use std::pin::Pin;
use std::task::{Context as Polling, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{OwnedReadHalf, OwnedWriteHalf, TcpStream};

impl AsyncRead for OwnedReadHalf {
    fn poll_read(self: Pin<&mut Self>, polling: &mut Polling<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let length = ready!(Self::poll_read(&self, polling, buffer.initialize_unfilled()))?;
        buffer.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for OwnedWriteHalf {
    fn poll_write(self: Pin<&mut Self>, _: &mut Polling<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.write_now(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Polling<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Polling<'_>) -> Poll<io::Result<()>> {
        self.shutdown_now();
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        polling: &mut Polling<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        AsyncRead::poll_read(Pin::new(&mut self.read), polling, buffer)
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(mut self: Pin<&mut Self>, polling: &mut Polling<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.write).poll_write(polling, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.write).poll_flush(polling)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.write).poll_shutdown(polling)
    }
}
