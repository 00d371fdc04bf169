//! The answer of the part of the graph close by.

use host_model::trace::start::Start;

use crate::graph;
use crate::kernel::rules::Rules;
use crate::kernel::{EndCondition, Monitor, Phase, Progress, Search, SearchBounds, SearchError};
use crate::liveness::{Recorder, Watch, prospects, way_to_live};
use crate::outlook::{Outlook, stop};

/// States explored at first, and the maximum; most states are close to one that keeps the promise.
const FIRST: u64 = 64;
const LAST: u64 = 16_384;

/// The factor by which the limit grows each time.
const GROWTH: u64 = 16;

/// Explores the states that one state leads to by events on which progress can rely, level by level, up to a fixed number of them.
///
/// Guarantee: a path is a shortest one, and a dead state is dead. Complete: if there are no more states than that. Returns also the
/// number of steps taken.
///
/// # Errors
///
/// The host cannot provide an instance, or has to stop.
pub fn look_around(
    search: &Search<'_>,
    state: &Start,
    promise: usize,
    rules: Rules,
    progress: &Progress,
) -> Result<(Outlook, u64), SearchError> {
    let monitor = Within { monitor: search.monitor, progress: *progress };
    let (mut states, mut taken) = (FIRST, 0);
    loop {
        let bounds = SearchBounds { states: Some(states), violations: Some(u64::MAX), ..SearchBounds::default() };
        let starts = std::slice::from_ref(state);
        let inner = Search { lts: search.lts, starts, bounds, monitor: &monitor, collect_system_states: false };
        let mut recorder = Recorder::new(search.lts);
        let report = graph::explore_reliable(&inner, rules.recovery, &mut recorder)?;
        if report.end.is_external() {
            return Err(stop(report.end).into());
        }
        taken += report.counts.transitions.unwrap_or(0);
        let recorded = recorder.finish();
        let watch = &mut Watch::new(&monitor, *progress);
        let prospects = prospects(&recorded.graph, promise, rules, watch).map_err(stop)?;
        if prospects.is_dead(0) {
            return Ok((Outlook::Dead, taken));
        }
        if prospects.is_live(0) {
            let way = way_to_live(&recorded.graph, promise, 0, rules.recovery, watch).map_err(stop)?;
            return Ok((Outlook::Alive(recorded.steps(&way.expect("a live state has a way"))), taken));
        }
        if states >= LAST {
            return Ok((Outlook::Open, taken));
        }
        states *= GROWTH;
    }
}

/// Reports to the monitor of the search that asks: the progress of that search, with the memory of the outlook.
struct Within<'m> {
    monitor: &'m dyn Monitor,
    progress: Progress,
}

impl Monitor for Within<'_> {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        self.monitor.check(&Progress { bytes: self.progress.bytes.saturating_add(progress.bytes), ..self.progress })
    }

    fn memory_max(&self) -> Option<u64> {
        self.monitor.memory_max()
    }

    fn enter(&self, phase: Phase) {
        self.monitor.enter(phase);
    }
}
