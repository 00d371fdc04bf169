//! Local model checking that is sound by construction.

use std::collections::BTreeSet;

use host_model::contract::Judgement;
use host_model::lts::{LocalStateId, Stepper};
use host_model::scenario::Network;
use host_model::trace::start::Start;

use crate::global::judge::judge_start;
use crate::kernel::{
    Counts, EndCondition, Judged, Monitor, Progress, Report, Search, SearchBounds, SearchError, judge_system_state,
    or_end, stopped_end,
};
use crate::reduction::reduced_search;
use crate::unfolding::reachable_tuples::{JudgedConfig, ReachableTuples};
use crate::unfolding::smallest_violations::Best;
use crate::unfolding::{Everything, Grown, Relevance, Unfolding, configurations, deadlocks};

/// The first number of events at which tuples of classes are combined; later ones are this many times the one before.
/// Most violations show right after an event, so this finds the few that need two concurrent events.
const FIRST_SEARCH: usize = 64;
const SEARCH_GROWTH: usize = 8;

/// Judged system states between two polls of the monitor.
const JUDGED: u32 = 128;

/// Causal unfolding with cut-offs.
///
/// Guarantee: every reported violation is reachable, and the shortest one; of several, the shortest of each.
/// Complete: within the bounds.
/// Explores: events with their causal pasts, so interleavings of independent events are never distinguished. Memory:
/// about 200 bytes per event.
/// Honours: depth, local-event and state bounds (a state is an event here), the wish to find deadlocks, the monitor.
/// Source: see `unfolding/mod.rs`; differs in: properties are decided on tuples of view classes, see
/// `unfolding/reachable_tuples.rs`.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    let mut stepper = Stepper::new(search.lts)?;
    let mut report = Report::new(search.lts).collecting(&search.bounds);
    let mut states = BTreeSet::new();
    let mut best = Best::new(&report, search.bounds.depth);
    let (mut events, mut steps) = (0, 0);
    // A later start state can have a shorter path, so all are searched, as far as it could be shorter.
    let last = search.starts.last().expect("there is a start state");
    for start in search.starts {
        let mut run = UnfoldSearch { events_before: events, steps, ..UnfoldSearch::new(search, start, &mut report) };
        let explored = run.look_for(&mut best, &mut stepper, &Everything, &mut states);
        events += run.events;
        steps = run.steps;
        if let Some(end) = or_end(explored.map(|()| None))? {
            report.end = report.end.max(end);
            best.is_sure_up_to(0);
        }
        if report.end.is_external() || report.end == EndCondition::StateBound {
            // The remaining start states are not searched yet.
            best.is_sure_up_to(if start == last { u32::MAX } else { 0 });
            break;
        }
    }
    best.finish(&mut report);
    report.counts.events = Some(events);
    report.fingerprints = Some(events);
    // Only the result of the counting matters: it is another search.
    report.count_local(search.lts);
    if search.bounds.count_system_states {
        report.counts.system_states = count_system_states(search, &mut report.end, states.len() as u64)?;
    }
    if search.collect_system_states {
        report.counts.system_states = Some(states.len() as u64);
        report.system_states = Some(states.into_iter().collect());
    }
    Ok(report)
}

/// The number of distinct system states of a search that is over; none if it did not explore everything that it was to
/// explore. If the monitor ends the counting, `end` becomes its reason, and the result is the count so far.
///
/// The unfolding has each system state as a tuple of events with compatible pasts, mostly as very many tuples, and enumerating
/// all of them costs as much as a global search. The search of `--reduce` explores few global states
/// but misses no system state, so it does the counting. It also takes local steps that are in no execution, so it has its own local
/// transition system. It supports neither a bound on depth nor an ordered network: there the
/// configurations were walked instead, with `walked` system states at their ends.
fn count_system_states(search: &Search<'_>, end: &mut EndCondition, walked: u64) -> Result<Option<u64>, SearchError> {
    if is_counted_by_walking(search) {
        return Ok((*end != EndCondition::Violation && walked > 0).then_some(walked));
    }
    if !matches!(end, EndCondition::SpaceExhausted | EndCondition::LocalEventBound) {
        return Ok(None);
    }
    let lts = search.lts.sibling();
    let starts = search.starts_in(&lts);
    let monitor = &Besides { monitor: search.monitor, bytes: search.lts.counts().bytes };
    let bounds = SearchBounds { states: None, ..search.bounds };
    let counting =
        reduced_search::explore(&Search { lts: &lts, starts: &starts, bounds, monitor, collect_system_states: false })?;
    *end = counting.end.max(*end);
    Ok(counting.counts.system_states)
}

/// The monitor of a search, with additional bytes that are kept outside of it.
struct Besides<'m> {
    monitor: &'m dyn Monitor,
    bytes: u64,
}

