//! Timers that are set and cancelled, as part of a node's state.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::LocalEvents;
use crate::clock::Clock;

/// The timers of a node that are set. Each may fire at any moment, in any order: a model has no time, so nothing is too
/// early or too late.
///
/// The timers are part of the state: [`list`](Self::list) makes each a local event, and [`fired`](Self::fired) removes the
/// timer that fires. A periodic timer is set again.
///
/// `T` names timers, such as an enum of their purposes. Timers with equal names are the same timer.
///
/// ```
/// # use guest_sdk::{LocalEvents, Timers};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
/// enum Timer { Election, Heartbeat }
/// # struct State { timers: Timers<Timer> }
///
/// fn local_events(state: &State, events: &mut LocalEvents<Timer>) {
///     state.timers.list(events, |timer| match timer {
///         Timer::Election => "election",
///         Timer::Heartbeat => "heartbeat",
///     }, |timer| timer);
/// }
///
/// fn handle_local(state: &mut State, timer: Timer) {
///     state.timers.fired(&timer);
///     match timer {
///         Timer::Heartbeat => state.timers.set(timer),
///         Timer::Election => state.timers.cancel(&Timer::Heartbeat),
///     };
/// }
/// # let mut state = State { timers: Timers::default() };
/// # state.timers.set(Timer::Heartbeat);
/// # state.timers.set(Timer::Election);
/// # handle_local(&mut state, Timer::Election);
/// # assert!(state.timers.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timers<T: Ord> {
    set: BTreeSet<T>,
}

impl<T: Ord> Default for Timers<T> {
    fn default() -> Self {
        Self { set: BTreeSet::new() }
    }
}

impl<T: Ord> Timers<T> {
    /// Sets a timer; false if it was set already, which changes nothing.
    pub fn set(&mut self, timer: T) -> bool {
        self.set.insert(timer)
    }

    /// Cancels a timer: it no longer fires. Returns whether it was set.
    pub fn cancel(&mut self, timer: &T) -> bool {
        self.set.remove(timer)
    }

    /// Cancels all timers.
    pub fn clear(&mut self) {
        self.set.clear();
    }

    /// Whether a timer is set.
    pub fn is_set(&self, timer: &T) -> bool {
        self.set.contains(timer)
    }

    /// Whether no timer is set.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// The timers that are set, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.set.iter()
    }

    /// Lists every set timer as a local event with a name. For
    /// [`Protocol::local_events`](crate::Protocol::local_events).
    pub fn list<L>(&self, events: &mut LocalEvents<L>, name: impl Fn(&T) -> &'static str, event: impl Fn(T) -> L)
    where
        T: Clone,
    {
        self.set.iter().for_each(|timer| events.timer(name(timer), event(timer.clone())));
    }

    /// Removes a timer that fires. For [`Protocol::handle_local`](crate::Protocol::handle_local).
    ///
    /// # Panics
    ///
    /// The timer is not set.
    pub fn fired(&mut self, timer: &T) {
        assert!(self.set.remove(timer), "a timer fires that is not set");
    }
}

/// Timers with durations on a monotone clock: they fire in the order of their deadlines, late perhaps, and never early.
///
/// As [`Timers`], but only orders that a clock allows are explored. A timer of 10 fires before one of 30 that is set after it; one
/// of 10 that is set after one of 30 fires before it or after it, since any time can pass between the two, in one handler as well.
/// The bounds on time that a firing implies are kept, see [`Clock`]. Timers with the same deadline fire in either order.
///
/// This assumes more of an implementation than [`Timers`] does: that it serves one queue of timers in the order of
/// deadlines. Units are the protocol's own, milliseconds say; only differences and sums matter. Clocks of different nodes
/// are unrelated.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimedTimers<T: Ord> {
    /// A reading for each timer when it was set, with its duration.
    clock: Clock<(T, u32)>,
}

impl<T: Ord> Default for TimedTimers<T> {
    fn default() -> Self {
        Self { clock: Clock::default() }
    }
}

impl<T: Ord + Clone> TimedTimers<T> {
    /// Sets a timer, from now on; a timer that is set is set again.
    pub fn set(&mut self, timer: T, duration: u32) {
        self.cancel(&timer);
        self.clock.read((timer, duration));
    }

    /// Cancels a timer: it no longer fires. Returns whether it was set.
    pub fn cancel(&mut self, timer: &T) -> bool {
        let set = self.entry(timer).cloned();
        set.is_some_and(|entry| self.clock.forget(&entry))
    }

    /// Whether a timer is set.
    pub fn is_set(&self, timer: &T) -> bool {
        self.entry(timer).is_some()
    }

    /// Whether no timer is set.
    pub fn is_empty(&self) -> bool {
        self.clock.readings().next().is_none()
    }

    /// Lists the timers that can fire next as local events with names.
    pub fn list<L>(&self, events: &mut LocalEvents<L>, name: impl Fn(&T) -> &'static str, event: impl Fn(T) -> L) {
        for (timer, duration) in self.clock.readings() {
            if self.clone().fire(timer, *duration) {
                events.timer(name(timer), event(timer.clone()));
            }
        }
    }

    /// Removes a timer that fires: time has reached its deadline, which was no later than the others.
    ///
    /// # Panics
    ///
    /// The timer is not set, or another one fires before it.
    pub fn fired(&mut self, timer: &T) {
        let entry = self.entry(timer).cloned();
        let fires = entry.is_some_and(|(timer, duration)| self.fire(&timer, duration));
        assert!(fires, "a timer fires that is not set, or that is not the next");
        self.cancel(timer);
    }

