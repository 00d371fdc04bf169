//! The limits of the next round of a checker, by the time that the last ones took.
//!
//! A deadline ends a round that takes too long. Its findings stand, but filters that were not fully explored are dropped, and consequence
//! prediction has not run. So after such a round the next ones explore less, until they end in time.

use std::time::Duration;

use crate::checker::{Limits, Reach};

/// The smallest limits of a round, unless the user asked for less.
const LEAST: Reach = Reach { events_max: 64, states_max: 32 };
/// The maximum number of times that limits are halved.
const HALVED_MAX: u32 = 16;

/// The limits of rounds, adapted to the time that the last ones took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    asked: Reach,
    most: Duration,
    halved: u32,
}

impl Pace {
    /// The limits that the user asked for, and the longest time of a round.
    pub(super) fn new(asked: &Limits, most: Duration) -> Self {
        let Limits { events_max, states_max, .. } = *asked;
        Self { asked: Reach { events_max, states_max }, most, halved: 0 }
    }

    /// The limits of the next round.
    pub(super) fn reach(&self) -> Reach {
        let of = |asked: u64, least: u64| (asked >> self.halved).max(least.min(asked));
        Reach {
            events_max: of(self.asked.events_max, LEAST.events_max),
            states_max: of(self.asked.states_max, LEAST.states_max),
        }
    }

    /// The smallest limits of a round.
    pub(super) fn least(&self) -> Reach {
        Reach {
            events_max: LEAST.events_max.min(self.asked.events_max),
            states_max: LEAST.states_max.min(self.asked.states_max),
        }
    }

    /// Adapts the limits to the last round: divides them by four if it was cut short, and doubles them if it took less than a quarter of
    /// the longest time.
    pub(super) fn took(&mut self, time: Duration, is_cut: bool) {
        let before = *self;
        if is_cut {
            self.halved = (self.halved + 2).min(HALVED_MAX);
            // Halving below the smallest limits has no effect, and must not delay growth.
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

    /// Rounds that are cut short divide the limits by four down to the smallest; a round between a quarter of the time and all of it keeps
    /// them; and shorter rounds double them.
    #[test]
    fn rounds_that_were_cut_short_go_less_far_until_they_end_in_time() {
        let mut pace = pace(4_000, 2_000);
        let of = |reach: Reach| (reach.events_max, reach.states_max);
        let mut reached = vec![of(pace.reach())];
        let (cut, slow, fast) = ((SECOND, true), (SECOND / 4, false), (SECOND / 5, false));
        for (time, is_cut) in [cut, cut, slow, cut, cut, cut, fast, slow, fast, fast, fast, fast, fast, fast, fast] {
            pace.took(time, is_cut);
            reached.push(of(pace.reach()));
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
                assert!(reach.events_max <= events && reach.states_max <= states, "{reach:?}");
                assert!(reach.events_max >= events.min(64) && reach.states_max >= states.min(32), "{reach:?}");
                pace.took(SECOND * (round % 3), round < 100 && round % 3 != 0);
            }
            assert_eq!(pace.reach(), Reach { events_max: events, states_max: states });
        }
    }
}
