//! Re-execution of a trace on machines that run from the start to the end, one a node: no memo, no snapshot.
//!
//! This is how a finding is confirmed before it is reported, and how a saved trace is shown.

use crate::machine::{
    Choice, Effects, Envelope, Fault, Input, LocalEvent, Machine, MachineError, MachineFactory, NodeId, Property,
    PropertyScope,
};
use crate::property::Judgement;
use crate::scenario::Scenario;
use crate::stepper::evaluate;
use crate::trace::{Finding, Hex, Sent, TraceEvent, TraceStep};

/// Why a trace does not replay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The event cannot happen there.
    #[error("step {step} cannot happen: {why}")]
    NotEnabled {
        /// Counted from 1.
        step: usize,
        /// A lower-case phrase.
        why: String,
    },
    /// The event happens but does something else than was recorded.
    #[error(
        "step {step} differs from the recorded one: {what}; the plugin is not deterministic, or not the one that was recorded"
    )]
    Differs {
        /// Counted from 1; 0 is `init`.
        step: usize,
        /// What differs.
        what: String,
    },
    /// The steps replay, but what was found is not there at the end.
    #[error("the steps replay, but at the end {what}")]
    NoFinding {
        /// What is there instead.
        what: String,
    },
    /// A property could not be evaluated.
    #[error("property `{property}` cannot be evaluated: {fault}")]
    Broken {
        /// Its name.
        property: String,
        /// What went wrong.
        fault: Fault,
    },
    /// The host itself cannot go on.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// What one step did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepReport {
    /// Messages, choices and log lines.
    pub effects: Effects,
    /// The fault in which the step ended.
    pub fault: Option<Fault>,
    /// The canonical encoding of the node's state afterwards; none after a fault.
    pub state: Option<Vec<u8>>,
    /// The node's state as JSON, if the plugin describes itself.
    pub description: Option<String>,
}

/// A message in flight, by content.
type InFlight = (NodeId, NodeId, Vec<u8>);

/// A cluster that runs event by event.
pub struct Replay {
    machines: Vec<Box<dyn Machine>>,
    judge: Box<dyn Machine>,
    properties: Vec<Property>,
    /// What the properties read of each node, in its present state.
    views: Vec<Vec<Option<Vec<u8>>>>,
    in_flight: Vec<InFlight>,
    steps: usize,
    nodes: u32,
    config: String,
    resets_max: u32,
    /// Resets of each node so far.
    resets: Vec<u32>,
    /// The nodes that are stuck; more than one only if several fail in `init`.
    faults: Vec<(NodeId, Fault)>,
}

impl Replay {
    /// Starts the cluster: `init` on every node, with these choices where there were any.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance, or the calls of `choose` in `init` differ from the recorded ones.
    pub fn new(
        factory: &dyn MachineFactory,
        scenario: &Scenario,
        init_choices: &[Vec<Choice>],
    ) -> Result<(Self, Vec<StepReport>), ReplayError> {
        let mut judge = factory.machine()?;
        let properties =
            judge.properties().map_err(|fault| MachineError(format!("cannot list the properties: {fault}")))?;
        let views = vec![Vec::new(); scenario.nodes as usize];
        let mut replay = Self {
            machines: Vec::new(),
            judge,
            properties,
            views,
            in_flight: Vec::new(),
            steps: 0,
            nodes: scenario.nodes,
            config: scenario.config(),
            resets_max: scenario.faults.resets,
            resets: vec![0; scenario.nodes as usize],
            faults: Vec::new(),
        };
        let config = scenario.config();
        let mut reports = Vec::new();
        for node in 0..scenario.nodes {
            let mut machine = factory.machine()?;
            machine.keep_log(true);
            replay.machines.push(machine);
            let input = Input::Init { node, nodes: scenario.nodes, config: &config, durable: None };
            let choices = init_choices.get(node as usize).map_or(&[][..], Vec::as_slice);
            reports.push(replay.run(node, input, choices)?);
        }
        Ok((replay, reports))
    }

