//! The counts of a node, published for its metrics: reading them never waits for the node.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::metrics::{self, Measured};

/// The counts of a node as it has published them last.
pub(crate) struct Board {
    begun: Instant,
    published: Mutex<Published>,
}

#[derive(Default)]
struct Published {
    measured: Measured,
    /// Requests that were refused before the node heard of them, by their status.
    refused: BTreeMap<u16, u64>,
    /// Since when the node works on what it has now; none while it waits.
    busy: Option<Instant>,
}

impl Board {
    /// Of a node that has begun at a time.
    pub(crate) fn new(begun: Instant) -> Self {
        Self { begun, published: Mutex::default() }
    }

    /// The node begins to work on something.
    pub(crate) fn begin(&self) {
        self.lock().busy = Some(Instant::now());
    }

    /// Publishes the counts of the node, which has nothing to do now if it `waits`.
    pub(crate) fn publish(&self, measured: Measured, waits: bool) {
        let mut published = self.lock();
        published.measured = measured;
        if waits {
            published.busy = None;
        }
    }

    /// A request was refused before the node has heard of it.
    pub(crate) fn refuse(&self, status: u16) {
        *self.lock().refused.entry(status).or_default() += 1;
    }

    /// As text, for Prometheus.
    pub(crate) fn text(&self) -> String {
        let published = self.lock();
        let busy = published.busy.map_or(0.0, |since| since.elapsed().as_secs_f64());
        let (seconds, requests_refused) = (self.begun.elapsed().as_secs_f64(), published.refused.clone());
        let measured = Measured { seconds, busy, requests_refused, ..published.measured.clone() };
        drop(published);
        metrics::text(measured)
    }

    fn lock(&self) -> MutexGuard<'_, Published> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
