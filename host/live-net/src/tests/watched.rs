//! Nodes with a checker beside them, which may be slow or dead.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use host_live::checker::Limits;
use host_live::gate::Open;
use host_live::node::{Identity, Settings};
use host_live::simulator::Range;
use host_model::contract::{LocalKind, Machine, MachineError, MachineFactory};
use host_model::scenario::{Network, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::{self, Origin};

use super::processes::{durable, free_addresses};
use crate::{Ended, Place, Watch, run};

const LAST: u8 = 5;

/// Node 0 counts and tells the others; that it comes to the last number is a violation.
fn counter() -> Toy {
    let toy = Toy::new(3).of_kind(0, LocalKind::Timer).forbid(&[Some(LAST), None, None]);
    (0..LAST).fold(toy, |toy, count| {
        let next = count + 1;
        let toy = toy.rule(0, count, ToyTrigger::Local(0), next, &[(1, next), (2, next)]).keep(0, next, next);
        (1..3).fold(toy, |toy, node| {
            (0..=count).fold(toy, |toy, known| toy.rule(node, known, ToyTrigger::Message(0, next), next, &[]))
        })
    })
}

/// A checker that ends at once, in a panic.
struct Panics;

impl MachineFactory for Panics {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        panic!("a checker that ends at once");
    }
}

/// A checker that never comes to an end.
struct Sleeps;

impl MachineFactory for Sleeps {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        loop {
            thread::sleep(Duration::from_secs(3_600));
        }
    }
}

/// Three nodes over a network, with checkers whose machines are these, until node 0 has counted to the end and for a second more. What
/// became of each, and what was predicted that replays.
fn run_watched(network: Network, checking: Option<&Arc<dyn MachineFactory>>) -> (Vec<Ended>, usize) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (addresses, stop, replayed) = (free_addresses(), AtomicBool::new(false), Arc::new(Mutex::new(0)));
    let mut settings = Settings { network, ..Settings::default() };
    settings.delays.timer = Range::milliseconds(300, 400);
    let one = |node: u32| {
        let replayed = Arc::clone(&replayed);
        let watch = checking.cloned().map(|factory| Watch {
            factory,
            scenario: Scenario { network, ..Scenario::new(3) },
            limits: Limits::default(),
            every: Duration::from_millis(100),
            report: Box::new(move |round, scenario| {
                for prediction in &round.predictions {
                    let origin = Origin::States(Arc::clone(&round.beginning));
                    trace::confirm(&Arc::new(counter()), scenario, &origin, &prediction.steps, &prediction.finding)
                        .expect("it replays");
                    *replayed.lock().expect("nobody panics") += 1;
                }
            }),
        });
        let place = Place {
            identity: Identity { node, nodes: 3, config: String::new(), cluster: [4; 16], session: node.into() },
            settings,
            addresses: addresses.clone(),
            clients: Vec::new(),
            metrics: None,
            disk: folder.path().join(format!("node-{node}.disk")),
        };
        run(&Arc::new(counter()), &place, (Open, watch), &stop).expect("it runs")
    };
    let ended = thread::scope(|scope| {
        let one = &one;
        let nodes = [0, 1, 2].map(|node| scope.spawn(move || one(node)));
        let begun = Instant::now();
        while durable(&folder.path().join("node-0.disk")).1 < LAST && begun.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(Duration::from_secs(1));
        stop.store(true, Ordering::Relaxed);
        nodes.map(|node| node.join().expect("no node panics")).into()
    });
    let replayed = *replayed.lock().expect("nobody panics");
    (ended, replayed)
}

/// Whatever the checker does, the nodes do the same.
fn check_counts(ended: &[Ended]) {
    assert_eq!([0, 1, 2].map(|node: usize| ended[node].counts.local), [u64::from(LAST), 0, 0]);
    assert_eq!([0, 1, 2].map(|node: usize| ended[node].counts.messages), [0, LAST.into(), LAST.into()]);
}

#[test]
fn a_node_predicts_what_comes_and_sees_what_has_come() {
    for network in [Network::Ordered, Network::Unordered] {
        let (ended, replayed) = run_watched(network, Some(&(Arc::new(Arc::new(counter())) as _)));
        check_counts(&ended);
        let mut predictions = 0;
        for ended in ended {
            let watched = ended.watched.expect("it was watched");
            assert!(watched.predictions > 0 && watched.violated > 0 && !watched.is_ended, "{watched:?}");
            assert!(watched.complete >= watched.rounds && watched.bytes >= 6 * watched.complete, "{watched:?}");
            predictions += watched.predictions;
        }
        assert_eq!(replayed as u64, predictions);
    }
}

#[test]
fn nobody_waits_for_a_checker() {
    let (ended, _) = run_watched(Network::Ordered, None);
    check_counts(&ended);
    assert!(ended.iter().all(|ended| ended.watched.is_none()));
    let (ended, _) = run_watched(Network::Ordered, Some(&(Arc::new(Sleeps) as _)));
    check_counts(&ended);
    for watched in ended.iter().filter_map(|ended| ended.watched) {
        assert!(watched.rounds == 0 && watched.replaced > 3 && !watched.is_ended, "{watched:?}");
    }
    let (ended, _) = run_watched(Network::Ordered, Some(&(Arc::new(Panics) as _)));
    check_counts(&ended);
    for watched in ended.iter().filter_map(|ended| ended.watched) {
        assert!(watched.rounds == 0 && watched.complete > 3 && watched.is_ended, "{watched:?}");
    }
}
