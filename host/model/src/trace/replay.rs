//! Re-execution of a trace on machines that run from the start to the end, one per node: no memo, and no snapshot but around
//! questions about the role of a message, which leave no trace.
//!
//! This is how a finding is confirmed before it is reported, and how a saved trace is shown.

use std::collections::BTreeSet;

use crate::contract::{
    Choice, Effects, Envelope, Fault, Input, Judgement, LocalEvent, Machine, MachineError, MachineFactory, NodeId,
    Property, PropertyScope, Quorum, Role,
};
use crate::lts::deadlock;
use crate::lts::handler::evaluate;
use crate::scenario::fault_state::Rules;
use crate::scenario::{FaultEvent, Route, Scenario, Standing, channels};
use crate::trace::document::{Finding, Hex, Sent, TraceEvent, TraceStep};

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

/// A message in flight, or a notice of a break.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InFlight {
    route: Route,
    payload: Vec<u8>,
}

fn route(item: &InFlight) -> Route {
    item.route
}

/// A cluster that runs event by event.
pub struct Replay {
    machines: Vec<Box<dyn Machine>>,
    judge: Box<dyn Machine>,
    properties: Vec<Property>,
    /// What the properties read of each node, in its present state.
    views: Vec<Vec<Option<Vec<u8>>>>,
    in_flight: Vec<InFlight>,
    /// The contents of messages on links without order, where others have one; their places are the lanes.
    contents: Vec<Vec<u8>>,
    steps: usize,
    nodes: u32,
    config: String,
    rules: Rules,
    /// What has gone wrong at each node so far.
    standings: Vec<Standing>,
    takes_quorums: Vec<bool>,
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
        let rules = Rules::new(scenario, factory.hears_errors());
        let standings = vec![rules.fresh(); scenario.nodes as usize];
        let mut judge = factory.machine()?;
        let properties =
            judge.properties().map_err(|fault| MachineError::Host(format!("cannot list the properties: {fault}")))?;
        let views = vec![Vec::new(); scenario.nodes as usize];
        let mut replay = Self {
            machines: Vec::new(),
            judge,
            properties,
            views,
            in_flight: Vec::new(),
            contents: Vec::new(),
            steps: 0,
            nodes: scenario.nodes,
            config: scenario.config(),
            rules,
            standings,
            takes_quorums: Vec::new(),
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
            replay.takes_quorums.push(false);
            let mut report = replay.run(node, input, choices)?;
            if report.fault.is_none() {
                match replay.machines[node as usize].takes_quorums() {
                    Ok(takes) => replay.takes_quorums[node as usize] = takes,
                    Err(fault) => {
                        replay.stick(node, &fault)?;
                        (report.fault, report.state) = (Some(fault), None);
                    }
                }
            }
            reports.push(report);
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
        let number = self.steps;
        let not_enabled = |why: String| ReplayError::NotEnabled { step: number, why };
        if let Some((node, fault)) = self.faults.first() {
            return Err(not_enabled(format!("node {node} is stuck in a fault: {fault}")));
        }
        let node = step.node;
        if node as usize >= self.machines.len() {
            return Err(not_enabled(format!("there is no node {node}")));
        }
        let report = match &step.event {
            TraceEvent::Deliver { from, payload } => {
                let role = self.role(node, *from, &payload.0)?;
                if !matches!(role, Ok(Role::Alone) | Err(_)) {
                    return Err(not_enabled(format!("node {node} does not take this message by itself there")));
                }
                self.take_message(*from, node, &payload.0).map_err(not_enabled)?;
                if self.rules.lane(*from, node) == 0 {
                    self.standings[node as usize].open(*from);
                }
                match role {
                    // It fails on the question, which counts as the delivery.
                    Err(fault) => {
                        self.stick(node, &fault)?;
                        StepReport { fault: Some(fault), ..StepReport::default() }
                    }
                    Ok(_) => self.run(node, Input::Message { src: *from, payload: &payload.0 }, &step.choices)?,
                }
            }
            TraceEvent::Quorum { name, messages } => {
                let senders: BTreeSet<NodeId> = messages.iter().map(|message| message.from).collect();
                let mut is_quorum = !messages.is_empty() && senders.len() == messages.len();
                for message in messages {
                    // Messages in order come one by one.
                    is_quorum &= !self.rules.is_in_order(message.from, node);
                    let wanted = Quorum { name: name.clone(), size: messages.len() as u32 };
                    is_quorum &= self.role(node, message.from, &message.payload.0)? == Ok(Role::Member(wanted));
                }
                if !is_quorum {
                    let why = format!("node {node} does not take these messages together as `{name}` there");
                    return Err(not_enabled(why));
                }
                for message in messages {
                    self.take_message(message.from, node, &message.payload.0).map_err(not_enabled)?;
                }
                let messages = messages.iter().map(|message| (message.from, message.payload.0.clone()));
                let mut messages: Vec<(NodeId, Vec<u8>)> = messages.collect();
                messages.sort_unstable();
                let report = self.run(node, Input::Quorum { name, messages: &messages }, &step.choices)?;
                if report.effects.is_declined {
                    return Err(not_enabled(format!("node {node} declines these messages there")));
                }
                report
            }
            TraceEvent::Local { name, cause, payload } => {
                let event = LocalEvent { name: name.clone(), kind: *cause, payload: payload.0.clone() };
                let possible = self.machines[node as usize].local_events();
                if !possible.is_ok_and(|events| events.contains(&event)) {
                    return Err(not_enabled(format!("the local event `{name}` is not possible at node {node} there")));
                }
                self.run(node, Input::Local(&event), &step.choices)?
            }
            TraceEvent::Reset => {
                if !self.can_meet(node, FaultEvent::Reset) {
                    return Err(not_enabled(format!("no reset of node {node} is left")));
                }
                let closed = self.standings[node as usize].reset(node);
                self.announce(node, &closed);
                self.reset(node, &step.choices)?
            }
            TraceEvent::Break { peer, lost } => {
                if !self.can_meet(node, FaultEvent::Break(*peer)) {
                    return Err(not_enabled(format!("node {node} cannot break with node {peer}")));
                }
                let standing = &mut self.standings[node as usize];
                standing.breaks += 1;
                let incarnation = standing.close(*peer);
                self.announce(node, &[(*peer, incarnation)]);
                self.error(node, *peer, *lost, &step.choices)?
            }
            TraceEvent::TransportError { peer, lost } => {
                let is_wanted = |item: &InFlight| {
                    let Route { from, to, is_notice, .. } = item.route;
                    (from, to, is_notice) == (*peer, node, true)
                };
                let Some(notice) = self.take(is_wanted) else {
                    let why = format!("node {peer} has not broken its connection to node {node}");
                    return Err(not_enabled(why));
                };
                let is_open = self.standings[node as usize].is_open(*peer);
                self.standings[node as usize].learn(*peer, notice.route.incarnation);
                channels::drop_lost(&mut self.in_flight, node, &self.standings[node as usize], route);
                if !is_open && !lost {
                    return Err(not_enabled(format!("node {node} has no connection to node {peer} to lose")));
                }
                self.error(node, *peer, *lost, &step.choices)?
            }
        };
        self.compare(step, &report)?;
        Ok(report)
    }

