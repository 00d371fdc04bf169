//! The managers as a protocol, explored exhaustively by the strategies of this project.

use std::collections::BTreeSet;

use host_model::contract::{
    Effects, Envelope, Fault, Input, LocalEvent, LocalKind, Machine, MachineError, MachineFactory, NodeId, Property,
    PropertyKind, PropertyScope, Snapshot as Captured,
};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::trace::{self, TraceEvent, TraceStep, start};
use host_search::kernel::{EndCondition, Search, SearchBounds, Unmonitored};
use host_search::strategy::find;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{AfterReset, Body, Durable, Limits, Manager, Outcome, Output, Packet, Rule, Snapshot};
use crate::native::{captured, decode, encode, released};
use crate::time::Time;

const NODES: usize = 3;

/// The events other than packets.
#[derive(Clone, Debug)]
struct Plan {
    rule: Rule,
    limits: Limits,
    /// By node: the destinations of its messages, in their order.
    messages: [Vec<NodeId>; NODES],
    /// The nodes that request a snapshot of all nodes, each once.
    gathers: Vec<NodeId>,
    /// The node that restarts once, if any.
    resets: Option<NodeId>,
    /// The node that refuses to send its first checkpoint, if any.
    caps: Option<NodeId>,
}

/// A node. Its true past survives resets; only the property reads it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Node {
    me: NodeId,
    manager: Manager,
    past: Past,
    /// Whether a snapshot was inconsistent, discarded ones included.
    is_deceived: bool,
}

/// The true past of a node, which is also the content of its checkpoints.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Past {
    disk: Option<Durable>,
    /// Messages that the node has sent.
    sent: usize,
    has_gathered: bool,
    is_reset: bool,
    is_capped: bool,
    /// Messages that it has received, by sender and position among those of the sender.
    received: BTreeSet<(NodeId, usize)>,
}

impl Node {
    /// Executes the outputs of the manager.
    fn execute_outputs(&mut self, outputs: Vec<Output>, caps: Option<NodeId>, effects: &mut Effects) {
        for mut output in outputs {
            if let Output::Send { packet: Packet { body, .. }, .. } = &mut output
                && let Body::Answer { request, .. } = *body
                && caps == Some(self.me)
                && !std::mem::replace(&mut self.past.is_capped, true)
            {
                *body = Body::Capped { request };
            }
            match output {
                Output::Persist(durable) => self.past.disk = Some(durable),
                Output::Send { to, packet } => effects.sent.push(Envelope { to, payload: encode(&packet) }),
                Output::Gathered(Outcome::Complete(snapshot) | Outcome::Inconsistent(snapshot, _)) => {
                    self.is_deceived |= is_inconsistent(&snapshot);
                }
                Output::Gathered(_) => {}
            }
        }
    }
}

fn is_inconsistent(snapshot: &Snapshot) -> bool {
    let past = |node: &NodeId| Some(decode::<Past>(&snapshot.checkpoints.get(node)?.content));
    snapshot.checkpoints.keys().filter_map(past).any(|receiver| {
        let is_outside = |(from, place): &(NodeId, usize)| past(from).is_some_and(|sender| *place >= sender.sent);
        receiver.received.iter().any(is_outside)
    })
}

struct NodeMachine {
    plan: Plan,
    node: Option<Node>,
}

impl NodeMachine {
    fn node(&self) -> &Node {
        self.node.as_ref().expect("it has begun")
    }

    fn begin(&mut self, me: NodeId, past: Past, effects: &mut Effects) {
        let Plan { rule, limits, caps, .. } = self.plan;
        let mut outputs = Vec::new();
        let manager = Manager::new(me, rule, limits, past.disk, encode(&past), &mut outputs);
        let mut node = Node { me, manager, past, is_deceived: false };
        node.execute_outputs(outputs, caps, effects);
        self.node = Some(node);
    }
}

impl MachineFactory for Plan {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(NodeMachine { plan: self.clone(), node: None }))
    }
}

