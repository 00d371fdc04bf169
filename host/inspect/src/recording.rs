//! An executed trace with all observations: the source of explanations, drawings and other formats.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::{Choice, Fault, FaultKind, LocalEvent, MachineFactory, NodeId, Property, PropertyScope};
use host_model::scenario::NodeNames;
use host_model::trace::replay::{LostMessage, Replay, ReplayError, StepReport};
use host_model::trace::{
    self, BreachClass, BrokenPromise, Finding, Hex, PromiseWatch, Sent, Trace, TraceEvent, TraceStep,
};
use serde_json::Value;

use crate::course::{self, Course};
use crate::words;

/// The effects of a handler, or of `init`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// The answers to `choose`, in order.
    pub choices: Vec<Choice>,
    /// The messages sent, in order.
    pub sent: Vec<Sent>,
    /// The messages lost with a broken connection.
    pub lost: Vec<LostMessage>,
    /// The lines given to `log`.
    pub log: Vec<String>,
    /// The fault in which it ended.
    pub fault: Option<Fault>,
    /// The canonical encoding of the node's state afterwards; none after a fault.
    pub state: Option<Vec<u8>>,
    /// The plugin's description of the state.
    pub description: Option<Value>,
    /// The views that the properties read of the node afterwards.
    pub views: Vec<Option<Vec<u8>>>,
}

/// An executed trace.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The trace, with the messages and states of its steps.
    pub trace: Trace,
    /// The effects of `init`, node by node.
    pub init: Vec<Observed>,
    /// The effects of the steps.
    pub steps: Vec<Observed>,
    /// The properties of the protocol.
    pub properties: Vec<Property>,
    /// The courses of the properties, up to the end of the execution.
    pub courses: Vec<Course>,
    /// The findings at the end, each with its node if it concerns one.
    pub findings: Vec<(Option<NodeId>, Finding)>,
    /// The crashed nodes at the end, for a deadlock.
    pub crashed: Vec<NodeId>,
    /// The possible calls of the application at the end, for a stuck promise: only these continue.
    pub calls: Vec<(NodeId, String)>,
    /// The names of the nodes.
    pub names: NodeNames,
    /// The plugin's descriptions of the sent messages.
    messages: BTreeMap<Vec<u8>, Value>,
    /// The argument of the local events of each name; none if their arguments differ.
    arguments: BTreeMap<String, Option<Hex>>,
    /// The plugin's descriptions of the local events.
    locals: BTreeMap<LocalEvent, Value>,
    /// The plugin's descriptions of the views that the property of the finding reads.
    views: BTreeMap<Vec<u8>, Value>,
}

/// The maximum size in bytes of one description of a state or a message that is kept as JSON; a longer one is shortened to a text.
const DESCRIPTION_BYTES_MAX: usize = 64 << 10;

/// The views of a property at a node, each with its first step, counted from 1 and 0 for `init`.
pub type History<'r> = Vec<(usize, Option<&'r [u8]>)>;

impl Recording {
    /// Executes a trace in fresh machines. If that ends early, the error comes with the observations so far.
    ///
    /// # Errors
    ///
    /// A step cannot happen or differs from the recorded one; the host cannot provide an instance.
    pub fn new(factory: &dyn MachineFactory, trace: &Trace) -> (Self, Result<(), ReplayError>) {
        let mut recording = Self {
            trace: Trace { steps: Vec::new(), ..trace.clone() },
            init: Vec::new(),
            steps: Vec::new(),
            properties: Vec::new(),
            courses: Vec::new(),
            findings: Vec::new(),
            crashed: Vec::new(),
            calls: Vec::new(),
            names: NodeNames::default(),
            messages: BTreeMap::new(),
            arguments: BTreeMap::new(),
            locals: BTreeMap::new(),
            views: BTreeMap::new(),
        };
        let result = recording.execute(factory, trace);
        (recording, result)
    }

