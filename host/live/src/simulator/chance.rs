//! The purposes of random draws in a simulated run.

use host_model::lts::Outcome;
use host_search::kernel::dice::draw_outcome;

use crate::chance;

/// The purpose of a draw.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Start,
    Latency,
    Loss,
    Duplicates,
    Delay,
    Churn,
    Partitions,
    Choices,
    Phases,
    Outages,
}

impl chance::Purpose for Purpose {
    const COUNT: usize = Self::Outages as usize + 1;

    fn index(self) -> usize {
        self as usize
    }
}

/// The random numbers of a run.
pub(super) type Chance = chance::Chance<Purpose>;

impl Chance {
    pub(super) fn outcome(&mut self, outcomes: &[Outcome]) -> usize {
        draw_outcome(self.dice(Purpose::Choices), outcomes.iter())
    }
}