    /// How a node takes a message in its present state.
    fn role(&mut self, node: NodeId, src: NodeId, payload: &[u8]) -> Result<Result<Role<Quorum>, Fault>, MachineError> {
        if !self.takes_quorums[node as usize] {
            return Ok(Ok(Role::Alone));
        }
        let machine = &mut self.machines[node as usize];
        let before = machine.capture();
        let role = machine.role(src, payload);
        // A question leaves no trace, not even if it fails.
        machine.restore(Some(&before))?;
        Ok(role)
    }

    /// Takes a message out of flight; why not, if it is not there.
    fn take_message(&mut self, from: NodeId, to: NodeId, payload: &[u8]) -> Result<(), String> {
        let is_wanted = |item: &InFlight| {
            let Route { from: sender, to: receiver, is_notice, .. } = item.route;
            (sender, receiver, is_notice) == (from, to, false) && item.payload == payload
        };
        let next = if self.rules.is_in_order(from, to) { "next" } else { "in flight" };
        match self.take(is_wanted) {
            Some(_) => Ok(()),
            None => Err(format!("no such message from node {from} to node {to} is {next}")),
        }
    }

    /// Whether a fault is possible at a node.
    fn can_meet(&self, node: NodeId, fault: FaultEvent) -> bool {
        self.rules.faults(node, &self.standings[node as usize]).contains(&fault)
    }

