//! Access to the local transition system: executes handlers whose outcomes are not known yet.

use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::contract::{ClassId, Fault, Input, MachineError, NodeId, Role};
use crate::lts::cache::{LtsCache, OutcomesRef};
use crate::lts::handler::{Executed, Job, explore};
use crate::lts::ids::{LocalStateId, MessageId, QuorumId, Trigger};
use crate::lts::pool::MachinePool;
use crate::lts::protocol_step::ProtocolStep;
use crate::lts::state::{LocalState, Message, Outcome};
use crate::lts::system::Lts;

/// A handle on the local transition system, with its own machines and a copy that needs no lock.
///
/// Ids are given in the order in which handlers are requested, never in the order in which they end: a batch is
/// executed on one machine per worker, and the outcomes are interned one by one.
///
/// # Determinism duty
///
/// Outcomes are listed in the lexicographic order of their choices. Ids depend on the requests and their order, not on the number of
/// workers.
pub struct Stepper<'l> {
    pub(super) lts: &'l Lts<'l>,
    pub(super) machines: MachinePool<'l>,
    pub(super) known: LtsCache,
    /// The neighbours that nodes have named in their local states.
    pub(super) neighbours: FxHashMap<LocalStateId, Result<Option<Vec<NodeId>>, Fault>>,
    /// Answers of local states to the question whether the node is done.
    pub(super) done: FxHashMap<LocalStateId, Result<bool, Fault>>,
    /// The `eventually` properties that do not hold in a tuple of classes.
    pub(super) owed: FxHashMap<Box<[ClassId]>, Arc<[u32]>>,
}

/// Number of handlers that are prepared at a time.
const JOBS_MAX: usize = 1024;

/// Maximum number of steps of a journal that are executed together.
const REPEAT_BATCH: usize = 16_384;

impl<'l> Stepper<'l> {
    /// A stepper with a fresh machine.
    pub fn new(lts: &'l Lts<'l>) -> Result<Self, MachineError> {
        let known = LtsCache::new(lts.rules.is_ordered);
        let mut stepper = Self {
            lts,
            machines: MachinePool::new(lts)?,
            known,
            neighbours: FxHashMap::default(),
            done: FxHashMap::default(),
            owed: FxHashMap::default(),
        };
        stepper.known.catch_up(&lts.read());
        Ok(stepper)
    }

    /// The local transition system behind it.
    pub fn lts(&self) -> &'l Lts<'l> {
        self.lts
    }

