//! Runs of the node that ships: a world from each seed, judged along the path of the model that its nodes take.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host_model::contract::{Choice, MachineError, MachineFactory, NodeId};
use host_model::lts::{LocalStateId, Step, Stepper, Trigger};
use host_model::scenario::{FaultEvent, Network, Scenario};
use host_model::trace::Origin;
use host_model::trace::start::Start;
use serde::{Deserialize, Serialize};

use crate::gate::Open;
use crate::node::{self, Settings};
use crate::simulator::script;
use crate::simulator::verdicts::{Here, Log, Verdicts};
use crate::simulator::{
    Conditions, ConditionsError, Counts, Delays, End, Finished, Phase, RuntimeError, SimulatorError,
};
use crate::time::{Range, Time};
use crate::world::driver::World;
use crate::world::memo::{Memory, Taken};
use crate::world::plan::{Own, Plan, Trouble};

/// What can go wrong with a node that the model does not have, beyond the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Troubles {
    /// How long a process is down that was killed.
    pub down: Range,
    /// Times in which one node does not reach another one.
    pub cuts: Option<Trouble>,
    /// Times in which a process does nothing, and what comes waits.
    pub pauses: Option<Trouble>,
    /// Jumps of clocks, ahead or back.
    pub jumps: Option<Trouble>,
}

impl Default for Troubles {
    fn default() -> Self {
        Self { down: Range::milliseconds(0, 0), cuts: None, pauses: None, jumps: None }
    }
}

/// Runs of nodes in virtual time. What a handler does is executed once for all of them.
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
    ) -> Result<Self, SimulatorError> {
        let scenario = stepper.lts().scenario().clone();
        conditions.check(&scenario)?;
        troubles.check()?;
        match () {
            () if !scenario.links.is_empty() => return Err(RuntimeError::Links.into()),
            () if scenario.network == Network::UnorderedDuplicating => return Err(RuntimeError::Duplicates.into()),
            () => {}
        }
        if let Some(node) = (0..scenario.nodes).find(|node| stepper.known().takes_quorums(*node)) {
            return Err(SimulatorError::Quorums(node));
        }
        let has_failed = |start: &&Start| start.locals.iter().any(|local| stepper.state(*local).fault().is_some());
        let failing = starts.iter().find(has_failed);
        Ok(Self {
            factory,
            memory: Mutex::new(Memory::new(stepper, factory)?),
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
    /// The script does not fit the scenario, or does what [`new`](Self::new) refuses.
    pub fn scripted(self, script: &'f [Phase]) -> Result<Self, SimulatorError> {
        script::check(script, &self.scenario)?;
        if self.scenario.network == Network::Ordered && script.iter().any(|phase| !phase.cut.is_empty()) {
            return Err(RuntimeError::CutOff.into());
        }
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

    /// A run to its end.
    fn over(&self, seed: u64) -> Result<Over, MachineError> {
        let mut run = Run::new(&self.memory(), &self.conditions);
        if let Some(start) = self.failing {
            (run.locals, run.start) = (start.locals.clone(), start.clone());
            run.judge(&mut self.memory(), Time(0))?;
            return Ok(Over { run, end: End::Violation, at: Time(0) });
        }
        let world = World::new(self.factory, self.plan(seed), |_| Open);
        let world = world.map_err(|broken| MachineError::Host(broken.to_string()))?;
        let mut world = world.looking_up(&self.memory).linked().forgetting();
        let end = loop {
            let advanced = world.advance();
            let mut memory = self.memory();
            run.follow(&mut memory, world.latest())?;
            match advanced {
                _ if run.verdicts.is_violated() => break End::Violation,
                _ if run.is_over() => break End::Events,
                Ok(true) => {}
                Ok(false) if world.is_quiet() => break End::Quiet,
                Ok(false) => break End::Time,
                Err(broken) => {
                    let host = || MachineError::Host(format!("the node is wrong, {broken}"));
                    return Err(memory.trouble().cloned().unwrap_or_else(host));
                }
            }
        };
        let of = |name: &str| world.troubles.get(name).copied().unwrap_or(0);
        (run.counts.lost, run.counts.partitions) = (of("lost"), of("division"));
        Ok(Over { run, end, at: world.latest() })
    }

    /// A run, where it begins, and its steps.
    #[cfg(test)]
    pub(super) fn path(&self, seed: u64) -> Result<(Finished, Start, Vec<Step>), MachineError> {
        let Over { run, end, at } = self.over(seed)?;
        Ok((run.verdicts.finish(seed, end, at, run.counts, &run.log), run.start, run.path))
    }

    /// How large what is known has become, in bytes.
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
    /// Refuses what makes no sense.
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

/// The longest trouble: several of them together are still an instant.
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
    /// How many steps of the world were looked at.
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
            verdicts: Verdicts::new(lts, conditions.goes_on),
            events_max: conditions.events_max,
        }
    }

    fn is_over(&self) -> bool {
        self.verdicts.is_violated() || self.counts.events >= self.events_max
    }

    /// Takes the steps that the world has taken since, and judges the state after each.
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

    /// A node has started. The run begins when all have: they do in their order, before anything else.
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
            None => *resets += u64::from(FaultEvent::of_kind("reset", None).map(Trigger::from) == Some(trigger)),
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
