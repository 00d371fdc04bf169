//! The conditions of a run: latency, loss, churn, partitions, delays.

use std::time::Duration;

use host_model::contract::LocalKind;
use host_model::scenario::{Network, Scenario};
use serde::{Deserialize, Serialize};

use crate::time::{Range, Share};

/// The delay from when a local event becomes possible until it happens, by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delays {
    /// Timers.
    pub timer: Range,
    /// Calls of the application.
    pub application: Range,
    /// Internal events.
    pub internal: Range,
}

/// Temporary partitions, in which some nodes do not reach the others. All divisions into two parts with at least one node each are equally
/// likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partitions {
    /// The mean time from the end of a partition to the next one.
    pub every: Duration,
    /// The duration of a partition.
    pub lasting: Duration,
}

/// The conditions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// The latency of messages. On ordered links, a message also waits for those before it.
    pub latency: Range,
    /// The latency of messages from a node to itself, which are never lost then; if none, they are like all others.
    pub loopback: Option<Range>,
    /// The share of messages that unordered links lose.
    pub loss: Share,
    /// The share of further deliveries that happen, of those that the scenario allows.
    pub duplicates: Share,
    /// The mean time between two resets in the cluster; none without resets.
    pub churn: Option<Duration>,
    /// Partitions, if any. They lose messages on unordered links, and delay those on ordered ones.
    pub partitions: Option<Partitions>,
    /// The delays of local events.
    pub delays: Delays,
    /// The duration of a run, in virtual time.
    pub time: Duration,
    /// The maximum number of events in a run.
    pub events_max: u64,
    /// Whether a run continues after a violation.
    #[serde(rename = "goes_on")]
    pub continues: bool,
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
            continues: false,
        }
    }
}

/// The longest duration: the sum of several still fits a [`Time`](crate::time::Time).
const TIME_MAX: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Why conditions are refused, alone or in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionsError {
    /// A range whose shortest duration is longer than its longest one.
    #[error("the range of the {0} ends before it begins")]
    Range(&'static str),
    /// A time longer than a run can be.
    #[error("{0}: 100 years are the most")]
    TooLong(&'static str),
    /// A share above 100 %.
    #[error("the share of {0} is more than 100 %")]
    Share(&'static str),
    /// A time of zero between events of a kind.
    #[error("there is no time between two {0}")]
    Frequency(&'static str),
    /// A loss, and no link that can lose messages.
    #[error("every link has an order, so no message is lost by itself")]
    NoLoss,
    /// Duplicates, and no link that can duplicate messages.
    #[error("no link delivers a message twice")]
    NoDuplicates,
    /// Resets, which the scenario does not allow.
    #[error("the scenario has no resets")]
    NoResets,
}

impl Conditions {
    /// Refuses conditions that do not fit a scenario, rather than ignoring them.
    ///
    /// # Errors
    ///
    /// The first reason.
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
            () if self.churn.is_some() && !scenario.faults.have_restarts() => Err(ConditionsError::NoResets),
            () => Ok(()),
        }
    }
}

impl Delays {
    /// The delays of a kind of event.
    pub fn of(&self, kind: LocalKind) -> Range {
        match kind {
            LocalKind::Timer => self.timer,
            LocalKind::Application => self.application,
            LocalKind::Internal => self.internal,
        }
    }
}