    /// The execution of the sibling of a trace in place of its critical step, if the trace has one.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn of_sibling(factory: &dyn MachineFactory, trace: &Trace) -> Result<Option<Self>, ReplayError> {
        let Some(sibling) = trace::sibling(trace) else { return Ok(None) };
        let (recording, result) = Self::new(factory, &sibling);
        result.map(|()| Some(recording))
    }

    /// The execution with a continuation from its end, see [`trace::way_on`], and whether no fair event is enabled at the end of that.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn of_way_on(factory: &dyn MachineFactory, trace: &Trace) -> Result<Option<(Self, bool)>, ReplayError> {
        let Some((trace, is_over)) = trace::way_on(factory, trace)? else { return Ok(None) };
        let (recording, result) = Self::new(factory, &trace);
        result.map(|()| Some((recording, is_over)))
    }

    /// The findings at the end.
    pub fn found(&self) -> Vec<Finding> {
        self.findings.iter().map(|(_, finding)| finding.clone()).collect()
    }

    fn execute(&mut self, factory: &dyn MachineFactory, trace: &Trace) -> Result<(), ReplayError> {
        let (mut replay, reports) = Replay::new(factory, &trace.scenario, &trace.origin())?;
        self.properties = replay.properties().to_vec();
        for (node, report) in (0..).zip(reports) {
            if let Some(fault) = report.fault.as_ref().filter(|fault| fault.kind == FaultKind::Refused) {
                return Err(ReplayError::NotEnabled { step: 0, why: fault.message.clone() });
            }
            let observed = self.observe(&mut replay, node, report);
            self.init.push(observed);
        }
        self.names = replay.names()?;
        self.courses = course::begin(&mut replay, &self.properties, &trace.scenario)?;
        let mut watch =
            trace.promise().map(|promise| PromiseWatch::new(&mut replay, promise, &trace.steps)).transpose()?;
        for (number, step) in (1..).zip(&trace.steps) {
            let report = replay.step(step)?;
            if let Some(event) = step.event.to_local()
                && let Some(json) = replay.describe_local(&event)
            {
                self.locals.insert(event, described(json));
            }
            let mut observed = self.observe(&mut replay, step.node, report);
            let (sent, state) = (Some(observed.sent.clone()), observed.state.clone().map(Hex));
            if matches!(step.event, TraceEvent::Lose { .. }) {
                // No handler ran: a loss changes nothing at the node.
                let before = self.observed(step.node, self.step_before(number, step.node)).clone();
                (observed.state, observed.description) = (before.state, before.description);
            }
            if let TraceEvent::Local { name, payload, .. } = &step.event {
                let known = self.arguments.entry(name.clone()).or_insert_with(|| Some(payload.clone()));
                if known.as_ref().is_some_and(|known| known != payload) {
                    *known = None;
                }
            }
            self.trace.steps.push(TraceStep { sent, state, choices: observed.choices.clone(), ..step.clone() });
            self.steps.push(observed);
            self.follow(&mut replay, number)?;
            if let Some(watch) = &mut watch {
                watch.after(&mut replay, number)?;
            }
        }
        self.findings = replay.judged()?;
        if trace.promise().is_some_and(|promise| promise.class == BreachClass::Stuck) {
            self.calls = replay.calls();
        }
        if let Some((watch, promise)) = watch.zip(trace.promise()) {
            let message = watch.end(&mut replay)?;
            let broken = Finding::Promise(BrokenPromise { message, ..promise.clone() });
            self.findings.insert(0, (promise.node, broken));
            trace::check_sibling(factory, trace)?;
        }
        // Most protocols terminate somewhere: that is a finding only if the trace says so.
        if matches!(trace.finding, Some(Finding::Deadlock { .. })) {
            self.crashed = replay.crashed().unwrap_or_default();
            self.findings.extend(replay.deadlock().map(|deadlock| (None, deadlock)));
        }
        self.describe_views(&mut replay);
        Ok(())
    }

    /// Asks the plugin for descriptions of the views that the property of the finding reads.
    fn describe_views(&mut self, replay: &mut Replay) {
        let Some(property) = self.read_property().and_then(|index| u32::try_from(index).ok()) else { return };
        let read: BTreeSet<Vec<u8>> = self
            .views()
            .into_iter()
            .flat_map(|(_, history)| history)
            .filter_map(|(_, view)| Some(view?.to_vec()))
            .collect();
        for view in read {
            if let Some(json) = replay.describe_view(property, &view) {
                self.views.insert(view, described(json));
            }
        }
    }

    /// The plugin's description of a view that the property of the finding reads, if it has one.
    pub fn view(&self, view: &[u8]) -> Option<String> {
        self.views.get(view).map(words::value_on_one_line)
    }

    /// Judges the properties that a step may have changed: those with another view of its node, and all if the node is stuck in a fault.
    fn follow(&mut self, replay: &mut Replay, number: usize) -> Result<(), ReplayError> {
        let node = self.trace.steps[number - 1].node;
        let mut courses = std::mem::take(&mut self.courses);
        let (before, after) = (self.observed(node, self.step_before(number, node)), &self.steps[number - 1]);
        let is_changed = |course: &Course| {
            let reads_other = before.views.get(course.property) != after.views.get(course.property);
            after.fault.is_some() || (reads_other && course.node.is_none_or(|at| at == node))
        };
        let followed = course::follow(&mut courses, replay, number, is_changed);
        self.courses = courses;
        Ok(followed?)
    }

    fn observe(&mut self, replay: &mut Replay, node: NodeId, report: StepReport) -> Observed {
        for envelope in &report.effects.sent {
            if !self.messages.contains_key(&envelope.payload)
                && let Some(json) = replay.describe_message(&envelope.payload)
            {
                self.messages.insert(envelope.payload.clone(), described(json));
            }
        }
        Observed {
            choices: report.effects.choices,
            sent: report.effects.sent.iter().map(Sent::from).collect(),
            lost: report.lost,
            log: report.effects.log,
            fault: report.fault,
            // The shared encoding of all languages describes itself.
            description: report
                .description
                .map(described)
                .or_else(|| words::json(report.state.as_ref().filter(|state| state.len() <= DESCRIPTION_BYTES_MAX)?)),
            state: report.state,
            views: replay.views(node).to_vec(),
        }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.trace.scenario.nodes
    }

    /// The effects of a step; step 0 is `init` of this node.
    pub fn observed(&self, node: NodeId, step: usize) -> &Observed {
        if step == 0 { &self.init[node as usize] } else { &self.steps[step - 1] }
    }

    /// The last step of a node before this one, counted from 1; 0 is its `init`.
    pub fn step_before(&self, step: usize, node: NodeId) -> usize {
        let mut before = self.trace.steps[..step - 1].iter();
        before.rposition(|other| other.node == node).map_or(0, |index| index + 1)
    }

    /// A message: the plugin's description if it has one, else its bytes.
    pub fn message(&self, payload: &[u8]) -> String {
        match self.messages.get(payload) {
            Some(value) => words::value_on_one_line(value),
            None => words::payload(payload),
        }
    }

    /// The description of a message.
    pub fn message_json(&self, payload: &[u8]) -> Option<Value> {
        let is_short = payload.len() <= DESCRIPTION_BYTES_MAX;
        self.messages.get(payload).cloned().or_else(|| if is_short { words::json(payload) } else { None })
    }

    /// The time at which a message was sent, by the step that [`Arrow::sent`](crate::graph::Arrow::sent) names.
    pub fn sent(&self, step: usize) -> String {
        match (step, &self.trace.beginning) {
            (0, None) => "at the start".to_owned(),
            (0, Some(_)) => "before the start".to_owned(),
            _ => format!("in step {step}"),
        }
    }

    /// The event of a step, counted from 1.
    pub fn event(&self, step: usize) -> String {
        let step = &self.trace.steps[step - 1];
        let event = step.event.to_local().filter(|_| self.needs_argument(step));
        let argument = event.map(|event| words::argument(&event, self.locals.get(&event)));
        words::event(step, &self.names, argument, |payload| self.message(payload))
    }

    /// Whether another event of the trace has the same name and differs in its argument only.
    fn needs_argument(&self, step: &TraceStep) -> bool {
        let TraceEvent::Local { name, .. } = &step.event else { return false };
        self.arguments.get(name).is_some_and(Option::is_none)
    }

    /// The finding that the trace records, or else the first bad one, with its node.
    pub fn finding(&self) -> Option<(Option<NodeId>, &Finding)> {
        let recorded = self.findings.iter().find(|(_, finding)| Some(finding) == self.trace.finding.as_ref());
        let is_bad = |finding: &Finding| {
            !matches!(finding, Finding::Property { kind: host_model::contract::PropertyKind::Sometimes, .. })
        };
        let found = recorded.or_else(|| self.findings.iter().find(|(_, finding)| is_bad(finding)));
        found.map(|(node, finding)| (*node, finding))
    }

    /// The views that the property of the finding reads, node by node: after `init` and at each step that changed one,
    /// counted from 1, 0 for `init`. If the property reads one node, only the finding's node is included.
    pub fn views(&self) -> Vec<(NodeId, History<'_>)> {
        let Some(index) = self.read_property() else { return Vec::new() };
        let at = self.finding().and_then(|(at, _)| at);
        let is_read = |node: &NodeId| match self.properties[index].scope {
            PropertyScope::System => true,
            PropertyScope::Node => at.is_none_or(|at| at == *node),
        };
        (0..self.nodes()).filter(is_read).map(|node| (node, self.history(node, index))).collect()
    }

    /// The index of the property of the finding; none if the finding concerns no property.
    pub(crate) fn read_property(&self) -> Option<usize> {
        let name = match self.finding()?.1 {
            Finding::Property { name, .. }
            | Finding::Broken { property: name, .. }
            | Finding::Promise(BrokenPromise { name, .. }) => name,
            Finding::Fault { .. } | Finding::Deadlock { .. } => return None,
        };
        self.properties.iter().position(|property| property.name == *name)
    }

    fn history(&self, node: NodeId, property: usize) -> History<'_> {
        let read = |step: usize| self.observed(node, step).views.get(property).and_then(|view| view.as_deref());
        let of_node = (1..).zip(&self.trace.steps).filter(|(_, step)| step.node == node).map(|(number, _)| number);
        let mut history: History<'_> = std::iter::once(0).chain(of_node).map(|step| (step, read(step))).collect();
        history.dedup_by_key(|(_, view)| *view);
        history
    }
}

/// A description as JSON. A very long one describes nothing, and the results of a recording contain it many times.
fn described(json: String) -> Value {
    match json.len() <= DESCRIPTION_BYTES_MAX {
        true => words::parsed(&json),
        false => Value::String(words::shortened(json)),
    }
}