impl Machine for NodeMachine {
    fn restore(&mut self, snapshot: Option<&Captured>) -> Result<(), MachineError> {
        self.node = snapshot.map(released);
        Ok(())
    }

    fn capture(&mut self) -> Captured {
        captured(self.node())
    }

    fn handle(&mut self, input: Input<'_>, _script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        *effects = Effects::default();
        if let Input::Init { node, .. } = input {
            self.begin(node, Past::default(), effects);
            return Ok(());
        }
        let plan = &self.plan;
        let node = self.node.as_mut().expect("it has begun");
        let (past, mut outputs) = (encode(&node.past), Vec::new());
        match input {
            Input::Message { src, payload } => {
                let received = node.manager.receive(src, decode::<Packet>(payload), || past, &mut outputs);
                if let Ok(Some(payload)) = received {
                    node.past.received.insert((src, payload[0].into()));
                }
            }
            Input::Local(event) => match &*event.name {
                "send" => {
                    let to = plan.messages[node.me as usize][node.past.sent];
                    node.manager.send(to, vec![node.past.sent as u8], &mut outputs);
                    node.past.sent += 1;
                }
                "gather" => {
                    node.past.has_gathered = true;
                    node.manager.gather((0..NODES as NodeId).collect(), Time(0), past, &mut outputs);
                }
                _ => {
                    let (me, past) = (node.me, Past { is_reset: true, ..node.past.clone() });
                    self.begin(me, past, effects);
                    return Ok(());
                }
            },
            _ => unreachable!("nothing else is asked for"),
        }
        node.execute_outputs(outputs, plan.caps, effects);
        Ok(())
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        Ok(encode(self.node()))
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        let (plan, Node { me, past, .. }) = (&self.plan, self.node());
        let all = [
            ("send", past.sent < plan.messages[*me as usize].len()),
            ("gather", plan.gathers.contains(me) && !past.has_gathered),
            ("reset", plan.resets == Some(*me) && !past.is_reset),
        ];
        let event = |(name, _): (&str, bool)| LocalEvent {
            name: name.to_owned(),
            kind: LocalKind::Application,
            payload: Vec::new(),
        };
        Ok(all.into_iter().filter(|(_, can)| *can).map(event).collect())
    }

    fn view(&mut self, _property: u32) -> Result<Option<Vec<u8>>, Fault> {
        Ok(Some(vec![self.node().is_deceived.into()]))
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        let (kind, scope) = (PropertyKind::Always, PropertyScope::Node);
        Ok(vec![Property { name: "snapshots are consistent".to_owned(), kind, scope }])
    }

    fn invariant(&mut self, _property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        let is_deceived = views.iter().flatten().any(|view| view[0] > 0);
        Ok(if is_deceived { Err("a message was received inside and sent outside".to_owned()) } else { Ok(()) })
    }
}

/// The outcome of an exploration.
struct Explored {
    end: EndCondition,
    global_states: u64,
    /// The steps to a violation, if any.
    steps: Option<Vec<String>>,
}

/// Explores every execution, and replays the violation if there is one.
fn explore(plan: &Plan) -> Explored {
    let scenario = Scenario::new(NODES as u32);
    let lts = Lts::new(plan, scenario.clone()).expect("it is native");
    let mut stepper = Stepper::new(&lts).expect("it is native");
    let starts = start::initial(&mut stepper).expect("nothing is refused");
    let search = Search {
        lts: &lts,
        starts: &starts,
        bounds: SearchBounds::default(),
        monitor: &Unmonitored,
        collect_system_states: false,
    };
    let bdfs = find("bdfs").expect("it is a row");
    let report = (bdfs.run)(&search).expect("the host does not fail");
    let steps = report.violations.first().map(|found| {
        let finding = found.finding(&mut stepper).expect("it is native");
        let steps = trace::record(&mut stepper, &found.initial, &found.path).expect("it is native");
        trace::confirm(plan, &scenario, &found.origin, &steps, &finding).expect("it replays");
        steps.iter().map(describe).collect()
    });
    Explored { end: report.end, global_states: report.counts.global_states.unwrap_or(0), steps }
}

