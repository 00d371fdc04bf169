//! Nodes that are asynchronous programs: `async-election`, compared with the same node written by hand and explored naively, and with runs
//! that are never restored.

use std::collections::{BTreeSet, VecDeque};

use host_model::contract::{Effects, Input, LocalEvent, MachineFactory, NodeId, Snapshot};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Scenario};
use host_model::trace::start;
use host_search::kernel::{EndCondition, Search, SearchBounds, Unmonitored};
use host_search::strategy;
use serde::Serialize;
use serde_json::Value;

use super::{plugin, scenario};

/// The property of the plugin whose view is everything that its tasks share.
const OBSERVED: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    LateVote,
    UnwrittenGrant,
    TwoTasks,
}

#[derive(Clone, Copy, Debug)]
struct Configuration {
    nodes: u32,
    candidates: u32,
    campaigns: u8,
    mistake: Mistake,
    delays: u32,
    resets: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Ballot {
    term: u8,
    vote: Option<NodeId>,
    won: Vec<u8>,
}

/// The part of a node that its tasks share.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Shared {
    ballot: Ballot,
    disk: Ballot,
    heard: Option<(NodeId, u8, u8)>,
}

/// The program counter and the variables of the second task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Candidate {
    Waiting { left: u8 },
    Saving { left: u8, term: u8 },
    Counting { left: u8, term: u8, voters: BTreeSet<NodeId> },
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Node {
    me: NodeId,
    shared: Shared,
    candidate: Candidate,
    /// Votes in the channel between the tasks.
    channel: VecDeque<(NodeId, u8)>,
    resets_left: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Message {
    Ask(u8),
    Grant(u8),
    Lead(u8, u8),
}

type Sent = Vec<(NodeId, Message)>;

impl Node {
    fn new(config: Configuration, me: NodeId, disk: Ballot, resets_left: u32) -> Self {
        let is_candidate = me < config.candidates && config.campaigns > 0;
        let candidate = match is_candidate {
            true => Candidate::Waiting { left: config.campaigns - 1 },
            false => Candidate::Done,
        };
        let shared = Shared { ballot: disk.clone(), disk, heard: None };
        Self { me, shared, candidate, channel: VecDeque::new(), resets_left }
    }

    fn others(&self, config: Configuration, message: Message) -> Sent {
        (0..config.nodes).filter(|to| *to != self.me).map(|to| (to, message)).collect()
    }

    /// The next campaign, if there is one.
    fn rest(&mut self, left: u8) {
        self.candidate = match left.checked_sub(1) {
            Some(left) => Candidate::Waiting { left },
            None => Candidate::Done,
        };
        if self.candidate == Candidate::Done {
            self.channel.clear();
        }
    }

    /// Reads the channel while the candidate counts; each result is a node afterwards with its messages.
    fn count(mut self, config: Configuration) -> Vec<(Self, Sent)> {
        let Candidate::Counting { left, term, mut voters } = self.candidate.clone() else {
            return vec![(self, vec![])];
        };
        let majority = config.nodes as usize / 2 + 1;
        while voters.len() < majority {
            let Some((from, granted)) = self.channel.pop_front() else {
                self.candidate = Candidate::Counting { left, term, voters };
                return vec![(self, vec![])];
            };
            if granted == term {
                voters.insert(from);
            }
        }
        if self.shared.ballot.term != term {
            self.rest(left);
            return vec![(self, vec![])];
        }
        let tokens = self.shared.ballot.won.len() as u8;
        self.shared.ballot.won.push(term);
        self.shared.disk = self.shared.ballot.clone();
        self.rest(left);
        let mut after = vec![(self.clone(), self.others(config, Message::Lead(term, tokens + 1)))];
        if config.mistake == Mistake::TwoTasks && config.delays > 0 {
            after.push((self.clone(), self.others(config, Message::Lead(term, tokens))));
        }
        after
    }

    fn timer(mut self, config: Configuration) -> Vec<(Self, Sent)> {
        match self.candidate.clone() {
            Candidate::Waiting { left } => {
                let term = self.shared.ballot.term + 1;
                if config.mistake != Mistake::LateVote {
                    (self.shared.ballot.term, self.shared.ballot.vote) = (term, Some(self.me));
                }
                self.candidate = Candidate::Saving { left, term };
                vec![(self, vec![])]
            }
            Candidate::Saving { left, term } => {
                if config.mistake == Mistake::LateVote {
                    (self.shared.ballot.term, self.shared.ballot.vote) = (term, Some(self.me));
                }
                if self.shared.ballot.term != term {
                    self.rest(left);
                    return vec![(self, vec![])];
                }
                self.shared.disk = self.shared.ballot.clone();
                self.candidate = Candidate::Counting { left, term, voters: BTreeSet::from([self.me]) };
                let asked = self.others(config, Message::Ask(term));
                let after = self.count(config).into_iter();
                after.map(|(node, sent)| (node, asked.iter().copied().chain(sent).collect())).collect()
            }
            // The time is up.
            Candidate::Counting { left, .. } => {
                self.rest(left);
                vec![(self, vec![])]
            }
            Candidate::Done => vec![],
        }
    }

    fn message(mut self, config: Configuration, from: NodeId, message: Message) -> Vec<(Self, Sent)> {
        let ballot = &mut self.shared.ballot;
        match message {
            Message::Ask(term) => {
                if term > ballot.term {
                    (ballot.term, ballot.vote) = (term, None);
                }
                let is_granted = term == ballot.term && [None, Some(from)].contains(&ballot.vote);
                if !is_granted {
                    return vec![(self, vec![])];
                }
                ballot.vote = Some(from);
                if config.mistake != Mistake::UnwrittenGrant {
                    self.shared.disk = self.shared.ballot.clone();
                }
                vec![(self, vec![(from, Message::Grant(term))])]
            }
            Message::Grant(term) => {
                if self.candidate != Candidate::Done {
                    self.channel.push_back((from, term));
                }
                self.count(config)
            }
            Message::Lead(term, token) => {
                self.shared.heard = Some((from, term, token));
                vec![(self, vec![])]
            }
        }
    }
}

/// A global state: the nodes, and the messages in flight as sender, destination and content, sorted.
type Global = (Vec<Node>, Vec<(NodeId, NodeId, Message)>);

/// The observable part of a system state.
type Outcome = Vec<String>;

/// All outcomes of the node written by hand, and the number of its distinct local states, by brute force.
fn by_hand(config: Configuration) -> (BTreeSet<Outcome>, usize) {
    let nodes = (0..config.nodes).map(|me| Node::new(config, me, Ballot::default(), config.resets)).collect();
    let start: Global = (nodes, vec![]);
    let (mut seen, mut queue) = (BTreeSet::from([start.clone()]), VecDeque::from([start]));
    let (mut outcomes, mut locals) = (BTreeSet::new(), BTreeSet::new());
    while let Some((nodes, flight)) = queue.pop_front() {
        outcomes.insert(nodes.iter().map(|node| text(&serde_json::to_value(&node.shared).expect("JSON"))).collect());
        locals.extend(nodes.iter().cloned());
        let mut go = |me: NodeId, taken: Option<usize>, after: Vec<(Node, Sent)>| {
            for (node, sent) in after {
                let (mut nodes, mut flight) = (nodes.clone(), flight.clone());
                nodes[me as usize] = node;
                if let Some(taken) = taken {
                    flight.remove(taken);
                }
                flight.extend(sent.into_iter().map(|(to, message)| (me, to, message)));
                flight.sort_unstable();
                if seen.insert((nodes.clone(), flight.clone())) {
                    queue.push_back((nodes, flight));
                }
            }
        };
        for (index, (from, to, message)) in flight.iter().enumerate() {
            go(*to, Some(index), nodes[*to as usize].clone().message(config, *from, *message));
        }
        for node in &nodes {
            go(node.me, None, node.clone().timer(config));
            if let Some(left) = node.resets_left.checked_sub(1) {
                go(node.me, None, vec![(Node::new(config, node.me, node.shared.disk.clone(), left), vec![])]);
            }
        }
    }
    (outcomes, locals.len())
}

fn text(value: &Value) -> String {
    value.to_string()
}

fn scenario_of(config: Configuration) -> Scenario {
    let mistake = match config.mistake {
        Mistake::None => "none",
        Mistake::LateVote => "late-vote",
        Mistake::UnwrittenGrant => "unwritten-grant",
        Mistake::TwoTasks => "two-tasks",
    };
    let numbers = [config.candidates, config.campaigns.into(), config.delays].map(|number| number.to_string());
    let parameters =
        [("candidates", &*numbers[0]), ("campaigns", &numbers[1]), ("delays", &numbers[2]), ("bug", mistake)];
    let faults = Faults { resets: config.resets, ..Faults::default() };
    Scenario { faults, ..scenario(config.nodes, &parameters) }
}

/// All outcomes of the tasks, and the number of their distinct local states, by the host's search.
fn by_tasks(config: Configuration) -> (BTreeSet<Outcome>, usize) {
    let lts = Lts::new(plugin("async-election"), scenario_of(config)).expect("the plugin lists its properties");
    let mut stepper = Stepper::new(&lts).expect("an instance");
    let starts = start::initial(&mut stepper).expect("the plugin starts");
    let bounds = SearchBounds { violations: Some(u64::MAX), ..SearchBounds::default() };
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: true };
    let report = (strategy::find("bdfs").expect("a strategy").run)(&search).expect("no host fault");
    assert_eq!(report.end, EndCondition::SpaceExhausted);
    let mut machine = plugin("async-election").machine().expect("an instance");
    let mut observed = |snapshot: &Snapshot| {
        machine.restore(Some(snapshot)).expect("a snapshot of this plugin");
        let view = machine.view(OBSERVED).expect("it reads").expect("there always is one");
        let json = machine.describe_view(OBSERVED, &view).expect("it describes").expect("it has descriptions");
        text(&serde_json::from_str(&json).expect("JSON"))
    };
    let systems = report.system_states.expect("collected");
    let outcomes = systems.iter().map(|locals| {
        let snapshot = |id| lts.state(id).protocol.snapshot.clone().expect("no handler traps");
        locals.iter().map(|id| observed(&snapshot(*id))).collect()
    });
    (outcomes.collect(), report.counts.local_states.expect("counted") as usize)
}

