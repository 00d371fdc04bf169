//! Local model checking that is sound by construction.

use std::collections::BTreeSet;

use host_model::lts::LocalStateId;
use host_model::property::Judgement;
use host_model::scenario::Network;
use host_model::start::Start;
use host_model::stepper::Stepper;

use crate::cuts;
use crate::ends;
use crate::kernel::{
    Counts, End, Found, Limits, Progress, Report, Search, SearchError, judge_system_state, or_end, stopped_end,
};
use crate::reduce;
use crate::targets::{Hit, Targets};
use crate::unfolding::{Everything, Grown, Order, Relevance, Unfolding};

/// The first number of events at which tuples of classes are combined; later ones are so many times the one before.
/// Most violations show right after an event, so this is for the few that need two events side by side.
const FIRST_SEARCH: usize = 64;
const SEARCH_GROWTH: usize = 8;

/// Causal unfolding with cut-offs.
///
/// Guarantee: every reported violation is reachable, and the shortest one; of several, the shortest of each.
/// Complete: within the bounds.
/// Explores: events with their causal pasts, so interleavings of independent events are never told apart. Memory:
/// about 200 bytes an event.
/// Honours: depth, local-event and state bounds (a state is an event here), the wish to find deadlocks, the monitor.
/// Source: see [`unfolding`](crate::unfolding); differs in: properties are decided on tuples of view classes, see
/// [`targets`](crate::targets).
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    run_with(search, Order::Adequate)
}

/// [`run`] with a choice of the order of the events.
#[doc(hidden)]
pub fn run_with(search: &Search<'_>, order: Order) -> Result<Report, SearchError> {
    let mut stepper = Stepper::new(search.lts)?;
    let mut report = Report::new(search.lts).collecting(&search.limits);
    let mut states = BTreeSet::new();
    let mut events = 0;
    for start in search.starts {
        let mut run =
            Run { search, start, report: &mut report, order, until_witnessed: &[], events_before: events, events: 0 };
        let explored = run.explore(&mut stepper, &Everything, &mut states);
        events += run.events;
        if let Some(end) = or_end(explored.map(|()| None))? {
            report.end = report.end.max(end);
            break;
        }
        if report.is_full() {
            break;
        }
    }
    report.counts.events = Some(events);
    report.fingerprints = Some(events);
    if search.limits.count_system_states {
        report.counts.system_states = count_system_states(search, &mut report.end, states.len() as u64)?;
    }
    if search.collect_system_states {
        report.counts.system_states = Some(states.len() as u64);
        report.system_states = Some(states.into_iter().collect());
    }
    report.count_local(search.lts);
    Ok(report)
}

/// The number of distinct system states of a search that is over; none if it did not get to the end of what it was to
/// explore. Counting can be ended by the monitor, which `end` then says, and what was counted until then is returned.
///
/// The unfolding has each system state as a tuple of events with compatible pasts, in most cases as very many, and to
/// go through all of them costs as much as a global search. The search of [`reduce`] goes through few global states and
/// yet misses no system state, so it does the counting. Only under a bound on depth and on an ordered network, which it
/// cannot keep, the
/// configurations were walked, with `walked` system states at their ends.
fn count_system_states(search: &Search<'_>, end: &mut End, walked: u64) -> Result<Option<u64>, SearchError> {
    if is_counted_by_walking(search) {
        return Ok((*end != End::Violation).then_some(walked));
    }
    if !matches!(end, End::SpaceExhausted | End::LocalEventBound) {
        return Ok(None);
    }
    let limits = Limits { states: None, ..search.limits };
    let counting = reduce::explore(&Search { limits, collect_system_states: false, ..*search })?;
    *end = counting.end.max(*end);
    Ok(counting.counts.system_states)
}

/// Whether the system states are counted by walking all configurations.
fn is_counted_by_walking(search: &Search<'_>) -> bool {
    search.limits.depth.is_some() || search.lts.scenario().has_network(Network::Ordered)
}

/// The unfolding from one start state, for a report.
pub(crate) struct Run<'r, 's> {
    pub(crate) search: &'r Search<'s>,
    pub(crate) start: &'r Start,
    pub(crate) report: &'r mut Report,
    pub(crate) order: Order,
    /// Properties of kind `sometimes` whose witnesses are all that is asked for; none: everything is.
    pub(crate) until_witnessed: &'r [u32],
    pub(crate) events_before: u64,
    /// Executed extensions of this unfolding.
    pub(crate) events: u64,
}

