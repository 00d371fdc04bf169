//! Re-execution of a trace on machines that run from the start to the end, one per node: no memo, and no snapshot except around
//! questions about the role of a message and the name of a node, which change nothing.
//!
//! A finding is confirmed this way before it is reported, and a saved trace is shown this way.

use std::collections::BTreeSet;

use crate::contract::{
    Choice, DurableMap, Envelope, Fault, Input, LocalEvent, Machine, MachineError, NodeId, Property, Quorum, Role,
};
use crate::scenario::fault_state::Rules;
use crate::scenario::{FaultEvent, FaultState, InFlight, Links, Route};
use crate::trace::document::{Sent, TraceEvent, TraceStep};
pub use crate::trace::effects::{LostMessage, StepReport};
use crate::trace::held::{map_before, map_left};
use crate::trace::resolve::{Enabled, Situation, Unresolved, WantedMessage, resolve};

/// The reason why a trace does not replay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The event cannot happen at its place.
    #[error("step {step} cannot happen: {why}")]
    NotEnabled {
        /// Counted from 1.
        step: usize,
        /// A lower-case phrase.
        why: String,
    },
    /// The event happens but has other effects than were recorded.
    #[error(
        "step {step} differs from the recorded one: {what}; the plugin is not deterministic, or not the one that was recorded"
    )]
    Differs {
        /// Counted from 1; 0 is `init`.
        step: usize,
        /// The difference.
        what: String,
    },
    /// The steps replay, but the finding is not there at the end.
    #[error("the steps replay, but at the end {what}")]
    NoFinding {
        /// The actual result.
        what: String,
    },
    /// The host itself cannot continue.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// A message in flight in a replay, or a notice of a break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Travelling {
    pub(super) route: Route,
    pub(super) payload: Vec<u8>,
}

/// The links between nodes in these fault states.
struct Connections<'r> {
    rules: &'r Rules,
    fault_states: &'r [FaultState],
}

impl Links<Travelling> for Connections<'_> {
    fn is_ordered(&self) -> bool {
        self.rules.is_ordered
    }

    fn route(&self, item: &Travelling) -> Route {
        item.route
    }

    fn incarnation(&self, node: NodeId, peer: NodeId) -> u32 {
        self.fault_states[node as usize].incarnation(peer)
    }

    fn rank(&self, _item: &Travelling) -> u32 {
        // In the order of sending.
        0
    }
}

/// A cluster that runs event by event.
pub struct Replay {
    pub(super) machines: Vec<Box<dyn Machine>>,
    pub(super) judge: Box<dyn Machine>,
    pub(super) properties: Vec<Property>,
    /// The views that the properties read of each node, in its current state.
    pub(super) views: Vec<Vec<Option<Vec<u8>>>>,
    pub(super) in_flight: InFlight<Travelling>,
    /// The contents of messages on links without order, if others have one; their indices are the channel classes.
    pub(super) contents: Vec<Vec<u8>>,
    pub(super) steps: usize,
    pub(super) nodes: u32,
    pub(super) config: String,
    pub(super) rules: Rules,
    /// The faults of each node so far.
    pub(super) fault_states: Vec<FaultState>,
    pub(super) takes_quorums: Vec<bool>,
    /// The nodes that are stuck; more than one only if several fail in `init`.
    pub(super) faults: Vec<(NodeId, Fault)>,
    /// The messages that the current step has lost.
    pub(super) lost: Vec<LostMessage>,
}

impl Replay {
    /// Takes one step of a trace.
    ///
    /// # Errors
    ///
    /// The step cannot happen, or has other effects than were recorded. The replay cannot continue after an error.
    pub fn step(&mut self, step: &TraceStep) -> Result<StepReport, ReplayError> {
        self.steps += 1;
        let event = match resolve(self, step) {
            Ok(event) => event,
            Err(Unresolved::NotEnabled(why)) => return Err(self.not_enabled(why)),
            Err(Unresolved::Machine(error)) => return Err(error.into()),
        };
        self.lost.clear();
        let report = self.take(step, event)?;
        self.compare(step, &report)?;
        Ok(StepReport { lost: std::mem::take(&mut self.lost), ..report })
    }

    fn not_enabled(&self, why: String) -> ReplayError {
        ReplayError::NotEnabled { step: self.steps, why }
    }

