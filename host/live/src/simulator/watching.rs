//! The checkers of all runs, what their rounds came to, and what they have predicted first.

use std::collections::BTreeMap;
use std::sync::Arc;

use host_model::contract::{MachineError, MachineFactory, NodeId, Stop};
use host_model::scenario::{Faults, Network, Scenario};
use host_model::trace::Beginning;

use crate::checker::{CheckError, Checker, Limits, Round, Steering};
use crate::kinds::Kinds;
use crate::simulator::hold::{Hold, check_stopped};
use crate::simulator::profile::Profile;
use crate::time::Time;

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

/// The checkers of all runs: the result of a round depends only on its beginning, so it is kept.
pub struct Watching<'f> {
    pub(super) profile: Profile,
    checker: Checker<'f>,
    pub(super) hold: Option<Hold<'f>>,
    stop: Option<&'f dyn Stop>,
    /// The faults that each node has used up: all of its budget, at the beginning of a round.
    pub(super) used_up: Faults,
    pub(super) rounds: BTreeMap<[u8; 32], Arc<Round>>,
    steered: BTreeMap<([u8; 32], NodeId), Steering>,
    firsts: Firsts,
    pub(super) unusable: Option<(NodeId, String)>,
}

/// The scenario in which checkers look ahead: nothing goes wrong but what goes wrong by itself. Nodes know of their connections where a
/// budget can break them, so there each begins with a reset that it may have, and has had.
pub(crate) fn ahead(scenario: &Scenario) -> Scenario {
    let breaks = scenario.has_network(Network::Ordered) && scenario.faults.breaks_of_connections() > 0;
    let faults = Faults { resets: u32::from(breaks), duplicates: scenario.faults.duplicates, ..Faults::default() };
    Scenario { faults, ..scenario.clone() }
}

/// Rounds that are kept.
const ROUNDS_MAX: usize = 20_000;

impl<'f> Watching<'f> {
    /// Checkers of a cluster.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn new(
        factory: &'f dyn MachineFactory,
        scenario: &Scenario,
        mut profile: Profile,
    ) -> Result<Self, MachineError> {
        let ahead = ahead(scenario);
        let used_up = Faults { duplicates: 0, ..ahead.faults };
        profile.limits.breaks &= scenario.has_network(Network::Ordered) && scenario.faults.breaks > 0;
        let hold = profile.hold.filter(|_| !scenario.has_network(Network::Ordered)).map(|events_max| {
            // As a round: no run depends on those before it.
            let limits = Limits { bytes_max: 0, ..Limits::of_an_event(events_max) };
            Checker::new(factory, ahead.clone(), limits).map(Hold::new)
        });
        let (hold, checker) = (hold.transpose()?, Checker::new(factory, ahead, profile.limits)?);
        let (rounds, steered) = (BTreeMap::new(), BTreeMap::new());
        let firsts = Firsts::default();
        Ok(Self { profile, checker, hold, stop: None, used_up, rounds, steered, firsts, unusable: None })
    }

    /// The same, with a stop from outside: a run in which that happens has no result, as what is left of its rounds depends on the moment.
    #[must_use]
    pub fn stopped_by(self, stop: &'f dyn Stop) -> Self {
        let hold = self.hold.map(|hold| hold.stopped_by(stop));
        Self { checker: self.checker.stopped_by(stop), hold, stop: Some(stop), ..self }
    }

    /// The first node whose neighbours were of no use in some run, and why, if there was one.
    pub fn unusable(&self) -> Option<&(NodeId, String)> {
        self.unusable.as_ref()
    }

    /// The kinds of messages by which filters are coarse.
    pub(super) fn kinds(&self) -> &Arc<Kinds> {
        self.checker.kinds()
    }

    /// The first predictions of all runs in which checkers only report, as far as there were some.
    pub fn firsts(&self) -> &Firsts {
        &self.firsts
    }

    /// A round has ended that predicts something.
    pub(super) fn note(&mut self, node: NodeId, at: Time, round: Arc<Round>) {
        let first = match round.predictions.is_empty() {
            true => &mut self.firsts.dead,
            false => &mut self.firsts.violation,
        };
        if first.is_none() {
            let scenario = self.checker.scenario_of(&round.beginning);
            *first = Some(Predicted { node, at, round, scenario });
        }
    }

    /// A round from a global state, which is kept.
    pub(super) fn round(
        &mut self,
        key: [u8; 32],
        beginning: &Arc<Beginning>,
    ) -> Result<Option<Arc<Round>>, MachineError> {
        if self.rounds.len() >= ROUNDS_MAX {
            self.rounds.clear();
            self.steered.clear();
        }
        let round = self.checker.round(beginning).and_then(|mut round| {
            self.checker.find_dead_ahead(&mut round)?;
            Ok(round)
        });
        check_stopped(self.stop)?;
        match round {
            Ok(round) => {
                let round = Arc::new(round);
                self.rounds.insert(key, Arc::clone(&round));
                Ok(Some(round))
            }
            Err(CheckError::Refused(_)) => Ok(None),
            Err(CheckError::Machine(error)) => Err(error),
        }
    }

    /// The result for a node after a round.
    pub(super) fn steer(&mut self, key: [u8; 32], node: NodeId, round: &Round) -> Result<Steering, MachineError> {
        if let Some(known) = self.steered.get(&(key, node)) {
            return Ok(known.clone());
        }
        // Its round may be an earlier one than the last that was explored.
        self.checker.attend(&round.beginning)?;
        let steering = self.checker.steer(node, round);
        check_stopped(self.stop)?;
        let steering = match steering {
            Ok(steering) => steering,
            Err(CheckError::Refused(_)) => Steering { is_unhelpful: true, ..Steering::default() },
            Err(CheckError::Machine(error)) => return Err(error),
        };
        self.steered.insert((key, node), steering.clone());
        Ok(steering)
    }
}
