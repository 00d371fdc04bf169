//! Nodes in one thread, which exchange frames in memory. Time is virtual, and their disks take none.

use std::collections::{BTreeSet, VecDeque};

use host_live::checkpoint::{Outcome, Snapshot};
use host_live::gate::Gate;
use host_live::node::{Delays, Identity, Node, Output, Settings};
use host_live::time::Range;
use host_live::time::Time;
use host_model::contract::NodeId;
use host_model::scenario::Scenario;
use host_sandbox::Plugin;

pub(crate) struct Cluster<G> {
    nodes: Vec<Node<'static, G>>,
    /// The frames in flight, in the order of sending.
    frames: VecDeque<(NodeId, Vec<u8>)>,
    now: Time,
    /// Complete snapshots.
    pub(crate) snapshots: Vec<Snapshot>,
    /// Bytes of all frames so far.
    pub(crate) bytes: u64,
}

impl<G: Gate> Cluster<G> {
    /// The nodes of a scenario at their start.
    pub(crate) fn new(plugin: &Plugin, scenario: &Scenario, seed: u64, gate: impl Fn(NodeId) -> G) -> Self {
        let start = |node| {
            let config = scenario.config();
            let identity = Identity {
                node,
                nodes: scenario.nodes,
                config,
                name: String::new(),
                cluster: [1; 16],
                session: node.into(),
            };
            let application = Some(Range::milliseconds(1, 100));
            let delays = Delays { application, ..Settings::default().delays };
            let settings = Settings { network: scenario.network, delays, seed, ..Settings::default() };
            Node::start(plugin, identity, settings, gate(node), None, Time(0)).expect("it starts")
        };
        let nodes = (0..scenario.nodes).map(start).collect();
        let mut cluster = Self { nodes, frames: VecDeque::new(), now: Time(0), snapshots: Vec::new(), bytes: 0 };
        (0..scenario.nodes).for_each(|node| cluster.execute_outputs(node));
        cluster
    }

    pub(crate) fn nodes(&mut self) -> &mut [Node<'static, G>] {
        &mut self.nodes
    }

    /// Events handled so far.
    pub(crate) fn events(&self) -> u64 {
        self.nodes.iter().map(|node| node.counts().messages + node.counts().local).sum()
    }

    /// Runs until this many events were handled, or none is left.
    pub(crate) fn run_until(&mut self, events_max: u64) {
        while self.events() < events_max {
            if self.deliver() {
                continue;
            }
            let Some(next) = self.nodes.iter().filter_map(Node::deadline).min() else { return };
            self.now = next;
            for node in 0..self.nodes.len() as NodeId {
                self.nodes[node as usize].elapse(next);
                self.execute_outputs(node);
            }
        }
    }

    /// Collects a snapshot of each node's neighbourhood. Frames in flight arrive meanwhile.
    pub(crate) fn gather(&mut self) {
        for node in 0..self.nodes.len() as NodeId {
            self.nodes[node as usize].gather(self.now, &BTreeSet::new());
            self.execute_outputs(node);
            while self.deliver() {}
        }
    }

    /// Delivers the first frame in flight. Returns false if there is none.
    pub(crate) fn deliver(&mut self) -> bool {
        let Some((to, frame)) = self.frames.pop_front() else { return false };
        self.nodes[to as usize].receive(self.now, &frame).expect("nodes understand each other");
        self.execute_outputs(to);
        true
    }

    fn execute_outputs(&mut self, node: NodeId) {
        while let Some(output) = self.nodes[node as usize].next_output() {
            match output {
                Output::Persist { ticket, .. } => self.nodes[node as usize].persisted(ticket),
                Output::Send { to, frame } => {
                    self.bytes += frame.len() as u64;
                    self.frames.push_back((to, frame));
                }
                Output::Gathered(Outcome::Complete(snapshot)) => self.snapshots.push(snapshot),
                Output::Gathered(outcome) => panic!("every node answers: {outcome:?}"),
                Output::Answer { .. } | Output::Disconnect { .. } | Output::Said(_) | Output::Late { .. } => {}
                Output::Undone(undone) => panic!("{undone}"),
                Output::Failed(failure) => panic!("{failure}"),
            }
        }
    }
}