impl Monitor for Besides<'_> {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        self.monitor.check(&Progress { bytes: progress.bytes.saturating_add(self.bytes), ..*progress })
    }
}

/// Whether the system states are counted by walking all configurations.
fn is_counted_by_walking(search: &Search<'_>) -> bool {
    search.bounds.depth.is_some() || search.lts.scenario().has_network(Network::Ordered)
}

/// Whether the bound on local events leaves any out: [`EndCondition::LocalEventBound`] if so, [`EndCondition::SpaceExhausted`] if not;
/// otherwise the reason why the monitor has ended the unfolding.
pub(crate) fn end_of_local_events(
    search: &Search<'_>,
    start: &Start,
    stepper: &mut Stepper<'_>,
) -> Result<EndCondition, SearchError> {
    if stepper.known().is_over(&start.locals) {
        return Ok(EndCondition::SpaceExhausted);
    }
    let mut unfolding = Unfolding::new(stepper, start, search.bounds, &Everything)?;
    let ask = |unfolding: &Unfolding<'_, '_>| search.monitor.check(&progress(search, unfolding, 0));
    let mut grown = Grown::More;
    while grown == Grown::More && !unfolding.local_events_cut() {
        let mut stopped = ask(&unfolding);
        if stopped.is_none() {
            grown = unfolding.grow(&mut |unfolding| {
                stopped = ask(unfolding);
                stopped.is_none()
            })?;
        }
        if let Some(end) = stopped {
            return Ok(end);
        }
    }
    Ok(if unfolding.local_events_cut() { EndCondition::LocalEventBound } else { EndCondition::SpaceExhausted })
}

/// The progress of an unfolding, after this many events of others.
fn progress(search: &Search<'_>, unfolding: &Unfolding<'_, '_>, events_before: u64) -> Progress {
    let events = events_before + unfolding.executed();
    Progress {
        counts: Counts { events: Some(events), ..Counts::default() },
        steps: unfolding.steps(),
        depth: unfolding.size().saturating_sub(1),
        queue: unfolding.queued(),
        bytes: unfolding.bytes() + search.lts.counts().bytes,
    }
}

/// The progress after this many more steps.
fn after(progress: &mut Progress, steps: u32) -> &Progress {
    progress.steps += u64::from(steps);
    progress
}

/// The unfolding from one start state, for a report.
pub(crate) struct UnfoldSearch<'r, 's> {
    pub(crate) search: &'r Search<'s>,
    pub(crate) start: &'r Start,
    pub(crate) report: &'r mut Report,
    /// The `sometimes` properties whose witnesses are wanted; if there are none, all findings are.
    pub(crate) until_witnessed: &'r [u32],
    pub(crate) events_before: u64,
    /// Executed extensions of this unfolding.
    pub(crate) events: u64,
    /// Steps so far; those of this unfolding are added only when it is over; see [`Progress::steps`].
    pub(crate) steps: u64,
}

impl<'r, 's> UnfoldSearch<'r, 's> {
    /// A search that has executed nothing yet.
    pub(crate) fn new(search: &'r Search<'s>, start: &'r Start, report: &'r mut Report) -> Self {
        Self { search, start, report, until_witnessed: &[], events_before: 0, events: 0, steps: 0 }
    }

    /// Grows the unfolding until it is complete, a bound is hit or the shortest violation is known; sets `report.end`
    /// accordingly.
    pub(crate) fn explore(
        &mut self,
        stepper: &mut Stepper<'_>,
        relevance: &dyn Relevance,
        states: &mut BTreeSet<Box<[LocalStateId]>>,
    ) -> Result<(), SearchError> {
        let mut best = Best::new(self.report, self.search.bounds.depth);
        self.look_for(&mut best, stepper, relevance, states)?;
        best.finish(self.report);
        Ok(())
    }

