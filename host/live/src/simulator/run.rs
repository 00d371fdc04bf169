//! One run: from the start to its end.

use std::collections::BTreeMap;

use host_model::contract::{LocalKind, MachineError, NodeId};
use host_model::lts::{LocalEventId, LocalStateId, MessageId, Step, Stepper, Trigger};
use host_model::scenario::FaultEvent;
use host_model::trace::start::Start;

use crate::agenda::Agenda;
use crate::simulator::chance::{Chance, Purpose};
use crate::simulator::conditions::{Conditions, ConditionsError, Partitions};
use crate::simulator::finished::{Counts, End, Finished};
use crate::simulator::input::Input;
use crate::simulator::script::{self, Phase, ScriptError};
use crate::simulator::verdicts::{Here, Log, Verdicts};
use crate::time::Time;

/// Why a simulation is refused or has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulatorError {
    /// The conditions do not fit the scenario.
    #[error(transparent)]
    Conditions(#[from] ConditionsError),
    /// The script does not fit the scenario.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// A node takes quorums, whose messages have no time at which they are taken.
    #[error("node {0} takes messages together, and a simulation delivers them one by one")]
    Quorums(NodeId),
    /// The host itself cannot continue.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// Runs in one local transition system: each handler is executed once for all of them.
pub struct Simulator<'s, 'l> {
    stepper: &'s mut Stepper<'l>,
    starts: &'s [Start],
    conditions: Conditions,
    script: &'s [Phase],
}

impl<'s, 'l> Simulator<'s, 'l> {
    /// Runs from these start states, at least one.
    ///
    /// # Errors
    ///
    /// The conditions do not fit the scenario, or a node takes quorums.
    pub fn new(
        stepper: &'s mut Stepper<'l>,
        starts: &'s [Start],
        conditions: Conditions,
    ) -> Result<Self, SimulatorError> {
        conditions.check(stepper.lts().scenario())?;
        let nodes = 0..stepper.lts().scenario().nodes;
        match nodes.into_iter().find(|node| stepper.known().takes_quorums(*node)) {
            Some(node) => Err(SimulatorError::Quorums(node)),
            None => Ok(Self { stepper, starts, conditions, script: &[] }),
        }
    }

    /// Adds a script, whose phases follow each other in each run.
    ///
    /// # Errors
    ///
    /// The script does not fit the scenario.
    pub fn scripted(self, script: &'s [Phase]) -> Result<Self, SimulatorError> {
        script::check(script, self.stepper.lts().scenario())?;
        Ok(Self { script, ..self })
    }

    /// Executes one run.
    ///
    /// # Determinism duty
    ///
    /// The result depends on the scenario, the conditions, the script and the seed; not on runs before it.
    ///
    /// # Errors
    ///
    /// The host fails, or is asked to stop.
    pub fn run(&mut self, seed: u64) -> Result<Finished, MachineError> {
        let mut run = self.begin(seed);
        let end = run.finish()?;
        Ok(run.over(seed, end))
    }

    /// A run in which nothing has happened yet.
    pub(crate) fn begin(&mut self, seed: u64) -> Run<'_, 'l> {
        let mut chance = Chance::new(seed);
        let start = &self.starts[chance.below(Purpose::Start, self.starts.len() as u64) as usize];
        let verdicts = Verdicts::new(self.stepper.lts(), self.conditions.continues);
        Run {
            stepper: &mut *self.stepper,
            start,
            conditions: &self.conditions,
            script: self.script,
            chance,
            agenda: Agenda::default(),
            now: Time(0),
            locals: start.locals.clone(),
            armed: vec![BTreeMap::new(); start.locals.len()],
            arrivals: BTreeMap::new(),
            waiting: BTreeMap::new(),
            partition: None,
            phase: None,
            path: Vec::new(),
            #[cfg(test)]
            times: Vec::new(),
            counts: Counts::default(),
            log: Log::default(),
            verdicts,
        }
    }
}

/// A run in progress.
pub(crate) struct Run<'r, 'l> {
    pub(super) stepper: &'r mut Stepper<'l>,
    pub(crate) start: &'r Start,
    pub(super) conditions: &'r Conditions,
    pub(super) script: &'r [Phase],
    pub(super) chance: Chance,
    pub(super) agenda: Agenda<Input>,
    pub(super) now: Time,
    pub(super) locals: Vec<LocalStateId>,
    /// The scheduled local events of each node, with the numbers of their entries.
    pub(super) armed: Vec<BTreeMap<LocalEventId, u64>>,
    /// The arrival of the last message on each ordered link, by sender and destination.
    pub(super) arrivals: BTreeMap<(NodeId, NodeId), Time>,
    /// The messages on ordered links that wait until both ends reach each other.
    pub(super) waiting: BTreeMap<(NodeId, NodeId), Vec<MessageId>>,
    /// The side of each node in the partition, and its end.
    pub(super) partition: Option<(Vec<bool>, Time)>,
    /// The phase of the script, and its end.
    pub(super) phase: Option<(&'r Phase, Time)>,
    pub(crate) path: Vec<Step>,
    /// The time of each step.
    #[cfg(test)]
    pub(super) times: Vec<Time>,
    pub(super) counts: Counts,
    pub(super) log: Log,
    pub(super) verdicts: Verdicts,
}

impl Run<'_, '_> {
    /// Runs to the end, and returns why the run has ended.
    pub(crate) fn finish(&mut self) -> Result<End, MachineError> {
        let start = self.start;
        self.judge()?;
        self.enter_phase(0);
        self.post(&start.in_flight);
        (0..self.locals.len() as NodeId).for_each(|node| self.arm(node));
        self.reset_nodes_of_phase()?;
        if let Some(mean) = self.conditions.churn {
            self.add_around(Purpose::Churn, mean, Input::Reset);
        }
        if let Some(Partitions { every, .. }) = self.conditions.partitions {
            self.add_around(Purpose::Partitions, every, Input::Partition);
        }
        let end = Time(0).after(self.conditions.time);
        while !self.is_over() {
            let Some((at, input)) = self.agenda.next_until(end) else {
                return Ok(if self.agenda.is_empty() { End::Quiet } else { End::Time });
            };
            self.now = at;
            self.happen(input)?;
        }
        Ok(if self.verdicts.is_violated() { End::Violation } else { End::Events })
    }

    /// Whether no further step may follow.
    pub(super) fn is_over(&self) -> bool {
        self.verdicts.is_violated() || self.counts.events >= self.conditions.events_max
    }

    /// Its results.
    fn over(self, seed: u64, end: End) -> Finished {
        self.verdicts.finish(seed, end, self.now, self.counts, &self.log)
    }

    /// Processes an input.
    fn happen(&mut self, input: Input) -> Result<(), MachineError> {
        match input {
            Input::Arrival(message) => {
                let (route, node) = {
                    let message = self.stepper.message(message);
                    (message.route(), message.to)
                };
                // The connection was broken meanwhile.
                if !self.stepper.state(self.locals[node as usize]).fault_state.can_take(&route) {
                    return Ok(());
                }
                self.counts.delivered += u64::from(!route.is_notice);
                self.step(node, Trigger::deliver(message))
            }
            Input::Departure(link) => {
                self.departure(link);
                Ok(())
            }
            Input::Local { node, event, armed } => {
                if self.armed[node as usize].get(&event) != Some(&armed) {
                    return Ok(());
                }
                self.armed[node as usize].remove(&event);
                let is_call = self.stepper.lts().local_event(event).kind == LocalKind::Application;
                if is_call && self.phase.is_some_and(|(phase, _)| !phase.lets_call(node)) {
                    return Ok(());
                }
                self.counts.local += 1;
                self.step(node, Trigger::local(event))
            }
            Input::Reset => {
                let mean = self.conditions.churn.expect("resets come only if the conditions have churn");
                self.add_around(Purpose::Churn, mean, Input::Reset);
                let node = self.chance.below(Purpose::Churn, self.locals.len() as u64) as NodeId;
                self.reset(node)
            }
            Input::Partition => {
                self.divide();
                Ok(())
            }
            Input::Phase(place) => self.begin_phase(place),
        }
    }

    /// Restarts a node, unless its budget is used up or the restart would change nothing. An outage loses as many of the writes since the
    /// last `sync` as is drawn, all numbers being equally likely.
    pub(super) fn reset(&mut self, node: NodeId) -> Result<(), MachineError> {
        let local = self.locals[node as usize];
        let is_restart = |trigger: &Trigger| trigger.fault().is_some_and(FaultEvent::is_restart);
        let restarts: Vec<Trigger> = self.stepper.state(local).faults.iter().filter(is_restart).collect();
        if restarts.is_empty() {
            return Ok(());
        }
        let reset = restarts[self.chance.below(Purpose::Outages, restarts.len() as u64) as usize];
        if self.stepper.is_idle(local, reset)? {
            return Ok(());
        }
        self.armed[node as usize].clear();
        self.counts.resets += 1;
        self.step(node, reset)
    }

    /// Takes a step of a node, and judges the state after it.
    pub(super) fn step(&mut self, node: NodeId, trigger: Trigger) -> Result<(), MachineError> {
        let row = self.stepper.step(self.locals[node as usize], trigger)?;
        let outcomes = self.stepper.outcomes(row);
        // A node receives the error of each broken connection, as it mostly does in operation.
        let heard: Vec<usize> = (0..outcomes.len()).filter(|index| !outcomes[*index].is_lost).collect();
        let index = match heard.len() == outcomes.len() || heard.is_empty() {
            true => self.chance.outcome(outcomes),
            false => {
                let heard_outcomes: Vec<_> = heard.iter().map(|index| outcomes[*index].clone()).collect();
                heard[self.chance.outcome(&heard_outcomes)]
            }
        };
        let outcome = outcomes[index].clone();
        self.counts.events += 1;
        self.locals[node as usize] = outcome.next;
        self.path.push(Step {
            node,
            trigger,
            outcome: u32::try_from(index).expect("a limit keeps outcomes below 2^32"),
        });
        #[cfg(test)]
        self.times.push(self.now);
        let fingerprint = self.stepper.state(outcome.next).fingerprint;
        self.log.note(self.now, node, fingerprint);
        self.post(&outcome.sent);
        self.arm(node);
        self.judge()
    }

    /// Cancels the local events of a node that are no longer possible, and draws times for those that are newly possible.
    pub(super) fn arm(&mut self, node: NodeId) {
        let state = std::sync::Arc::clone(self.stepper.state(self.locals[node as usize]));
        let (armed, events) = (&mut self.armed[node as usize], &state.protocol.local_events);
        armed.retain(|event, _| events.contains(event));
        for event in events {
            if armed.contains_key(event) {
                continue;
            }
            let kind: LocalKind = self.stepper.lts().local_event(*event).kind;
            let delay = self.chance.within(Purpose::Delay, self.conditions.delays.of(kind));
            let number = self.agenda.next_number();
            armed.insert(*event, number);
            self.agenda.add(self.now.after(delay), Input::Local { node, event: *event, armed: number });
        }
    }

    /// Judges the present state, in which the run may end.
    fn judge(&mut self) -> Result<(), MachineError> {
        let here = Here { start: self.start, path: &self.path, locals: &self.locals };
        self.verdicts.judge(self.stepper, here, self.now)
    }
}
