//! The results of several searches for promises of progress, combined.

use crate::kernel::{EndCondition, PromiseReport, Report, Search};
use crate::liveness;

/// Whether an answer leaves promises open that were to be decided, and that no violation makes unimportant.
pub(super) fn leaves_promises_open(report: &Report, search: &Search<'_>) -> bool {
    let wanted = liveness::decides(search.lts, search.bounds.promises).is_some();
    wanted && report.promises.is_empty() && report.end != EndCondition::Violation
}

/// Whether a report has samples of walks for some promise.
pub(super) fn samples(report: &Report) -> bool {
    report.promises.iter().any(|promise| promise.sampled.is_some())
}

/// Whether a report decides some promise.
pub(super) fn is_decided(report: &Report) -> bool {
    report.promises.iter().any(|promise| promise.decided.is_some())
}

/// Adds the samples of walks to a report that leaves promises open.
pub(super) fn sample(report: &mut Report, sampled: &[PromiseReport]) {
    if report.promises.is_empty() && report.end != EndCondition::Violation {
        report.promises = sampled.to_vec();
    }
    for promise in &mut report.promises {
        let walks = sampled.iter().find(|other| other.promise == promise.promise).and_then(|other| other.sampled);
        // Walks can prove a breach that a search within bounds leaves undecided.
        let is_open = promise.decided.is_none_or(|decided| decided.class.is_none());
        promise.sampled = walks.filter(|walks| promise.decided.is_none() || (is_open && walks.dead > 0));
    }
}

/// Adds the states that one of several searches has met to a report that leaves promises open.
pub(super) fn meet(report: &mut Report, of_all: &[PromiseReport]) {
    for other in of_all.iter().filter(|it| it.met.is_some()) {
        match report.promises.iter_mut().find(|it| it.promise == other.promise) {
            Some(known) => known.met = known.met.or(other.met),
            None => report.promises.push(PromiseReport { decided: None, sampled: None, ..*other }),
        }
    }
}
