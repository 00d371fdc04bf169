//! Time without a clock: the possible readings of a monotone clock, as far as comparisons restrict them.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::Context;

/// A monotone clock of one node, as part of its state.
///
/// A model has no time, so a reading has no value: it has a name, and a comparison (is this reading later than that one by a duration?)
/// is a choice that the checker explores both ways, as long as both are possible. A monotone clock only gives feasible orders: a
/// reading is no earlier than the ones before it, and an answer restricts later answers. If 30 have passed since `a`, then 20 have; if
/// less than 10 have passed since `a`, then less than 10 since everything read after it.
///
/// Source: Killian, Anderson, Jhala, Vahdat, "Life, Death, and the Critical Transition" (MaceMC), NSDI 2007, section 3.3, with
/// its two kinds of time: comparisons are choice points, and the order of readings is exact. The knowledge is kept as the
/// difference bounds of Dill, "Timing Assumptions and Verification of Finite-State Concurrent Systems", 1989, in their closed
/// form: states that know the same are equal.
///
/// Durations are integers in units of the protocol, milliseconds say. Readings cost memory and states:
/// [`forget`](Self::forget) those that are no longer compared. A protocol that continues for ever can have infinitely many
/// states, where one reading is kept and others come and go. Clocks of different nodes are unrelated.
///
/// ```
/// # use guest_sdk::{Clock, Context};
/// # struct State { clock: Clock<&'static str> }
/// # fn example(ctx: &mut Context<()>, state: &mut State) {
/// state.clock.read("request");
/// // Later, in another handler:
/// if state.clock.has_passed(ctx, &"request", 500) {
///     state.clock.forget(&"request"); // and give up
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Clock<T: Ord> {
    /// The readings that are not forgotten, sorted.
    readings: Vec<T>,
    /// Row by row, for all pairs of moments: the largest difference between the first and the second; none if it has no bound.
    /// Moment 0 is the last look at the clock, moment `i + 1` is reading `i`. Closed: no smaller bound follows from others.
    /// Time passes, so moment 0 has no upper bound.
    bounds: Vec<Option<i64>>,
}

impl<T: Ord> Default for Clock<T> {
    fn default() -> Self {
        Self { readings: Vec::new(), bounds: vec![Some(0)] }
    }
}

impl<T: Ord> Clock<T> {
    /// Reads the clock and keeps the reading under a name, in place of an earlier one of the same name.
    pub fn read(&mut self, name: T) {
        self.forget(&name);
        let place = self.readings.binary_search(&name).unwrap_or_else(|place| place);
        let old = self.bounds.clone();
        self.readings.insert(place, name);
        // The new reading is now, so its bounds are those of now, and the difference to now is 0.
        let moments = self.moments();
        let before = |moment: usize| match moment.cmp(&(place + 1)) {
            Ordering::Less => moment,
            Ordering::Equal => 0,
            Ordering::Greater => moment - 1,
        };
        let pairs = (0..moments).flat_map(|a| (0..moments).map(move |b| (a, b)));
        self.bounds = pairs.map(|(a, b)| old[before(a) * (moments - 1) + before(b)]).collect();
        self.let_time_pass();
    }

    /// Forgets a reading and all bounds of it; false if there was none.
    pub fn forget(&mut self, name: &T) -> bool {
        let Ok(place) = self.readings.binary_search(name) else { return false };
        let (moments, forgotten) = (self.moments(), place + 1);
        let mut index = 0;
        self.bounds.retain(|_| {
            let (a, b) = (index / moments, index % moments);
            index += 1;
            a != forgotten && b != forgotten
        });
        self.readings.remove(place);
        true
    }

    /// The names of the readings, in their order.
    pub fn readings(&self) -> impl Iterator<Item = &T> {
        self.readings.iter()
    }

    /// Whether at least `duration` has passed since a reading: a choice, unless only one answer is possible. Time passes
    /// between calls, so a later call may return true where this one returns false.
    ///
    /// # Panics
    ///
    /// There is no such reading.
    pub fn has_passed<M>(&mut self, ctx: &mut Context<'_, M>, since: &T, duration: u32) -> bool {
        self.decide(ctx, None, since, duration)
    }

