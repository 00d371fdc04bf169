//! Runs a plugin for a while, every step in several ways that must not differ.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use host_model::contract::{
    Effects, Envelope, Fault, FaultKind, Input, LocalEvent, Machine, MachineError, MachineFactory, NodeId, Snapshot,
};
use host_model::scenario::Scenario;

/// A fault of a plugin, as a phrase, with the steps before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// A handler or a query ended in a fault.
    Fault(String),
    /// `init` refuses the configuration, so nothing else was tried.
    Refused(String),
    /// Two ways to the same state lead to different ones.
    Differs(String),
}

/// The cost of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Restore, handler, encoding, local events and capture together.
    pub step: Duration,
    /// The part of it for handler, encoding and local events.
    pub calls: Duration,
}

/// The observations of an examination.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observations {
    /// Handlers executed, each in a first instance, again after a restore, and in a second instance.
    pub steps: u64,
    /// The largest snapshot, in bytes.
    pub snapshot_bytes_max: u64,
    /// The sum of all snapshots, in bytes.
    pub snapshot_bytes_total: u64,
    /// The longest encoding of a state, in bytes.
    pub state_bytes_max: u64,
    /// The median cost of a step, if steps were measured.
    pub cost: Option<Cost>,
    /// The deviations; empty if there are none.
    pub findings: Vec<Deviation>,
}

/// One event of one node.
#[derive(Clone)]
enum Event {
    Message { src: NodeId, payload: Vec<u8> },
    Local(LocalEvent),
}

impl Event {
    fn input(&self) -> Input<'_> {
        match self {
            Self::Message { src, payload } => Input::Message { src: *src, payload },
            Self::Local(event) => Input::Local(event),
        }
    }
}

/// The observations of a step: they must be the same however the step is executed.
#[derive(Clone, Default)]
struct Shown {
    sent: Vec<Envelope>,
    encoding: Vec<u8>,
    local_events: Vec<LocalEvent>,
}

/// A node of the cluster.
struct Node {
    snapshot: Snapshot,
    shown: Shown,
    history: Vec<Event>,
}

/// Runs a cluster until nothing can happen, or for at most `steps_max` steps. The first local event of a node and the oldest
/// message take turns; `choose` returns 0. With `measures`, steps are repeated for a moment to measure their cost.
///
/// # Errors
///
/// The host cannot provide an instance, or the memory that the limits allow an instance.
pub fn examine(
    plugin: &dyn MachineFactory,
    scenario: &Scenario,
    steps_max: u64,
    measures: bool,
) -> Result<Observations, MachineError> {
    let mut seen = Observations::default();
    let mut machines = [plugin.machine()?, plugin.machine()?];
    match walk(&mut machines, scenario, steps_max, measures, &mut seen) {
        Ok(()) => {}
        Err(EarlyEnd::Host(error)) => return Err(error),
        Err(EarlyEnd::Deviates(finding)) => {
            machines.iter().try_for_each(|machine| machine.confirm_fault())?;
            seen.findings.push(finding);
        }
    }
    Ok(seen)
}

/// The reasons why an examination ends early.
enum EarlyEnd {
    Deviates(Deviation),
    Host(MachineError),
}

impl From<MachineError> for EarlyEnd {
    fn from(error: MachineError) -> Self {
        Self::Host(error)
    }
}

fn walk(
    machines: &mut [Box<dyn Machine>; 2],
    scenario: &Scenario,
    steps_max: u64,
    measures: bool,
    seen: &mut Observations,
) -> Result<(), EarlyEnd> {
    let mut cluster = Vec::new();
    let mut samples = Vec::new();
    let mut in_flight = VecDeque::new();
    let (nodes, config) = (scenario.nodes, scenario.config());
    for node in 0..nodes {
        let init = Input::Init { node, nodes, config: &config, durable: None };
        let (snapshot, shown) = step(machines, None, &init, &format!("init of node {node}"), seen)?;
        send(&mut in_flight, node, &shown.sent);
        cluster.push(Node { snapshot, shown, history: Vec::new() });
    }
    let mut turn = 0;
    while seen.steps < steps_max {
        turn += 1;
        let Some((at, event)) = next(&cluster, &mut in_flight, turn) else { break };
        let what = format!("step {} at node {at}", seen.steps + 1);
        let node = &mut cluster[at as usize];
        let (snapshot, shown) = step(machines, Some(&node.snapshot), &event.input(), &what, seen)?;
        send(&mut in_flight, at, &shown.sent);
        if samples.len() < SAMPLES_MAX {
            samples.push((node.snapshot.clone(), event.clone()));
        }
        node.snapshot = snapshot;
        node.shown = shown;
        node.history.push(event);
    }
    for (at, node) in (0..nodes).zip(&cluster) {
        straight(machines[1].as_mut(), at, scenario, node)?;
    }
    if measures {
        measure(machines[0].as_mut(), &samples, seen)?;
    }
    Ok(())
}

