//! Findings that a search passes to its monitor while it continues: each replays, and each finding of the report is among them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use host_agreement::effort::{enough, systems, telling};
use host_agreement::reference::System;
use host_agreement::reference::progress::progress;
use host_model::lts::{Lts, Stepper};
use host_model::toys::Toy;
use host_model::trace;
use host_search::kernel::{EndCondition, FoundViolation, Monitor, Progress, SearchBounds};
use host_search::strategy::{Bound, Promises, STRATEGIES, Strategy};

use crate::liveness::searches::Case;

/// Executions are many more than states.
const STATES_MAX: usize = 40;

/// Keeps the findings that a search passes on.
#[derive(Default)]
struct Heard(Mutex<Vec<FoundViolation>>);

impl Monitor for Heard {
    fn check(&self, _progress: &Progress) -> Option<EndCondition> {
        None
    }

    fn finds(&self, _lts: &Lts<'_>, found: &FoundViolation) {
        self.0.lock().expect("no thread panics").push(found.clone());
    }
}

/// The bounds of a case as far as a strategy honours them. Some executions of `dpor` have cycles.
fn bounds(row: &Strategy, bounds: SearchBounds) -> SearchBounds {
    let honours = |bound| row.honours.contains(&bound);
    SearchBounds {
        depth: bounds.depth.or(row.name.starts_with("guided").then_some(12)).filter(|_| honours(Bound::Depth)),
        local_events: bounds.local_events.filter(|_| honours(Bound::LocalEvents)),
        states: row.name.starts_with("dpor").then_some(40),
        walks: honours(Bound::Walks).then_some(8),
        deadlock: bounds.deadlock && honours(Bound::Deadlock),
        promises: bounds.promises.filter(|_| row.promises != Promises::Unchecked),
        ..bounds
    }
}

#[test]
fn every_finding_of_a_report_was_passed_on_before_and_replays() {
    let mut seen: BTreeMap<(&str, bool), u64> = BTreeMap::new();
    for seed in 0..systems(120) {
        let mut case = Case::random(seed);
        // Half of the systems have properties that are violated, the others promises that are broken.
        if seed % 2 == 0 {
            case.system = System::new(Toy::random(seed, 2).with_random_done(seed));
            case.prefix = None;
        }
        if progress(&case.system, case.within(), STATES_MAX).is_none() {
            continue;
        }
        for row in STRATEGIES {
            let mut case = case.clone();
            case.bounds = bounds(row, case.bounds);
            let heard = Heard::default();
            case.run_by(&row.run, 1, &heard, &mut |lts, report| {
                let heard = heard.0.lock().expect("no thread panics");
                for found in heard.iter() {
                    replays(&case, lts, found);
                    *seen.entry((row.name, found.breach.is_some())).or_default() += 1;
                }
                // Members of the portfolio with a system of their own pass nothing on.
                for found in report.violations.iter().filter(|_| row.name != "auto") {
                    let same = |early: &&FoundViolation| {
                        (early.node, &early.judgement, &early.kind) == (found.node, &found.judgement, &found.kind)
                    };
                    let longest = heard.iter().filter(same).map(|early| early.path.len()).max();
                    let context = format!("{} of seed {seed}: {found:?} of {heard:?}", row.name);
                    assert!(longest.is_some_and(|longest| longest >= found.path.len()), "{context}");
                }
            });
        }
    }
    let all = STRATEGIES.iter().all(|row| seen.get(&(row.name, false)).is_some_and(|count| *count >= enough(5)));
    let promises = ["bdfs", "walk"].iter().all(|name| seen.get(&(name, true)).is_some_and(|count| *count >= enough(2)));
    telling(all && promises, format_args!("{seen:?}"));
}

/// Executes the path of a finding in fresh machines.
fn replays(case: &Case, lts: &Lts<'_>, found: &FoundViolation) {
    let factory = Arc::new(case.system.toy.clone());
    let mut stepper = Stepper::new(lts).expect("a machine");
    let steps = trace::record(&mut stepper, &found.initial, &found.path).expect("a toy has no host faults");
    let finding = found.finding(&mut stepper).expect("a toy has no host faults");
    trace::confirm(&factory, lts.scenario(), &found.origin, &steps, &finding).expect("it replays");
}
