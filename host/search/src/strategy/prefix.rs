//! Searches from states far away, which walks have reached.

use host_model::lts::{LocalStateId, Step};
use host_model::trace::start::Start;

use crate::global::cursor::GlobalCursor;
use crate::kernel::{
    CheckSchedule, Counts, EndCondition, FoundViolation, Progress, Report, Search, SearchBounds, SearchError, or_end,
    stopped_end,
};
use crate::outlook::is_owed;
use crate::strategy::bdfs;
use crate::strategy::random_walk::ground::{Ground, Walk};
use crate::strategy::random_walk::{WALKS_DEFAULT, judge_starts, memo_bytes};

/// Maximum number of states in which the search begins.
pub const PREFIXES_MAX: usize = 20;

/// Prefix search.
///
/// Guarantee: every reported violation is reachable.
/// Complete: no, and it never claims to be.
/// Explores: random walks without faults from the start states, drawn as those of `walk`. Of each walk it keeps the first state after three
/// quarters of its events in which every promise of progress is kept, one state per walk and at most [`PREFIXES_MAX`]. Then all events
/// after these states, including faults, as `bdfs` does from this many start states. A violation on a walk is reported as well.
/// Memory: as `bdfs`; the outcomes of handlers on the walks are kept.
/// Honours: depth, local-event and state bounds, which count from the kept states on; seed, number of walks, weights except that of faults,
/// the schedule, the wish to find deadlocks, the wish to decide `eventually` properties, the monitor. The budgets of faults are unused
/// at the end of a walk, since it has none.
/// Source: prefix-based search of Killian, Anderson, Jhala, Vahdat, "Life, death, and the critical transition: finding liveness bugs in
/// systems code" (MaceMC), NSDI 2007; differs in: the search after the walks is exhaustive within its bounds, and one for all states.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    // The bounds are those of the search after the walks.
    let SearchBounds { seed, weights, schedule, .. } = search.bounds;
    let bounds = SearchBounds { seed, weights, schedule, ..SearchBounds::default() };
    let mut walks = Walks {
        search,
        ground: Ground::new(search.lts, search.starts, bounds)?.without_faults(),
        report: Report::new(search.lts).collecting(&search.bounds),
        kept: Vec::new(),
        begun: 0,
        ended: 0,
        transitions: 0,
        schedule: CheckSchedule::default(),
    };
    let end = or_end(walks.search())?;
    let counts = walks.counts();
    let Walks { report: before, kept, .. } = walks;
    let mut report = match end {
        Some(end) => Report { end, ..before },
        None => match search_on(search, &kept, before.clone()) {
            // The findings of the walks stay.
            Err(error) => Report { end: stopped_end(error)?, ..before },
            Ok(report) => report,
        },
    };
    let Counts { transitions, walks, walks_ended, prefixes, .. } = counts;
    report.counts = Counts { walks, walks_ended, prefixes, ..report.counts };
    report.counts.transitions = Some(report.counts.transitions.unwrap_or(0) + transitions.unwrap_or(0));
    report.count_local(search.lts);
    Ok(report)
}

/// Explores the states after the kept ones; returns the findings there and before.
fn search_on(search: &Search<'_>, kept: &[Start], before: Report) -> Result<Report, SearchError> {
    let after = bdfs::run(&Search { starts: kept, collect_system_states: false, ..*search })?;
    let mut report = Report { violations: before.violations, violations_max: before.violations_max, ..after };
    for (reached, earlier) in report.witnessed.iter_mut().zip(before.witnessed) {
        *reached = (*reached).max(earlier);
    }
    for found in after.violations {
        let is_news = found.breach.is_some() || report.is_news(found.node, &found.judgement);
        if is_news && report.wants_more(&found.kind) {
            // A shorter path from a start state may lead there.
            report.violations.push(FoundViolation { shortest: false, ..found });
        }
    }
    // Results that hold after these states need not hold after others.
    report.promises.clear();
    report.end = match report.end {
        // Violations on the walks count, too; a broken promise ends no search.
        _ if report.is_full() && report.violations.iter().all(|it| it.breach.is_none()) => EndCondition::Violation,
        EndCondition::SpaceExhausted => EndCondition::Pruned,
        end => end,
    };
    Ok(report)
}

