//! A minimal HTTP client.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than a node waits before it answers that it has no answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer to one request.
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

/// Asks a node; the error says whether the request may have arrived.
pub fn request(at: SocketAddr, method: &str, path: &str, body: &[u8]) -> Result<Response, bool> {
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE).map_err(|_| false)?;
    exchange(&mut stream, &at, (method, path, body)).map_err(|_| true)
}

fn exchange(
    stream: &mut TcpStream,
    at: &SocketAddr,
    (method, path, body): (&str, &str, &[u8]),
) -> io::Result<Response> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Response { status, head, body: answer[end + 4..].to_vec() })
}
