//! Access to the local transition system: executes handlers where the outcome is not known yet.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::contract::fingerprint::Fingerprint;
use crate::contract::{Fault, Input, MachineError, NodeId, Role};
use crate::lts::cache::{Known, OutcomesRef};
use crate::lts::handler::{Cause, Executed, Job, explore};
use crate::lts::ids::{LocalStateId, MessageId, QuorumId, Trigger};
use crate::lts::pool::MachinePool;
use crate::lts::protocol_step::{ProtocolEvent, ProtocolStep};
use crate::lts::state::{LocalState, Message, Outcome};
use crate::lts::system::Lts;

/// A handle on the local transition system, with machines of its own and a copy that needs no lock.
///
/// Ids are given in the order in which handlers are asked for, never in the order in which they end: a batch is
/// executed on as many machines as there are workers, and what came out is interned one by one.
///
/// # Determinism duty
///
/// Outcomes are listed in the lexicographic order of their choices. Ids depend on what was asked for and in which order,
/// and not on the number of workers.
pub struct Stepper<'l> {
    pub(super) lts: &'l Lts<'l>,
    pub(super) machines: MachinePool<'l>,
    pub(super) known: Known,
    /// What local states said when they were asked whether they are done.
    pub(super) done: FxHashMap<LocalStateId, Result<bool, Fault>>,
}

/// Handlers that are made ready to be executed at a time.
const JOBS_MAX: usize = 1024;

/// Steps of a journal that are executed together at most.
const REPEAT_BATCH: usize = 16_384;

impl<'l> Stepper<'l> {
    /// A stepper with a fresh machine.
    ///
    /// # Errors
    ///
    /// No machine can be made.
    pub fn new(lts: &'l Lts<'l>) -> Result<Self, MachineError> {
        let known = Known::new(lts.rules.is_ordered);
        let mut stepper = Self { lts, machines: MachinePool::new(lts)?, known, done: FxHashMap::default() };
        stepper.known.catch_up(&lts.read());
        Ok(stepper)
    }

    /// The local transition system behind it.
    pub fn lts(&self) -> &'l Lts<'l> {
        self.lts
    }

    /// What can be looked up without executing anything, by many workers at once.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// A local state by id.
    pub fn state(&self, id: LocalStateId) -> &Arc<LocalState> {
        self.known.state(id)
    }

    /// A message by id.
    pub fn message(&self, id: MessageId) -> &Arc<Message> {
        self.known.message(id)
    }

    /// The outcomes of a trigger in a local state, executed now if that was not done before.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    ///
    /// # Panics
    ///
    /// The local state is a fault: nothing happens at such a node any more.
    #[inline]
    pub fn step(&mut self, state: LocalStateId, trigger: Trigger) -> Result<OutcomesRef, MachineError> {
        match self.known.row(state, trigger) {
            Some(row) => Ok(row),
            None => self.step_uncached(state, trigger),
        }
    }

    /// The outcomes behind a reference of this stepper; at least one, except for a reset that would change nothing, a message
    /// that is not taken by itself, and a quorum that is not taken.
    #[inline]
    pub fn outcomes(&self, row: OutcomesRef) -> &[Outcome] {
        self.known.outcomes(row)
    }