    /// Whether a reading is later than another by at least `by`: a choice, unless only one answer is possible. With 0:
    /// whether it is not earlier than the other.
    ///
    /// # Panics
    ///
    /// There is no such reading.
    pub fn is_later<M>(&mut self, ctx: &mut Context<'_, M>, reading: &T, than: &T, by: u32) -> bool {
        self.decide(ctx, Some(reading), than, by)
    }

    fn decide<M>(&mut self, ctx: &mut Context<'_, M>, later: Option<&T>, earlier: &T, by: u32) -> bool {
        let (a, b, by) = (self.moment(later), self.moment(Some(earlier)), i64::from(by));
        // At least `by`, or at most `by - 1`.
        let answer = match (self.is_possible(a, b, by), self.is_possible(b, a, 1 - by)) {
            (true, true) => ctx.choose(2) == 1,
            (possible, _) => possible,
        };
        match answer {
            true => self.restrict(a, b, by),
            false => self.restrict(b, a, 1 - by),
        }
        self.let_time_pass();
        answer
    }

    /// Assumes that the first moment is at least `by` later than the second, if that is possible; `None` is now. Returns
    /// whether it is possible.
    pub(crate) fn assume(&mut self, later: Option<&T>, earlier: Option<&T>, by: i64) -> bool {
        let (a, b) = (self.moment(later), self.moment(earlier));
        let possible = self.is_possible(a, b, by);
        if possible {
            self.restrict(a, b, by);
            self.let_time_pass();
        }
        possible
    }

    /// Whether moment `a` can be later than moment `b` by at least `by`.
    fn is_possible(&self, a: usize, b: usize, by: i64) -> bool {
        self.bound(a, b).is_none_or(|most| most >= by)
    }

    /// Notes that moment `a` is later than moment `b` by at least `by`, which is possible.
    fn restrict(&mut self, a: usize, b: usize, by: i64) {
        let moments = self.moments();
        if self.bound(b, a).is_some_and(|most| most <= -by) {
            return;
        }
        // Only paths over the new bound, b - a <= -by, can tighten another bound.
        let old = self.bounds.clone();
        let at = |from: usize, to: usize| old[from * moments + to];
        for from in 0..moments {
            for to in 0..moments {
                let (Some(first), Some(last)) = (at(from, b), at(a, to)) else { continue };
                let over = first - by + last;
                let bound = &mut self.bounds[from * moments + to];
                *bound = Some(bound.map_or(over, |bound| bound.min(over)));
            }
        }
    }

    /// Any time may pass before the next look at the clock.
    fn let_time_pass(&mut self) {
        let moments = self.moments();
        self.bounds[1..moments].fill(None);
    }

    fn moments(&self) -> usize {
        self.readings.len() + 1
    }

    fn moment(&self, reading: Option<&T>) -> usize {
        let Some(name) = reading else { return 0 };
        match self.readings.binary_search(name) {
            Ok(place) => place + 1,
            Err(_) => panic!("the clock has no such reading"),
        }
    }

