//! The search after walks: its reach, the states that it keeps there, and that it claims no more than it knows.

use host_agreement::programs::Program;
use host_agreement::toys::Run;
use host_model::contract::PropertyKind;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Scenario};
use host_model::trace::BreachClass;
use host_model::trace::start;
use host_search::kernel::rules::Rules;
use host_search::kernel::{EndCondition, Report, Search, SearchBounds, Unmonitored};
use host_search::strategy::prefix::{self, PREFIXES_MAX};
use host_search::strategy::{bdfs, random_walk};

/// The number at which node 1 stops counting.
const LAST: u64 = u64::MAX - 3;

/// The count of node 1 from which it is bad that node 0 begins again.
const LATE: u64 = 50;

/// Node 0 announces once that it has begun. From then on node 1 counts, and it is bad if it hears that again after it has counted far. Four
/// other nodes move in cycles of ten.
fn counting() -> Program {
    Program {
        events: |node, state| match (node, state) {
            (0, 0) | (1, 1..) | (2.., _) => vec![0],
            _ => Vec::new(),
        },
        on_event: |node, state, _| match node {
            0 => (1, vec![(1, vec![0])]),
            1 => (state + 1, Vec::new()),
            _ => ((state + 1) % 10, Vec::new()),
        },
        on_message: |_, state, _| (if state > LATE { u64::MAX - 1 } else { state.max(1) }, Vec::new()),
        is_bad: |node, state| node == 1 && state >= u64::MAX - 1,
        ..Program::default()
    }
}

fn run(program: Program, faults: Faults, bounds: SearchBounds, by: Run) -> Report {
    let lts = Lts::new(&program, Scenario { faults, ..Scenario::new(6) }).expect("it lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("it starts");
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    by(&search).expect("no host faults")
}

/// No walk without faults reaches a bad state, and no search of 20,000 states gets as far as where one reset leads to one.
#[test]
fn what_a_fault_does_late_is_found() {
    let one_reset = Faults { resets: 1, ..Faults::default() };
    let bounds = SearchBounds { states: Some(20_000), seed: Some(1), ..SearchBounds::default() };
    let without_seed = SearchBounds { seed: None, ..bounds };
    assert_eq!(run(counting(), one_reset, without_seed, bdfs::run).end, EndCondition::StateBound);
    let report = run(counting(), one_reset, bounds, prefix::run);
    let found = report.violations.first().expect("there is one");
    assert!(!found.shortest && report.end == EndCondition::Violation);
    assert_eq!((report.counts.prefixes, report.counts.walks), (Some(PREFIXES_MAX as u64), Some(PREFIXES_MAX as u64)));
    // Three quarters of a thousand steps, the reset, its message and the delivery.
    assert_eq!(found.path.len(), 750 + 3);
    let is_fault: Vec<bool> = found.path.iter().map(|step| step.trigger.fault().is_some()).collect();
    assert_eq!(is_fault.iter().position(|is_fault| *is_fault), Some(750), "there is none on the walk");
    let none = run(counting(), Faults::default(), bounds, prefix::run);
    assert_eq!((none.end, none.violations.len()), (EndCondition::StateBound, 0));
}

/// A promise is owed in each second state of node 1, and for ever if it hears late that node 0 begins again.
#[test]
fn the_search_begins_where_nothing_is_owed() {
    let program = Program {
        kind: PropertyKind::Eventually,
        events: |node, state| if matches!((node, state), (0, 0) | (1, 1..=LAST)) { vec![0] } else { Vec::new() },
        is_bad: |node, state| node == 1 && (state % 2 == 1 || state > LAST),
        ..counting()
    };
    let one_reset = Faults { resets: 1, ..Faults::default() };
    let promises = Some(Rules::default());
    let bounds = SearchBounds { states: Some(2_000), seed: Some(1), promises, ..SearchBounds::default() };
    let report = run(program, one_reset, bounds, prefix::run);
    let found = report.violations.first().expect("there is one");
    assert_eq!(found.breach.as_ref().map(|breach| breach.class), Some(BreachClass::Dead));
    // After 750 steps node 1 is at 749: the first two send it the message and deliver it. After 751, a reset, its message and the delivery.
    let fault = found.path.iter().position(|step| step.trigger.fault().is_some());
    assert_eq!((fault, found.path.len()), (Some(751), 754));
}

/// Findings that a search from the start would have are found on the walk.
#[test]
fn what_is_bad_on_the_way_is_found() {
    let program = Program { is_bad: |node, state| node == 1 && state == 20, ..counting() };
    let bounds = SearchBounds { seed: Some(1), ..SearchBounds::default() };
    let report = run(program, Faults::default(), bounds, prefix::run);
    assert_eq!((report.end, report.counts.prefixes), (EndCondition::Violation, Some(0)));
    assert!(!report.violations[0].shortest && report.violations[0].path.len() > 20);
}

/// A goal that only the walks reach is reached.
#[test]
fn a_goal_on_the_way_is_reached() {
    let kind = PropertyKind::Sometimes;
    let program = Program { kind, is_bad: |node, state| node != 1 || state != 20, ..counting() };
    let bounds = SearchBounds { states: Some(1_000), seed: Some(1), ..SearchBounds::default() };
    let report = run(program, Faults::default(), bounds, prefix::run);
    assert_eq!((report.end, &report.witnessed[..]), (EndCondition::StateBound, &[Some(true)][..]));
}

/// Everything after the kept states was explored; other states may have more successors.
#[test]
fn an_end_of_everything_is_no_end() {
    let events = |node, state| if matches!((node, state), (0, 0) | (1, 1..4)) { vec![0] } else { Vec::new() };
    let program = Program { events, ..counting() };
    let bounds = SearchBounds { seed: Some(1), walks: Some(3), ..SearchBounds::default() };
    let report = run(program, Faults::default(), bounds, prefix::run);
    assert_eq!((report.end, report.counts.prefixes), (EndCondition::Pruned, Some(3)));
    assert_eq!(report.counts.walks_ended, Some(3));
    let walked = run(program, Faults::default(), bounds, random_walk::run);
    assert_eq!(walked.counts.walks_ended, Some(3));
}
