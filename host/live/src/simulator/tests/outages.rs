//! Restarts that lose what was not synced, compared with what can be on the disk.

use std::collections::BTreeMap;

use host_model::contract::NodeId;
use host_model::scenario::{FaultEvent, Faults, OutageWrites};
use host_model::toys::{Medium, ToyOutcome, ToyState, ToySync};
use host_model::trace::TraceEvent;

use super::*;

const NODES: u32 = 3;

/// The durable maps after each handler of a node since its last `sync`, the oldest first; the present one is the last.
struct Disk(Vec<Option<u8>>);

impl Disk {
    fn present(&self) -> Option<u8> {
        *self.0.last().expect("a node has a map")
    }

    /// A handler has ended in this state.
    fn write(&mut self, toy: &Toy, node: NodeId, state: ToyState) {
        let (before, after) = (self.present(), toy.durable.get(&(node, state)).copied());
        match toy.syncs.as_ref().and_then(|syncs| syncs.get(&(node, state))) {
            Some(ToySync::Last) => self.0 = vec![after],
            Some(ToySync::First) => self.0 = vec![before, after],
            None => self.0.push(after),
        }
    }

    /// The maps that a kill can leave: the present one, the one before it, and so on; each once.
    fn left(&self) -> Vec<Option<u8>> {
        let mut left = Vec::new();
        for map in self.0.iter().rev() {
            if !left.contains(map) {
                left.push(*map);
            }
        }
        left
    }
}

/// The restarts of runs, by the number of maps that could be left and the number of changes lost.
type Seen = BTreeMap<(usize, usize), u64>;

/// Follows the steps of a run: each restart begins with a map that can be on the disk of its node.
fn follow(toy: &Toy, (scenario, start): (&Scenario, &Start), steps: &[TraceStep], seen: &mut Seen) {
    let factory = Arc::new(toy.clone());
    let (mut replay, starts) = Replay::new(&factory, scenario, &start.origin).expect("it is native");
    let of = |state: &Option<Vec<u8>>| state.as_ref().expect("no handler traps")[0];
    let mut disks: Vec<Disk> = (0..NODES).map(|_| Disk(vec![None])).collect();
    for (node, report) in (0..).zip(&starts) {
        disks[node as usize].write(toy, node, of(&report.state));
    }
    for step in steps {
        let state = of(&replay.step(step).expect("it replays").state);
        let disk = &mut disks[step.node as usize];
        if let TraceEvent::TransportError { lost: true, .. } = step.event {
            continue;
        }
        if let TraceEvent::Fault { event, .. } = step.event {
            let (left, lost) = (disk.left(), event.unsynced() as usize);
            assert!(event.loses_writes() && lost < left.len(), "{step:?} of {left:?}");
            *seen.entry((left.len(), lost)).or_default() += 1;
            let goes_there = |outcome: &ToyOutcome| matches!(outcome, ToyOutcome::Go(next, _) if *next == state);
            let next = toy.restart(step.node, left[lost]);
            assert!(next.iter().any(goes_there), "{step:?} of {left:?} to {state}");
            *disk = Disk(vec![left[lost]]);
        }
        disk.write(toy, step.node, state);
    }
}

/// A kill leaves a map that the node has had since its last `sync`, each of them at some time, and never loses one that was synced.
#[test]
fn a_restart_begins_with_what_can_be_on_the_disk() {
    let mut seen = Seen::new();
    for seed in 0..300 {
        let toy = Toy::random_busy(seed, NODES).with_random_durable(seed).in_medium(Medium::Map);
        let toy = if seed % 3 == 0 { toy.sync(&[]) } else { toy.with_random_syncs(seed) };
        let network = if seed % 2 == 0 { Network::Unordered } else { Network::Ordered };
        let faults = Faults { outages: Faults::MAX, ..Faults::default() };
        let scenario = Scenario { network, faults, ..Scenario::new(NODES) };
        // Several handlers between two kills.
        let delay = Range::milliseconds(10, 200);
        let delays = Delays { timer: delay, application: delay, internal: delay };
        let churn = Some(Duration::from_millis(300));
        let conditions = Conditions { churn, delays, events_max: 200, continues: true, ..rough(&scenario) };
        with_starts(&toy, &scenario, |_, lts, starts| {
            let mut stepper = Stepper::new(lts).expect("it is native");
            for run in 0..3 {
                let simulator = Simulator::new(&mut stepper, starts, conditions);
                let mut simulator = simulator.expect("the conditions make sense");
                let mut run = simulator.begin(run);
                run.finish().expect("it is native");
                let (start, path) = (run.start.clone(), std::mem::take(&mut run.path));
                let steps = trace::record(&mut stepper, &start.initial, &path).expect("it is native");
                follow(&toy, (&scenario, &start), &steps, &mut seen);
            }
        });
    }
    for left in 1..=3 {
        let of = |lost| seen.get(&(left, lost)).copied().unwrap_or(0);
        assert!((0..left).all(|lost| of(lost) > 20), "{left}: {seen:?}");
    }
}

/// The digits of a durable state, in which a map has it.
fn digits(kept: Option<u8>) -> [u8; 2] {
    let number = kept.map_or(0, |kept| kept + 1);
    [number % 3, number / 3]
}

/// The durable states that a node can have after a kill that leaves any of its writes since the last `sync`, given by their digits: each
/// subset of them.
struct LooseDisk {
    synced: [u8; 2],
    writes: Vec<[u8; 2]>,
}

impl LooseDisk {
    fn present(&self) -> [u8; 2] {
        *self.writes.last().unwrap_or(&self.synced)
    }

