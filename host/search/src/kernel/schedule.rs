//! The rules by which random walks choose among the enabled events.

use std::str::FromStr;

/// A rule by which a random walk chooses its next event. The strategies of walks have the algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// All enabled events by their weights.
    #[default]
    Uniform,
    /// By priorities of causal chains, with this depth: one less than it is the number of changes of a priority on a walk.
    Pct(u32),
    /// By priorities of events, which events of the same node draw again.
    Pos,
    /// Recently sent messages are likelier.
    Fresh,
    /// With random weights of nodes and of kinds of events, which each walk draws.
    Swarm,
    /// In phases of random length, with nodes and kinds of events that are unlikely in a phase.
    Phases,
    /// Each walk draws one of the others.
    Mix,
}

impl Schedule {
    /// The default depth of [`Schedule::Pct`].
    pub const PCT_DEPTH_DEFAULT: u32 = 3;

    /// The largest depth of [`Schedule::Pct`].
    pub const PCT_DEPTH_MAX: u32 = 100;

    /// One schedule of each kind.
    pub const ALL: [Self; 7] = [
        Self::Uniform,
        Self::Pct(Self::PCT_DEPTH_DEFAULT),
        Self::Pos,
        Self::Fresh,
        Self::Swarm,
        Self::Phases,
        Self::Mix,
    ];
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    /// Reads a name, with a depth after `pct:` if it is not the default.
    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        if let Some(depth) = text.strip_prefix("pct:") {
            let depth = depth.parse().ok().filter(|depth| (1..=Self::PCT_DEPTH_MAX).contains(depth));
            return depth.map(Self::Pct).ok_or(ScheduleError::Depth);
        }
        let named = Self::ALL.into_iter().find(|schedule| schedule.to_string().split(':').next() == Some(text));
        named.ok_or_else(|| ScheduleError::Name(text.to_owned()))
    }
}

impl std::fmt::Display for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Pct(depth) => write!(f, "pct:{depth}"),
            Self::Pos => f.write_str("pos"),
            Self::Fresh => f.write_str("fresh"),
            Self::Swarm => f.write_str("swarm"),
            Self::Phases => f.write_str("phases"),
            Self::Mix => f.write_str("mix"),
        }
    }
}

/// The reason why a text is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// There is no schedule of this name.
    #[error("there is no schedule `{0}`; there are uniform, pct, pct:DEPTH, pos, fresh, swarm, phases, mix")]
    Name(String),
    /// The depth is no number in the range.
    #[error("the depth of `pct` is a number from 1 to {}", Schedule::PCT_DEPTH_MAX)]
    Depth,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_read_as_they_are_written() {
        for schedule in Schedule::ALL.into_iter().chain([Schedule::Pct(1), Schedule::Pct(100)]) {
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
        assert_eq!("pct".parse(), Ok(Schedule::Pct(3)));
    }

    #[test]
    fn other_texts_are_refused_with_the_reason() {
        let error = |text: &str| text.parse::<Schedule>().expect_err(text);
        for text in ["pct:", "pct:0", "pct:101", "pct:x"] {
            assert_eq!(error(text), ScheduleError::Depth);
        }
        for text in ["", "fast", "mix:3", "Mix"] {
            assert_eq!(error(text), ScheduleError::Name(text.to_owned()));
        }
    }
}
