//! Combinations of options, on random systems with every feature of the contract: each answer against the reference.
//!
//! | module | what it holds |
//! |---|---|
//! | `case` | a random system for a row, and the reference's answers about it |
//! | `run` | the runs of a case: whole, with other workers, stopped, resumed |
//! | `claims` | the claims that hold for every answer, one function per claim |
//! | `verdicts` | the verdict, by statuses and by the reference |
//! | `describing` | machines that describe their states |
//! | `forgetting` | random walks in little memory |
//! | `liars` | strategies that say something false, and are noticed |
//! | `shrink` | makes a failing case small |
//! | `show` | a failing case as text that reproduces it |
#![expect(clippy::print_stdout, reason = "a failing case is printed as soon as it is small, before the run ends")]

mod case;
mod claims;
mod describing;
mod forgetting;
mod liars;
mod run;
mod show;
mod shrink;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet};

use host_agreement::covering::{covering, tuples_of};
use host_agreement::effort;
use host_agreement::options::{AXES, Axis, Refusal, Row, refusals};
use host_model::toys::{Toy, ToyTrigger};
use host_search::kernel::goals::Goals;
use host_search::kernel::{EndCondition, SearchBounds};
use host_search::strategy::{Bound, STRATEGIES};

use crate::combinations::case::Case;
use crate::combinations::run::{run_all, run_until};

/// The usual number of random systems, from which on their rows must cover the array; `HOST_FUZZ_SYSTEMS` sets another one. Each row of the
/// array has one of its own.
const SYSTEMS: u64 = 600;

/// The number of failing cases that are made small and printed; the others are counted.
const TOLD_MAX: usize = 8;

