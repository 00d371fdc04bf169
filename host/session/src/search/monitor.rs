//! Progress of a search, and its end by a bound that needs a clock, a process or a user.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use host_model::contract::Stop;
use host_model::lts::Lts;
use host_search::kernel::{EndCondition, FoundViolation, Keeper, Monitor, Phase, Progress};

use crate::base::bounds::Bounds;
use crate::search::finding::Early;

/// The interval between two redraws of a line of progress.
const REDRAWN_EVERY: Duration = Duration::from_millis(250);

/// No code that holds the stopwatch can panic.
const UNPOISONED: &str = "reading a clock does not panic";

/// Ends a search on time, before memory runs out, or on an interrupt by the user; shows its progress.
pub struct Watch<'a> {
    began: Instant,
    bounds: &'a Bounds,
    keeper: Option<&'a dyn Keeper>,
    found: Option<Found<'a>>,
    goals: Goals,
    state: Mutex<State<'a>>,
    verification: Mutex<Stopwatch>,
}

/// The counts at which a search ends at the latest; none is without end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Goals {
    /// Random walks.
    pub walks: Option<u64>,
    /// Global states, events or executions: the unit of the strategy.
    pub states: Option<u64>,
}

/// The time that a search has spent in a phase.
#[derive(Clone, Copy, Debug, Default)]
struct Stopwatch {
    total: Duration,
    /// The start of the phase, if the search is in it.
    since: Option<Instant>,
}

/// The progress of a search.
#[derive(Clone, Debug)]
pub struct Moment<'p> {
    /// The time since the search began.
    pub elapsed: Duration,
    /// The maximum remaining time, where a bound determines one.
    pub left: Option<Duration>,
    /// The counts of the strategy.
    pub progress: &'p Progress,
    /// The memory of the process, in bytes.
    pub process_bytes: u64,
    /// The strategy that is running, where several take turns.
    pub strategy: Option<&'static str>,
    /// Whether it verifies that its findings are reachable.
    pub is_verifying: bool,
    /// The maximum number of letters of a line.
    pub columns: usize,
}

