//! The requests that wait for an answer of the node.

use std::collections::BTreeMap;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use host_model::contract::Response;

/// The maximum time that a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The requests that wait for an answer of the node, by their numbers.
#[derive(Default)]
pub(crate) struct Waiting(BTreeMap<u64, (Instant, SyncSender<Response>)>);

impl Waiting {
    pub(crate) fn add(&mut self, number: u64, reply: SyncSender<Response>) {
        self.0.insert(number, (Instant::now() + PATIENCE, reply));
    }

    /// The number of requests.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Answers a request, if a client still waits for the answer.
    pub(crate) fn answer(&mut self, number: u64, response: Response) {
        if let Some((_, reply)) = self.0.remove(&number) {
            // Each channel has room for one answer; if the client is gone, the answer is dropped.
            let _ = reply.try_send(response);
        }
    }

    /// Gives up the requests that have waited too long, and returns their numbers.
    pub(crate) fn expire(&mut self) -> Vec<u64> {
        let mut late = Vec::new();
        while let Some(first) = self.0.first_entry().filter(|first| first.get().0 <= Instant::now()) {
            late.push(*first.key());
            first.remove();
        }
        late
    }
}
