//! Progress of a search, and its end by a bound that needs a clock, a process or a user.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use host_model::contract::Stop;
use host_search::kernel::{End, Keeper, Monitor, Phase, Progress};

use crate::base::bounds::Bounds;
use crate::base::text::{bytes, count, grouped};

/// How often progress is shown.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Nothing that holds the stopwatch can panic.
const UNPOISONED: &str = "reading a clock does not panic";

/// Ends a search on time, before memory runs out, or when the user says so; shows how far it is.
pub struct Watch<'a> {
    began: Instant,
    bounds: &'a Bounds,
    keeper: Option<&'a dyn Keeper>,
    goals: Goals,
    state: Mutex<State<'a>>,
    verification: Mutex<Stopwatch>,
}

/// Where a search ends at the latest; none is without end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Goals {
    /// Random walks.
    pub walks: Option<u64>,
    /// Global states, events or executions, whatever the strategy goes through.
    pub states: Option<u64>,
}

/// How long the search was in a phase.
#[derive(Clone, Copy, Debug, Default)]
struct Stopwatch {
    total: Duration,
    /// When the phase began, if the search is in it.
    since: Option<Instant>,
}

struct State<'a> {
    /// Where progress goes; none if nobody wants it.
    out: Option<&'a mut (dyn Write + Send)>,
    next_progress: Duration,
}

impl<'a> Watch<'a> {
    /// A watch that begins now. Progress goes to `out` if there is one.
    pub fn new(bounds: &'a Bounds, out: Option<&'a mut (dyn Write + Send)>) -> Self {
        let state = State { out, next_progress: PROGRESS_INTERVAL };
        Self {
            began: Instant::now(),
            bounds,
            keeper: None,
            goals: Goals::default(),
            state: Mutex::new(state),
            verification: Mutex::default(),
        }
    }

    /// The same with somebody who keeps checkpoints.
    pub fn with_keeper(self, keeper: Option<&'a dyn Keeper>) -> Self {
        Self { keeper, ..self }
    }

    /// The same that knows where the search ends at the latest, so that it can say how long that may take.
    pub fn with_goals(self, goals: Goals) -> Self {
        Self { goals, ..self }
    }

    /// How long the search takes at most from now on, if it goes on as it did.
    fn left(&self, elapsed: Duration, progress: &Progress) -> Option<Duration> {
        let counts = &progress.counts;
        // Where there are local states, events are those of an unfolding beside them, and the bound is on system states.
        let events = if counts.local_states.is_some() { counts.system_states } else { counts.events };
        let states = counts.global_states.or(events).or(counts.executions);
        let goals = [self.goals.walks.zip(counts.walks), self.goals.states.zip(states)];
        let by_count = goals.into_iter().flatten().filter(|(_, done)| *done > 0);
        // A number of walks without end takes longer than can be said.
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

    /// Seconds that went into verifying what the search came across, up to the end of the last verification.
    pub fn verification_seconds(&self) -> f64 {
        self.verification.lock().expect(UNPOISONED).total.as_secs_f64()
    }
}

impl Monitor for Watch<'_> {
    fn keeper(&self) -> Option<&dyn Keeper> {
        self.keeper
    }

    fn memory_max(&self) -> Option<u64> {
        self.bounds.memory_max()
    }

    fn enter(&self, phase: Phase) {
        let mut verification = self.verification.lock().expect(UNPOISONED);
        if let Some(since) = verification.since.take() {
            verification.total += since.elapsed();
        }
        verification.since = (phase == Phase::Verifying).then(Instant::now);
    }

    fn check(&self, progress: &Progress) -> Option<End> {
        if let Some(stopped) = self.bounds.reason() {
            return Some(stopped.into());
        }
        let elapsed = self.bounds.elapsed();
        // A worker that finds another one here has nothing to add.
        let Ok(mut state) = self.state.try_lock() else { return None };
        if elapsed >= state.next_progress {
            state.next_progress = elapsed + PROGRESS_INTERVAL;
            let line = line(elapsed, self.left(elapsed, progress), progress, self.bounds.process_bytes());
            if let Some(out) = &mut state.out {
                let _ = writeln!(out, "{line}");
            }
        }
        self.bounds.is_too_much(progress.bytes).then_some(End::MemoryBound)
    }
}

