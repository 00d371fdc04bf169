//! The counts of a node, published for its metrics: reading them never waits for the node.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::metrics::{self, Measured};

/// The latest published counts of a node.
pub(crate) struct Board {
    begun: Instant,
    published: Mutex<Published>,
}

#[derive(Default)]
struct Published {
    measured: Measured,
    /// Requests that were refused before they reached the node, by their status.
    refused: BTreeMap<u16, u64>,
    /// The time at which the node began its current work; none while it waits.
    busy: Option<Instant>,
}

impl Board {
    /// The board of a node that started at this time.
    pub(crate) fn new(begun: Instant) -> Self {
        Self { begun, published: Mutex::default() }
    }

    /// Marks the node as busy.
    pub(crate) fn begin(&self) {
        self.lock().busy = Some(Instant::now());
    }

    /// Publishes the counts of the node; `waits` if it has nothing to do now.
    pub(crate) fn publish(&self, measured: Measured, waits: bool) {
        let mut published = self.lock();
        published.measured = measured;
        if waits {
            published.busy = None;
        }
    }

    /// Counts a request that was refused before it reached the node.
    pub(crate) fn refuse(&self, status: u16) {
        *self.lock().refused.entry(status).or_default() += 1;
    }

    /// The counts as text for Prometheus.
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