/// The maximum number of different steps that are measured.
const SAMPLES_MAX: usize = 32;

/// The time for measuring, and the maximum number of rounds; the first round is for warming up.
const MEASURING: Duration = Duration::from_millis(200);
const ROUNDS_MAX: usize = 100;

/// Repeats correct steps, each from its own state, as a search does. The median of each step counts, so that other work of the
/// machine does not. The median over the steps counts, too: in a few of them the guest takes more memory, and repeating these
/// costs an instance each time, which a search pays once.
fn measure(
    machine: &mut dyn Machine,
    samples: &[(Snapshot, Event)],
    seen: &mut Observations,
) -> Result<(), MachineError> {
    let began = Instant::now();
    let mut times: Vec<(Vec<Duration>, Vec<Duration>)> = vec![Default::default(); samples.len()];
    for round in 0..ROUNDS_MAX {
        for ((snapshot, event), (stepping, calling)) in samples.iter().zip(&mut times) {
            let restored = Instant::now();
            machine.restore(Some(snapshot))?;
            let called = Instant::now();
            // It ended without a fault before.
            let shown = show(machine, event.input());
            let calls = called.elapsed();
            drop(shown);
            machine.capture();
            if round > 0 {
                stepping.push(restored.elapsed());
                calling.push(calls);
            }
        }
        if round > 0 && began.elapsed() > MEASURING {
            break;
        }
    }
    let (stepping, calling): (Vec<_>, Vec<_>) =
        times.into_iter().map(|(step, calls)| (median(step), median(calls))).unzip();
    let cost = median(stepping).flatten().zip(median(calling).flatten());
    seen.cost = cost.map(|(step, calls)| Cost { step, calls });
    Ok(())
}

/// The median; none of an empty list.
fn median<T: Ord + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

fn send(in_flight: &mut VecDeque<(NodeId, Envelope)>, from: NodeId, sent: &[Envelope]) {
    in_flight.extend(sent.iter().map(|envelope| (from, envelope.clone())));
}

/// The oldest message and the local events of one node after the other take turns.
fn next(cluster: &[Node], in_flight: &mut VecDeque<(NodeId, Envelope)>, turn: usize) -> Option<(NodeId, Event)> {
    let local = || {
        let order = (0..cluster.len()).map(|nth| (turn / 2 + nth) % cluster.len());
        let mut possible = order.filter_map(|at| Some((at as NodeId, cluster[at].shown.local_events.first()?.clone())));
        possible.next().map(|(at, event)| (at, Event::Local(event)))
    };
    if turn.is_multiple_of(2)
        && let Some(event) = local()
    {
        return Some(event);
    }
    let message = in_flight.pop_front();
    let message = message.map(|(src, envelope)| (envelope.to, Event::Message { src, payload: envelope.payload }));
    message.or_else(local)
}

/// Executes a step in the first machine, again after a restore, and in the second machine.
fn step(
    machines: &mut [Box<dyn Machine>; 2],
    from: Option<&Snapshot>,
    input: &Input<'_>,
    what: &str,
    seen: &mut Observations,
) -> Result<(Snapshot, Shown), EarlyEnd> {
    let faulty = |fault: Fault| match fault.kind {
        FaultKind::Refused => EarlyEnd::Deviates(Deviation::Refused(format!("{what}: {fault}"))),
        _ => EarlyEnd::Deviates(Deviation::Fault(format!("{what}: {fault}"))),
    };
    machines[0].restore(from)?;
    let first = show(machines[0].as_mut(), *input).map_err(faulty)?;
    let snapshot = machines[0].capture();
    seen.steps += 1;
    seen.snapshot_bytes_max = seen.snapshot_bytes_max.max(snapshot.bytes() as u64);
    seen.snapshot_bytes_total += snapshot.bytes() as u64;
    seen.state_bytes_max = seen.state_bytes_max.max(first.encoding.len() as u64);
    let ways = ["again in the same instance, after a restore", "in a second instance"];
    for (machine, way) in machines.iter_mut().zip(ways) {
        machine.restore(from)?;
        same(&first, &show(machine.as_mut(), *input).map_err(faulty)?, &format!("{what}, {way}"))?;
    }
    Ok((snapshot, first))
}

