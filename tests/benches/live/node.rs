//! A node alone, without sockets and disks. Paxos with three proposers, run repeatedly from its start to its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use host_live::checker::Checker;
use host_live::checkpoint::{self, Snapshot};
use host_live::filter::{FilterTable, Quota};
use host_live::gate::{Event, Gate, Judge, Verdict, Views};
use host_live::steered::Steered;
use host_live::time::Time;
use host_model::contract::NodeId;
use host_model::scenario::{FaultState, Faults, Network, Scenario};
use host_sandbox::{Plugin, Sandbox, SandboxConfig};
use host_session::cluster::Watching;
use host_session::live::Running;
use nix::sys::resource::UsageWho;

use crate::memory::Cluster;
use crate::tables::{at, median, processor};
use crate::{MODES, Mode, component};

const NODES: u32 = 3;
/// Turns per mode.
const TURNS: usize = 3;
/// The processor time of a turn, without the starts of nodes and without checkers.
const TURN: Duration = Duration::from_secs(7);
/// The processor time between two snapshots of each node: the interval of `host live`, for a node with a core of its own.
const EVERY: Duration = Duration::from_secs(1);

/// A gate that can record how long it holds effects.
struct Held {
    gate: Option<Steered<Views>>,
    /// The times in nanoseconds, if recorded.
    times: Option<Vec<f64>>,
}

impl Gate for Held {
    fn judges(&self) -> bool {
        self.gate.judges()
    }

    fn before(&mut self, now: Time, event: &Event<'_>) -> Verdict {
        self.gate.before(now, event)
    }

    fn after(&mut self, now: Time, event: &Event<'_>, judge: &mut Judge<'_>) -> Verdict {
        let Some(times) = &mut self.times else { return self.gate.after(now, event, judge) };
        let begun = Instant::now();
        let verdict = self.gate.after(now, event, judge);
        times.push(begun.elapsed().as_nanos() as f64);
        verdict
    }
}

impl Held {
    /// The gate of a node, which is steered if `latest` has the views of all nodes.
    fn new(node: NodeId, latest: &[Option<Views>], is_timed: bool) -> Self {
        let table = FilterTable::new(node, Quota::default(), EVERY);
        let gate = (!latest.is_empty()).then(|| Steered::new(table, latest.to_vec()));
        Self { gate, times: is_timed.then(Vec::new) }
    }
}

/// The result of a turn.
#[derive(Default)]
struct Turn {
    events: u64,
    busy: Duration,
    /// Rounds of checkers, and the processor time that they took.
    rounds: u64,
    checked: Duration,
    held: Vec<f64>,
}

pub(crate) fn table() {
    let sandbox = Sandbox::new(SandboxConfig::default(), None).expect("the engine starts");
    let bytes = std::fs::read(component("paxos")).expect("the component is there");
    let plugin = Plugin::load(&sandbox, &bytes).expect("it loads");
    let parameters = [("proposers".to_owned(), "3".to_owned())].into();
    let scenario = Scenario { network: Network::Unordered, parameters, ..Scenario::new(NODES) };
    let mut turns = MODES.map(|_| Vec::new());
    for _ in 0..TURNS {
        for (mode, turns) in MODES.into_iter().zip(&mut turns) {
            turns.push(turn(&plugin, &scenario, mode, false));
        }
    }
    println!(
        "| checkers | events/s of a node | µs an event | to `off` | ms a round | checker, of the node | held, median µs | 99 % | longest |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let each = |turn: &Turn| turn.busy.as_secs_f64() / turn.events as f64;
    let off = median(&mut turns[0].iter().map(each).collect::<Vec<_>>());
    for (mode, turns) in MODES.into_iter().zip(&turns) {
        let each = median(&mut turns.iter().map(each).collect::<Vec<_>>());
        let of_rounds = |turn: &Turn| turn.checked.as_secs_f64() / turn.rounds.max(1) as f64;
        let round = median(&mut turns.iter().map(of_rounds).collect::<Vec<_>>());
        // In a separate turn, since reading the clock takes time.
        let mut held = turn(&plugin, &scenario, mode, true).held;
        let held = [0.5, 0.99, 1.0].map(|part| format!("{:.2}", at(&mut held, part) / 1e3)).join(" | ");
        println!(
            "| {} | {:.0} | {:.2} | {:.3} | {:.1} | {:.1} % | {held} |",
            mode.name(),
            1.0 / each,
            each * 1e6,
            each / off,
            round * 1e3,
            round / EVERY.as_secs_f64() * 100.0,
        );
    }
}

fn turn(plugin: &Plugin, scenario: &Scenario, mode: Mode, is_timed: bool) -> Turn {
    let ahead = Scenario { faults: Faults { resets: 1, ..Faults::default() }, ..scenario.clone() };
    let limits = Running::limits(Watching { steers: mode == Mode::Steer, holds: false, breaks: false });
    let mut checker = Checker::new(plugin, ahead, limits).expect("an instance");
    let (mut turn, mut gathered, mut seed) = (Turn::default(), Duration::ZERO, 0);
    let mut latest = Vec::new();
    if mode == Mode::Steer {
        let mut cluster = Cluster::new(plugin, scenario, seed, |node| Held::new(node, &[], false));
        cluster.gather();
        let (beginning, _) = checkpoint::beginning(&cluster.snapshots[0], &FaultState::default());
        latest = checker.views(&Arc::new(beginning)).expect("a snapshot of this cluster");
    }
    while turn.busy < TURN {
        seed += 1;
        let mut cluster = Cluster::new(plugin, scenario, seed, |node| Held::new(node, &latest, is_timed));
        let begun = processor(UsageWho::RUSAGE_THREAD);
        // Three nodes share this thread, so a second of each takes three.
        let is_due = mode != Mode::Off && turn.busy >= gathered + EVERY * NODES;
        if is_due {
            cluster.run_until(20);
            cluster.gather();
        }
        cluster.run_until(u64::MAX);
        turn.busy += processor(UsageWho::RUSAGE_THREAD) - begun;
        turn.events += cluster.events();
        if is_due {
            gathered = turn.busy;
            check(&mut checker, &cluster.snapshots, mode, &mut turn);
        }
        for node in cluster.nodes() {
            turn.held.extend(node.gate_mut().times.take().into_iter().flatten());
        }
    }
    turn
}

/// Looks ahead from the snapshots, as the checkers of running nodes do.
fn check(checker: &mut Checker<'_>, snapshots: &[Snapshot], mode: Mode, turn: &mut Turn) {
    let begun = processor(UsageWho::RUSAGE_SELF);
    for (node, snapshot) in (0..).zip(snapshots) {
        let (beginning, _) = checkpoint::beginning(snapshot, &FaultState::default());
        let beginning = Arc::new(beginning);
        if mode == Mode::Steer {
            checker.views(&beginning).expect("a snapshot of this cluster");
        }
        let round = checker.round(&beginning).expect("a snapshot of this cluster");
        assert!(round.predictions.is_empty() && round.violated.is_empty(), "Paxos agrees");
        if mode == Mode::Steer {
            checker.steer(node, &round).expect("a round of this checker");
        }
        turn.rounds += 1;
    }
    turn.checked += processor(UsageWho::RUSAGE_SELF) - begun;
}