fn line(elapsed: Duration, left: Option<Duration>, progress: &Progress, process_bytes: u64) -> String {
    let counts = &progress.counts;
    let known = [
        (counts.global_states, "global state"),
        (counts.events, "event"),
        (counts.executions, "execution"),
        (counts.walks, "walk"),
        (counts.transitions, "transition"),
        (counts.local_states, "local state"),
        (counts.system_states, "system state"),
    ];
    let part = |(number, noun): &(Option<u64>, &str)| {
        let part = count((*number)?, noun);
        // Few of many: the strategy goes through an over-approximation that does not fit the system.
        let reachable = counts.reachable_local_states.filter(|_| *noun == "local state");
        Some(match reachable {
            Some(reachable) => format!("{part}, {} known to be reachable", grouped(reachable)),
            None => part,
        })
    };
    let mut parts: Vec<String> = known.iter().filter_map(part).collect();
    // What the strategy counts first is what it goes through; since the beginning, so that a slow second is no alarm.
    let is_beside = |noun: &str| noun == "event" && counts.local_states.is_some();
    if let Some((number, noun)) =
        known.iter().filter(|(_, noun)| !is_beside(noun)).find_map(|(number, noun)| Some(((*number)?, noun)))
        && elapsed.as_secs() > 0
    {
        parts.push(format!("{}/s", count(number / elapsed.as_secs(), noun)));
    }
    parts.push(format!("{} waiting", grouped(progress.queue)));
    parts.push(format!("depth {}", progress.depth));
    parts.push(bytes(progress.bytes.max(process_bytes)));
    parts.extend(left.map(|left| format!("at most {} s left", grouped(left.as_secs()))));
    format!("{:>4} s: {}", elapsed.as_secs(), parts.join(", "))
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
        let watch = Watch::new(&bounds, None);
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
    fn progress_names_the_counts_that_there_are() {
        let counts = Counts { global_states: Some(24_007), transitions: Some(37_012), ..Counts::default() };
        let progress = Progress { counts, depth: 25, queue: 3, bytes: 2048 };
        let expected =
            "  12 s: 24,007 global states, 37,012 transitions, 2,000 global states/s, 3 waiting, depth 25, 2.0 KiB";
        assert_eq!(line(Duration::from_secs(12), None, &progress, 0), expected);
        let left = line(Duration::from_secs(12), Some(Duration::from_secs(2_000)), &progress, 0);
        assert_eq!(left, format!("{expected}, at most 2,000 s left"));
        let counts = Counts { walks: Some(2_400), transitions: Some(36_000), ..Counts::default() };
        let walks = line(Duration::from_secs(12), None, &Progress { counts, depth: 25, queue: 0, bytes: 2048 }, 0);
        assert_eq!(walks, "  12 s: 2,400 walks, 36,000 transitions, 200 walks/s, 0 waiting, depth 25, 2.0 KiB");
        let counts = Counts {
            local_states: Some(24_007),
            reachable_local_states: Some(12),
            events: Some(60),
            ..Counts::default()
        };
        let expected = "   1 s: 60 events, 24,007 local states, 12 known to be reachable, 24,007 local states/s, 3 waiting, depth 25, 2.0 KiB";
        assert_eq!(line(Duration::from_secs(1), None, &Progress { counts, ..progress }, 0), expected);
    }

    #[test]
    fn the_first_bound_says_how_long_it_takes() {
        let watch = |time: Option<u64>, walks, states| {
            let (bounds, seconds, _) = bounds();
            bounds.search(time.map(Duration::from_secs), None);
            seconds.store(10, Ordering::Relaxed);
            let watch = Watch::new(&bounds, None);
            let counts = Counts { global_states: Some(1_000), walks: Some(100), ..Counts::default() };
            let left = watch
                .with_goals(Goals { walks, states })
                .left(Duration::from_secs(10), &Progress { counts, ..Progress::default() });
            left.map(|left| left.as_secs())
        };
        assert_eq!(watch(None, None, None), None);
        assert_eq!(watch(Some(60), None, None), Some(50));
        // A tenth of the walks in ten seconds, half of the states in ten seconds.
        assert_eq!(watch(None, Some(1_000), None), Some(90));
        assert_eq!(watch(Some(60), Some(1_000), Some(2_000)), Some(10));
        assert_eq!(watch(None, None, Some(10)), Some(0), "a bound that is passed");
        assert_eq!(watch(Some(60), Some(u64::MAX), None), Some(50), "walks until the time is up");
        assert_eq!(watch(None, Some(u64::MAX), None), None, "walks without end");
    }

    /// Local model checking goes through system states; the events are those of the unfolding beside it.
    #[test]
    fn what_the_bound_on_states_counts_says_how_long_it_takes() {
        let (bounds, ..) = bounds();
        let watch = Watch::new(&bounds, None).with_goals(Goals { walks: None, states: Some(1_000) });
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
