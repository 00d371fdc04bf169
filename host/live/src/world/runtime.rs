//! Runs of the node that ships: a world from each seed, judged along the path of the model that its nodes take.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host_model::contract::{Choice, MachineError, MachineFactory, NodeId, Stop};
use host_model::lts::{LocalStateId, Step, Stepper};
use host_model::scenario::{FaultEvent, Network, Scenario};
use host_model::trace::Origin;
use host_model::trace::start::Start;
use serde::{Deserialize, Serialize};

use crate::gate::{Gate, Open};
use crate::node::{self, Settings};
use crate::simulator::script;
use crate::simulator::verdicts::{Here, Log, Verdicts};
use crate::simulator::{Conditions, ConditionsError, Counts, Delays, End, Finished, Phase, SimulatorError};
use crate::time::{Range, Time};
use crate::world::driver::World;
use crate::world::memo::{Memory, Taken};
use crate::world::plan::{Own, Plan, Trouble};
use crate::world::refusal::RuntimeError;
use crate::world::watched::{Checkers, Noted, Part, Ran, Standstill, Watched};

/// The faults of a node that the model does not have, in addition to the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Troubles {
    /// The downtime of a process that was killed.
    pub down: Range,
    /// Cuts, in which one node does not reach another one.
    pub cuts: Option<Trouble>,
    /// Pauses, in which a process does nothing and its inputs wait.
    pub pauses: Option<Trouble>,
    /// Jumps of clocks, forwards or backwards.
    pub jumps: Option<Trouble>,
}

impl Default for Troubles {
    fn default() -> Self {
        Self { down: Range::milliseconds(0, 0), cuts: None, pauses: None, jumps: None }
    }
}

/// Runs of nodes in virtual time. Each handler is executed once for all of them.
pub struct Runtime<'f, 'l> {
    factory: &'f dyn MachineFactory,
    memory: Mutex<Memory<'l>>,
    scenario: Scenario,
    /// A start state in which a node has failed, if there is one.
    failing: Option<&'f Start>,
    conditions: Conditions,
    troubles: Troubles,
    script: &'f [Phase],
}

impl<'f, 'l> Runtime<'f, 'l> {
    /// Runs from these start states, at least one.
    ///
    /// # Errors
    ///
    /// The conditions do not fit the scenario, or no node of a running cluster can be part of it.
    pub fn new(
        stepper: Stepper<'l>,
        factory: &'f dyn MachineFactory,
        starts: &'f [Start],
        conditions: Conditions,
        troubles: Troubles,
    ) -> Result<Self, RuntimeError> {
        let scenario = stepper.lts().scenario().clone();
        conditions.check(&scenario).and_then(|()| troubles.check()).map_err(SimulatorError::from)?;
        match () {
            () if !scenario.links.is_empty() => return Err(RuntimeError::Links),
            () if scenario.network == Network::UnorderedDuplicating => return Err(RuntimeError::Duplicates),
            () => {}
        }
        if let Some(node) = (0..scenario.nodes).find(|node| stepper.known().takes_quorums(*node)) {
            return Err(SimulatorError::Quorums(node).into());
        }
        let has_failed = |start: &&Start| start.locals.iter().any(|local| stepper.state(*local).fault().is_some());
        let failing = starts.iter().find(has_failed);
        Ok(Self {
            factory,
            memory: Mutex::new(Memory::new(stepper, factory).map_err(SimulatorError::from)?),
            scenario,
            failing,
            conditions,
            troubles,
            script: &[],
        })
    }

    /// The same with a script, whose phases follow each other in each run.
    ///
    /// # Errors
    ///
    /// The script does not fit the scenario.
    pub fn scripted(self, script: &'f [Phase]) -> Result<Self, RuntimeError> {
        script::check(script, &self.scenario).map_err(SimulatorError::from)?;
        Ok(Self { script, ..self })
    }

    /// One run.
    ///
    /// # Determinism duty
    ///
    /// The result depends on the scenario, the conditions and the seed; not on runs before it.
    ///
    /// # Errors
    ///
    /// The host cannot continue, or is to stop.
    pub fn run(&self, seed: u64) -> Result<Finished, MachineError> {
        let Over { run, end, at } = self.over(seed)?;
        Ok(run.verdicts.finish(seed, end, at, run.counts, &run.log))
    }