impl Run<'_, '_> {
    /// Grows the unfolding until it is complete, a bound is hit or the shortest violation is known; `report.end` says
    /// which.
    pub(crate) fn explore(
        &mut self,
        stepper: &mut Stepper<'_>,
        relevance: &dyn Relevance,
        states: &mut BTreeSet<Box<[LocalStateId]>>,
    ) -> Result<(), SearchError> {
        let limits = self.search.limits;
        let depth_max = limits.depth.unwrap_or(u32::MAX - 1);
        let mut unfolding = Unfolding::new(stepper, self.start, limits, relevance, self.order)?;
        let mut targets = Targets::new(self.start.locals.len());
        let wanted = self.report.violations_max as usize - self.report.violations.len();
        let mut best = Best { hits: Vec::new(), wanted };
        let mut next_search = FIRST_SEARCH;
        let end = loop {
            let hits = match targets.note(&mut unfolding) {
                Ok(hits) => hits,
                Err(error) => break stopped_end(error)?,
            };
            best.take(self.report, hits);
            if unfolding.events().len() >= next_search {
                next_search = unfolding.events().len() * SEARCH_GROWTH;
                if let Some(end) = self.search_tuples(&unfolding, &mut targets, &mut best, depth_max) {
                    break end;
                }
                let found = self.search_ends(&mut unfolding, &mut best, depth_max);
                if let Err(error) = found {
                    break stopped_end(error)?;
                }
            }
            if let Some(end) = self.stop(&unfolding, &best) {
                break end;
            }
            let mut stopped = None;
            let grown = unfolding.grow(&mut |unfolding| {
                stopped = self.search.monitor.check(&self.progress(unfolding));
                stopped.is_none()
            });
            self.events = unfolding.executed();
            if let Some(end) = stopped {
                break end;
            }
            let grown = match grown {
                Ok(grown) => grown,
                Err(error) => break stopped_end(error)?,
            };
            if grown != Grown::More {
                break match (unfolding.depth_cut(), unfolding.local_events_cut()) {
                    (true, _) => End::DepthBound,
                    (false, true) => End::LocalEventBound,
                    (false, false) => End::SpaceExhausted,
                };
            }
        };
        let mut end = end;
        // Out of time or memory, there is none left for this either.
        let mut is_searched = !end.is_external();
        if is_searched && let Some(stopped) = self.search_tuples(&unfolding, &mut targets, &mut best, depth_max) {
            is_searched = false;
            end = end.max(stopped);
        }
        if end != End::Pruned
            && let Some(stopped) = or_end(self.search_ends(&mut unfolding, &mut best, depth_max))?
        {
            end = end.max(stopped);
        }
        let is_counted = limits.count_system_states && is_counted_by_walking(self.search) && end != End::Violation;
        if end != End::Pruned && (targets.overflown || self.search.collect_system_states || is_counted) {
            let walked = self.walk(&mut unfolding, &mut best, depth_max, states);
            end = or_end(walked.map(|()| None))?.map_or(end, |stopped| end.max(stopped));
        }
        self.report.depth = self.report.depth.max(unfolding.size().saturating_sub(1));
        // A bound hit from an earlier start state stays.
        self.report.end = self.report.end.max(end);
        if best.is_full() {
            self.report.end = End::Violation;
        }
        for hit in best.hits {
            let path = unfolding.linearise(&hit.config);
            let mut found = Found::new(self.start, &path, hit.node, hit.judgement);
            // All events that are smaller exist, so nothing smaller was missed.
            let is_grown = matches!(end, End::Violation | End::SpaceExhausted | End::LocalEventBound);
            found.shortest = is_searched && (is_grown || hit.size <= unfolding.size());
            self.report.violations.push(found);
        }
        Ok(())
    }

    /// Looks for the smallest violations among tuples of classes; returns why that was given up, if it was.
    fn search_tuples(
        &mut self,
        unfolding: &Unfolding<'_, '_>,
        targets: &mut Targets,
        best: &mut Best,
        depth_max: u32,
    ) -> Option<End> {
        let size_max = best.size_max().unwrap_or(depth_max + 1);
        let report = &self.report;
        let is_wanted = |judgement: &Judgement| report.wants(judgement);
        let progress = self.progress(unfolding);
        let mut stopped = None;
        let hits = targets.search(unfolding, size_max, best.wanted == 1, &is_wanted, &mut || {
            stopped = self.search.monitor.check(&progress);
            stopped.is_none()
        });
        best.take(self.report, hits);
        stopped
    }

