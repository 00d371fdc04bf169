//! One run: from the start to its end.

use std::collections::BTreeMap;

use host_model::contract::{LocalKind, MachineError, NodeId, Severity};
use host_model::lts::{LocalEventId, LocalStateId, MessageId, Step, Stepper, Trigger};
use host_model::scenario::{FaultEvent, Network};
use host_model::trace::start::Start;
use host_search::kernel::{FoundViolation, judge_system_state};

use crate::gate::Substitute;
use crate::seen::Seen;
use crate::simulator::agenda::{Agenda, Input};
use crate::simulator::chance::{Chance, Purpose};
use crate::simulator::conditions::{Conditions, ConditionsError, Partitions};
use crate::simulator::watch::{Mode, Watch, Watched, Watching};
use crate::time::Time;

/// Why there is no simulation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulatorError {
    /// The conditions do not fit the scenario.
    #[error(transparent)]
    Conditions(#[from] ConditionsError),
    /// Messages that wait for others have no time at which they are taken.
    #[error("node {0} takes messages together, and a simulation delivers them one by one")]
    Quorums(NodeId),
    /// The host itself cannot go on.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// Why a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A property is violated, or a handler has failed.
    Violation,
    /// Nothing is going to happen any more.
    Quiet,
    /// The time is up.
    Time,
    /// It has had as many events as it may have.
    Events,
}

/// What has happened in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All events.
    pub events: u64,
    /// Messages that were delivered.
    pub delivered: u64,
    /// Messages that were lost, those in partitions included.
    pub lost: u64,
    /// Local events.
    pub local: u64,
    /// Resets.
    pub resets: u64,
    /// Partitions.
    pub partitions: u64,
}

/// A run that is over.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its seed.
    pub seed: u64,
    /// Why it has ended.
    pub end: End,
    /// When.
    pub at: Time,
    /// What has happened.
    pub counts: Counts,
    /// The first bytes of a hash of everything that has happened, and when: equal ones mean equal runs.
    pub digest: u128,
    /// The first violation, if there is one. Its path replays.
    pub violation: Option<FoundViolation>,
    /// The `sometimes` properties that were reached, by index, sorted.
    pub witnessed: Vec<u32>,
}

/// Runs in the same local transition system: what a handler does is executed once for all of them.
pub struct Simulator<'s, 'l> {
    stepper: &'s mut Stepper<'l>,
    starts: &'s [Start],
    conditions: Conditions,
}

impl<'s, 'l> Simulator<'s, 'l> {
    /// Runs from these start states, of which there is at least one.
    ///
    /// # Errors
    ///
    /// The conditions do not fit the scenario, or a node takes messages together.
    pub fn new(
        stepper: &'s mut Stepper<'l>,
        starts: &'s [Start],
        conditions: Conditions,
    ) -> Result<Self, SimulatorError> {
        conditions.check(stepper.lts().scenario())?;
        let nodes = 0..stepper.lts().scenario().nodes;
        match nodes.into_iter().find(|node| stepper.known().takes_quorums(*node)) {
            Some(node) => Err(SimulatorError::Quorums(node)),
            None => Ok(Self { stepper, starts, conditions }),
        }
    }

    /// One run.
    ///
    /// # Determinism duty
    ///
    /// The result depends on the scenario, the conditions and the seed; not on runs before it.
    ///
    /// # Errors
    ///
    /// The host cannot go on, or is to stop.
    pub fn run(&mut self, seed: u64) -> Result<Finished, MachineError> {
        Ok(self.run_beside(seed, None)?.0)
    }