    /// A run with a checker for each node, and the first predictions. A run in which no event is prevented equals the
    /// [control](Part::Control); and where checkers only observe, the run without them, as long as no node starts again: a snapshot tells
    /// nodes of each other's starts.
    ///
    /// # Determinism duty
    ///
    /// As for [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    pub fn run_watched(&self, seed: u64, checkers: &Checkers<'_>, part: Part) -> Result<Ran, MachineError> {
        let (Over { run, end, at }, watched, noted) = self.over_watched(seed, checkers, part)?;
        let finished = run.verdicts.finish(seed, end, at, run.counts, &run.log);
        Ok(Ran { finished, watched, firsts: noted.firsts, unusable: noted.unusable })
    }

    /// A steered run and its control run, which is the same run if steering has prevented nothing.
    ///
    /// # Determinism duty
    ///
    /// As for [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    pub fn run_steered(&self, seed: u64, checkers: &Checkers<'_>) -> Result<(Ran, Ran), MachineError> {
        let steered = self.run_watched(seed, checkers, Part::Steer)?;
        let control = match steered.watched.has_prevented() {
            true => self.run_watched(seed, checkers, Part::Control)?,
            false => steered.clone(),
        };
        Ok((control, steered))
    }

    /// Executes a run to its end.
    fn over(&self, seed: u64) -> Result<Over, MachineError> {
        let mut run = Run::new(&self.memory(), &self.conditions);
        if let Some(over) = self.fail()? {
            return Ok(over);
        }
        let mut world = self.world(seed, true, |_| Open)?;
        let end = self.follow(&mut world, &mut run, None, &mut Standstill::default())?;
        Ok(run.over(&world, end))
    }

    /// The same with checkers.
    fn over_watched(
        &self,
        seed: u64,
        checkers: &Checkers<'_>,
        part: Part,
    ) -> Result<(Over, Watched, Noted), MachineError> {
        if let Some(over) = self.fail()? {
            return Ok((over, Watched::default(), Noted::default()));
        }
        let mut run = Run::new(&self.memory(), &self.conditions);
        let gate = |node| checkers.gate(node, part);
        let world = self.world(seed, checkers.profile.neighbours, gate)?;
        let mut world = world.advised(checkers.advice(part)).exploring(|| checkers.explorer());
        let mut standstill = Standstill::default();
        let end = self.follow(&mut world, &mut run, checkers.stop, &mut standstill)?;
        let prevented = world.prevented();
        let is_stopped = end == End::Time && standstill.is_stopped(self.conditions.time, prevented.waited);
        let watched = world.watched.finish(prevented, is_stopped);
        let noted = std::mem::take(&mut world.watched);
        Ok((run.over(&world, end), watched, noted))
    }

    /// The run that ends at its beginning, if a node has failed there.
    fn fail(&self) -> Result<Option<Over>, MachineError> {
        let Some(start) = self.failing else { return Ok(None) };
        let mut run = Run::new(&self.memory(), &self.conditions);
        (run.locals, run.start) = (start.locals.clone(), start.clone());
        run.judge(&mut self.memory(), Time(0))?;
        Ok(Some(Over { run, end: End::Violation, at: Time(0) }))
    }

    /// The world of a run, with these gates; whether nodes ask the nodes alone for snapshots that the protocol names their neighbours.
    fn world<'w, G: Gate>(
        &'w self,
        seed: u64,
        neighbours: bool,
        gate: impl FnMut(NodeId) -> G + 'w,
    ) -> Result<World<'w, G>, MachineError> {
        let mut plan = self.plan(seed);
        plan.settings.neighbours = neighbours;
        let world = World::new(self.factory, plan, gate);
        let world = world.map_err(|broken| MachineError::Host(broken.to_string()))?;
        Ok(world.looking_up(&self.memory).linked().forgetting())
    }

    /// Continues to the end.
    fn follow<G: Gate>(
        &self,
        world: &mut World<'_, G>,
        run: &mut Run,
        stop: Option<&dyn Stop>,
        standstill: &mut Standstill,
    ) -> Result<End, MachineError> {
        loop {
            if let Some(stopped) = stop.and_then(Stop::reason) {
                return Err(stopped.into());
            }
            let (advanced, before) = (world.advance(), run.path.len());
            let mut memory = self.memory();
            run.follow(&mut memory, world.latest())?;
            if run.path.len() > before {
                standstill.step(world.latest(), world.prevented().waited);
            }
            match advanced {
                _ if run.verdicts.is_violated() => return Ok(End::Violation),
                _ if run.is_over() => return Ok(End::Events),
                Ok(true) => {}
                Ok(false) if world.is_quiet() => return Ok(End::Quiet),
                Ok(false) => return Ok(End::Time),
                Err(broken) => {
                    let trouble = memory.trouble().or(world.trouble.as_ref()).cloned();
                    let host = || MachineError::Host(format!("the node is wrong, {broken}"));
                    return Err(trouble.unwrap_or_else(host));
                }
            }
        }
    }

    /// A run, where it begins, and its steps.
    #[cfg(test)]
    pub(super) fn path(&self, seed: u64) -> Result<(Finished, Start, Vec<Step>), MachineError> {
        let Over { run, end, at } = self.over(seed)?;
        Ok((run.verdicts.finish(seed, end, at, run.counts, &run.log), run.start, run.path))
    }

    /// The same with checkers, and what these have found.
    #[cfg(test)]
    pub(super) fn path_watched(
        &self,
        seed: u64,
        checkers: &Checkers<'_>,
        part: Part,
    ) -> Result<(Finished, Start, Vec<Step>, Watched, crate::world::Firsts), MachineError> {
        let (Over { run, end, at }, watched, noted) = self.over_watched(seed, checkers, part)?;
        let finished = run.verdicts.finish(seed, end, at, run.counts, &run.log);
        Ok((finished, run.start, run.path, watched, noted.firsts))
    }

    /// The size of the memory, in bytes.
    pub fn bytes(&self) -> u64 {
        self.memory().stepper().lts().counts().bytes
    }

    fn memory(&self) -> MutexGuard<'_, Memory<'l>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan(&self, seed: u64) -> Plan {
        let Conditions { latency, loopback, loss, churn, partitions, delays, time, .. } = self.conditions;
        let Troubles { down, cuts, pauses, jumps } = self.troubles;
        let Delays { timer, application, internal } = delays;
        let delays = node::Delays { timer, application: Some(application), internal };
        let settings = Settings { network: self.scenario.network, delays, seed, ..Settings::default() };
        let at_once = Range::milliseconds(0, 0);
        Plan {
            config: self.scenario.config(),
            latency,
            own: loopback.map_or(Own::LikeOthers, Own::Within),
            loss,
            kills: churn.map(|every| Trouble { every, lasting: down }),
            divisions: partitions.map(|partitions| {
                let lasting = Range { from: partitions.lasting, to: partitions.lasting };
                Trouble { every: partitions.every, lasting }
            }),
            down: Some(down),
            script: self.script.to_vec(),
            cuts,
            pauses,
            jumps,
            writing: at_once,
            time,
            ..Plan::ideal(seed, self.scenario.nodes, settings)
        }
    }
}

