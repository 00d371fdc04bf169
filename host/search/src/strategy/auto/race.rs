//! Searches in turns: one runs at a time, and the one that has worked least runs next.
//!
//! Each search is on a thread of its own, which waits inside [`Monitor::check`] for its turn. Searches poll their monitor at points that
//! depend only on themselves, and work is counted, not timed. So the order of turns, the order of interned ids, and the first search to
//! end do not depend on the machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use host_model::contract::MachineError;
use host_model::lts::Lts;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::kernel::{EndCondition, FoundViolation, Monitor, Phase, Progress, SearchError};
use crate::strategy::auto::levels::Levels;
use crate::strategy::auto::pace::Pace;

/// Units of work per call into a plugin: a handler that was executed, or a property that was evaluated.
pub const WORK_PER_CALL: u64 = 8;

/// Polls without progress between them that do not yet indicate a long combination.
const IDLE: u64 = 16;

/// A turn is as long as this part of the work of all searches, or as the shortest turn if that is longer.
const TURN_SHARE: u64 = 8;

/// The weight of a unit of work where the pace has weight 1.
pub const WEIGHT_UNIT: u64 = 64;

/// Shortest turns that all have worked together before the growth of levels matters: about a second.
const EXPLODING_TURNS: u64 = 4;

/// The first turn of a search that forgets, in shortest turns of units: a batch of 256 walks of 1,000 events.
const FIRST_WALKS: u64 = 2;

/// Up to this many times the units from which levels matter, a search that forgets has most of the turns: some seconds. Others may have an
/// answer for everything except promises.
const EXPLODING_MAX: u64 = 4;

/// The share of a search that forgets while levels explode: this many times the units of all others together.
const EXPLODING_SHARE: u64 = 2;

/// While levels explode, a search with a delay has this part of the units of all others together: with it, they take at most one and a half
/// times as long.
const LATER_PART: u64 = 2;

/// The part of the memory of searches that forget that one with a delay may take.
const LATER_MEMORY_PART: u64 = 4;

/// The part of the memory that is reserved for a search that forgets.
const FORGETTING_SHARE: u64 = 4;

/// The length of a path that doubles the cost of each of its states: the messages in flight grow with it.
const LONG_PATH: u64 = 128;

/// Searches that take turns.
pub struct Race<'m> {
    monitor: &'m dyn Monitor,
    lts: &'m Lts<'m>,
    shortest_turn: u64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    runners: Vec<Runner>,
    /// The units of work of all searches from which the growth of levels matters.
    exploding_min: u64,
    /// The runner that has the turn; none before the first turn, and when all are over.
    turn: Option<usize>,
    /// The work of this runner at which its turn ends.
    turn_end: u64,
    /// The reason why all of them are to end.
    stop: Option<EndCondition>,
    /// The reason why the monitor has ended all of them, if it has.
    stopped: Option<EndCondition>,
    /// Bytes of their shared local transition system at the beginning of the turn.
    shared_bytes: u64,
    /// The number of calls into the plugin at the last count.
    calls: u64,
}

/// A search in the race.
struct Runner {
    name: &'static str,
    pace: Pace,
    /// Whether it has a local transition system of its own.
    is_apart: bool,
    /// Units of work, and the weighted work.
    units: u64,
    work: u64,
    /// The work at which it is to end, as soon as it has begun this many walks.
    work_max: u64,
    walks_min: u64,
    walks: u64,
    /// Whether it is to end to free its memory for the others.
    is_dropped: bool,
    /// Its last count of progress.
    counted: u64,
    /// Polls since that count changed.
    idle: u64,
    /// Bytes of its own at the end of its last turn.
    bytes: u64,
    levels: Levels,
    phase: Phase,
    has_begun: bool,
    is_over: bool,
}