/// The walks that lead to the states where the search begins.
struct Walks<'s> {
    search: &'s Search<'s>,
    ground: Ground<'s>,
    report: Report,
    /// States to begin in, with the paths to them.
    kept: Vec<Start>,
    begun: u64,
    /// Walks that ended in a state without enabled events.
    ended: u64,
    transitions: u64,
    schedule: CheckSchedule,
}

impl Walks<'_> {
    /// Walks until there are enough states to begin in; returns why the whole search ends here, if it does.
    fn search(&mut self) -> Result<Option<EndCondition>, SearchError> {
        if let Some(end) = judge_starts(self.search, &mut self.ground.stepper, &mut self.report)? {
            return Ok(Some(end));
        }
        while self.kept.len() < PREFIXES_MAX && self.begun < self.search.bounds.walks.unwrap_or(WALKS_DEFAULT) {
            let mut path = Vec::new();
            let mut walk = self.ground.begin(self.begun);
            self.begun += 1;
            if let Some(end) = self.walk(&mut walk, &mut path)? {
                return Ok(Some(end));
            }
            if !walk.is_over {
                self.keep(&self.search.starts[walk.start], &path)?;
            }
        }
        Ok(self.kept.is_empty().then_some(EndCondition::WalksDone))
    }

    /// Takes one walk to its end.
    fn walk(&mut self, walk: &mut Walk, path: &mut Vec<Step>) -> Result<Option<EndCondition>, SearchError> {
        let start = &self.search.starts[walk.start];
        loop {
            if self.schedule.is_check_due_after(&self.ground.stepper, 1 + walk.cursor.in_flight())
                && let Some(end) = self.search.monitor.check(&self.progress())
            {
                return Ok(Some(end));
            }
            let Some(child) = self.ground.draw_reliable(walk)? else { break };
            let judged = walk.cursor.judge_child(&mut self.ground.stepper, &child);
            self.ground.take(walk, &child);
            self.transitions += 1;
            path.push(child.step);
            walk.is_over = judged.is_bad();
            if self.search.note_judged(&mut self.report, start, path, judged)? {
                return Ok(Some(EndCondition::Violation));
            }
        }
        self.report.depth = self.report.depth.max(walk.depth);
        if !walk.is_over && walk.cursor.is_end(&self.ground.stepper) {
            self.ended += 1;
            let deadlock = walk.cursor.judge_end(&mut self.ground.stepper)?.filter(|_| self.search.bounds.deadlock);
            let judgements = deadlock.into_iter().map(|judgement| (None, judgement)).collect();
            if self.search.note(&mut self.report, start, path, judgements) {
                return Ok(Some(EndCondition::Violation));
            }
        }
        Ok(None)
    }

    /// Keeps the first state after three quarters of a path in which every promise is kept, if there is one.
    fn keep(&mut self, start: &Start, path: &[Step]) -> Result<(), SearchError> {
        let stepper = &mut self.ground.stepper;
        let promises = stepper.lts().promises();
        let mut cursor = GlobalCursor::new(stepper, start, &SearchBounds::default());
        for length in path.len() - path.len() / 4..=path.len() {
            cursor.go_to(stepper, &path[..length])?;
            let mut is_live = true;
            for promise in &promises {
                is_live = is_live && !is_owed(stepper, cursor.locals(), *promise)?;
            }
            if is_live {
                let faults = |local: &LocalStateId| stepper.state(*local).fault_state.counts;
                debug_assert!(start.locals.iter().map(faults).eq(cursor.locals().iter().map(faults)), "all are left");
                let way = start.path.iter().chain(&path[..length]).copied().collect();
                let (origin, initial) = (start.origin.clone(), start.initial.clone());
                self.kept.push(Start { origin, initial, path: way, ..cursor.as_start() });
                break;
            }
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        let bytes = memo_bytes(&self.ground.stepper);
        Progress { counts: self.counts(), steps: 0, depth: self.report.depth, queue: 0, bytes }
    }

    fn counts(&self) -> Counts {
        Counts {
            transitions: Some(self.transitions),
            walks: Some(self.begun),
            walks_ended: Some(self.ended),
            prefixes: Some(self.kept.len() as u64),
            ..Counts::default()
        }
    }
}
