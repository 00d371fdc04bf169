//! The end of a node on a signal: it takes no more requests, hands over, and answers the requests that it has.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use host_model::contract::{Request, Response};

use crate::board::Phase;
use crate::drive::{Net, Place, RunError, Running};
use crate::wire::{Arrival, Asked};

/// The maximum time for the whole end: less than platforms wait before they kill a process, mostly 10 s.
const END_MAX: Duration = Duration::from_secs(5);
/// The maximum time for the last frames to leave; those to a node that is down never do.
const FLUSH_MAX: Duration = Duration::from_millis(200);
/// The interval of checks whether they have left.
const PAUSE: Duration = Duration::from_millis(2);

impl Running {
    /// Ends the node, which has received a signal. Everything that it has acknowledged is on its disk in any case; at the end, what it has
    /// not synced is there, too.
    pub(super) fn end(&mut self, arrivals: &Receiver<Arrival>, place: &Place) -> Result<(), RunError> {
        self.board.enter(Phase::Ends);
        let (begun, never) = (Instant::now(), AtomicBool::new(false));
        let is_over = || place.all_end.load(Ordering::Relaxed) || begun.elapsed() >= END_MAX;
        let mut handing_over = place.operations.hand_over.as_ref().filter(|_| !is_over()).map(|path| {
            let (reply, answer) = sync_channel(1);
            let request = Request { method: "POST".to_owned(), path: path.clone(), body: Vec::new() };
            self.asked.push_front(Asked { request, reply });
            answer
        });
        while !is_over() {
            match handing_over.as_ref().map(Receiver::try_recv) {
                Some(Err(TryRecvError::Empty)) => {}
                None if self.board.answers() == 0 => break,
                None => {}
                Some(answer) => {
                    self.tell_handed_over(answer.ok(), begun.elapsed());
                    handing_over = None;
                }
            }
            self.turn(arrivals, &never)?;
        }
        let (left, is_quick) = (self.board.answers(), place.all_end.load(Ordering::Relaxed));
        if !is_quick && (handing_over.is_some() || left > 0) {
            let what = if handing_over.is_some() { "nothing is handed over" } else { "nothing is left to hand over" };
            self.log.tell("ends late", &format_args!("ends with {left} requests that have no answer; {what}"));
        }
        self.node.save();
        self.execute()?;
        if !is_quick {
            self.flush();
        }
        Ok(())
    }

    /// Logs the answer of the protocol to the request to hand over.
    fn tell_handed_over(&mut self, answer: Option<Response>, time: Duration) {
        match answer {
            Some(Response { status: 200..=299, .. }) => {
                self.log.tell("handed over", &format_args!("has handed over after {} ms", time.as_millis()));
            }
            Some(Response { status, body, .. }) => {
                let why = String::from_utf8_lossy(&body).trim().to_owned();
                self.log.tell("handed over", &format_args!("has not handed over: {status} {why}"));
            }
            None => self.log.tell("handed over", &"has not handed over: no answer"),
        }
    }

    /// Waits until the frames in the queues have left: among them may be the vote by which another node leads.
    fn flush(&self) {
        let begun = Instant::now();
        while let Net::Tcp(tcp) = &self.net
            && !tcp.is_idle()
            && begun.elapsed() < FLUSH_MAX
        {
            std::thread::sleep(PAUSE);
        }
    }
}
