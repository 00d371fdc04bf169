//! The checker of a node of a world, and how it works in virtual time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use host_model::contract::{MachineFactory, NodeId};
use host_model::scenario::Scenario;

use crate::checker::{Checker, Explorer, Limits, Round, Steering};
use crate::checkpoint::Snapshot;
use crate::filter::Pattern;
use crate::gate::Views;
use crate::time::{Share, Time};
use crate::watcher::{Collector, Desk, Manner, Rounds};
use crate::world::guided::News;

/// The settings of the checkers of a world.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The scenario of a round, which looks ahead once.
    pub scenario: Scenario,
    /// The limits of a round.
    pub limits: Limits,
    /// The minimum time between two snapshots of a node.
    pub every: Duration,
    /// The time of a round in addition to its work.
    pub base: Duration,
    /// The time per unit of work.
    pub each: Duration,
    /// Whether nodes are steered; if so, whether connections may be broken instead of messages.
    pub steers: Option<bool>,
}

/// The prediction of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// The node of the checker.
    pub node: NodeId,
    /// The end of the round.
    pub at: Time,
    /// The number of predicted violations.
    pub violations: usize,
    /// The number of promises that die.
    pub dead: usize,
}

/// The findings of a round.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) foreseen: Foreseen,
    /// The round, if it predicts anything, and the scenario in which the prediction replays.
    pub(super) predicting: Option<(Arc<Round>, Scenario)>,
    /// Whether the node has filters against the predictions.
    pub(super) helps: bool,
    /// Whether no filter helps.
    pub(super) is_unhelpful: bool,
}

/// The access of checkers to a gate.
pub(super) struct Ears<G> {
    /// Passes it the findings of a checker.
    pub(super) hear: fn(&mut G, Time, News),
    /// The number of times that it has suspended steering.
    pub(super) suspensions: fn(&G) -> u64,
}

/// The checker of a running node.
pub(super) struct Advisor<'w> {
    pub(super) collector: Collector,
    pub(super) rounds: Rounds<'w>,
    /// Whether a round is in progress.
    pub(super) is_busy: bool,
    /// The latest snapshot without a round.
    pub(super) waiting: Option<Snapshot>,
    /// The time of the next request for a snapshot, if it is scheduled.
    pub(super) next: Option<Time>,
    pub(super) rest: Rest,
}

/// Whether the checker of a node rests, because another snapshot would equal the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rest {
    /// The number of changes in the world at the latest request for a snapshot.
    pub(super) asked: u64,
    /// Whether that snapshot was requested from all nodes.
    pub(super) is_whole: bool,
    /// The number of changes at the request of the last snapshot that has ended, and the number of incomplete ones in a row.
    pub(super) known: Option<u64>,
    pub(super) failed: u32,
    /// It rests until something changes from this.
    pub(super) since: Option<u64>,
}

/// The desk of a checker in virtual time: each unit of work takes `each`, and nothing else takes time.
pub(super) struct Virtual {
    pub(super) now: Time,
    /// The time that the first work takes in addition.
    pub(super) base: Duration,
    pub(super) each: Duration,
    pub(super) node: NodeId,
    pub(super) news: Vec<(Time, News)>,
    pub(super) found: Option<Found>,
}

impl Desk for Virtual {
    fn now(&mut self) -> Time {
        self.now
    }

    fn allow(&mut self, _time: Duration) {}

    fn worked(&mut self, units: u64) {
        self.now = self.now.after(std::mem::take(&mut self.base));
        self.now = self.now.after(self.each.saturating_mul(u32::try_from(units).unwrap_or(u32::MAX)));
    }

    fn views(&mut self, views: Vec<Option<Views>>) {
        self.news.push((self.now, News::Views(views)));
    }

    fn filters(&mut self, patterns: BTreeSet<Pattern>, interval: Duration) {
        self.news.push((self.now, News::Filters(patterns, interval)));
    }

    fn report(&mut self, round: &Arc<Round>, scenario: &Scenario, steering: Option<&Steering>) {
        let (violations, dead) = (round.predictions.len(), round.dead.len());
        let foreseen = Foreseen { node: self.node, at: self.now, violations, dead };
        self.found = Some(Found {
            foreseen,
            predicting: (violations + dead > 0).then(|| (Arc::clone(round), scenario.clone())),
            helps: steering.is_some_and(|steering| !steering.patterns.is_empty()),
            is_unhelpful: steering.is_some_and(|steering| steering.is_unhelpful),
        });
    }
}

/// The checker of a start of a node, whose rounds explore with this, or with a checker of their own.
pub(super) fn advisor<'w>(
    advice: &Advice,
    factory: &'w dyn MachineFactory,
    explorer: Option<Box<dyn Explorer + 'w>>,
    me: NodeId,
    now: Time,
) -> Result<Advisor<'w>, String> {
    let Advice { scenario, limits, every, steers, .. } = advice;
    let explorer = match explorer {
        Some(explorer) => explorer,
        None => Box::new(Checker::new(factory, scenario.clone(), *limits).map_err(|error| error.to_string())?),
    };
    let (limits, every, round_time) = (*limits, *every, Duration::from_secs(1));
    let manner = Manner { me, limits, round_time, every, share: Share::ALL, steers: *steers };
    Ok(Advisor {
        collector: Collector::new(me, scenario.nodes, every),
        rounds: Rounds::exploring(explorer, manner, now),
        is_busy: false,
        waiting: None,
        next: None,
        rest: Rest::default(),
    })
}