impl Runner {
    /// Adds the work since the last poll, at `weight` parts of [`WEIGHT_UNIT`] per unit.
    fn add(&mut self, progress: &Progress, calls: u64, weight: u64) {
        let counted = (self.pace.work)(progress);
        // A search that restarts counts from the beginning.
        let done = counted.checked_sub(self.counted).unwrap_or(counted);
        self.idle = if done > 0 { 0 } else { self.idle + 1 };
        let combining = if self.idle > IDLE { self.pace.idle } else { 0 };
        let length = if self.pace.keeps_messages { u64::from(progress.depth) / LONG_PATH } else { 0 };
        let units = 1 + done * (1 + length) + combining + calls * WORK_PER_CALL;
        self.units += units;
        self.work += units * weight;
        if self.pace.has_levels {
            self.levels.look(progress.depth, counted);
        }
        self.counted = counted;
        self.walks = progress.counts.walks.unwrap_or(0);
    }

    /// Whether it is examining a promise owed at the end of a walk, which no turn interrupts: that promise is soon proven broken or not.
    fn is_examining(&self) -> bool {
        self.phase == Phase::Examining
    }
}

impl State {
    /// The current weight of a unit of a runner. While levels explode, a search that forgets has most of the turns: the end is far away,
    /// and walks are already as deep as they get.
    fn weight(&self, runner: usize) -> u64 {
        let it = &self.runners[runner];
        let others = self.alive().filter(|other| *other != runner);
        let is_later = it.pace.delay > 0;
        let has_most = it.pace.forgets && (is_later || it.units < self.exploding_min * EXPLODING_MAX);
        match has_most && self.levels_explode() {
            false => it.pace.weight * WEIGHT_UNIT,
            true if is_later => {
                let turns: u64 = others.map(|other| WEIGHT_UNIT * WEIGHT_UNIT / self.weight(other)).sum();
                WEIGHT_UNIT * WEIGHT_UNIT * LATER_PART / turns.max(1)
            }
            true => {
                let turns: u64 = others.map(|other| WEIGHT_UNIT / self.runners[other].pace.weight).sum();
                WEIGHT_UNIT * WEIGHT_UNIT / (turns.max(1) * EXPLODING_SHARE)
            }
        }
        .max(1)
    }

    /// Whether some levels explode, once all searches together have worked for a while.
    fn levels_explode(&self) -> bool {
        let units: u64 = self.runners.iter().map(|it| it.units).sum();
        units >= self.exploding_min && self.runners.iter().any(|it| it.levels.explode())
    }

    /// The reason why a runner is to end, if it is.
    fn end_of(&self, runner: usize) -> Option<EndCondition> {
        let it = &self.runners[runner];
        let own = match it.is_dropped {
            true => Some(EndCondition::MemoryBound),
            false => (it.work >= it.work_max && it.walks >= it.walks_min).then_some(EndCondition::Interrupted),
        };
        self.stop.or(own)
    }

    /// The runners that are not to end yet.
    fn alive(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        (0..self.runners.len()).filter(|runner| !self.runners[*runner].is_over && self.end_of(*runner).is_none())
    }

    /// Ends the search with the most memory, so that the others can continue; one that forgets only if all others have ended, unless it has
    /// a delay. False if there are no others.
    fn drop_largest(&mut self) -> bool {
        let may_end = |runner: &usize| !self.runners[*runner].pace.forgets || self.runners[*runner].pace.delay > 0;
        let largest = self.alive().filter(may_end).max_by_key(|runner| self.runners[*runner].bytes);
        match largest.filter(|_| self.alive().count() > 1) {
            Some(largest) => self.runners[largest].is_dropped = true,
            None => return false,
        }
        true
    }

