//! Executes one handler for every resolution of its choices, and examines the resulting states.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::contract::fingerprint::{self, Fingerprint};
use crate::contract::{
    Arrival, Choice, DurableMap, Effects, Fault, FaultKind, Input, Judgement, LocalEvent, Machine, MachineError,
    NodeId, PropertyKind, PropertyScope, Quorum, Role, Snapshot, Synced, WrittenKeys,
};
use crate::lts::ids::ProtocolStateId;
use crate::lts::state::{Evaluated, Message};
use crate::lts::system::Lts;

/// A handler with more outcomes than this is a fault: its calls of `choose` multiply.
pub const OUTCOMES_MAX: usize = 65_536;

/// Maximum number of verdicts on views of single nodes that are kept; protocols with more have long views, and few equal ones.
const NODE_VERDICTS_MAX: usize = 1 << 16;

/// A handler to be executed.
pub(crate) struct Job {
    pub(crate) node: NodeId,
    pub(crate) from: Snapshot,
    pub(crate) cause: Cause,
}

/// The cause of a handler's execution.
pub(crate) enum Cause {
    /// A message, and whether the node must be asked for its role.
    Message(Arc<Message>, bool),
    /// A quorum by its name, with sender and content of each message in the order of the senders.
    Quorum(Arc<Quorum>, Vec<(NodeId, Vec<u8>)>),
    Local(Arc<LocalEvent>),
    /// The node restarts, with this durable map if it is not that of the state.
    Restart(Option<DurableMap>),
    /// A transport error.
    Error(NodeId),
}

/// All executions of the handler of a job.
pub(crate) struct Executed {
    /// The role of the message; nothing is executed unless the node takes it by itself.
    pub(crate) role: Role<Quorum>,
    pub(crate) executions: Vec<Execution>,
}

/// One execution of a handler, before it is interned.
pub(crate) struct Execution {
    pub(crate) next: Ended,
    pub(crate) effects: Effects,
    /// The fingerprints of the sent messages, in order: hashing takes longer than sending, so each worker does it for its own executions.
    pub(crate) of_sent: Vec<Fingerprint>,
}

impl Execution {
    /// An execution at a node with this end and these effects.
    fn new(node: NodeId, next: Ended, effects: Effects) -> Self {
        let of_sent = effects.sent.iter().map(|it| fingerprint::of_message(node, it.to, &it.payload)).collect();
        Self { next, effects, of_sent }
    }

    /// An execution without effects.
    pub(crate) fn silent(next: Ended) -> Self {
        Self { next, effects: Effects::default(), of_sent: Vec::new() }
    }

    /// Bytes that it keeps until it is interned, about.
    pub(crate) fn bytes(&self) -> usize {
        let sent = self.effects.sent.iter().map(|envelope| size_of_val(envelope) + envelope.payload.len());
        let observed = match &self.next {
            Ended::New(observed) => observed.bytes(),
            Ended::Known(_) | Ended::Fault(_) => 0,
        };
        size_of::<Self>()
            + sent.sum::<usize>()
            + size_of_val(&*self.of_sent)
            + size_of_val(&*self.effects.choices)
            + observed
    }
}

/// The end of an execution: in a state seen before, in a new one, or in a fault.
pub(crate) enum Ended {
    Known(ProtocolStateId),
    New(Box<Observed>),
    Fault(Fault),
}

/// A new protocol state as the machine shows it.
pub(crate) struct Observed {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) encoding_bytes: usize,
    pub(crate) snapshot: Snapshot,
    pub(crate) local_events: Vec<LocalEvent>,
    /// One view per property, except those of node scope.
    pub(crate) views: Vec<Option<Vec<u8>>>,
    pub(crate) judgements: Vec<Judgement>,
    /// The `eventually` properties of node scope that do not hold.
    pub(crate) owed: Vec<u32>,
}

impl Observed {
    pub(crate) fn bytes(&self) -> usize {
        let events = self.local_events.iter().map(|event| size_of_val(event) + event.name.len() + event.payload.len());
        let views = self.views.iter().flatten().map(Vec::len);
        size_of::<Self>() + self.snapshot.bytes() + events.sum::<usize>() + views.sum::<usize>()
    }
}

/// An answer, whose fault is confirmed to be the guest's.
pub(crate) fn confirmed<R>(machine: &dyn Machine, answer: Result<R, Fault>) -> Result<Result<R, Fault>, MachineError> {
    if answer.is_err() {
        machine.confirm_fault()?;
    }
    Ok(answer)
}

/// All executions of the handler of a job, if the node takes the message by itself.
pub(crate) fn run(lts: &Lts<'_>, machine: &mut dyn Machine, job: &Job) -> Result<Executed, MachineError> {
    if let Cause::Message(message, true) = &job.cause {
        machine.stand_at(job.node);
        machine.restore(Some(&job.from))?;
        match machine.role(message.from, &message.payload) {
            Ok(Role::Alone) => {}
            Ok(role) => return Ok(Executed { role, executions: Vec::new() }),
            // The guest fails on this message, as if it was delivered.
            Err(fault) => {
                machine.confirm_fault()?;
                let execution = Execution::silent(Ended::Fault(fault));
                return Ok(Executed { role: Role::Alone, executions: vec![execution] });
            }
        }
    }
    Ok(Executed { role: Role::Alone, executions: executions(lts, machine, job)? })
}