    /// The same with a checker beside each node. Where they only observe, the run is the one without them.
    ///
    /// # Determinism duty
    ///
    /// As for [`run`](Self::run), where a round of the checkers begins in an empty local transition system.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    pub fn run_watched(
        &mut self,
        seed: u64,
        watching: &mut Watching<'_>,
        mode: Mode,
    ) -> Result<(Finished, Watched), MachineError> {
        self.run_beside(seed, Some((watching, mode)))
    }

    fn run_beside(
        &mut self,
        seed: u64,
        watching: Option<(&mut Watching<'_>, Mode)>,
    ) -> Result<(Finished, Watched), MachineError> {
        let mut chance = Chance::new(seed);
        let start = &self.starts[chance.below(Purpose::Start, self.starts.len() as u64) as usize];
        let mut run = Run {
            stepper: &mut *self.stepper,
            start,
            conditions: &self.conditions,
            chance,
            agenda: Agenda::default(),
            now: Time(0),
            locals: start.locals.clone(),
            armed: vec![BTreeMap::new(); start.locals.len()],
            arrivals: BTreeMap::new(),
            partition: None,
            path: Vec::new(),
            counts: Counts::default(),
            log: blake3::Hasher::new(),
            witnessed: Vec::new(),
            watch: watching.map(|(watching, mode)| Watch::new(watching, mode, start)),
        };
        let (end, violation) = run.finish()?;
        let (at, counts, witnessed) = (run.now, run.counts, run.witnessed);
        let mut digest = [0; 16];
        digest.copy_from_slice(&run.log.finalize().as_bytes()[..16]);
        let watched = run.watch.map_or_else(Watched::default, Watch::finish);
        let digest = u128::from_le_bytes(digest);
        Ok((Finished { seed, end, at, counts, digest, violation, witnessed }, watched))
    }
}

/// A run that is going on.
struct Run<'r, 'l, 'f> {
    stepper: &'r mut Stepper<'l>,
    start: &'r Start,
    conditions: &'r Conditions,
    chance: Chance,
    agenda: Agenda,
    now: Time,
    locals: Vec<LocalStateId>,
    /// The local events of each node that are going to happen, with the numbers of their entries.
    armed: Vec<BTreeMap<LocalEventId, u64>>,
    /// When the last message arrives of each sender and destination between which messages have an order.
    arrivals: BTreeMap<(NodeId, NodeId), Time>,
    /// The side of each node in the partition, and its end.
    partition: Option<(Vec<bool>, Time)>,
    path: Vec<Step>,
    counts: Counts,
    log: blake3::Hasher,
    witnessed: Vec<u32>,
    watch: Option<Watch<'r, 'f>>,
}