    /// Ends the searches in the shared local transition system, which is never dropped, if they crowd out the memory reserved for a search
    /// that forgets. False if there is no such search, or they take less.
    fn drop_crowding(&mut self, shared_bytes: u64, memory_max: Option<u64>) -> bool {
        let Some(memory_max) = memory_max else { return false };
        let forgetting = memory_max / FORGETTING_SHARE;
        let is_later = self.runners.iter().any(|it| it.pace.delay > 0 && it.has_begun && !it.is_over);
        let later = if is_later { forgetting / LATER_MEMORY_PART } else { 0 };
        let is_crowded = shared_bytes.saturating_add(forgetting + later) >= memory_max;
        if !is_crowded || !self.alive().any(|runner| self.runners[runner].pace.forgets) {
            return false;
        }
        let crowding =
            self.alive().filter(|runner| !self.runners[*runner].is_apart && !self.runners[*runner].pace.forgets);
        let crowding: Vec<usize> = crowding.collect();
        crowding.iter().for_each(|runner| self.runners[*runner].is_dropped = true);
        !crowding.is_empty()
    }

    /// The next runner: one that is to end, so that its memory is freed; otherwise one that is examining a promise, or the one that has
    /// worked least.
    fn next(&mut self) -> Option<usize> {
        for runner in 0..self.runners.len() {
            if self.end_of(runner).is_some() {
                let it = &mut self.runners[runner];
                it.is_over |= !it.has_begun;
            }
        }
        let alive = (0..self.runners.len()).filter(|runner| !self.runners[*runner].is_over);
        let ending = alive.clone().find(|runner| self.end_of(*runner).is_some());
        let first = ending.or_else(|| alive.clone().find(|runner| self.runners[*runner].is_examining()));
        first.or_else(|| alive.min_by_key(|runner| (self.runners[*runner].work, *runner)))
    }

    /// The progress of one search with the memory of all: each keeps its memory while it waits.
    fn of_all(&self, runner: usize, progress: &Progress) -> Progress {
        let others = self.runners.iter().enumerate().filter(|(other, it)| *other != runner && !it.is_over);
        let waiting: u64 = others.map(|(_, it)| it.bytes).sum();
        let shared = if self.runners[runner].is_apart { self.shared_bytes } else { 0 };
        Progress { bytes: progress.bytes.saturating_add(waiting).saturating_add(shared), ..*progress }
    }
}