    /// Takes the first item that is wanted and can be taken next.
    fn take(&mut self, is_wanted: impl Fn(&InFlight) -> bool) -> Option<InFlight> {
        let mut found = None;
        if self.rules.is_ordered {
            channels::for_each_next(&self.in_flight, route, |item| {
                if found.is_none() && is_wanted(item) {
                    found = Some(item.clone());
                }
            });
            channels::take(&mut self.in_flight, found.as_ref()?, route);
            return found;
        }
        let position = self.in_flight.iter().position(is_wanted)?;
        Some(self.in_flight.remove(position))
    }

    /// Tells peers that connections are broken, after what is lost by that at the node itself is gone.
    fn announce(&mut self, node: NodeId, closed: &[(NodeId, u32)]) {
        channels::drop_lost(&mut self.in_flight, node, &self.standings[node as usize], route);
        for (to, incarnation) in closed {
            let route = Route { from: node, to: *to, incarnation: *incarnation, is_notice: true, lane: 0 };
            self.post(InFlight { route, payload: Vec::new() });
        }
    }

    /// Takes an item into flight, unless it is lost already.
    fn post(&mut self, item: InFlight) {
        if !self.rules.is_ordered {
            self.in_flight.push(item);
        } else if !item.route.is_lost(&self.standings[item.route.to as usize]) {
            channels::insert(&mut self.in_flight, item, route);
        }
    }

    /// A connection is broken; the node hears of it unless the error is lost.
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

    /// Starts a node again with what it has made durable.
    fn reset(&mut self, node: NodeId, choices: &[Choice]) -> Result<StepReport, ReplayError> {
        let machine = &mut self.machines[node as usize];
        let durable = match machine.persist() {
            Ok(durable) => durable,
            Err(fault) => {
                self.stick(node, &fault)?;
                return Ok(StepReport { fault: Some(fault), ..StepReport::default() });
            }
        };
        machine.restore(None)?;
        let config = self.config.clone();
        let input = Input::Init { node, nodes: self.nodes, config: &config, durable: durable.as_deref() };
        self.run(node, input, choices)
    }

    /// The node is stuck in a fault.
    fn stick(&mut self, node: NodeId, fault: &Fault) -> Result<(), MachineError> {
        self.machines[node as usize].confirm_fault()?;
        // As in a search, a node that is stuck matters to no property.
        self.views[node as usize] = vec![None; self.properties.len()];
        self.faults.push((node, fault.clone()));
        Ok(())
    }

