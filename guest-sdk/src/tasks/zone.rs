//! The possible times of a node's timers, as a zone.
//!
//! Between two events of a node any time may pass, up to the earliest of its timers: a message can be late. So the times of the timers are
//! not known, but their differences have bounds, and these decide which timer can be the next. A closed matrix of bounds is a canonical form
//! of what is possible, and bounds are at most as large as the durations, so they do not tell states apart that behave alike for ever.
//!
//! Source: Dill, "Timing assumptions and verification of finite-state concurrent systems", 1989. Here a variable is the time at which a timer
//! fires and not the age of a clock, and the updates keep the matrix closed, in time proportional to its size.

/// No bound.
const NONE: i64 = i64::MAX;

/// The moment that a row of the matrix is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    /// The last event of the node.
    Now,
    /// The last time that the program read the clock.
    Read,
    /// The moment at which a timer fires.
    Timer(u32),
}

/// Upper bounds on the differences of moments, in nanoseconds; closed: no bound follows from others that are tighter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Zone {
    /// Ascending.
    moments: Vec<Moment>,
    /// `bounds[row][column]` is the greatest possible value of the row's moment minus the column's.
    bounds: Vec<Vec<i64>>,
}

impl Default for Zone {
    fn default() -> Self {
        Self { moments: vec![Moment::Now], bounds: vec![vec![0]] }
    }
}

/// The sum of two bounds.
fn plus(one: i64, other: i64) -> i64 {
    if one == NONE || other == NONE { NONE } else { one.saturating_add(other) }
}

impl Zone {
    fn place(&self, moment: Moment) -> Option<usize> {
        self.moments.binary_search(&moment).ok()
    }

    fn timers(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let start = 1 + usize::from(self.place(Moment::Read).is_some());
        start..self.moments.len()
    }

    /// Adds a moment that is exactly as much later than now.
    pub(super) fn add(&mut self, moment: Moment, later: i64) {
        let Err(at) = self.moments.binary_search(&moment) else { return };
        let row: Vec<i64> = self.bounds[0].iter().map(|bound| plus(*bound, later)).collect();
        let column: Vec<i64> = self.bounds.iter().map(|row| plus(row[0], -later)).collect();
        for (bounds, bound) in self.bounds.iter_mut().zip(column) {
            bounds.reserve_exact(1);
            bounds.insert(at, bound);
        }
        let mut own = Vec::with_capacity(row.len() + 1);
        own.extend(row);
        own.insert(at, 0);
        self.bounds.reserve_exact(1);
        self.bounds.insert(at, own);
        self.moments.reserve_exact(1);
        self.moments.insert(at, moment);
    }

    /// Forgets a moment.
    pub(super) fn remove(&mut self, moment: Moment) {
        let Some(at) = self.place(moment) else { return };
        self.bounds.remove(at);
        self.bounds.iter_mut().for_each(|row| {
            row.remove(at);
            row.shrink_to_fit();
        });
        self.bounds.shrink_to_fit();
        self.moments.remove(at);
        self.moments.shrink_to_fit();
    }

    /// An event that is no timer: time may have passed, up to the earliest timer.
    pub(super) fn pass(&mut self) {
        let timers = self.timers();
        for column in 1..self.moments.len() {
            // Now is no later than any timer, and with it no later than what a timer is no later than.
            let bound = timers.clone().map(|timer| self.bounds[timer][column]).min();
            self.bounds[0][column] = bound.unwrap_or(NONE);
        }
        // A timer that is possibly due now stays possible: the bounds of the timers against now are those against an earlier now.
    }

    /// Whether a timer can be the next one: no other is certainly earlier.
    pub(super) fn can_fire(&self, timer: u32) -> bool {
        let Some(at) = self.place(Moment::Timer(timer)) else { return false };
        self.timers().all(|other| self.bounds[other][at] >= 0)
    }

    /// The possible time from now until a timer fires, from the shortest to the longest.
    pub(super) fn until(&self, timer: u32) -> Option<[i64; 2]> {
        let at = self.place(Moment::Timer(timer))?;
        Some([-self.bounds[0][at], self.bounds[at][0]])
    }

    /// A timer fires, before all others or at the same time: it is now, and no longer a timer.
    pub(super) fn fire(&mut self, timer: u32) {
        let Some(at) = self.place(Moment::Timer(timer)) else { return };
        let all = self.moments.len();
        for column in 0..all {
            let bound = self.timers().map(|other| self.bounds[other][column]).min();
            self.bounds[at][column] = bound.unwrap_or(NONE);
        }
        self.tighten(at);
        // Now is the time of the timer.
        self.bounds[0] = self.bounds[at].clone();
        for row in &mut self.bounds {
            row[0] = row[at];
        }
        self.remove(Moment::Timer(timer));
    }

    /// The program reads the clock: the least possible time since it last did, which is from now on the time that has passed; none at
    /// the first time.
    pub(super) fn read(&mut self) -> Option<i64> {
        let Some(at) = self.place(Moment::Read) else {
            self.add(Moment::Read, 0);
            return None;
        };
        let passed = -self.bounds[at][0];
        let row: Vec<i64> = self.bounds[at].iter().map(|bound| plus(*bound, passed)).collect();
        self.bounds[0] = row.iter().zip(&self.bounds[0]).map(|(via, own)| *via.min(own)).collect();
        self.tighten(0);
        self.remove(Moment::Read);
        self.add(Moment::Read, 0);
        Some(passed)
    }