/// Describes the progress of a search on one line.
pub type Line<'a> = &'a (dyn Fn(&Moment<'_>) -> String + Sync);

/// Shows a violation while the search continues.
pub type Finds<'a> = &'a (dyn Fn(Early) + Sync);

/// Takes a violation as the search has it.
type Found<'a> = &'a (dyn Fn(&Lts<'_>, &FoundViolation) + Sync);

/// The display of progress.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// Describes the progress.
    pub line: Line<'a>,
    /// The interval and the place.
    pub form: Form,
    /// Shows violations; none if they are shown at the end alone.
    pub finds: Option<Finds<'a>>,
}

/// The form of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One redrawn line of a terminal with this number of columns.
    Redrawn(usize),
    /// A line per second.
    EverySecond,
    /// A line per minute.
    EveryMinute,
}

impl Form {
    /// The maximum number of letters of a line: the last column of a terminal stays free, since a line that is wrapped cannot be redrawn.
    fn columns(self) -> usize {
        match self {
            Self::Redrawn(columns) => columns.saturating_sub(1),
            Self::EverySecond | Self::EveryMinute => usize::MAX,
        }
    }

    fn interval(self) -> Duration {
        match self {
            Self::Redrawn(_) => REDRAWN_EVERY,
            Self::EverySecond => Duration::from_secs(1),
            Self::EveryMinute => Duration::from_secs(60),
        }
    }
}

struct State<'a> {
    /// The log for progress.
    log: &'a mut (dyn Write + Send),
    /// The display of progress; none if it is not shown.
    shown: Option<Shown<'a>>,
    /// Whether a line of a terminal is to be cleared.
    is_drawn: bool,
    next_progress: Duration,
    /// The strategy that is running, where several take turns.
    strategy: Option<&'static str>,
}

impl<'a> Watch<'a> {
    /// A watch that begins now. Progress goes to the log, if it is shown.
    pub fn new(bounds: &'a Bounds, log: &'a mut (dyn Write + Send), shown: Option<Shown<'a>>) -> Self {
        let next_progress = shown.map_or(Duration::MAX, |shown| shown.form.interval());
        let state = State { log, shown, is_drawn: false, next_progress, strategy: None };
        Self {
            began: Instant::now(),
            bounds,
            keeper: None,
            found: None,
            goals: Goals::default(),
            state: Mutex::new(state),
            verification: Mutex::default(),
        }
    }

    /// The same with checkpoints.
    #[must_use]
    pub fn with_keeper(mut self, keeper: Option<&'a dyn Keeper>) -> Self {
        self.keeper = keeper;
        self
    }

    /// The same that takes each violation when it is found.
    #[must_use]
    pub fn with_found(mut self, found: Found<'a>) -> Self {
        self.found = Some(found);
        self
    }

    /// The same with the counts at which the search ends at the latest, from which it estimates the remaining time.
    #[must_use]
    pub fn with_goals(mut self, goals: Goals) -> Self {
        self.goals = goals;
        self
    }

    /// The maximum remaining time of the search, extrapolated from its speed so far.
    fn left(&self, elapsed: Duration, progress: &Progress) -> Option<Duration> {
        let counts = &progress.counts;
        // In local model checking, the events are those of an additional unfolding, and the bound is on system states.
        let events = if counts.local_states.is_some() { counts.system_states } else { counts.events };
        let states = counts.global_states.or(events).or(counts.executions);
        let goals = [self.goals.walks.zip(counts.walks), self.goals.states.zip(states)];
        // Walks without end have no remaining time.
        let by_count = goals.into_iter().flatten().filter(|(all, done)| *done > 0 && *all < u64::MAX);
        let by_count = by_count.filter_map(|(all, done)| {
            let seconds = elapsed.as_secs_f64() * (all.saturating_sub(done) as f64 / done as f64);
            Duration::try_from_secs_f64(seconds).ok()
        });
        by_count.chain(self.bounds.left()).min()
    }

    /// Seconds since it began.
    pub fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// The seconds spent on verification, up to the end of the last one.
    pub fn verification_seconds(&self) -> f64 {
        self.verification.lock().expect(UNPOISONED).total.as_secs_f64()
    }
}

impl State<'_> {
    /// Writes a line of progress; a failure to write it does not end the search.
    fn show(&mut self, shown: Shown<'_>, moment: &Moment<'_>) {
        let line = (shown.line)(moment);
        let _ = match shown.form {
            Form::Redrawn(_) => {
                self.is_drawn = true;
                let line: String = line.chars().take(moment.columns).collect();
                write!(self.log, "\r{line}\x1b[K").and_then(|()| self.log.flush())
            }
            Form::EverySecond | Form::EveryMinute => writeln!(self.log, "{line}"),
        };
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let Ok(state) = self.state.get_mut() else { return };
        if state.is_drawn {
            let _ = write!(state.log, "\r\x1b[K").and_then(|()| state.log.flush());
        }
    }
}

