//! Checkers beside the nodes of a world: the state machines that a running node has in a thread, in virtual time.

use std::collections::BTreeSet;
use std::time::Duration;

use host_model::contract::{MachineFactory, NodeId};
use host_model::scenario::Scenario;

use crate::beside::{Collector, Desk, Manner, Rounds};
use crate::checker::{Checker, Limits, Round, Steering};
use crate::checkpoint::{Outcome, Snapshot};
use crate::filter::Pattern;
use crate::gate::{Gate, Views};
use crate::time::{Share, Time};
use crate::world::driver::World;
use crate::world::guided::{Guided, News};
use crate::world::input::Input;

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
    /// Whether nodes are steered; if so, whether connections may be broken in place of messages.
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
    collector: Collector,
    rounds: Rounds<'w>,
    /// Whether a round is going on.
    is_busy: bool,
    /// The latest snapshot that no round has begun with.
    waiting: Option<Snapshot>,
    /// When the next snapshot is asked for, if that is on the agenda.
    next: Option<Time>,
}

/// Hands what a checker has found to the gate of its node.
pub(super) type Hears<G> = fn(&mut G, Time, News);

/// Where a checker works in virtual time: a unit of work takes so long, and nothing else takes any.
struct Virtual {
    now: Time,
    each: Duration,
    node: NodeId,
    news: Vec<(Time, News)>,
    foreseen: Vec<Foreseen>,
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

impl<'w> World<'w, Guided<'w>> {
    /// The same with a checker beside each node that has a thread where the node runs for people.
    #[must_use]
    pub fn advised(mut self, advice: Advice) -> Self {
        self.advice = Some((advice, Guided::hear));
        self
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

impl<G: Gate> World<'_, G> {
    /// Has the checker of a node ask for a snapshot once it is time.
    pub(super) fn schedule_snapshot(&mut self, me: NodeId) {
        let (now, place) = (self.now, &mut self.places[me as usize]);
        let Some(advisor) = place.running.as_mut().and_then(|running| running.advisor.as_mut()) else { return };
        let Some(at) = advisor.collector.deadline().map(|at| at.max(now)) else { return };
        if advisor.next.is_none_or(|next| at < next) {
            advisor.next = Some(at);
            self.agenda.add(at, Input::Collect { node: me, start: place.starts });
        }
    }

    /// A checker asks for a snapshot, if it is time.
    pub(super) fn collect(&mut self, me: NodeId) -> Result<(), String> {
        let now = self.now;
        let Some(advisor) = self.running(me).and_then(|running| running.advisor.as_mut()) else { return Ok(()) };
        advisor.next = None;
        let Some((left_out, time)) = advisor.collector.due(now) else { return Ok(()) };
        self.feed(me, |node, now| node.gather_within(time, now, &left_out))?;
        Ok(())
    }

    /// An answer for a snapshot has come too late.
    pub(super) fn late(&mut self, me: NodeId, time: Duration) {
        if let Some(advisor) = self.running(me).and_then(|running| running.advisor.as_mut()) {
            advisor.collector.late(time);
        }
    }

    /// A snapshot has ended: if it is of use, the checker begins a round with it, or leaves it for the next one.
    pub(super) fn advise(&mut self, me: NodeId, outcome: &Outcome) -> Result<(), String> {
        let now = self.now;
        let Some(advisor) = self.running(me).and_then(|running| running.advisor.as_mut()) else { return Ok(()) };
        let (_, snapshot) = advisor.collector.gathered(now, outcome.clone());
        advisor.waiting = snapshot.or_else(|| advisor.waiting.take());
        self.begin_round(me)
    }

    /// A checker begins a round, if it has a snapshot and nothing else to do.
    fn begin_round(&mut self, me: NodeId) -> Result<(), String> {
        let Some(each) = self.advice.as_ref().map(|(advice, _)| advice.each) else { return Ok(()) };
        let (now, place) = (self.now, &mut self.places[me as usize]);
        let Some(advisor) = place.running.as_mut().and_then(|running| running.advisor.as_mut()) else {
            return Ok(());
        };
        let Some(snapshot) = advisor.waiting.take_if(|_| !advisor.is_busy) else { return Ok(()) };
        advisor.is_busy = true;
        let mut desk = Virtual { now, each, node: me, news: Vec::new(), foreseen: Vec::new() };
        let rest = advisor.rounds.look(&snapshot, &mut desk).map_err(|error| error.to_string())?;
        if advisor.rounds.counts().refused > 0 {
            return Err(format!("the checker of node {me} refuses a snapshot of its own cluster"));
        }
        for (at, news) in desk.news {
            self.agenda.add(at, Input::News { node: me, start: place.starts, news });
        }
        self.foreseen.extend(desk.foreseen);
        self.agenda.add(desk.now.after(rest), Input::Free { node: me, start: place.starts });
        Ok(())
    }

    /// A checker is through with its round.
    pub(super) fn end_round(&mut self, me: NodeId) -> Result<(), String> {
        if let Some(advisor) = self.running(me).and_then(|running| running.advisor.as_mut()) {
            advisor.is_busy = false;
        }
        self.begin_round(me)
    }

    /// A node hears what its checker has found.
    pub(super) fn hear(&mut self, me: NodeId, news: News) {
        let Some(hears) = self.advice.as_ref().map(|(_, hears)| *hears) else { return };
        let place = &mut self.places[me as usize];
        let now = place.local(self.now);
        if let Some(running) = &mut place.running {
            hears(&mut running.node.gate_mut().gate, now, news);
        }
    }
}
