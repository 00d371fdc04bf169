//! The status of a node, from outside.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::limited::Limited;

/// The maximum time for the whole answer of a node.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of an answer.
const ANSWER_MAX: u64 = 1 << 20;

/// The status of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// It does not run.
    Down,
    /// A process has its file, but does not answer at the address for metrics: it is still starting, or hangs.
    Silent,
    /// It runs; its counts, by the names of its metrics, if it has an address for metrics.
    Up(BTreeMap<String, f64>),
}

/// The status of the node with this file, and with this address for metrics if it has one.
pub fn status(disk: &Path, metrics: Option<SocketAddr>) -> Status {
    match metrics.map(ask) {
        Some(Ok(text)) => Status::Up(numbers(&text)),
        _ if !is_locked(disk) => Status::Down,
        Some(Err(_)) => Status::Silent,
        None => Status::Up(BTreeMap::new()),
    }
}

/// Whether a process has the file of a node. A node that starts at the moment of this check may find its file in use.
fn is_locked(disk: &Path) -> bool {
    let path = disk.with_extension("lock");
    // Opening a pipe would wait for its other end.
    let lock = path.metadata().and_then(|metadata| match metadata.is_file() {
        true => File::open(path),
        false => Err(io::ErrorKind::InvalidInput.into()),
    });
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn ask(address: SocketAddr) -> io::Result<String> {
    let until = Instant::now() + PATIENCE;
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    // The deadline is for the whole answer, and not for each byte.
    let mut stream = Limited::new(&stream, until, &|| false)?;
    stream.write_all(format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut answer)?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200 ") => Ok(body.to_owned()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The metrics in the text format of Prometheus.
fn numbers(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.rsplit_once(' '))
        .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::Ways;

    /// A port that sends a byte regularly without end, and one that accepts a request and sends nothing: both are silent.
    #[test]
    fn a_slow_port_is_silent() {
        let folder = tempfile::TempDir::new().expect("a temporary folder");
        let disk = folder.path().join("node");
        let (_opened, _) =
            crate::disk::Disk::open(&disk, &crate::tests::owner(), Ways::default()).expect("the file is free");
        for is_dripping in [true, false] {
            let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has room");
            let address = listener.local_addr().expect("it is bound");
            let slow = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().expect("it is asked");
                // Ends only when the other end closes.
                while !is_dripping || stream.write_all(b"H").is_ok() {
                    std::thread::sleep(Duration::from_millis(20));
                    if !is_dripping && matches!(stream.read(&mut [0; 1 << 10]), Ok(0) | Err(_)) {
                        break;
                    }
                }
            });
            assert_eq!(status(&disk, Some(address)), Status::Silent);
            slow.join().expect("it does not panic");
        }
    }

    #[test]
    fn a_node_is_up_once_it_answers() {
        let folder = tempfile::TempDir::new().expect("a temporary folder");
        let disk = folder.path().join("node");
        // An address without an owner.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("loopback");
        assert_eq!([status(&disk, None), status(&disk, Some(free))], [Status::Down, Status::Down]);
        let (_opened, _) =
            crate::disk::Disk::open(&disk, &crate::tests::owner(), Ways::default()).expect("the file is free");
        assert_eq!([status(&disk, None), status(&disk, Some(free))], [Status::Up(BTreeMap::new()), Status::Silent]);
    }
}
