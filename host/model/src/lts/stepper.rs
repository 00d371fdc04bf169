//! Access to the local transition system: executes handlers where the outcome is not known yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::contract::fingerprint::{self, Fingerprint};
use crate::contract::{ClassId, Fault, Input, Judgement, LocalEvent, Machine, MachineError, NodeId, Role};
use crate::lts::cache::{Known, OutcomesRef};
use crate::lts::handler::{Cause, Ended, Executed, Execution, Job, confirmed, evaluate, explore, run};
use crate::lts::ids::{LocalEventId, LocalStateId, MessageId, QuorumId, Trigger};
use crate::lts::protocol_step::{Bare, BareCause, BareKey};
use crate::lts::tables::{LocalState, Lts, Message, Outcome, Tables};
use crate::scenario::{Route, Standing};

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
    lts: &'l Lts<'l>,
    /// One per worker, made when there is work for it.
    machines: Vec<Box<dyn Machine>>,
    known: Known,
    /// What local states said when they were asked whether they are done.
    done: FxHashMap<LocalStateId, Result<bool, Fault>>,
}

/// How many handlers a worker takes at a time: executing one costs about a microsecond.
const JOBS_A_GRAB: usize = 8;

/// Bytes of what came out of handlers that wait to be interned, about. One handler alone can have more.
const UNINTERNED_BYTES: usize = 16 << 20;

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
        let mut stepper = Self { lts, machines: vec![lts.factory.machine()?], known, done: FxHashMap::default() };
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
        if self.lts.rules.has_standings() {
            return self.derive(&missing);
        }
        let mut rest = &missing[..];
        while !rest.is_empty() {
            let jobs = rest.iter().take(JOBS_MAX).map(|(state, trigger)| self.job(*state, *trigger));
            let jobs: Vec<Job> = jobs.collect();
            let executed = self.execute(&jobs)?;
            let (done, later) = rest.split_at(executed.len());
            for ((pair, job), Executed { role, executions }) in done.iter().zip(&jobs).zip(executed) {
                let outcomes: Arc<[Outcome]> = self.intern(job.node, job.before, executions).into();
                let mut tables = self.lts.write();
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

    /// The same where things can go wrong: a handler is executed once for each content, and the steps are derived.
    fn derive(&mut self, missing: &[(LocalStateId, Trigger)]) -> Result<(), MachineError> {
        let mut wanted: Vec<(BareKey, Job)> = Vec::new();
        {
            let tables = self.lts.read();
            let mut asked: FxHashSet<BareKey> = FxHashSet::default();
            for (state, trigger) in missing {
                let Some(key) = tables.bare_key(&self.lts.rules, *state, *trigger) else { continue };
                if !tables.bare.contains_key(&key) && asked.insert(key) {
                    let mut job = self.job(*state, *trigger);
                    if let BareCause::Error(peer) = key.cause {
                        job.cause = Cause::Error(peer);
                    }
                    wanted.push((key, job));
                }
            }
        }
        let (keys, jobs): (Vec<BareKey>, Vec<Job>) = wanted.into_iter().unzip();
        let (mut keys, mut jobs) = (&keys[..], &jobs[..]);
        while !jobs.is_empty() {
            let executed = self.execute(jobs)?;
            let done = executed.len();
            let mut tables = self.lts.write();
            for ((key, job), Executed { role, executions }) in keys.iter().zip(jobs).zip(executed) {
                let bares = intern_bares(&mut tables, job.node, executions);
                if let Some(role) = tables.intern_role(role) {
                    tables.bare_roles.insert(*key, role);
                }
                tables.bare.insert(*key, bares.into());
            }
            (keys, jobs) = (&keys[done..], &jobs[done..]);
        }
        {
            let mut tables = self.lts.write();
            for pair in missing {
                if let Some(message) = pair.1.message()
                    && let Some(key) = tables.bare_key(&self.lts.rules, pair.0, pair.1)
                    && let Some(role) = tables.bare_roles.get(&key).copied()
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

    /// Runs the handlers of the first jobs for every resolution of their choices, at least one job and at most as many as
    /// take [`UNINTERNED_BYTES`]; the results stand in the order of the jobs.
    fn execute(&mut self, jobs: &[Job]) -> Result<Vec<Executed>, MachineError> {
        let bytes = AtomicUsize::new(0);
        let is_full = || bytes.load(Ordering::Relaxed) >= UNINTERNED_BYTES;
        let count = |executed: &Executed| {
            let all = executed.executions.iter().map(Execution::bytes).sum();
            bytes.fetch_add(all, Ordering::Relaxed);
        };
        let workers = rayon::current_num_threads().min(jobs.len().div_ceil(JOBS_A_GRAB));
        if workers <= 1 {
            let machine = &mut *self.machines[0];
            let executed = jobs.iter().map_while(|job| (!is_full()).then(|| run(self.lts, machine, job)));
            return executed.inspect(|executed| executed.iter().for_each(&count)).collect();
        }
        while self.machines.len() < workers {
            self.machines.push(self.lts.factory.machine()?);
        }
        let lts = self.lts;
        let next = AtomicUsize::new(0);
        let work = |machine: &mut Box<dyn Machine>| {
            let mut done = Vec::new();
            loop {
                // What is taken up is done to its end, so the jobs that are done are the first ones.
                if is_full() {
                    return Ok(done);
                }
                let first = next.fetch_add(JOBS_A_GRAB, Ordering::Relaxed);
                let Some(grabbed) = jobs.get(first..) else { return Ok(done) };
                if grabbed.is_empty() {
                    return Ok(done);
                }
                for (index, job) in (first..).zip(grabbed.iter().take(JOBS_A_GRAB)) {
                    let executed = run(lts, &mut **machine, job)?;
                    count(&executed);
                    done.push((index, executed));
                }
            }
        };
        let parts: Vec<Result<Vec<_>, MachineError>> = self.machines[..workers].par_iter_mut().map(work).collect();
        let mut ordered: Vec<Option<Executed>> = jobs.iter().map(|_| None).collect();
        for part in parts {
            for (index, executed) in part? {
                ordered[index] = Some(executed);
            }
        }
        Ok(ordered.into_iter().map_while(|executed| executed).collect())
    }

    /// The outcomes of `init` at a node. Interned, but not kept as a step.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn init(&mut self, node: NodeId) -> Result<Vec<Outcome>, MachineError> {
        let config = self.lts.config.clone();
        let input = Input::Init { node, nodes: self.lts.scenario.nodes, config: &config, durable: None };
        let executions = explore(self.lts, &mut *self.machines[0], node, None, input)?;
        let outcomes = if self.lts.rules.has_standings() {
            let mut tables = self.lts.write();
            let bares = intern_bares(&mut tables, node, executions);
            tables.derive_init(&self.lts.rules, node, &bares)
        } else {
            self.intern(node, 0, executions)
        };
        self.known.catch_up(&self.lts.read());
        Ok(outcomes)
    }

    fn intern(&mut self, node: NodeId, before: Fingerprint, executions: Vec<Execution>) -> Vec<Outcome> {
        let mut tables = self.lts.write();
        let mut outcomes = Vec::with_capacity(executions.len());
        for Execution { next, effects } in executions {
            let next = match local_state(&mut tables, node, next) {
                Ok(id) => LocalStateId(id),
                Err(state) => tables.intern_state(*state),
            };
            let sent = tables.send(&self.lts.rules, node, &mut Standing::default(), &effects.sent);
            outcomes.push(tables.outcome(before, next, sent, (effects.choices.into(), effects.likelihood)));
        }
        outcomes
    }

    /// The groups of nodes that the protocol declares to be interchangeable, as it says so in a local state that is no
    /// fault.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance; the inner error is the protocol's fault.
    pub fn interchangeable(&mut self, state: LocalStateId) -> Result<Result<Vec<Vec<NodeId>>, Fault>, MachineError> {
        let snapshot = self.state(state).snapshot.clone();
        let machine = &mut *self.machines[0];
        machine.restore(snapshot.as_ref())?;
        let groups = machine.interchangeable();
        confirmed(machine, groups)
    }

    /// Whether a node is done in a local state, as the protocol says it; not in one that is a fault. Asked once.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance; the inner error is the protocol's fault.
    pub(crate) fn is_done(&mut self, state: LocalStateId) -> Result<Result<bool, Fault>, MachineError> {
        if let Some(known) = self.done.get(&state) {
            return Ok(known.clone());
        }
        let snapshot = self.state(state).snapshot.clone();
        let Some(snapshot) = snapshot else { return Ok(Ok(false)) };
        let machine = &mut *self.machines[0];
        machine.restore(Some(&snapshot))?;
        let is_done = machine.is_done();
        let is_done = confirmed(machine, is_done)?;
        self.done.insert(state, is_done.clone());
        Ok(is_done)
    }

    /// The message with each node `i` renamed to `renaming[i]`: in sender, destination and content. Interned.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance; the inner error is the protocol's fault.
    pub fn rename_message(
        &mut self,
        message: MessageId,
        renaming: &[NodeId],
    ) -> Result<Result<MessageId, Fault>, MachineError> {
        let message = Arc::clone(self.message(message));
        let machine = &mut *self.machines[0];
        machine.restore(None)?;
        let payload = machine.rename_message(&message.payload, renaming);
        let payload = match confirmed(machine, payload)? {
            Ok(payload) => payload,
            Err(fault) => return Ok(Err(fault)),
        };
        let (from, to) = (renaming[message.from as usize], renaming[message.to as usize]);
        let lane = self.lts.rules.lane(from, to);
        let id = self.lts.write().intern_message(Route { from, to, lane, ..message.route() }, &payload);
        self.known.catch_up(&self.lts.read());
        Ok(Ok(id))
    }

    /// The local event with each node `i` renamed to `renaming[i]` in its argument. Interned.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance; the inner error is the protocol's fault.
    pub fn rename_local(
        &mut self,
        event: LocalEventId,
        renaming: &[NodeId],
    ) -> Result<Result<LocalEventId, Fault>, MachineError> {
        let event = self.lts.local_event(event);
        let machine = &mut *self.machines[0];
        machine.restore(None)?;
        let payload = machine.rename_local(&event.payload, renaming);
        let payload = match confirmed(machine, payload)? {
            Ok(payload) => payload,
            Err(fault) => return Ok(Err(fault)),
        };
        let renamed = LocalEvent { payload, ..LocalEvent::clone(&event) };
        Ok(Ok(self.lts.write().intern_local_event(&renamed)))
    }

    /// What the properties of system scope say about a tuple of classes, one per node. Nothing if all are neutral, or if a node is
    /// stuck.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn judge(&mut self, classes: &[ClassId]) -> Result<Arc<[Judgement]>, MachineError> {
        if let Some(known) = self.known.verdict(classes) {
            return Ok(Arc::clone(known));
        }
        let mut judgements = Vec::new();
        let is_over = classes.contains(&ClassId::STUCK);
        for (index, property) in (0u32..).zip(&self.lts.properties).filter(|_| !is_over) {
            let views = self.lts.views_of(classes, index);
            // No node can matter: an `always` holds and a `sometimes` is not reached, without asking.
            if views.iter().all(Option::is_none) {
                continue;
            }
            let views: Vec<Option<&[u8]>> = views.iter().map(Option::as_deref).collect();
            self.lts.audit.ask(index, &views);
            judgements.extend(evaluate(&mut *self.machines[0], index, property.kind, &views)?);
        }
        let judgements: Arc<[Judgement]> = judgements.into();
        self.known.add_verdict(classes, Arc::clone(&judgements));
        Ok(judgements)
    }
}

/// The contents in which executions ended.
fn intern_bares(tables: &mut Tables, node: NodeId, executions: Vec<Execution>) -> Vec<Bare> {
    let mut bares = Vec::with_capacity(executions.len());
    for Execution { next, effects } in executions {
        let content = match local_state(tables, node, next) {
            Ok(id) => id,
            Err(state) => tables.intern_content(*state),
        };
        let sent = effects.sent.iter().map(|envelope| size_of_val(envelope) + envelope.payload.len());
        tables.grow(size_of::<Bare>() + sent.sum::<usize>() + size_of_val(&*effects.choices));
        bares.push(Bare { content, sent: effects.sent, choices: effects.choices, likelihood: effects.likelihood });
    }
    bares
}

/// The id of a state that is known, or a new one.
fn local_state(tables: &mut Tables, node: NodeId, ended: Ended) -> Result<u32, Box<LocalState>> {
    let observed = match ended {
        Ended::Known(id) => return Ok(id),
        Ended::New(observed) => observed,
        Ended::Fault(fault) => {
            return Err(Box::new(LocalState {
                node,
                fingerprint: fingerprint::of_fault(node, &fault),
                encoding_bytes: 0,
                local_events: Box::default(),
                faults: Box::default(),
                class: ClassId::STUCK,
                judgements: Box::new([Judgement::Fault(fault)]),
                snapshot: None,
                content: 0,
                standing: Standing::default(),
            }));
        }
    };
    let mut local_events: Vec<LocalEventId> = Vec::new();
    for event in &observed.local_events {
        let id = tables.intern_local_event(event);
        if !local_events.contains(&id) {
            local_events.push(id);
        }
    }
    let views = observed.views.iter().map(|view| Some(tables.intern_view(view.as_deref()?))).collect();
    let class = tables.intern_class(views);
    Err(Box::new(LocalState {
        node,
        fingerprint: observed.fingerprint,
        encoding_bytes: observed.encoding_bytes,
        local_events: local_events.into(),
        faults: Box::default(),
        class,
        judgements: observed.judgements.into(),
        snapshot: Some(observed.snapshot),
        content: 0,
        standing: Standing::default(),
    }))
}
