//! The checker of a node of a world, and how it works in virtual time.

use std::collections::BTreeSet;
use std::time::Duration;

use host_model::contract::{MachineFactory, NodeId};
use host_model::scenario::Scenario;

use crate::beside::{Collector, Desk, Manner, Rounds};
use crate::checker::{Checker, Limits, Round, Steering};
use crate::checkpoint::Snapshot;
use crate::filter::Pattern;
use crate::gate::Views;
use crate::time::{Share, Time};
use crate::world::guided::News;

/// How the checkers of a world work.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The cluster as one look ahead has it.
    pub scenario: Scenario,
    /// How far a round looks.
    pub limits: Limits,
    /// The time between two snapshots of a node, at least.
    pub every: Duration,
    /// How long a unit of work takes.
    pub each: Duration,
    /// Whether nodes are steered; if so, whether connections may be broken instead of messages.
    pub steers: Option<bool>,
}

/// What a checker has foreseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// Its node.
    pub node: NodeId,
    /// When its round ended.
    pub at: Time,
    /// How many violations.
    pub violations: usize,
    /// How many promises that die.
    pub dead: usize,
}

/// The checker of a node that runs.
pub(super) struct Advisor<'w> {
    pub(super) collector: Collector,
    pub(super) rounds: Rounds<'w>,
    /// Whether a round is going on.
    pub(super) is_busy: bool,
    /// The latest snapshot that no round has begun with.
    pub(super) waiting: Option<Snapshot>,
    /// When the next snapshot is asked for, if that is on the agenda.
    pub(super) next: Option<Time>,
}

/// Hands what a checker has found to the gate of its node.
pub(super) type Hears<G> = fn(&mut G, Time, News);

/// Where a checker works in virtual time: a unit of work takes so long, and nothing else takes any.
pub(super) struct Virtual {
    pub(super) now: Time,
    pub(super) each: Duration,
    pub(super) node: NodeId,
    pub(super) news: Vec<(Time, News)>,
    pub(super) foreseen: Vec<Foreseen>,
}

impl Desk for Virtual {
    fn now(&mut self) -> Time {
        self.now
    }

    fn allow(&mut self, _time: Duration) {}

    fn worked(&mut self, units: u64) {
        self.now = self.now.after(self.each.saturating_mul(u32::try_from(units).unwrap_or(u32::MAX)));
    }

    fn views(&mut self, views: Vec<Option<Views>>) {
        self.news.push((self.now, News::Views(views)));
    }

    fn filters(&mut self, patterns: BTreeSet<Pattern>, interval: Duration) {
        self.news.push((self.now, News::Filters(patterns, interval)));
    }

    fn report(&mut self, round: &Round, _scenario: &Scenario, _steering: Option<&Steering>) {
        let (violations, dead) = (round.predictions.len(), round.dead.len());
        self.foreseen.push(Foreseen { node: self.node, at: self.now, violations, dead });
    }
}

/// The checker of a start of a node.
pub(super) fn advisor<'w>(
    advice: &Advice,
    factory: &'w dyn MachineFactory,
    me: NodeId,
    now: Time,
) -> Result<Advisor<'w>, String> {
    let Advice { scenario, limits, every, steers, .. } = advice;
    let checker = Checker::new(factory, scenario.clone(), *limits).map_err(|error| error.to_string())?;
    let (limits, every, round_time) = (*limits, *every, Duration::from_secs(1));
    let manner = Manner { me, limits, round_time, every, share: Share::ALL, steers: *steers };
    Ok(Advisor {
        collector: Collector::new(me, scenario.nodes, every),
        rounds: Rounds::new(checker, manner, &[], now),
        is_busy: false,
        waiting: None,
        next: None,
    })
}