/// Executes all events of a node without restoring, and compares the end with that of the restored runs.
fn straight(machine: &mut dyn Machine, at: NodeId, scenario: &Scenario, node: &Node) -> Result<(), EarlyEnd> {
    machine.restore(None)?;
    let faulty = |fault: Fault| EarlyEnd::Deviates(Deviation::Fault(format!("node {at} from start to end: {fault}")));
    let config = scenario.config();
    let init = Input::Init { node: at, nodes: scenario.nodes, config: &config, durable: None };
    let mut last = show(machine, init).map_err(faulty)?;
    for event in &node.history {
        machine.ask_stop()?;
        last = show(machine, event.input()).map_err(faulty)?;
    }
    same(&node.shown, &last, &format!("node {at}, from start to end without snapshots"))
}

fn show(machine: &mut dyn Machine, input: Input<'_>) -> Result<Shown, Fault> {
    let mut effects = Effects::default();
    machine.handle(input, &[], &mut effects)?;
    Ok(Shown { sent: effects.sent, encoding: machine.serialize()?, local_events: machine.local_events()? })
}

/// Refuses a second execution whose observations differ from those of the first.
fn same(one: &Shown, other: &Shown, what: &str) -> Result<(), EarlyEnd> {
    let difference = if one.sent != other.sent {
        "other messages are sent"
    } else if one.encoding != other.encoding {
        "the state has another encoding"
    } else if one.local_events != other.local_events {
        "other local events are possible"
    } else {
        return Ok(());
    };
    Err(EarlyEnd::Deviates(Deviation::Differs(format!("{what}: {difference}"))))
}

#[cfg(test)]
mod tests {
    use host_model::contract::LocalKind;

    use super::*;

    /// Counts its handlers. The count can be part of a snapshot or not.
    struct Counter {
        count: u64,
        captures: bool,
    }

    struct Counters {
        captures: bool,
    }

    impl MachineFactory for Counters {
        fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
            Ok(Box::new(Counter { count: 0, captures: self.captures }))
        }
    }

    impl Machine for Counter {
        fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
            if self.captures {
                self.count = snapshot.map_or(0, |snapshot| snapshot.words()[0]);
            }
            Ok(())
        }

        fn handle(&mut self, _: Input<'_>, _: &[u32], effects: &mut Effects) -> Result<(), Fault> {
            self.count += 1;
            *effects = Effects::default();
            Ok(())
        }

        fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
            Ok(self.count.to_le_bytes().to_vec())
        }

        fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
            let tick = LocalEvent { name: "tick".to_owned(), kind: LocalKind::Timer, payload: Vec::new() };
            Ok(if self.count < 5 { vec![tick] } else { Vec::new() })
        }

        fn capture(&mut self) -> Snapshot {
            Snapshot::new(&[self.count])
        }

        host_model::without_properties!();
    }

    /// A machine whose host lacks the memory that the guest may use: every call fails, and none by the guest's fault.
    struct Starved;

    impl MachineFactory for Starved {
        fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
            Ok(Box::new(Self))
        }
    }

    impl Machine for Starved {
        fn restore(&mut self, _: Option<&Snapshot>) -> Result<(), MachineError> {
            Ok(())
        }

        fn confirm_fault(&self) -> Result<(), MachineError> {
            Err(MachineError::Host("no memory".into()))
        }

        fn handle(&mut self, _: Input<'_>, _: &[u32], _: &mut Effects) -> Result<(), Fault> {
            Err(Fault::new(FaultKind::Trap, "memory cannot grow"))
        }

        fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
            Ok(Vec::new())
        }

        fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
            Ok(Vec::new())
        }

        fn capture(&mut self) -> Snapshot {
            Snapshot::new(&[])
        }

        host_model::without_properties!();
    }

    #[test]
    fn a_host_without_memory_is_no_finding() {
        assert_eq!(examine(&Starved, &Scenario::new(2), 100, true), Err(MachineError::Host("no memory".into())));
    }

    /// Two nodes with `init` and four ticks each.
    #[test]
    fn what_is_captured_agrees() {
        let seen = examine(&Counters { captures: true }, &Scenario::new(2), 100, true).expect("machines of our own");
        assert_eq!((seen.steps, seen.findings), (10, Vec::new()));
        let cost = seen.cost.expect("steps were measured");
        assert!(cost.step >= cost.calls, "{cost:?}");
        assert_eq!((seen.snapshot_bytes_max, seen.state_bytes_max), (8, 8));
    }

    #[test]
    fn what_is_not_captured_is_noticed() {
        let seen = examine(&Counters { captures: false }, &Scenario::new(2), 100, true).expect("machines of our own");
        let what = "init of node 0, again in the same instance, after a restore: the state has another encoding";
        assert_eq!(seen.findings, [Deviation::Differs(what.to_owned())]);
    }
}
