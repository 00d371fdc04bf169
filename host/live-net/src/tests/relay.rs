//! A relay between the nodes in a test: it delays, loses, duplicates and reorders datagrams, and cuts connections.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(1);

/// Forwards bytes or datagrams to a node until it is dropped.
pub(super) struct Relay {
    stopped: Arc<AtomicBool>,
    /// The number of disturbances.
    pub(super) troubles: Arc<AtomicU64>,
    /// Whether everything for the node is read and discarded.
    pub(super) is_cut: Arc<AtomicBool>,
}

impl Relay {
    /// A relay of connections: each is cut after this many pieces, and the last piece is torn.
    pub(super) fn tcp(at: SocketAddr, to: SocketAddr, pieces_max: usize) -> Self {
        let relay = Self { stopped: Arc::default(), troubles: Arc::default(), is_cut: Arc::default() };
        let listener = TcpListener::bind(at).expect("the address is free");
        listener.set_nonblocking(true).expect("a socket can");
        let (stopped, troubles) = (Arc::clone(&relay.stopped), Arc::clone(&relay.troubles));
        let is_cut = Arc::clone(&relay.is_cut);
        std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let Ok((stream, _)) = listener.accept() else {
                    sleep(PAUSE);
                    continue;
                };
                let (stopped, troubles) = (Arc::clone(&stopped), Arc::clone(&troubles));
                let is_cut = Arc::clone(&is_cut);
                std::thread::spawn(move || {
                    if let Ok(target) = TcpStream::connect(to) {
                        forward(&stream, &target, pieces_max, &stopped, &is_cut);
                        let _ = target.shutdown(Shutdown::Both);
                        troubles.fetch_add(1, Ordering::Relaxed);
                    }
                    let _ = stream.shutdown(Shutdown::Both);
                });
            }
        });
        relay
    }

    /// A relay of datagrams: of thirty, six are lost, five arrive twice, and six arrive after the next one.
    pub(super) fn udp(at: SocketAddr, to: SocketAddr) -> Self {
        let relay = Self { stopped: Arc::default(), troubles: Arc::default(), is_cut: Arc::default() };
        let socket = UdpSocket::bind(at).expect("the address is free");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket can");
        let (stopped, troubles) = (Arc::clone(&relay.stopped), Arc::clone(&relay.troubles));
        let is_cut = Arc::clone(&relay.is_cut);
        std::thread::spawn(move || {
            let (mut bytes, mut kept, mut count) = (vec![0; 1 << 16], Vec::new(), 0_u64);
            while !stopped.load(Ordering::Relaxed) {
                let Ok(length) = socket.recv(&mut bytes) else { continue };
                if is_cut.load(Ordering::Relaxed) {
                    continue;
                }
                sleep(PAUSE);
                count += 1;
                let copies = match count % 5 {
                    1 => 0,
                    2 if kept.is_empty() => {
                        kept = bytes[..length].to_vec();
                        0
                    }
                    _ if count % 6 == 5 => 2,
                    _ => 1,
                };
                troubles.fetch_add(u64::from(copies != 1), Ordering::Relaxed);
                for _ in 0..copies {
                    let _ = socket.send_to(&bytes[..length], to);
                }
                if copies > 0 && !kept.is_empty() {
                    let _ = socket.send_to(&std::mem::take(&mut kept), to);
                }
            }
        });
        relay
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Forwards bytes in pieces, with a delay, until this many were forwarded or an end is gone.
fn forward(mut from: &TcpStream, mut to: &TcpStream, pieces_max: usize, stopped: &AtomicBool, is_cut: &AtomicBool) {
    let set_up = from.set_nonblocking(false).and_then(|()| from.set_read_timeout(Some(Duration::from_millis(5))));
    set_up.expect("a socket can");
    to.set_read_timeout(Some(PAUSE)).expect("a socket can");
    let (mut bytes, mut pieces) = ([0; 512], 0);
    while pieces < pieces_max && !stopped.load(Ordering::Relaxed) {
        match from.read(&mut bytes) {
            Ok(0) => return,
            Ok(_) if is_cut.load(Ordering::Relaxed) => {}
            Ok(length) => {
                sleep(PAUSE);
                pieces += 1;
                let is_last = pieces == pieces_max;
                let length = if is_last { length / 2 } else { length };
                if to.write_all(&bytes[..length]).is_err() {
                    return;
                }
            }
            // The accepting node sends bytes only during a handshake.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                match to.read(&mut bytes) {
                    Ok(0) => return,
                    Ok(length) => {
                        if from.write_all(&bytes[..length]).is_err() {
                            return;
                        }
                    }
                    Err(_) => {}
                }
            }
            Err(_) => return,
        }
    }
}
