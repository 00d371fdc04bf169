//! Datagrams between nodes, where links have no order.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use host_live::node::{Refusal, announced};
use host_model::contract::NodeId;

use crate::budget::{Account, Exceeded};
use crate::shared::Shared;
use crate::wire::Arrival;

/// What a datagram is: judged before it is kept.
fn arrival(datagram: &[u8], shared: &Shared) -> Arrival {
    let Some(head) = datagram.first_chunk() else { return Arrival::Refused(Refusal::Length) };
    let from = match announced(&shared.identity, head).and_then(|announced| announced.from) {
        Ok(from) => from,
        Err(refusal) => return Arrival::Refused(refusal),
    };
    match shared.budget.take(Account::From(from), datagram.len()) {
        Ok(share) => Arrival::Frame { stream: None, bytes: datagram.to_vec(), share },
        Err(Exceeded) => Arrival::Refused(Refusal::OverBudget),
    }
}

/// The socket of a node.
pub(crate) struct Udp {
    socket: UdpSocket,
    addresses: Vec<SocketAddr>,
}

impl Udp {
    pub(crate) fn bind(addresses: &[SocketAddr], shared: Shared) -> io::Result<Self> {
        let socket = UdpSocket::bind(addresses[shared.identity.node as usize])?;
        let receiver = socket.try_clone()?;
        receiver.set_read_timeout(Some(Duration::from_millis(50)))?;
        std::thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while !shared.is_stopped() {
                // An error is a time-out, or tells of a peer that was not there when something was sent to it.
                let Ok(length) = receiver.recv(&mut bytes) else { continue };
                if shared.arrivals.send(arrival(&bytes[..length], &shared)).is_err() {
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
