//! The tasks of the checkers of simulated runs.

use std::time::Duration;

use host_live::world::Profile;
use host_search::kernel::rules::Rules;
use serde::{Deserialize, Serialize};

use crate::cluster;

/// Checkers of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchSpec {
    /// Whether they prevent their predictions from happening.
    pub steers: bool,
    /// Whether they take as long as those of the thesis.
    pub thesis: bool,
    /// Whether promises of progress do not count: none is predicted to die, and filters may make one impossible to keep.
    pub safety_only: bool,
    /// The minimum time between two rounds of a node; by default that of the profile.
    pub interval: Option<Duration>,
    /// The maximum number of events of the unfolding in a round; by default that of the profile.
    pub ahead: Option<u64>,
    /// The maximum number of random walks of a round; none by default.
    pub walks: Option<u64>,
    /// Whether they may break a connection in place of a message that has an order.
    pub breaks: bool,
    /// The maximum number of events to look ahead from each event while its effects are held; without it, none are held.
    pub hold: Option<u64>,
}

impl WatchSpec {
    pub(super) fn watching(self) -> cluster::Watching {
        cluster::Watching { steers: self.steers, holds: self.hold.is_some(), breaks: self.breaks }
    }

    /// Their profile.
    pub(super) fn profile(self) -> Profile {
        let mut profile = if self.thesis { Profile::thesis() } else { Profile::ours() };
        profile.limits.promises = (!self.safety_only).then(Rules::default);
        profile.interval = self.interval.unwrap_or(profile.interval);
        profile.limits.events_max = self.ahead.unwrap_or(profile.limits.events_max);
        profile.limits.walks_max = self.walks.unwrap_or(profile.limits.walks_max);
        profile.limits.breaks = self.breaks;
        profile.hold = self.hold;
        profile
    }
}