    /// Takes one step of a trace.
    ///
    /// # Errors
    ///
    /// The step cannot happen, or differs from what was recorded. The replay cannot go on after an error.
    pub fn step(&mut self, step: &TraceStep) -> Result<StepReport, ReplayError> {
        self.steps += 1;
        let not_enabled = |why: String| ReplayError::NotEnabled { step: self.steps, why };
        if let Some((node, fault)) = self.faults.first() {
            return Err(not_enabled(format!("node {node} is stuck in a fault: {fault}")));
        }
        let node = step.node;
        if node as usize >= self.machines.len() {
            return Err(not_enabled(format!("there is no node {node}")));
        }
        let report = match &step.event {
            TraceEvent::Deliver { from, payload } => {
                let message = (*from, node, payload.0.clone());
                let Some(position) = self.in_flight.iter().position(|other| *other == message) else {
                    return Err(not_enabled(format!("no such message from node {from} to node {node} is in flight")));
                };
                self.in_flight.remove(position);
                self.run(node, Input::Message { src: *from, payload: &payload.0 }, &step.choices)?
            }
            TraceEvent::Reset => {
                if self.resets[node as usize] >= self.resets_max {
                    return Err(not_enabled(format!("no reset of node {node} is left")));
                }
                self.resets[node as usize] += 1;
                self.reset(node, &step.choices)?
            }
            TraceEvent::Local { name, cause, payload } => {
                let event = LocalEvent { name: name.clone(), kind: *cause, payload: payload.0.clone() };
                let possible = self.machines[node as usize].local_events();
                if !possible.is_ok_and(|events| events.contains(&event)) {
                    return Err(not_enabled(format!("the local event `{name}` is not possible at node {node} there")));
                }
                self.run(node, Input::Local(&event), &step.choices)?
            }
        };
        self.compare(step, &report)?;
        Ok(report)
    }

    /// Starts a node again with what it has made durable.
    fn reset(&mut self, node: NodeId, choices: &[Choice]) -> Result<StepReport, ReplayError> {
        let machine = &mut self.machines[node as usize];
        let durable = match machine.persist() {
            Ok(durable) => durable,
            Err(fault) => {
                self.stick(node, &fault);
                return Ok(StepReport { fault: Some(fault), ..StepReport::default() });
            }
        };
        machine.restore(None)?;
        let config = self.config.clone();
        let input = Input::Init { node, nodes: self.nodes, config: &config, durable: durable.as_deref() };
        self.run(node, input, choices)
    }

    /// The node is stuck in a fault.
    fn stick(&mut self, node: NodeId, fault: &Fault) {
        // As in a search, a node that is stuck matters to no property.
        self.views[node as usize] = vec![None; self.properties.len()];
        self.faults.push((node, fault.clone()));
    }

    /// Runs one handler and takes its messages into flight.
    fn run(&mut self, node: NodeId, input: Input<'_>, choices: &[Choice]) -> Result<StepReport, ReplayError> {
        let machine = &mut self.machines[node as usize];
        let script: Vec<u32> = choices.iter().map(|choice| choice.picked).collect();
        let mut report = StepReport::default();
        let result = machine.handle(input, &script, &mut report.effects).and_then(|()| {
            report.state = Some(machine.serialize()?);
            machine.local_events()?;
            self.views[node as usize] =
                (0u32..).zip(&self.properties).map(|(index, _)| machine.view(index)).collect::<Result<_, _>>()?;
            Ok(())
        });
        match result {
            Ok(()) => report.description = describe_state(&mut **machine)?,
            Err(fault) => {
                self.stick(node, &fault);
                report.fault = Some(fault);
                report.state = None;
            }
        }
        // A trace without choices means the first alternative of each.
        if !choices.is_empty() && report.effects.choices != choices {
            let what = format!("it asked for the choices {:?}", report.effects.choices);
            return Err(ReplayError::Differs { step: self.steps, what });
        }
        let sent = report.effects.sent.iter().map(|Envelope { to, payload }| (node, *to, payload.clone()));
        self.in_flight.extend(sent);
        Ok(report)
    }

