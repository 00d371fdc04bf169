//! A search that decides promises, from its start states to its report.

use host_model::contract::{Judgement, MachineError};
use host_model::lts::{Lts, Step, Stepper};
use host_model::trace::start::Start;

use crate::kernel::rules::Rules;
use crate::kernel::{
    BreachClass, Decided, FoundBreach, FoundViolation, MetStates, Promise, PromiseReport, Report, Search, SearchError,
    stopped_end,
};
use crate::liveness::decide::check::{Breach, Checked, check, refusal};
use crate::liveness::decide::verdict::Verdict;

/// The rules by which to decide promises, if there are promises that can be decided.
pub fn decides(lts: &Lts<'_>, rules: Option<Rules>) -> Option<Rules> {
    rules.filter(|_| !lts.promises().is_empty() && refusal(lts.scenario()).is_none())
}

/// Explores all global states level by level, and decides each promise of progress on their graph.
///
/// Guarantee: an execution that the rules allow breaks each promise reported as broken. Complete: as [`check`]; within a bound a promise
/// that is not broken is undecided. Broken promises end no search: they are added to its violations as far as these are wanted, the most
/// certain ones first, then the shorter ones.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn decide(search: &Search<'_>, rules: Rules) -> Result<Report, SearchError> {
    // The stepper is made first, while a stop loses nothing.
    let mut stepper = Stepper::new(search.lts)?;
    let checked = check(search, rules)?;
    let mut breaches: Vec<(BreachClass, usize, Promise, Breach, bool)> = Vec::new();
    for (promise, verdict) in &checked.promises {
        let Some(verdict) = verdict else { continue };
        for breach in checked.breaches(verdict) {
            let length = breach.prefix.len() + breach.cycle.len();
            // If some states are unknown, a closer state may be dead as well.
            let is_shortest = breach.class != BreachClass::Lasso && verdict.unknown_states == 0;
            breaches.push((breach.class, length, *promise, breach, is_shortest));
        }
    }
    breaches.sort_by_key(|(class, length, promise, ..)| (*class, *length, *promise));
    let mut report = report(checked);
    for (_, _, promise, breach, shortest) in breaches {
        // Without a bound on variants, violations beyond the limit need no words.
        if report.variants_max.is_none() && report.is_full() {
            break;
        }
        let found = found(&mut stepper, search.starts, promise, rules, breach)?;
        if report.wants_more(&found.kind) {
            report.violations.push(FoundViolation { shortest, ..found });
            search.announce(&mut report);
        }
    }
    Ok(report)
}

/// The report of the exploration, with the results for promises.
fn report(checked: Checked) -> Report {
    let Checked { report, ended, promises, recorded } = checked;
    let graph = &recorded.graph;
    let promises = promises.into_iter().enumerate().map(|(index, (promise, verdict))| {
        let states = u64::from(graph.states());
        let met = MetStates { states, kept: states - graph.owing(index) };
        PromiseReport { promise, decided: verdict.as_ref().map(decided), sampled: None, met: Some(met) }
    });
    Report { promises: promises.collect(), promises_end: ended, ..report }
}

fn decided(verdict: &Verdict) -> Decided {
    Decided {
        class: verdict.class(),
        kept_states: verdict.kept_states,
        live_states: verdict.live_states,
        dead_states: verdict.dead_states,
        unknown_states: verdict.unknown_states,
        stuck_states: verdict.stuck.states,
        critical_edges: verdict.critical_edges(),
        critical_kinds: verdict.critical.len() as u64,
        fair_components: verdict.fair_components,
    }
}

/// A broken promise as a finding at the end of its path, in the plugin's words; without words after a stop.
fn found(
    stepper: &mut Stepper<'_>,
    starts: &[Start],
    promise: Promise,
    rules: Rules,
    breach: Breach,
) -> Result<FoundViolation, SearchError> {
    let start = &starts[breach.start];
    let path = [breach.prefix, breach.cycle.clone()].concat();
    let message = match words(stepper, start, promise, &path) {
        Ok(owed) => owed.expect("at the end of the path the promise is not kept"),
        Err(error) => {
            stopped_end(error)?;
            String::new()
        }
    };
    let judgement = Judgement::Violated { property: promise.property, message };
    let found = FoundBreach {
        class: breach.class,
        rules,
        cycle: breach.cycle.len(),
        is_critical: breach.critical.is_some(),
        sibling: breach.sibling,
    };
    Ok(FoundViolation::new(start, &path, promise.node, judgement).broken(found))
}

/// The reason why a promise is not kept at the end of a path, in the plugin's words; none if it is kept.
pub fn words(
    stepper: &mut Stepper<'_>,
    start: &Start,
    promise: Promise,
    path: &[Step],
) -> Result<Option<String>, MachineError> {
    let mut locals = start.locals.clone();
    for step in path {
        let local = &mut locals[step.node as usize];
        // The step was executed in the search, so this is a look-up.
        let row = stepper.step(*local, step.trigger)?;
        *local = stepper.outcomes(row)[step.outcome as usize].next;
    }
    stepper.owing(promise.property, promise.node, &locals)
}