    /// Whether a fault would change nothing in a local state, or the node does not take a quorum: so it does not happen
    /// there.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn is_idle(&mut self, state: LocalStateId, fault: Trigger) -> Result<bool, MachineError> {
        let row = self.step(state, fault)?;
        Ok(self.outcomes(row).is_empty())
    }

    /// How many pairs of local state and trigger were asked for so far: more of them means that handlers were executed.
    pub fn rows(&self) -> usize {
        self.known.rows()
    }

    #[cold]
    fn step_uncached(&mut self, state: LocalStateId, trigger: Trigger) -> Result<OutcomesRef, MachineError> {
        self.prepare(&[(state, trigger)])?;
        Ok(self.known.row(state, trigger).expect("it was executed just now"))
    }

    /// Executes all of these that are not known yet, on as many machines as the current thread pool has workers.
    /// Afterwards [`Known::row`] has them all. Repetitions do no harm.
    ///
    /// What came out is interned as soon as it takes some megabytes.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance, or work is to [stop](crate::contract::Stop). What was interned until then stays, whole
    /// handlers in the order of the pairs, so the rest can be prepared later.
    ///
    /// # Panics
    ///
    /// As for [`step`](Self::step).
    pub fn prepare(&mut self, pairs: &[(LocalStateId, Trigger)]) -> Result<(), MachineError> {
        let mut missing: Vec<(LocalStateId, Trigger)> = Vec::new();
        {
            let tables = self.lts.read();
            let mut asked: FxHashSet<(LocalStateId, Trigger)> = FxHashSet::default();
            for pair in pairs {
                if self.known.row(pair.0, pair.1).is_some() {
                    continue;
                }
                match tables.steps.get(pair) {
                    Some(outcomes) => self.known.add_row(*pair, Arc::clone(outcomes)),
                    None if asked.insert(*pair) => missing.push(*pair),
                    None => {}
                }
            }
            self.known.catch_up(&tables);
        }
        if self.lts.rules.has_fault_states() {
            return self.derive(&missing);
        }
        let mut rest = &missing[..];
        while !rest.is_empty() {
            let jobs = rest.iter().take(JOBS_MAX).map(|(state, trigger)| self.job(*state, *trigger));
            let jobs: Vec<Job> = jobs.collect();
            let executed = self.machines.execute(&jobs)?;
            let (done, later) = rest.split_at(executed.len());
            for ((pair, job), Executed { role, executions }) in done.iter().zip(&jobs).zip(executed) {
                let mut tables = self.lts.write();
                let outcomes: Arc<[Outcome]> =
                    tables.intern_outcomes(&self.lts.rules, job.node, job.before, executions).into();
                if let (Some(role), Some(message)) = (tables.intern_role(role), pair.1.message()) {
                    tables.roles.push(((pair.0, message), role));
                }
                tables.add_step(*pair, Arc::clone(&outcomes));
                drop(tables);
                self.known.add_row(*pair, outcomes);
            }
            rest = later;
        }
        self.known.catch_up(&self.lts.read());
        Ok(())
    }

    /// The same where things can go wrong: a handler is executed once for each protocol state, and the steps are derived.
    fn derive(&mut self, missing: &[(LocalStateId, Trigger)]) -> Result<(), MachineError> {
        let mut wanted: Vec<(ProtocolStep, Job)> = Vec::new();
        {
            let tables = self.lts.read();
            let mut asked: FxHashSet<ProtocolStep> = FxHashSet::default();
            for (state, trigger) in missing {
                let Some(key) = tables.protocol_step(&self.lts.rules, *state, *trigger) else { continue };
                if !tables.protocol_steps.contains_key(&key) && asked.insert(key) {
                    let mut job = self.job(*state, *trigger);
                    if let ProtocolEvent::Error(peer) = key.cause {
                        job.cause = Cause::Error(peer);
                    }
                    wanted.push((key, job));
                }
            }
        }
        let (keys, jobs): (Vec<ProtocolStep>, Vec<Job>) = wanted.into_iter().unzip();
        let (mut keys, mut jobs) = (&keys[..], &jobs[..]);
        while !jobs.is_empty() {
            let executed = self.machines.execute(jobs)?;
            let done = executed.len();
            let mut tables = self.lts.write();
            for ((key, job), Executed { role, executions }) in keys.iter().zip(jobs).zip(executed) {
                let outcomes = tables.intern_protocol_outcomes(job.node, executions);
                if let Some(role) = tables.intern_role(role) {
                    tables.protocol_roles.insert(*key, role);
                }
                tables.protocol_steps.insert(*key, outcomes.into());
            }
            (keys, jobs) = (&keys[done..], &jobs[done..]);
        }
        {
            let mut tables = self.lts.write();
            for pair in missing {
                if let Some(message) = pair.1.message()
                    && let Some(key) = tables.protocol_step(&self.lts.rules, pair.0, pair.1)
                    && let Some(role) = tables.protocol_roles.get(&key).copied()
                {
                    tables.roles.push(((pair.0, message), role));
                }
                let outcomes: Arc<[Outcome]> = tables.derive(&self.lts.rules, pair.0, pair.1).into();
                tables.add_step(*pair, Arc::clone(&outcomes));
                self.known.add_row(*pair, outcomes);
            }
        }
        self.known.catch_up(&self.lts.read());
        Ok(())
    }

    /// Executes the steps of a [journal](Lts::journal) in its order. Returns false if one of them cannot be: the journal
    /// is of another system.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn repeat(&mut self, journal: &[(LocalStateId, Trigger)]) -> Result<bool, MachineError> {
        let mut rest = journal;
        while !rest.is_empty() {
            // A step can be executed once the steps that led to its state and its message were.
            let (states, messages, local_events) = self.lts.sizes();
            let is_known = |(state, trigger): &(LocalStateId, Trigger)| {
                let message = trigger.message().is_none_or(|message| (message.0 as usize) < messages);
                let event = trigger.local_event().is_none_or(|event| (event.0 as usize) < local_events);
                let taken = self.known.taken_together(*trigger);
                let is_member = |message: &MessageId| matches!(self.known.role(*state, *message), Role::Member(_));
                let quorum = taken.iter().all(|message| (message.0 as usize) < messages && is_member(message))
                    && taken.is_empty() == trigger.quorum().is_none();
                let is_possible = message && event && quorum;
                (state.0 as usize) < states && is_possible && self.known.state(*state).snapshot.is_some()
            };
            let count = rest.iter().take(REPEAT_BATCH).take_while(|pair| is_known(pair)).count();
            if count == 0 {
                return Ok(false);
            }
            let (batch, others) = rest.split_at(count);
            self.prepare(batch)?;
            rest = others;
        }
        Ok(true)
    }

    fn job(&self, id: LocalStateId, trigger: Trigger) -> Job {
        let state = self.state(id);
        let from = state.snapshot.clone().expect("nothing happens at a node that is stuck in a fault");
        let taken = self.known.taken_together(trigger);
        let cause = match (trigger.message(), trigger.local_event()) {
            (Some(message), _) => {
                let message = Arc::clone(self.message(message));
                let has_role = self.known.takes_quorums(state.node) && !message.is_notice;
                Cause::Message(message, has_role)
            }
            (_, Some(event)) => Cause::Local(self.lts.local_event(event)),
            _ if !taken.is_empty() => self.quorum_cause(id, taken),
            _ => Cause::Reset,
        };
        let consumed = trigger.message().into_iter().chain(taken.iter().copied());
        let consumed = consumed.map(|message| self.message(message).fingerprint);
        let before = consumed.fold(state.fingerprint, Fingerprint::wrapping_add);
        Job { node: state.node, from, cause, before }
    }

    fn quorum_cause(&self, state: LocalStateId, taken: &[MessageId]) -> Cause {
        let Role::Member(kind) = self.known.role(state, taken[0]) else {
            panic!("a quorum consists of messages that are members of it");
        };
        let messages = taken.iter().map(|message| self.message(*message));
        let mut messages: Vec<(NodeId, Vec<u8>)> =
            messages.map(|message| (message.from, message.payload.clone())).collect();
        messages.sort_unstable();
        Cause::Quorum(Arc::clone(self.known.kind(kind)), messages)
    }

    /// The id of a quorum of these messages, which are of different senders and for one node.
    pub fn quorum(&mut self, messages: &[MessageId]) -> QuorumId {
        let mut sorted: Vec<MessageId> = messages.to_vec();
        sorted.sort_unstable();
        if let Some(known) = self.known.find_quorum(&sorted) {
            return known;
        }
        let id = self.lts.write().intern_quorum(&sorted);
        self.known.catch_up(&self.lts.read());
        id
    }

    /// The outcomes of `init` at a node. Interned, but not kept as a step.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn init(&mut self, node: NodeId) -> Result<Vec<Outcome>, MachineError> {
        let config = self.lts.config.clone();
        let input = Input::Init { node, nodes: self.lts.scenario.nodes, config: &config, durable: None };
        let executions = explore(self.lts, self.machines.first(), node, None, input)?;
        let mut tables = self.lts.write();
        let outcomes = if self.lts.rules.has_fault_states() {
            let outcomes = tables.intern_protocol_outcomes(node, executions);
            tables.derive_init(&self.lts.rules, node, &outcomes)
        } else {
            tables.intern_outcomes(&self.lts.rules, node, 0, executions)
        };
        drop(tables);
        self.known.catch_up(&self.lts.read());
        Ok(outcomes)
    }
}