/// The program of tasks and the node written by hand can be observed in the same system states, with each mistake and with resets.
#[test]
fn tasks_reach_what_a_node_written_by_hand_reaches() {
    // The numbers of outcomes are in the README of the plugin.
    let plain = Configuration { nodes: 3, candidates: 2, campaigns: 1, mistake: Mistake::None, delays: 0, resets: 0 };
    let two = Configuration { nodes: 2, ..plain };
    let cases = [
        (plain, 267),
        (two, 45),
        (Configuration { campaigns: 2, ..two }, 1_046),
        (Configuration { delays: 2, ..plain }, 267),
        (Configuration { mistake: Mistake::LateVote, ..plain }, 272),
        (Configuration { mistake: Mistake::TwoTasks, ..plain }, 267),
        (Configuration { mistake: Mistake::TwoTasks, delays: 1, ..plain }, 537),
        (Configuration { resets: 1, ..two }, 1_046),
        (Configuration { resets: 1, mistake: Mistake::UnwrittenGrant, ..two }, 1_538),
        (Configuration { resets: 1, candidates: 1, campaigns: 2, ..two }, 178),
    ];
    for (config, number) in cases {
        let (expected, fewest) = by_hand(config);
        let (outcomes, local_states) = by_tasks(config);
        assert_eq!([outcomes.len(), expected.len()], [number; 2], "{config:?}");
        assert!(outcomes == expected, "{config:?}: as many, and not the same");
        assert!(local_states >= fewest, "{config:?}: {local_states} local states, by hand {fewest}");
    }
}

