//! The global states where a search begins: after `init`, in states from elsewhere, or after a given trace.

use std::sync::Arc;

use crate::contract::hex::Hex;
use crate::contract::{FaultKind, MachineError, NodeId, TransferError};
use crate::lts::{LocalStateId, MessageId, Outcome, Step, Stepper};
use crate::scenario::{FaultState, InFlight};
use crate::trace::document::{Trace, TraceStep};
use crate::trace::origin::{Beginning, Flight, NodeState, Origin};
use crate::trace::record::contents;
use crate::trace::resolve::{GlobalSituation, Unresolved, resolve};

/// A global state where a search begins, with the path that leads there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The origin of the path.
    pub origin: Origin,
    /// The local states at the origin, one per node.
    pub initial: Vec<LocalStateId>,
    /// The events of the prefix; empty without one.
    pub path: Vec<Step>,
    /// The local states, one per node.
    pub locals: Vec<LocalStateId>,
    /// The messages in flight.
    pub in_flight: InFlight<MessageId>,
}

impl Start {
    /// Takes a step that can happen here.
    ///
    /// # Errors
    ///
    /// The host cannot run the handler.
    pub fn advance(&mut self, stepper: &mut Stepper<'_>, step: Step) -> Result<(), MachineError> {
        let local = &mut self.locals[step.node as usize];
        let row = stepper.step(*local, step.trigger)?;
        let outcome = stepper.outcomes(row)[step.outcome as usize].clone();
        *local = outcome.next;
        let known = stepper.known();
        let links = known.links(&self.locals);
        self.in_flight.step(&links, step.node, known.taken(step.trigger), outcome.sent.iter().copied());
        self.path.push(step);
        Ok(())
    }
}

/// Maximum number of initial global states; more are refused.
pub const STARTS_MAX: usize = 65_536;

/// The reason why a search cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// `init` does not accept the parameters.
    #[error("the plugin refuses its configuration: {0}")]
    Refused(String),
    /// The calls of `choose` in `init` multiply over the nodes.
    #[error("the choices in `init` have more than {STARTS_MAX} resolutions over all nodes; make them in a local event")]
    TooManyStarts,
    /// Messages in order are taken one by one.
    #[error(
        "node {to} takes messages together (its interface `quorum`), but those from node {from} come in order, one by one"
    )]
    QuorumsInOrder {
        /// The sender.
        from: NodeId,
        /// The node that takes messages together.
        to: NodeId,
    },
    /// The prefix begins in states from elsewhere that are not of this cluster.
    #[error("{0}")]
    Beginning(String),
    /// A step of the prefix cannot happen at its place.
    #[error("step {step} of the prefix cannot happen: {why}")]
    Prefix {
        /// Counted from 1.
        step: usize,
        /// A lower-case phrase.
        why: String,
    },
    /// The host itself cannot continue.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl StartError {
    /// A recorded step, counted from 1, is not enabled.
    pub fn at(step: usize, error: Unresolved) -> Self {
        match error {
            Unresolved::NotEnabled(why) => Self::Prefix { step, why },
            Unresolved::Machine(error) => error.into(),
        }
    }
}

/// All initial global states: one for each resolution of the calls of `choose` in the nodes' `init`, in
/// lexicographic order. At least one.
///
/// # Errors
///
/// A node refuses its configuration, or the host cannot provide an instance. A fault in `init` is no error: it is
/// a judgement on the node's local state.
pub fn initial(stepper: &mut Stepper<'_>) -> Result<Vec<Start>, StartError> {
    let mut starts = vec![Start::default()];
    for node in 0..stepper.lts().scenario().nodes {
        let outcomes = stepper.init(node)?;
        refuse_quorums_in_order(stepper, node)?;
        if starts.len() * outcomes.len() > STARTS_MAX {
            return Err(StartError::TooManyStarts);
        }
        let mut extended = Vec::with_capacity(starts.len() * outcomes.len());
        for start in &starts {
            for outcome in &outcomes {
                if let Some(fault) = stepper.state(outcome.next).fault()
                    && fault.kind == FaultKind::Refused
                {
                    return Err(StartError::Refused(fault.message.clone()));
                }
                let mut start = start.clone();
                start.origin.answer(&outcome.choices);
                start.initial.push(outcome.next);
                start.locals.push(outcome.next);
                let links = stepper.known().links(&start.locals);
                outcome.sent.iter().for_each(|message| start.in_flight.insert(&links, *message));
                extended.push(start);
            }
        }
        starts = extended;
    }
    Ok(starts)
}

/// Messages in order are taken one by one, so no node may take them together.
fn refuse_quorums_in_order(stepper: &Stepper<'_>, node: NodeId) -> Result<(), StartError> {
    match stepper.lts().scenario().in_order_to(node) {
        Some(from) if stepper.known().takes_quorums(node) => Err(StartError::QuorumsInOrder { from, to: node }),
        _ => Ok(()),
    }
}

/// The global state in which a trace begins: the initial one with its answers to `choose` in `init`, or that of its states from
/// elsewhere.
///
/// # Errors
///
/// As for [`initial`]; no initial state has these answers, or the states from elsewhere are not of this cluster.
pub fn begin(stepper: &mut Stepper<'_>, trace: &Trace) -> Result<Start, StartError> {
    let origin = trace.origin();
    if let Origin::States(beginning) = &origin {
        return adopt(stepper, beginning);
    }
    let starts = initial(stepper)?;
    let is_recorded = |start: &Start| trace.init_choices.is_empty() || start.origin == origin;
    starts.into_iter().find(is_recorded).ok_or_else(|| StartError::Prefix {
        step: 0,
        why: "no resolution of the choices in `init` is the recorded one".to_owned(),
    })
}