    fn bound(&self, a: usize, b: usize) -> Option<i64> {
        self.bounds[a * self.moments() + b]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::context::Environment;

    /// Answers as scripted, then with 0, and notes the answers.
    #[derive(Default)]
    struct Script {
        answers: Vec<u32>,
        given: Vec<u32>,
    }

    impl Environment for Script {
        fn choose(&mut self, alternatives: u32) -> u32 {
            assert_eq!(alternatives, 2);
            let answer = self.answers.get(self.given.len()).copied().unwrap_or(0);
            self.given.push(answer);
            answer
        }

        fn can_send(&mut self, _: crate::NodeId, _: usize) -> bool {
            unreachable!("clocks send nothing")
        }

        fn choose_weighted(&mut self, _: &[u32]) -> u32 {
            unreachable!("times are not weighed")
        }

        fn log(&mut self, _: &str) {}

        fn answer(&mut self, _: u64, _: crate::Response) {}

        fn restart(&mut self, _: &str) {}
    }

    #[derive(Clone, Copy, Debug)]
    enum Operation {
        Read(u8),
        HasPassed(u8, u32),
        IsLater(u8, u8, u32),
    }

    /// The answers of all executions.
    fn explored(operations: &[Operation]) -> BTreeSet<Vec<bool>> {
        let mut found = BTreeSet::new();
        let mut next = vec![Vec::new()];
        while let Some(answers) = next.pop() {
            let mut script = Script { answers: answers.clone(), ..Script::default() };
            let mut ctx = Context::<()>::new(0, 1, &mut script);
            let mut clock = Clock::default();
            let mut said = Vec::new();
            for operation in operations {
                match operation {
                    Operation::Read(name) => clock.read(*name),
                    Operation::HasPassed(since, by) => said.push(clock.has_passed(&mut ctx, since, *by)),
                    Operation::IsLater(one, than, by) => said.push(clock.is_later(&mut ctx, one, than, *by)),
                }
            }
            assert!(found.insert(said), "the answers determine the results");
            next.extend((answers.len()..script.given.len()).map(|place| {
                let mut other = script.given[..place].to_vec();
                other.push(1);
                other
            }));
        }
        found
    }

    /// Enumerates all times of the operations, with gaps up to `gap`. Larger gaps change no answer if no comparison
    /// asks for as much.
    fn by_times(operations: &[Operation], gap: i64) -> BTreeSet<Vec<bool>> {
        let mut found = BTreeSet::new();
        let gaps = (gap + 1) as usize;
        for mut number in 0..gaps.pow(operations.len() as u32) {
            let (mut now, mut read, mut said) = (0, [0; 3], Vec::new());
            for operation in operations {
                now += (number % gaps) as i64;
                number /= gaps;
                match *operation {
                    Operation::Read(name) => read[usize::from(name)] = now,
                    Operation::HasPassed(since, by) => said.push(now - read[usize::from(since)] >= i64::from(by)),
                    Operation::IsLater(one, than, by) => {
                        said.push(read[usize::from(one)] - read[usize::from(than)] >= i64::from(by));
                    }
                }
            }
            found.insert(said);
        }
        found
    }

    /// The answers are exactly those that some times of a clock allow.
    #[test]
    fn answers_are_those_of_all_times() {
        let mut seed = 1u64;
        let mut draw = |below: u64| {
            // Knuth's linear congruential generator; the high bits are good enough.
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut restricted = 0;
        for _ in 0..300 {
            let mut operations = vec![Operation::Read(0), Operation::Read(1), Operation::Read(2)];
            while operations.len() < 6 {
                let [one, two] = [draw(3) as u8, draw(3) as u8];
                operations.push(match draw(4) {
                    0 => Operation::Read(one),
                    1 => Operation::IsLater(one, two, draw(4) as u32),
                    _ => Operation::HasPassed(one, draw(4) as u32),
                });
            }
            let answers = explored(&operations);
            assert_eq!(answers, by_times(&operations, 4), "{operations:?}");
            let comparisons = operations.iter().filter(|one| !matches!(one, Operation::Read(_))).count();
            restricted += u32::from(answers.len() < 1 << comparisons);
        }
        assert!(restricted > 100, "there were restrictions in {restricted} cases only");
    }

    #[test]
    fn clocks_that_know_the_same_are_equal() {
        let mut script = Script { answers: vec![1, 1], ..Script::default() };
        let mut ctx = Context::<()>::new(0, 1, &mut script);
        let mut clock = Clock::default();
        clock.read('a');
        let fresh = clock.clone();
        // "Not yet" says nothing about later.
        assert!(clock.has_passed(&mut ctx, &'a', 0));
        assert_eq!(clock, fresh);
        assert!(clock.has_passed(&mut ctx, &'a', 20));
        let passed = clock.clone();
        // Only one answer is possible now.
        assert!(clock.has_passed(&mut ctx, &'a', 10));
        assert_eq!(clock, passed);
        clock.read('b');
        clock.forget(&'a');
        clock.read('a');
        clock.forget(&'b');
        assert_eq!(clock, fresh);
        assert_eq!(script.given, [1]);
    }

    #[test]
    #[should_panic(expected = "no such reading")]
    fn a_reading_is_taken_before_it_is_compared() {
        let mut script = Script::default();
        let mut ctx = Context::<()>::new(0, 1, &mut script);
        Clock::<char>::default().has_passed(&mut ctx, &'a', 1);
    }
}