impl Run<'_, '_, '_> {
    fn finish(&mut self) -> Result<(End, Option<FoundViolation>), MachineError> {
        let start = self.start;
        self.post(&start.in_flight);
        (0..self.locals.len() as NodeId).for_each(|node| self.arm(node));
        if let Some(mean) = self.conditions.churn {
            self.add_around(Purpose::Churn, mean, Input::Reset);
        }
        if let Some(Partitions { every, .. }) = self.conditions.partitions {
            self.add_around(Purpose::Partitions, every, Input::Partition);
        }
        let end = Time(0).after(self.conditions.time);
        let mut violation = self.judge()?;
        self.schedule_rounds();
        while violation.is_none() {
            if self.counts.events == self.conditions.events_max {
                return Ok((End::Events, None));
            }
            let Some((at, input)) = self.agenda.next_until(end) else {
                let is_quiet = self.agenda.is_empty();
                return Ok((if is_quiet { End::Quiet } else { End::Time }, None));
            };
            self.now = at;
            if self.happen(input)? {
                violation = self.judge()?;
                self.schedule_rounds();
            }
        }
        Ok((End::Violation, violation))
    }

    /// Something happens; whether it was an event of a node.
    fn happen(&mut self, input: Input) -> Result<bool, MachineError> {
        match input {
            Input::Arrival(message) => {
                let (route, node) = {
                    let message = self.stepper.message(message);
                    (message.route(), message.to)
                };
                // The connection was broken meanwhile.
                if !self.stepper.state(self.locals[node as usize]).fault_state.can_take(&route) {
                    return Ok(false);
                }
                let trigger = Trigger::deliver(message);
                if self.is_filtered(node, trigger)? {
                    return Ok(false);
                }
                self.counts.delivered += u64::from(!route.is_notice);
                self.step(node, trigger)
            }
            Input::Local { node, event, armed } => {
                if self.armed[node as usize].get(&event) != Some(&armed) {
                    return Ok(false);
                }
                self.armed[node as usize].remove(&event);
                if self.is_filtered(node, Trigger::local(event))? {
                    return Ok(false);
                }
                self.counts.local += 1;
                self.step(node, Trigger::local(event))
            }
            Input::Reset => {
                let mean = self.conditions.churn.expect("there is churn");
                self.add_around(Purpose::Churn, mean, Input::Reset);
                let node = self.chance.below(Purpose::Churn, self.locals.len() as u64) as NodeId;
                self.reset(node)
            }
            Input::Partition => {
                self.divide();
                Ok(false)
            }
            Input::Check(node) => {
                let (now, events) = (self.now, self.counts.events);
                let watch = self.watch.as_mut().expect("there are checkers");
                let end = watch.begin(self.stepper, (node, now, events), &self.locals)?;
                self.agenda.add(end, Input::Checked(node));
                Ok(false)
            }
            Input::Checked(node) => {
                self.watch.as_mut().expect("there are checkers").end(node, self.now);
                self.schedule_rounds();
                Ok(false)
            }
        }
    }

    /// The checkers that have something new to look at begin a round.
    fn schedule_rounds(&mut self) {
        let due = self.watch.as_mut().map_or_else(Vec::new, |watch| watch.due(self.now, self.counts.events));
        due.into_iter().for_each(|(node, at)| self.agenda.add(at, Input::Check(node)));
    }

    /// Whether a filter keeps an event from happening, whose substitute then takes its place.
    fn is_filtered(&mut self, node: NodeId, trigger: Trigger) -> Result<bool, MachineError> {
        let Some(watch) = &mut self.watch else { return Ok(false) };
        let seen = Seen::of(self.stepper, self.locals[node as usize], trigger);
        let Some(substitute) = seen.event().and_then(|event| watch.before(self.now, node, &event)) else {
            return Ok(false);
        };
        self.replace(node, trigger, substitute);
        Ok(true)
    }

    /// The substitute of an event takes place.
    fn replace(&mut self, node: NodeId, trigger: Trigger, substitute: Substitute) {
        self.log.update(&[substitute as u8]);
        self.log.update(&self.now.0.to_le_bytes());
        if let Some(watch) = &mut self.watch {
            let links = self.stepper.known().links(&self.locals);
            self.stepper.known().taken(trigger).for_each(|message| watch.in_flight.take(&links, &message));
        }
        // What was postponed or delayed is due again some time.
        self.arm(node);
    }

    /// A node begins anew, unless its budget is used up or nothing would change.
    fn reset(&mut self, node: NodeId) -> Result<bool, MachineError> {
        let reset = Trigger::from(FaultEvent::of_kind("reset", None).expect("it is in the table"));
        let local = self.locals[node as usize];
        if !self.stepper.state(local).faults.contains(&reset) || self.stepper.is_idle(local, reset)? {
            return Ok(false);
        }
        self.armed[node as usize].clear();
        self.counts.resets += 1;
        self.step(node, reset)
    }

    /// A partition comes, and the next one is due after it.
    fn divide(&mut self) {
        let Partitions { every, lasting } = self.conditions.partitions.expect("there are partitions");
        let nodes = self.locals.len();
        let sides = (0..nodes).map(|_| self.chance.below(Purpose::Partitions, 2) > 0).collect();
        self.partition = Some((sides, self.now.after(lasting)));
        self.counts.partitions += 1;
        let gap = lasting + self.chance.around(Purpose::Partitions, every);
        self.agenda.add(self.now.after(gap), Input::Partition);
    }

    fn add_around(&mut self, purpose: Purpose, mean: std::time::Duration, input: Input) {
        let gap = self.chance.around(purpose, mean);
        self.agenda.add(self.now.after(gap), input);
    }

    /// A node takes a step.
    fn step(&mut self, node: NodeId, trigger: Trigger) -> Result<bool, MachineError> {
        let row = self.stepper.step(self.locals[node as usize], trigger)?;
        let outcomes = self.stepper.outcomes(row);
        // A node hears of each broken connection, as it does of most in operation.
        let heard: Vec<usize> = (0..outcomes.len()).filter(|index| !outcomes[*index].is_lost).collect();
        let index = match heard.len() == outcomes.len() || heard.is_empty() {
            true => self.chance.outcome(outcomes),
            false => {
                let heard_outcomes: Vec<_> = heard.iter().map(|index| outcomes[*index].clone()).collect();
                heard[self.chance.outcome(&heard_outcomes)]
            }
        };
        let outcome = outcomes[index].clone();
        if let Some(watch) = &mut self.watch {
            let before = self.locals[node as usize];
            let seen = Seen::of(self.stepper, before, trigger);
            if let Some(event) = seen.event()
                && let Some(substitute) = watch.after(self.stepper, (self.now, node), (before, outcome.next), event)?
            {
                self.replace(node, trigger, substitute);
                return Ok(false);
            }
        }
        self.counts.events += 1;
        self.locals[node as usize] = outcome.next;
        if let Some(watch) = &mut self.watch {
            let known = self.stepper.known();
            let sent = outcome.sent.iter().copied();
            watch.in_flight.step(&known.links(&self.locals), node, known.taken(trigger), sent);
        }
        self.path.push(Step { node, trigger, outcome: u32::try_from(index).expect("outcomes are bounded") });
        let fingerprint = self.stepper.state(outcome.next).fingerprint;
        self.log.update(&self.now.0.to_le_bytes());
        self.log.update(&node.to_le_bytes());
        self.log.update(&fingerprint.to_le_bytes());
        self.post(&outcome.sent);
        self.arm(node);
        Ok(true)
    }

    /// Messages and notices begin their way. Copies of a message stand side by side.
    fn post(&mut self, messages: &[MessageId]) {
        for same in messages.chunk_by(|one, other| one == other) {
            let (id, message) = (same[0], self.stepper.message(same[0]));
            let (route, from, to) = (message.route(), message.from, message.to);
            let scenario = self.stepper.lts().scenario();
            let network = scenario.network_of(from, to);
            let copies =
                if network == Network::UnorderedDuplicating { 1 + scenario.faults.duplicates as usize } else { 1 };
            for place in 0..same.len() {
                let is_repeated = place % copies > 0;
                if is_repeated && !self.chance.is_in(Purpose::Duplicates, self.conditions.duplicates) {
                    continue;
                }
                match network {
                    Network::Ordered => self.send_in_order(id, (from, to)),
                    Network::Unordered | Network::UnorderedDuplicating => self.send(id, route.from, route.to),
                }
            }
        }
    }

    /// A message on a link without an order begins its way.
    fn send(&mut self, id: MessageId, from: NodeId, to: NodeId) {
        let is_lost = self.chance.is_in(Purpose::Loss, self.conditions.loss);
        if is_lost || self.divided_until(from, to).is_some() {
            self.counts.lost += 1;
            return;
        }
        let latency = self.chance.within(Purpose::Latency, self.conditions.latency);
        self.agenda.add(self.now.after(latency), Input::Arrival(id));
    }

    /// A message or notice on a link with an order begins its way: it waits for the end of a partition, and for those before it.
    fn send_in_order(&mut self, id: MessageId, link: (NodeId, NodeId)) {
        let latency = self.chance.within(Purpose::Latency, self.conditions.latency);
        let leaves = self.divided_until(link.0, link.1).unwrap_or(self.now);
        let last = self.arrivals.entry(link).or_default();
        *last = leaves.after(latency).max(*last);
        self.agenda.add(*last, Input::Arrival(id));
    }

    /// The end of the partition that separates two nodes.
    fn divided_until(&self, from: NodeId, to: NodeId) -> Option<Time> {
        let (sides, end) = self.partition.as_ref()?;
        (self.now < *end && sides[from as usize] != sides[to as usize]).then_some(*end)
    }

    /// Calls off the local events that cannot happen any more at a node, and draws times for those that can now.
    fn arm(&mut self, node: NodeId) {
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

    /// Judges the present state: the first violation, if there is one.
    fn judge(&mut self) -> Result<Option<FoundViolation>, MachineError> {
        for (node, judgement) in judge_system_state(self.stepper, &self.locals)? {
            match judgement.severity() {
                Severity::Violation => {
                    return Ok(Some(FoundViolation::new(self.start, &self.path, node, judgement)));
                }
                Severity::Witness(property) => {
                    if let Err(place) = self.witnessed.binary_search(&property) {
                        self.witnessed.insert(place, property);
                    }
                }
            }
        }
        Ok(None)
    }
}