    /// Takes an event that is enabled.
    fn take(&mut self, step: &TraceStep, event: Enabled<Travelling, LocalEvent>) -> Result<StepReport, ReplayError> {
        let (node, choices) = (step.node, &*step.choices);
        // A notice overtakes the messages before it, which are lost.
        let overtaken = event.taken().iter().any(|item| item.route.is_notice).then(|| self.travelling());
        let (links, in_flight) = self.network();
        event.taken().iter().for_each(|item| in_flight.take(&links, item));
        self.note_lost(overtaken.unwrap_or_default());
        let fault_state = &mut self.fault_states[node as usize];
        match event {
            Enabled::Deliver(Travelling { route, .. }) if route.is_notice => {
                let was_open = fault_state.is_open(route.from);
                fault_state.learn(route.from, route.incarnation);
                self.lose(node);
                if !was_open && !step.event.is_lost() {
                    let why = format!("node {node} has no connection to node {} to lose", route.from);
                    return Err(self.not_enabled(why));
                }
                self.error(node, route.from, step.event.is_lost(), choices)
            }
            Enabled::Deliver(Travelling { route, payload }) => {
                if self.rules.channel_class(route.from, node) == 0 {
                    fault_state.open(route.from);
                }
                if let Err(fault) = self.role(node, route.from, &payload)? {
                    // The guest fails on the question, which counts as the delivery.
                    self.stick(node, &fault)?;
                    return Ok(StepReport { fault: Some(fault), ..StepReport::default() });
                }
                self.run(node, Input::Message { src: route.from, payload: &payload }, choices)
            }
            Enabled::Quorum(items) => {
                let messages = items.into_iter().map(|item| (item.route.from, item.payload));
                let mut messages: Vec<(NodeId, Vec<u8>)> = messages.collect();
                messages.sort_unstable();
                let TraceEvent::Quorum { name, .. } = &step.event else {
                    unreachable!("the event is that of the step")
                };
                let report = self.run(node, Input::Quorum { name, messages: &messages }, choices)?;
                match report.effects.is_declined {
                    true => Err(self.not_enabled(format!("node {node} declines these messages there"))),
                    false => Ok(report),
                }
            }
            Enabled::Local(event) => self.run(node, Input::Local(&event), choices),
            // The node does not notice a loss, so its machine is not called.
            Enabled::Lose(_) => {
                fault_state.lose(&self.rules);
                Ok(StepReport::default())
            }
            Enabled::Fault(fault) => {
                let map = map_left(&mut *self.machines[node as usize], fault_state, fault);
                let closed = fault_state.meet(fault, node);
                self.announce(node, &closed);
                match fault.peer() {
                    None => self.restart(node, map.as_ref(), choices),
                    Some(peer) => self.error(node, peer, step.event.is_lost(), choices),
                }
            }
        }
    }

    /// The current links, and the items in flight on them.
    fn network(&mut self) -> (Connections<'_>, &mut InFlight<Travelling>) {
        (Connections { rules: &self.rules, fault_states: &self.fault_states }, &mut self.in_flight)
    }

    /// Adds an item in flight, unless it is lost already.
    fn post(&mut self, item: Travelling) {
        let route = item.route;
        let payload = (!route.is_notice).then(|| item.payload.clone());
        let (links, in_flight) = self.network();
        let before = in_flight.iter().count();
        in_flight.insert(&links, item);
        let is_taken = in_flight.iter().count() > before;
        if let Some(payload) = payload.filter(|_| !is_taken) {
            self.lost.push(LostMessage { from: route.from, to: route.to, payload, is_sent: true });
        }
    }

    /// Removes the items that a node can never take.
    fn lose(&mut self, node: NodeId) {
        let before = self.travelling();
        let (links, in_flight) = self.network();
        in_flight.lose(&links, node);
        self.note_lost(before);
    }

    fn travelling(&self) -> Vec<Travelling> {
        self.in_flight.iter().cloned().collect()
    }

    /// Notes the items of `before` that are no longer in flight.
    fn note_lost(&mut self, before: Vec<Travelling>) {
        let mut kept = self.in_flight.iter().peekable();
        for Travelling { route, payload } in before {
            match kept.peek() {
                Some(next) if next.route == route && next.payload == payload => drop(kept.next()),
                _ if route.is_notice => {}
                _ => self.lost.push(LostMessage { from: route.from, to: route.to, payload, is_sent: false }),
            }
        }
    }

    /// Sends notices of broken connections to the peers, after the node itself has lost its items.
    fn announce(&mut self, node: NodeId, closed: &[(NodeId, u32)]) {
        self.lose(node);
        for (to, incarnation) in closed {
            let route = Route { from: node, to: *to, incarnation: *incarnation, is_notice: true, channel_class: 0 };
            self.send(route, &[]);
        }
    }

    /// The items that could be taken next.
    pub(super) fn next_items(&self) -> Vec<Travelling> {
        let links = Connections { rules: &self.rules, fault_states: &self.fault_states };
        let mut next = Vec::new();
        self.in_flight.for_each_next(&links, |item| next.push(item.clone()));
        next
    }