    /// Runs one handler and takes its messages into flight.
    fn run(&mut self, node: NodeId, input: Input<'_>, choices: &[Choice]) -> Result<StepReport, ReplayError> {
        let machine = &mut self.machines[node as usize];
        machine.ask_stop()?;
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
                self.stick(node, &fault)?;
                report.fault = Some(fault);
                report.state = None;
                // The execution ends here: what was sent before is never delivered.
                report.effects.sent.clear();
            }
        }
        // A trace without choices means the first alternative of each.
        if !choices.is_empty() && report.effects.choices != choices {
            let what = format!("it asked for the choices {:?}", report.effects.choices);
            return Err(ReplayError::Differs { step: self.steps, what });
        }
        if !self.standings[node as usize].refuse(&report.effects.choices, &self.rules) {
            let why = format!("the transport of node {node} may not refuse so many messages");
            return Err(ReplayError::NotEnabled { step: self.steps, why });
        }
        for Envelope { to, payload } in &report.effects.sent {
            let mut route = self.rules.route(node, *to, &mut self.standings[node as usize]);
            if route.is_loose() {
                let known = self.contents.iter().position(|content| content == payload);
                route.lane = 1 + known.unwrap_or(self.contents.len()) as u32;
                if known.is_none() {
                    self.contents.push(payload.clone());
                }
            }
            for _ in 0..self.rules.copies(node, *to) {
                self.post(InFlight { route, payload: payload.clone() });
            }
        }
        Ok(report)
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

    /// A message as JSON for people, if the plugin describes itself.
    pub fn describe_message(&mut self, payload: &[u8]) -> Option<String> {
        self.judge.restore(None).ok()?;
        self.judge.describe_message(payload).ok().flatten()
    }

    /// What there is to find in the present state: every property that is violated, reached or cannot be evaluated; after a fault,
    /// only that.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
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
        if !findings.is_empty() {
            return Ok(findings);
        }
        for (index, property) in (0u32..).zip(&self.properties) {
            let views: Vec<Option<&[u8]>> = self.views.iter().map(|views| views[index as usize].as_deref()).collect();
            let tuples: Vec<&[Option<&[u8]>]> = match property.scope {
                PropertyScope::Node => views.chunks(1).collect(),
                PropertyScope::System => vec![&views],
            };
            let about = |node: NodeId| (property.scope == PropertyScope::Node).then_some(node);
            for (node, tuple) in (0..).map(about).zip(tuples).filter(|(_, tuple)| tuple.iter().any(Option::is_some)) {
                let (name, kind) = (property.name.clone(), property.kind);
                let finding = match evaluate(&mut *self.judge, index, kind, tuple)? {
                    Some(Judgement::Violated { message, .. }) => Finding::Property { name, kind, message },
                    Some(Judgement::Witnessed { .. }) => Finding::Property { name, kind, message: String::new() },
                    Some(Judgement::Broken { fault, .. }) => Finding::Broken { property: name, fault },
                    _ => continue,
                };
                findings.push((node, finding));
            }
        }
        Ok(findings)
    }

    /// What is wrong if nothing can happen any more: that some node is not done. None if all are, or something can happen.
    /// The replay cannot go on if a node misbehaves when it is asked.
    pub fn deadlock(&mut self) -> Option<Finding> {
        let machines = &mut self.machines;
        let local_events = machines.iter_mut().map(|machine| machine.local_events().ok());
        let is_busy = local_events.map(|events| Some(!events?.is_empty())).collect::<Option<Vec<bool>>>()?;
        if !self.faults.is_empty() {
            return None;
        }
        let addressees = self.in_flight.iter().map(|item| item.route.to);
        let crashed = deadlock::crashed(is_busy, addressees, self.rules.crashes_max)?;
        let is_done = |(node, machine): (NodeId, &mut Box<dyn Machine>)| match crashed.contains(&node) {
            true => Ok(true),
            false => machine.is_done(),
        };
        let answers: Vec<Result<bool, Fault>> = (0..).zip(machines).map(is_done).collect();
        deadlock::message(&answers, &crashed).map(|message| Finding::Deadlock { message })
    }

    /// The properties of the protocol.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// What each property reads of a node in its present state.
    pub fn views(&self, node: NodeId) -> &[Option<Vec<u8>>] {
        &self.views[node as usize]
    }

    /// The messages in flight: sender, destination and content, in the order of sending, or channel by channel.
    pub fn in_flight(&self) -> impl Iterator<Item = (NodeId, NodeId, &[u8])> {
        let messages = self.in_flight.iter().filter(|item| !item.route.is_notice);
        messages.map(|item| (item.route.from, item.route.to, item.payload.as_slice()))
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
    if matches!(finding, Finding::Deadlock { .. }) {
        return match replay.deadlock() {
            Some(found) if found == *finding => Ok(confirmed),
            Some(other) => Err(ReplayError::NoFinding { what: format!("there is {other:?}") }),
            None => Err(ReplayError::NoFinding { what: "something can happen, or every node is done".to_owned() }),
        };
    }
    let findings = replay.findings()?;
    if findings.contains(finding) {
        return Ok(confirmed);
    }
    let what = match findings.first() {
        None => "every property holds".to_owned(),
        Some(other) => format!("there is {other:?}"),
    };
    Err(ReplayError::NoFinding { what })
}
