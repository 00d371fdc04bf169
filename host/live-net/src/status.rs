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
    /// A process has its file, but does not answer at its addresses: it is still starting, or hangs.
    Silent,
    /// It runs.
    Up(Answers),
}

/// The answers of a node that runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// Its counts, by the names of its metrics; empty without an address for metrics.
    pub metrics: BTreeMap<String, f64>,
    /// Whether it is ready, and the reason if it is not; none without an address.
    pub readiness: Option<Result<(), String>>,
    /// The answer of the protocol about its status, as text, or the reason why there is none; none if it is not asked.
    pub protocol: Option<Result<String, String>>,
}

/// The places at which a node is asked for its status.
#[derive(Clone, Debug)]
pub struct Asking<'a> {
    /// Its data file.
    pub disk: &'a Path,
    /// Its address for metrics, if it has one.
    pub metrics: Option<SocketAddr>,
    /// Its address for clients, if it has one.
    pub clients: Option<SocketAddr>,
    /// The path at which the protocol answers with its status, if it does.
    pub path: Option<&'a str>,
}

/// The status of a node. It takes at most a few seconds, however slowly the node answers.
pub fn status(asking: &Asking<'_>) -> Status {
    let Asking { disk, metrics, clients, path } = asking;
    let counts = metrics.map(|address| ask(address, "/metrics").and_then(ok));
    let Some(port) = clients.or(*metrics) else {
        return if is_locked(disk) { Status::Up(Answers::default()) } else { Status::Down };
    };
    let is_silent = matches!(counts, Some(Err(_)));
    let readiness = if is_silent { Err(io::ErrorKind::TimedOut.into()) } else { ask(port, "/-/ready") };
    let Ok((status, text)) = readiness else {
        return if is_locked(disk) { Status::Silent } else { Status::Down };
    };
    let protocol = clients.zip(*path).map(|(clients, path)| match ask(clients, path) {
        Ok((200..=299, text)) => Ok(text),
        Ok((status, text)) => Err(format!("{status} {}", text.trim())),
        Err(_) => Err("no answer in time".to_owned()),
    });
    Status::Up(Answers {
        metrics: counts.and_then(Result::ok).map(|text| numbers(&text)).unwrap_or_default(),
        readiness: Some(if status < 300 { Ok(()) } else { Err(text.trim().to_owned()) }),
        protocol,
    })
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

/// The text of an answer that is a success.
fn ok(answer: Answer) -> io::Result<String> {
    let (status, text) = answer;
    if (200..300).contains(&status) { Ok(text) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// The status code and the text of an answer.
type Answer = (u16, String);

fn ask(address: SocketAddr, path: &str) -> io::Result<Answer> {
    let until = Instant::now() + PATIENCE;
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    // The deadline is for the whole answer, and not for each byte.
    let mut stream = Limited::new(&stream, until, &|| false)?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let parts = answer.split_once("\r\n\r\n").and_then(|(head, body)| {
        let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        Some((status, body.to_owned()))
    });
    parts.ok_or_else(|| io::ErrorKind::InvalidData.into())
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
        for (is_dripping, is_for_clients) in [(true, false), (false, false), (true, true)] {
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
            let (metrics, clients) = if is_for_clients { (None, Some(address)) } else { (Some(address), None) };
            assert_eq!(status(&Asking { disk: &disk, metrics, clients, path: None }), Status::Silent);
            slow.join().expect("it does not panic");
        }
    }

    #[test]
    fn a_node_is_up_once_it_answers() {
        let folder = tempfile::TempDir::new().expect("a temporary folder");
        let disk = folder.path().join("node");
        // An address without an owner.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("loopback");
        let of = |metrics, clients| status(&Asking { disk: &disk, metrics, clients, path: Some("/") });
        let all = || [of(None, None), of(Some(free), None), of(None, Some(free))];
        assert_eq!(all(), [Status::Down, Status::Down, Status::Down]);
        let (_opened, _) =
            crate::disk::Disk::open(&disk, &crate::tests::owner(), Ways::default()).expect("the file is free");
        assert_eq!(all(), [Status::Up(Answers::default()), Status::Silent, Status::Silent]);
    }
}
