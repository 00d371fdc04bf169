//! The conditions of a run: latency, loss, churn, partitions, delays.

use std::time::Duration;

use host_model::contract::LocalKind;
use host_model::scenario::{Network, Scenario};
use serde::{Deserialize, Serialize};

use crate::time::{Range, Share};

/// How long local events take to happen once they can, by their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delays {
    /// Timers.
    pub timer: Range,
    /// Calls of the application.
    pub application: Range,
    /// Steps that the protocol takes by itself.
    pub internal: Range,
}

/// Partitions that come and go: some nodes do not reach the others. Each division into two parts with a node in each is as likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partitions {
    /// The mean time from the end of one to the next.
    pub every: Duration,
    /// How long one lasts.
    pub lasting: Duration,
}

/// The conditions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// How long a message is on its way. Where messages have an order, one also waits for those before it.
    pub latency: Range,
    /// The same of a message of a node to itself, which is never lost then; like any other if there is none.
    pub loopback: Option<Range>,
    /// Messages that are lost, of those on links without an order.
    pub loss: Share,
    /// Further deliveries of a message, of those that the scenario allows.
    pub duplicates: Share,
    /// The mean time between two resets, of whichever nodes; none without resets.
    pub churn: Option<Duration>,
    /// Partitions, if there are any. They lose messages on links without an order, and hold up all others.
    pub partitions: Option<Partitions>,
    /// How long local events take.
    pub delays: Delays,
    /// How long a run is.
    pub time: Duration,
    /// How many events it has at most.
    pub events_max: u64,
    /// Whether it continues after a violation.
    pub goes_on: bool,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            latency: Range::milliseconds(1, 50),
            loopback: None,
            loss: Share(0),
            duplicates: Share(0),
            churn: None,
            partitions: None,
            delays: Delays {
                timer: Range::milliseconds(100, 1_000),
                application: Range::milliseconds(0, 10_000),
                internal: Range::milliseconds(0, 10),
            },
            time: Duration::from_secs(3_600),
            events_max: 1_000_000,
            goes_on: false,
        }
    }
}

/// The longest time: several of them together are still an instant.
const TIME_MAX: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Conditions that make no sense, or not in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionsError {
    /// The shortest duration is longer than the longest one.
    #[error("the range of the {0} ends before it begins")]
    Range(&'static str),
    /// A time is longer than any run.
    #[error("{0}: 100 years are the most")]
    TooLong(&'static str),
    /// A share is more than all.
    #[error("the share of {0} is more than 100 %")]
    Share(&'static str),
    /// A time between events of a kind is none.
    #[error("there is no time between two {0}")]
    Frequency(&'static str),
    /// Messages can be lost nowhere.
    #[error("every link has an order, so no message is lost by itself")]
    NoLoss,
    /// Messages can be delivered twice nowhere.
    #[error("no link delivers a message twice")]
    NoDuplicates,
    /// Nodes cannot be reset.
    #[error("the scenario has no resets")]
    NoResets,
}

impl Conditions {
    /// Refuses what makes no sense in a scenario: it would be wrong to ignore it.
    ///
    /// # Errors
    ///
    /// The first thing.
    pub fn check(&self, scenario: &Scenario) -> Result<(), ConditionsError> {
        let Delays { timer, application, internal } = self.delays;
        let ranges = [
            ("latency", self.latency),
            ("latency of loopback messages", self.loopback.unwrap_or(self.latency)),
            ("timers", timer),
            ("application", application),
            ("internal steps", internal),
        ];
        if let Some((name, _)) = ranges.into_iter().find(|(_, range)| range.from > range.to) {
            return Err(ConditionsError::Range(name));
        }
        let lasting = self.partitions.map_or(Duration::ZERO, |partitions| partitions.lasting);
        let longest = ranges.map(|(name, range)| (name, range.to));
        let mut longest = longest.into_iter().chain([("time", self.time), ("partitions", lasting)]);
        if let Some((name, _)) = longest.find(|(_, time)| *time > TIME_MAX) {
            return Err(ConditionsError::TooLong(name));
        }
        let shares = [("lost messages", self.loss), ("duplicates", self.duplicates)];
        if let Some((name, _)) = shares.into_iter().find(|(_, share)| *share > Share::ALL) {
            return Err(ConditionsError::Share(name));
        }
        let times = [("resets", self.churn), ("partitions", self.partitions.map(|it| it.every))];
        if let Some((name, _)) = times.into_iter().find(|(_, time)| time.is_some_and(|time| time.is_zero())) {
            return Err(ConditionsError::Frequency(name));
        }
        if let Some((name, _)) = times.into_iter().find(|(_, time)| time.is_some_and(|time| time > TIME_MAX)) {
            return Err(ConditionsError::TooLong(name));
        }
        let duplicates = scenario.has_network(Network::UnorderedDuplicating) && scenario.faults.duplicates > 0;
        let loses = scenario.has_network(Network::Unordered) || scenario.has_network(Network::UnorderedDuplicating);
        match () {
            () if self.loss > Share(0) && !loses => Err(ConditionsError::NoLoss),
            () if self.duplicates > Share(0) && !duplicates => Err(ConditionsError::NoDuplicates),
            () if self.churn.is_some() && scenario.faults.resets == 0 => Err(ConditionsError::NoResets),
            () => Ok(()),
        }
    }
}

impl Delays {
    /// Those of a kind.
    pub fn of(&self, kind: LocalKind) -> Range {
        match kind {
            LocalKind::Timer => self.timer,
            LocalKind::Application => self.application,
            LocalKind::Internal => self.internal,
        }
    }
}
