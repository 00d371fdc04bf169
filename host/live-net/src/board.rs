//! The counts and the phase of a node, published for its ports: reading them never waits for the node.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::metrics::{self, Measured};

/// The latest published counts of a node, and its phase.
pub(crate) struct Board {
    begun: Instant,
    published: Mutex<Published>,
    /// Requests that are being answered.
    answering: AtomicUsize,
}

/// The phase of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its start is not on the disk yet.
    #[default]
    Starts,
    /// It takes requests.
    Runs,
    /// It takes no more requests, and answers those that it has.
    Ends,
}

/// A request that is being answered, until this is dropped.
pub(crate) struct Answering<'b>(&'b Board);

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.answering.fetch_sub(1, Ordering::Release);
    }
}

#[derive(Default)]
struct Published {
    measured: Measured,
    /// Requests that were refused before they reached the node, by their status.
    refused: BTreeMap<u16, u64>,
    /// The time at which the node began its current work; none while it waits.
    busy: Option<Instant>,
    phase: Phase,
}

impl Board {
    /// The board of a node that started at this time.
    pub(crate) fn new(begun: Instant) -> Self {
        Self { begun, published: Mutex::default(), answering: AtomicUsize::default() }
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

    /// The phase of the node.
    pub(crate) fn phase(&self) -> Phase {
        self.lock().phase
    }

    /// Publishes the phase of the node.
    pub(crate) fn enter(&self, phase: Phase) {
        self.lock().phase = phase;
    }

    /// Counts a request until its answer is sent.
    pub(crate) fn answering(&self) -> Answering<'_> {
        self.answering.fetch_add(1, Ordering::Acquire);
        Answering(self)
    }

    /// The number of requests that are being answered.
    pub(crate) fn answers(&self) -> usize {
        self.answering.load(Ordering::Acquire)
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