/// A generator of random schedules.
struct Lots(u64);

impl Lots {
    fn below(&mut self, end: usize) -> usize {
        // The constants are Knuth's.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// An event of a schedule.
enum Happens {
    Delivery { from: NodeId, payload: Vec<u8> },
    Local(LocalEvent),
}

impl Happens {
    fn input(&self) -> Input<'_> {
        match self {
            Self::Delivery { from, payload } => Input::Message { src: *from, payload },
            Self::Local(event) => Input::Local(event),
        }
    }
}

/// Random schedules: one machine takes turns as each of the nodes, and is restored before each event, after others have been there. For
/// each node, another machine runs its events from the start without being restored or asked anything. Both send the same, and end in
/// states with the same identity, events and description.
#[test]
fn suspended_tasks_are_restored_exactly() {
    let nodes = 3;
    let scenario = scenario(nodes, &[("candidates", "3"), ("campaigns", "4"), ("delays", "1"), ("bug", "two-tasks")]);
    let config = scenario.config();
    let plugin = plugin("async-election");
    let (mut steps, mut choices) = (0, 0);
    for seed in 0..60 {
        let mut lots = Lots(seed);
        let mut restored = plugin.machine().expect("an instance");
        let mut straight: Vec<_> = (0..nodes).map(|_| plugin.machine().expect("an instance")).collect();
        let (mut states, mut flight) = (Vec::new(), Vec::new());
        let (mut effects, mut others) = (Effects::default(), Effects::default());
        for node in 0..nodes {
            let init = Input::Init { node, nodes, config: &config, durable: None };
            restored.restore(None).expect("the pristine state");
            restored.handle(init, &[], &mut effects).expect("it starts");
            states.push(restored.capture());
            straight[node as usize].restore(None).expect("the pristine state");
            straight[node as usize].handle(init, &[], &mut others).expect("it starts");
            assert_eq!(effects, others);
            flight.extend(effects.sent.drain(..).map(|sent| (node, sent)));
        }
        for _ in 0..60 {
            let me = lots.below(nodes as usize);
            restored.restore(Some(&states[me])).expect("a state of this plugin");
            let local = restored.local_events().expect("it lists them");
            let mine: Vec<usize> = (0..flight.len()).filter(|at| flight[*at].1.to as usize == me).collect();
            if local.is_empty() && mine.is_empty() {
                continue;
            }
            let lot = lots.below(local.len() + mine.len());
            let happens = match local.get(lot) {
                Some(event) => Happens::Local(event.clone()),
                None => {
                    let (from, envelope) = flight.remove(mine[lot - local.len()]);
                    Happens::Delivery { from, payload: envelope.payload }
                }
            };
            let script = [lots.below(2) as u32];
            // Another state lies in the memory before.
            restored.restore(Some(&states[lots.below(nodes as usize)])).expect("a state of this plugin");
            restored.restore(Some(&states[me])).expect("a state of this plugin");
            restored.handle(happens.input(), &script, &mut effects).expect("it handles the event");
            states[me] = restored.capture();
            straight[me].handle(happens.input(), &script, &mut others).expect("it handles the event");
            assert_eq!(effects, others, "seed {seed}");
            steps += 1;
            choices += effects.choices.len();
            flight.extend(effects.sent.drain(..).map(|sent| (me as NodeId, sent)));
        }
        for (machine, state) in straight.iter_mut().zip(&states) {
            restored.restore(Some(state)).expect("a state of this plugin");
            assert_eq!(
                restored.serialize().expect("an identity"),
                machine.serialize().expect("an identity"),
                "seed {seed}"
            );
            assert_eq!(restored.local_events(), machine.local_events(), "seed {seed}");
            assert_eq!(restored.describe_state(), machine.describe_state(), "seed {seed}");
        }
    }
    assert!(steps > 2_000 && choices > 10, "{steps} steps with {choices} choices");
}