    fn compare(&self, step: &TraceStep, report: &StepReport) -> Result<(), ReplayError> {
        let differs = |what: String| Err(ReplayError::Differs { step: self.steps, what });
        if let Some(expected) = &step.sent {
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

    /// A message as JSON for people, if the plugin describes itself.
    pub fn describe_message(&mut self, payload: &[u8]) -> Option<String> {
        self.judge.restore(None).ok()?;
        self.judge.describe_message(payload).ok().flatten()
    }

    /// What there is to find in the present state: every property that is violated or reached, and a fault.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance, or a property cannot be evaluated.
    pub fn findings(&mut self) -> Result<Vec<Finding>, ReplayError> {
        Ok(self.judged()?.into_iter().map(|(_, finding)| finding).collect())
    }

    /// The same with the node that a finding is about, if it is about one.
    ///
    /// # Errors
    ///
    /// As for [`findings`](Self::findings).
    pub fn judged(&mut self) -> Result<Vec<(Option<NodeId>, Finding)>, ReplayError> {
        let fault =
            |(node, fault): &(NodeId, Fault)| (Some(*node), Finding::Fault { node: *node, fault: fault.clone() });
        let mut findings: Vec<(Option<NodeId>, Finding)> = self.faults.iter().map(fault).collect();
        for (index, property) in (0u32..).zip(&self.properties) {
            let broken = |fault| ReplayError::Broken { property: property.name.clone(), fault };
            let views: Vec<Option<&[u8]>> = self.views.iter().map(|views| views[index as usize].as_deref()).collect();
            let tuples: Vec<&[Option<&[u8]>]> = match property.scope {
                PropertyScope::Node => views.chunks(1).collect(),
                PropertyScope::System => vec![&views],
            };
            let about = |node: NodeId| (property.scope == PropertyScope::Node).then_some(node);
            for (node, tuple) in (0..).map(about).zip(tuples).filter(|(_, tuple)| tuple.iter().any(Option::is_some)) {
                let message = match evaluate(&mut *self.judge, index, property.kind, tuple)? {
                    Some(Judgement::Violated { message, .. }) => message,
                    Some(Judgement::Witnessed { .. }) => String::new(),
                    Some(Judgement::Broken { fault, .. }) => return Err(broken(fault)),
                    _ => continue,
                };
                let name = property.name.clone();
                findings.push((node, Finding::Property { name, kind: property.kind, message }));
            }
        }
        Ok(findings)
    }

    /// The properties of the protocol.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// What each property reads of a node in its present state.
    pub fn views(&self, node: NodeId) -> &[Option<Vec<u8>>] {
        &self.views[node as usize]
    }

    /// The messages in flight: sender, destination and content, in the order of sending.
    pub fn in_flight(&self) -> impl Iterator<Item = (NodeId, NodeId, &[u8])> {
        self.in_flight.iter().map(|(from, to, payload)| (*from, *to, payload.as_slice()))
    }
}

/// A description is for people only: after a machine that fails to give one, things go on as if it had none.
fn describe_state(machine: &mut dyn Machine) -> Result<Option<String>, MachineError> {
    let before = machine.capture();
    match machine.describe_state() {
        Ok(description) => Ok(description),
        Err(_) => machine.restore(Some(&before)).map(|()| None),
    }
}

/// Replays all steps and checks that the finding is there at the end. Returns the steps with the states filled in.
///
/// # Errors
///
/// As for [`Replay::new`] and [`Replay::step`]; or what was found is not there.
pub fn confirm(
    factory: &dyn MachineFactory,
    scenario: &Scenario,
    init_choices: &[Vec<Choice>],
    steps: &[TraceStep],
    finding: &Finding,
) -> Result<Vec<TraceStep>, ReplayError> {
    let (mut replay, _) = Replay::new(factory, scenario, init_choices)?;
    let mut confirmed = Vec::with_capacity(steps.len());
    for step in steps {
        let report = replay.step(step)?;
        confirmed.push(TraceStep { state: report.state.map(Hex), ..step.clone() });
    }
    let findings = match replay.findings() {
        // A property that cannot be evaluated is itself what was found.
        Err(ReplayError::Broken { property, fault }) if is_broken(finding, &property, &fault) => {
            return Ok(confirmed);
        }
        findings => findings?,
    };
    if findings.contains(finding) {
        return Ok(confirmed);
    }
    let what = match findings.first() {
        None => "every property holds".to_owned(),
        Some(other) => format!("there is {other:?}"),
    };
    Err(ReplayError::NoFinding { what })
}

/// Whether a finding says that this property could not be evaluated.
fn is_broken(finding: &Finding, name: &str, fault: &Fault) -> bool {
    matches!(finding, Finding::Broken { property, fault: found } if property == name && found == fault)
}
