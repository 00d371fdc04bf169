//! The bound on memory in the searches: they count the kept bytes, and poll the monitor before one state or execution has allocated
//! too many.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use host_agreement::toys::Run;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::start;
use host_search::kernel::{EndCondition, Monitor, Progress, Report, Search, SearchBounds};
use host_search::strategy::{bdfs, consequence, dpor};

const MEBIBYTE: u64 = 1 << 20;

/// The allowed excess over the bound at a poll: a search polls after each mebibyte, and its lists and tables have some room to grow.
fn margin(bytes_max: u64) -> u64 {
    2 * MEBIBYTE + bytes_max / 4
}

/// Ends a search that keeps too much, and records the peak.
struct Bounded {
    bytes_max: u64,
    most: AtomicU64,
    /// Ends a search that does not count its memory.
    checks_left: AtomicU64,
}

impl Bounded {
    fn new(bytes_max: u64) -> Self {
        Self { bytes_max, most: AtomicU64::new(0), checks_left: AtomicU64::new(100_000) }
    }
}

impl Monitor for Bounded {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        self.check_room(progress, 0)
    }

    fn check_room(&self, progress: &Progress, bytes: u64) -> Option<EndCondition> {
        self.most.fetch_max(progress.bytes, Ordering::Relaxed);
        if self.checks_left.fetch_sub(1, Ordering::Relaxed) == 1 {
            return Some(EndCondition::Interrupted);
        }
        (progress.bytes + bytes >= self.bytes_max).then_some(EndCondition::MemoryBound)
    }
}

/// This many messages in flight to each node; its state is the last one that it received.
fn flood(nodes: u32, contents: u8) -> Toy {
    let mut toy = Toy::new(nodes);
    for node in 0..nodes {
        let from = (node + 1) % nodes;
        for content in 1..=contents {
            toy = toy.in_flight(from, node, content);
            for state in 0..=contents {
                toy = toy.rule(node, state, ToyTrigger::Message(from, content), content, &[]);
            }
        }
    }
    toy
}

fn search(toy: &Toy, bounds: SearchBounds, bytes_max: u64, strategy: Run) -> (Report, u64) {
    let factory = Arc::new(toy.clone());
    let lts = Lts::new(&factory, Scenario::new(toy.nodes)).expect("a toy lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a toy has machines")).expect("a toy starts");
    let monitor = Bounded::new(bytes_max);
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &monitor, collect_system_states: false };
    let report = strategy(&search).expect("a toy has no host faults");
    (report, monitor.most.into_inner())
}

/// A round of a parallel search takes no more states than there is room for their successors: of 512 states with 500 successors
/// each, all with 500 messages in flight, a few are expanded at a time.
#[test]
fn a_round_is_bounded_by_its_successors() {
    let bytes_max = 128 * MEBIBYTE;
    let (report, most) = search(&flood(16, 32), SearchBounds::default(), bytes_max, bdfs::run);
    assert_eq!(report.end, EndCondition::MemoryBound);
    assert!(most < bytes_max + margin(bytes_max), "{most} bytes");
    assert!(report.counts.global_states.is_some_and(|states| states > 1_000), "{:?}", report.counts);
}

/// One state with 1,024 successors of 5 KiB each: the reduced search asks while it takes them in, and the parallel one before.
#[test]
fn one_expansion_is_bounded() {
    let toy = flood(64, 16);
    for reduce in [false, true] {
        let bounds = SearchBounds { reduce, ..SearchBounds::default() };
        let bytes_max = 4 * MEBIBYTE;
        let (report, most) = search(&toy, bounds, bytes_max, bdfs::run);
        assert_eq!(report.end, EndCondition::MemoryBound, "reduced: {reduce}");
        assert!(most < bytes_max + margin(bytes_max), "reduced: {reduce}: {most} bytes");
    }
}

/// One state with 2,048 successors of 8 KiB each: fewer than the states between two questions, so it is their size that asks.
#[test]
fn one_breadth_first_expansion_is_bounded() {
    let bytes_max = 4 * MEBIBYTE;
    let (report, most) = search(&flood(128, 16), SearchBounds::default(), bytes_max, consequence::run);
    assert_eq!(report.end, EndCondition::MemoryBound);
    assert!(most < bytes_max + margin(bytes_max), "{most} bytes");
    assert!(report.counts.global_states.is_some_and(|states| states < 1_500), "{:?}", report.counts);
}

/// An execution asks for others, each as long as itself.
#[test]
fn executions_that_are_still_to_be_explored_are_counted() {
    let bytes_max = 32 * MEBIBYTE;
    let (report, most) = search(&flood(8, 32), SearchBounds::default(), bytes_max, dpor::run);
    assert_eq!(report.end, EndCondition::MemoryBound);
    assert!(most < bytes_max + margin(bytes_max), "{most} bytes");
}