    fn entry(&self, timer: &T) -> Option<&(T, u32)> {
        self.clock.readings().find(|(set, _)| set == timer)
    }

    /// Assumes that a timer fires next; returns whether that is possible.
    fn fire(&mut self, timer: &T, duration: u32) -> bool {
        let entry = (timer.clone(), duration);
        let others: Vec<(T, u32)> = self.clock.readings().filter(|other| **other != entry).cloned().collect();
        // other + its duration >= entry + duration
        let mut all = others
            .iter()
            .map(|other| self.clock.assume(Some(other), Some(&entry), i64::from(duration) - i64::from(other.1)));
        all.all(|possible| possible) && self.clock.assume(None, Some(&entry), i64::from(duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(timers: &TimedTimers<char>) -> String {
        let mut events = LocalEvents::new(0, 1);
        timers.list(&mut events, |_| "due", |timer| timer);
        events.into_listed().into_iter().map(|listed| listed.event).collect()
    }

    #[test]
    fn timers_are_set_until_they_fire_or_are_cancelled() {
        let mut timers = Timers::default();
        assert!(timers.set('b') && timers.set('a') && timers.set('c') && !timers.set('a'));
        assert!(timers.cancel(&'c') && !timers.cancel(&'c'));
        let mut events = LocalEvents::new(0, 1);
        timers.list(&mut events, |_| "due", |timer| timer);
        let due: String = events.into_listed().into_iter().map(|listed| listed.event).collect();
        assert_eq!(due, "ab");
        timers.fired(&'b');
        assert!(timers.is_set(&'a') && !timers.is_set(&'b'));
        timers.clear();
        assert!(timers.is_empty());
    }

    #[test]
    #[should_panic(expected = "not set")]
    fn what_is_not_set_does_not_fire() {
        Timers::default().fired(&'a');
    }

    #[test]
    fn a_longer_timer_that_is_set_earlier_or_together_fires_later() {
        let mut timers = TimedTimers::default();
        timers.set('l', 30);
        timers.set('s', 10);
        // The short one is set some time after the long one, so either can be first.
        assert_eq!(listed(&timers), "ls");
        timers.fired(&'s');
        timers.set('s', 10);
        timers.fired(&'s');
        timers.set('s', 10);
        timers.fired(&'s');
        // 30 have passed.
        timers.set('s', 10);
        assert_eq!(listed(&timers), "l");
        timers.fired(&'l');
        assert_eq!(listed(&timers), "s");
        // The other way round, the order is certain.
        timers.set('l', 30);
        assert_eq!(listed(&timers), "s");
        assert!(timers.cancel(&'s'));
        assert_eq!(listed(&timers), "l");
    }

    /// All orders in which timers fire, against those for all times of the operations.
    #[test]
    fn timers_fire_in_the_orders_of_a_queue() {
        use std::collections::BTreeSet;
        /// Sets a timer with a duration, or lets one fire.
        type Operation = Option<(char, u32)>;
        fn explored(operations: &[Operation], timers: &TimedTimers<char>, fired: &str, all: &mut BTreeSet<String>) {
            match operations.split_first() {
                None => {
                    all.insert(fired.to_owned());
                }
                Some((Some((timer, duration)), rest)) => {
                    let mut timers = timers.clone();
                    timers.set(*timer, *duration);
                    explored(rest, &timers, fired, all);
                }
                Some((None, rest)) => {
                    for timer in listed(timers).chars() {
                        let mut timers = timers.clone();
                        timers.fired(&timer);
                        explored(rest, &timers, &format!("{fired}{timer}"), all);
                    }
                }
            }
        }
        fn by_times(
            operations: &[Operation],
            now: u32,
            queue: &[(u32, char)],
            fired: &str,
            all: &mut BTreeSet<String>,
        ) {
            let Some((operation, rest)) = operations.split_first() else {
                all.insert(fired.to_owned());
                return;
            };
            for now in now..=now + 4 {
                let mut left = queue.to_vec();
                match operation {
                    Some((timer, duration)) => {
                        left.retain(|(_, set)| set != timer);
                        left.push((now + duration, *timer));
                        by_times(rest, now, &left, fired, all);
                    }
                    None => {
                        let first = queue.iter().map(|(deadline, _)| *deadline).min();
                        let due = queue.iter().filter(|(deadline, _)| Some(*deadline) == first && *deadline <= now);
                        for entry in due {
                            let left: Vec<_> = queue.iter().filter(|other| *other != entry).copied().collect();
                            by_times(rest, now, &left, &format!("{fired}{}", entry.1), all);
                        }
                    }
                }
            }
        }
        let set = |timer, duration| Some((timer, duration));
        let cases = [
            vec![set('a', 3), set('b', 1), None, None],
            vec![set('a', 1), set('b', 3), None, None],
            vec![set('a', 2), set('b', 2), None, None],
            vec![set('a', 3), set('b', 1), None, set('b', 1), None, None],
            vec![set('a', 3), set('b', 2), None, set('c', 2), None, None],
            vec![set('a', 2), set('b', 1), set('a', 2), None, None],
            vec![set('a', 3), set('b', 2), set('c', 1), None, None, None],
        ];
        for operations in cases {
            let (mut ours, mut theirs) = (BTreeSet::new(), BTreeSet::new());
            explored(&operations, &TimedTimers::default(), "", &mut ours);
            by_times(&operations, 0, &[], "", &mut theirs);
            assert_eq!(ours, theirs, "{operations:?}");
        }
    }
}
