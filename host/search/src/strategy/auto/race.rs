//! Searches in turns: one runs at a time, and the one that has worked least runs next.
//!
//! Each search is on a thread of its own, which waits inside [`Monitor::check`] until it is its turn. Searches ask their monitor
//! at points that depend on nothing but themselves, and work is counted, not timed. So who runs when, what is interned in
//! which order, and who is over first do not depend on the machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use host_model::contract::MachineError;
use host_model::lts::Lts;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::kernel::{EndCondition, Monitor, Phase, Progress, SearchError};
use crate::strategy::auto::levels::Levels;
use crate::strategy::auto::pace::Pace;

/// Units of work per call into a plugin: a handler that was executed, or a property that was evaluated.
pub const WORK_PER_CALL: u64 = 8;

/// Questions without progress between them that are no sign of a long combination.
const IDLE: u64 = 16;

/// A turn is as long as this part of what all have worked, or as the shortest turn if that is longer.
const TURN_SHARE: u64 = 8;

/// How much a unit of work counts where the pace has weight 1.
pub const WEIGHT_UNIT: u64 = 64;

/// Shortest turns that all have worked together before it matters how levels grow: about a second.
const EXPLODING_TURNS: u64 = 4;

/// Shortest turns of units in the first turn of one that forgets: a batch of 256 walks of 1,000 events.
const FIRST_WALKS: u64 = 2;

/// Up to this many times the units from which on levels matter, one that forgets has most of the turns: some seconds. Others may have an answer
/// to all but promises.
const EXPLODING_MAX: u64 = 4;

/// How many times as many units as all others together one that forgets has while levels explode.
const EXPLODING_SHARE: u64 = 2;

/// While levels explode, one that begins later has this part of the units of all others together: with it, they take at most one and a half
/// times as long.
const LATER_PART: u64 = 2;

/// Of the memory that there is for one that forgets, the part of one that begins later.
const LATER_MEMORY_PART: u64 = 4;

/// The part of the memory that is left for one that forgets.
const FORGETTING_SHARE: u64 = 4;

/// Events of a path that make each of its states cost as much again: what is in flight grows with it.
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
    /// The units of work of all before it matters how levels grow.
    exploding_min: u64,
    /// The runner whose turn it is; none before the first turn, and when all are over.
    turn: Option<usize>,
    /// The work of this runner at which its turn ends.
    turn_end: u64,
    /// Why all of them are to end.
    stop: Option<EndCondition>,
    /// Why the monitor has ended all of them, if it has.
    stopped: Option<EndCondition>,
    /// Bytes of the local transition system that they share, when the turn began.
    shared_bytes: u64,
    /// Calls into the plugin when they were counted last.
    calls: u64,
}

/// A search in the race.
struct Runner {
    name: &'static str,
    pace: Pace,
    /// Whether it has a local transition system of its own.
    is_apart: bool,
    /// Units of work, and what they count by its weight.
    units: u64,
    work: u64,
    /// The work at which it is to end, as soon as it has begun this many walks.
    work_max: u64,
    walks_min: u64,
    walks: u64,
    /// Whether it is to end so that the others have its memory.
    is_dropped: bool,
    /// What its counts said last.
    counted: u64,
    /// Questions since they last changed.
    idle: u64,
    /// Bytes of its own when its last turn ended.
    bytes: u64,
    levels: Levels,
    phase: Phase,
    has_begun: bool,
    is_over: bool,
}

impl Runner {
    /// Adds what was done since the last question, at so much of [`WEIGHT_UNIT`] for each unit.
    fn add(&mut self, progress: &Progress, calls: u64, weight: u64) {
        let counted = (self.pace.work)(progress);
        // A search that begins again counts from the start.
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

    /// Whether it is in the middle of what no turn ends: what is owed at the end of a walk is a violation, or will soon be known not to be.
    fn is_examining(&self) -> bool {
        self.phase == Phase::Examining
    }
}

impl State {
    /// What a unit of a runner counts now. While levels explode one that forgets has most of the turns: the end is far away, and walks are as
    /// deep as they ever are.
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

    /// Whether a search that goes level by level was about to take a multiple of what it has taken, when all together have taken a while.
    fn levels_explode(&self) -> bool {
        let units: u64 = self.runners.iter().map(|it| it.units).sum();
        units >= self.exploding_min && self.runners.iter().any(|it| it.levels.explode())
    }

    /// Why a runner is to end, if it is.
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