impl Monitor for Watch<'_> {
    fn keeper(&self) -> Option<&dyn Keeper> {
        self.keeper
    }

    fn memory_max(&self) -> Option<u64> {
        self.bounds.memory_max()
    }

    fn is_timed(&self) -> bool {
        self.bounds.left().is_some()
    }

    fn frees(&self, bytes: u64) {
        self.bounds.frees(bytes);
    }

    fn runs(&self, strategy: &'static str) {
        self.state.lock().expect(UNPOISONED).strategy = Some(strategy);
    }

    fn finds(&self, lts: &Lts<'_>, found: &FoundViolation) {
        if let Some(take) = self.found {
            take(lts, found);
        }
    }

    fn enter(&self, phase: Phase) {
        let mut verification = self.verification.lock().expect(UNPOISONED);
        if let Some(since) = verification.since.take() {
            verification.total += since.elapsed();
        }
        verification.since = (phase == Phase::Verifying).then(Instant::now);
    }

    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        if let Some(stopped) = self.bounds.reason() {
            return Some(stopped.into());
        }
        let elapsed = self.bounds.elapsed();
        // A worker that meets another one here has nothing to add.
        let Ok(mut state) = self.state.try_lock() else { return None };
        if let Some(shown) = state.shown.filter(|_| elapsed >= state.next_progress) {
            state.next_progress = elapsed + shown.form.interval();
            let left = self.left(elapsed, progress);
            let is_verifying = self.verification.lock().expect(UNPOISONED).since.is_some();
            let (process_bytes, strategy) = (self.bounds.process_bytes(), state.strategy);
            let columns = shown.form.columns();
            state.show(shown, &Moment { elapsed, left, progress, process_bytes, strategy, is_verifying, columns });
        }
        let is_too_much = self.bounds.is_too_much(progress.bytes) || self.bounds.process_takes_too_much(0);
        is_too_much.then_some(EndCondition::MemoryBound)
    }

    fn check_room(&self, progress: &Progress, bytes: u64) -> Option<EndCondition> {
        let end = self.check(progress);
        let counted = progress.bytes.saturating_add(bytes);
        let is_too_much = self.bounds.is_too_much(counted) || self.bounds.process_takes_too_much(bytes);
        end.or(is_too_much.then_some(EndCondition::MemoryBound))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use host_search::kernel::Counts;

    use super::*;
    use crate::base::bounds::tests::bounds;

    #[test]
    fn only_the_verification_is_timed() {
        let (bounds, ..) = bounds();
        let mut log = std::io::sink();
        let watch = Watch::new(&bounds, &mut log, None);
        assert_eq!(watch.verification_seconds(), 0.0, "a search begins with exploring");
        watch.enter(Phase::Verifying);
        std::thread::sleep(Duration::from_millis(1));
        watch.enter(Phase::Exploring);
        let first = watch.verification_seconds();
        assert!(first > 0.0 && first <= watch.seconds(), "{first}");
        std::thread::sleep(Duration::from_millis(1));
        watch.enter(Phase::Exploring);
        assert_eq!(watch.verification_seconds(), first, "exploring does not count");
        watch.enter(Phase::Verifying);
        std::thread::sleep(Duration::from_millis(1));
        watch.enter(Phase::Exploring);
        assert!(watch.verification_seconds() > first, "verifications are added up");
    }

    #[test]
    fn the_first_bound_says_how_long_it_takes() {
        let watch = |time: Option<u64>, walks, states| {
            let (bounds, seconds, _) = bounds();
            bounds.search(time.map(Duration::from_secs), None);
            seconds.store(10, Ordering::Relaxed);
            let mut log = std::io::sink();
            let watch = Watch::new(&bounds, &mut log, None);
            let counts = Counts { global_states: Some(1_000), walks: Some(100), ..Counts::default() };
            let left = watch
                .with_goals(Goals { walks, states })
                .left(Duration::from_secs(10), &Progress { counts, ..Progress::default() });
            left.map(|left| left.as_secs())
        };
        assert_eq!(watch(None, None, None), None);
        assert_eq!(watch(Some(60), None, None), Some(44), "a tenth is for what follows");
        // A tenth of the walks in ten seconds, half of the states in ten seconds.
        assert_eq!(watch(None, Some(1_000), None), Some(90));
        assert_eq!(watch(Some(60), Some(1_000), Some(2_000)), Some(10));
        assert_eq!(watch(None, None, Some(10)), Some(0), "a bound that is passed");
        assert_eq!(watch(Some(60), Some(u64::MAX), None), Some(44), "walks until the time is up");
        assert_eq!(watch(None, Some(u64::MAX), None), None, "walks without end");
    }

    /// Local model checking enumerates system states; its events are those of an additional unfolding.
    #[test]
    fn what_the_bound_on_states_counts_says_how_long_it_takes() {
        let (bounds, ..) = bounds();
        let mut log = std::io::sink();
        let watch = Watch::new(&bounds, &mut log, None).with_goals(Goals { walks: None, states: Some(1_000) });
        let left = |counts| {
            let left = watch.left(Duration::from_secs(10), &Progress { counts, ..Progress::default() });
            left.map(|left| left.as_secs())
        };
        let counts = Counts { local_states: Some(7), events: Some(5_000), ..Counts::default() };
        assert_eq!(left(Counts { system_states: Some(100), ..counts }), Some(90), "a tenth of the system states");
        assert_eq!(left(counts), None, "no system state is counted yet");
        assert_eq!(left(Counts { local_states: None, events: Some(500), ..counts }), Some(10), "half of the events");
        assert_eq!(
            left(Counts { executions: Some(250), ..Counts::default() }),
            Some(30),
            "a quarter of the executions"
        );
    }
}
