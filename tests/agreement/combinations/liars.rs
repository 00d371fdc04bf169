//! Canaries: strategies that lie; the broken claim notices each.

use std::collections::{BTreeMap, BTreeSet};

use host_agreement::covering::covering;
use host_agreement::options::Axis;
use host_search::kernel::{BreachClass, Decided, EndCondition, FoundBreach, Report, Search, SearchBounds, SearchError};
use host_search::strategy::{STRATEGIES, Strategy, bdfs, dpor, random_walk};
use host_search::verdict::Verdict;

use crate::combinations::case::{Case, Truth};
use crate::combinations::claims::{self, Facts};
use crate::combinations::run::run_all;
use crate::combinations::verdicts;

type Run = fn(&Search<'_>) -> Result<Report, SearchError>;

/// Changes the report of `bdfs` or another strategy.
macro_rules! liar {
    ($change:expr) => {
        liar!(bdfs, $change)
    };
    ($strategy:ident, $change:expr) => {
        |search| {
            let mut report = $strategy::run(search)?;
            let change: fn(&mut Report) = $change;
            change(&mut report);
            Ok(report)
        }
    };
}

/// The claim, the strategy that lies, and the lie.
const LIARS: &[(&str, &str, Run)] = &[
    (
        "what is found is there",
        "bdfs",
        liar!(|report| report.violations.iter_mut().for_each(|found| found.node = Some(99))),
    ),
    (
        "what is found replays",
        "bdfs",
        liar!(|report| report.violations.iter_mut().for_each(|found| {
            // The last event twice.
            found.path.extend(found.path.last().copied());
        })),
    ),
    ("what is found is found once", "bdfs", liar!(|report| report.violations.extend(report.violations.clone()))),
    ("what is found lies within the bounds", "bdfs", |search| {
        let bounds = SearchBounds { depth: None, local_events: None, ..search.bounds };
        bdfs::run(&Search { bounds, ..*search })
    }),
    ("no path is shorter than one reported as shortest", "bdfs", |search| {
        // The longest of all violations.
        let bounds = SearchBounds { violations: Some(u64::MAX), ..search.bounds };
        let mut report = bdfs::run(&Search { bounds, ..*search })?;
        report.violations.sort_by_key(|found| std::cmp::Reverse(found.path.len()));
        report.violations.truncate(1);
        report.violations.iter_mut().for_each(|found| found.shortest = true);
        Ok(report)
    }),
    (
        "as much is found as is wanted",
        "bdfs",
        liar!(|report| {
            report.violations.pop();
        }),
    ),
    (
        "a goal that is reached is reachable",
        "bdfs",
        liar!(|report| report.witnessed.iter_mut().for_each(|it| {
            *it = it.map(|_| true);
        })),
    ),
    (
        "a goal that is not reached is not reachable",
        "bdfs",
        liar!(|report| report.witnessed.iter_mut().for_each(|it| {
            *it = it.map(|_| false);
        })),
    ),
    ("everything was explored", "bdfs", liar!(|report| report.end = EndCondition::SpaceExhausted)),
    (
        "a bound that ended the search was there to be hit",
        "bdfs",
        liar!(|report| report.end = EndCondition::LocalEventBound),
    ),
    (
        "system states",
        "bdfs",
        liar!(|report| report.counts.system_states = report.counts.system_states.map(|it| it + 1)),
    ),
    (
        "global states and transitions",
        "bdfs",
        liar!(|report| {
            report.counts.transitions = report.counts.transitions.map(|it| it + 1);
        }),
    ),
    (
        "a bound that cuts nothing ends nothing",
        "bdfs",
        liar!(|report| {
            report.end =
                if report.end == EndCondition::SpaceExhausted { EndCondition::LocalEventBound } else { report.end };
        }),
    ),
    ("executions", "dpor", liar!(dpor, |report| report.counts.executions = report.counts.executions.map(|it| it + 1))),
    ("executions", "dpor", liar!(dpor, |report| report.counts.redundant = Some(1))),
    (
        "promises",
        "bdfs",
        liar!(|report| report.promises.iter_mut().for_each(|it| {
            it.decided = it.decided.map(|decided| Decided { live_states: decided.live_states + 1, ..decided });
        })),
    ),
    (
        "broken promises",
        "bdfs",
        liar!(|report| report.violations.iter_mut().for_each(|found| {
            let change = |breach: FoundBreach| FoundBreach { class: BreachClass::Stuck, ..breach };
            found.breach = found.breach.take().map(change);
        })),
    ),
    ("walks", "walk", liar!(random_walk, |report| report.counts.walks = report.counts.walks.map(|it| it - 1))),
];

/// The former verdict: by the end of the search, regardless of the properties.
#[test]
fn a_verdict_by_the_end_of_the_search_is_noticed() {
    let rows =
        covering().rows.into_iter().filter(|row| row[Axis::Fairness as usize] + row[Axis::Properties as usize] > 0);
    let noticed = rows.zip(0..).take(120).filter_map(|(row, seed)| {
        let (case, truth) = Case::random(&row, seed)?;
        let runs = run_all(&case).ok()?;
        let report = &runs.whole.report;
        let by_end = match (report.violations.is_empty(), report.end) {
            (true, EndCondition::SpaceExhausted) => Verdict::Ok,
            (true, _) => Verdict::Incomplete,
            (false, _) => Verdict::Violation,
        };
        let expected = verdicts::naive(&Facts::new(&case, &truth, &runs.whole), true);
        (by_end != expected).then_some((by_end, expected))
    });
    let noticed: BTreeSet<(Verdict, Verdict)> = noticed.collect();
    for expected in [Verdict::Incomplete, Verdict::NeverReached] {
        assert!(noticed.contains(&(Verdict::Ok, expected)), "{noticed:?}");
    }
}

/// The number of systems that each row of a strategy is tried with.
const ROUNDS: usize = 4;

/// Each lie is noticed as that lie, or as one of its consequences.
#[test]
fn lies_are_noticed() {
    let array = covering();
    // By strategy, in the order of rows and seeds: each lie concerns the same cases, and their truth is worked out once.
    let mut cases: BTreeMap<&str, Vec<Option<(Case, Truth)>>> = BTreeMap::new();
    for (claim, name, run) in LIARS {
        let mut noticed = Vec::new();
        let strategy = STRATEGIES.iter().position(|strategy| strategy.name == *name).expect("it is in the table");
        let rows: Vec<_> = array.rows.iter().filter(|row| row[Axis::Strategy as usize] == strategy).collect();
        let cases = cases.entry(name).or_default();
        for (index, row) in rows.iter().cycle().take(ROUNDS * rows.len()).enumerate() {
            if index == cases.len() {
                cases.push(Case::random(row, index as u64));
            }
            let Some((case, truth)) = &cases[index] else { continue };
            let liar: &'static Strategy = Box::leak(Box::new(Strategy { run: *run, ..*case.strategy }));
            let case = Case { strategy: liar, ..case.clone() };
            let wrong = match run_all(&case) {
                Ok(runs) => claims::check(&case, truth, &runs).err().map(|(claim, _)| claim),
                Err(error) => Some(error),
            };
            noticed.extend(wrong);
            if noticed.iter().any(|it| it.starts_with(claim)) {
                break;
            }
        }
        assert!(noticed.iter().any(|it| it.starts_with(claim)), "{claim}: only {noticed:?}");
    }
}