    /// The same for one of several start states, without reporting the violations yet.
    fn look_for(
        &mut self,
        best: &mut Best,
        stepper: &mut Stepper<'_>,
        relevance: &dyn Relevance,
        states: &mut BTreeSet<Box<[LocalStateId]>>,
    ) -> Result<(), SearchError> {
        if stepper.known().is_over(&self.start.locals) {
            // No event follows a trap at the start.
            states.insert(self.start.locals.as_slice().into());
            let Judged { judgements, stopped } = judge_start(self.search, stepper, self.start);
            best.take(
                self.report,
                judgements.into_iter().map(|(node, judgement)| JudgedConfig::at_start(node, judgement)).collect(),
            );
            best.settle(self.start, |_| Vec::new());
            return stopped.map_or(Ok(()), |stopped| Err(stopped.into()));
        }
        let mut unfolding = Unfolding::new(stepper, self.start, self.search.bounds, relevance)?;
        let mut tuples = ReachableTuples::new(self.start.locals.len());
        let grown = self.grow(&mut unfolding, &mut tuples, best).or_else(stopped_end)?;
        let mut end = grown;
        // A search out of time or memory has none left for this either.
        if !end.is_external()
            && let Some(stopped) = self.search_tuples(&unfolding, &mut tuples, best)
        {
            end = end.max(stopped);
        }
        if !end.is_external()
            && end != EndCondition::Pruned
            && let Some(stopped) = or_end(self.search_ends(&mut unfolding, best))?
        {
            end = end.max(stopped);
        }
        let bounds = self.search.bounds;
        let is_counted =
            bounds.count_system_states && is_counted_by_walking(self.search) && end != EndCondition::Violation;
        if !end.is_external()
            && end != EndCondition::Pruned
            && (tuples.overflown || self.search.collect_system_states || is_counted)
            && let Some(stopped) = or_end(self.walk(&mut unfolding, best, states))?
        {
            end = end.max(stopped);
        }
        if best.is_beyond(self.report) {
            end = end.max(EndCondition::DepthBound);
        }
        self.report.depth = self.report.depth.max(unfolding.size().saturating_sub(1));
        // All events that are smaller exist, so nothing smaller was missed.
        let is_grown =
            matches!(grown, EndCondition::SpaceExhausted | EndCondition::LocalEventBound | EndCondition::DepthBound);
        best.is_sure_up_to(match (end.is_external(), is_grown) {
            (true, _) => 0,
            (false, true) => u32::MAX,
            (false, false) => unfolding.size(),
        });
        best.settle(self.start, |config| unfolding.linearise(config));
        self.steps += unfolding.steps();
        // A bound hit from an earlier start state stays.
        self.report.end = self.report.end.max(end);
        Ok(())
    }

    /// Grows the unfolding, and searches for violations from time to time; returns why it ended.
    fn grow(
        &mut self,
        unfolding: &mut Unfolding<'_, '_>,
        tuples: &mut ReachableTuples,
        best: &mut Best,
    ) -> Result<EndCondition, SearchError> {
        let mut next_search = FIRST_SEARCH;
        loop {
            if let Some(end) = self.note(unfolding, tuples, best)? {
                return Ok(end);
            }
            if unfolding.events().len() >= next_search {
                next_search = unfolding.events().len() * SEARCH_GROWTH;
                if let Some(end) = self.search_tuples(unfolding, tuples, best) {
                    return Ok(end);
                }
                if let Some(end) = self.search_ends(unfolding, best)? {
                    return Ok(end);
                }
            }
            if let Some(end) = self.stop(unfolding, best) {
                return Ok(end);
            }
            let mut stopped = None;
            let grown = unfolding.grow(&mut |unfolding| {
                stopped = self.search.monitor.check(&self.progress(unfolding));
                stopped.is_none()
            });
            self.events = unfolding.executed();
            if let Some(end) = stopped {
                return Ok(end);
            }
            if grown? != Grown::More {
                return Ok(match (unfolding.depth_cut(), unfolding.local_events_cut()) {
                    (true, _) => EndCondition::DepthBound,
                    (false, true) => EndCondition::LocalEventBound,
                    (false, false) => EndCondition::SpaceExhausted,
                });
            }
        }
    }

    /// Takes in new events, and the violations that show right after them; returns why that was given up, if it was.
    fn note(
        &mut self,
        unfolding: &mut Unfolding<'_, '_>,
        tuples: &mut ReachableTuples,
        best: &mut Best,
    ) -> Result<Option<EndCondition>, SearchError> {
        let (mut taken, mut stopped, mut hits) = (0, None, Vec::new());
        let noted = tuples.note(unfolding, &mut hits, &mut |unfolding, steps| {
            taken += u64::from(steps);
            let progress = self.progress(unfolding);
            stopped = self.search.monitor.check(&Progress { steps: progress.steps + taken, ..progress });
            stopped.is_none()
        });
        self.steps += taken;
        best.take(self.report, hits);
        self.announce(unfolding, best);
        noted?;
        best.is_sure_unless(stopped.is_some());
        Ok(stopped)
    }

    /// Passes new violations to the monitor; smaller ones may take their places later.
    fn announce(&self, unfolding: &Unfolding<'_, '_>, best: &mut Best) {
        let Search { monitor, lts, .. } = self.search;
        best.announce(self.start, |config| unfolding.linearise(config), |found| monitor.finds(lts, found));
    }