impl Troubles {
    /// Refuses troubles that make no sense.
    fn check(&self) -> Result<(), ConditionsError> {
        let named = [("cuts", self.cuts), ("pauses", self.pauses), ("jumps of clocks", self.jumps)];
        let all = named.into_iter().filter_map(|(name, trouble)| Some((name, trouble?)));
        for (name, Trouble { every, lasting }) in all {
            if every.is_zero() {
                return Err(ConditionsError::Frequency(name));
            }
            if lasting.from > lasting.to {
                return Err(ConditionsError::Range(name));
            }
        }
        if self.down.from > self.down.to {
            return Err(ConditionsError::Range("times down"));
        }
        let longest = named.into_iter().filter_map(|(name, trouble)| Some((name, trouble?.lasting.to)));
        match longest.chain([("times down", self.down.to)]).find(|(_, time)| *time > LONGEST) {
            Some((name, _)) => Err(ConditionsError::TooLong(name)),
            None => Ok(()),
        }
    }
}

/// The maximum duration of a trouble: the sum of several is still an instant.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// A run that is over: why, and when.
struct Over {
    run: Run,
    end: End,
    at: Time,
}

/// A run in progress, as the model has it.
struct Run {
    start: Start,
    choices: Vec<Vec<Choice>>,
    locals: Vec<LocalStateId>,
    path: Vec<Step>,
    /// The number of the world's steps that the run has followed.
    seen: usize,
    nodes: usize,
    counts: Counts,
    log: Log,
    verdicts: Verdicts,
    events_max: u64,
}

