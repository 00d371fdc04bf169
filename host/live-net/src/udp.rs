//! Datagrams between nodes, where links have no order.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use host_model::contract::NodeId;

use crate::wire::Arrival;

/// The socket of a node.
pub(crate) struct Udp {
    socket: UdpSocket,
    addresses: Vec<SocketAddr>,
}

impl Udp {
    pub(crate) fn bind(
        addresses: &[SocketAddr],
        me: NodeId,
        arrivals: SyncSender<Arrival>,
        stopped: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let socket = UdpSocket::bind(addresses[me as usize])?;
        let receiver = socket.try_clone()?;
        receiver.set_read_timeout(Some(Duration::from_millis(50)))?;
        std::thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while !stopped.load(Ordering::Relaxed) {
                // An error is a time-out, or tells of a peer that was not there when something was sent to it.
                let Ok(length) = receiver.recv(&mut bytes) else { continue };
                if arrivals.send(Arrival::Frame { stream: None, bytes: bytes[..length].to_vec() }).is_err() {
                    return;
                }
            }
        });
        Ok(Self { socket, addresses: addresses.to_vec() })
    }

    /// Sends a frame; whether it has left. One that has not is lost, as others are.
    pub(crate) fn send(&self, to: NodeId, frame: &[u8]) -> bool {
        self.socket.send_to(frame, self.addresses[to as usize]).is_ok()
    }
}