    /// Looks for the smallest deadlocks, as far as they are still of use; returns why that was given up, if it was.
    fn search_ends(
        &mut self,
        unfolding: &mut Unfolding<'_, '_>,
        best: &mut Best,
        depth_max: u32,
    ) -> Result<Option<End>, SearchError> {
        if !self.search.limits.deadlock {
            return Ok(None);
        }
        let size_max = best.size_max().map_or(Some(depth_max), |size| size.checked_sub(1));
        let Some(size_max) = size_max else { return Ok(None) };
        let progress = self.progress(unfolding);
        let mut stopped = None;
        let found = ends::smallest_deadlocks(unfolding, size_max, best.wanted > 1, || {
            stopped = self.search.monitor.check(&progress);
            stopped.is_none()
        })?;
        best.take(self.report, found);
        Ok(stopped)
    }

    /// Why to stop growing, if there is a reason.
    fn stop(&self, unfolding: &Unfolding<'_, '_>, best: &Best) -> Option<End> {
        if best.size_max().is_some_and(|size| size <= unfolding.size()) {
            return Some(End::Violation);
        }
        let is_witnessed = |property: &u32| !self.report.wants_witness(*property);
        if !self.until_witnessed.is_empty() && self.until_witnessed.iter().all(is_witnessed) {
            return Some(End::Pruned);
        }
        if self.search.limits.states.is_some_and(|max| self.events_before + unfolding.executed() >= max) {
            return Some(End::StateBound);
        }
        self.search.monitor.check(&self.progress(unfolding))
    }

    fn progress(&self, unfolding: &Unfolding<'_, '_>) -> Progress {
        let events = self.events_before + unfolding.executed();
        Progress {
            counts: Counts { events: Some(events), ..Counts::default() },
            depth: unfolding.size().saturating_sub(1),
            queue: unfolding.queued(),
            bytes: unfolding.bytes() + self.search.lts.counts().bytes,
        }
    }

    /// Walks all configurations, to collect the system states or because there are too many classes to combine.
    fn walk(
        &mut self,
        unfolding: &mut Unfolding<'_, '_>,
        best: &mut Best,
        depth_max: u32,
        states: &mut BTreeSet<Box<[LocalStateId]>>,
    ) -> Result<(), SearchError> {
        let progress = self.progress(unfolding);
        let mut stopped = None;
        let found = cuts::system_states(unfolding, depth_max, || {
            stopped = self.search.monitor.check(&progress);
            stopped.is_none()
        });
        if let Some(end) = stopped {
            self.report.end = self.report.end.max(end);
        }
        for (locals, config) in found {
            let size = unfolding.chains().config_size(&config);
            let hits = judge_system_state(unfolding.stepper(), &locals)?.into_iter();
            let hits = hits.map(|(node, judgement)| Hit { judgement, node, config: config.clone(), size }).collect();
            best.take(self.report, hits);
            states.insert(locals);
        }
        Ok(())
    }
}

/// The smallest violations so far, in the order of their sizes, no two with the same words.
struct Best {
    hits: Vec<Hit>,
    /// How many are wanted; at least one.
    wanted: usize,
}

impl Best {
    fn is_full(&self) -> bool {
        self.hits.len() >= self.wanted
    }

    /// What a violation that is still of use is smaller than; none if any is.
    fn size_max(&self) -> Option<u32> {
        self.hits.last().filter(|_| self.is_full()).map(|hit| hit.size)
    }

    /// Notes witnesses, and keeps what is bad and small.
    fn take(&mut self, report: &mut Report, hits: Vec<Hit>) {
        for hit in hits {
            if let Judgement::Witnessed { property } = hit.judgement {
                report.witness(property);
                continue;
            }
            let is_it = |other: &Hit| other.node == hit.node && other.judgement == hit.judgement;
            match self.hits.iter().position(is_it) {
                Some(known) if self.hits[known].size <= hit.size => continue,
                Some(known) => {
                    self.hits.remove(known);
                }
                None if !report.is_news(hit.node, &hit.judgement) => continue,
                None => {}
            }
            // Of the same size the first one stays.
            let place = self.hits.partition_point(|other| other.size <= hit.size);
            self.hits.insert(place, hit);
            self.hits.truncate(self.wanted);
        }
    }
}
