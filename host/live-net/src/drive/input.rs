//! The inputs of a node: frames, connections and requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host_live::node::{Refusal, sender_of};
use host_model::contract::Response;

use crate::connections::{Broken, Meeting};
use crate::drive::{Net, RunError, Running};
use crate::wire::{Arrival, Asked};

/// The maximum time that outputs wait for those of further inputs: about as long as a disk takes for a record.
const WAIT_MAX: Duration = Duration::from_millis(5);

impl Running {
    /// Handles an arrival. Its outputs leave after the arrivals behind it were handled too, unless they need the room.
    pub(super) fn take(&mut self, arrival: Arrival) -> Result<(), RunError> {
        match arrival {
            Arrival::Connected { stream, peer, place, handle } => {
                self.connections.connected(stream, peer, place, handle);
            }
            Arrival::Accepted { stream, proven, number, handle } => {
                self.connections.accepted(stream, proven, number, handle);
            }
            Arrival::Distrusted(distrust) => {
                *self.distrusted.entry(distrust.name()).or_default() += 1;
                let words = format_args!("has refused a connection: {}", distrust.name());
                self.log.tell(distrust.name(), &words);
            }
            Arrival::Frame { stream: None, bytes, share: _share } => self.receive(&bytes)?,
            Arrival::Frame { stream: Some(stream), bytes, share: _share } => self.take_frame(stream, &bytes)?,
            Arrival::Refused(refusal) => self.refuse(refusal),
            Arrival::Asked(asked) => self.asked.push_back(asked),
            Arrival::Gone { stream, refusal } => {
                refusal.into_iter().for_each(|refusal| self.refuse(refusal));
                self.connections.gone(stream).into_iter().for_each(|broken| self.broken(broken));
            }
        }
        self.make_room()
    }

    /// Handles requests of clients until a timer is due. Frames come first, so a node with many clients still handles the frames of its
    /// peers.
    pub(super) fn take_requests(&mut self, stop: &AtomicBool) -> Result<(), RunError> {
        while let Some(asked) = self.asked.pop_front() {
            self.take_request(asked);
            self.make_room()?;
            let is_due = self.node.deadline().is_some_and(|due| due <= self.now());
            if is_due || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    }

    /// Executes the outputs of the node if it has no room for more, or if they have waited for [`WAIT_MAX`]. Otherwise they wait for
    /// those of the next inputs, so that one record on the disk serves all.
    fn make_room(&mut self) -> Result<(), RunError> {
        if self.node.is_full() || self.executed.elapsed() >= WAIT_MAX { self.execute() } else { Ok(()) }
    }

    /// Handles a request of a client.
    fn take_request(&mut self, Asked { request, reply }: Asked) {
        match self.node.request(self.now(), &request) {
            Ok(number) => self.waiting.add(number, reply),
            // If the client has closed its connection, the answer is dropped.
            Err(why) => drop(reply.try_send(Response::words(503, format!("{why}\n")))),
        }
    }

    /// Handles a frame from a stream. The first frame names the sender.
    fn take_frame(&mut self, stream: u64, bytes: &[u8]) -> Result<(), RunError> {
        let Some(speaker) = self.connections.speaker(stream) else { return Ok(()) };
        match sender_of(bytes) {
            Some(from) if speaker.node.is_some_and(|node| node != from) => {
                self.refuse(Refusal::Impostor(from));
                return Ok(());
            }
            _ if speaker.is_met => {}
            // An invalid frame proves nothing about connections.
            _ => match self.node.start_of(bytes).map(|(peer, start)| self.connections.meet(stream, peer, start)) {
                Some(Meeting::Late) => return Ok(()),
                Some(Meeting::Next(broken)) => self.broken(broken),
                Some(Meeting::Taken) | None => {}
            },
        }
        self.receive(bytes)
    }

    /// Passes a frame to the node, which counts refused ones. If others know a later start of the node, or know it by
    /// another disk, its next start is refused.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        let Err(refusal) = self.node.receive(self.now(), bytes) else { return Ok(()) };
        // The disk comes before the log: a node killed because of the log line must not restart as if nothing was lost.
        if let Some((start, disk)) = refusal.known()
            && (start > self.known.0 || disk > self.known.1)
        {
            self.known = (start.max(self.known.0), disk.max(self.known.1));
            self.disk.note_known(start, disk)?;
        }
        self.tell_refused(refusal);
        Ok(())
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.node.refuse(refusal);
        self.tell_refused(refusal);
    }

    /// Notifies the node of a broken connection: its queue is lost, and further frames from its streams are ignored.
    pub(super) fn broken(&mut self, Broken { peer, epoch, was_used }: Broken) {
        if let Net::Tcp(tcp) = &self.net {
            tcp.discard(peer, epoch);
        }
        if was_used {
            self.log.tell(&format!("broken {peer}"), &format_args!("has lost the connection with node {peer}"));
            self.node.disconnected(self.now(), peer);
        }
    }
}