    fn write(&mut self, toy: &Toy, node: NodeId, state: ToyState) {
        let after = digits(toy.durable.get(&(node, state)).copied());
        match toy.syncs.as_ref().and_then(|syncs| syncs.get(&(node, state))) {
            Some(ToySync::Last) => *self = Self { synced: after, writes: Vec::new() },
            Some(ToySync::First) => *self = Self { synced: self.present(), writes: vec![after] },
            None => self.writes.push(after),
        }
    }

    fn left(&self) -> BTreeSet<Option<u8>> {
        // Of each digit, any write can be the last one that is kept.
        let values = |place: usize| std::iter::once(&self.synced).chain(&self.writes).map(move |digits| digits[place]);
        values(0).flat_map(|low| values(1).map(move |high| (low + 3 * high).checked_sub(1))).collect()
    }
}

/// The same where a kill can lose any writes: what a node begins with is left by some subset of them, and each such map is left at some
/// time.
#[test]
fn a_restart_begins_with_any_part_of_the_unsynced_writes() {
    let (mut seen, mut torn) = (BTreeMap::<usize, u64>::new(), 0);
    for seed in 0..300 {
        let toy = Toy::random_busy(seed, NODES).with_random_durable(seed).in_medium(Medium::Digits);
        let toy = if seed % 3 == 0 { toy.sync(&[]) } else { toy.with_random_syncs(seed) };
        let faults = Faults { outages: Faults::MAX, ..Faults::default() };
        let scenario = Scenario { faults, outage_writes: OutageWrites::Any, ..Scenario::new(NODES) };
        let delay = Range::milliseconds(10, 200);
        let delays = Delays { timer: delay, application: delay, internal: delay };
        let churn = Some(Duration::from_millis(300));
        let conditions = Conditions { churn, delays, events_max: 200, continues: true, ..rough(&scenario) };
        with_starts(&toy, &scenario, |_, lts, starts| {
            let mut stepper = Stepper::new(lts).expect("it is native");
            let mut simulator = Simulator::new(&mut stepper, starts, conditions).expect("the conditions make sense");
            let mut run = simulator.begin(seed);
            run.finish().expect("it is native");
            let (start, path) = (run.start.clone(), std::mem::take(&mut run.path));
            let steps = trace::record(&mut stepper, &start.initial, &path).expect("it is native");
            let factory = Arc::new(toy.clone());
            let (mut replay, begun) = Replay::new(&factory, &scenario, &start.origin).expect("it is native");
            let of = |state: &Option<Vec<u8>>| state.as_ref().expect("no handler traps")[0];
            let mut disks: Vec<LooseDisk> =
                (0..NODES).map(|_| LooseDisk { synced: [0; 2], writes: Vec::new() }).collect();
            (0..).zip(&begun).for_each(|(node, report)| disks[node as usize].write(&toy, node, of(&report.state)));
            for step in &steps {
                let state = of(&replay.step(step).expect("it replays").state);
                let disk = &mut disks[step.node as usize];
                if let TraceEvent::Fault { event, .. } = step.event {
                    let left = disk.left();
                    let goes_there =
                        |outcome: &ToyOutcome| matches!(outcome, ToyOutcome::Go(next, _) if *next == state);
                    let fits = |kept: &&Option<u8>| toy.restart(step.node, **kept).iter().any(goes_there);
                    let kept = left.iter().find(fits).copied().unwrap_or_else(|| panic!("{step:?} of {left:?}"));
                    *seen.entry(left.len()).or_default() += 1;
                    torn += u64::from(event.disk() > 0);
                    // The state that it has restored is not known where several lead there: the next write decides.
                    *disk = LooseDisk { synced: digits(kept), writes: Vec::new() };
                    if left.iter().filter(|kept| fits(kept)).count() > 1 {
                        break;
                    }
                }
                disk.write(&toy, step.node, state);
            }
        });
    }
    assert!(torn > 200 && (2..=4).all(|left| seen.get(&left) > Some(&10)), "{torn} of {seen:?}");
}

/// A node that writes once and never syncs loses the write in about every second kill; one that syncs it never does.
#[test]
fn a_write_that_was_synced_is_never_lost() {
    let toy = |synced: &[(NodeId, ToyState)]| {
        let toy = Toy::new(1).rule(0, 0, ToyTrigger::Local(0), 1, &[]).rule(0, 1, ToyTrigger::Local(1), 2, &[]);
        let mut toy = toy.in_medium(Medium::Map).sync(synced);
        // The node restarts in state 1 if the write is there.
        toy.durable.extend([((0, 1), 1), ((0, 2), 1)]);
        toy
    };
    let lost = |synced: &[(NodeId, ToyState)]| {
        let scenario = Scenario { faults: Faults { outages: 1, ..Faults::default() }, ..Scenario::new(1) };
        let conditions = Conditions { churn: Some(Duration::from_secs(20)), ..Conditions::default() };
        with_starts(&toy(synced), &scenario, |_, lts, starts| {
            let mut stepper = Stepper::new(lts).expect("it is native");
            let mut simulator = Simulator::new(&mut stepper, starts, conditions).expect("the conditions make sense");
            let is_lost = |seed| {
                let mut run = simulator.begin(seed);
                run.finish().expect("it is native");
                let losing = |step: &host_model::lts::Step| step.trigger.fault().map_or(0, FaultEvent::unsynced) > 0;
                run.path.iter().any(losing)
            };
            (0..200).map(is_lost).filter(|is_lost| *is_lost).count()
        })
    };
    assert_eq!(lost(&[(0, 1)]), 0);
    let without = lost(&[]);
    assert!((30..170).contains(&without), "{without}");
}