/// All executions of the handler of a job.
fn executions(lts: &Lts<'_>, machine: &mut dyn Machine, job: &Job) -> Result<Vec<Execution>, MachineError> {
    let from = Some(&job.from);
    match &job.cause {
        Cause::Quorum(quorum, messages) => {
            explore(lts, machine, job.node, from, Input::Quorum { name: &quorum.name, messages })
        }
        Cause::Message(message, _) => {
            let input = Input::Message { src: message.from, payload: &message.payload };
            explore(lts, machine, job.node, from, input)
        }
        Cause::Local(event) => explore(lts, machine, job.node, from, Input::Local(event)),
        Cause::Error(peer) => explore(lts, machine, job.node, from, Input::TransportError { peer: *peer }),
        Cause::Restart(map) => {
            machine.restore(from)?;
            let durable = match machine.durable_state_with(map.as_ref()) {
                Ok(durable) => durable,
                Err(fault) => {
                    machine.confirm_fault()?;
                    return Ok(vec![Execution::silent(Ended::Fault(fault))]);
                }
            };
            let nodes = lts.scenario.nodes;
            let input = Input::Init { node: job.node, nodes, config: &lts.config, durable: durable.as_ref() };
            explore(lts, machine, job.node, None, input)
        }
    }
}

/// All executions of one handler, in the lexicographic order of their choices, except those in which the node does not
/// take the quorum.
pub(crate) fn explore(
    lts: &Lts<'_>,
    machine: &mut dyn Machine,
    node: NodeId,
    from: Option<&Snapshot>,
    input: Input<'_>,
) -> Result<Vec<Execution>, MachineError> {
    let mut executions = Vec::new();
    let mut script = Vec::new();
    machine.stand_at(node);
    for tried in 1.. {
        machine.restore(from)?;
        let mut effects = Effects::default();
        let result = machine.handle(input, &script, &mut effects);
        lts.handler_calls.fetch_add(1, Ordering::Relaxed);
        // No later step depends on these effects, so they are not kept.
        effects.aside.clear();
        if lts.rules.max.outages == 0 {
            effects.synced = Synced::default();
        }
        if !lts.rules.loses_any_writes() {
            effects.written = WrittenKeys::default();
        }
        let result = result.and_then(|()| lts.rules.check_lengths(node, &effects.sent));
        let is_declined = effects.is_declined && result.is_ok();
        let next = match result.and_then(|()| match is_declined {
            true => Ok(None),
            false => observe(lts, machine, node, from, input, &script).map(Some),
        }) {
            Ok(Some(Ended::New(mut observed))) => {
                judge_node(lts, machine, &mut observed)?;
                Some(Ended::New(observed))
            }
            Ok(ended) => ended,
            Err(fault) => {
                machine.confirm_fault()?;
                // The execution ends here: messages sent before are never delivered.
                effects.sent.clear();
                Some(Ended::Fault(fault))
            }
        };
        let more = next_script(&effects.choices, lts.rules.max.refusals, &mut script);
        executions.extend(next.map(|next| Execution::new(node, next, effects)));
        if !more {
            break;
        }
        if tried == OUTCOMES_MAX {
            let message = format!(
                "the choices of one handler have more than {OUTCOMES_MAX} resolutions; offer fewer alternatives, or make \
                 them one after the other in local events"
            );
            let fault = Fault::new(FaultKind::Choose, message);
            executions.clear();
            executions.push(Execution::silent(Ended::Fault(fault)));
            break;
        }
    }
    Ok(executions)
}

/// Examines the state of a machine after a handler.
fn observe(
    lts: &Lts<'_>,
    machine: &mut dyn Machine,
    node: NodeId,
    from: Option<&Snapshot>,
    input: Input<'_>,
    script: &[u32],
) -> Result<Ended, Fault> {
    let encoding = machine.serialize()?;
    let fingerprint = fingerprint::of_local_state(node, &encoding);
    if let Input::Init { durable: None, .. } = input
        && machine.takes_quorums()?
    {
        lts.write().takes_quorums[node as usize] = true;
    }
    machine.arrive(&Arrival { node, encoding: &encoding, fingerprint, from, input, script });
    show(lts, machine, fingerprint, encoding.len())
}

/// Examines a state from elsewhere.
pub(crate) fn look(
    lts: &Lts<'_>,
    machine: &mut dyn Machine,
    node: NodeId,
    snapshot: &Snapshot,
) -> Result<Ended, MachineError> {
    machine.stand_at(node);
    machine.restore(Some(snapshot))?;
    let mut seen = || {
        let encoding = machine.serialize()?;
        if machine.takes_quorums()? {
            lts.write().takes_quorums[node as usize] = true;
        }
        show(lts, machine, fingerprint::of_local_state(node, &encoding), encoding.len())
    };
    match seen() {
        Ok(Ended::New(mut observed)) => {
            judge_node(lts, machine, &mut observed)?;
            Ok(Ended::New(observed))
        }
        Ok(ended) => Ok(ended),
        Err(fault) => {
            machine.confirm_fault()?;
            Ok(Ended::Fault(fault))
        }
    }
}

