//! Access to the local transition system: executes handlers where the outcome is not known yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::fingerprint::{self, Fingerprint};
use crate::known::Known;
use crate::lts::{LocalEventId, LocalState, LocalStateId, Lts, Message, MessageId, Outcome, Trigger};
use crate::machine::{
    Choice, Effects, Fault, FaultKind, Input, LocalEvent, Machine, MachineError, NodeId, PropertyKind, PropertyScope,
    Snapshot,
};
use crate::property::{ClassId, Judgement};

/// A handler that has more outcomes than this is a fault: its calls of `choose` multiply.
pub const OUTCOMES_MAX: usize = 65_536;

/// Where a stepper keeps the outcomes of one pair of local state and trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomesRef(pub(crate) u32);

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
    /// One a worker, made when there is work for it.
    machines: Vec<Box<dyn Machine>>,
    known: Known,
}

/// How many handlers a worker takes at a time: executing one costs about a microsecond.
const JOBS_A_GRAB: usize = 8;

/// Steps of a journal that are executed together at most.
const REPEAT_BATCH: usize = 16_384;

/// Verdicts on views of single nodes that are kept; protocols that need more have long views, and few equal ones.
const NODE_VERDICTS_MAX: usize = 1 << 16;

/// A handler to be executed.
struct Job {
    node: NodeId,
    from: Snapshot,
    message: Option<Arc<Message>>,
    local: Option<Arc<LocalEvent>>,
    /// The fingerprints of what the event takes away: the local state and the message.
    before: Fingerprint,
}

impl Job {
    fn input(&self) -> Input<'_> {
        match (&self.message, &self.local) {
            (Some(message), _) => Input::Message { src: message.from, payload: &message.payload },
            (_, Some(event)) => Input::Local(event),
            _ => unreachable!("a trigger is a message or a local event"),
        }
    }
}

/// One execution of a handler, before it is interned.
struct Execution {
    next: Ended,
    effects: Effects,
}

/// How an execution ended: in a state seen before, in a new one, or in a fault.
enum Ended {
    Known(LocalStateId),
    New(Box<Observed>),
    Fault(Fault),
}

/// A new local state as the machine shows it.
struct Observed {
    fingerprint: Fingerprint,
    encoding_bytes: usize,
    snapshot: Snapshot,
    local_events: Vec<LocalEvent>,
    /// One a property, those of node scope left out.
    views: Vec<Option<Vec<u8>>>,
    judgements: Vec<Judgement>,
}

