//! Local states and events in words.

use std::collections::BTreeMap;

use host_inspect::words;
use host_model::contract::{LocalEvent, Machine, MachineError, NodeId};
use host_model::lts::{LocalStateId, Lts, MessageId, Stepper, Trigger};
use host_model::scenario::NodeNames;
use host_model::trace::{self, TraceEvent, TraceStep};

use crate::cluster::Cluster;

/// A step of one node by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LocalStep {
    pub(super) local: LocalStateId,
    pub(super) trigger: Trigger,
    pub(super) outcome: u32,
}

/// Describes states and events in words.
pub(super) struct Teller<'l> {
    pub(super) stepper: Stepper<'l>,
    pub(super) machine: Box<dyn Machine>,
    pub(super) names: NodeNames,
    states: BTreeMap<LocalStateId, String>,
    messages: BTreeMap<Vec<u8>, String>,
}

impl<'l> Teller<'l> {
    /// For a cluster with these local states in its first start state.
    pub(super) fn new(cluster: &Cluster, lts: &'l Lts<'l>, start: &[LocalStateId]) -> Result<Self, MachineError> {
        let (mut machine, stepper) = (cluster.factory().machine()?, Stepper::new(lts)?);
        let names = trace::node_names(&mut *machine, &stepper, start)?;
        Ok(Self { stepper, machine, names, states: BTreeMap::new(), messages: BTreeMap::new() })
    }

    /// A step as traces name it.
    pub(super) fn event(&mut self, node: NodeId, step: LocalStep) -> Result<String, MachineError> {
        let LocalStep { local, trigger, outcome } = step;
        let row = self.stepper.step(local, trigger)?;
        let outcome = &self.stepper.outcomes(row)[outcome as usize];
        let (is_lost, choices) = (outcome.is_lost, outcome.choices.to_vec());
        let event: TraceEvent = trace::event(&self.stepper, local, trigger, is_lost);
        let mut said = BTreeMap::new();
        for (_, payload) in event.received() {
            said.insert(payload.to_vec(), self.message(payload)?);
        }
        if let TraceEvent::Lose { payload, .. } = &event {
            said.insert(payload.0.clone(), self.message(&payload.0)?);
        }
        let argument = event.to_local().map(|event| self.argument(&event)).transpose()?;
        let step = TraceStep { node, event, choices, sent: None, state: None };
        Ok(words::event(&step, &self.names, argument, |payload| said.get(payload).cloned().unwrap_or_default()))
    }

    /// The argument of a local event.
    fn argument(&mut self, event: &LocalEvent) -> Result<String, MachineError> {
        self.machine.restore(None)?;
        let described = self.machine.describe_local(event).ok().flatten();
        Ok(words::argument(event, described.map(|json| words::parsed(&json)).as_ref()))
    }

    /// A message in flight.
    pub(super) fn in_flight(&mut self, id: MessageId) -> Result<String, MachineError> {
        let message = self.stepper.lts().message(id);
        let said = if message.is_notice { "a broken connection".to_owned() } else { self.message(&message.payload)? };
        Ok(format!("in flight: {} -> {}: {said}", self.names.of(message.from), self.names.of(message.to)))
    }

    fn message(&mut self, payload: &[u8]) -> Result<String, MachineError> {
        if let Some(known) = self.messages.get(payload) {
            return Ok(known.clone());
        }
        self.machine.restore(None)?;
        // If a plugin cannot describe a message, its bytes are shown.
        let described = self.machine.describe_message(payload).ok().flatten();
        let said = described.map_or_else(|| words::payload(payload), |json| words::compact(&json));
        self.messages.insert(payload.to_vec(), said.clone());
        Ok(said)
    }

    /// A local state of a node, with its name.
    pub(super) fn local_state(&mut self, node: NodeId, id: LocalStateId) -> Result<String, MachineError> {
        if let Some(known) = self.states.get(&id) {
            return Ok(known.clone());
        }
        let state = self.stepper.lts().state(id);
        let is_absent = self.stepper.lts().scenario().absent.contains(&node);
        let snapshot = state.protocol.snapshot.as_ref().filter(|_| !is_absent);
        let mut said = match (snapshot, state.fault()) {
            (_, Some(fault)) => fault.to_string(),
            (None, None) => words::ABSENT.to_owned(),
            (Some(snapshot), None) => {
                self.machine.restore(Some(snapshot))?;
                let described = self.machine.describe_state().ok().flatten();
                let bytes = || -> Result<String, MachineError> {
                    self.machine.restore(Some(snapshot))?;
                    Ok(self.machine.serialize().map_or_else(|fault| fault.to_string(), |bytes| words::payload(&bytes)))
                };
                described.map_or_else(bytes, |json| Ok(words::compact(&json)))?
            }
        };
        // As long as there was no fault, the two are the same.
        if state.fingerprint != state.protocol.fingerprint {
            let faults = serde_json::to_string(&state.fault_state).expect("JSON has a form for numbers under names");
            said = format!("{said}, faults {}", words::compact(&faults));
        }
        let said = format!("{}: {said}", self.names.of(node));
        self.states.insert(id, said.clone());
        Ok(said)
    }
}