impl<'m> Race<'m> {
    /// A race before its first turn. Turns take at least `shortest_turn` units of work.
    pub fn new(monitor: &'m dyn Monitor, lts: &'m Lts<'m>, shortest_turn: u64) -> Self {
        let state = State {
            runners: Vec::new(),
            exploding_min: shortest_turn * EXPLODING_TURNS,
            turn: None,
            turn_end: 0,
            stop: None,
            stopped: None,
            shared_bytes: 0,
            calls: calls(lts),
        };
        Self { monitor, lts, shortest_turn, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Adds a runner. `is_apart`: it has a local transition system of its own.
    pub fn add(&self, name: &'static str, pace: Pace, is_apart: bool) {
        self.lock().runners.push(Runner {
            name,
            pace,
            is_apart,
            units: 0,
            work: pace.delay * self.shortest_turn * WEIGHT_UNIT,
            work_max: u64::MAX,
            walks_min: 0,
            walks: 0,
            is_dropped: false,
            counted: 0,
            idle: 0,
            bytes: 0,
            levels: Levels::default(),
            phase: Phase::Exploring,
            has_begun: false,
            is_over: false,
        });
    }

    /// The reason why the monitor has ended all of them, if it has.
    pub fn stopped(&self) -> Option<EndCondition> {
        self.lock().stopped
    }

    /// Begins the race, which waits for each runner at its turn.
    pub fn begin(&self) {
        self.pass(&mut self.lock());
    }

    /// Waits for the first turn of a runner; none if it is to end before.
    pub fn turn(&self, runner: usize) -> Option<Turn<'_, 'm>> {
        let mut state = self.lock();
        while state.turn != Some(runner) && !state.runners[runner].is_over {
            state = self.wait(state);
        }
        let it = &mut state.runners[runner];
        it.has_begun = true;
        (!it.is_over).then(|| Turn { race: self, runner, has_answered: AtomicBool::new(false) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // After a panic the other members have to end before it can be reported.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports the end of a turn.
    fn rest(&self, runner: &Runner) {
        self.monitor.rests(runner.name, runner.units);
    }

    /// Gives the turn to the next runner.
    fn pass(&self, state: &mut State) {
        state.turn = state.next();
        state.shared_bytes = self.lts.counts().bytes;
        if let Some(next) = state.turn {
            let others = state.runners.iter().enumerate().filter(|(other, it)| *other != next && !it.is_over);
            let least = others.map(|(_, it)| it.work).min();
            let shortest = match &state.runners[next] {
                // The first turn is long; the others have the next ones until they have worked as much.
                it if it.pace.forgets && it.units == 0 && it.pace.delay == 0 => {
                    self.shortest_turn * FIRST_WALKS * it.pace.weight * WEIGHT_UNIT
                }
                _ => self.shortest_turn * WEIGHT_UNIT,
            };
            let longer = |least: u64| least.saturating_add(shortest.max(least / TURN_SHARE));
            state.turn_end = least.map_or(u64::MAX, longer);
            self.monitor.runs(state.runners[next].name);
        }
        self.changed.notify_all();
    }
}

/// Handlers that were executed, and properties that were evaluated.
fn calls(lts: &Lts<'_>) -> u64 {
    lts.handler_calls() + lts.evaluations()
}

/// A runner that has begun. Dropping it ends the runner.
pub struct Turn<'r, 'm> {
    race: &'r Race<'m>,
    runner: usize,
    has_answered: AtomicBool,
}

/// A pool of this many threads, with a name for profilers.
pub fn threads(number: usize, name: &'static str) -> Result<ThreadPool, SearchError> {
    let pool = ThreadPoolBuilder::new().num_threads(number).thread_name(|_| name.to_owned()).build();
    pool.map_err(|error| MachineError::Host(format!("cannot start the workers: {error}")).into())
}

impl Turn<'_, '_> {
    /// Units of work so far.
    pub fn work(&self) -> u64 {
        self.race.lock().runners[self.runner].work
    }

    /// The units of work so far, not weighted.
    pub fn units(&self) -> u64 {
        self.race.lock().runners[self.runner].units
    }

    /// The work of another runner after this number of further units.
    pub fn work_after(&self, runner: usize, units: u64) -> u64 {
        let state = self.race.lock();
        let it = &state.runners[runner];
        it.work.saturating_add(units.saturating_mul(it.pace.weight * WEIGHT_UNIT))
    }

    /// Notes that its answer is known.
    pub fn answered(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    /// Ends all others at their next poll.
    pub fn stop_all(&self) {
        self.race.lock().stop.get_or_insert(EndCondition::Interrupted);
    }

    /// Ends each other runner after this much work and this many walks, if it makes any, whatever limits an earlier answer set.
    pub fn limit(&self, least: impl Fn(usize) -> (u64, u64)) {
        for (runner, it) in self.race.lock().runners.iter_mut().enumerate() {
            let (work_max, walks_min) = least(runner);
            it.work_max = work_max;
            it.walks_min = if it.pace.forgets { walks_min } else { 0 };
        }
    }

    /// Leaves the rest of the search to the runners that are not over and would never end: without a bound on time each does half as much
    /// work as all have done together, and begins this many walks.
    pub fn leave_to_others(&self, walks_min: u64) {
        let mut state = self.race.lock();
        if self.race.monitor.is_timed() {
            return;
        }
        let all: u64 = state.runners.iter().map(|it| it.units).sum();
        for it in &mut state.runners {
            it.work_max = it.work_max.min(it.work.saturating_add(all / 2 * it.pace.weight * WEIGHT_UNIT));
            it.walks_min = if it.pace.forgets { walks_min } else { 0 };
        }
    }

    /// The work of another runner once it has done as much as all have done so far; none if its levels explode, since it is then
    /// far from its end.
    pub fn as_all(&self, runner: usize) -> Option<u64> {
        let state = self.race.lock();
        let all: u64 = state.runners.iter().map(|it| it.units).sum();
        let it = &state.runners[runner];
        let left = all.saturating_sub(it.units);
        (!it.levels.explode()).then(|| it.work.saturating_add(left.saturating_mul(it.pace.weight * WEIGHT_UNIT)))
    }

    /// Whether another runner that is not to end yet satisfies a condition.
    pub fn is_awaited(&self, condition: impl Fn(usize) -> bool) -> bool {
        let state = self.race.lock();
        state.alive().any(|runner| runner != self.runner && condition(runner))
    }

    /// Adds the work since the last poll, and polls the monitor of all searches during its turn.
    fn ask(
        &self,
        progress: &Progress,
        monitor: impl Fn(&dyn Monitor, &Progress) -> Option<EndCondition>,
    ) -> Option<EndCondition> {
        let (race, runner) = (self.race, self.runner);
        let mut state = race.lock();
        let calls = calls(race.lts);
        let new_calls = calls - std::mem::replace(&mut state.calls, calls);
        let weight = state.weight(runner);
        state.runners[runner].add(progress, new_calls, weight);
        if let Some(end) = state.end_of(runner) {
            return Some(end);
        }
        let end = monitor(race.monitor, &state.of_all(runner, progress));
        let shared = race.lts.counts().bytes;
        let is_crowded = end.is_none() && state.drop_crowding(shared, race.monitor.memory_max());
        let is_over = state.runners[runner].work >= state.turn_end && !state.runners[runner].is_examining();
        if end.is_none() && !is_crowded && !is_over {
            return None;
        }
        let shared = if state.runners[runner].is_apart { 0 } else { shared };
        state.runners[runner].bytes = progress.bytes.saturating_sub(shared);
        if let Some(end) = end
            && !(end == EndCondition::MemoryBound && state.drop_largest())
        {
            (state.stop, state.stopped) = (Some(end), Some(end));
            return Some(end);
        }
        let is_verifying = state.runners[runner].phase == Phase::Verifying;
        if is_verifying {
            race.monitor.enter(Phase::Exploring);
        }
        race.rest(&state.runners[runner]);
        race.pass(&mut state);
        while state.turn != Some(runner) {
            state = race.wait(state);
        }
        if is_verifying {
            race.monitor.enter(Phase::Verifying);
        }
        state.end_of(runner)
    }
}

impl Monitor for Turn<'_, '_> {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        self.ask(progress, |monitor, progress| monitor.check(progress))
    }

    fn check_room(&self, progress: &Progress, bytes: u64) -> Option<EndCondition> {
        self.ask(progress, |monitor, progress| monitor.check_room(progress, bytes))
    }

    fn finds(&self, lts: &Lts<'_>, found: &FoundViolation) {
        // In another local transition system a path begins after the prefix.
        let is_common = std::ptr::addr_eq(lts, self.race.lts);
        is_common.then(|| self.race.monitor.finds(lts, found));
    }

    fn memory_max(&self) -> Option<u64> {
        let is_later = self.race.lock().runners[self.runner].pace.delay > 0;
        let memory_max = self.race.monitor.memory_max()?;
        Some(if is_later { memory_max / LATER_MEMORY_PART } else { memory_max })
    }

    fn enter(&self, phase: Phase) {
        self.race.lock().runners[self.runner].phase = phase;
        self.race.monitor.enter(phase);
    }
}

impl Drop for Turn<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.race.lock();
        // A panic of one member ends the race: the others have to end before it can be reported.
        if !self.has_answered.load(Ordering::Relaxed) {
            state.stop.get_or_insert(EndCondition::Interrupted);
        }
        state.runners[self.runner].is_over = true;
        let bytes = std::mem::take(&mut state.runners[self.runner].bytes);
        if state.runners[self.runner].is_dropped {
            self.race.monitor.frees(bytes);
        }
        self.race.rest(&state.runners[self.runner]);
        self.race.pass(&mut state);
    }
}