/// The global state of these states from elsewhere.
///
/// # Errors
///
/// They are not of this cluster, or the host cannot provide an instance.
pub fn adopt(stepper: &mut Stepper<'_>, beginning: &Arc<Beginning>) -> Result<Start, StartError> {
    let lts = stepper.lts();
    let settled = beginning.settle(lts.scenario(), &lts.rules).map_err(StartError::Beginning)?;
    let mut locals = Vec::with_capacity(settled.fault_states.len());
    for (node, fault_state) in (0..).zip(settled.fault_states) {
        let state = beginning.states.iter().find(|state| state.node == node);
        locals.push(match state {
            None => stepper.absent(node),
            Some(state) => {
                let refuse = |why| StartError::Beginning(format!("the state of node {node}: {why}"));
                stepper.adopt(node, &state.exported.0, fault_state).map_err(|error| match error {
                    TransferError::Refused(why) => refuse(why),
                    TransferError::Machine(error) => error.into(),
                })?
            }
        });
        refuse_quorums_in_order(stepper, node)?;
    }
    let items = settled.in_flight.into_iter().map(|(route, payload)| stepper.in_flight(route, payload)).collect();
    let in_flight = InFlight::of(&stepper.known().links(&locals), items);
    Ok(Start {
        origin: Origin::States(Arc::clone(beginning)),
        initial: locals.clone(),
        path: Vec::new(),
        locals,
        in_flight,
    })
}

/// A global state in a form that can leave this process: a path [begins](adopt) there in another one.
///
/// # Errors
///
/// A node is stuck in a fault, states cannot leave the machines of the protocol, or the host cannot provide an instance.
pub fn export(stepper: &mut Stepper<'_>, start: &Start) -> Result<Beginning, TransferError> {
    let mut states = Vec::with_capacity(start.locals.len());
    for (node, local) in (0..).zip(&start.locals) {
        if stepper.lts().scenario().absent.contains(&node) {
            continue;
        }
        let exported = Hex(stepper.export(*local)?);
        let fault_state = Some(&stepper.state(*local).fault_state).filter(|state| !state.is_fresh());
        states.push(NodeState {
            node,
            exported,
            fault_state: fault_state.map_or_else(FaultState::default, Clone::clone),
        });
    }
    let flight = |id: &MessageId| {
        let message = stepper.message(*id);
        Flight {
            from: message.from,
            to: message.to,
            payload: Hex(message.payload.clone()),
            incarnation: message.incarnation,
            notice: message.is_notice,
        }
    };
    let in_flight = start.in_flight.iter().map(flight).collect();
    Ok(Beginning { states, in_flight })
}

/// The global state after a trace.
///
/// # Errors
///
/// As for [`begin`]; or a step of the trace cannot happen, or has other effects than were recorded.
pub fn follow(stepper: &mut Stepper<'_>, trace: &Trace) -> Result<Start, StartError> {
    let mut start = begin(stepper, trace)?;
    for (index, step) in trace.steps.iter().enumerate() {
        take(stepper, &mut start, step).map_err(|error| StartError::at(index + 1, error))?;
    }
    Ok(start)
}

/// The global state after further steps; the last one may end in a finding of its own.
///
/// # Errors
///
/// As for [`follow`].
pub fn follow_on(stepper: &mut Stepper<'_>, mut start: Start, steps: &[TraceStep]) -> Result<Start, StartError> {
    for (index, step) in steps.iter().enumerate() {
        take_or_find(stepper, &mut start, step).map_err(|error| StartError::at(index + 1, error))?;
    }
    Ok(start)
}

/// Takes one recorded step that ends in no fault: no step follows one. A violation of a property does not end the path, whether at one
/// node or between several.
fn take(stepper: &mut Stepper<'_>, start: &mut Start, step: &TraceStep) -> Result<(), Unresolved> {
    take_or_find(stepper, start, step)?;
    let reached = start.locals[step.node as usize];
    match stepper.state(reached).fault() {
        Some(fault) => Err(Unresolved::NotEnabled(format!("it ends in a finding of its own: {}", fault.message))),
        None => Ok(()),
    }
}

/// Takes one recorded step.
fn take_or_find(stepper: &mut Stepper<'_>, start: &mut Start, step: &TraceStep) -> Result<(), Unresolved> {
    let refuse = |why: String| Err(Unresolved::NotEnabled(why));
    let mut situation = GlobalSituation { stepper, locals: &start.locals, in_flight: &start.in_flight };
    let trigger = resolve(&mut situation, step)?.trigger(stepper);
    let node = step.node;
    let row = stepper.step(start.locals[node as usize], trigger)?;
    let is_lost = step.event.is_lost();
    let is_taken = |outcome: &Outcome| outcome.is_lost == is_lost && *outcome.choices == *step.choices;
    let Some(index) = stepper.outcomes(row).iter().position(is_taken) else {
        return refuse(format!("no outcome of the handler has the choices {:?}", step.choices));
    };
    let sent = stepper.outcomes(row)[index].sent.clone();
    if let Some(expected) = &step.sent
        && contents(stepper, &sent) != *expected
    {
        return refuse("it sends other messages than were recorded".to_owned());
    }
    let outcome = u32::try_from(index).expect("a limit keeps outcomes below 2^32");
    Ok(start.advance(stepper, Step { node, trigger, outcome })?)
}