impl Run {
    fn new(memory: &Memory<'_>, conditions: &Conditions) -> Self {
        let lts = memory.lts();
        Self {
            start: Start { origin: Origin::Init(Vec::new()), ..Start::default() },
            choices: Vec::new(),
            locals: Vec::new(),
            path: Vec::new(),
            seen: 0,
            nodes: lts.scenario().nodes as usize,
            counts: Counts::default(),
            log: Log::default(),
            verdicts: Verdicts::new(lts, conditions.continues),
            events_max: conditions.events_max,
        }
    }

    /// The same at its end.
    fn over<G: Gate>(mut self, world: &World<'_, G>, end: End) -> Over {
        let of = |name: &str| world.troubles.get(name).copied().unwrap_or(0);
        (self.counts.lost, self.counts.partitions) = (of("lost"), of("division"));
        Over { run: self, end, at: world.latest() }
    }

    fn is_over(&self) -> bool {
        self.verdicts.is_violated() || self.counts.events >= self.events_max
    }

    /// Follows the latest steps of the world, and judges the state after each.
    fn follow(&mut self, memory: &mut Memory<'_>, now: Time) -> Result<(), MachineError> {
        while !self.is_over() {
            let Some((node, taken)) = memory.path().get(self.seen).copied() else { break };
            self.seen += 1;
            match taken.trigger {
                None => self.begin(memory, node, taken, now)?,
                Some(trigger) => self.step(memory, Step { node, trigger, outcome: taken.outcome }, taken.next, now)?,
            }
        }
        match memory.failed() {
            Some((node, Taken { trigger: Some(trigger), outcome, next })) if !self.is_over() => {
                self.step(memory, Step { node, trigger, outcome }, next, now)
            }
            _ => Ok(()),
        }
    }

    /// A node has started. The run begins when all have: they start in order, before any other event.
    fn begin(&mut self, memory: &mut Memory<'_>, node: NodeId, taken: Taken, now: Time) -> Result<(), MachineError> {
        let outcome = memory.started(node, taken.outcome);
        self.choices.push(outcome.map_or_else(Vec::new, |outcome| outcome.choices.to_vec()));
        self.locals.push(taken.next);
        if self.locals.len() < self.nodes {
            return Ok(());
        }
        self.start.origin = Origin::Init(std::mem::take(&mut self.choices));
        (self.start.initial, self.start.locals) = (self.locals.clone(), self.locals.clone());
        self.judge(memory, now)
    }

    /// A node takes a step, which leads it to this state.
    fn step(&mut self, memory: &mut Memory<'_>, step: Step, next: LocalStateId, now: Time) -> Result<(), MachineError> {
        let stepper = memory.stepper();
        let Counts { events, delivered, local, resets, .. } = &mut self.counts;
        *events += 1;
        let trigger = step.trigger;
        match trigger.message() {
            Some(message) => *delivered += u64::from(!stepper.message(message).is_notice),
            None if trigger.local_event().is_some() => *local += 1,
            None => *resets += u64::from(trigger.fault().is_some_and(FaultEvent::is_restart)),
        }
        self.locals[step.node as usize] = next;
        self.path.push(step);
        self.log.note(now, step.node, stepper.state(next).fingerprint);
        self.judge(memory, now)
    }

    fn judge(&mut self, memory: &mut Memory<'_>, now: Time) -> Result<(), MachineError> {
        let here = Here { start: &self.start, path: &self.path, locals: &self.locals };
        self.verdicts.judge(memory.stepper(), here, now)
    }
}