    /// Closes the matrix after bounds in one row became tighter.
    fn tighten(&mut self, through: usize) {
        let row = self.bounds[through].clone();
        for bounds in &mut self.bounds {
            let first = bounds[through];
            for (bound, second) in bounds.iter_mut().zip(&row) {
                *bound = (*bound).min(plus(first, *second));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The state of one run of a node, to compare with.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Concrete {
        /// Timers by number, as the time that is left.
        left: Vec<Option<i64>>,
    }

    impl Concrete {
        fn earliest(&self) -> i64 {
            self.left.iter().flatten().copied().min().unwrap_or(i64::MAX)
        }

        fn after(&self, time: i64) -> Self {
            Self { left: self.left.iter().map(|left| left.map(|left| left - time)).collect() }
        }
    }

    /// A step of a random program.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// A message, after which a timer is armed.
        Arm(u32, i64),
        /// A message, after which a timer is cancelled.
        Cancel(u32),
    }

    type Runs = BTreeSet<Concrete>;

    /// A zone and its runs after a step, before which time may have passed.
    fn after(step: Step, zone: &Zone, runs: &Runs) -> (Zone, Runs) {
        let mut zone = zone.clone();
        zone.pass();
        let passed = runs.iter().flat_map(|run| {
            let most = run.earliest().min(4);
            (0..=most).map(|time| run.after(time)).collect::<Vec<_>>()
        });
        let change = |mut run: Concrete| {
            match step {
                Step::Arm(timer, duration) => run.left[timer as usize] = Some(duration),
                Step::Cancel(timer) => run.left[timer as usize] = None,
            }
            run
        };
        let runs = passed.map(change).collect();
        match step {
            Step::Arm(timer, duration) => {
                zone.remove(Moment::Timer(timer));
                zone.add(Moment::Timer(timer), duration);
            }
            Step::Cancel(timer) => zone.remove(Moment::Timer(timer)),
        }
        (zone, runs)
    }

    /// Timers 0 to 2 with durations up to 3, and every sequence of events up to a length: a timer can fire according to the zone if and
    /// only if it does in some run in which time passes in whole units. That is every run that matters: bounds are whole numbers and
    /// inclusive, so a region that is not empty contains whole numbers.
    #[test]
    fn what_can_fire_is_what_fires_in_some_run() {
        let steps = [
            Step::Arm(0, 1),
            Step::Arm(0, 3),
            Step::Arm(1, 2),
            Step::Arm(1, 1),
            Step::Arm(2, 3),
            Step::Arm(2, 2),
            Step::Cancel(0),
            Step::Cancel(1),
        ];
        let mut compared = 0;
        let start = (Zone::default(), BTreeSet::from([Concrete { left: vec![None; 3] }]));
        let mut level = vec![start];
        for _ in 0..6 {
            let mut next = Vec::new();
            for (zone, runs) in &level {
                for timer in 0..3 {
                    let fired: Runs = runs
                        .iter()
                        .filter(|run| run.left[timer as usize] == Some(run.earliest()))
                        .map(|run| {
                            let mut after = run.after(run.earliest());
                            after.left[timer as usize] = None;
                            after
                        })
                        .collect();
                    assert_eq!(zone.can_fire(timer), !fired.is_empty(), "timer {timer} of {zone:?}");
                    compared += 1;
                    if !fired.is_empty() {
                        let mut zone = zone.clone();
                        zone.fire(timer);
                        next.push((zone, fired));
                    }
                }
                for step in steps {
                    next.push(after(step, zone, runs));
                }
            }
            // Equal zones have equal runs, which is what makes a zone a state.
            let mut distinct: Vec<(Zone, Runs)> = Vec::new();
            for (zone, runs) in next {
                match distinct.iter().find(|(other, _)| *other == zone) {
                    Some((_, others)) => assert_eq!(*others, runs, "{zone:?}"),
                    None => distinct.push((zone, runs)),
                }
            }
            level = distinct;
        }
        assert!(compared > 1_000, "{compared}");
    }

    #[test]
    fn a_timer_that_is_armed_later_and_is_shorter_may_be_the_first_or_not() {
        let mut zone = Zone::default();
        zone.add(Moment::Timer(0), 10);
        assert_eq!(zone.until(0), Some([10, 10]));
        zone.pass();
        zone.add(Moment::Timer(1), 1);
        assert!(zone.can_fire(0) && zone.can_fire(1));
        // One that is longer than the rest of the first can only come after it.
        zone.add(Moment::Timer(2), 11);
        assert!(!zone.can_fire(2));
        zone.fire(0);
        assert!(zone.can_fire(1) && !zone.can_fire(2));
        // The message came 9 to 10 after the start, so timer 2 is 10 to 11 away.
        assert_eq!((zone.until(1), zone.until(2)), (Some([0, 1]), Some([10, 11])));
    }

    #[test]
    fn a_clock_shows_the_least_time_that_has_passed() {
        let mut zone = Zone::default();
        assert_eq!(zone.read(), None);
        zone.add(Moment::Timer(0), 5);
        zone.pass();
        assert_eq!(zone.read(), Some(0));
        // That no time has passed is a fact from now on.
        assert_eq!(zone.until(0), Some([5, 5]));
        zone.fire(0);
        assert_eq!((zone.read(), zone.read()), (Some(5), Some(0)));
    }
}