impl<'l> Stepper<'l> {
    /// A stepper with a fresh machine.
    ///
    /// # Errors
    ///
    /// No machine can be made.
    pub fn new(lts: &'l Lts<'l>) -> Result<Self, MachineError> {
        let mut stepper = Self { lts, machines: vec![lts.factory.machine()?], known: Known::default() };
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

    /// The outcomes behind a reference of this stepper; at least one.
    #[inline]
    pub fn outcomes(&self, row: OutcomesRef) -> &[Outcome] {
        self.known.outcomes(row)
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
    /// Keeps the results of the whole batch until all are there, so a caller with millions of pairs passes them in
    /// parts.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
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
        let jobs: Vec<Job> = missing.iter().map(|(state, trigger)| self.job(*state, *trigger)).collect();
        let executed = self.execute(&jobs)?;
        for ((pair, job), executions) in missing.iter().zip(&jobs).zip(executed) {
            let outcomes: Arc<[Outcome]> = self.intern(job.node, job.before, executions).into();
            self.lts.write().add_step(*pair, Arc::clone(&outcomes));
            self.known.add_row(*pair, outcomes);
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
                (state.0 as usize) < states && message && event && self.known.state(*state).snapshot.is_some()
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
        let message = trigger.message().map(|message| Arc::clone(self.message(message)));
        let local = trigger.local_event().map(|event| self.lts.local_event(event));
        let before = state.fingerprint.wrapping_add(message.as_ref().map_or(0, |message| message.fingerprint));
        Job { node: state.node, from, message, local, before }
    }

    /// Runs the handlers for every resolution of their choices; the results stand in the order of the jobs.
    fn execute(&mut self, jobs: &[Job]) -> Result<Vec<Vec<Execution>>, MachineError> {
        let workers = rayon::current_num_threads().min(jobs.len().div_ceil(JOBS_A_GRAB));
        if workers <= 1 {
            let machine = &mut *self.machines[0];
            return jobs.iter().map(|job| explore(self.lts, machine, job.node, Some(&job.from), job.input())).collect();
        }
        while self.machines.len() < workers {
            self.machines.push(self.lts.factory.machine()?);
        }
        let lts = self.lts;
        let next = AtomicUsize::new(0);
        let work = |machine: &mut Box<dyn Machine>| {
            let mut done = Vec::new();
            loop {
                let first = next.fetch_add(JOBS_A_GRAB, Ordering::Relaxed);
                let Some(grabbed) = jobs.get(first..) else { return Ok(done) };
                if grabbed.is_empty() {
                    return Ok(done);
                }
                for (index, job) in (first..).zip(grabbed.iter().take(JOBS_A_GRAB)) {
                    done.push((index, explore(lts, &mut **machine, job.node, Some(&job.from), job.input())?));
                }
            }
        };
        let parts: Vec<Result<Vec<_>, MachineError>> = self.machines[..workers].par_iter_mut().map(work).collect();
        let mut ordered: Vec<Vec<Execution>> = jobs.iter().map(|_| Vec::new()).collect();
        for part in parts {
            for (index, executions) in part? {
                ordered[index] = executions;
            }
        }
        Ok(ordered)
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
        let outcomes = self.intern(node, 0, executions);
        self.known.catch_up(&self.lts.read());
        Ok(outcomes)
    }

    fn intern(&mut self, node: NodeId, before: Fingerprint, executions: Vec<Execution>) -> Vec<Outcome> {
        let mut tables = self.lts.write();
        let mut outcomes = Vec::with_capacity(executions.len());
        for Execution { next, effects } in executions {
            let next = match next {
                Ended::Known(id) => id,
                Ended::New(observed) => {
                    let mut local_events: Vec<LocalEventId> = Vec::new();
                    for event in &observed.local_events {
                        let id = tables.intern_local_event(event);
                        if !local_events.contains(&id) {
                            local_events.push(id);
                        }
                    }
                    let views = observed.views.iter().map(|view| Some(tables.intern_view(view.as_deref()?))).collect();
                    let class = tables.intern_class(views);
                    tables.intern_state(LocalState {
                        node,
                        fingerprint: observed.fingerprint,
                        encoding_bytes: observed.encoding_bytes,
                        local_events: local_events.into(),
                        class,
                        judgements: observed.judgements.into(),
                        snapshot: Some(observed.snapshot),
                    })
                }
                Ended::Fault(fault) => tables.intern_state(LocalState {
                    node,
                    fingerprint: fingerprint::of_fault(node, &fault),
                    encoding_bytes: 0,
                    local_events: Box::default(),
                    class: ClassId::NEUTRAL,
                    judgements: Box::new([Judgement::Fault(fault)]),
                    snapshot: None,
                }),
            };
            let sent: Box<[MessageId]> = (effects.sent.iter())
                .map(|envelope| tables.intern_message(node, envelope.to, &envelope.payload))
                .collect();
            let sent_sum = sent
                .iter()
                .fold(0, |sum: Fingerprint, id| sum.wrapping_add(tables.messages[id.0 as usize].fingerprint));
            let after = tables.states[next.0 as usize].fingerprint.wrapping_add(sent_sum);
            outcomes.push(Outcome { next, sent, choices: effects.choices.into(), delta: after.wrapping_sub(before) });
        }
        outcomes
    }

    /// What the properties of system scope say about a tuple of classes, one a node. Nothing if all are neutral.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn judge(&mut self, classes: &[ClassId]) -> Result<Arc<[Judgement]>, MachineError> {
        if let Some(known) = self.known.verdict(classes) {
            return Ok(Arc::clone(known));
        }
        let mut judgements = Vec::new();
        for (index, property) in (0u32..).zip(&self.lts.properties) {
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

/// All executions of one handler, in the lexicographic order of their choices.
fn explore(
    lts: &Lts<'_>,
    machine: &mut dyn Machine,
    node: NodeId,
    from: Option<&Snapshot>,
    input: Input<'_>,
) -> Result<Vec<Execution>, MachineError> {
    let mut executions = Vec::new();
    let mut script = Vec::new();
    loop {
        machine.restore(from)?;
        let mut effects = Effects::default();
        let result = machine.handle(input, &script, &mut effects);
        lts.handler_calls.fetch_add(1, Ordering::Relaxed);
        let next = match result.and_then(|()| observe(lts, machine, node, from, (input, &script))) {
            Ok(Ended::New(mut observed)) => {
                observed.judgements = judge_node(lts, machine, &mut observed)?;
                Ended::New(observed)
            }
            Ok(ended) => ended,
            Err(fault) => Ended::Fault(fault),
        };
        let more = next_script(&effects.choices, &mut script);
        executions.push(Execution { next, effects });
        if !more {
            return Ok(executions);
        }
        if executions.len() == OUTCOMES_MAX {
            let message = format!("the calls of `choose` in one handler have more than {OUTCOMES_MAX} resolutions");
            let fault = Fault { kind: FaultKind::Choose, message };
            executions.clear();
            executions.push(Execution { next: Ended::Fault(fault), effects: Effects::default() });
            return Ok(executions);
        }
    }
}

/// Looks at the state that a machine is in after a handler.
fn observe(
    lts: &Lts<'_>,
    machine: &mut dyn Machine,
    node: NodeId,
    from: Option<&Snapshot>,
    cause: (Input<'_>, &[u32]),
) -> Result<Ended, Fault> {
    let encoding = machine.serialize()?;
    let fingerprint = fingerprint::of_local_state(node, &encoding);
    if lts.audit.wants(fingerprint) {
        lts.audit.note((node, fingerprint, &encoding), machine.capture(), from, cause);
    }
    if let Some(id) = lts.read().state_ids.get(&fingerprint) {
        return Ok(Ended::Known(*id));
    }
    let snapshot = machine.capture();
    let local_events = machine.local_events()?;
    let views = (0u32..).zip(&lts.properties).map(|(index, _)| machine.view(index)).collect::<Result<_, _>>()?;
    Ok(Ended::New(Box::new(Observed {
        fingerprint,
        encoding_bytes: encoding.len(),
        snapshot,
        local_events,
        views,
        judgements: Vec::new(),
    })))
}

/// Evaluates the properties of node scope, and takes their views out: they are never combined with others.
fn judge_node(
    lts: &Lts<'_>,
    machine: &mut dyn Machine,
    observed: &mut Observed,
) -> Result<Vec<Judgement>, MachineError> {
    let mut judgements = Vec::new();
    for (index, property) in (0u32..).zip(&lts.properties) {
        if property.scope != PropertyScope::Node {
            continue;
        }
        let Some(view) = observed.views[index as usize].take() else { continue };
        // A property is a function of the view. To ask again costs more than the handler: it is asked in the state before
        // `init`, and a memory that has grown since cannot be had back without another instance.
        let known = lts.node_verdicts().get(&(index, view.clone())).cloned();
        let verdict = match known {
            Some(verdict) => verdict,
            None => {
                lts.audit.ask(index, &[Some(&view)]);
                let verdict = evaluate(machine, index, property.kind, &[Some(&view)])?;
                let mut verdicts = lts.node_verdicts();
                if verdicts.len() < NODE_VERDICTS_MAX {
                    verdicts.insert((index, view), verdict.clone());
                }
                verdict
            }
        };
        judgements.extend(verdict);
    }
    Ok(judgements)
}

/// Evaluates one property on a machine, whatever state that is in.
pub(crate) fn evaluate(
    machine: &mut dyn Machine,
    property: u32,
    kind: PropertyKind,
    views: &[Option<&[u8]>],
) -> Result<Option<Judgement>, MachineError> {
    machine.restore(None)?;
    Ok(match (kind, machine.invariant(property, views)) {
        (_, Err(fault)) => Some(Judgement::Broken { property, fault }),
        (PropertyKind::Always, Ok(Err(message))) => Some(Judgement::Violated { property, message }),
        (PropertyKind::Sometimes, Ok(Ok(()))) => Some(Judgement::Witnessed { property }),
        _ => None,
    })
}

/// Puts the lexicographically next resolution after `choices` into `script`; false if there is none.
fn next_script(choices: &[Choice], script: &mut Vec<u32>) -> bool {
    let Some(last) = choices.iter().rposition(|choice| choice.picked + 1 < choice.alternatives) else {
        return false;
    };
    script.clear();
    script.extend(choices[..=last].iter().map(|choice| choice.picked));
    script[last] += 1;
    true
}
