//! Clients of a node: their requests become local events, and answers leave as messages do.

use host_model::contract::{Fault, Input, LocalEvent, Request, Response};

use crate::gate::{Cause, Gate};
use crate::node::outbox::Output;
use crate::node::refusal::{self, Failure, NotNow, Undone};
use crate::node::requests::REQUESTS_BITS;
use crate::node::runtime::Node;
use crate::time::Time;

impl<G: Gate> Node<'_, G> {
    /// Takes a request of a client. The answer, if there ever is one, is a later [output](Self::next_output) with the number that this
    /// returns. The gate may postpone the resulting local event, but never loses it.
    ///
    /// # Errors
    ///
    /// The request is refused and has no effect.
    pub fn request(&mut self, now: Time, request: &Request) -> Result<u64, NotNow> {
        self.tick(now);
        match () {
            () if self.is_failed => return Err(NotNow::Failed),
            () if self.is_full() => return Err(NotNow::Full),
            () if self.requests.count >> REQUESTS_BITS > 0 => return Err(NotNow::Full),
            () => {}
        }
        // The number is unique for this node: the number of the start was on the disk before its first request.
        let number = self.manager.incarnation() << REQUESTS_BITS | self.requests.count;
        self.requests.count += 1;
        self.counts.requests += 1;
        match self.ask(number, request) {
            Ok(Ok(event)) => {
                self.requests.waiting.insert(number);
                self.happen_for(number, &event);
            }
            Ok(Err(response)) => self.outbox.add(Output::Answer { number, response }),
            Err(failure) => {
                if let Some(undone) = self.settle(refusal::Cause::Request, Err(failure)) {
                    // The request was only parsed; no event was tried.
                    self.outbox.add(Output::Answer { number, response: refused(413, &undone) });
                }
            }
        }
        Ok(number)
    }

    /// Handles the event of a request.
    pub(super) fn happen_for(&mut self, number: u64, event: &LocalEvent) {
        self.counts.local += 1;
        let result = self.handle(Some(Cause::Local(event)), Input::Local(event));
        if let Some(undone) = self.settle(refusal::Cause::Request, result) {
            if self.requests.waiting.remove(&number) {
                self.outbox.add(Output::Answer { number, response: refused(507, &undone) });
            }
        } else if self.timers.is_requested(event) {
            self.requests.delayed.insert(event.clone(), number);
        }
    }

    /// Notes that no client waits for the answer to this request any more.
    pub fn forget(&mut self, number: u64) {
        self.requests.waiting.remove(&number);
    }

    /// The event that a request becomes in the present state.
    fn ask(&mut self, number: u64, request: &Request) -> Result<Result<LocalEvent, Response>, Failure> {
        self.machine.restore(Some(&self.moment.snapshot))?;
        let result: Result<_, Fault> = self.machine.request(number, request);
        result.map_err(|fault| self.confirm(fault))
    }

    /// Releases the answers of a handler to waiting clients.
    pub(super) fn answer(&mut self, answers: Vec<(u64, Response)>) {
        for (number, response) in answers {
            if self.requests.waiting.remove(&number) {
                self.outbox.add(Output::Answer { number, response });
            }
        }
    }
}

/// The answer to a client whose request has hit a limit.
fn refused(status: u16, undone: &Undone) -> Response {
    let why = match status {
        413 => "the request takes more than the node may use",
        _ => "what was asked for takes more than the node may use, and has not happened",
    };
    Response::words(status, format!("{why}: {}\n", undone.fault))
}
