//! A worker's access to the local transition system: executes handlers where the outcome is not known yet.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustc_hash::FxHashMap;

use crate::fingerprint::{self, Fingerprint};
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
pub struct OutcomesRef(u32);

/// A worker's handle on the local transition system, with a machine of its own and a cache that needs no lock.
///
/// # Determinism duty
///
/// Outcomes are listed in the lexicographic order of their choices, whoever computed them.
pub struct Stepper<'l> {
    lts: &'l Lts<'l>,
    machine: Box<dyn Machine>,
    rows: FxHashMap<(LocalStateId, Trigger), OutcomesRef>,
    outcomes: Vec<Arc<[Outcome]>>,
    states: Vec<Option<Arc<LocalState>>>,
    messages: Vec<Option<Arc<Message>>>,
    verdicts: FxHashMap<Box<[ClassId]>, Arc<[Judgement]>>,
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
    /// A worker with a fresh machine.
    ///
    /// # Errors
    ///
    /// No machine can be made.
    pub fn new(lts: &'l Lts<'l>) -> Result<Self, MachineError> {
        Ok(Self {
            lts,
            machine: lts.factory.machine()?,
            rows: FxHashMap::default(),
            outcomes: Vec::new(),
            states: Vec::new(),
            messages: Vec::new(),
            verdicts: FxHashMap::default(),
        })
    }

    /// The local transition system that this worker shares.
    pub fn lts(&self) -> &'l Lts<'l> {
        self.lts
    }

    /// A local state by id.
    pub fn state(&mut self, id: LocalStateId) -> &Arc<LocalState> {
        let index = id.0 as usize;
        if self.states.len() <= index {
            self.states.resize(index + 1, None);
        }
        self.states[index].get_or_insert_with(|| self.lts.state(id))
    }

    /// A message by id.
    pub fn message(&mut self, id: MessageId) -> &Arc<Message> {
        let index = id.0 as usize;
        if self.messages.len() <= index {
            self.messages.resize(index + 1, None);
        }
        self.messages[index].get_or_insert_with(|| self.lts.message(id))
    }

    /// The outcomes of a trigger in a local state, executed now if no worker has executed it before.
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
        match self.rows.get(&(state, trigger)) {
            Some(row) => Ok(*row),
            None => self.step_uncached(state, trigger),
        }
    }

    /// The outcomes behind a reference of this stepper; at least one.
    #[inline]
    pub fn outcomes(&self, row: OutcomesRef) -> &[Outcome] {
        &self.outcomes[row.0 as usize]
    }

    /// How many pairs of local state and trigger were asked for so far: more of them means that handlers were executed.
    pub fn rows(&self) -> usize {
        self.outcomes.len()
    }

    #[cold]
    fn step_uncached(&mut self, state: LocalStateId, trigger: Trigger) -> Result<OutcomesRef, MachineError> {
        let known = self.lts.read().steps.get(&(state, trigger)).cloned();
        let outcomes = match known {
            Some(outcomes) => outcomes,
            None => self.execute(state, trigger)?,
        };
        let row = OutcomesRef(u32::try_from(self.outcomes.len()).expect("fewer than four billion steps"));
        self.outcomes.push(outcomes);
        self.rows.insert((state, trigger), row);
        Ok(row)
    }

    /// Runs the handler for every resolution of its choices and interns what came out.
    fn execute(&mut self, id: LocalStateId, trigger: Trigger) -> Result<Arc<[Outcome]>, MachineError> {
        let state = Arc::clone(self.state(id));
        let snapshot = state.snapshot.clone().expect("nothing happens at a node that is stuck in a fault");
        let message = trigger.message().map(|message| Arc::clone(self.message(message)));
        let local = trigger.local_event().map(|event| self.lts.local_event(event));
        let input = match (&message, &local) {
            (Some(message), _) => Input::Message { src: message.from, payload: &message.payload },
            (_, Some(event)) => Input::Local(event),
            _ => unreachable!("a trigger is a message or a local event"),
        };
        let executions = self.explore(state.node, Some(&snapshot), input)?;
        let before = state.fingerprint.wrapping_add(message.as_ref().map_or(0, |message| message.fingerprint));
        let outcomes: Arc<[Outcome]> = self.intern(state.node, before, executions).into();
        Ok(Arc::clone(self.lts.write().steps.entry((id, trigger)).or_insert(outcomes)))
    }

    /// The outcomes of `init` at a node. Interned, but not kept as a step.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn init(&mut self, node: NodeId) -> Result<Vec<Outcome>, MachineError> {
        let config = self.lts.config.clone();
        let input = Input::Init { node, nodes: self.lts.scenario.nodes, config: &config, durable: None };
        let executions = self.explore(node, None, input)?;
        Ok(self.intern(node, 0, executions))
    }

    /// All executions of one handler, in the lexicographic order of their choices.
    fn explore(
        &mut self,
        node: NodeId,
        from: Option<&Snapshot>,
        input: Input<'_>,
    ) -> Result<Vec<Execution>, MachineError> {
        let mut executions = Vec::new();
        let mut script = Vec::new();
        loop {
            self.machine.restore(from)?;
            let mut effects = Effects::default();
            let result = self.machine.handle(input, &script, &mut effects);
            self.lts.handler_calls.fetch_add(1, Ordering::Relaxed);
            let next = match result.and_then(|()| self.observe(node)) {
                Ok(Ended::New(mut observed)) => {
                    observed.judgements = self.judge_node(&mut observed)?;
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

    /// Looks at the state that the machine is in after a handler.
    fn observe(&mut self, node: NodeId) -> Result<Ended, Fault> {
        let encoding = self.machine.serialize()?;
        let fingerprint = fingerprint::of_local_state(node, &encoding);
        if let Some(id) = self.lts.read().state_ids.get(&fingerprint) {
            return Ok(Ended::Known(*id));
        }
        let snapshot = self.machine.capture();
        let local_events = self.machine.local_events()?;
        let properties = &self.lts.properties;
        let views = (0u32..).zip(properties).map(|(index, _)| self.machine.view(index)).collect::<Result<_, _>>()?;
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
    fn judge_node(&mut self, observed: &mut Observed) -> Result<Vec<Judgement>, MachineError> {
        let mut judgements = Vec::new();
        for (index, property) in (0u32..).zip(&self.lts.properties) {
            if property.scope != PropertyScope::Node {
                continue;
            }
            if let Some(view) = observed.views[index as usize].take() {
                judgements.extend(evaluate(&mut *self.machine, index, property.kind, &[Some(&view)])?);
            }
        }
        Ok(judgements)
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
        if let Some(known) = self.verdicts.get(classes) {
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
            judgements.extend(evaluate(&mut *self.machine, index, property.kind, &views)?);
        }
        let judgements: Arc<[Judgement]> = judgements.into();
        self.verdicts.insert(classes.into(), Arc::clone(&judgements));
        Ok(judgements)
    }
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