/// A step in a line.
fn describe(step: &TraceStep) -> String {
    let event = match &step.event {
        TraceEvent::Local { name, .. } => name.clone(),
        TraceEvent::Deliver { from, payload } => {
            let Packet { header, body } = decode(&payload.0);
            let body = match body {
                Body::Message { sequence, .. } => format!("message {sequence}"),
                Body::Request { number } => format!("request for {number}"),
                Body::Answer { checkpoint, .. } => format!("checkpoint {}", checkpoint.number),
                Body::Refusal { request } => format!("refusal of {request}"),
                Body::Capped { request } => format!("no checkpoint for {request}"),
            };
            format!("receives {body} of node {from}, which is at {}", header.number)
        }
        other => unreachable!("{other:?} is no event of this protocol"),
    };
    format!("node {}: {event}", step.node)
}

fn plan(rule: Rule, messages: [Vec<NodeId>; NODES], resets: Option<NodeId>, checkpoints_max: usize) -> Plan {
    let limits = Limits { block: 1, attempts_max: 2, checkpoints_max, ..Limits::default() };
    Plan { rule, limits, messages, gathers: vec![0], resets, caps: None }
}

/// The published rule does not cover resets. The steps are in the test, because they justify the sound rule.
#[test]
fn the_published_rule_has_a_counterexample() {
    let explored = explore(&plan(Rule::PUBLISHED, [vec![], vec![2], vec![]], Some(1), usize::MAX));
    assert_eq!(explored.end, EndCondition::Violation);
    let steps = explored.steps.expect("it ends in a violation").join("\n");
    assert_eq!(steps, include_str!("published.txt").trim_end(), "{steps}");
}

/// Each part of the sound rule is necessary.
#[test]
fn each_weaker_rule_has_a_counterexample() {
    let lax = |after_reset| Rule { after_reset, refuses_discarded: false };
    let cases = [
        (lax(AfterReset::Last), Some(2), usize::MAX, vec![0]),
        (lax(AfterReset::Next), Some(2), usize::MAX, vec![0]),
        (lax(AfterReset::Next), None, 1, vec![0, 1]),
    ];
    for (rule, resets, checkpoints_max, gathers) in cases {
        let plan = Plan { gathers, ..plan(rule, [vec![], vec![2], vec![]], resets, checkpoints_max) };
        let explored = explore(&plan);
        assert_eq!(explored.end, EndCondition::Violation, "{rule:?}");
    }
}

/// Every execution of three nodes with one reset, at any node, and four messages; with two snapshots and one checkpoint kept; and with a
/// node that refuses a checkpoint once, while another one restarts.
#[test]
fn the_sound_rule_has_no_counterexample() {
    for resets in [None, Some(0), Some(1), Some(2)] {
        let explored = explore(&plan(Rule::SOUND, [vec![1], vec![2, 0], vec![1]], resets, 2));
        assert_eq!(explored.end, EndCondition::SpaceExhausted, "{:?}", explored.steps);
        assert!(explored.global_states > 10_000);
    }
    let crowded = plan(Rule::SOUND, [vec![], vec![2], vec![]], None, 1);
    let explored = explore(&Plan { gathers: vec![0, 1], ..crowded });
    assert_eq!(explored.end, EndCondition::SpaceExhausted, "{:?}", explored.steps);
    let capped = plan(Rule::SOUND, [vec![], vec![2, 0], vec![]], Some(1), 2);
    let explored = explore(&Plan { gathers: vec![0, 1], caps: Some(2), ..capped });
    assert_eq!(explored.end, EndCondition::SpaceExhausted, "{:?}", explored.steps);
    assert!(explored.global_states > 1_000, "{}", explored.global_states);
}
