//! Runs of nodes with checkers: their findings, and the events that they have prevented.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host_model::contract::{MachineError, MachineFactory, NodeId, Stop};
use host_model::scenario::{Faults, Network, Scenario};

use crate::checker::{Checker, Explorer, Limits, Round};
use crate::gate::Gate;
use crate::kinds::Kinds;
use crate::node::Node;
use crate::simulator::Finished;
use crate::time::Time;
use crate::world::advisor::{Advice, Ears, Found};
use crate::world::explored::{Explored, Shared};
use crate::world::guided::Guided;
use crate::world::hold::Hold;
use crate::world::profile::Profile;
use crate::world::recorder::Recorder;

/// The results of a run's checkers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Rounds.
    pub rounds: u64,
    /// Rounds that predicted a violation.
    pub predicting: u64,
    /// The time of the first prediction.
    pub first: Option<Time>,
    /// Rounds that predicted no violation, but a dead state.
    pub dying: u64,
    /// Predictions for which the node has no filters that help.
    pub unhelpful: u64,
    /// Predictions for which the node has filters.
    pub helped: u64,
    /// Events prevented by a filter.
    pub filtered: u64,
    /// Events prevented by the immediate check.
    pub immediate: u64,
    /// Events prevented by looking ahead from them.
    pub foreseen: u64,
    /// The number of times that steering suspended itself.
    pub suspensions: u64,
    /// Whether steering has stopped the run: for at least the last tenth of its time no event happened, and the enabled ones were
    /// postponed.
    pub is_stopped: bool,
    /// Rounds from the states of all nodes because the named neighbours were unusable.
    pub unusable: u64,
}

impl Watched {
    /// Whether an event was prevented.
    pub fn has_prevented(&self) -> bool {
        self.filtered + self.immediate + self.foreseen > 0
    }
}

/// A prediction of a checker.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// The node of the checker.
    pub node: NodeId,
    /// The end of the round.
    pub at: Time,
    /// The round, with at least one prediction.
    pub round: Arc<Round>,
    /// The scenario in which its predictions replay.
    pub scenario: Scenario,
}

/// The first predictions of all runs in which checkers only report.
#[derive(Clone, Debug, Default)]
pub struct Firsts {
    /// Of a violation.
    pub violation: Option<Predicted>,
    /// Of a promise of progress that cannot be kept any more.
    pub dead: Option<Predicted>,
}

/// The numbers of prevented events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Prevented {
    pub(super) filtered: u64,
    pub(super) immediate: u64,
    pub(super) foreseen: u64,
    /// The number of times that a local event was postponed or delayed.
    pub(super) waited: u64,
    pub(super) suspensions: u64,
    pub(super) unusable: u64,
}

impl Prevented {
    /// Adds the counts of a process; calls that wait for the application do not count.
    pub(super) fn add<G: Gate>(&mut self, node: &Node<'_, Recorder<'_, G>>, ears: &Ears<G>) {
        let (counts, Recorder { gate, uncalled, .. }) = (node.counts(), node.gate());
        let instead = |name: &str| counts.instead.get(name).copied().unwrap_or(0);
        self.filtered += counts.filtered - uncalled;
        self.immediate += counts.discarded;
        self.foreseen += counts.foreseen;
        self.waited += instead("postpone") + instead("delay") - uncalled;
        self.suspensions += (ears.suspensions)(gate);
        self.unusable += counts.neighbours_unusable;
    }
}

/// The findings of the checkers of a world, and the events prevented at processes that have ended.
#[derive(Debug, Default)]
pub(super) struct Noted {
    rounds: u64,
    predicting: u64,
    first: Option<Time>,
    dying: u64,
    unhelpful: u64,
    helped: u64,
    pub(super) firsts: Firsts,
    /// The first node whose neighbours were of no use, and why.
    pub(super) unusable: Option<(NodeId, String)>,
    pub(super) prevented: Prevented,
}

impl Noted {
    /// A round has ended.
    pub(super) fn note(&mut self, now: Time, Found { foreseen, predicting, helps, is_unhelpful }: Found) {
        self.rounds += 1;
        self.unhelpful += u64::from(is_unhelpful);
        self.helped += u64::from(helps);
        let is_violation = foreseen.violations > 0;
        let first = if is_violation { &mut self.firsts.violation } else { &mut self.firsts.dead };
        if is_violation {
            self.predicting += 1;
            self.first.get_or_insert(now);
        } else if foreseen.dead > 0 {
            self.dying += 1;
        }
        if let (None, Some((round, scenario))) = (&first, predicting) {
            *first = Some(Predicted { node: foreseen.node, at: now, round, scenario });
        }
    }

    /// The results, with the events prevented at all processes, and whether steering has stopped the run.
    pub(super) fn finish(&self, prevented: Prevented, is_stopped: bool) -> Watched {
        let Prevented { filtered, immediate, foreseen, suspensions, unusable, .. } = prevented;
        let Self { rounds, predicting, first, dying, unhelpful, helped, .. } = *self;
        Watched {
            rounds,
            predicting,
            first,
            dying,
            unhelpful,
            helped,
            filtered,
            immediate,
            foreseen,
            suspensions,
            is_stopped,
            unusable,
        }
    }
}

/// A run that is over, and the results of its checkers.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The run.
    pub finished: Finished,
    /// The results of its checkers.
    pub watched: Watched,
    /// The first prediction of each kind.
    pub firsts: Firsts,
    /// The first node whose neighbours were of no use, and why, if there was one.
    pub unusable: Option<(NodeId, String)>,
}

/// The role of a run's checkers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// They report.
    Observe,
    /// They work as if they steered, and prevent nothing: steering is compared with that.
    Control,
    /// They prevent what they predict, and the immediate check is on.
    Steer,
}