/// The statistics of the cases.
#[derive(Default)]
struct Tally {
    systems: u64,
    /// Rows for which no system is small enough.
    left_out: u64,
    /// Rows with a system.
    tried: BTreeSet<Row>,
    /// Searches that were aborted as too long.
    too_long: BTreeMap<&'static str, u64>,
    ends: BTreeMap<(&'static str, &'static str), u64>,
    /// By the claim and the strategy: the number of failures, and the first seed.
    failed: BTreeMap<(String, &'static str), (u64, u64)>,
}

impl Tally {
    fn try_row(&mut self, row: &Row, seed: u64) {
        let Some((case, truth)) = Case::random(row, seed) else {
            self.left_out += 1;
            return;
        };
        self.systems += 1;
        self.tried.insert(*row);
        let wrong = match run_all(&case) {
            Ok(runs) => {
                let end = runs.whole.report.end;
                *self.ends.entry((case.strategy.name, end.name())).or_default() += 1;
                if end == EndCondition::MemoryBound {
                    *self.too_long.entry(case.strategy.name).or_default() += 1;
                }
                claims::check(&case, &truth, &runs).err()
            }
            Err(error) => Some(("the search runs".to_owned(), error)),
        };
        let Some((claim, what)) = wrong else { return };
        let (count, _) = self.failed.entry((claim.clone(), case.strategy.name)).or_insert((0, seed));
        *count += 1;
        if *count == 1 && self.failed.len() <= TOLD_MAX {
            let small = shrink::shrink(&case, &claim);
            let after = shrink::wrong(&small).map_or(what, |(_, what)| what);
            // Printed at once, in case the run is aborted.
            println!("seed {seed}: {claim}\n  {after}\n{}\n{}\n", options_of(row), show::show(&small));
        }
    }
}

fn options_of(row: &Row) -> String {
    let given = Axis::ALL.iter().filter(|axis| row[**axis as usize] > 0);
    let given = given.map(|axis| format!("{axis:?}={}", axis.values()[row[*axis as usize]]));
    format!("  row {}", given.collect::<Vec<_>>().join(" "))
}

/// Each refusal before a search begins has a reason: by the row of the strategy, the scenario or the start. The tests of the command line
/// check its own refusals.
#[test]
fn what_is_refused_is_refused_with_a_reason() {
    let mut reasons = Vec::new();
    let one = Goals::new(&[1]).expect("one");
    for Refusal { values, why } in refusals() {
        let mut row: Row = [0; AXES];
        values.iter().for_each(|(axis, values)| row[*axis as usize] = values[0]);
        let case = Case::of(&row, 1);
        let is_kept = case.stop.is_resumed() && !case.strategy.keeps_checkpoints;
        // Each bound of the row, with some value.
        let bounds = SearchBounds {
            depth: (row[Axis::Depth as usize] > 0).then_some(1),
            local_events: (row[Axis::LocalEvents as usize] > 0).then_some(1),
            states: (row[Axis::States as usize] > 0).then_some(1),
            goals: if row[Axis::Goals as usize] == 1 { one } else { Goals::default() },
            avoided: if row[Axis::Goals as usize] == 2 { one } else { Goals::default() },
            ..case.bounds
        };
        let is_set = |bound: &Bound| bound.is_set(&bounds) && !case.strategy.honours.contains(bound);
        if is_kept || Bound::ALL.iter().any(is_set) || ONLY_BY_THE_COMMAND_LINE.contains(&why) {
            continue;
        }
        reasons.push(run_all(&case).err().unwrap_or_else(|| panic!("{why}: {values:?} is not refused")));
    }
    for words in ["never delivers a message twice", "no connections that could break", "come in order, one by one"] {
        assert!(reasons.iter().any(|reason| reason.contains(words)), "{words}: {reasons:?}");
    }
}

/// A strategy runs with options that only the command line refuses, and may give any answer; but even an endless search ends as soon
/// as its monitor says so, as every search does.
#[test]
fn what_only_the_command_line_refuses_ends_all_the_same() {
    const CHECKS: u64 = 100;
    // Messages without end, sent by local events and by messages.
    let endless = (0..2).fold(Toy::new(2), |toy, node| {
        let on = [ToyTrigger::Local(0), ToyTrigger::Message(1 - node, 0)];
        on.into_iter().fold(toy, |toy, on| toy.rule(node, 0, on, 0, &[(1 - node, 0), (1 - node, 1)]))
    });
    let mut tried = 0;
    for Refusal { values, why } in refusals().into_iter().filter(|it| ONLY_BY_THE_COMMAND_LINE.contains(&it.why)) {
        for index in 0..STRATEGIES.len() {
            let mut row: Row = [0; AXES];
            row[Axis::Strategy as usize] = index;
            values.iter().for_each(|(axis, values)| row[*axis as usize] = values[0]);
            for seed in 0..3 {
                let mut case = Case::of(&row, seed);
                if seed == 0 {
                    case.system.toy = Toy { interchangeable: vec![vec![0, 1]], ..endless.clone() };
                }
                // The refusal itself can name another strategy.
                let strategy = case.strategy;
                let is_set = |bound: &Bound| bound.is_set(&case.bounds) && !strategy.honours.contains(bound);
                if !Bound::ALL.iter().any(is_set) {
                    println!("{why}: {} with seed {seed}", strategy.name);
                    // In an endless search the size of states must not matter: the monitor is polled after a fixed amount of work.
                    // Some are refused for another reason as well.
                    let Ok(ran) = run_until(&case, CHECKS) else { continue };
                    // Messages without end, and one local state per node: these strategies look at nothing else.
                    let is_local = strategy.name.starts_with("lmc") || ["unfold", "auto"].contains(&strategy.name);
                    let may_be_done = seed > 0 || is_local;
                    let is_over =
                        ran.checks <= CHECKS + 1 && (may_be_done || ran.report.end != EndCondition::SpaceExhausted);
                    assert!(is_over, "{why}: {} ends with {:?}, {} checks", strategy.name, ran.report.end, ran.checks);
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 60, "{tried}");
}

/// The reasons for refusing options that a strategy would run with.
const ONLY_BY_THE_COMMAND_LINE: [&str; 17] = [
    "paths get shorter",
    "what is in flight is not known",
    "a message can be in the way of another one",
    "it keeps no checkpoints",
    "symmetry is a reduction",
    "a message may wait for others for ever",
    "a checkpoint keeps no violations",
    "what is in flight only becomes more",
    "the strategy loses no messages",
    "the strategy decides no promises",
    "a reduced search decides no promises",
    "a checkpoint keeps no edges",
    "a second delivery need not happen",
    "no state says that a node has crashed",
    "there is no promise",
    "losses end",
    "no node is reset",
];

/// Every answer to every combination of options is right.
#[test]
fn answers_are_right_for_every_combination_of_options() {
    let asked = effort::systems(SYSTEMS);
    let first: u64 = std::env::var("HOST_FUZZ_FIRST").ok().and_then(|first| first.parse().ok()).unwrap_or(0);
    let array = covering();
    println!("{} rows, {} tuples covered, {} refused", array.rows.len(), array.covered, array.refused);
    let mut tally = Tally::default();
    for seed in (first..).take(asked as usize) {
        tally.try_row(&array.rows[seed as usize % array.rows.len()], seed);
    }
    println!("{} systems, {} rows left out, too long {:?}", tally.systems, tally.left_out, tally.too_long);
    println!("{:#?}", tally.ends);
    assert!(tally.failed.is_empty(), "{:#?}", tally.failed);
    // Otherwise the answers would be right because there are too few.
    assert!(tally.left_out * 5 <= asked, "{} of {asked} rows are left out", tally.left_out);
    // One in a thousand may be too long, because random walks are unbounded.
    let too_long: u64 = tally.too_long.values().sum();
    assert!(too_long * 1_000 <= asked, "{:?} are too long", tally.too_long);
    if asked >= SYSTEMS {
        let covered: BTreeSet<_> = tally.tried.iter().flat_map(tuples_of).collect();
        println!("{} of {} tuples are tried", covered.len(), array.covered);
        assert!(covered.len() * 100 >= array.covered * 95, "{} of {} tuples are tried", covered.len(), array.covered);
        let ends: BTreeSet<_> = tally.ends.keys().map(|(strategy, _)| *strategy).collect();
        assert_eq!(ends.len(), STRATEGIES.len(), "{ends:?}");
    }
}