/// The state of a machine, whose encoding has this fingerprint and length, with the answers to all questions about a new state.
fn show(
    lts: &Lts<'_>,
    machine: &mut dyn Machine,
    fingerprint: Fingerprint,
    encoding_bytes: usize,
) -> Result<Ended, Fault> {
    let known = lts.read().protocol_state_ids.get(&fingerprint).copied();
    if let Some(id) = known {
        return Ok(Ended::Known(id));
    }
    let snapshot = machine.capture();
    let local_events = machine.local_events()?;
    let mut view = |(index, property)| if lts.asks_about(property) { machine.view(index) } else { Ok(None) };
    let views = (0u32..).zip(&lts.properties).map(&mut view).collect::<Result<_, _>>()?;
    Ok(Ended::New(Box::new(Observed {
        fingerprint,
        encoding_bytes,
        snapshot,
        local_events,
        views,
        judgements: Vec::new(),
        owed: Vec::new(),
    })))
}

/// Evaluates the properties of node scope, and removes their views: they are never combined with others.
fn judge_node(lts: &Lts<'_>, machine: &mut dyn Machine, observed: &mut Observed) -> Result<(), MachineError> {
    for (index, property) in (0u32..).zip(&lts.properties) {
        if property.scope != PropertyScope::Node {
            continue;
        }
        // A node without a view cannot matter: it violates, reaches and owes nothing.
        let Some(view) = observed.views[index as usize].take() else { continue };
        // A property is a function of the view. Evaluating it again can cost more than the handler, since it happens in the state before
        // `init`, which has to be restored.
        let known = lts.node_verdicts().get(&(index, view.clone())).cloned();
        let verdict = match known {
            Some(verdict) => verdict,
            None => {
                let verdict = evaluate(machine, index, property.kind, &[Some(&view)])?;
                let mut verdicts = lts.node_verdicts();
                if verdicts.len() < NODE_VERDICTS_MAX {
                    let bytes = view.len();
                    verdicts.insert((index, view), verdict.clone());
                    drop(verdicts);
                    lts.write().grow(bytes);
                }
                verdict
            }
        };
        observed.judgements.extend(verdict.judgement);
        observed.owed.extend(verdict.is_owed.then_some(index));
    }
    Ok(())
}

/// Evaluates one property on a machine in any state.
pub(crate) fn evaluate(
    machine: &mut dyn Machine,
    property: u32,
    kind: PropertyKind,
    views: &[Option<&[u8]>],
) -> Result<Evaluated, MachineError> {
    machine.restore_to_judge()?;
    let said = machine.invariant(property, views);
    let is_owed = kind == PropertyKind::Eventually && matches!(said, Ok(Err(_)));
    let judgement = match (kind, said) {
        (_, Err(fault)) => {
            machine.confirm_fault()?;
            Some(Judgement::Broken { property, fault })
        }
        (PropertyKind::Always, Ok(Err(message))) => Some(Judgement::Violated { property, message }),
        (PropertyKind::Sometimes, Ok(Ok(()))) => Some(Judgement::Witnessed { property }),
        _ => None,
    };
    Ok(Evaluated { judgement, is_owed })
}

/// The words in which an `eventually` property does not hold on some views; none if it holds, or cannot be evaluated.
pub(crate) fn owed(
    machine: &mut dyn Machine,
    property: u32,
    scope: PropertyScope,
    views: &[Option<&[u8]>],
) -> Result<Option<String>, MachineError> {
    // A node without a view cannot matter. For all nodes together the property itself decides whether it is owed then.
    if scope == PropertyScope::Node && views.iter().all(Option::is_none) {
        return Ok(None);
    }
    machine.restore_to_judge()?;
    match machine.invariant(property, views) {
        Ok(said) => Ok(said.err()),
        Err(_) => machine.confirm_fault().map(|()| None),
    }
}

/// Puts the lexicographically next resolution after `choices` into `script`; false if there is none. A resolution refuses
/// at most this many messages.
fn next_script(choices: &[Choice], refusals_max: u32, script: &mut Vec<u32>) -> bool {
    let may_rise = |at: usize| {
        let choice = choices[at];
        let refused = || choices[..at].iter().filter(|choice| choice.is_refusal()).count() as u32;
        choice.picked + 1 < choice.alternatives && (choice.to.is_none() || refused() < refusals_max)
    };
    let Some(last) = (0..choices.len()).rev().find(|at| may_rise(*at)) else {
        return false;
    };
    script.clear();
    script.extend(choices[..=last].iter().map(|choice| choice.picked));
    script[last] += 1;
    true
}