    /// The role of a message at a node in its current state.
    pub(super) fn role(
        &mut self,
        node: NodeId,
        src: NodeId,
        payload: &[u8],
    ) -> Result<Result<Role<Quorum>, Fault>, MachineError> {
        if !self.takes_quorums[node as usize] {
            return Ok(Ok(Role::Alone));
        }
        let machine = &mut self.machines[node as usize];
        let before = machine.capture();
        let role = machine.role(src, payload);
        // A question must not change the machine, not even if it fails.
        machine.restore(Some(&before))?;
        Ok(role)
    }

    /// Breaks a connection; the node is notified unless the error is lost.
    fn error(
        &mut self,
        node: NodeId,
        peer: NodeId,
        is_lost: bool,
        choices: &[Choice],
    ) -> Result<StepReport, ReplayError> {
        if !is_lost {
            return self.run(node, Input::TransportError { peer }, choices);
        }
        let machine = &mut self.machines[node as usize];
        let mut report = StepReport::default();
        match machine.serialize() {
            Ok(state) => report.state = Some(state),
            Err(fault) => {
                self.stick(node, &fault)?;
                report.fault = Some(fault);
                return Ok(report);
            }
        }
        report.description = describe_state(&mut **machine)?;
        Ok(report)
    }

    /// Restarts a node with its durable state, and with this durable map if it is not the present one.
    fn restart(
        &mut self,
        node: NodeId,
        map: Option<&DurableMap>,
        choices: &[Choice],
    ) -> Result<StepReport, ReplayError> {
        let machine = &mut self.machines[node as usize];
        let durable = match machine.durable_state_with(map) {
            Ok(durable) => durable,
            Err(fault) => {
                self.stick(node, &fault)?;
                return Ok(StepReport { fault: Some(fault), ..StepReport::default() });
            }
        };
        machine.restore(None)?;
        let (config, nodes) = (self.config.clone(), self.nodes);
        self.run(node, Input::Init { node, nodes, config: &config, durable: durable.as_ref() }, choices)
    }

    /// Marks a node as stuck in a fault.
    pub(super) fn stick(&mut self, node: NodeId, fault: &Fault) -> Result<(), MachineError> {
        self.machines[node as usize].confirm_fault()?;
        // As in a search, a node that is stuck matters to no property.
        self.views[node as usize] = vec![None; self.properties.len()];
        self.faults.push((node, fault.clone()));
        Ok(())
    }

    /// Runs one handler and puts its messages in flight.
    pub(super) fn run(
        &mut self,
        node: NodeId,
        input: Input<'_>,
        choices: &[Choice],
    ) -> Result<StepReport, ReplayError> {
        let machine = &mut self.machines[node as usize];
        machine.ask_stop()?;
        let script: Vec<u32> = choices.iter().map(|choice| choice.picked).collect();
        let mut report = StepReport::default();
        let before = map_before(&mut **machine, input);
        let result = machine.handle(input, &script, &mut report.effects);
        match result.and_then(|()| self.rules.check_lengths(node, &report.effects.sent)) {
            Ok(()) => self.look(node, &mut report)?,
            Err(fault) => {
                self.stick(node, &fault)?;
                report.fault = Some(fault);
            }
        }
        self.note_writes(node, &before, &mut report)?;
        if report.fault.is_some() {
            // The execution ends here: messages sent before are never delivered.
            report.effects.sent.clear();
        }
        // In a trace without choices, each call has the first alternative.
        if !choices.is_empty() && report.effects.choices != choices {
            let what = format!("it asked for the choices {:?}", report.effects.choices);
            return Err(ReplayError::Differs { step: self.steps, what });
        }
        if !self.fault_states[node as usize].refuse(&report.effects.choices, &self.rules) {
            let why = format!("the transport of node {node} may not refuse this many messages");
            return Err(ReplayError::NotEnabled { step: self.steps, why });
        }
        for Envelope { to, payload } in &report.effects.sent {
            let route = self.rules.route(node, *to, &mut self.fault_states[node as usize]);
            for _ in 0..self.rules.copies(node, *to) {
                self.send(route, payload);
            }
        }
        // A message to an absent node was never in flight.
        report.effects.sent.retain(|envelope| !self.rules.is_absent(envelope.to));
        Ok(report)
    }

    /// Puts a message or notice in flight, unless its destination is absent.
    pub(super) fn send(&mut self, mut route: Route, payload: &[u8]) {
        if self.rules.is_absent(route.to) {
            return;
        }
        if route.is_unordered() {
            let known = self.contents.iter().position(|content| content == payload);
            route.channel_class = 1 + known.unwrap_or(self.contents.len()) as u32;
            if known.is_none() {
                self.contents.push(payload.to_vec());
            }
        }
        self.post(Travelling { route, payload: payload.to_vec() });
    }