    /// Searches for the smallest violations among tuples of classes; returns why that was given up, if it was.
    fn search_tuples(
        &mut self,
        unfolding: &Unfolding<'_, '_>,
        tuples: &mut ReachableTuples,
        best: &mut Best,
    ) -> Option<EndCondition> {
        let size_max = best.size_max().unwrap_or_else(|| self.size_max(unfolding).saturating_add(1));
        let report = &self.report;
        // A violation already reported, from an earlier start state, must not count as the smallest one.
        let is_wanted = |judgement: &Judgement| report.is_news(None, judgement);
        let mut progress = self.progress(unfolding);
        let mut stopped = None;
        let hits = tuples.search(unfolding, size_max, best.is_one(), &is_wanted, &mut |steps| {
            stopped = self.search.monitor.check(after(&mut progress, steps));
            stopped.is_none()
        });
        self.steps = progress.steps - unfolding.steps();
        best.take(self.report, hits);
        self.announce(unfolding, best);
        best.is_sure_unless(stopped.is_some());
        stopped
    }

    /// Searches for the smallest deadlocks, as far as they are still of use; returns why that was given up, if it was.
    fn search_ends(
        &mut self,
        unfolding: &mut Unfolding<'_, '_>,
        best: &mut Best,
    ) -> Result<Option<EndCondition>, SearchError> {
        if !self.search.bounds.deadlock {
            return Ok(None);
        }
        let size_max = best.size_max().map_or(Some(self.size_max(unfolding)), |size| size.checked_sub(1));
        let Some(size_max) = size_max else { return Ok(None) };
        let mut progress = self.progress(unfolding);
        let mut stopped = None;
        let found = deadlocks::smallest_deadlocks(unfolding, size_max, !best.is_one(), |steps| {
            stopped = self.search.monitor.check(after(&mut progress, steps));
            stopped.is_none()
        })?;
        self.steps = progress.steps - unfolding.steps();
        best.take(self.report, found);
        self.announce(unfolding, best);
        best.is_sure_unless(stopped.is_some());
        Ok(stopped)
    }

    /// Maximum size of the examined configurations. If no event is larger than the bound on depth, configurations of independent events
    /// that are larger together show whether the bound leaves any out.
    fn size_max(&self, unfolding: &Unfolding<'_, '_>) -> u32 {
        let depth = self.search.bounds.depth.filter(|_| unfolding.depth_cut());
        depth.unwrap_or(u32::MAX - 1)
    }

    /// The reason to stop growing, if there is one.
    fn stop(&self, unfolding: &Unfolding<'_, '_>, best: &Best) -> Option<EndCondition> {
        if best.size_max().is_some_and(|size| size <= unfolding.size()) {
            return Some(EndCondition::Violation);
        }
        let is_witnessed = |property: &u32| !self.report.wants_witness(*property);
        if !self.until_witnessed.is_empty() && self.until_witnessed.iter().all(is_witnessed) {
            return Some(EndCondition::Pruned);
        }
        if self.search.bounds.states.is_some_and(|max| self.events_before + unfolding.executed() >= max) {
            return Some(EndCondition::StateBound);
        }
        self.search.monitor.check(&self.progress(unfolding))
    }

    fn progress(&self, unfolding: &Unfolding<'_, '_>) -> Progress {
        let progress = progress(self.search, unfolding, self.events_before);
        Progress { steps: self.steps + progress.steps, ..progress }
    }

    /// Walks all configurations, to collect the system states or because there are too many classes to combine. Returns why it was
    /// given up, if it was, or that some are larger than the bound on depth.
    fn walk(
        &mut self,
        unfolding: &mut Unfolding<'_, '_>,
        best: &mut Best,
        states: &mut BTreeSet<Box<[LocalStateId]>>,
    ) -> Result<Option<EndCondition>, SearchError> {
        let mut progress = self.progress(unfolding);
        let mut stopped = None;
        let depth_max = self.search.bounds.depth.unwrap_or(u32::MAX);
        let (found, is_cut) = configurations::system_states(unfolding, depth_max, |steps| {
            stopped = self.search.monitor.check(after(&mut progress, steps));
            stopped.is_none()
        });
        for (number, (locals, config)) in (1..).zip(found) {
            if stopped.is_none() && number % JUDGED == 0 {
                stopped = self.search.monitor.check(after(&mut progress, JUDGED));
            }
            if stopped.is_some() {
                break;
            }
            let size = unfolding.chains().config_size(&config);
            // A trap was noted with the events before it alone.
            let is_over = unfolding.stepper().known().is_over(&locals);
            let judged = if is_over { Judged::default() } else { judge_system_state(unfolding.stepper(), &locals) };
            let hits = judged.judgements.into_iter();
            let hits =
                hits.map(|(node, judgement)| JudgedConfig { judgement, node, config: config.clone(), size }).collect();
            best.take(self.report, hits);
            self.announce(unfolding, best);
            if let Some(stopped) = judged.stopped {
                return Err(stopped.into());
            }
            states.insert(locals);
        }
        self.steps = progress.steps - unfolding.steps();
        best.is_sure_unless(stopped.is_some());
        Ok(stopped.or(is_cut.then_some(EndCondition::DepthBound)))
    }
}
