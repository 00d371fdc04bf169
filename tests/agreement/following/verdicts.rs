//! Random logs of random systems: the verdict of the search and that of the reference.

use std::sync::Arc;

use host_agreement::effort;
use host_agreement::reference::System;
use host_agreement::reference::executions::{Execution, any_execution};
use host_model::contract::{Machine, MachineFactory, Stop, Stopped};
use host_model::lts::{Lts, Stepper};
use host_model::toys::Dice;
use host_model::trace::{Origin, record, start};

use crate::describing::Described;
use crate::logs::{Making, log, system};
use crate::reference::explains;
use host_follow::{Bound, Bounds, Facts, Log, Monitor, Verdict, follow};

/// Executions that the reference looks at for a log.
const EXECUTIONS_MAX: usize = 30_000;

/// A bound on memory alone, in bytes.
pub struct Memory(pub u64);

impl Stop for Memory {
    fn reason(&self) -> Option<Stopped> {
        None
    }
}

impl Monitor for Memory {
    fn is_too_much(&self, bytes: u64) -> bool {
        bytes > self.0
    }
}

/// Enough for some ten thousand candidates.
const MEMORY: Memory = Memory(4 << 20);

/// The verdict of the search, and the execution that explains the log, as the reference knows it.
pub fn followed(system: &System, log: &Log, bounds: Bounds) -> (Verdict, Option<Execution>) {
    let factory = Described(Arc::new(system.toy.clone()));
    let lts = Lts::new(&factory, system.scenario()).expect("toys have no host");
    let mut stepper = Stepper::new(&lts).expect("toys have no host");
    let starts = start::initial(&mut stepper).expect("toys accept everything");
    let describer: Box<dyn Machine> = factory.machine().expect("toys have no host");
    let mut facts = Facts::new(stepper, describer);
    let judgement = follow(&mut facts, &starts, log, bounds, &MEMORY).expect("toys have no host");
    let execution = match &judgement.verdict {
        Verdict::Explained(found) => {
            let steps = record(&mut facts.into_stepper(), &found.start.initial, &found.path).expect("it was executed");
            let Origin::Init(choices) = &found.start.origin else { panic!("it begins with `init`") };
            Some(Execution::of_steps(system, choices, &steps).expect("the reference has the same execution"))
        }
        _ => None,
    };
    (judgement.verdict, execution)
}

/// A random log, and whether it has a lie.
fn case(seed: u64, events_max: u32, has_lie: bool) -> (System, Log, Option<u32>) {
    let mut dice = Dice(seed ^ 0x10c5);
    let system = system(seed);
    let execution = Execution::random(&system, seed, 1 + dice.below(events_max));
    let holes = [0, 30, 70];
    let making = Making {
        lines_lost: holes[dice.below(3) as usize],
        fields_lost: holes[dice.below(3) as usize],
        has_lie,
        has_after: dice.below(4) == 0,
    };
    let log = log(&system, &execution, making, &mut dice);
    let missing_max = [None, Some(0), Some(1), Some(2)][dice.below(4) as usize];
    // The assumption is true of the execution, unless the log has a lie.
    let missing_max = missing_max.filter(|_| has_lie || explains(&log, &execution, missing_max));
    (system, log, missing_max)
}

/// Where the search has an explanation, it is one by the definition; where it has none, no execution up to a length is one.
#[test]
fn the_verdict_is_that_of_all_executions() {
    let cases = effort::systems(2_000);
    let (mut explained, mut refused, mut undecided, mut skipped) = (0, 0, 0, 0);
    for seed in 0..cases {
        let (system, log, missing_max) = case(seed, 5, seed % 3 > 0);
        let bounds = Bounds { missing_max, hidden_max: 8 };
        let (verdict, execution) = followed(&system, &log, bounds);
        let said = format!("seed {seed}, missing {missing_max:?}: {log:#?}");
        if let Some(execution) = execution {
            assert!(explains(&log, &execution, missing_max), "{said}\n{execution:#?}");
            explained += 1;
            continue;
        }
        let mut found = None;
        let is_found = any_execution(&system, 6, EXECUTIONS_MAX, &mut |execution| {
            let explains = explains(&log, execution, missing_max);
            found = found.take().or(explains.then(|| execution.clone()));
            explains
        });
        assert!(is_found != Some(true), "{said}\n{verdict:?}\nis explained by {found:#?}");
        skipped += u64::from(is_found.is_none());
        match verdict {
            Verdict::Refused(_) => refused += 1,
            _ => undecided += 1,
        }
    }
    println!("{explained} explained, {refused} refused, {undecided} undecided, {skipped} with too many executions");
    effort::telling(
        explained * 3 > cases && refused * 10 > cases && skipped * 20 < cases && undecided * 20 < cases,
        format_args!("{explained} explained, {refused} refused, {undecided} undecided, {skipped} skipped of {cases}"),
    );
}

/// A log of an execution is never refused, whatever it lacks, and mostly explained.
#[test]
fn no_log_of_an_execution_is_refused() {
    let cases = effort::systems(2_000);
    let mut undecided = 0;
    for seed in 0..cases {
        let (system, log, missing_max) = case(seed, 24, false);
        if log.is_empty() {
            continue;
        }
        let bounds = Bounds { missing_max, hidden_max: 24 };
        let (verdict, execution) = followed(&system, &log, bounds);
        let said = format!("seed {seed}, missing {missing_max:?}: {verdict:?}\n{log:#?}");
        match execution {
            Some(execution) => assert!(explains(&log, &execution, missing_max), "{said}"),
            None => assert!(matches!(verdict, Verdict::Undecided { bound: Bound::Memory, .. }), "{said}"),
        }
        undecided += u64::from(matches!(verdict, Verdict::Undecided { .. }));
    }
    println!("{undecided} of {cases} undecided");
    effort::telling(undecided * 10 < cases, format_args!("{undecided} of {cases} are undecided"));
}
