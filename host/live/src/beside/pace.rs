//! How long a round of a checker takes, and how far the next one may go.
//!
//! A deadline ends a round that takes too long. What it has found by then stands, but filters that could not be explored to the end are
//! none, and consequence prediction has had no turn. So after such a round the next ones explore less, until they end in time.

use std::time::Duration;

use crate::checker::Limits;

/// Events and states that a round may have at least, unless it was asked for fewer.
const LEAST: (u64, u64) = (64, 32);
/// How often these are halved at most.
const HALVED_MAX: u32 = 16;

/// How far rounds may go, by how long the last ones took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    asked: (u64, u64),
    most: Duration,
    halved: u32,
}

impl Pace {
    /// As far as was asked for, in at most that time.
    pub(super) fn new(asked: &Limits, most: Duration) -> Self {
        Self { asked: (asked.events_max, asked.states_max), most, halved: 0 }
    }

    /// Events and states that the next round may have.
    pub(super) fn reach(&self) -> (u64, u64) {
        let of = |asked: u64, least: u64| (asked >> self.halved).max(least.min(asked));
        (of(self.asked.0, LEAST.0), of(self.asked.1, LEAST.1))
    }

    /// Those that a round has at least.
    pub(super) fn least(&self) -> (u64, u64) {
        (LEAST.0.min(self.asked.0), LEAST.1.min(self.asked.1))
    }

    /// A round took so long, and was cut short or not: a quarter of it where it was, twice as much where it took less than a quarter of
    /// the time.
    pub(super) fn took(&mut self, time: Duration, is_cut: bool) {
        let before = *self;
        if is_cut {
            self.halved = (self.halved + 2).min(HALVED_MAX);
            // What is as small as it gets grows back at once.
            while self.halved > before.halved && (Self { halved: self.halved - 1, ..before }).reach() == self.reach() {
                self.halved -= 1;
            }
        } else if time < self.most / 4 {
            self.halved = self.halved.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn pace(events_max: u64, states_max: u64) -> Pace {
        Pace::new(&Limits { events_max, states_max, ..Limits::default() }, SECOND)
    }

    /// A quarter, a quarter of that, and then the least; what took between a quarter of the time and all of it stays; and back, twice as
    /// much each time.
    #[test]
    fn rounds_that_were_cut_short_go_less_far_until_they_end_in_time() {
        let mut pace = pace(4_000, 2_000);
        let mut reached = vec![pace.reach()];
        let (cut, slow, fast) = ((SECOND, true), (SECOND / 4, false), (SECOND / 5, false));
        for (time, is_cut) in [cut, cut, slow, cut, cut, cut, fast, slow, fast, fast, fast, fast, fast, fast, fast] {
            pace.took(time, is_cut);
            reached.push(pace.reach());
        }
        let down = [(4_000, 2_000), (1_000, 500), (250, 125), (250, 125), (64, 32), (64, 32), (64, 32)];
        let up = [(125, 62), (125, 62), (250, 125), (500, 250), (1_000, 500), (2_000, 1_000), (4_000, 2_000)];
        assert_eq!(reached, [&down[..], &up, &[(4_000, 2_000); 2]].concat());
    }

    #[test]
    fn nothing_goes_further_than_was_asked_for_nor_less_far_than_the_least() {
        for (events, states) in [(0, 0), (10, 5), (64, 32), (65, 33), (1_000, 0), (u64::MAX, u64::MAX)] {
            let mut pace = pace(events, states);
            for round in 0..200_u32 {
                let reach = pace.reach();
                assert!(reach.0 <= events && reach.1 <= states, "{reach:?}");
                assert!(reach.0 >= events.min(64) && reach.1 >= states.min(32), "{reach:?}");
                pace.took(SECOND * (round % 3), round < 100 && round % 3 != 0);
            }
            assert_eq!(pace.reach(), (events, states));
        }
    }
}