    /// Has the one with the most memory end, for the others to continue; one that forgets only if all others have ended, unless it has begun
    /// later. False if there are no others.
    fn drop_largest(&mut self) -> bool {
        let may_end = |runner: &usize| !self.runners[*runner].pace.forgets || self.runners[*runner].pace.delay > 0;
        let largest = self.alive().filter(may_end).max_by_key(|runner| self.runners[*runner].bytes);
        match largest.filter(|_| self.alive().count() > 1) {
            Some(largest) => self.runners[largest].is_dropped = true,
            None => return false,
        }
        true
    }

    /// Has those end that explore in the local transition system that all share, which is never given up: what is left is for one that
    /// forgets. False if there is none, or it takes less.
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

    /// The runner that is next: one that is to end, so that its memory is free; or else one that is examining something, or the one that has
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

    /// The progress of one as that of all: each keeps its memory while it waits.
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
            work: pace.delay * self.shortest_turn * pace.weight * WEIGHT_UNIT,
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

    /// Why the monitor has ended all of them, if it has.
    pub fn stopped(&self) -> Option<EndCondition> {
        self.lock().stopped
    }

    /// Begins; each runner is waited for.
    pub fn begin(&self) {
        self.pass(&mut self.lock());
    }

    /// Waits for the first turn of a runner; none if it is not to begin.
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

    /// Tells that a turn is over.
    fn rest(&self, runner: &Runner) {
        self.monitor.rests(runner.name, runner.units);
    }

    /// Gives the turn to who is next.
    fn pass(&self, state: &mut State) {
        state.turn = state.next();
        state.shared_bytes = self.lts.counts().bytes;
        if let Some(next) = state.turn {
            let others = state.runners.iter().enumerate().filter(|(other, it)| *other != next && !it.is_over);
            let least = others.map(|(_, it)| it.work).min();
            let shortest = match &state.runners[next] {
                // With a long turn at first; the others have the next ones until they have worked as much.
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

/// A runner that has begun. When it is dropped the runner is over.
pub struct Turn<'r, 'm> {
    race: &'r Race<'m>,
    runner: usize,
    has_answered: AtomicBool,
}

/// This many threads, with a name for profilers.
pub fn threads(number: usize, name: &'static str) -> Result<ThreadPool, SearchError> {
    let pool = ThreadPoolBuilder::new().num_threads(number).thread_name(|_| name.to_owned()).build();
    pool.map_err(|error| MachineError::Host(format!("cannot start the workers: {error}")).into())
}

impl Turn<'_, '_> {
    /// Units of work so far.
    pub fn work(&self) -> u64 {
        self.race.lock().runners[self.runner].work
    }

    /// The same, not weighted.
    pub fn units(&self) -> u64 {
        self.race.lock().runners[self.runner].units
    }

    /// The work that another one has done after this number of further units.
    pub fn work_after(&self, runner: usize, units: u64) -> u64 {
        let state = self.race.lock();
        let it = &state.runners[runner];
        it.work.saturating_add(units.saturating_mul(it.pace.weight * WEIGHT_UNIT))
    }

    /// Its answer is known.
    pub fn answered(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    /// Ends all others as soon as they ask.
    pub fn stop_all(&self) {
        self.race.lock().stop.get_or_insert(EndCondition::Interrupted);
    }

    /// Ends each other one when it has done so much work and has begun this many walks, if it makes any, whatever an earlier answer left to it.
    pub fn limit(&self, least: impl Fn(usize) -> (u64, u64)) {
        for (runner, it) in self.race.lock().runners.iter_mut().enumerate() {
            let (work_max, walks_min) = least(runner);
            it.work_max = work_max;
            it.walks_min = if it.pace.forgets { walks_min } else { 0 };
        }
    }

    /// Leaves the rest to those that are not over, which would never end: without a bound on time each does as much as all have done
    /// together, halved, and begins this many walks.
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

    /// The work that another one has done once it has done as much as all have done so far; none if it is one whose levels explode, which
    /// is far from its end.
    pub fn as_all(&self, runner: usize) -> Option<u64> {
        let state = self.race.lock();
        let all: u64 = state.runners.iter().map(|it| it.units).sum();
        let it = &state.runners[runner];
        let left = all.saturating_sub(it.units);
        (!it.levels.explode()).then(|| it.work.saturating_add(left.saturating_mul(it.pace.weight * WEIGHT_UNIT)))
    }

    /// Whether another one that is not to end yet satisfies a condition.
    pub fn is_awaited(&self, condition: impl Fn(usize) -> bool) -> bool {
        let state = self.race.lock();
        state.alive().any(|runner| runner != self.runner && condition(runner))
    }

    /// Accounts for what was done, and asks the monitor of all in its turn.
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