/// The scenario in which checkers look ahead: nothing goes wrong but what goes wrong by itself. Where connections can break, a restart of
/// each node is ahead, as for the checkers of a running cluster: an outage, if kills of nodes are outages.
fn ahead(scenario: &Scenario) -> Scenario {
    let restarts = u32::from(scenario.has_connections());
    let faults = match scenario.faults.outages > 0 {
        true => Faults { outages: restarts, ..Faults::default() },
        false => Faults { resets: restarts, ..Faults::default() },
    };
    Scenario { faults, ..scenario.clone() }
}

/// Checkers of nodes, one for each. Their results are kept for all runs.
pub struct Checkers<'f> {
    pub(super) profile: Profile,
    scenario: Scenario,
    kinds: Arc<Kinds>,
    explored: Mutex<Explored<'f>>,
    /// Looks ahead from events whose effects are held.
    hold: Option<Mutex<Hold<'f>>>,
    pub(super) stop: Option<&'f dyn Stop>,
    /// Whether the rounds of each checker explore by themselves.
    #[cfg(test)]
    alone: Option<&'f dyn MachineFactory>,
}

impl<'f> Checkers<'f> {
    /// Checkers of a cluster that work like this.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn new(
        factory: &'f dyn MachineFactory,
        scenario: &Scenario,
        mut profile: Profile,
    ) -> Result<Self, MachineError> {
        let is_ordered = scenario.has_network(Network::Ordered);
        profile.limits.breaks &= is_ordered && scenario.faults.breaks > 0;
        profile.hold = profile.hold.filter(|_| !is_ordered);
        let scenario = ahead(scenario);
        let checker = Checker::new(factory, scenario.clone(), profile.limits)?;
        let hold = profile.hold.map(|events_max| {
            let limits = Limits { bytes_max: 0, ..Limits::of_an_event(events_max) };
            Checker::new(factory, scenario.clone(), limits).map(|checker| Mutex::new(Hold::new(checker)))
        });
        let kinds = Arc::clone(checker.kinds());
        Ok(Self {
            profile,
            scenario,
            kinds,
            explored: Mutex::new(Explored::new(checker)),
            hold: hold.transpose()?,
            stop: None,
            #[cfg(test)]
            alone: None,
        })
    }

    /// The same, with a stop from outside: a run that is stopped has no result.
    #[must_use]
    pub fn stopped_by(self, stop: &'f dyn Stop) -> Self {
        let explored = self.explored.into_inner().unwrap_or_else(PoisonError::into_inner).stopped_by(stop);
        let hold = self.hold.map(|hold| hold.into_inner().unwrap_or_else(PoisonError::into_inner).stopped_by(stop));
        Self { explored: Mutex::new(explored), hold: hold.map(Mutex::new), stop: Some(stop), ..self }
    }

    /// The same where no exploration is kept, but for looks ahead from events.
    #[cfg(test)]
    pub(super) fn alone(self, factory: &'f dyn MachineFactory) -> Self {
        Self { alone: Some(factory), ..self }
    }

    /// The numbers of explored rounds and of rounds that were looked up.
    #[cfg(test)]
    pub(super) fn counted(&self) -> (u64, u64) {
        self.explored.lock().unwrap_or_else(PoisonError::into_inner).counted
    }

    /// Whether nodes are steered; if so, whether connections may be broken instead of messages.
    fn steers(&self, part: Part) -> Option<bool> {
        (part != Part::Observe).then_some(self.profile.limits.breaks)
    }

    /// The settings of the checkers of a world.
    pub(super) fn advice(&self, part: Part) -> Advice {
        let Profile { interval, base, each, limits, .. } = self.profile;
        let (scenario, steers) = (self.scenario.clone(), self.steers(part));
        Advice { scenario, limits, every: interval, base, each, steers }
    }

    /// The explorer of a checker's rounds.
    pub(super) fn explorer(&self) -> Box<dyn Explorer + '_> {
        #[cfg(test)]
        if let Some(factory) = self.alone {
            let checker = Checker::new(factory, self.scenario.clone(), self.profile.limits);
            return Box::new(checker.expect("a machine of a native toy starts without a failure"));
        }
        Box::new(Shared::new(&self.explored))
    }

    /// The gate of a start of a node.
    pub(super) fn gate(&self, node: NodeId, part: Part) -> Guided<'_> {
        let steers = self.steers(part).filter(|_| part == Part::Steer);
        let gate = Guided::new(node, self.scenario.nodes, steers).within(self.profile.quota);
        let gate = gate.with_kinds(Arc::clone(&self.kinds));
        let Some(hold) = self.hold.as_ref().filter(|_| part == Part::Steer) else { return gate };
        gate.holding(move |event, fork| {
            let mut hold = hold.lock().unwrap_or_else(PoisonError::into_inner);
            hold.is_to_blame(event, fork).unwrap_or(false)
        })
    }
}

/// Steering has stopped a run if events only wait during the last one of this many equal parts of its time.
const STOPPED: u32 = 10;

/// Whether steering stops a run, while it continues.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standstill {
    /// The time of the last step of a node.
    stepped: Time,
    /// The number of events that had waited by then.
    waited: u64,
}

impl Standstill {
    /// A node has taken a step.
    pub(super) fn step(&mut self, now: Time, waited: u64) {
        *self = Self { stepped: now, waited };
    }

    /// Whether a run of this length stands still at its end.
    pub(super) fn is_stopped(&self, time: Duration, waited: u64) -> bool {
        let still = time.saturating_sub(self.stepped.since_start());
        waited > self.waited && still >= time / STOPPED
    }
}