    /// The part that many workers can look up at once, without executing a handler.
    pub fn known(&self) -> &LtsCache {
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

    /// The outcomes of a trigger in a local state, executed now if they are not known yet.
    ///
    /// # Panics
    ///
    /// The local state is a fault: no event happens at such a node.
    #[inline]
    pub fn step(&mut self, state: LocalStateId, trigger: Trigger) -> Result<OutcomesRef, MachineError> {
        match self.known.row(state, trigger) {
            Some(row) => Ok(row),
            None => self.step_uncached(state, trigger),
        }
    }

    /// The outcomes behind a reference of this stepper; at least one, except for a reset that would change nothing, a message
    /// that the node does not take by itself, and a quorum that it does not take.
    #[inline]
    pub fn outcomes(&self, row: OutcomesRef) -> &[Outcome] {
        self.known.outcomes(row)
    }

    /// Whether a fault would change nothing in a local state, or the node does not take a quorum: then it does not happen
    /// there.
    pub fn is_idle(&mut self, state: LocalStateId, fault: Trigger) -> Result<bool, MachineError> {
        let row = self.step(state, fault)?;
        Ok(self.outcomes(row).is_empty())
    }

    /// Number of pairs of local state and trigger requested so far: it grows when handlers are executed.
    pub fn rows(&self) -> usize {
        self.known.rows()
    }

    #[cold]
    fn step_uncached(&mut self, state: LocalStateId, trigger: Trigger) -> Result<OutcomesRef, MachineError> {
        self.prepare(&[(state, trigger)])?;
        Ok(self.known.row(state, trigger).expect("it was executed just now"))
    }

    /// Executes all of these that are not known yet, on as many machines as the current thread pool has workers.
    /// Afterwards [`LtsCache::row`] has them all. Repetitions do no harm.
    ///
    /// Outcomes are interned as soon as they take some megabytes.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance, or work is to [stop](crate::contract::Stop). Outcomes interned until then stay, for whole
    /// handlers in the order of the pairs, so the rest can be prepared later.
    ///
    /// # Panics
    ///
    /// As for [`step`](Self::step).
    pub fn prepare(&mut self, pairs: &[(LocalStateId, Trigger)]) -> Result<(), MachineError> {
        let missing = self.look_up(pairs);
        let mut rest = &missing[..];
        while !rest.is_empty() {
            let (steps, jobs) = self.handlers_for(rest);
            let executed = self.machines.execute(&jobs)?;
            let done = self.keep(rest, &steps, executed);
            rest = &rest[done..];
        }
        self.known.catch_up(&self.lts.read());
        Ok(())
    }

    /// Copies the outcomes that others have requested; returns the remaining pairs, without repetitions.
    fn look_up(&mut self, pairs: &[(LocalStateId, Trigger)]) -> Vec<(LocalStateId, Trigger)> {
        let tables = self.lts.read();
        let mut missing: Vec<(LocalStateId, Trigger)> = Vec::new();
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
        missing
    }

    /// The handlers to execute for the first of these pairs: each once per protocol state.
    fn handlers_for(&self, pairs: &[(LocalStateId, Trigger)]) -> (Vec<ProtocolStep>, Vec<Job>) {
        let tables = self.lts.read();
        let handlers_max = pairs.len().min(JOBS_MAX);
        let mut asked: FxHashSet<ProtocolStep> = FxHashSet::with_capacity_and_hasher(handlers_max, FxBuildHasher);
        let (mut steps, mut jobs) = (Vec::with_capacity(handlers_max), Vec::with_capacity(handlers_max));
        for pair in pairs {
            let Some(step) = tables.protocol_step(&self.lts.rules, pair.0, pair.1) else { continue };
            if steps.len() == JOBS_MAX {
                break;
            }
            if !tables.protocol_steps.contains_key(&step) && asked.insert(step) {
                jobs.push(tables.job(&step, *pair));
                steps.push(step);
            }
        }
        (steps, jobs)
    }

    /// Interns the outcomes of the handlers of the first of these steps, and derives from them the outcomes of the first
    /// pairs; returns the number of these pairs.
    fn keep(&mut self, pairs: &[(LocalStateId, Trigger)], steps: &[ProtocolStep], executed: Vec<Executed>) -> usize {
        let mut tables = self.lts.write();
        for (step, Executed { role, executions }) in steps.iter().zip(executed) {
            let node = tables.protocol_states[step.protocol_state.0 as usize].node;
            let outcomes = tables.intern_executions(node, executions);
            if let Some(role) = tables.intern_role(role) {
                tables.protocol_roles.insert(*step, role);
            }
            tables.add_protocol_step(*step, outcomes);
        }
        let mut done = 0;
        for pair in pairs {
            let Some(outcomes) = tables.derive(&self.lts.rules, pair.0, pair.1) else { break };
            let outcomes: Arc<[Outcome]> = outcomes.into();
            tables.add_step(*pair, Arc::clone(&outcomes));
            self.known.add_row(*pair, outcomes);
            done += 1;
        }
        // If each protocol state has one local state, no step requests the same execution again.
        if !self.lts.rules.has_fault_states() {
            tables.forget_protocol_steps();
        }
        done
    }

    /// Executes the steps of a [journal](Lts::journal) in its order. Returns false if one of them cannot be executed: the journal
    /// is of another system.
    pub fn repeat(&mut self, journal: &[(LocalStateId, Trigger)]) -> Result<bool, MachineError> {
        let mut rest = journal;
        while !rest.is_empty() {
            // A step can be executed once the steps that led to its state and its message were.
            let (states, messages, local_events) = self.lts.sizes();
            let is_known = |(state, trigger): &(LocalStateId, Trigger)| {
                let message = trigger.message().or(trigger.lost());
                let message = message.is_none_or(|message| (message.0 as usize) < messages);
                let event = trigger.local_event().is_none_or(|event| (event.0 as usize) < local_events);
                let taken = self.known.taken_together(*trigger);
                let is_member = |message: &MessageId| matches!(self.known.role(*state, *message), Role::Member(_));
                let quorum = taken.iter().all(|message| (message.0 as usize) < messages && is_member(message))
                    && taken.is_empty() == trigger.quorum().is_none();
                let is_possible = message && event && quorum;
                (state.0 as usize) < states && is_possible && !self.known.brief(*state).is_stuck
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
    pub fn init(&mut self, node: NodeId) -> Result<Vec<Outcome>, MachineError> {
        if self.lts.rules.is_absent(node) {
            let next = self.absent(node);
            return Ok(vec![Outcome::unconditional(next, self.state(next).fingerprint)]);
        }
        let config = self.lts.config.clone();
        let input = Input::Init { node, nodes: self.lts.scenario.nodes, config: &config, durable: None };
        let executions = explore(self.lts, self.machines.first(), node, None, input)?;
        let mut tables = self.lts.write();
        let executed = tables.intern_executions(node, executions);
        let outcomes = tables.derive_init(&self.lts.rules, node, &executed);
        drop(tables);
        self.known.catch_up(&self.lts.read());
        Ok(outcomes)
    }
}