    /// Reads everything observable about a node in its current state.
    pub(super) fn look(&mut self, node: NodeId, report: &mut StepReport) -> Result<(), MachineError> {
        let machine = &mut self.machines[node as usize];
        let mut seen = || {
            let state = machine.serialize()?;
            machine.local_events()?;
            let views = (0u32..).zip(&self.properties).map(|(index, _)| machine.view(index));
            Ok((state, views.collect::<Result<Vec<_>, Fault>>()?))
        };
        match seen() {
            Ok((state, views)) => {
                self.views[node as usize] = views;
                report.state = Some(state);
                report.description = describe_state(&mut **machine)?;
            }
            Err(fault) => {
                self.stick(node, &fault)?;
                report.fault = Some(fault);
            }
        }
        Ok(())
    }

    fn compare(&self, step: &TraceStep, report: &StepReport) -> Result<(), ReplayError> {
        let differs = |what: String| Err(ReplayError::Differs { step: self.steps, what });
        if let Some(expected) = step.sent.as_ref().filter(|_| report.fault.is_none()) {
            let sent: Vec<Sent> = report.effects.sent.iter().map(Sent::from).collect();
            if sent != *expected {
                return differs(format!("it sent {} messages, not the recorded {}", sent.len(), expected.len()));
            }
        }
        if let (Some(expected), Some(state)) = (&step.state, &report.state)
            && expected.0 != *state
        {
            return differs("the state of the node is another one".to_owned());
        }
        Ok(())
    }

    /// The properties of the protocol.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// The view of each property of a node in its current state.
    pub fn views(&self, node: NodeId) -> &[Option<Vec<u8>>] {
        &self.views[node as usize]
    }

    /// The messages in flight: sender, destination and content, in the order of sending, or channel by channel.
    pub fn in_flight(&self) -> impl Iterator<Item = (NodeId, NodeId, &[u8])> {
        let messages = self.in_flight.iter().filter(|item| !item.route.is_notice);
        messages.map(|item| (item.route.from, item.route.to, item.payload.as_slice()))
    }
}

impl Situation for Replay {
    type Item = Travelling;
    type Local = LocalEvent;

    fn nodes(&self) -> usize {
        self.machines.len()
    }

    fn stuck(&self) -> Option<(NodeId, &Fault)> {
        self.faults.first().map(|(node, fault)| (*node, fault))
    }

    fn find(&self, wanted: &WantedMessage<'_>) -> Option<Travelling> {
        let links = Connections { rules: &self.rules, fault_states: &self.fault_states };
        let mut found = None;
        self.in_flight.for_each_next(&links, |item| {
            if found.is_none() && wanted.is(&item.route, &item.payload) {
                found = Some(item.clone());
            }
        });
        found
    }

    fn is_in_order(&self, from: NodeId, to: NodeId) -> bool {
        self.rules.is_in_order(from, to)
    }

    fn is_alone(&mut self, node: NodeId, item: &Travelling) -> Result<bool, MachineError> {
        Ok(matches!(self.role(node, item.route.from, &item.payload)?, Ok(Role::Alone) | Err(_)))
    }

    fn is_quorum(&mut self, node: NodeId, name: &str, items: &[Travelling]) -> Result<bool, MachineError> {
        let senders: BTreeSet<NodeId> = items.iter().map(|item| item.route.from).collect();
        let mut is_quorum = !items.is_empty() && senders.len() == items.len();
        for Travelling { route, payload } in items {
            // On an ordered link, messages come one by one.
            is_quorum &= !self.rules.is_in_order(route.from, node);
            let wanted = Quorum { name: name.to_owned(), size: items.len() as u32 };
            is_quorum &= self.role(node, route.from, payload)? == Ok(Role::Member(wanted));
        }
        Ok(is_quorum)
    }

    fn local_event(&mut self, node: NodeId, event: &LocalEvent) -> Option<LocalEvent> {
        if self.rules.is_absent(node) {
            return None;
        }
        let possible = self.machines[node as usize].local_events().ok()?;
        possible.into_iter().find(|other| other == event)
    }

    fn can_meet(&self, node: NodeId, fault: FaultEvent) -> bool {
        self.rules.can_meet(node, &self.fault_states[node as usize], fault)
    }
}

/// A description is for people only: if a machine fails to give one, the replay continues without it.
fn describe_state(machine: &mut dyn Machine) -> Result<Option<String>, MachineError> {
    let before = machine.capture();
    match machine.describe_state() {
        Ok(description) => Ok(description),
        Err(_) => machine.restore(Some(&before)).map(|()| None),
    }
}
